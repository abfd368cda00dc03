"""OpenAI history: finds what makes a stored list of Responses items invalid (H-5).

A reasoning item and the item after it belong together. That something after a
reasoning item is missing can be seen; that the reasoning before a call was
lost, or that another item moved up behind it, cannot: no item names the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from studio.domain.jsonvalue import Json, JsonObject

CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""The items with the results of these two kinds of calls."""
_PREFIX = {
    "message": "msg_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "reasoning": "rs_",
}
_WRITTEN = {"function_call": "arguments", "custom_tool_call": "input"}
"""What the model wrote in a call."""
_INPUT = ("input_text", "input_image", "input_file")
_OUTPUT = ("output_text", "refusal")


def history_problem(history: Sequence[JsonObject]) -> str:
    """The first thing wrong, with its place ("item 4: …", counted from 1), or nothing."""
    calls: dict[str, int] = {}
    answered: set[str] = set()
    ids: set[str] = set()
    last = len(history)  # the place after the last reply's items
    while last and not _said_by_model(history[last - 1]):
        last -= 1
    first = last  # where the last reply begins
    while first and _said_by_model(history[first - 1]):
        first -= 1
    blank = 0  # imitators of this API seal nothing; then nothing is missing
    sealed = False
    for place, item in enumerate(history):
        following = history[place + 1] if place + 1 < len(history) else None
        if wrong := _shape(item) or _identity(item, ids) or _companion(item, following):
            return f"item {place + 1}: {wrong}"
        match item.get("type"):
            case "function_call" | "custom_tool_call":
                call_id = str(item["call_id"])
                if call_id in calls and call_id not in answered:
                    return f"item {place + 1}: a second call with the id {call_id}"
                answered.discard(call_id)  # some servers count anew with each reply
                calls[call_id] = place
            case "function_call_output" | "custom_tool_call_output" as kind:
                call_id = str(item["call_id"])
                if call_id in answered:
                    return f"item {place + 1}: a second result for the call {call_id}"
                if (
                    call_id in calls
                    and history[calls[call_id]]["type"] != CALLS[OUTPUTS.index(kind)]
                ):
                    return f"item {place + 1}: a result of another kind than its call"
                answered.add(call_id)
            case "reasoning" if item["encrypted_content"]:
                sealed = True
            case "reasoning":
                blank = blank or place + 1
            case _:
                pass
    if blank and sealed:
        return f"item {blank}: reasoning without its encrypted content"
    if len(answered) == len(calls) and answered == calls.keys():
        return ""
    for place, item in enumerate(history):
        if item.get("type") in OUTPUTS and item["call_id"] not in calls:
            return f"item {place + 1}: a result without its call"
    for call_id, place in calls.items():
        if call_id not in answered and place < first:
            return f"item {place + 1}: a call without its result"
    return ""


def _said_by_model(item: Json) -> bool:
    if not isinstance(item, dict):
        return False
    kind = item.get("type", "message")
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in OUTPUTS


def _shape(item: Json) -> str:
    if not isinstance(item, dict):
        return "not an object"
    match item.get("type", "message"):
        case "message":
            return _message(item)
        case "function_call" | "custom_tool_call" as kind:
            for name in ("call_id", "name"):
                if not (isinstance(value := item.get(name), str) and value):
                    return f"a call without {name}"
            written = _WRITTEN[kind]
            return "" if isinstance(item.get(written), str) else f"a call without {written}"
        case "function_call_output" | "custom_tool_call_output":
            if not isinstance(item.get("call_id"), str):
                return "a result without call_id"
            output = item.get("output")
            if isinstance(output, str):
                return ""
            return _parts(output, _INPUT) if isinstance(output, list) else "a result of no kind"
        case "reasoning":
            if not isinstance(item.get("encrypted_content"), str):
                return "reasoning without its encrypted content"
            return "" if isinstance(item.get("summary"), list) else "reasoning without its summary"
        case str():
            return ""
        case _:
            return "an item of no kind"


def _message(item: JsonObject) -> str:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        return "a message of nobody"
    if isinstance(content, str):
        return ""
    if not isinstance(content, list):
        return "a message without content"
    return _parts(content, _OUTPUT if role == "assistant" else _INPUT)


def _parts(parts: list[Json], kinds: tuple[str, ...]) -> str:
    if not parts:
        return "an item without content"
    for part in parts:
        if not isinstance(part, dict) or part.get("type") not in kinds:
            return "a part that does not belong there"
    return ""


def _identity(item: JsonObject, ids: set[str]) -> str:
    given = item.get("id")
    if given is None:
        return ""
    prefix = _PREFIX.get(str(item.get("type", "message")), "")
    if not isinstance(given, str) or not given.startswith(prefix):
        return f"an id that does not begin with {prefix}"
    if given in ids:
        return f"a second item with the id {given}"
    ids.add(given)
    return ""


def _companion(item: JsonObject, following: Json) -> str:
    if item.get("type") != "reasoning":
        return ""
    if item.get("id") is None:
        return "reasoning without its id"
    if not isinstance(following, dict) or not _said_by_model(following):
        return "reasoning without the item that followed it"
    if following.get("type", "message") == "message" and following.get("id") is None:
        return "a message after reasoning lost its id"
    return ""
