"""The newest version is asked of a static file, and believed only when it is signed (I-10)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from studio.agent.updates import (
    STEPS,
    Changes,
    Newest,
    Release,
    Unsigned,
    changes_since,
    followed,
    is_newer,
    newest,
    read_release,
    shortened,
)
from studio.domain.errors import ConfigurationError
from studio.providers.http import Http
from studio.tools.web import NetworkGuard, web_address
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
        (signed(version="9.1rc1"), 200, "something else"),
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


async def test_one_known_key_among_several_is_enough(place: Site, http: Http) -> None:
    """I-10: so a key can be changed while programs are about that know the old one alone."""
    stranger = Ed25519PrivateKey.generate()
    place.page("/updates.json", signed(stranger, NEXT, date="2027-01-02"))
    assert await newest(http, release(place.url)) == Newest("9.1", PAGE, "2027-01-02")
    place.page("/updates.json", signed(NEXT, date="soon"))
    assert (await newest(http, release(place.url))).date == ""
    place.page("/updates.json", signed(stranger))
    with pytest.raises(Unsigned):
        await newest(http, release(place.url))


async def test_redirects_lead_to_no_other_server_of_this_network(place: Site, http: Http) -> None:
    """I-10: not to one on this computer, not without encryption, and not for ever."""
    async with site() as other:
        other.page("/stored", signed())
        port = other.port
        for to, why in (
            (other.url, "127.0.0.1, which is not encrypted"),
            (f"https://127.0.0.1:{port}", "127.0.0.1, which is not public"),
            (f"https://localhost:{port}", "localhost, which is not public"),
            ("file:///etc", "no page of the web"),
        ):
            place.redirect("/updates.json", f"{to}/stored")
            with pytest.raises(ConfigurationError, match=f"its address leads to {why}"):
                await newest(http, release(place.url))
        assert not other.asked
    place.redirect("/updates.json", "/updates.json")
    before = len(place.asked)
    with pytest.raises(ConfigurationError, match="redirects"):
        await newest(http, release(place.url))
    assert len(place.asked) - before == STEPS + 1


async def test_a_redirect_leads_to_a_public_server() -> None:
    """I-10: as a release's files do; a name that resolves to a private address does not."""

    def guard(ip: str) -> NetworkGuard:
        async def look_up(host: str, port: int) -> list[str]:
            return [ip]

        return NetworkGuard(look_up=look_up)

    here = web_address.parse("https://studio.example/updates.json")
    to = await followed(here, "https://files.example/9.1/updates.json?x=1", guard("1.1.1.1"))
    assert str(to) == "https://files.example/9.1/updates.json?x=1"
    with pytest.raises(ConfigurationError, match="which is not public"):
        await followed(here, "https://files.example/updates.json", guard("10.0.0.1"))
    with pytest.raises(ConfigurationError, match="not encrypted"):
        await followed(here, "http://files.example/updates.json", guard("1.1.1.1"))


async def test_without_a_connection_it_says_so(http: Http) -> None:
    with pytest.raises(ConfigurationError, match="Check the connection"):
        await newest(http, release(f"http://127.0.0.1:{free_port()}"))


def test_versions_are_compared_by_their_numbers() -> None:
    assert is_newer("0.10.0", "0.9.1") and is_newer("1.0.1", "1.0")
    assert not is_newer("1.0.0", "1.0") and not is_newer("0.9", "0.10")
    assert not is_newer("2.0", "unknown") and not is_newer("unknown", "2.0")


def test_a_pre_release_is_before_what_it_leads_to() -> None:
    """I-10: in the order of PEP 440, so that whoever has one hears of the version itself."""
    order = ["0.1.9", "0.2.0a1", "0.2.0a2", "0.2.0b1", "0.2.0rc1", "0.2.0rc10", "0.2", "0.2.0.1"]
    for number, version in enumerate(order):
        for other in order[:number]:
            assert is_newer(version, other) and not is_newer(other, version)


def test_what_came_since_the_version_that_was_seen() -> None:
    """I-11: with each version that was left out, and no more than can be read at once."""
    texts = {"1.2": "Now:\n\n" + "- one,\n  on two lines\n" * 9, "1.1": "- two", "1.0": "- three"}
    made = Release(changes=tuple(Changes(*one) for one in texts.items()))
    assert [one.version for one in changes_since(made, "1.0", "1.2")] == ["1.2", "1.1"]
    assert [one.version for one in changes_since(made, "0.1", "1.1")] == ["1.1", "1.0"]
    assert [one.version for one in changes_since(made, "", "1.1")] == ["1.1"]
    assert not changes_since(made, "1.2", "1.2") and not changes_since(made, "2.0", "1.2")
    short, left = shortened(made.changes, 8)
    assert short[0].text == "Now:\n\n" + ("- one,\n  on two lines\n" * 3).rstrip() and left == 6
    assert short[1:] == made.changes[1:]
    assert shortened(made.changes[:1], 99) == (made.changes[:1], 0)


def test_a_source_folder_asks_nobody(tmp_path: Path) -> None:
    """I-10: what the build wrote may also be damaged."""
    assert not read_release(tmp_path).asks
    for text in ("{", "[]", '{"keys": "x", "address": 1}', '{"address": "https://x", "keys": []}'):
        (tmp_path / "release.json").write_text(text)
        assert not read_release(tmp_path).asks
    (tmp_path / "release.json").write_text('{"changes": [1, {"version": "1.0", "text": "x"}]}')
    assert read_release(tmp_path).changes == (Changes("1.0", "x"),)
    (tmp_path / "release.json").write_text('{"address": "https://x", "keys": ["k"]}')
    assert read_release(tmp_path).asks
