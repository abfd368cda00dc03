"""Anthropic's Messages: ``POST /v1/messages``.

Source: the types of the anthropic SDK 2.12.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Message
from studio.domain.models import EFFORTS, Effort, Generation, ToolChoice
from studio.server.wire import ResponseInfo, ApiRequest, BadRequest

from .fields import Fields
from .messages_answer import NO_THREADS, MessagesResponse, error_body
from .messages_blocks import Conversation, words
from .offered import ClientTools, schema_of

_Choice: TypeAlias = Literal["auto", "any", "tool", "none"]
_CHOICES: dict[_Choice, ToolChoice] = {
    "auto": "auto",
    "any": "required",
    "tool": "required",
    "none": "none",
}
_Thinking: TypeAlias = Literal["enabled", "adaptive", "between_tools", "disabled"]
_THINKING: tuple[_Thinking, ...] = ("enabled", "adaptive", "between_tools", "disabled")
_BUDGETS: tuple[tuple[int, Effort], ...] = ((4_096, "low"), (16_384, "medium"))
"""Tokens for thinking, up to which an effort is meant; "high" beyond."""


class MessagesDialect:
    """The dialect; see ``wire.UnsupportedParameters``."""

    def asked(self, body: JsonObject) -> ApiRequest:
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

    def speak(self, asked: ApiRequest, about: ResponseInfo, body: JsonObject) -> MessagesResponse:
        return MessagesResponse(about, _thinks_aloud(Fields(body)))

    def error(self, message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
        return error_body(message, status, code)


def _refuse(fields: Fields) -> None:
    """What would be another answer than the client expects."""
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
    kind = chosen.one_of("type", _CHOICES)
    if kind is None:
        chosen.needed("type")
        return "auto", ""
    if kind == "any" and not offered.specs:
        raise fields.refused("tool_choice", "A call is required, but there are no “tools”.")
    return _CHOICES[kind], offered.chosen(chosen) if kind == "tool" else ""


def _effort(fields: Fields) -> Effort | None:
    """What ``thinking`` asks for; None leaves it to the model."""
    thinking = fields.inner("thinking")
    match thinking and thinking.one_of("type", _THINKING):
        case "disabled":
            return "none"
        case "enabled":
            assert thinking is not None
            budget = thinking.count("budget_tokens") or 0
            for most, effort in _BUDGETS:
                if budget <= most:
                    return effort
            return "high"
        case _:
            return None


def _thinks_aloud(fields: Fields) -> bool:
    """Whether the client expects blocks of thinking: many take the first block for the words."""
    thinking = fields.inner("thinking")
    if thinking is None or thinking.get("type") == "disabled":
        return False
    return thinking.get("display") != "omitted"


def _schema(form: Fields | None) -> JsonObject | None:
    """``output_format`` is what the API called it while it was a beta; LiteLLM still does."""
    if form is None:
        return None
    if form.one_of("type", ("json_schema",)) is None:
        form.needed("type")
    return schema_of(form, "schema")
