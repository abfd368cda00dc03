"""OpenAI's Responses API, and the open specification made from it.

See https://platform.openai.com/docs/api-reference/responses and
https://openresponses.org/specification.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.models import EFFORTS, Effort, Generation, ToolChoice
from studio.domain.tools import ToolSpec
from studio.providers.wire import sound

from .fields import Fields
from .openai_errors import error_body
from .responses_answer import Answer
from .responses_items import Items
from .wire import About, Asked, joined

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CHOICES: tuple[ToolChoice, ...] = get_args(ToolChoice)
_TRUNCATIONS = ("disabled", "auto")
_NOT_HERE = {
    "conversation": "Go on from an answer with “previous_response_id” instead.",
    "prompt": "Stored prompts live at OpenAI. Send the text in “input” and “instructions”.",
}


class Responses:
    """``Dialect`` of ``POST /v1/responses``."""

    def asked(self, body: JsonObject) -> Asked:
        fields = Fields(body)
        model = fields.needed("model")
        _refuse(fields)
        previous = fields.text("previous_response_id")
        items = _items(fields, earlier=bool(previous))
        tools = _tools(fields)
        generation = Generation(
            output_limit=fields.count("max_output_tokens"),
            effort=_effort(fields),
            temperature=fields.number("temperature", 0, 2),
            top_p=fields.number("top_p", 0, 1),
            schema=_schema(fields),
        )
        tools, generation = _chosen(fields, tools, generation)
        return Asked(
            model,
            items.messages,
            instructions=joined([fields.text("instructions"), *items.instructions]),
            tools=tools,
            generation=generation,
            stream=fields.flag("stream", False),
            previous=previous,
            keep=fields.flag("store", True),
            user=fields.text("safety_identifier") or fields.text("user"),
        )

    def speak(self, asked: Asked, about: About, body: JsonObject) -> Answer:
        return Answer(settings(body), about)

    def error(self, message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
        return error_body(message, status=status, code=code, param=param)


def settings(body: JsonObject) -> JsonObject:
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
    whole = sound(shown)
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
    for name in ("prompt_cache_key", "service_tier"):
        fields.text(name)
    fields.one_of("truncation", _TRUNCATIONS)
    fields.flag("parallel_tool_calls", True)
    fields.count("max_tool_calls")
    for index, one in enumerate(fields.items("include")):
        if not isinstance(one, str):
            raise fields.wrong(f"include[{index}]", "a text")
    metadata = fields.inner("metadata") or Fields({})
    for name, value in metadata.values.items():
        if not isinstance(value, str):
            raise metadata.wrong(name, "a text")


def _items(fields: Fields, *, earlier: bool) -> Items:
    items = Items(earlier)
    if isinstance(fields.get("input"), str):
        items.say(fields.text("input"))
    elif isinstance(fields.get("input"), list | None):
        for item in fields.objects("input"):
            items.take(item)
    else:
        raise fields.wrong("input", "a text or a list of items")
    if not items.messages:
        why = "“input” has no words, picture, file or output of a tool to answer."
        raise fields.refused("input", why, "missing_required_parameter")
    return items


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
            schema = kind.inner("schema")
            if schema is None:
                raise kind.wrong("schema", "a JSON schema")
            return schema.values


def _tools(fields: Fields) -> tuple[ToolSpec, ...]:
    tools: dict[str, ToolSpec] = {}
    for fields_of in fields.objects("tools"):
        tool = _tool(fields_of)
        if tool.name in tools:
            raise fields_of.refused("name", f"Two tools are called “{tool.name}”.", "invalid_value")
        tools[tool.name] = tool
    return tuple(tools.values())


def _tool(fields: Fields) -> ToolSpec:
    kind = fields.needed("type")
    if kind != "function":
        why = f"Tools of type “{kind}” are OpenAI's own. The agent here has tools of its own"
        raise fields.refused("type", f"{why}; send yours as type “function”.")
    name = fields.needed("name")
    if not _NAME.fullmatch(name):
        why = f"“{fields.place('name')}” takes up to 64 letters, digits, “_” and “-”."
        raise fields.refused("name", why, "invalid_value")
    fields.flag("strict", True)
    parameters = fields.inner("parameters")
    schema: JsonObject = {"type": "object", "properties": {}}
    if parameters is not None:
        schema |= parameters.values
    if schema["type"] != "object":
        raise fields.wrong("parameters", "a JSON schema of type “object”")
    return ToolSpec(name, fields.text("description"), schema, external=True)


def _chosen(
    fields: Fields, tools: tuple[ToolSpec, ...], generation: Generation
) -> tuple[tuple[ToolSpec, ...], Generation]:
    """What ``tool_choice`` makes of the tools and of how they may be called."""
    if not isinstance(fields.get("tool_choice"), dict):
        choice = fields.one_of("tool_choice", _CHOICES)
        return tools, replace(generation, choice=choice or "auto")
    choice = fields.inner("tool_choice")
    assert choice is not None
    match choice.needed("type"):
        case "function":
            name = _known(choice, tools)
            return tools, replace(generation, choice="required", only=name)
        case "allowed_tools":
            allowed = {_known(one, tools) for one in choice.objects("tools")}
            mode = choice.one_of("mode", _CHOICES)
            kept = tuple(tool for tool in tools if tool.name in allowed)
            return kept, replace(generation, choice=mode or "auto")
        case kind:
            why = f"Tools of type “{kind}” are not known here, so none can be chosen."
            raise choice.refused("type", why)


def _known(choice: Fields, tools: tuple[ToolSpec, ...]) -> str:
    name = choice.needed("name")
    if all(tool.name != name for tool in tools):
        raise choice.refused(
            "name", f"No tool of this request is called “{name}”.", "invalid_value"
        )
    return name
