"""Cases of rules about how an answer is made: stop texts, tool choice, schemas."""

from __future__ import annotations

from typing import Any

from studio.simulator import ApiName
from support.rule_cases import ASK, HI, WORDS, Body, chat, claude, contents, inputs
from support.rule_cases_parameters import Case, local

OLD = {"anthropic-version": "2023-06-01"}
TOOL = {"type": "object", "properties": {}}
OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
LIST = {"type": "array", "items": {"type": "string"}}


def claudes(choice: Body, model: str = "claude-sonnet-4-5") -> Body:
    tools = [{"name": "read", "input_schema": TOOL}]
    return claude(HI, model=model, tools=tools, tool_choice=choice)


def shaped(schema: Body | None, **form: Any) -> Body:
    held = {} if schema is None else {"schema": schema}
    return claude(HI, output_config={"format": {"type": "json_schema", **held, **form}})


def asked(**more: Any) -> Body:
    return {**inputs(ASK), **more}


def asked_form(**form: Any) -> Body:
    return asked(text={"format": {"type": "json_schema", "name": "a", "schema": OPEN, **form}})


def chats(**more: Any) -> Body:
    return {**chat(ASK), **more}


def chats_form(**schema: Any) -> Body:
    held = {"name": "a", "schema": OPEN, **schema}
    return chats(response_format={"type": "json_schema", "json_schema": held})


def googles(model: str = "gemini-3-pro-preview", functions: bool = False, **config: Any) -> Body:
    tools = [{"functionDeclarations": [{"name": "read"}]}] if functions else []
    return {**contents(WORDS, model=model), "generationConfig": config, "tools": tools}


def calling(functions: bool = True, **config: Any) -> Body:
    body = googles(functions=functions)
    return {**body, "toolConfig": {"functionCallingConfig": config}}


UNNAMED = {"type": "json_schema", "schema": OPEN}
JSON = "application/json"
_NOT_FOUND = "Tool choice 'function' not found in 'tools' parameter."
_FORMS = "Supported values are: 'json_object', 'json_schema', and 'text'."
_CHOICES = "Invalid value: 'always'. Supported values are: 'none', 'auto', and 'required'."
_UNTOOLED = "'tool_choice' is only allowed when 'tools' are specified."
_CLOSED = "'additionalProperties' is required to be supplied and to be false."
_FUNCTION = {"type": "function", "name": "read", "parameters": TOOL}
_NESTED = {"type": "function", "function": {"name": "read", "parameters": TOOL}}

_ROWS: dict[ApiName, list[tuple[Body, str]]] = {
    "anthropic": [
        (claudes({"type": "always"}), "tool_choice: Input tag 'always' found using 'type'"),
        (
            claude(HI, tool_choice={"type": "auto"}),
            "tool_choice may only be specified while providing tools.",
        ),
        (claudes({"type": "tool", "name": "x"}), "Tool 'x' not found in provided tools"),
        (
            claudes({"type": "any"}, "claude-opus-5-5"),
            'tool_choice: type "tool" and "any" are not supported for this model.',
        ),
        (claude(HI, stop_sequences="END"), "stop_sequences: Input should be a valid list"),
        (claude(HI, stop_sequences=[1]), "stop_sequences.0: Input should be a valid string"),
        (
            claude(HI, stop_sequences=["\n"]),
            "stop_sequences: each stop sequence must contain non-whitespace",
        ),
        (shaped(None), "output_config.format.schema: Field required"),
        (
            shaped(OPEN, type="json_object"),
            "output_config.format.type: Input should be 'json_schema'",
        ),
        (shaped(OPEN), "'additionalProperties' must be explicitly set to false"),
        (
            shaped({"type": "array", "items": {"type": "integer", "minimum": 1}}),
            "For 'integer' type, property 'minimum' is not supported",
        ),
    ],
    "responses": [
        (asked(stop=["END"]), "Unknown parameter: 'stop'."),
        (asked(top_p="much"), "Invalid type for 'top_p'"),
        (asked(top_p=2), "Invalid 'top_p': decimal above maximum value."),
        (
            asked(top_p=0.5, model="gpt-5.6"),
            "Unsupported parameter: 'top_p' is not supported with this model.",
        ),
        (asked(tool_choice="always", tools=[_FUNCTION]), _CHOICES),
        (asked(tool_choice="required"), _UNTOOLED),
        (asked(tool_choice={"type": "function", "name": "x"}, tools=[_FUNCTION]), _NOT_FOUND),
        (asked(text={"format": {"type": "xml"}}), _FORMS),
        (asked(text={"format": UNNAMED}), "Missing required parameter: 'text.format.name'."),
        (asked_form(name="a b"), "Invalid 'text.format.name': string does not match pattern."),
        (asked_form(schema=LIST), "schema must be a JSON Schema of 'type: \"object\"'"),
        (asked_form(strict=True), _CLOSED),
        (
            asked(text={"format": {"type": "json_object"}}),
            "Response input messages must contain the word 'json' in some form",
        ),
    ],
    "chat": [
        (chats(top_p=-1), "Invalid 'top_p': decimal below minimum value."),
        (chats(stop=[1]), "Invalid type for 'stop'"),
        (chats(stop=["a"] * 5), "Invalid 'stop': array too long."),
        (
            chats(stop="END", model="o3"),
            "Unsupported parameter: 'stop' is not supported with this model.",
        ),
        (chats(tool_choice="always", tools=[_NESTED]), _CHOICES),
        (chats(tool_choice="none"), _UNTOOLED),
        (
            chats(tool_choice={"type": "function", "function": {"name": "x"}}, tools=[_NESTED]),
            _NOT_FOUND,
        ),
        (chats(response_format={"type": "xml"}), _FORMS),
        (
            chats(response_format={"type": "json_schema", "json_schema": {"schema": OPEN}}),
            "Missing required parameter: 'response_format.json_schema.name'.",
        ),
        (chats_form(schema=LIST), "schema must be a JSON Schema of 'type: \"object\"'"),
        (
            chats_form(strict=True, schema={**OPEN, "additionalProperties": False, "required": []}),
            "'required' is required to be supplied and to be an array including every key in "
            "properties. Missing 'a'.",
        ),
        (
            chats(response_format={"type": "json_object"}),
            "'messages' must contain the word 'json' in some form",
        ),
    ],
    "gemini": [
        (calling(mode="ALWAYS"), "Invalid value at 'tool_config.function_calling_config.mode'"),
        (
            calling(False, mode="NONE"),
            "Function calling config is set without function_declarations.",
        ),
        (
            calling(mode="AUTO", allowedFunctionNames=["read"]),
            "only allowed when the mode is ANY.",
        ),
        (calling(mode="ANY", allowedFunctionNames=["x"]), "x is not in function_declarations."),
        (googles(stopSequences=[1]), "Invalid value at 'generation_config.stop_sequences'"),
        (googles(stopSequences=["a"] * 6), "the number of stop sequences must be at most 5"),
        (googles(topP=2), "top_p must be in the range [0.0, 1.0]."),
        (googles(responseMimeType="image/png"), "response_mime_type: allowed mimetypes are"),
        (googles(responseJsonSchema=OPEN), "only allowed when response_mime_type is"),
        (
            googles("gemini-2.5-flash", functions=True, responseMimeType=JSON),
            "Function calling with a response mime type: 'application/json' is unsupported",
        ),
    ],
    "ollama": [
        (local(ASK, options={"stop": "END"}), 'option "stop" must be of type array'),
        (local(ASK, format="yaml"), 'invalid format: "yaml"; expected "json" or a valid JSON'),
    ],
}

ANSWERS: list[Case] = [
    *(Case(name, body, words) for name, rows in _ROWS.items() for body, words in rows),
    Case(
        "anthropic",
        claude(HI, model="claude-sonnet-4-5", temperature=0.5, top_p=0.5),
        "`temperature` and `top_p` cannot both be specified for this model.",
        headers=OLD,
    ),
]
