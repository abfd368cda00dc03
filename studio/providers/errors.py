"""Provider errors: turns whatever went wrong into one ``ProviderError`` in plain words (L-12).

Every adapter's table of faults ends here: the words, the common meaning of
HTTP statuses, the wait a server asks for, and the removal of keys. A text of
the provider is quoted only after ``redact``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast
from urllib.parse import urlsplit

from studio.domain.errors import RETRYABLE, ProviderError, ProviderFault
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass
from studio.domain.redaction import redact

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
    {
        "forbidden",
        "not_found",
        "rate_limited",
        "refused",
        "bad_request",
        "bad_history",
        "server",
        "too_long",
    }
)
"""Faults whose text says more when the provider's own words follow."""

_READ = 20_000
"""Characters of a provider's words that are looked at."""
_TOO_LONG = lazy_pattern(
    r"prompt is too long|context[ _](?:length|window|size)|exceed(?:s)? context limit"
    r"|input token count.{0,60}(?:exceeds|supports up to)|too many tokens in|input is too long",
    re.IGNORECASE | re.DOTALL,
)
_SIZE = r"(\d[\d,]{0,14})"
_SIZES = lazy_pattern(
    rf"too long: {_SIZE} tokens > {_SIZE}"
    rf"|token count (?:is )?\(?{_SIZE}\)? (?:exceeds|but) .{{0,80}}?{_SIZE}"
    rf"|\({_SIZE} tokens\) exceeds the available context size \({_SIZE}",
    re.IGNORECASE,
)
"""What a conversation needs, and what the model takes; ``_SIZES_TURNED`` has them in that order
of words in which the second comes first."""
_SIZES_TURNED = lazy_pattern(
    rf"context length (?:is|of) (?:only )?{_SIZE} tokens.{{0,80}}?"
    rf"(?:resulted in|requested|contains?)(?: about| at least)? {_SIZE} ",
    re.IGNORECASE | re.DOTALL,
)
_SPENT = lazy_pattern(r"spend(?:ing)? limit|usage limits?.{0,80}regain|credits are depleted", re.I)

_BAD_HISTORY: dict[str, tuple[str, ...]] = {
    "anthropic": (
        r"`tool_use` ids? (?:were|was) found without `tool_result`",
        r"unexpected `tool_use_id` found in `tool_result`",
        r"`tool_use` ids must be unique",
        r"must have a single result|multiple `tool_result` blocks with id",
        r"`tool_(?:result|use)` blocks can only be in",
        r"invalid `?signature`? in `?(?:redacted_)?thinking`?",
        r"`?thinking`? (?:or|blocks).{0,80}cannot be modified",
        r"expected `?thinking`? or `?redacted_thinking`?, but found",
        r"text content blocks must (?:be non-empty|contain non-whitespace)",
        r"all messages must have non-empty content",
        r"final assistant content cannot end with trailing whitespace",
        r"does not support assistant message prefill|conversation must end with a user message",
        r"role 'system' (?:must|is not supported)",
        r"use the top-level 'system' parameter",
        r"document blocks are not allowed|unexpected role \"",
        r"tool_use\.input: input should be a valid dictionary",
    ),
    "gemini": (
        r"number of function response parts is equal to the number of function call",
        r"function (?:call|response) turn comes immediately after",
        r"missing a `?thought_signature",
        r"(?:corrupted|invalid) thought signature|thought signature is not valid",
        r"must include at least one parts field",
        r"required oneof field 'data' must have one initialized field",
        r"contents is not specified|use a valid role",
    ),
    "openai": (
        r"no tool (?:output|call) found for (?:function|tool) call",
        r"was provided without its required",
        r"duplicate item found",
        r"must be followed by tool messages",
        r"must be a response to a prec+e+ding message",
        r"item with id '?\S+ not found",
        r"encrypted content .{0,60}could not be (?:verified|decrypted)|invalid_encrypted_content",
    ),
}
"""Error texts of providers that reject the history itself: from recorded exchanges, public
reports of issues, and the vendors' documentation."""
_BAD = lazy_pattern("|".join(p for table in _BAD_HISTORY.values() for p in table), re.I | re.S)


def is_bad_history(message: str) -> bool:
    """Whether a provider's words say that it will never take this history.

    Pairing, order, signatures, empty content: what a history begun anew from
    the transcript does not have. The tables are read together, for servers
    that imitate one provider often pass on another's words.
    """
    return _BAD.search(message) is not None


def on_one_line(text: str) -> str:
    """A server's words on one line, without what would steer a terminal or turn text around."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


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


def token_sizes(message: str) -> tuple[int, int] | None:
    """The tokens that a conversation needs and its model takes, where a provider's words say so."""
    if found := _SIZES.search(message):
        needed, taken = [one for one in found.groups() if one is not None]
    elif found := _SIZES_TURNED.search(message):
        taken, needed = found.groups()
    else:
        return None
    return int(needed.replace(",", "")), int(taken.replace(",", ""))


def fault_of_bad_request(message: str) -> ProviderFault:
    """What a request was rejected for, by the provider's words."""
    if is_too_long(message):
        return "too_long"
    return "bad_history" if is_bad_history(message) else "bad_request"


def apply_retry_advice(
    fault: ProviderFault, headers: Mapping[str, str], message: str
) -> ProviderFault:
    """The fault after the server's own word on whether another try is of use.

    ``x-should-retry`` wins over the status, and a limit on spending is no limit
    on the rate, though both come as 429.
    """
    again = headers.get("x-should-retry", "").strip().lower()
    if fault == "rate_limited" and _SPENT.search(message):
        return "no_credit"
    if again == "false" and fault in RETRYABLE:
        return "forbidden" if fault == "rate_limited" else "bad_request"
    if again == "true" and fault in ("bad_request", "protocol"):
        return "server"
    return fault


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
    except (ValueError, OverflowError, TypeError, IndexError):  # what the parser of dates raises
        return None


def _wait(seconds: float) -> float | None:
    return max(seconds, 0.0) if seconds == seconds and seconds != float("inf") else None


def error_message(body: object) -> str:
    """The message inside an error body: parsed, or its text, or an empty string."""
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return "" if _is_page(str(body)) else str(body).strip()[:_READ]
    if isinstance(body, list):
        body = cast("list[object]", body)[0] if body else None
    if isinstance(body, Mapping):
        found = cast("Mapping[str, object]", body)
        for name in ("error", "message", "detail"):
            inner = found.get(name)
            if isinstance(inner, Mapping):
                inner = cast("Mapping[str, object]", inner).get("message")
            if isinstance(inner, str) and inner:
                return inner[:_READ]
    return ""


def _is_page(text: str) -> bool:
    return text.lstrip().startswith("<")


@dataclass(frozen=True, slots=True)
class ErrorFactory:
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

    def error(
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
        if fault == "too_long" and (sizes := token_sizes(detail)):
            text, detail = "The conversation needs {:,} tokens. The model takes {:,}.", ""
            text = text.format(*sizes)
        if detail and fault in QUOTED and not (fault == "not_found" and model):
            quote = on_one_line(redact(detail, self.key))
            text = f"{text} {quote[:600]}"
        return ProviderError(fault, text, provider=self.provider, status=status, retry_after=wait)

    def from_response(
        self,
        status: int,
        body: object,
        headers: Mapping[str, str],
        *,
        fault: ProviderFault | None = None,
        model: str = "",
    ) -> ProviderError:
        """The error that an HTTP answer means; ``fault`` where the body said which."""
        words = error_message(body)
        if fault is None:
            fault = fault_of_status(status)
            page = "html" in headers.get("content-type", "") or (
                isinstance(body, str) and _is_page(body)
            )
            if page and status in (400, 403, 404, 405):
                fault = "protocol"
            elif fault == "bad_request":
                fault = fault_of_bad_request(words)
            elif fault == "not_found" and is_bad_history(words):
                fault = "bad_history"
        fault = apply_retry_advice(fault, headers, words)
        model = model if fault == "not_found" else ""
        return self.error(fault, words, model=model, status=status, wait=retry_after(headers))

    def from_exception(self, error: Exception) -> ProviderError:
        """The error that a fault of the connection or of the SDK means."""
        import httpx2

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return self.error("protocol")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return self.error("network")
        if isinstance(error, httpx2.TimeoutException):
            return self._network(f"{self.title} stopped answering.")
        if isinstance(error, httpx2.TransportError | OSError):
            return self._network(f"The connection to {self.title} broke off.")
        return self.error("protocol")

    @property
    def _key_end(self) -> str:
        """Which key it was, by its last four characters, and where; nothing of a short one."""
        end = self.key.strip()[-4:] if len(self.key.strip()) >= 16 else ""
        if not end or self.host == self.title:  # the address is named already
            return f" The key ending in {end} does not work." if end else ""
        return f" The key ending in {end} does not work at {self.host}."

    def _network(self, text: str) -> ProviderError:
        return ProviderError("network", text, provider=self.provider)

    def _text(self, fault: ProviderFault, model: str) -> str:
        title = self.title
        at = "" if self.host == title else f" at {self.host}"
        texts: dict[ProviderFault, str] = {
            "no_key": f"There is no API key for {title}. Add one in the settings.",
            "bad_key": f"{title} rejected the API key.{self._key_end}",
            "forbidden": f"{title} does not permit this.",
            "not_found": (
                f"{title} has no model called {model}." if model else f"{title} did not find it."
            ),
            "rate_limited": f"{title} is limiting requests.",
            "overloaded": f"{title} is overloaded.",
            "too_long": "The conversation is too long for this model.",
            "refused": f"{title} refused to answer.",
            "bad_request": f"{title} did not accept the request.",
            "bad_history": f"{title} did not accept the conversation's history.",
            "no_credit": f"The {title} account has no credit left.",
            "network": f"Can't reach {title}{at}. Check the connection.",
            "server": f"{title} had an error of its own.",
            "protocol": (
                f"The server at {self.host} did not answer like {title}. Check the base URL."
            ),
        }
        return texts[fault]
