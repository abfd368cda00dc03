"""Import formats: reads conversations that other programs exported.

These are the ``conversations.json`` of ChatGPT and Claude, also in the archives that they come
in, and plain lists of messages as the APIs take them. What a file does not contain, for example
a picture of ChatGPT's, is named in its place; nothing is made up.
"""

from __future__ import annotations

import base64
import binascii
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable
from datetime import datetime
from io import BytesIO
from typing import Any, TypeAlias, cast

from studio.domain.codec import decode, decode_event
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject, repair_surrogates
from studio.domain.messages import (
    Block,
    File,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from studio.domain.sessions import SessionInfo
from studio.tools.workspace import images

from .import_export import MARK, PortableConversation, conversation_of, distinct, of_json

LARGEST = 500_000_000
"""The most bytes of a file, or of what is packed in it."""
ARCHIVED = "conversations.json"
Body: TypeAlias = dict[str, Any]
KNOWN = (
    "Known are what agent-studio exports, conversations.json of ChatGPT and Claude, "
    "and lists of messages with role and content."
)


def read_conversations(data: bytes) -> list[PortableConversation]:
    """All conversations of a file; ValueError says what is wrong with it, and where."""
    if data[:4] == b"PK\x03\x04":
        data = _unpacked(data)
    try:
        value = cast("Json", json.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from error
    if isinstance(value, dict):
        if MARK in value:
            return of_json(value)
        if "session" in value and "events" in value:
            return [_session(value)]
        value = [cast("Json", value)]
    if not isinstance(value, list) or not value:
        raise ValueError(f"it holds no conversation. {KNOWN}")
    if all(isinstance(one, dict) and "role" in one for one in value):
        return [_plain({"messages": value})]
    found: list[PortableConversation] = []
    for number, one in enumerate(value, 1):
        try:
            found.append(_reader(one)(cast("JsonObject", one)))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{_named(number, one)} is damaged: {error!r:.80}") from error
        except ValueError as error:
            raise ValueError(f"{_named(number, one)}: {error}") from error
    return found


def _unpacked(data: bytes) -> bytes:
    """The ``conversations.json`` of an archive."""
    damage = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            inside = [one for one in archive.infolist() if one.filename.endswith(ARCHIVED)]
            if not inside:
                raise ValueError(f"it is an archive without {ARCHIVED}")
            with archive.open(inside[0]) as packed:
                found = packed.read(LARGEST + 1)
    except damage as error:
        raise ValueError(f"it is a damaged archive ({error})") from error
    if len(found) > LARGEST:
        raise ValueError(f"its {ARCHIVED} has more than {LARGEST // 1_000_000:,} MB")
    return found


def _named(number: int, value: Json) -> str:
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    return f"conversation {number} “{title}”" if title else f"conversation {number}"


def _reader(value: Json) -> Callable[[JsonObject], PortableConversation]:
    if isinstance(value, dict):
        readers = {"mapping": _chatgpt, "chat_messages": _claude, "messages": _plain}
        for key in readers.keys() & value.keys():
            return readers[key]
    raise ValueError(f"this is no conversation. {KNOWN}")


def _session(data: JsonObject) -> PortableConversation:
    """``agent-studio sessions events ID``."""
    try:
        events = [decode_event(one) for one in _list(data["events"])]
        return conversation_of(decode(SessionInfo, data["session"]), events)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the session is damaged: {error}") from error


# ChatGPT: a tree of messages; the conversation is the branch that was shown last


def _chatgpt(data: JsonObject) -> PortableConversation:
    nodes = cast("dict[str, Body]", data["mapping"])
    branch: list[Body] = []
    at, seen = data.get("current_node") or _newest(nodes), set[str]()
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        if nodes[at].get("message"):
            branch.append(nodes[at]["message"])
        at = nodes[at].get("parent")
    messages = [_chatgpt_message(one) for one in reversed(branch) if not _hidden(one)]
    return PortableConversation(
        title=_text(data.get("title")),
        messages=_joined(messages),
        updated=_seconds(data.get("update_time") or data.get("create_time")),
        id=_text(data.get("conversation_id") or data.get("id")),
    )


def _newest(nodes: dict[str, Body]) -> str:
    leaves = [name for name, node in nodes.items() if not node.get("children")]
    return leaves[-1] if leaves else ""


def _hidden(message: Body) -> bool:
    facts: Body = message.get("metadata") or {}
    kind = message["content"].get("content_type")
    return (
        message["author"]["role"] == "system"
        or bool(facts.get("is_visually_hidden_from_conversation"))
        or kind in ("user_editable_context", "model_editable_context", "reasoning_recap")
    )


def _chatgpt_message(message: Body) -> tuple[str, list[Block]]:
    content = message["content"]
    kind = content.get("content_type")
    person = message["author"]["role"] == "user"
    blocks: list[Block] = []
    if kind == "thoughts":
        for one in _list(content.get("thoughts")):
            blocks.append(Reasoning(_text(one.get("content") or one.get("summary"))))
    elif "parts" in content:
        for part in _list(content["parts"]):
            blocks += [Text(_text(part))] if isinstance(part, str) else [Text(_missing(part))]
    else:
        text = _text(content.get("text") or content.get("result"))
        fence = kind in ("code", "execution_output") and text
        blocks.append(Text(f"```\n{text}\n```" if fence else text))
    facts: Body = message.get("metadata") or {}
    for one in _list(facts.get("attachments")) if person else []:
        blocks.append(Text(_lost(_text(one.get("name")))))
    return "user" if person else "assistant", blocks


def _missing(part: Body) -> str:
    kind = _text(part.get("content_type"))
    if kind == "audio_transcription":
        return _text(part.get("text"))
    what = "picture" if "image" in kind else "recording" if "audio" in kind else "part"
    return f"[A {what} that is not in the export.]"


# Claude: a list of messages, each of blocks


def _claude(data: JsonObject) -> PortableConversation:
    messages = [_claude_message(one) for one in cast("list[Body]", data["chat_messages"])]
    return PortableConversation(
        title=_text(data.get("name")),
        messages=_joined(messages),
        updated=_seconds(data.get("updated_at") or data.get("created_at")),
        id=_text(data.get("uuid")),
    )


def _claude_message(message: Body) -> tuple[str, list[Block]]:
    sender = message["sender"]
    if sender not in ("human", "assistant"):
        raise ValueError(f"a message is from {sender!r:.40}")
    blocks: list[Block] = []
    for one in _list(message.get("attachments")):
        words = _text(one.get("extracted_content"))
        name = _text(one.get("file_name")) or "attachment"
        blocks.append(File(name, "text/plain", words.encode()) if words else Text(_lost(name)))
    for one in _list(message.get("files")):
        blocks.append(Text(_lost(_text(one.get("file_name")))))
    content = message.get("content") or [{"type": "text", "text": message.get("text")}]
    for part in _list(content):
        match part.get("type"):
            case "text":
                blocks.append(Text(_text(part.get("text"))))
            case "thinking":
                blocks.append(Reasoning(_text(part.get("thinking"))))
            case "tool_use" | "tool_result":
                said = part.get("input") if part["type"] == "tool_use" else part.get("content")
                text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
                blocks.append(Text(f"{_text(part.get('name'))}\n\n```\n{_text(text)}\n```"))
            case _:
                pass
    return "user" if sender == "human" else "assistant", blocks


def _lost(name: str) -> str:
    return f"[The file “{name}” is not in the export.]"


# Lists of messages, as the APIs take them


def _plain(data: JsonObject) -> PortableConversation:
    messages: list[tuple[str, list[Block]]] = []
    instructions: list[str] = [_text(data.get("system"))]
    names: dict[str, str] = {}
    for number, one in enumerate(cast("list[Body]", data["messages"]), 1):
        try:
            role, content = one["role"], one.get("content")
            if role in ("system", "developer"):
                instructions += [b.text for b in _parts(content) if isinstance(b, Text)]
            elif role in ("tool", "function"):
                call_id = _text(one.get("tool_call_id") or one.get("name"))
                words = tuple(b for b in _parts(content) if isinstance(b, Text | Image))
                result = ToolResult(call_id, names.get(call_id, "tool"), words)
                messages.append(("user", [result]))
            elif role in ("user", "assistant"):
                calls = [_call(call, names) for call in _list(one.get("tool_calls"))]
                messages.append((role, [*_parts(content), *calls]))
            else:
                raise ValueError(f"its role is {role!r:.40}")
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"message {number} has no role and content") from error
        except ValueError as error:
            raise ValueError(f"message {number}: {error}") from error
    title = _text(data.get("title")) or _text(data.get("name"))
    words = "\n\n".join(filter(None, instructions))
    return PortableConversation(title=title, messages=_joined(messages), instructions=words)


def _call(call: Body, names: dict[str, str]) -> ToolCall:
    function, call_id = call["function"], _text(call["id"])
    names[call_id] = _text(function["name"])
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = None
    given = cast("JsonObject", arguments) if isinstance(arguments, dict) else None
    return ToolCall(call_id, names[call_id], given, "" if given is not None else "arguments")


def _parts(content: Any) -> list[Block]:
    return [_part(part) for part in ([content] if isinstance(content, str) else _list(content))]


def _part(part: Any) -> Block:
    if isinstance(part, str):
        return Text(_text(part))
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            return Text(_text(part["text"]))
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


# What they share


def _joined(messages: Iterable[tuple[str, list[Block]]]) -> tuple[Message, ...]:
    """Without what is empty; neighbours of one side are one message, as in a conversation."""
    out: list[Message] = []
    for role, found in messages:
        blocks = [b for b in found if not (isinstance(b, Text | Reasoning) and not b.text.strip())]
        results = any(isinstance(block, ToolResult) for block in blocks)
        if not blocks:
            continue
        last = out[-1] if out else None
        if last is not None and last.role == role and not results and not _called(last):
            out[-1] = Message(last.role, (*last.blocks, *blocks))
        else:
            out.append(Message("user" if role == "user" else "assistant", tuple(blocks)))
    return distinct(out)


def _called(message: Message) -> bool:
    return any(isinstance(block, ToolCall | ToolResult) for block in message.blocks)


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError("a list is wanted where there is none")
    return cast("list[Any]", value)


def _text(value: Any) -> str:
    return repair_surrogates(value) if isinstance(value, str) else ""


def _seconds(value: Any) -> float:
    """A time as seconds since the epoch: a number, or ISO 8601; 0 for none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value < 1e11 else 0.0
    try:
        return datetime.fromisoformat(_text(value)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
