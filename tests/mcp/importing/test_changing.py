"""Changing an entry by what its person types; no secret stays in it (M-18, section 6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studio.mcp.entries import ServerEntry, variable_names
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


def test_m18_a_secret_that_stays_is_not_written_over() -> None:
    """P-4, M-18: of two with the same name the new one gets a name of its own."""
    header = {"X": "${keychain:mcp/shop/key}"}
    entry, secrets = with_start(replace(WEB, headers=header), "https://a.example/x?key=new", {})
    assert entry.url == "https://a.example/x?key=${keychain:mcp/shop/key-2}"
    assert entry.headers == header and secrets == {"mcp/shop/key-2": "new"}
    typed = "npx --token ${keychain:mcp/shop/token} --token new"
    entry, secrets = with_start(ENTRY, typed, {})
    assert secrets == {"mcp/shop/token-2": "new"}, entry.arguments
    named = replace(WEB, url="https://a.example/${keychain:mcp/shop/X-API-Key}")
    assert with_key(named, "X-API-Key", "new")[1] == {"mcp/shop/X-API-Key-2": "new"}
    both = replace(ENTRY, arguments=("${keychain:mcp/shop/PLACE}", "${PLACE}"))
    assert with_value(both, "PLACE", "/here")[1] == {"mcp/shop/PLACE-2": "/here"}


def test_m18_a_value_that_signing_in_needs_is_filled_in_too() -> None:
    before = replace(WEB, oauth={"clientId": "${SHOP_CLIENT}"})
    assert variable_names(before) == ["SHOP_CLIENT"]
    entry, _ = with_value(before, "SHOP_CLIENT", "abc")
    assert entry.oauth == {"clientId": "${keychain:mcp/shop/SHOP_CLIENT}"}


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
