"""Sign-ins: keeps what signing in to MCP servers gave, in the keychain (M-22).

All programs of a person share a sign-in: whoever changes one holds its lock, and reads it anew
first. A server's tokens stand with the issuer they are of and the server they are for, and go
nowhere else.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast

from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass
from studio.files.file_lock import lock
from studio.files.folders import private_folder

EARLY = 60.0
"""Seconds before its end, at most, from which on a token is refreshed."""
_PIECE = 1_000
"""Characters of one entry of the keychain: that of Windows takes 1,280."""
_POLL = 0.02
"""Seconds between two looks at a lock."""

ClientSource: TypeAlias = Literal["", "entry", "person", "document", "dynamic"]
"""Where a client's id came from: the server's entry, the person, a document or a registration."""


class Vault(Protocol):
    """The part of the keychain that is used."""

    @property
    def status(self) -> str: ...
    @property
    def problem(self) -> str: ...
    async def get(self, name: str) -> str | None: ...
    async def set(self, name: str, key: str) -> object: ...
    def keep_for_session(self, name: str, key: str) -> object: ...
    def forget(self, name: str, *, session: bool = False) -> None: ...
    async def delete(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class SignIn:
    """One sign-in. ``access``, ``refresh`` and ``client_secret`` are secrets.

    ``expires`` is a time of the system's clock, 0 if the server does not say; ``lives`` the
    seconds that an access token has in all. Without tokens it only knows the client.
    """

    issuer: str = ""
    resource: str = ""
    token_endpoint: str = ""
    revocation_endpoint: str = ""
    client_id: str = ""
    client_secret: str = ""
    client_method: str = "none"
    client_source: ClientSource = ""
    redirect: str = ""
    access: str = ""
    refresh: str = ""
    expires: float = 0.0
    lives: float = 0.0
    scope: str = ""

    def __repr__(self) -> str:
        return f"SignIn({self.issuer!r}, {self.resource!r})"

    @property
    def is_signed_in(self) -> bool:
        return bool(self.access or self.refresh)

    @property
    def is_due(self) -> bool:
        """Whether the access token ends soon, and is to be refreshed."""
        early = min(EARLY, self.lives / 5)
        return self.expires > 0 and time.time() >= self.expires - early

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.access, self.refresh, self.client_secret)))


def place_of(server: str, url: str) -> str:
    """The name in the keychain for the sign-in to a server at an address.

    No server's entry can refer to it: it begins as no server's own secrets do.
    """
    mark = hashlib.sha256(f"{server}\0{url}".encode("utf-8", "replace")).hexdigest()
    return f"mcp/~sign-in/{mark[:32]}"


def port_of(place: str) -> int:
    """The port at which the browser comes back from a sign-in: the same each time."""
    return 50_000 + int(place[-8:], 16) % 15_000


class SignIns:
    """The sign-ins of the person. ``folder`` is for the locks, which hold nothing."""

    def __init__(self, vault: Vault, folder: Path) -> None:
        self._vault = vault
        self._folder = folder

    @property
    def problem(self) -> str:
        """Why a sign-in may be in the keychain that cannot be read, for the person."""
        return "" if self._vault.status == "none" else self._vault.problem

    async def read(self, place: str) -> SignIn | None:
        """The sign-in as it is now, also if another program changed it."""
        for _ in range(3):  # another program may replace its pieces while they are read
            self._vault.forget(place)
            head = await self._vault.get(place)
            if not head:
                return None
            parts = [await self._vault.get(name) for name in _pieces(place, head)]
            text = "".join(part or "" for part in parts) if parts else head
            with suppress(ValueError, TypeError):
                return _decoded(cast("JsonObject", json.loads(text)))
        return None

    async def keep(self, place: str, found: SignIn) -> None:
        """Keep a sign-in; where the keychain cannot be used, until the program ends."""
        self._vault.forget(place)
        before = await self._vault.get(place) or ""
        text = json.dumps(asdict(found), separators=(",", ":"))
        if len(text) <= _PIECE:
            await self._put(place, text)
        else:  # the new pieces first: whoever reads now finds the old ones whole
            head = f"{secrets.token_hex(4)} {-(-len(text) // _PIECE)}"
            for number, name in enumerate(_pieces(place, head)):
                await self._put(name, text[number * _PIECE : (number + 1) * _PIECE])
            await self._put(place, head)
        await self._drop(_pieces(place, before))

    async def forget(self, place: str) -> None:
        """Forget a sign-in; raises ConfigurationError where the keychain may still have it."""
        self._vault.forget(place)
        head = await self._vault.get(place) or ""
        try:
            await self._vault.delete(place)
        except ConfigurationError:
            if self._vault.status != "none":
                raise
        await self._drop(_pieces(place, head))

    @asynccontextmanager
    async def alone(self, place: str, seconds: float) -> AsyncGenerator[None]:
        """Keep all other programs and tasks from changing a sign-in meanwhile.

        Raises TimeoutError if one of them holds it for so long, and OSError where nothing can be
        written.
        """
        name = hashlib.sha256(place.encode()).hexdigest()[:32]

        def open_lock() -> int:
            path = private_folder(self._folder) / f"{name}.lock"
            return os.open(path, os.O_CREAT | os.O_RDWR, 0o600)

        file = await asyncio.to_thread(open_lock)
        try:
            async with asyncio.timeout(seconds):
                while not _locked(file):  # noqa: ASYNC110
                    await asyncio.sleep(_POLL)
            yield
        finally:
            os.close(file)

    async def _put(self, name: str, text: str) -> None:
        try:
            await self._vault.set(name, text)
        except ConfigurationError:
            self._vault.keep_for_session(name, text)

    async def _drop(self, names: list[str]) -> None:
        for name in names:
            with suppress(ConfigurationError):
                await self._vault.delete(name)


def _locked(file: int) -> bool:
    try:
        return lock(file)
    except OSError:  # some folders have no locks
        return True


def _pieces(place: str, head: str) -> list[str]:
    """The names of the pieces that ``head`` speaks of; none if it is the whole."""
    mark, _, count = head.partition(" ")
    if head.startswith("{") or not count.isdigit():
        return []
    return [f"{place}/{mark}/{number}" for number in range(min(int(count), 100))]


def _decoded(found: JsonObject) -> SignIn:
    """What of it has the right kind; the rest is as if it were not there."""
    values = {
        one.name: value
        for one in fields(SignIn)
        if isinstance(value := found.get(one.name), str if one.default in ("", "none") else float)
    }
    return SignIn(**cast("Any", values))
