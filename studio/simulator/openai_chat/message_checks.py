"""OpenAI Chat Completions: checks single messages and their parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from studio.simulator.json_read import Body, array, obj, objs, text
from studio.simulator.request_checks import RequestRefused, data_url
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from .parameter_checks import bad_picture, refuse

EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."


def messages(view: RequestView) -> list[Body]:
    return objs(view.body.get("messages"))


_ROLES = ("system", "developer", "user", "assistant", "tool")
_PARTS = ("text", "image_url", "input_audio", "file", "refusal")


def _parts(view: RequestView) -> Iterator[tuple[int, str, int, Body]]:
    """Each content part with its message's index and role, and its own index."""
    for index, message in enumerate(messages(view)):
        for number, part in enumerate(objs(message.get("content"))):
            yield index, text(message.get("role")), number, part


def some_messages(view: RequestView, state: ServerState) -> None:
    """There is something to answer."""
    if not messages(view):
        raise refuse("empty", f"Invalid 'messages': {EMPTY}", "messages", "empty_array")


def roles(view: RequestView, state: ServerState) -> None:
    """Messages have roles that the API knows."""
    for index, message in enumerate(messages(view)):
        if (role := message.get("role")) not in _ROLES:
            raise refuse(
                "role",
                f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', "
                "'function', 'tool', and 'developer'.",
                f"messages[{index}].role",
                "invalid_value",
            )


def content_given(view: RequestView, state: ServerState) -> None:
    """Only the assistant may say nothing, and only while it calls or refuses."""
    for index, message in enumerate(messages(view)):
        other = message.get("tool_calls") is not None or message.get("refusal")
        if message.get("content") is None and not (message.get("role") == "assistant" and other):
            raise refuse(
                "empty",
                "Invalid value for 'content': expected a string, got null.",
                f"messages.[{index}].content",
            )


def content_not_empty(view: RequestView, state: ServerState) -> None:
    """A list of parts has parts."""
    for index, message in enumerate(messages(view)):
        if message.get("content") == []:
            place = f"messages[{index}].content"
            raise refuse("empty", f"Invalid '{place}': {EMPTY}", place, "empty_array")


def known_parts(view: RequestView, state: ServerState) -> None:
    """Parts have types that the API knows."""
    for index, _, _, part in _parts(view):
        if part.get("type") not in _PARTS:
            raise _wrong_part(index)


def tools_say_text(view: RequestView, state: ServerState) -> None:
    """A result holds text only."""
    for index, role, _, part in _parts(view):
        if role != "tool" or part.get("type") == "text":
            continue
        if part.get("type") == "image_url":
            raise refuse(
                "content",
                f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role "
                f"'user', but this message with role '{role}' contains an image URL.",
                f"messages[{index}]",
                "invalid_value",
            )
        raise _wrong_part(index)


def only_users_show(view: RequestView, state: ServerState) -> None:
    """Only the user shows pictures, sounds and files."""
    for index, role, _, part in _parts(view):
        if role in ("system", "developer", "assistant") and part.get("type") not in (
            "text",
            "refusal",
        ):
            raise _wrong_part(index)


def _wrong_part(index: int) -> RequestRefused:
    return refuse(
        "content",
        f"Invalid 'messages[{index}]'. Content blocks are expected to be either text or "
        "image_url type.",
        f"messages[{index}]",
        "invalid_value",
    )


def pictures(view: RequestView, state: ServerState) -> None:
    """A picture is a URL, or a ``data:`` URL of a format that can be read."""
    for index, _, number, part in _parts(view):
        if part.get("type") == "image_url":
            url = text(obj(part.get("image_url")).get("url"))
            if found := bad_picture(url):
                message, code = found
                place = f"messages[{index}].content[{number}].image_url.url"
                raise refuse("media", message.format(place), place, code)


def files(view: RequestView, state: ServerState) -> None:
    """A file is known by its id, or comes with a name and readable data."""
    for index, _, number, part in _parts(view):
        file = obj(part.get("file"))
        if part.get("type") != "file" or file.get("file_id"):
            continue
        place = f"messages[{index}].content[{number}].file"
        if not file.get("filename"):
            raise refuse(
                "media",
                f"Missing required parameter: '{place}.filename'.",
                f"{place}.filename",
                "missing_required_parameter",
            )
        if data_url(text(file.get("file_data")))[1] is None:
            raise refuse(
                "media",
                f"Invalid '{place}.file_data'. Expected a base64-encoded data URL.",
                f"{place}.file_data",
                "invalid_value",
            )


def one_message_a_turn(view: RequestView, state: ServerState) -> None:
    """House rule: no two messages of one side in a row."""
    found = [text(message.get("role")) for message in messages(view)]
    for role, following in pairwise(found):
        if role == following and role in ("user", "assistant"):
            raise refuse("house", f"house rule: consecutive {role} messages", "messages")


def content_is_text_or_parts(view: RequestView, state: ServerState) -> None:
    """What is said is a string or a list."""
    for index, message in enumerate(messages(view)):
        content = message.get("content")
        if content is not None and not isinstance(content, str) and content != array(content):
            raise refuse(
                "content",
                f"Invalid type for 'messages[{index}].content': expected one of a string or array "
                "of objects, but got an object instead.",
                f"messages[{index}].content",
                "invalid_type",
            )
