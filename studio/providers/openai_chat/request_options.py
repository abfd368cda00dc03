"""Request options: write the tool choice and the answer's format for OpenAI's two APIs.

Both say the same; Chat Completions puts a tool's name and a schema one level deeper.
"""

from __future__ import annotations

from collections.abc import Sequence

from studio.domain.jsonvalue import Json, JsonObject
from studio.providers.base import Request
from studio.providers.structured_output import (
    is_object,
    is_strict,
    mentions_json,
    sendable_schema,
)

NAME = "answer"
"""What a schema is called, for it needs a name."""


def tool_choice(request: Request) -> Json:
    """For Responses; empty where the model decides."""
    if name := request.named:
        hosted = any(tool.hosted for tool in request.callable)
        return {"type": name} if hosted else {"type": "function", "name": name}
    if request.forced:
        return "required"
    return "none" if request.tools and not request.callable else ""


def chat_tool_choice(request: Request) -> Json:
    """For Chat Completions, which has no tools of its own."""
    if name := request.named:
        return {"type": "function", "function": {"name": name}}
    return tool_choice(request)


def text_format(request: Request, said: Sequence[JsonObject]) -> JsonObject:
    """For Responses; empty where an answer may have any form, or none would be taken.

    A schema has to be an object's. Any JSON object may be asked for only where
    ``user_items`` mentions JSON.
    """
    schema = sendable_schema(request)
    if schema == {} and mentions_json(said):
        return {"type": "json_object"}
    if not schema or not is_object(schema):
        return {}
    return {"type": "json_schema", "name": NAME, "schema": schema, "strict": is_strict(schema)}


def response_format(request: Request, said: Sequence[JsonObject]) -> JsonObject:
    """For Chat Completions."""
    form = text_format(request, said)
    if form.get("type") != "json_schema":
        return form
    inner: JsonObject = {key: form[key] for key in ("name", "schema", "strict")}
    return {"type": "json_schema", "json_schema": inner}
