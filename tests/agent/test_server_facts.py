"""What a person sees of a server before it runs (M-12)."""

from __future__ import annotations

from studio.agent.server_facts import shown_pairs, shown_start
from studio.mcp.entries import ServerEntry


def test_m12_values_are_shown_and_secrets_by_their_names() -> None:
    pairs = {"NODE_OPTIONS": "--require ./evil.js", "A\u202e": "b\nc", "API_KEY": "CANARY"}
    shown = shown_pairs(pairs)
    assert shown == "NODE_OPTIONS=--require ./evil.js, A\\u202e=b\\nc, API_KEY=•••••"
    header = {"Authorization": "Bearer ${keychain:mcp/github/token}"}
    assert shown_pairs(header) == "Authorization=Bearer ${keychain:mcp/github/token}"
    assert shown_pairs({"Authorization": "Bearer CANARY"}) == "Authorization=Bearer •••••"
    assert shown_pairs({"API_KEY": "${MINE:-CANARY}"}) == "API_KEY=${MINE:-•••••}"


def test_m12_what_runs_is_escaped() -> None:
    entry = ServerEntry("x", "sh", ("a\u202e b", "c d", 'e" "f', "; rm", ""))
    assert shown_start(entry) == "sh 'a\\u202e b' 'c d' 'e\" \"f' '; rm' ''"
    assert entry.shown.startswith("sh 'a")
    entry = ServerEntry("x", url="https://x.org/${keychain:mcp/y/k}", transport="http")
    assert shown_start(entry) == "https://x.org/${keychain:mcp/y/k}"
