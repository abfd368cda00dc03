"""The shapes that OpenAI's two APIs share: tool choice, errors, the end of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from studio.domain.jsonvalue import JsonObject
from studio.domain.models import Generation, ToolChoice
from studio.domain.tools import ToolSpec

from .client_tools import ClientTools
from .fields import Fields

DONE = b"data: [DONE]\n\n"
"""The end of a stream."""
NO_LOGPROBS = "Log probabilities cannot be had here."
_ERRORS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CHOICES: tuple[ToolChoice, ...] = ("none", "auto", "required")


def choose(
    fields: Fields, offered: ClientTools, generation: Generation
) -> tuple[tuple[ToolSpec, ...], Generation]:
    """Apply ``tool_choice`` to the tools and to how they may be used.

    Chat Completions has one more object around a name than Responses. Raises BadRequest.
    """
    tools = tuple(offered.specs.values())
    choice: ToolChoice | None
    if isinstance(fields.get("tool_choice"), dict):
        chosen = fields.needed_object("tool_choice")
        match chosen.text("type"):
            case "function" | "custom" as kind:
                name = offered.chosen(chosen.inner(kind) or chosen)
                return tools, replace(generation, choice="required", only=name)
            case "allowed_tools":
                allowed = chosen.inner("allowed_tools") or chosen
                names = _allowed(allowed, offered)
                tools = tuple(spec for spec in tools if spec.name in names)
                choice = allowed.one_of("mode", _CHOICES)
            case kind:
                raise chosen.refused("type", f"A choice of type “{kind}” is not known here.")
    else:
        choice = fields.one_of("tool_choice", _CHOICES)
    if choice == "required" and not tools:
        raise fields.refused("tool_choice", "A call is required, but there are no “tools”.")
    return tools, replace(generation, choice=choice or "auto")


def refuse_services(fields: Fields) -> None:
    """Raise BadRequest for what only OpenAI's own service can add to a response."""
    if fields.count("top_logprobs", 0):
        raise fields.refused("top_logprobs", NO_LOGPROBS)
    if fields.get("moderation") is not None:
        raise fields.refused("moderation", "Nothing is moderated here. Leave “moderation” out.")


def _allowed(allowed: Fields, offered: ClientTools) -> Sequence[str]:
    return [
        offered.chosen(tool.inner(tool.text("type", "function")) or tool)
        for tool in allowed.objects("tools")
    ]


def error_type(status: int) -> str:
    """The ``type`` that goes with a status, as OpenAI's service has them."""
    other = "server_error" if status >= 500 else "invalid_request_error"
    return _ERRORS.get(status, other)


def error_body(message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
    return {
        "error": {
            "message": message,
            "type": error_type(status),
            "param": param or None,
            "code": code or None,
        }
    }
