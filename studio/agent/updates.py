"""Updates: asks a static file for the newest version, and says what is new in this one.

The build writes ``release.json``: the address, the public keys, and what the changelog says of
this version. A source folder has none, and asks nobody. The file at the address is
``{"signed": "…", "signature": "…"}``: the first is JSON as text, the second its Ed25519 signature
in base64. So whoever holds the address can hold news back, and make none up. Nothing is fetched but
that file, nothing about the person is sent, and nothing is installed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass

if TYPE_CHECKING:
    from studio.domain.jsonvalue import JsonObject
    from studio.providers.http import Http

FILE = "release.json"
PRODUCT = "agent-studio"
BYTES = 65_536
"""More than the file at the address ever has."""
SECONDS = 20.0
LINK = re.compile(r"https://[^\s\"<>]{1,500}")
VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){1,3}")


@dataclass(frozen=True, slots=True)
class Release:
    """What the build wrote down. ``keys`` may name the next key too, before it is used."""

    address: str = ""
    keys: tuple[str, ...] = ()
    changes: str = ""
    """The changelog's section of this version, in Markdown."""

    @property
    def asks(self) -> bool:
        """Whether there is somebody to ask, whose answer can be verified."""
        return bool(self.address and self.keys)


@dataclass(frozen=True, slots=True)
class Newest:
    """What the file says: a version, and the page where a person gets it."""

    version: str
    page: str


def read_release(resources: Path) -> Release:
    """What the build wrote; empty where this is a source folder. Blocks."""
    try:
        found: object = json.loads((resources / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return Release()
    if not isinstance(found, dict):
        return Release()
    told = cast("JsonObject", found)
    keys = told.get("keys")
    return Release(
        address=_text(told, "address"),
        keys=tuple(one for one in keys if isinstance(one, str)) if isinstance(keys, list) else (),
        changes=_text(told, "changes"),
    )


def is_newer(version: str, than: str) -> bool:
    """Whether one version comes after another; what is no version is never newer."""
    if not VERSION.fullmatch(version) or not VERSION.fullmatch(than):
        return False
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> list[int]:
    numbers = [int(one) for one in version.split(".")]
    while numbers[-1:] == [0]:  # 1.2 and 1.2.0 are the same
        numbers.pop()
    return numbers


def verified(content: bytes, keys: tuple[str, ...]) -> Newest:
    """What a file says, if one of the keys signed it; raises ConfigurationError. Blocks."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        envelope = cast("JsonObject", json.loads(content))
        signed = _text(envelope, "signed").encode()
        signature = base64.b64decode(_text(envelope, "signature"), validate=True)
    except (ValueError, AttributeError, RecursionError) as error:
        raise ConfigurationError("The file with the newest version cannot be read.") from error
    for key in keys:
        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
            public.verify(signature, signed)
        except (ValueError, InvalidSignature):
            continue
        break
    else:
        raise ConfigurationError(
            "The file with the newest version is not signed by the makers of this program, "
            "so it was not believed."
        )
    told = cast("JsonObject", json.loads(signed))
    version, page = _text(told, "version"), _text(told, "page")
    if told.get("product") != PRODUCT or not VERSION.fullmatch(version):
        raise ConfigurationError("The file with the newest version is about something else.")
    return Newest(version, page if LINK.fullmatch(page) else "")


async def newest(http: Http, release: Release) -> Newest:
    """Ask the address; raises ConfigurationError, which says in words what went wrong."""
    import httpx2

    client = await http.client()
    headers = {"user-agent": PRODUCT, "accept": "application/json"}
    content = b""
    try:
        async with (
            asyncio.timeout(SECONDS),
            client.stream(
                "GET", release.address, headers=headers, follow_redirects=True
            ) as response,
        ):
            if response.status_code != 200:
                raise ConfigurationError(
                    f"The newest version cannot be asked for: status {response.status_code}."
                )
            async for part in response.aiter_bytes():
                content += part
                if len(content) > BYTES:
                    raise ConfigurationError("The file with the newest version is too large.")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
        raise ConfigurationError(
            "The newest version cannot be asked for. Check the connection."
        ) from error
    return await http.imported(lambda: verified(content, release.keys))


def _text(found: JsonObject, name: str) -> str:
    value = found.get(name, "")
    return value if isinstance(value, str) else ""
