"""OpenAI Chat Completions: checks single messages and their parts."""

from __future__ import annotations

from collections.abc import Iterator

from studio.simulator.json_read import Body, array, obj, objs, text
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from .parameter_checks import (
    check_file,
    check_picture,
    empty_array,
    refuse,
    unknown_value,
    wrong_type,
)


def messages(view: RequestView) -> list[Body]:
    return objs(view.body.get("messages"))


_ROLES = ("system", "developer", "user", "assistant", "tool")
_LISTED = ("system", "assistant", "user", "function", "tool", "developer")
"""What a refusal names."""
_PARTS = ("text", "image_url", "input_audio", "file", "refusal")


def _parts(view: RequestView) -> Iterator[tuple[int, str, int, Body]]:
    """Each content part with its message's index and role, and its own index."""
    for index, message in enumerate(messages(view)):
        for number, part in enumerate(objs(message.get("content"))):
            yield index, text(message.get("role")), number, part


def some_messages(view: RequestView, state: ServerState) -> None:
    """There is something to answer."""
    if not messages(view):
        raise empty_array("messages")


def roles(view: RequestView, state: ServerState) -> None:
    """Messages have roles that the API knows."""
    for index, message in enumerate(messages(view)):
        if (role := message.get("role")) not in _ROLES:
            raise unknown_value("role", role, _LISTED, f"messages[{index}].role")


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
            raise empty_array(f"messages[{index}].content")


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
            place = f"messages[{index}].content[{number}].image_url.url"
            check_picture(url, place, place)


def files(view: RequestView, state: ServerState) -> None:
    """A file is known by its id, or comes with a name and readable data."""
    for index, _, number, part in _parts(view):
        file = obj(part.get("file"))
        if part.get("type") == "file" and not file.get("file_id"):
            place = f"messages[{index}].content[{number}].file"
            check_file(file, place, "a base64-encoded data URL")


def content_is_text_or_parts(view: RequestView, state: ServerState) -> None:
    """What is said is a string or a list."""
    for index, message in enumerate(messages(view)):
        content = message.get("content")
        if content is not None and not isinstance(content, str) and content != array(content):
            expected = "one of a string or array of objects, but got an object instead"
            raise wrong_type("content", f"messages[{index}].content", expected)
