"""Changing an entry by what its person types; no secret stays in it (M-18, section 6)."""

from __future__ import annotations

import pytest

from studio.mcp.entries import ServerEntry
from studio.mcp.importing.changing import key_header, with_key, with_start, with_value

CANARY = "CANARY-shop-key-0123456789"
ENTRY = ServerEntry("shop", "npx", ("-y", "shop"), {"A": "1"}, transport="stdio")
WEB = ServerEntry("shop", url="https://a.example/x", transport="http")


def test_m18_another_command_keeps_the_rest_and_hides_its_secrets() -> None:
    same, secrets = with_start(ENTRY, ENTRY.shown, {})
    assert same == ENTRY and not secrets
    typed = f"'/my programs/shop' --token {CANARY} --port 80"
    entry, secrets = with_start(ENTRY, typed, {})
    assert entry.command == "/my programs/shop" and entry.environment == {"A": "1"}
    assert entry.arguments == ("--token", "${keychain:mcp/shop/token}", "--port", "80")
    assert secrets == {"mcp/shop/token": CANARY} and entry.digest != ENTRY.digest
    assert with_start(entry, entry.shown, {}) == (entry, {})  # the reference stays one
    for wrong in ("'npx", "  "):
        with pytest.raises(ValueError):
            with_start(ENTRY, wrong, {})


def test_m18_another_address_has_no_secret_either() -> None:
    entry, secrets = with_start(WEB, f"https://b.example/mcp?api_key={CANARY}", {})
    assert entry.url == "https://b.example/mcp?api_key=${keychain:mcp/shop/api_key}"
    assert secrets == {"mcp/shop/api_key": CANARY}
    with pytest.raises(ValueError):
        with_start(WEB, "b.example/mcp", {})


@pytest.mark.parametrize(
    ("header", "key", "value", "secret"),
    [
        ("Authorization", "abc", "Bearer ${keychain:mcp/shop/Authorization}", "abc"),
        ("authorization", "Basic abc", "Basic ${keychain:mcp/shop/authorization}", "abc"),
        ("X-API-Key", "abc", "${keychain:mcp/shop/X-API-Key}", "abc"),
    ],
)
def test_m18_a_key_goes_into_a_header_and_the_keychain(
    header: str, key: str, value: str, secret: str
) -> None:
    before = ServerEntry("shop", url=WEB.url, headers={"Authorization": "old", "x-api-key": "old"})
    entry, secrets = with_key(before, header, key)
    assert entry.headers[header] == value and len(entry.headers) == 2
    assert [*secrets.values()] == [secret]
    assert (key_header(WEB), key_header(before)) == ("Authorization", "Authorization")
    assert key_header(ServerEntry("s", headers={"A": "b", "X-API-Key": "c"})) == "X-API-Key"


def test_m18_a_value_stands_for_a_variable_that_is_not_set() -> None:
    before = ServerEntry("shop", "npx", ("${PLACE}/x", "${OTHER}"), {"PLACE": "${PLACE}"})
    entry, secrets = with_value(before, "PLACE", "/here")
    assert entry.arguments == ("${keychain:mcp/shop/PLACE}/x", "${OTHER}")
    assert entry.environment == {"PLACE": "${keychain:mcp/shop/PLACE}"}
    assert secrets == {"mcp/shop/PLACE": "/here"}
