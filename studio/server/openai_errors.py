"""Errors in OpenAI's shape, for the two APIs that are its own."""

from __future__ import annotations

from studio.domain.jsonvalue import JsonObject


def error_type(status: int) -> str:
    """The ``type`` that goes with a status, as OpenAI's service has them."""
    match status:
        case 401:
            return "authentication_error"
        case 403:
            return "permission_error"
        case 429:
            return "rate_limit_error"
        case _:
            return "server_error" if status >= 500 else "invalid_request_error"


def error_body(message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
    return {
        "error": {
            "message": message,
            "type": error_type(status),
            "param": param or None,
            "code": code or None,
        }
    }
