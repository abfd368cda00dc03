"""What OpenAI's error objects mean; compatible servers use the same words (L-12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from studio.domain.errors import ProviderFault

from .faults import fault_of_status, is_bad_history, is_too_long

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
    if not isinstance(error, Mapping):
        return None
    fields = cast("Mapping[str, object]", error)
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
    found = fault_of_error(error)
    if found is None and isinstance(error, Mapping):
        ours = cast("Mapping[str, object]", error).get("type") == "invalid_request_error"
        found = "bad_request" if ours else None
    return found or "server"


def _of_words(words: str) -> ProviderFault | None:
    if is_too_long(words):
        return "too_long"
    return "bad_history" if is_bad_history(words) else None
