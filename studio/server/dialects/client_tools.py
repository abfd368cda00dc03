"""The reader of client tools checks the tools in a request, and reads and writes calls of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from studio.domain.jsonvalue import Json, JsonObject, is_clean_json, sanitize_json
from studio.domain.messages import ToolCall
from studio.domain.tools import TEXT_INPUT, ToolSpec

from .fields import Fields

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""What the APIs take; Anthropic's is the longest."""

_INPUT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        TEXT_INPUT: {"type": "string", "description": "The whole input, as plain text."}
    },
    "required": [TEXT_INPUT],
    "additionalProperties": False,
}
_GRAMMAR = "The input has to match this grammar ({syntax}):\n{definition}"


@dataclass(frozen=True, slots=True)
class ClientName:
    """What a client calls a tool that its model knows by one name, as a function.

    ``custom``: the client sends and expects plain text in place of JSON arguments.
    """

    name: str
    namespace: str = ""
    custom: bool = False

    @property
    def joined(self) -> str:
        """The name that the model gets."""
        apart = self.namespace.endswith("_") or self.name.startswith("_")
        between = "__" if self.namespace and not apart else ""
        return f"{self.namespace}{between}{self.name}"


class ClientTools:
    """Collects the tools of a request; each name once."""

    def __init__(self) -> None:
        self.specs: dict[str, ToolSpec] = {}

    def take(self, tool: Fields, schema: str, namespace: str = "") -> None:
        """``schema`` is the field with the JSON schema of the arguments; raises BadRequest."""
        self._add(tool, ClientName(tool.needed("name"), namespace), _arguments(tool, schema))

    def take_custom(self, tool: Fields, namespace: str = "") -> None:
        """Take a tool of which a model writes the input as text, by a grammar or freely."""
        kind = tool.inner("format") or Fields({})
        note = ""
        form: JsonObject = {"type": "text"}
        if kind.one_of("type", ("text", "grammar")) == "grammar":
            syntax = kind.needed_one_of("syntax", ("lark", "regex"))
            definition = kind.needed("definition")
            note = _GRAMMAR.format(syntax=syntax, definition=definition)
            form = {"type": "grammar", "syntax": syntax, "definition": definition}
        name = ClientName(tool.needed("name"), namespace, custom=True)
        text_form: JsonObject = {"format": form}
        if about := tool.text("description"):
            text_form["description"] = about
        self._add(tool, name, _INPUT_SCHEMA, note, text_form)

    def _add(
        self,
        tool: Fields,
        name: ClientName,
        schema: JsonObject,
        note: str = "",
        text_form: JsonObject | None = None,
    ) -> None:
        if not _NAME.fullmatch(joined := name.joined):
            why = f"“{tool.place('name')}” may have up to 128 letters, digits, “_” and “-”."
            raise tool.refused("name", why, "invalid_value")
        if joined in self.specs:
            raise tool.refused("name", f"There are two tools “{joined}”.", "invalid_value")
        description = "\n\n".join(text for text in (tool.text("description"), note) if text)
        spec = ToolSpec(joined, description, schema, external=True, text_form=text_form)
        self.specs[joined] = spec

    def chosen(self, choice: Fields) -> str:
        """The name of a tool that has to be called; raises BadRequest if there is none such."""
        name = ClientName(choice.needed("name"), choice.text("namespace")).joined
        if name not in self.specs:
            raise choice.refused("name", f"There is no tool “{name}”.", "invalid_value")
        return name


def schema_of(fields: Fields, name: str) -> JsonObject:
    """Read a JSON schema that every provider accepts; raises BadRequest."""
    inner = fields.inner(name)
    if inner is None:
        raise fields.wrong(name, "a JSON schema")
    if not is_clean_json(inner.values):
        why = f"“{fields.place(name)}” is nested too deeply, or has characters that are none."
        raise fields.refused(name, why, "invalid_value")
    return inner.values


def parse_call(call_id: str, name: str, raw: str) -> ToolCall:
    """Read an earlier call, whose arguments are the text that the model wrote.

    Invalid JSON is kept as it was: the model wrote it, not the client.
    """
    try:
        arguments: Json = sanitize_json(json.loads(raw or "{}"))
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(call_id, name, arguments)
    return ToolCall(call_id, name, None, raw)


def input_text(call: ToolCall) -> str:
    """The input of a call of a custom tool; whatever the model wrote if it is not as wanted."""
    value = (call.arguments or {}).get(TEXT_INPUT)
    return value if isinstance(value, str) else arguments_text(call)


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as text, or what the model wrote instead."""
    return call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)


def _arguments(tool: Fields, name: str) -> JsonObject:
    schema = schema_of(tool, name) if tool.get(name) is not None else {}
    if schema.get("type", "object") != "object":
        raise tool.wrong(name, "the schema of an object")
    return {"type": "object", "properties": {}, **schema}
