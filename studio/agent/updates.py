"""Updates: asks a static file for the newest version, and says what is new in this one.

The build writes ``release.json``: the address, the public keys, and what the changelog says of
this version and those before. A source folder has none, and asks nobody. The file at the address is
``{"signed": "…", "signatures": ["…"]}``: the first is JSON as text, the others its Ed25519
signatures in base64, of which one must be of a known key. So whoever holds the address can hold
news back, and make none up. Nothing is fetched but that file, nothing about the person is sent, and
nothing is installed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from studio.domain.errors import ConfigurationError, NothingRead
from studio.domain.records import dataclass
from studio.tools.web import web_address
from studio.tools.web.private_address_guard import NetworkGuard

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from studio.domain.jsonvalue import JsonObject
    from studio.providers.http import Http
    from studio.tools.web.web_address import Address

FILE = "release.json"
PRODUCT = "agent-studio"
BYTES = 65_536
"""More than the file at the address ever has."""
SECONDS = 20.0
LINK = re.compile(r"https://[^\s\"<>]{1,500}")
STEPS = 5
"""Redirects that are followed: a release's newest file is some steps from its address."""
VERSION = re.compile(r"(\d{1,6}(?:\.\d{1,6}){1,3})(?:(a|b|rc)(\d{1,6}))?")
SIGNATURES = 8
"""Those of a file that are looked at."""
DATE = re.compile(r"\d{4}-\d\d-\d\d")
ENTRY = re.compile(r"^[-*] ", re.MULTILINE)


class Unsigned(ConfigurationError):
    """Nobody who is believed signed the file: its key is unknown here, or it is forged."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the changelog says of a version, in Markdown."""

    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Release:
    """What the build wrote down. ``keys`` may name the next key too, before it is used."""

    address: str = ""
    keys: tuple[str, ...] = ()
    changes: tuple[Changes, ...] = ()
    """Of this version and some before it, the newest first."""

    @property
    def asks(self) -> bool:
        """Whether there is somebody to ask, whose answer can be verified."""
        return bool(self.address and self.keys)


@dataclass(frozen=True, slots=True)
class Newest:
    """What the file says: a version, the page where a person gets it, and when that was so."""

    version: str
    page: str
    date: str = ""
    """As ISO 8601 has it; empty where the file has none."""


def read_release(resources: Path) -> Release:
    """What the build wrote; empty where this is a source folder. Blocks."""
    try:
        found: object = json.loads((resources / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return Release()
    if not isinstance(found, dict):
        return Release()
    told = cast("JsonObject", found)
    keys, changes = told.get("keys"), told.get("changes")
    return Release(
        address=_text(told, "address"),
        keys=tuple(one for one in keys if isinstance(one, str)) if isinstance(keys, list) else (),
        changes=tuple(
            Changes(_text(one, "version"), _text(one, "text"))
            for one in (changes if isinstance(changes, list) else ())
            if isinstance(one, dict)
        ),
    )


def is_newer(version: str, than: str) -> bool:
    """Whether one version comes after another; what is no version is never newer."""
    one, other = _order(version), _order(than)
    return bool(one and other and one > other)


def _order(version: str) -> tuple[list[int], str, int] | None:
    """What versions are compared by: a pre-release, as 1.2rc1, is before what it leads to."""
    found = VERSION.fullmatch(version)
    if found is None:
        return None
    numbers = [int(one) for one in found[1].split(".")]
    while numbers[-1:] == [0]:  # 1.2 and 1.2.0 are the same
        numbers.pop()
    return numbers, found[2] or "z", int(found[3] or 0)  # a, b and rc are before z


def changes_since(release: Release, seen: str, now: str) -> tuple[Changes, ...]:
    """What is new for somebody who last used another version; this one's if that is unknown."""
    after = [one for one in release.changes if not is_newer(one.version, now)]
    known = [one for one in after if is_newer(one.version, seen)]
    return tuple(known if seen else (one for one in after if one.version == now))


def shortened(changes: Sequence[Changes], entries: int) -> tuple[tuple[Changes, ...], int]:
    """The first entries of each version's list, and how many are left out in all."""
    most, short, left = max(3, entries // max(1, len(changes))), list[Changes](), 0
    for one in changes:
        starts = [found.start() for found in ENTRY.finditer(one.text)]
        text = one.text
        if len(starts) > most:
            text, left = text[: starts[most]].rstrip(), left + len(starts) - most
        short.append(Changes(one.version, text))
    return tuple(short), left


def verified(content: bytes, keys: tuple[str, ...]) -> Newest:
    """What a file says, if one of the keys signed it; raises ConfigurationError. Blocks."""
    try:
        envelope = cast("JsonObject", json.loads(content))
        signed = _text(envelope, "signed").encode()
        found = envelope.get("signatures")
        signatures = [
            base64.b64decode(one, validate=True)
            for one in (found if isinstance(found, list) else ())
            if isinstance(one, str)
        ]
    except (ValueError, AttributeError, RecursionError) as error:
        raise ConfigurationError("The file with the newest version cannot be read.") from error
    if not any(_signed_by(key, one, signed) for key in keys for one in signatures[:SIGNATURES]):
        raise Unsigned(
            "The file with the newest version is not signed by the makers of this program, "
            "so it was not believed."
        )
    told = cast("JsonObject", json.loads(signed))
    version, page, date = (_text(told, name) for name in ("version", "page", "date"))
    number = VERSION.fullmatch(version)
    if told.get("product") != PRODUCT or number is None or number[2]:  # no pre-release
        raise ConfigurationError("The file with the newest version is about something else.")
    page = page if LINK.fullmatch(page) else ""
    return Newest(version, page, date if DATE.fullmatch(date) else "")


def _signed_by(key: str, signature: bytes, text: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
        public.verify(signature, text)
    except (ValueError, InvalidSignature):
        return False
    return True


async def newest(http: Http, release: Release) -> Newest:
    """Ask the address; raises ConfigurationError, which says in words what went wrong."""
    import httpx2

    client = await http.client()
    try:
        async with asyncio.timeout(SECONDS):
            content = await _fetched(client, web_address.parse(release.address))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError, NothingRead) as error:
        raise ConfigurationError(
            "The newest version cannot be asked for. Check the connection."
        ) from error
    return await http.imported(lambda: verified(content, release.keys))


async def _fetched(client: httpx2.AsyncClient, address: Address) -> bytes:
    """What the address has, or the one that it leads to."""
    headers, content = {"user-agent": PRODUCT, "accept": "application/json"}, b""
    for _ in range(STEPS + 1):
        async with client.stream(
            "GET", str(address), headers=headers, follow_redirects=False
        ) as response:
            if response.has_redirect_location:
                address = await followed(address, response.headers["location"])
                continue
            if response.status_code != 200:
                raise ConfigurationError(
                    f"The newest version cannot be asked for: status {response.status_code}."
                )
            async for part in response.aiter_bytes():
                content += part
                if len(content) > BYTES:
                    raise ConfigurationError("The file with the newest version is too large.")
            return content
    raise ConfigurationError(
        f"The newest version cannot be asked for: more than {STEPS} redirects."
    )


async def followed(address: Address, location: str, guard: NetworkGuard | None = None) -> Address:
    """Where a redirect leads, if that may be asked; raises ConfigurationError.

    That is the same server, or another one in the public internet, over HTTPS.
    """
    try:
        to = address.join(location)
    except NothingRead as error:
        raise ConfigurationError(
            "The newest version was not asked for: its address leads to no page of the web."
        ) from error
    if not address.stays_at(to):
        if to.scheme != "https":
            raise ConfigurationError(
                "The newest version was not asked for: "
                f"its address leads to {to.host}, which is not encrypted."
            )
        try:
            await (guard or NetworkGuard()).forwarded(to, private=False)
        except NothingRead as refusal:
            raise ConfigurationError(
                "The newest version was not asked for: "
                f"its address leads to {to.host}, which is not public."
            ) from refusal
    return to


def _text(found: JsonObject, name: str) -> str:
    value = found.get(name, "")
    return value if isinstance(value, str) else ""
