"""What a person sees of a server before it runs (M-12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.agent.servers.facts import shown_pairs, shown_reach, shown_server, shown_start
from studio.agent.servers.server_tools import ServerView
from studio.mcp.catalogue import NOTHING
from studio.mcp.confinement import Confinement
from studio.mcp.entries import Sandboxing, ServerEntry
from studio.mcp.supervised import ServerState


def test_m12_values_are_shown_and_secrets_by_their_names() -> None:
    pairs = {"NODE_OPTIONS": "--require ./evil.js", "A\u202e": "b\nc", "API_KEY": "CANARY"}
    shown = shown_pairs(pairs)
    assert shown == "NODE_OPTIONS=--require ./evil.js, A\\u202e=b\\nc, API_KEY=•••••"
    header = {"Authorization": "Bearer ${keychain:mcp/github/token}"}
    assert shown_pairs(header) == "Authorization=Bearer ${keychain:mcp/github/token}"
    assert shown_pairs({"Authorization": "Bearer CANARY"}) == "Authorization=Bearer •••••"
    assert shown_pairs({"API_KEY": "${MINE:-CANARY}"}) == "API_KEY=${MINE:-•••••}"


def test_m12_where_a_server_comes_from_is_told() -> None:
    for place, words in (("pack:office", "the pack office."), ("/work", "the folder /work.")):
        view = ServerView(ServerEntry("x", "sh", place=place), ServerState("off"), NOTHING)
        assert f"It comes with {words}" in shown_server(view)


def test_m12_what_runs_is_escaped() -> None:
    entry = ServerEntry("x", "sh", ("a\u202e b", "c d", 'e" "f', "; rm", ""))
    assert shown_start(entry) == "sh 'a\\u202e b' 'c d' 'e\" \"f' '; rm' ''"
    assert entry.shown.startswith("sh 'a")
    entry = ServerEntry("x", url="https://x.org/${keychain:mcp/y/k}", transport="http")
    assert shown_start(entry) == "https://x.org/${keychain:mcp/y/k}"


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [("", "with your rights"), ("offline", "without network"), ("network", "with network")],
)
def test_m18_what_a_server_may_reach_is_told(sandbox: Sandboxing, words: str) -> None:
    """M-18: paths are escaped; a server at an address runs elsewhere."""
    may = Confinement(Path("/own"), (Path("/work\u202e"),), (Path("/code"),))
    told = shown_reach(ServerEntry("x", "sh", sandbox=sandbox), may)
    assert words in told[0]
    rest = ["It may change what is in: /work\\u202e", "It may read what is in: /code"]
    assert told[2:] == (rest if sandbox else [])
    far = ServerView(ServerEntry("x", url="https://x.org"), ServerState("off"), NOTHING)
    assert not any("runs" in line for line in shown_server(far))
