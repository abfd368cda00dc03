"""Chat history: finds what makes stored Chat Completions or Ollama messages invalid (H-5).

Both pair calls and results the same way: the messages with the results follow
the calls at once, one for each. OpenAI refuses anything else; Ollama takes it,
and then the model sees results that belong to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from studio.domain.jsonvalue import Json, JsonObject

_CHAT_ROLES = ("user", "assistant", "system", "developer", "tool")
_CHAT_PARTS = ("text", "image_url", "input_audio", "file", "refusal")
_OLLAMA_ROLES = ("user", "assistant", "system", "tool")


def chat_problem(history: Sequence[JsonObject]) -> str:
    """The first thing wrong with a Chat Completions history, with its place, or nothing."""
    return _examine(history, _chat_shape)


def ollama_problem(history: Sequence[JsonObject]) -> str:
    """The same for a history of ``/api/chat``."""
    return _examine(history, _ollama_shape)


def _examine(history: Sequence[JsonObject], shape: Callable[[JsonObject], str]) -> str:
    """Places are counted from 1: "item 4: a result without its call"."""
    open_: dict[str, int] = {}
    answered: set[str] = set()
    for place, message in enumerate(history, 1):
        if wrong := _object(message) or shape(message):
            return f"item {place}: {wrong}"
        if message.get("role") == "tool":
            call_id = str(message["tool_call_id"])
            if open_.pop(call_id, None) is None:
                second = "a second result for one call"
                return f"item {place}: {second if call_id in answered else _ORPHAN}"
            answered.add(call_id)
            continue
        if open_:
            return f"item {min(open_.values())}: a call without its result"
        answered.clear()
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            call_id = str(call["id"]) if isinstance(call, dict) else ""
            if call_id in open_:
                return f"item {place}: two calls with the id {call_id}"
            open_[call_id] = place
    return ""


_ORPHAN = "a result without its call"


def _object(message: Json) -> str:
    return "" if isinstance(message, dict) else "not an object"


def _chat_shape(message: JsonObject) -> str:
    role, content = message.get("role"), message.get("content")
    if role not in _CHAT_ROLES:
        return "a message of nobody"
    if isinstance(content, list) and content:
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind not in _CHAT_PARTS or (kind == "image_url" and role != "user"):
                return "a part that does not belong there"
    elif not isinstance(content, str):
        silent = role == "assistant" and (message.get("tool_calls") or message.get("refusal"))
        if content is not None or not silent:
            return "a message without content"
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return "a result without tool_call_id"
    return _calls(message, str)


def _ollama_shape(message: JsonObject) -> str:
    role = message.get("role")
    if role not in _OLLAMA_ROLES:
        return "a message of nobody"
    if not isinstance(message.get("content"), str):
        return "a message without content"
    if not isinstance(message.get("thinking", ""), str):
        return "thoughts that are no text"
    images = message.get("images", [])
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        return "pictures that are none"
    if role == "tool":
        for name in ("tool_call_id", "tool_name"):
            if not isinstance(message.get(name), str):
                return f"a result without {name}"
    return _calls(message, dict)


def _calls(message: JsonObject, arguments: type) -> str:
    """Whether every call has what it needs; ``arguments`` is how they are written."""
    calls = message.get("tool_calls")
    if calls is None:
        return ""
    if message.get("role") != "assistant" or not isinstance(calls, list) or not calls:
        return "calls that are none"
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            return "a call without its function"
        if not (isinstance(given := call.get("id"), str) and given):
            return "a call without its id"
        if not (isinstance(name := function.get("name"), str) and name):
            return "a call without its name"
        if not isinstance(function.get("arguments"), arguments):
            return "a call without arguments"
    return ""
