"""The servers that a person has: ``mcp.json``, and what the person said of each (M-12, M-18)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ConfigurationError, StorageError
from studio.domain.jsonvalue import JsonObject
from studio.mcp.entries import (
    EntriesFile,
    ServerEntry,
    keychain_names,
    parse_entries,
    resolve_entry,
)
from studio.mcp.jsonc import read_jsonc, with_member

PASTED = """\
{
  // from a README
  "mcpServers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "1"}}, // mine
    "far": {"type": "streamable-http", "url": "https://example.com/mcp"},
    "broken": {"args": []},
  },
  "inputs": [1, 2],
}
"""


def entries_file(folder: Path, text: str = "") -> EntriesFile:
    path = folder / "mcp.json"
    if text:
        path.write_text(text, "utf-8")
    return EntriesFile(path, folder / "said.json")


def test_a_pasted_snippet_is_read_and_one_wrong_entry_spoils_no_other(tmp_path: Path) -> None:
    found = entries_file(tmp_path, PASTED).read()
    assert found.by_name["git"].shown == "uvx mcp-server-git"
    assert found.by_name["far"].transport == "http"
    assert "broken" not in found.by_name
    assert "“broken” needs either a command or a url" in found.problems[0]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"command": "a", "url": "https://x.y"}, "either a command or a url"),
        ({"command": "a", "type": "http"}, "type “http”"),
        ({"url": "file:///etc"}, "does not begin with http"),
        ({"command": "a", "args": "b"}, "“args” that is no list"),
        ({"command": "a", "env": {"A": []}}, "value of A that is no text"),
        ({"command": "a", "seconds": 0}, "“seconds”"),
        ({"command": "a", "starts": "never"}, "“starts”"),
        ([], "is no object"),
    ],
)
def test_a_wrong_entry_is_told(entry: object, told: str) -> None:
    found = parse_entries(json.dumps({"mcpServers": {"one": entry}}), "mcp.json")
    assert not found.by_name
    assert told in found.problems[0]


def test_m12_nothing_that_is_pasted_switches_a_server_on(tmp_path: Path) -> None:
    entry = ServerEntry("git", "uvx", ("mcp-server-git",))
    pasted = {"command": "uvx", "args": ["mcp-server-git"], "on": True, "reads": ["x"]}
    pasted["approved"] = entry.digest
    file = entries_file(tmp_path, json.dumps({"mcpServers": {"git": pasted}}))
    assert not file.read().by_name["git"].runs
    assert not file.read().by_name["git"].reads
    file.agree(replace(entry, on=True, approved=entry.digest, reads=frozenset({"log"})))
    assert file.read().by_name["git"].runs
    assert file.read().by_name["git"].reads == {"log"}


@pytest.mark.parametrize(
    "changed",
    [
        ServerEntry("git", "uv", ("mcp-server-git",), {"A": "1"}),
        ServerEntry("git", "uvx", ("mcp-server-git", "--all"), {"A": "1"}),
        ServerEntry("git", "uvx", ("mcp-server-git",), {"A": "1", "LD_PRELOAD": "x"}),
        ServerEntry("git", "uvx", ("mcp-server-git",), {"A": "1"}, folder="/elsewhere"),
        ServerEntry("git", url="https://example.com", transport="http"),
    ],
)
def test_m12_an_approval_is_of_what_runs(tmp_path: Path, changed: ServerEntry) -> None:
    entry = ServerEntry("git", "uvx", ("mcp-server-git",), {"A": "1"})
    file = entries_file(tmp_path)
    file.put(replace(entry, on=True, approved=entry.digest))
    assert file.read().by_name["git"].runs
    file.put(replace(changed, on=True, approved=entry.digest))
    assert not file.read().by_name["git"].runs


def test_m12_another_value_needs_a_new_approval() -> None:
    """NODE_OPTIONS and its like run code by their value."""
    one, other = (ServerEntry("git", "uvx", environment={"A": value}) for value in "12")
    assert one.digest != other.digest
    one, other = (ServerEntry("git", url="x", transport="http", headers={"A": v}) for v in "12")
    assert one.digest != other.digest


@pytest.mark.parametrize(
    "place, secret, allowed",
    [
        ("", "shop", True),
        ("", "mcp/git/token", True),
        ("", "mcp/github/token", False),
        ("/work", "mcp/git/token", False),
        ("/work", "shop", False),
    ],
)
async def test_m18_a_server_gets_no_secret_of_another(
    place: str, secret: str, allowed: bool
) -> None:
    async def resolve(name: str) -> str:
        return "CANARY"

    entry = ServerEntry("git", "uvx", environment={"A": f"${{keychain:{secret}}}"}, place=place)
    if allowed:
        assert (await resolve_entry(entry, resolve, {})).environment == {"A": "CANARY"}
    else:
        with pytest.raises(ConfigurationError, match=f"may not have the secret {secret}"):
            await resolve_entry(entry, resolve, {})


@pytest.mark.parametrize("place", ["pack:office", "host:office"])
async def test_x1_a_pack_fills_in_nothing_of_the_persons(place: str) -> None:
    """X-1, X-3: neither in its servers nor in what its Python needs."""
    entry = ServerEntry("office", "uv", ("x @ https://example.com/${TOKEN:-a}",), place=place)
    assert await resolve_entry(entry, lambda name: _secret(), {"TOKEN": "CANARY"}) == entry


async def _secret() -> str:
    return "CANARY"


@pytest.mark.parametrize(
    "broken", [b'{"mcpServers": {"git": {"comm', b'{"mcpServers": []}', b"\xff"]
)
def test_m12_a_half_saved_file_ends_no_server(tmp_path: Path, broken: bytes) -> None:
    file = entries_file(tmp_path, '{"mcpServers": {"git": {"command": "uvx"}}}')
    entry = file.read().by_name["git"]
    file.agree(replace(entry, on=True, approved=entry.digest))
    file.path.write_bytes(broken)
    for _ in range(2):
        found = file.read()
        assert found.by_name["git"].runs and len(found.problems) == 1
    file.path.write_text('{"mcpServers": {}}')
    assert file.read().by_name == {} and not file.read().problems


def test_a_change_keeps_comments_order_and_keys_that_are_not_ours(tmp_path: Path) -> None:
    own = PASTED.replace('"args": ["mcp-server-git"]', '"disabled": false, "args": []')
    file = entries_file(tmp_path, own)
    file.put(ServerEntry("new", "npx", ("-y", "new")))
    file.put(replace(file.read().by_name["git"], arguments=("other",)))
    text = file.path.read_text("utf-8")
    assert "// from a README" in text
    assert "// mine" in text
    assert '"disabled": false' in text
    assert '"broken": {"args": []}' in text
    assert file.read().by_name["git"].arguments == ("other",)
    assert list(file.read().by_name) == ["git", "far", "new"]
    file.remove("git")
    assert list(file.read().by_name) == ["far", "new"]
    assert read_jsonc(file.path.read_text("utf-8")) != {}
    with pytest.raises(ConfigurationError, match="There is no server git"):
        file.remove("git")


def test_a_file_that_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    file = entries_file(tmp_path, '{"mcpServers": {,}')
    assert "line 1" in file.read().problems[0]
    with pytest.raises(StorageError, match="nothing was written"):
        file.put(ServerEntry("new", "npx"))
    assert file.path.read_text("utf-8") == '{"mcpServers": {,}'


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1)
OBJECTS = st.dictionaries(NAMES, st.text() | st.integers() | st.lists(st.text()), max_size=3)


@given(st.dictionaries(NAMES, OBJECTS, max_size=4), NAMES, OBJECTS, st.booleans())
def test_one_member_changes_and_nothing_else(
    before: dict[str, JsonObject], name: str, value: JsonObject, wide: bool
) -> None:
    text = json.dumps({"x": 1, "mcpServers": before}, indent=2 if wide else None)
    put = with_member(text, ("mcpServers", name), value)
    assert read_jsonc(put) == {"x": 1, "mcpServers": {**before, name: value}}
    assert read_jsonc(with_member(put, ("mcpServers", name), None)) == {
        "x": 1,
        "mcpServers": {one: kept for one, kept in before.items() if one != name},
    }


def test_m18_secrets_and_variables_are_put_in_when_it_starts() -> None:
    entry = ServerEntry(
        "git",
        "${HOME}/bin/git",
        ("--as=${WHO:-nobody}",),
        {"TOKEN": "Bearer ${keychain:git}", "PLAIN": "$HOME"},
    )

    async def resolve(name: str) -> str:
        return {"git": "s3cret"}.get(name, "")

    found = asyncio.run(resolve_entry(entry, resolve, {"HOME": "/me"}))
    assert found.command == "/me/bin/git"
    assert found.arguments == ("--as=nobody",)
    assert found.environment == {"TOKEN": "Bearer s3cret", "PLAIN": "$HOME"}
    assert keychain_names(entry) == ["git"]


@pytest.mark.parametrize(
    ("value", "told"),
    [("${keychain:gone}", "keychain has no gone"), ("${GONE}", "variable GONE")],
)
def test_m18_what_is_missing_is_told_and_is_no_empty_text(value: str, told: str) -> None:
    async def resolve(name: str) -> str:
        return ""

    entry = ServerEntry("git", "x", environment={"A": value})
    with pytest.raises(ConfigurationError, match=told):
        asyncio.run(resolve_entry(entry, resolve, {}))
