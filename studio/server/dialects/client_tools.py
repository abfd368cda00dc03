"""The reader of client tools checks the tools in a request, and reads and writes calls of them."""

from __future__ import annotations

import json
import re

from studio.domain.jsonvalue import Json, JsonObject, is_clean_json, sanitize_json
from studio.domain.messages import ToolCall
from studio.domain.tools import ToolSpec

from .fields import Fields

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""What the APIs take; Anthropic's is the longest."""


class ClientTools:
    """Collects the tools of a request; each name once."""

    def __init__(self) -> None:
        self.specs: dict[str, ToolSpec] = {}

    def take(self, tool: Fields, schema: str) -> None:
        """``schema`` is the field with the JSON schema of the arguments; raises BadRequest."""
        name = tool.needed("name")
        if not _NAME.fullmatch(name):
            why = f"“{tool.place('name')}” may have up to 128 letters, digits, “_” and “-”."
            raise tool.refused("name", why, "invalid_value")
        if name in self.specs:
            raise tool.refused("name", f"There are two tools “{name}”.", "invalid_value")
        description = tool.text("description")
        self.specs[name] = ToolSpec(name, description, _arguments(tool, schema), external=True)

    def chosen(self, choice: Fields) -> str:
        """The name of a tool that has to be called; raises BadRequest if there is none such."""
        if (name := choice.needed("name")) not in self.specs:
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


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as text, or what the model wrote instead."""
    return call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)


def _arguments(tool: Fields, name: str) -> JsonObject:
    schema = schema_of(tool, name) if tool.get(name) is not None else {}
    if schema.get("type", "object") != "object":
        raise tool.wrong(name, "the schema of an object")
    return {"type": "object", "properties": {}, **schema}
