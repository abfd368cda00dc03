"""OpenAI errors: reads error objects, and remembers which parameters a server refuses (L-12).

Compatible servers use OpenAI's words. Servers of one protocol differ in what they
accept: a parameter that no answer needs is sent, and left out once a 400 names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from studio.domain.errors import ProviderFault
from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.domain.patterns import lazy_pattern
from studio.providers.errors import fault_of_status, is_bad_history, is_too_long

CODES: dict[str, ProviderFault] = {
    "invalid_api_key": "bad_key",
    "incorrect_api_key": "bad_key",
    "authentication_error": "bad_key",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "insufficient_quota": "no_credit",
    "credit_balance_exhausted": "no_credit",
    "billing_hard_limit_reached": "no_credit",
    "billing_not_active": "no_credit",
    "rate_limit_exceeded": "rate_limited",
    "rate_limit_error": "rate_limited",
    "slow_down": "rate_limited",
    "server_is_overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "server_error": "server",
    "context_length_exceeded": "too_long",
    "string_above_max_length": "too_long",
    "exceed_context_size_error": "too_long",
    "content_policy_violation": "refused",
    "content_filter": "refused",
    "invalid_encrypted_content": "bad_history",
    "invalid_prompt": "refused",
    "bio_policy": "refused",
    "misalignment_policy_violation": "refused",
    "image_content_policy_violation": "refused",
    "data_residency_mismatch": "forbidden",
    "vector_store_timeout": "server",
    "unsupported_country_region_territory": "forbidden",
    **dict.fromkeys(
        (
            "invalid_image",
            "invalid_image_format",
            "invalid_base64_image",
            "invalid_image_url",
            "invalid_image_mode",
            "image_too_large",
            "image_too_small",
            "image_parse_error",
            "image_file_too_large",
            "image_file_not_found",
            "unsupported_image_media_type",
            "empty_image_file",
            "failed_to_download_image",
        ),
        "bad_request",
    ),
}


def fault_of_error(error: object) -> ProviderFault | None:
    """The fault an error object names by code, type, number or words; None if none."""
    if isinstance(error, str):
        return _of_words(error)
    fields = as_object(cast("Json", error))
    for name in ("code", "type"):
        value = fields.get(name)
        if isinstance(value, str) and value in CODES:
            return CODES[value]
    if told := _of_words(str(fields.get("message") or "")):
        return told
    for name in ("code", "status_code", "status"):
        value = fields.get(name)
        if isinstance(value, int) and value >= 400:
            return fault_of_status(value)
    return None


def fault_in_stream(error: object) -> ProviderFault:
    """The fault of an error object inside a stream that began well."""
    ours = as_object(cast("Json", error)).get("type") == "invalid_request_error"
    return fault_of_error(error) or ("bad_request" if ours else "server")


def _of_words(words: str) -> ProviderFault | None:
    if is_too_long(words):
        return "too_long"
    return "bad_history" if is_bad_history(words) else None


_REFUSES = lazy_pattern(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed"
    r"|extra (?:inputs|fields)|additional propert|invalid (?:parameter|argument|field)"
    r"|deprecated|unavailable|cannot unmarshal|must be verified",
    re.IGNORECASE,
)


_MOST = lazy_pattern(r"tokens is too large: \d+\. This model supports at most (\d{1,9}) completion")


class UnsupportedParameters:
    """What each model of a server does not take, learned from its refusals."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, str]] = set()
        self._alternates: set[str] = set()
        self._most: dict[str, int] = {}

    def needs_alternation(self, model: str) -> bool:
        """Whether no role may come twice in a row."""
        return model in self._alternates

    def learn_alternation(self, model: str, words: str) -> bool:
        """Whether a refusal is the chat template's, about roles that do not alternate."""
        if model in self._alternates or "roles must alternate" not in words.lower():
            return False
        self._alternates.add(model)
        return True

    def within(self, model: str, limit: int) -> int:
        """The tokens that an answer may have, as far as the model is known to take so many."""
        return min(limit, self._most.get(model, limit))

    def learn_limit(self, model: str, words: str) -> bool:
        """Whether a refusal says a lower limit of answers than was known."""
        found = _MOST.search(words)
        most = int(found[1]) if found else 0
        if not most or most >= self._most.get(model, most + 1):
            return False
        self._most[model] = most
        return True

    def accepts(self, model: str, parameter: str) -> bool:
        return (model, parameter) not in self._refused

    def accepted(self, model: str, wanted: JsonObject) -> JsonObject:
        """Those of the parameters that the model takes, as far as is known."""
        return {name: value for name, value in wanted.items() if self.accepts(model, name)}

    def learn(self, model: str, sent: Iterable[str], words: str, parameter: str = "") -> bool:
        """Whether a refusal is about optional parameters that were ``sent``; remembers which.

        ``parameter`` is what the server says it is about: ``reasoning`` means
        ``reasoning.effort`` too. Where it says nothing, its ``words`` must name
        one. A value out of range is no refusal.
        """
        if not _REFUSES.search(words):
            return False
        sent = set(sent)
        found = {name for name in sent if parameter and f"{name}.".startswith(f"{parameter}.")}
        found = found or {name for name in sent if _named(name, words)}
        found = {name for name in found if self.accepts(model, name)}
        self._refused |= {(model, name) for name in found}
        return bool(found)


def _named(parameter: str, words: str) -> bool:
    # "max_tokens" is not named by "max_completion_tokens", but "think" is by "thinking".
    return re.search(rf"(?<![\w.]){re.escape(parameter)}", words) is not None
