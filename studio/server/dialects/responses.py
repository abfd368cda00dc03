"""OpenAI's Responses API, and the open specification made from it.

See https://platform.openai.com/docs/api-reference/responses and
https://openresponses.org/specification.
"""

from __future__ import annotations

from collections.abc import Iterable

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Message
from studio.domain.models import EFFORTS, Effort, Generation
from studio.providers.wire import sanitize_json
from studio.server.wire import ResponseInfo, ApiRequest, ResponsePart, join_texts

from .fields import Fields
from .offered import ClientTools, schema_of
from .openai import NO_LOGPROBS, choose, error_body, refuse_services
from .responses_answer import PREFIX, ResponsesResponse
from .responses_items import ResponsesInput

_TRUNCATIONS = ("disabled", "auto")
_LOGPROBS = "message.output_text.logprobs"
_NOT_HERE = {
    "conversation": "Go on from an answer with “previous_response_id” instead.",
    "prompt": "Stored prompts live at OpenAI. Send the text in “input” and “instructions”.",
}


class ResponsesDialect:
    """``UnsupportedParameters`` of ``POST /v1/responses``."""

    def asked(self, body: JsonObject) -> ApiRequest:
        fields = Fields(body)
        model = fields.needed("model")
        _refuse(fields)
        previous = fields.text("previous_response_id")
        instructions, messages = _conversation(fields, earlier=bool(previous))
        generation = Generation(
            output_limit=fields.count("max_output_tokens"),
            effort=_effort(fields),
            temperature=fields.number("temperature", 0, 2),
            top_p=fields.number("top_p", 0, 1),
            schema=_schema(fields),
            parallel=fields.flag("parallel_tool_calls", True),
            calls=fields.count("max_tool_calls"),
        )
        tools, generation = choose(fields, _tools(fields), generation)
        return ApiRequest(
            model,
            messages,
            instructions=join_texts([fields.text("instructions"), instructions]),
            tools=tools,
            generation=generation,
            stream=fields.flag("stream", False),
            previous=previous,
            user=fields.text("safety_identifier") or fields.text("user"),
            stored=fields.flag("store", True),
        )

    def speak(self, asked: ApiRequest, about: ResponseInfo, body: JsonObject) -> ResponsesResponse:
        return ResponsesResponse(echoed_settings(body), about)

    def error(self, message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
        return error_body(message, status=status, code=code, param=param)


def stored_response(
    parts: Iterable[ResponsePart], about: ResponseInfo, ended: float, body: JsonObject | None = None
) -> JsonObject:
    """The object of an answer that was made before, as far as its ``parts`` go.

    ``ended`` is in seconds since the epoch. ``body`` has what is still known of
    the request: ``instructions``, ``previous_response_id``.
    """
    answer = ResponsesResponse(echoed_settings(body or {}), about, clock=lambda: ended)
    for part in parts:
        answer.frames(part)
    return answer.body()


def deleted_response(number: str) -> JsonObject:
    """What is said of an answer that is gone now."""
    return {"id": f"{PREFIX}{number}", "object": "response", "deleted": True}


def echoed_settings(body: JsonObject) -> JsonObject:
    """What a response repeats of a request that was read before.

    The specification wants a value for each. Where the request has none, it is
    what OpenAI's service says of its own defaults.
    """
    fields = Fields(body)
    text, reasoning = fields.inner("text") or Fields({}), fields.inner("reasoning") or Fields({})
    shown: JsonObject = {
        "background": False,
        "frequency_penalty": 0,
        "instructions": fields.get("instructions"),
        "max_output_tokens": fields.count("max_output_tokens"),
        "max_tool_calls": fields.count("max_tool_calls"),
        "metadata": fields.get("metadata") or {},
        "parallel_tool_calls": fields.flag("parallel_tool_calls", True),
        "presence_penalty": 0,
        "previous_response_id": fields.get("previous_response_id"),
        "prompt_cache_key": fields.get("prompt_cache_key"),
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "safety_identifier": fields.get("safety_identifier"),
        "service_tier": "default",
        "store": fields.flag("store", True),
        "temperature": _or(fields.get("temperature"), 1),
        "text": _text_shown(text),
        "tool_choice": fields.get("tool_choice") or "auto",
        "tools": [_tool_shown(tool) for tool in fields.objects("tools")],
        "top_logprobs": 0,
        "top_p": _or(fields.get("top_p"), 1),
        "truncation": fields.get("truncation") or "disabled",
        "user": fields.get("user"),
    }
    whole = sanitize_json(shown)
    assert isinstance(whole, dict)
    return whole


def _or(value: Json, default: Json) -> Json:
    return default if value is None else value


def _text_shown(text: Fields) -> JsonObject:
    verbosity: JsonObject = {"verbosity": text.get("verbosity") or "medium"}
    kind = text.inner("format")
    if kind is None or kind.get("type") != "json_schema":
        return {"format": {"type": (kind and kind.get("type")) or "text"}, **verbosity}
    return {
        "format": {
            "type": "json_schema",
            "name": kind.get("name"),
            "description": kind.get("description"),
            "schema": kind.get("schema"),
            "strict": kind.flag("strict", False),
        },
        **verbosity,
    }


def _tool_shown(tool: Fields) -> JsonObject:
    return {
        "type": "function",
        "name": tool.get("name"),
        "description": tool.get("description"),
        "parameters": tool.get("parameters"),
        "strict": tool.flag("strict", True),
    }


def _refuse(fields: Fields) -> None:
    """What changes the meaning of a request and is not to be had here; and what is wrong.

    Fields that only tune OpenAI's own service are looked at no further.
    """
    if fields.flag("background", False):
        why = "Nothing runs in the background here. Leave “background” out, or stream the answer."
        raise fields.refused("background", why)
    for name, instead in _NOT_HERE.items():
        if fields.get(name) is not None:
            raise fields.refused(name, f"“{name}” is not known here. {instead}")
    refuse_services(fields)
    for name in ("prompt_cache_key", "service_tier"):
        fields.text(name)
    fields.one_of("truncation", _TRUNCATIONS)
    for index, one in enumerate(fields.items("include")):
        if not isinstance(one, str):
            raise fields.wrong(f"include[{index}]", "a text")
        if one == _LOGPROBS:
            raise fields.refused(f"include[{index}]", NO_LOGPROBS)
    metadata = fields.inner("metadata") or Fields({})
    for name, value in metadata.values.items():
        if not isinstance(value, str):
            raise metadata.wrong(name, "a text")


def _conversation(fields: Fields, *, earlier: bool) -> tuple[str, tuple[Message, ...]]:
    """The instructions in ``input``, and what is said there."""
    items = ResponsesInput(earlier)
    value = fields.get("input")
    if isinstance(value, str):
        items.say(fields.text("input"))
    elif isinstance(value, list | None):
        for item in fields.objects("input"):
            items.take(item)
    else:
        raise fields.wrong("input", "a text or a list of items")
    instructions, messages = items.told()
    if not messages:
        why = "“input” is missing or says nothing."
        raise fields.refused("input", why, "missing_required_parameter")
    return instructions, messages


def _effort(fields: Fields) -> Effort | None:
    reasoning = fields.inner("reasoning")
    if reasoning is None:
        return None
    reasoning.one_of("summary", ("auto", "concise", "detailed"))
    return reasoning.one_of("effort", EFFORTS)


def _schema(fields: Fields) -> JsonObject | None:
    text = fields.inner("text") or Fields({})
    text.one_of("verbosity", ("low", "medium", "high"))
    kind = text.inner("format")
    if kind is None:
        return None
    match kind.one_of("type", ("text", "json_object", "json_schema")):
        case None:
            kind.needed("type")
            return None
        case "text":
            return None
        case "json_object":
            return {}
        case "json_schema":
            kind.needed("name")
            kind.text("description")
            kind.flag("strict", False)
            return schema_of(kind, "schema")


def _tools(fields: Fields) -> ClientTools:
    offered = ClientTools()
    for tool in fields.objects("tools"):
        if (kind := tool.needed("type")) != "function":
            why = f"Tools of type “{kind}” cannot be had: the agent here has tools of its own."
            raise tool.refused("type", f"{why} Send yours as type “function”.")
        tool.flag("strict", True)
        offered.take(tool, "parameters")
    return offered
