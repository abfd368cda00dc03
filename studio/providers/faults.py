"""From whatever went wrong to one ``ProviderError`` with plain words (L-12).

Every adapter's table of faults ends here: the words, the common meaning of
HTTP statuses, the wait a server asks for, and the removal of keys. A text of
the provider is quoted only after ``redact``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast
from urllib.parse import urlsplit

from studio.domain.errors import ProviderError, ProviderFault

STATUSES: dict[int, ProviderFault] = {
    400: "bad_request",
    401: "bad_key",
    402: "no_credit",
    403: "forbidden",
    404: "not_found",
    405: "protocol",
    408: "network",
    409: "server",
    413: "too_long",
    422: "bad_request",
    429: "rate_limited",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "server",
    529: "overloaded",
}

QUOTED: frozenset[ProviderFault] = frozenset(
    {"forbidden", "not_found", "rate_limited", "refused", "bad_request", "server", "too_long"}
)
"""Faults whose text says more when the provider's own words follow."""

_KEYS = (
    re.compile(r"\b(?:sk|rk|pk|gsk|xai|pplx|AIza|AQ)[-_.][^\s\"'`,;)}\]]{4,}", re.IGNORECASE),
    re.compile(r"\bAIza[^\s\"'`,;)}\]]{4,}"),
    re.compile(r"(?i)\b(?:bearer|basic)\s+[^\s\"'`,;)}\]]{4,}"),
    re.compile(r"(?i)([?&](?:api[-_]?)?(?:key|token)=)[^\s&\"'`]+"),
    re.compile(
        r"(?i)(\b(?:x-)?(?:goog-)?api[-_ ]?key\"?(?: provided)?\s*[:=]\s*\"?)[^\s\"'`,;)}]+"
    ),
)

_TOO_LONG = re.compile(
    r"prompt is too long|context[ _]length|context[ _]window|exceed(?:s)? context limit"
    r"|input token count.{0,60}exceeds|too many tokens in|input is too long",
    re.IGNORECASE | re.DOTALL,
)


def redact(text: str, *keys: str) -> str:
    """The text without the given keys and without anything that looks like one."""
    for key in keys:
        if len(key) >= 4:
            text = text.replace(key, "[key]")
    for pattern in _KEYS:
        text = pattern.sub(lambda m: (m.group(1) if m.re.groups else "") + "[key]", text)
    return text


def fault_of_status(status: int) -> ProviderFault:
    """What an HTTP status means when the body says nothing better."""
    known = STATUSES.get(status)
    if known is not None:
        return known
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "protocol"


def is_too_long(message: str) -> bool:
    """Whether a provider's words say that the conversation does not fit the model."""
    return _TOO_LONG.search(message) is not None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait a server asks for, in seconds: ``retry-after-ms``, seconds or a date."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _wait(float(milliseconds) / 1000)
        value = headers.get("retry-after", "").strip()
        if not value:
            return None
        if re.fullmatch(r"[\d.]+", value):
            return _wait(float(value))
        when = parsedate_to_datetime(value)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return _wait((when - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def _wait(seconds: float) -> float | None:
    return max(seconds, 0.0) if seconds == seconds and seconds != float("inf") else None


def words_of(body: object) -> str:
    """The message inside an error body: parsed, or its text, or an empty string."""
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return "" if _is_page(str(body)) else str(body).strip()
    if isinstance(body, list):
        body = cast("list[object]", body)[0] if body else None
    if isinstance(body, Mapping):
        found = cast("Mapping[str, object]", body)
        for name in ("error", "message", "detail"):
            inner = found.get(name)
            if isinstance(inner, Mapping):
                inner = cast("Mapping[str, object]", inner).get("message")
            if isinstance(inner, str) and inner:
                return inner
    return ""


def _is_page(text: str) -> bool:
    return text.lstrip().startswith("<")


@dataclass(frozen=True, slots=True)
class Border:
    """Makes the errors of one provider at one address.

    ``provider`` is its name in the program, ``title`` what the person reads.
    """

    provider: str
    title: str
    base_url: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        try:
            parts = urlsplit(self.base_url)
            return parts.netloc.rpartition("@")[2] or self.base_url
        except ValueError:
            return self.base_url

    def fault(
        self,
        fault: ProviderFault,
        detail: str = "",
        *,
        model: str = "",
        status: int | None = None,
        wait: float | None = None,
    ) -> ProviderError:
        """The error of this kind; ``detail`` is the provider's text, quoted without keys."""
        text = self._text(fault, model)
        if detail and fault in QUOTED and not (fault == "not_found" and model):
            quote = " ".join(redact(detail, self.key).split())
            text = f"{text} {quote[:600]}"
        return ProviderError(fault, text, provider=self.provider, status=status, retry_after=wait)

    def answer(
        self,
        status: int,
        body: object,
        headers: Mapping[str, str],
        *,
        fault: ProviderFault | None = None,
        model: str = "",
    ) -> ProviderError:
        """The error that an HTTP answer means; ``fault`` where the body said which."""
        words = words_of(body)
        if fault is None:
            fault = fault_of_status(status)
            page = "html" in headers.get("content-type", "") or (
                isinstance(body, str) and _is_page(body)
            )
            if page and status in (400, 403, 404, 405):
                fault = "protocol"
            elif fault == "bad_request" and is_too_long(words):
                fault = "too_long"
        model = model if fault == "not_found" else ""
        return self.fault(fault, words, model=model, status=status, wait=retry_after(headers))

    def exception(self, error: Exception) -> ProviderError:
        """The error that a fault of the connection or of the SDK means."""
        import httpx2

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return self.fault("protocol")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return self.fault("network")
        if isinstance(error, httpx2.TimeoutException):
            return self._network(f"{self.title} stopped answering.")
        if isinstance(error, httpx2.TransportError | OSError):
            return self._network(f"The connection to {self.title} broke off.")
        return self.fault("protocol")

    def _network(self, text: str) -> ProviderError:
        return ProviderError("network", text, provider=self.provider)

    def _text(self, fault: ProviderFault, model: str) -> str:
        title = self.title
        texts: dict[ProviderFault, str] = {
            "no_key": f"There is no API key for {title}. Add one in the settings.",
            "bad_key": f"{title} rejected the API key.",
            "forbidden": f"{title} does not permit this.",
            "not_found": (
                f"{title} has no model called {model}." if model else f"{title} did not find it."
            ),
            "rate_limited": f"{title} asks for a pause between requests.",
            "overloaded": f"{title} is overloaded.",
            "too_long": "The conversation is too long for this model.",
            "refused": f"{title} refused to answer.",
            "bad_request": f"{title} did not accept the request.",
            "no_credit": f"The {title} account has no credit left.",
            "network": f"Can't reach {title}. Check the connection.",
            "server": f"{title} had an error of its own.",
            "protocol": (
                f"The server at {self.host} did not answer like {title}. Check the base URL."
            ),
        }
        return texts[fault]
