"""Redaction of addresses: the names of parameters decide (L-15)."""

from __future__ import annotations

import pytest

from studio.domain.redaction import redact, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        *("sig", "key", "token", "access_token", "refresh_token", "client_secret", "auth"),
        *("X-Amz-Signature", "api_key", "subscription-key", "password"),
    ],
)
@pytest.mark.parametrize("before", ["?", "?page=2&", "?page=2&amp;", "#"])
def test_l15_the_name_of_a_parameter_decides_however_short_its_value_is(
    name: str, before: str
) -> None:
    """In errors of providers, too, of which nothing else tells that an address is in them."""
    address = f"https://example.com/a{before}{name}=x1&page=3"
    for shown in (redact(address), without_secrets(address)):
        assert shown == f"https://example.com/a{before}{name}=[key]&page=3"


@pytest.mark.parametrize(
    "query",
    [
        "sort_key=name",
        "monkey=1",
        "sign=3",
        "design=a",
        "author=ada",
        "signal=9",
        "code=200",
        "code=de",
        "code=1234567890",
        "spin=1",
        "side=a",
        "tickets=2",
        "passes=3",
    ],
)
def test_l15_parameters_that_only_sound_like_secrets_stay(query: str) -> None:
    address = f"https://example.com/a?page=2&{query}"
    assert redact(address) == without_secrets(address) == address


@pytest.mark.parametrize(
    "query",
    [
        "assertion=x1",
        "ticket=x1",
        "sid=x1",
        "session_id=x1",
        "session=x1",
        "sas=x1",
        "hmac=x1",
        "pass=x1",
        "otp=123456",
        "pin=1234",
        "code=SplxlOBeZQ",
    ],
)
def test_l15_parameters_that_log_somebody_in_are_secret(query: str) -> None:
    shown = f"https://example.com/a?{query.partition('=')[0]}=[key]"
    address = f"https://example.com/a?{query}"
    assert redact(address) == without_secrets(address) == shown
