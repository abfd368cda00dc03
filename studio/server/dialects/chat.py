"""OpenAI's Chat Completions: ``POST /v1/chat/completions``.

Source: the types of the openai SDK 3.54. Thoughts travel in
``reasoning_content``, which OpenAI has not: DeepSeek began with it, and LiteLLM
and Open WebUI read it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Message
from studio.domain.models import EFFORTS, Generation
from studio.server.wire import ResponseInfo, ApiRequest, BadRequest

from .chat_answer import ChatResponse
from .chat_messages import Conversation
from .fields import Fields
from .offered import ClientTools, schema_of
from .openai import NO_LOGPROBS, choose, error_body, refuse_services

STOPS = 4
"""Texts at which an answer ends, at most."""

_Format: TypeAlias = Literal["text", "json_object", "json_schema"]
_FORMATS: tuple[_Format, ...] = ("text", "json_object", "json_schema")


class ChatDialect:
    """The dialect; see ``wire.UnsupportedParameters``."""

    def asked(self, body: JsonObject) -> ApiRequest:
        fields = Fields(body)
        model = fields.needed("model")
        _refuse(fields)
        instructions, messages = _conversation(fields)
        tools = _tools(fields)
        generation = Generation(
            output_limit=fields.count("max_completion_tokens") or fields.count("max_tokens"),
            effort=fields.one_of("reasoning_effort", EFFORTS),
            temperature=fields.number("temperature", 0, 2),
            top_p=fields.number("top_p", 0, 1),
            stop=_stop(fields),
            schema=_schema(fields),
            parallel=fields.flag("parallel_tool_calls", True),
        )
        offered, generation = choose(fields, tools, generation)
        _with_usage(fields)
        return ApiRequest(
            model=model,
            messages=messages,
            instructions=instructions,
            tools=offered,
            generation=generation,
            stream=fields.flag("stream", False),
            user=fields.text("user") or fields.text("safety_identifier"),
        )

    def speak(self, asked: ApiRequest, about: ResponseInfo, body: JsonObject) -> ChatResponse:
        return ChatResponse(about, _with_usage(Fields(body)))

    def error(self, message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
        return error_body(message, status=status, code=code, param=param)


def _refuse(fields: Fields) -> None:
    """What would be another answer than the client expects."""
    if fields.count("n") not in (None, 1):
        raise fields.refused("n", "There is one answer for each request: “n” has to be 1.")
    if fields.flag("logprobs", False):
        raise fields.refused("logprobs", NO_LOGPROBS)
    refuse_services(fields)
    if fields.get("web_search_options") is not None:
        why = "OpenAI’s web search cannot be had here: the agent has tools of its own."
        raise fields.refused("web_search_options", why)
    if "audio" in fields.items("modalities"):
        raise fields.refused("modalities", "Answers are text here, not sound.")
    fields.flag("store", True)  # what is kept is the person's to say
    for name, instead in (("functions", "tools"), ("function_call", "tool_choice")):
        if fields.get(name) is not None:
            raise fields.refused(name, f"“{name}” is no longer known. Send “{instead}”.")


def _conversation(fields: Fields) -> tuple[str, tuple[Message, ...]]:
    conversation = Conversation()
    for message in fields.objects("messages"):
        conversation.take(message)
    instructions, messages = conversation.told()
    if not messages:
        why = "“messages” is missing or says nothing."
        raise BadRequest(why, param="messages", code="missing_required_parameter")
    return instructions, messages


def _tools(fields: Fields) -> ClientTools:
    offered = ClientTools()
    for tool in fields.objects("tools"):
        if (kind := tool.text("type", "function")) != "function":
            raise tool.refused("type", f"Tools of type “{kind}” are not known here.")
        function = tool.inner("function")
        if function is None:
            raise tool.wrong("function", "an object")
        offered.take(function, "parameters")
    return offered


def _stop(fields: Fields) -> tuple[str, ...]:
    one = isinstance(fields.get("stop"), str)
    texts = [fields.text("stop")] if one else fields.texts("stop")
    if len(texts) > STOPS:
        raise fields.wrong("stop", f"a text or a list of up to {STOPS} texts")
    return tuple(text for text in texts if text)


def _schema(fields: Fields) -> JsonObject | None:
    wanted = fields.inner("response_format")
    match wanted and wanted.one_of("type", _FORMATS):
        case "json_object":
            return {}
        case "json_schema":
            assert wanted is not None
            described = wanted.inner("json_schema")
            if described is None:
                raise wanted.wrong("json_schema", "an object")
            return schema_of(described, "schema")
        case _:
            return None


def _with_usage(fields: Fields) -> bool:
    options = fields.inner("stream_options")
    return options is not None and options.flag("include_usage", False)
