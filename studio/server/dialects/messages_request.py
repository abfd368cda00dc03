"""The reader of Anthropic's Messages turns a request and its ``messages`` into a conversation.

Source: the types of the anthropic SDK 2.12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

from studio.domain.jsonvalue import JsonObject, sanitize_json
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
from studio.domain.models import EFFORTS, Effort, Generation, ToolChoice
from studio.providers.anthropic.stream import UNREADABLE
from studio.providers.media import text_of_file
from studio.server.contract import INSTRUCTION_WRAPPER, ApiRequest, BadRequest, join_texts

from .attachments import read_base64
from .client_tools import ClientTools, schema_of
from .fields import Fields

NO_THREADS = "thread_unsupported_request"
"""The code at which Anthropic's library sends the whole conversation instead."""

_PLAIN = "text/plain"
_NAME = "document"

_Read = TypeVar("_Read", bound=Block)


class Conversation:
    """Collects the messages in order; each method raises BadRequest."""

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
        match message.needed_one_of("role", ("user", "assistant", "system")):
            case "user":
                self._add("user", _blocks(message, self._of_user))
            case "assistant":
                self._add("assistant", _blocks(message, self._of_assistant))
            case "system":
                self._instruct(words(message, "content"))

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
    """Read a text, or blocks of text, as one text."""
    if fields.get(name) is None:
        return ""
    return join_texts([block.text for block in _blocks(fields, _text, name)])


def _blocks(
    fields: Fields, read: Callable[[Fields, str], _Read], name: str = "content"
) -> list[_Read]:
    """Read a list of blocks, or a text as one block; blank ones are left out."""
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
    """The client's note about a document, as a block of text before it."""
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
    """Read a block of a tool's result, which may be text, a picture or a text document."""
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


def _source(block: Fields, kinds: Sequence[str]) -> Fields:
    source = block.needed_object("source")
    if source.text("type") in ("url", "file"):
        why = f"“{source.at}”: this server fetches pictures of the web alone, and keeps no files."
        raise source.refused("type", f"{why} Send the data itself.")
    source.needed_one_of("type", kinds)
    return source


_Choice: TypeAlias = Literal["auto", "any", "tool", "none"]
_CHOICES: dict[_Choice, ToolChoice] = {
    "auto": "auto",
    "any": "required",
    "tool": "required",
    "none": "none",
}
_BUDGETS: tuple[tuple[int, Effort], ...] = ((4_096, "low"), (16_384, "medium"))
"""Tokens for thinking, up to which an effort is meant; "high" beyond."""


def read_request(body: JsonObject) -> ApiRequest:
    """Read a request; raises BadRequest that names the field."""
    fields = Fields(body)
    model = fields.needed("model")
    _refuse(fields)
    instructions, messages = _conversation(fields)
    offered = _tools(fields)
    choice, only = _choice(fields, offered)
    chosen = fields.inner("tool_choice") or Fields({})
    thinking, config = _effort(fields), fields.inner("output_config") or Fields({})
    limit = fields.count("max_tokens")
    if limit is None:
        raise BadRequest("“max_tokens” is missing.", param="max_tokens")
    return ApiRequest(
        model=model,
        messages=messages,
        instructions=instructions,
        tools=tuple(offered.specs.values()),
        generation=Generation(
            output_limit=limit,
            effort=config.one_of("effort", EFFORTS) or thinking,
            temperature=fields.number("temperature", 0, 1),
            top_p=fields.number("top_p", 0, 1),
            stop=tuple(text for text in fields.texts("stop_sequences") if text),
            choice=choice,
            only=only,
            parallel=not chosen.flag("disable_parallel_tool_use", False),
            schema=_schema(config.inner("format") or fields.inner("output_format")),
        ),
        stream=fields.flag("stream", False),
        user=(fields.inner("metadata") or Fields({})).text("user_id"),
    )


def _refuse(fields: Fields) -> None:
    """Raise BadRequest for options that would change the response in ways we do not support."""
    if fields.items("mcp_servers"):
        why = "Tools of MCP servers cannot be had here: the agent has tools of its own."
        raise fields.refused("mcp_servers", why)
    if fields.get("container") is not None:
        raise fields.refused("container", "Containers and skills live at Anthropic.")
    # A conversation that the server holds: the SDK tries one for tools, then goes without.
    if fields.get("thread") is not None:
        why = "Threads are not held here. Send the whole conversation, without “thread”."
        raise BadRequest(why, param="thread", code=NO_THREADS)


def _conversation(fields: Fields) -> tuple[str, tuple[Message, ...]]:
    conversation = Conversation(words(fields, "system"))
    for message in fields.objects("messages"):
        conversation.take(message)
    instructions, messages = conversation.told()
    if not messages:
        raise BadRequest("“messages” is missing or says nothing.", param="messages")
    if messages[-1].role == "assistant":
        why = "The last message has to be the user’s: no answer can be begun for the model here."
        raise BadRequest(why, param="messages")
    return instructions, messages


def _tools(fields: Fields) -> ClientTools:
    offered = ClientTools()
    for tool in fields.objects("tools"):
        if (kind := tool.text("type", "custom")) != "custom":
            why = f"Tools of type “{kind}” are Anthropic’s. The agent here has tools of its own"
            raise tool.refused("type", f"{why}; send yours with a name and an “input_schema”.")
        offered.take(tool, "input_schema")
    return offered


def _choice(fields: Fields, offered: ClientTools) -> tuple[ToolChoice, str]:
    chosen = fields.inner("tool_choice")
    if chosen is None:
        return "auto", ""
    kind = chosen.needed_one_of("type", _CHOICES)
    if kind == "any" and not offered.specs:
        raise fields.refused("tool_choice", "A call is required, but there are no “tools”.")
    return _CHOICES[kind], offered.chosen(chosen) if kind == "tool" else ""


def _effort(fields: Fields) -> Effort | None:
    """The effort that ``thinking`` asks for; None leaves it to the model."""
    thinking = fields.inner("thinking") or Fields({})
    match thinking.one_of("type", ("enabled", "adaptive", "between_tools", "disabled")):
        case "disabled":
            return "none"
        case "enabled":
            budget = thinking.count("budget_tokens") or 0
            for most, effort in _BUDGETS:
                if budget <= most:
                    return effort
            return "high"
        case _:
            return None


def shows_thinking(body: JsonObject) -> bool:
    """Whether the client expects blocks of thinking: many read the first block as the answer."""
    thinking = Fields(body).inner("thinking")
    if thinking is None or thinking.get("type") == "disabled":
        return False
    return thinking.get("display") != "omitted"


def _schema(form: Fields | None) -> JsonObject | None:
    """``output_format`` is what the API called it while it was a beta; LiteLLM still does."""
    if form is None:
        return None
    form.needed_one_of("type", ("json_schema",))
    return schema_of(form, "schema")
