"""The newest version is asked of a static file, and believed only when it is signed (I-10)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from studio.agent.updates import Newest, is_newer, newest, read_release
from studio.domain.errors import ConfigurationError
from studio.providers.http import Http
from support.local_site import Site, free_port, site
from support.signed_updates import NEXT, PAGE, release, signed
from support.waiting import HANG


@pytest.fixture
async def place() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    made = Http(connect_seconds=HANG, read_seconds=HANG)
    yield made
    await made.aclose()


async def test_a_signed_file_is_believed_and_nothing_is_told(place: Site, http: Http) -> None:
    """I-10: from wherever the address leads to; the request says who asks, and no more."""
    place.redirect("/updates.json", "/stored")
    place.page("/stored", signed())
    assert await newest(http, release(place.url)) == Newest("9.1", PAGE)
    for asked in place.asked:
        assert asked.method == "GET" and not asked.body
        assert set(asked.headers) <= {
            "host",
            "accept",
            "accept-encoding",
            "connection",
            "user-agent",
        }
        assert asked.headers["user-agent"] == "agent-studio"
    place.page("/stored", signed(NEXT, page="javascript:alert(1)"))
    assert await newest(http, release(place.url)) == Newest("9.1", ""), "no link but https"


FORGED = json.dumps(json.loads(signed()) | {"signed": json.loads(signed(version="9.9"))["signed"]})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (signed(Ed25519PrivateKey.generate()), 200, "not signed"),
        (FORGED, 200, "not signed"),
        (json.dumps({"signed": json.loads(signed())["signed"]}), 200, "not signed"),
        (signed(product="another"), 200, "something else"),
        (signed(version="9.1; rm"), 200, "something else"),
        ("<html>", 200, "cannot be read"),
        ("[]", 200, "cannot be read"),
        ("[" * 60_000, 200, "cannot be read"),
        (signed() + " " * 70_000, 200, "too large"),
        (signed(), 404, "status 404"),
    ],
)
async def test_anything_else_is_refused_in_words(
    place: Site, http: Http, body: str, status: int, words: str
) -> None:
    """I-10: a file of another key, a changed one, one about something else, none at all."""
    place.page("/updates.json", body, status=status)
    with pytest.raises(ConfigurationError, match=words):
        await newest(http, release(place.url))


async def test_without_a_connection_it_says_so(http: Http) -> None:
    with pytest.raises(ConfigurationError, match="Check the connection"):
        await newest(http, release(f"http://127.0.0.1:{free_port()}"))


def test_versions_are_compared_by_their_numbers() -> None:
    assert is_newer("0.10.0", "0.9.1") and is_newer("1.0.1", "1.0")
    assert not is_newer("1.0.0", "1.0") and not is_newer("0.9", "0.10")
    assert not is_newer("2.0b1", "1.0") and not is_newer("2.0", "unknown")


def test_a_source_folder_asks_nobody(tmp_path: Path) -> None:
    """I-10: what the build wrote may also be damaged."""
    assert not read_release(tmp_path).asks
    for text in ("{", "[]", '{"keys": "x", "address": 1}', '{"address": "https://x", "keys": []}'):
        (tmp_path / "release.json").write_text(text)
        assert not read_release(tmp_path).asks
    (tmp_path / "release.json").write_text('{"address": "https://x", "keys": ["k"]}')
    assert read_release(tmp_path).asks
