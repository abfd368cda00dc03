"""Import formats: reads conversations that other programs exported.

These are the ``conversations.json`` of ChatGPT and Claude, also in the archives that they come
in, and plain lists of messages as the APIs take them. What a file does not contain, for example
a picture of ChatGPT's, is named in its place; nothing is made up.
"""

from __future__ import annotations

import base64
import binascii
import json
import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import IO, Any, cast

from studio.domain.codec import decode, decode_event
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Block, Image, Text, ToolCall, ToolResult
from studio.domain.sessions import SessionInfo
from studio.tools.workspace import images

from .import_chatgpt import GetFile, read_chatgpt
from .import_claude import read_claude
from .import_export import MARK, PortableConversation, conversation_of, of_json
from .import_stream import DAMAGE, ImportArchive, JsonReader
from .import_values import Body, Found, joined, list_of, text_of

ARCHIVED = "conversations.json"
KNOWN = (
    "Known are what agent-studio exports, conversations.json of ChatGPT and Claude, "
    "and lists of messages with role and content."
)


class ConversationFile:
    """The conversations of a file, one after the other; of a list only one is in memory.

    ValueError says what is wrong with the file, and where.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.left: tuple[str, ...] = ()
        """After the end: the files of an archive that were not taken."""

    def __iter__(self) -> Iterator[PortableConversation]:
        self._file.seek(0)
        packed = self._file.read(4) == b"PK\x03\x04"
        self._file.seek(0)
        if not packed:
            yield from _conversations(self._file, lambda _id, _name: None)
            return
        try:
            with zipfile.ZipFile(self._file) as archive:
                inside = ImportArchive(archive)
                if not inside.conversations:
                    raise ValueError(f"it is an archive without {ARCHIVED}")
                for one in inside.conversations:
                    with archive.open(one) as unpacked:
                        yield from _conversations(unpacked, inside.file)
                self.left = tuple(inside.others)
        except DAMAGE as error:
            raise ValueError(f"it is a damaged archive ({error})") from error


def read_conversations(data: bytes) -> list[PortableConversation]:
    """All conversations of a file; ValueError says what is wrong with it, and where."""
    return list(ConversationFile(BytesIO(data)))


def _conversations(file: IO[bytes], get_file: GetFile) -> Iterator[PortableConversation]:
    reader = JsonReader(file)
    if reader.is_list:
        yield from _of_list(reader.items(), get_file)
        return
    value = reader.whole()
    if isinstance(value, dict) and MARK in value:
        yield from of_json(value)
    elif isinstance(value, dict) and "session" in value and "events" in value:
        yield _session(value)
    else:
        yield from _of_list([value] if isinstance(value, dict) else [], get_file)


def _of_list(values: Iterable[Json], get_file: GetFile) -> Iterator[PortableConversation]:
    """A list of conversations, or one of messages, which is one conversation."""
    each = iter(values)
    first = next(each, None)
    if first is None:
        raise ValueError(f"it holds no conversation. {KNOWN}")
    if isinstance(first, dict) and "role" in first:
        yield _plain({"messages": [first, *each]})
        return
    for number, one in enumerate(chain([first], each), 1):
        try:
            yield from _read(one, get_file)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{_named(number, one)} is damaged: {error!r:.80}") from error
        except ValueError as error:
            raise ValueError(f"{_named(number, one)}: {error}") from error


def _named(number: int, value: Json) -> str:
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    return f"conversation {number} “{title}”" if title else f"conversation {number}"


def _read(value: Json, get_file: GetFile) -> Iterator[PortableConversation]:
    if isinstance(value, dict):
        if "mapping" in value:
            return read_chatgpt(value, get_file)
        if "chat_messages" in value:
            return read_claude(value)
        if "messages" in value:
            return iter([_plain(value)])
    raise ValueError(f"this is no conversation. {KNOWN}")


def _session(data: JsonObject) -> PortableConversation:
    """``agent-studio sessions events ID``."""
    try:
        events = [decode_event(one) for one in list_of(data["events"])]
        return conversation_of(decode(SessionInfo, data["session"]), events)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the session is damaged: {error}") from error


# Lists of messages, as the APIs take them


def _plain(data: JsonObject) -> PortableConversation:
    messages: list[Found] = []
    instructions: list[str] = [text_of(data.get("system"))]
    names: dict[str, str] = {}
    for number, one in enumerate(cast("list[Body]", data["messages"]), 1):
        try:
            role, content = one["role"], one.get("content")
            if role in ("system", "developer"):
                instructions += [b.text for b in _parts(content) if isinstance(b, Text)]
            elif role in ("tool", "function"):
                call_id = text_of(one.get("tool_call_id") or one.get("name"))
                words = tuple(b for b in _parts(content) if isinstance(b, Text | Image))
                result = ToolResult(call_id, names.get(call_id, "tool"), words)
                messages.append(("user", [result]))
            elif role in ("user", "assistant"):
                calls = [_call(call, names) for call in list_of(one.get("tool_calls"))]
                messages.append((role, [*_parts(content), *calls]))
            else:
                raise ValueError(f"its role is {role!r:.40}")
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"message {number} has no role and content") from error
        except ValueError as error:
            raise ValueError(f"message {number}: {error}") from error
    title = text_of(data.get("title")) or text_of(data.get("name"))
    words = "\n\n".join(filter(None, instructions))
    return PortableConversation(title=title, messages=joined(messages), instructions=words)


def _call(call: Body, names: dict[str, str]) -> ToolCall:
    function, call_id = call["function"], text_of(call["id"])
    names[call_id] = text_of(function["name"])
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = None
    given = cast("JsonObject", arguments) if isinstance(arguments, dict) else None
    return ToolCall(call_id, names[call_id], given, "" if given is not None else "arguments")


def _parts(content: Any) -> list[Block]:
    return [_part(part) for part in ([content] if isinstance(content, str) else list_of(content))]


def _part(part: Any) -> Block:
    if isinstance(part, str):
        return Text(text_of(part))
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            return Text(text_of(part["text"]))
        case "image_url" | "input_image":
            url = part["image_url"]
            return _picture(url if isinstance(url, str) else url["url"])
        case "image":
            source = part["source"]
            return _picture(source.get("url") or f"data:;base64,{source['data']}")
        case kind:
            return Text(f"[A part of the kind {kind} that is not taken over.]")


def _picture(url: str) -> Block:
    head, _, body = url.partition(";base64,")
    if not head.startswith("data:"):  # nothing is fetched for a file of somebody else's
        return Text(f"[A picture at {url[:200]}]")
    try:
        data = base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise ValueError("a picture in it is damaged") from error
    try:
        return images.normalise(data)
    except ToolFailed as error:
        raise ValueError(str(error)) from error
