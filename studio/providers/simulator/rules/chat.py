"""OpenAI Chat Completions: what is refused."""

from __future__ import annotations

from studio.providers.simulator.maker import Maker
from studio.providers.simulator.refused import Refused
from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, obj, objs, text

_ROLES = ("system", "developer", "user", "assistant", "tool")
_UNASKED = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
    "with 'tool_calls'."
)


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""
    messages = objs(view.body.get("messages"))
    if not messages:
        raise _refuse(
            "empty",
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            "messages",
            "empty_array",
        )
    for index, message in enumerate(messages):
        _message(index, message)
    _pairing(messages, maker.beyond)


def _refuse(rule: str, message: str, param: str, code: str | None = None) -> Refused:
    return Refused(rule, message, param=param, code=code)


def _message(index: int, message: Body) -> None:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        raise _refuse(
            "role",
            f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', "
            "'function', 'tool', and 'developer'.",
            f"messages[{index}].role",
            "invalid_value",
        )
    calls = message.get("tool_calls")
    if calls is not None and not objs(calls):
        raise _refuse(
            "empty",
            f"Invalid 'messages[{index}].tool_calls': empty array. Expected an array with minimum "
            "length 1, but got an empty array instead.",
            f"messages[{index}].tool_calls",
            "empty_array",
        )
    if content is None and not (role == "assistant" and (calls or message.get("refusal"))):
        raise _refuse(
            "empty",
            "Invalid value for 'content': expected a string, got null.",
            f"messages.[{index}].content",
        )
    for number, call in enumerate(objs(calls)):
        if not isinstance(obj(call.get("function")).get("arguments"), str):
            place = f"messages[{index}].tool_calls[{number}].function.arguments"
            raise _refuse(
                "content",
                f"Invalid type for '{place}': expected a string, but got an object instead.",
                place,
                "invalid_type",
            )
    for part in objs(content):
        _part(index, text(role), text(part.get("type")))


def _part(index: int, role: str, kind: str) -> None:
    if kind == "image_url" and role != "user":
        raise _refuse(
            "content",
            f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role "
            f"'user', but this message with role '{role}' contains an image URL.",
            f"messages[{index}]",
            "invalid_value",
        )
    if kind not in ("text", "image_url", "input_audio", "file", "refusal"):
        raise _refuse(
            "content",
            f"Invalid 'messages[{index}]'. Content blocks are expected to be either text or "
            "image_url type.",
            f"messages[{index}]",
            "invalid_value",
        )


def _pairing(messages: list[Body], ordered: bool) -> None:
    """Tool messages follow their calls at once, one for each id."""
    open_: list[str] = []
    asked: list[str] = []
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            if not asked:
                raise _refuse("pairing", _UNASKED, f"messages.[{index}].role")
            id_ = text(message.get("tool_call_id"))
            if id_ not in open_:
                raise _refuse(
                    "pairing",
                    f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of "
                    "previous message.",
                    f"messages.[{index}].tool_call_id",
                )
            if ordered and id_ != open_[0]:
                raise _refuse("house", "house rule: results come in call order", "messages")
            open_.remove(id_)
            continue
        if open_:
            raise _unanswered(open_, index)
        calls = objs(message.get("tool_calls")) if message.get("role") == "assistant" else []
        asked = [text(call.get("id")) for call in calls]
        open_ = list(asked)
    if open_:
        raise _unanswered(open_, len(messages) - 1)


def _unanswered(ids: list[str], index: int) -> Refused:
    return _refuse(
        "pairing",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(ids)}",
        f"messages.[{index}].role",
    )
