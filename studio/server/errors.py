"""Errors as clients get them: a status, a code that client libraries know, a message.

A client's own mistake is a ``BadRequest``. Where a provider refuses the person's key,
the client could not fix that with another token, so it never gets a 401 for it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass

from studio.domain.errors import RETRYABLE, ProviderError, ProviderFault, StorageError, StudioError
from studio.domain.events import Failed
from studio.domain.redaction import redact

from .contract import BadRequest, Outcome

log = logging.getLogger(__name__)

INTERNAL = "Something went wrong in Agent Studio. Its log says what."
AMBIGUOUS = "ambiguous_length"
"""The code of a request whose end is ambiguous: the connection is closed after it."""
_LONGEST = 3600.0
"""Seconds that a client is asked to wait at most."""

_KINDS: Mapping[ProviderFault, tuple[int, str]] = {
    "no_key": (502, "provider_authentication"),
    "bad_key": (502, "provider_authentication"),
    "forbidden": (502, "provider_forbidden"),
    "not_found": (404, "model_not_found"),
    "rate_limited": (429, "rate_limit_exceeded"),
    "overloaded": (503, "overloaded"),
    "too_long": (400, "context_length_exceeded"),
    "refused": (400, "content_policy_violation"),
    "bad_request": (400, "provider_refused_request"),
    "bad_history": (502, "provider_refused_history"),
    "no_credit": (429, "insufficient_quota"),
    "network": (502, "provider_unreachable"),
    "server": (502, "provider_error"),
    "protocol": (502, "provider_protocol"),
}
_PASSING = frozenset({"busy", "response_in_progress", *(_KINDS[fault][1] for fault in RETRYABLE)})


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error before a dialect gives it its shape.

    ``retry_after`` is in seconds. ``param`` names the field of the request that
    is wrong.
    """

    message: str
    status: int = 500
    code: str = "internal_error"
    param: str = ""
    retry_after: float | None = None

    def headers(self) -> dict[str, str]:
        """The headers of the error.

        OpenAI's and Anthropic's libraries read ``x-should-retry``; without it they
        retry after any 409, 429 or 5xx.
        """
        headers: dict[str, str] = {}
        if self.retry_after is not None:
            headers["retry-after"] = str(math.ceil(min(self.retry_after, _LONGEST)))
        if self.status in (409, 429) or self.status >= 500:
            passing = self.code in _PASSING or self.retry_after is not None
            headers["x-should-retry"] = "true" if passing else "false"
        if self.code == AMBIGUOUS:
            headers["connection"] = "close"
        return headers

    def outcome(self) -> Outcome:
        """The same error as the end of a response."""
        return Outcome(
            "error",
            detail=self.message,
            status=self.status,
            code=self.code,
            retry_after=self.retry_after,
        )


def error_from_exception(error: Exception) -> ApiError:
    """The error of an exception that prevented a response or ended it.

    An unexpected exception is logged, and the client gets no details.
    """
    match error:
        case BadRequest():
            return ApiError(str(error), error.status, error.code or "invalid_request", error.param)
        case ProviderError():
            status, code = _KINDS[error.fault]
            return ApiError(redact(str(error)), status, code, retry_after=error.retry_after)
        case StorageError():
            return ApiError("Agent Studio cannot save this. Its window says why.", 500, "storage")
        case StudioError():
            return ApiError(redact(str(error)), 500, "not_configured")
        case _:
            log.error("a request failed", exc_info=error)
            return ApiError(INTERNAL)


def error_from_failed(failed: Failed) -> ApiError:
    """The error of a turn that failed."""
    match failed.fault:
        case "internal":
            return ApiError(INTERNAL)
        case "storage":
            return error_from_exception(StorageError())
        case "configuration" | "no_folder":
            return ApiError(redact(failed.title), 500, "not_configured")
        case fault:
            return error_from_exception(
                ProviderError(fault, failed.title, retry_after=failed.retry_after)
            )


def error_from_outcome(outcome: Outcome) -> ApiError:
    """The error of a response that ended with one."""
    return ApiError(
        outcome.detail or INTERNAL,
        outcome.status,
        outcome.code or "internal_error",
        retry_after=outcome.retry_after,
    )
