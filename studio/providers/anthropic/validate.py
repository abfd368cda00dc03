"""Anthropic history: orders messages for a request, and finds what makes them invalid (H-5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from studio.domain.jsonvalue import JsonObject, as_objects, as_text


def wire_messages(history: Sequence[JsonObject], *, system: bool) -> list[JsonObject]:
    """The messages as they are sent: in the order that the API wants.

    What was said between two replies goes as results, then words, then what
    the system says, whatever was appended first. A call's results come
    ``immediately after``; a ``role:"system"`` message must follow a user
    message (or a paused tool of the provider's own) and ``must precede an
    'assistant' message or end the array``. Where nothing else was said, or the
    model has no system messages (``system`` False), these are the user's.

    What stands before a reply is never placed anew after it: each request
    begins with what was sent for the replies in it.
    """
    sent: list[JsonObject] = []
    results: list[JsonObject] = []
    words: list[JsonObject] = []
    told: list[JsonObject] = []

    def settle() -> None:
        if len(words) == 1 and not (results or told):  # as nearly always
            sent.append(words.pop())
            return
        if told and not (system and (results or words or _is_paused(sent))):
            told[:] = [{**message, "role": "user"} for message in told]
        for messages in (results, words, told):
            sent.extend(messages)
            messages.clear()

    for message in history:
        role = message.get("role")
        if role == "assistant":
            settle()
            sent.append(message)
        elif role == "system":
            told.append(message)
        else:
            (results if _answers(message) else words).append(message)
    settle()
    return sent


def _answers(message: JsonObject) -> bool:
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and first.get("type") == "tool_result"


def _is_paused(sent: list[JsonObject]) -> bool:
    content = as_objects(sent[-1].get("content")) if sent else []
    return bool(content) and content[-1].get("type") == "server_tool_use"


def history_problem(history: Sequence[JsonObject]) -> str:
    """See ``Provider.history_problem``; places count messages from 1."""
    asked: set[str] = set()  # ids of the calls in the replies just before
    answered: set[str] = set()
    before = ""
    for number, message in enumerate(cast("Sequence[Any]", history), 1):
        if fault := _shape(message):
            return f"message {number}: {fault}"
        role: str = message["role"]
        content: Any = message["content"]
        if role == "system":
            before = "user"  # one of the user's, or beside one: see ``wire_messages``
            continue
        if role == "assistant":
            if not before:
                return f"message {number}: a reply before anything was said"
            if before == "user":
                if len(answered) < len(asked):
                    return f"message {number}: a call before it has no result"
                asked, answered = set[str](), set[str]()
        before = role
        if isinstance(content, str):
            continue
        words = False
        for block in content:
            kind = block.get("type")
            if kind == "tool_use":
                if block["id"] in asked:
                    return f"message {number}: two calls with one id"
                asked.add(block["id"])
            elif kind == "tool_result":
                id_ = block["tool_use_id"]
                if id_ not in asked:
                    return f"message {number}: a result without its call"
                if id_ in answered:
                    return f"message {number}: two results of one call"
                if words:
                    return f"message {number}: a result after other words"
                answered.add(id_)
            else:
                words = True
    if answered and len(answered) < len(asked):  # results come together, or not at all
        return f"message {len(history)}: a call before it has no result"
    return ""


def _shape(message: Any) -> str:
    if not isinstance(message, dict):
        return "not an object"
    known = cast("dict[str, Any]", message)
    role, content = known.get("role"), known.get("content")
    if role not in ("user", "assistant", "system"):
        return "no known role"
    if isinstance(content, str):
        return "" if content.strip() else "empty"
    if not isinstance(content, list):
        return "no content"
    if not content:
        return "empty"
    for block in cast("list[Any]", content):
        if not isinstance(block, dict):
            return "a block that is not an object"
        if fault := _block(role, cast("dict[str, Any]", block)):
            return fault
    return ""


def _block(role: str, block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        if not isinstance(text, str) or not text.strip():
            return "an empty text"
        return (
            "citations on the person's words" if role == "user" and block.get("citations") else ""
        )
    if role == "system":
        return "more than text in a system message"
    match kind:
        case "tool_use":
            if role != "assistant":
                return "a call that is not the model's"
            if not isinstance(block.get("input"), dict):
                return "a call without arguments"
            return "" if _named(block, "id") and _named(block, "name") else "a call without its id"
        case "tool_result":
            if role != "user":
                return "a result in a reply"
            if not _named(block, "tool_use_id"):
                return "a result without its call"
            return _result(block.get("content", ""), block.get("is_error"))
        case "thinking" | "redacted_thinking":
            if role != "assistant":
                return "thinking that is not the model's"
            signed = _named(block, "signature" if kind == "thinking" else "data")
            return "" if signed else "thinking without its signature"
        case "image" | "document":
            if role != "user":
                return "a picture or a file in a reply"
            return (
                "" if isinstance(block.get("source"), dict) else "a picture or a file without data"
            )
        case str():
            return ""  # of a later version of the API
        case _:
            return "a block of no kind"


def _result(content: Any, is_error: Any) -> str:
    if isinstance(content, str) or content is None:
        return ""
    if not isinstance(content, list) or not content:
        return "an empty result"
    for part in cast("list[Any]", content):
        if not isinstance(part, dict):
            return "a block that is not an object"
        inner = cast("dict[str, Any]", part)
        if inner.get("type") == "text":
            if not as_text(inner.get("text")).strip():
                return "an empty text"
        elif is_error is True:
            return "more than text in an error"
    return ""


def _named(block: dict[str, Any], key: str) -> bool:
    value = block.get(key)
    return isinstance(value, str) and bool(value)
