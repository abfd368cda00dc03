"""The ``messages`` of Anthropic's API as a conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

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
from studio.providers.anthropic_accumulator import UNREADABLE
from studio.providers.attachments import text_of_file
from studio.providers.wire import sanitize_json
from studio.server.wire import INSTRUCTION_WRAPPER, join_texts

from .enclosed import read_base64
from .fields import Fields

_Role: TypeAlias = Literal["user", "assistant", "system"]
_ROLES: tuple[_Role, ...] = ("user", "assistant", "system")
_Kind: TypeAlias = Literal["base64", "text"]
_PLAIN = "text/plain"
_NAME = "document"

_Read = TypeVar("_Read", bound=Block)


class Conversation:
    """Takes the messages one after the other; each method raises BadRequest."""

    def __init__(self, instructions: str) -> None:
        """``instructions`` are those of ``system``, which come before all messages."""
        self._instructions = [instructions]
        self._messages: list[Message] = []
        self._names: dict[str, str] = {}
        """Of the calls so far, by id."""

    def told(self) -> tuple[str, tuple[Message, ...]]:
        """The instructions and the conversation."""
        return join_texts(self._instructions), tuple(self._messages)

    def take(self, message: Fields) -> None:
        match message.one_of("role", _ROLES):
            case "user":
                self._add("user", _blocks(message, self._of_user))
            case "assistant":
                self._add("assistant", _blocks(message, self._of_assistant))
            case "system":
                self._instruct(words(message, "content"))
            case None:
                message.needed("role")

    def _instruct(self, text: str) -> None:
        if self._messages and text:
            self._add("user", [Text(INSTRUCTION_WRAPPER.format(text=text))])
        else:
            self._instructions.append(text)

    def _add(self, role: Literal["user", "assistant"], blocks: list[Block]) -> None:
        if blocks:
            self._messages.append(Message(role, tuple(blocks)))

    def _of_user(self, block: Fields, kind: str) -> Block:
        match kind:
            case "tool_result":
                return self._result(block)
            case "document":
                return _document(block)
            case _:
                return _text_or_image(block, kind)

    def _of_assistant(self, block: Fields, kind: str) -> Block:
        match kind:
            case "tool_use":
                return self._call(block)
            case "thinking":
                return Reasoning(block.text("thinking"))
            case "redacted_thinking":
                return Reasoning("")
            case _:
                return _text(block, kind)

    def _call(self, block: Fields) -> ToolCall:
        call_id, name = block.needed("id"), block.needed("name")
        self._names[call_id] = name
        given = block.inner("input")
        arguments = sanitize_json(given.values) if given is not None else {}
        assert isinstance(arguments, dict)
        raw = arguments.get(UNREADABLE)
        if isinstance(raw, str) and len(arguments) == 1:
            return ToolCall(call_id, name, None, raw)
        return ToolCall(call_id, name, arguments)

    def _result(self, block: Fields) -> ToolResult:
        call_id = block.needed("tool_use_id")
        if (name := self._names.get(call_id)) is None:
            why = f"“{block.at}” answers a call, but no such call comes before it."
            raise block.refused("tool_use_id", why, "invalid_value")
        content = _blocks(block, _shown) if block.get("content") is not None else []
        return ToolResult(call_id, name, tuple(content), block.flag("is_error", False))


def words(fields: Fields, name: str) -> str:
    """What a text says, or blocks that are all text."""
    if fields.get(name) is None:
        return ""
    return join_texts([block.text for block in _blocks(fields, _text, name)])


def _blocks(
    fields: Fields, read: Callable[[Fields, str], _Read], name: str = "content"
) -> list[_Read]:
    """A list of blocks, or a text that stands for one; those without words are left out."""
    value = fields.get(name)
    if isinstance(value, str):
        given = [Fields({"type": "text", "text": value}, fields.place(name))]
    elif isinstance(value, list):
        given = fields.objects(name)
    else:
        raise fields.wrong(name, "a text or a list of blocks")
    blocks = [
        read(part, part.needed("type")) for block in given for part in (*_context(block), block)
    ]
    return [b for b in blocks if not isinstance(b, Text | Reasoning) or b.text.strip()]


def _context(block: Fields) -> Sequence[Fields]:
    """What the client says of a document, as the block of text that comes before it."""
    if block.get("type") != "document" or not (context := block.text("context").strip()):
        return ()
    return (Fields({"type": "text", "text": f"About “{_title(block)}”: {context}"}, block.at),)


def _text(block: Fields, kind: str) -> Text:
    if kind != "text":
        why = f"A block of type “{kind}” is not known in “{block.at}”."
        raise block.refused("type", why)
    return Text(block.text("text"))


def _text_or_image(block: Fields, kind: str) -> Text | Image:
    return _image(block) if kind == "image" else _text(block, kind)


def _shown(block: Fields, kind: str) -> Text | Image:
    """What a tool's result may have: of documents those that are text."""
    if kind != "document":
        return _text_or_image(block, kind)
    if (text := text_of_file(_document(block))) is None:
        raise block.refused("source", "Of documents, a tool’s result takes plain text only.")
    return Text(text)


def _image(block: Fields) -> Image:
    source = _source(block, ("base64",))
    media_type = source.needed("media_type")
    if not media_type.startswith("image/"):
        why = f"“{source.place('media_type')}” is no picture, but {media_type}."
        raise source.refused("media_type", why)
    return Image(media_type, read_base64(source, "data"))


def _title(block: Fields) -> str:
    return block.text("title").strip() or _NAME


def _document(block: Fields) -> File:
    name = _title(block)
    source = _source(block, ("base64", "text"))
    if source.get("type") == "text":
        return File(name, _PLAIN, source.needed("data").encode())
    return File(name, source.needed("media_type"), read_base64(source, "data"))


def _source(block: Fields, kinds: tuple[_Kind, ...]) -> Fields:
    source = block.inner("source")
    if source is None:
        raise block.wrong("source", "an object")
    if source.text("type") in ("url", "file"):
        why = f"“{source.at}”: this server fetches and keeps no files. Send the data itself."
        raise source.refused("type", why)
    if source.one_of("type", kinds) is None:
        source.needed("type")
    return source
