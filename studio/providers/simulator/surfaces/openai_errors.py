"""OpenAI's error bodies, shared by its two surfaces."""

from __future__ import annotations

from studio.providers.simulator.http import HttpResponse
from studio.providers.simulator.refused import RequestRefused
from studio.providers.simulator.wire import Body

from .base import json_answer

_TYPES = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", None),
    408: ("server_error", "timeout"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", "server_is_overloaded"),
}
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, read the docs: "
    "https://platform.openai.com/docs/guides/error-codes/api-errors."
)
_KINDS = {
    "overloaded": ("server_error", "server_is_overloaded", "The server is currently overloaded."),
    "rate_limit": ("requests", "rate_limit_exceeded", "Rate limit reached."),
    "server": ("server_error", "server_error", "The server had an error processing your request."),
    "invalid_request": ("invalid_request_error", "invalid_value", "Invalid request."),
    "timeout": ("server_error", "timeout", "The request timed out."),
}


def error_answer(refused: RequestRefused) -> HttpResponse:
    """The JSON error with its status."""
    kind, code = _TYPES.get(refused.status, ("invalid_request_error", None))
    message = str(refused)
    if refused.status >= 500 and refused.status not in _TYPES:
        kind = "server_error"
    if refused.code == "insufficient_quota":
        kind, message = "insufficient_quota", _QUOTA
    error: Body = {
        "message": message,
        "type": kind,
        "param": refused.param,
        "code": refused.code or code,
    }
    return json_answer({"error": error}, refused.status, x_request_id="req_simulated")


def error_body(kind: str) -> Body:
    """The error object of one kind, as it travels inside a stream."""
    type_, code, message = _KINDS[kind]
    return {"message": message, "type": type_, "param": None, "code": code}


def no_model(model: str, status: int) -> RequestRefused:
    """The error for a model nobody has; its status differs between the surfaces."""
    return RequestRefused(
        "model",
        f"The model `{model}` does not exist or you do not have access to it.",
        status=status,
        code="model_not_found",
    )
