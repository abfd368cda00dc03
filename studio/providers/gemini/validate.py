"""Gemini history: prepares contents for a request, and finds what makes them invalid (H-5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from studio.domain.jsonvalue import Json, JsonObject, as_objects
from studio.providers.history_rebuild import UNSIGNED

_NOTHING = {"thought", "thoughtSignature", "partMetadata"}
"""What a part may have besides what it says; alone it is empty."""


def wire_contents(history: Sequence[JsonObject]) -> list[JsonObject]:
    """The contents as they are sent: responses first after the calls they answer.

    ``Function response turn comes immediately after a function call turn``,
    whatever the engine said in between. What stands before a reply is never
    placed anew after it.
    """
    sent: list[JsonObject] = []
    words: list[JsonObject] = []
    for content in history:
        if content.get("role") == "model":
            sent += words
            words = []
            sent.append(content)
        elif any("functionResponse" in part for part in as_objects(content.get("parts"))):
            sent.append(content)
        else:
            words.append(content)
    return sent + words


def signed(contents: Sequence[JsonObject]) -> list[JsonObject]:
    """The contents as models from 3 on want them: each step's first call signed.

    What the model signed stays as it is. A call of an older model, or one that
    lost its signature, gets the documented stand-in, wherever it is, so that
    later requests begin with the same.
    """
    sent = list(contents)
    fresh = True
    for index, content in enumerate(contents):
        if content.get("role") != "model":
            fresh = True
            continue
        parts = as_objects(content.get("parts"))
        call = next((n for n, part in enumerate(parts) if "functionCall" in part), None)
        if fresh and call is not None:
            fresh = False
            if not parts[call].get("thoughtSignature"):
                parts[call] = {**parts[call], "thoughtSignature": UNSIGNED}
                sent[index] = {**content, "parts": list[Json](parts)}
    return sent


def history_problem(history: Sequence[JsonObject]) -> str:
    """See ``Provider.history_problem``; places count contents from 1."""
    asked: list[dict[str, Any]] = []  # the calls of the replies just before
    answers: list[dict[str, Any]] = []
    before = ""
    for number, content in enumerate(cast("Sequence[Any]", history), 1):
        if fault := _shape(content):
            return f"content {number}: {fault}"
        role: str = content.get("role", "user")
        if role == "model":
            if not before:
                return f"content {number}: a reply before anything was said"
            if fault := _unanswered(asked, answers, last=False):
                return f"content {number}: {fault}"
            asked, answers = [], []
            for part in content["parts"]:
                if call := part.get("functionCall"):
                    asked.append(call)
        else:
            for part in content["parts"]:
                if answer := part.get("functionResponse"):
                    if not asked:
                        return f"content {number}: a result without its call"
                    answers.append(answer)
        before = role
    if fault := _unanswered(asked, answers, last=True):
        return f"content {len(history)}: {fault}"
    return ""


def _unanswered(asked: list[dict[str, Any]], answers: list[dict[str, Any]], *, last: bool) -> str:
    """What the answers lack or have too much; the last reply's calls may wait for theirs."""
    if not asked:
        return ""
    left = [_key(call) for call in asked]
    for answer in answers:
        if _key(answer) not in left:
            return "a result without its call"
        left.remove(_key(answer))
    return "a call before it has no result" if left and not last else ""


def _key(part: dict[str, Any]) -> tuple[str, str]:
    return part["name"], part.get("id", "")


def _shape(content: Any) -> str:
    if not isinstance(content, dict):
        return "not an object"
    known = cast("dict[str, Any]", content)
    role, parts = known.get("role", "user"), known.get("parts")
    if role not in ("user", "model"):
        return "no known role"
    if not isinstance(parts, list) or not parts:
        return "empty"
    for part in cast("list[Any]", parts):
        if not isinstance(part, dict):
            return "a part that is not an object"
        if fault := _part(role, cast("dict[str, Any]", part)):
            return fault
    return ""


def _part(role: str, part: dict[str, Any]) -> str:
    if not part.keys() - _NOTHING:
        return "an empty part"
    if "functionCall" in part:
        call = part["functionCall"]
        if role != "model":
            return "a call that is not the model's"
        if not _is_named(call) or not isinstance(call.get("args", {}), dict | None):
            return "a call without its name"
        return ""
    if "functionResponse" in part:
        answer = part["functionResponse"]
        if role != "user":
            return "a result in a reply"
        if not _is_named(answer) or not isinstance(answer.get("response"), dict):
            return "a result without its name"
        return ""
    if "text" in part:
        return "" if isinstance(part["text"], str) else "a text that is none"
    if "inlineData" in part:
        return "" if isinstance(part["inlineData"], dict) else "a file without data"
    return ""  # of a later version of the API


def _is_named(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    known = cast("dict[str, Any]", value)
    name, id_ = known.get("name"), known.get("id", "")
    return isinstance(name, str) and bool(name) and isinstance(id_, str)
