"""Server token: keeps the secret that clients of the server send (S-4)."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from pathlib import Path

from studio.files.folders import private_folder

from .keychain import Keychain, KeychainUnavailable

ENTRY = "server"
"""Its name in the keychain."""


class ServerToken:
    """The token: made when it is first needed, and kept in the keychain.

    Several programs may use it. One that renews it touches a file in ``folder``, which tells
    the others that the token they know is not valid any more.
    """

    def __init__(self, keychain: Keychain, folder: Path) -> None:
        self.keychain = keychain
        self._mark = folder / "server-token-renewed"
        self._seen = self._marked()
        self._lock = asyncio.Lock()

    async def get(self) -> str:
        """The valid token."""
        async with self._lock:
            if (marked := self._marked()) != self._seen:
                self.keychain.forget(ENTRY)
                self._seen = marked
            return await self.keychain.get(ENTRY) or await self._make()

    async def renew(self) -> str:
        """Make a new token; the old one is not valid any more."""
        async with self._lock:
            return await self._make()

    @property
    def kept(self) -> bool:
        """Whether the token outlives the program; otherwise it has to be shown now."""
        return self.keychain.source(ENTRY) == "keychain"

    async def _make(self) -> str:
        token = f"as-{secrets.token_urlsafe(32)}"
        try:
            if self.keychain.status not in ("ready", "untried"):
                raise KeychainUnavailable(self.keychain.status)
            await self.keychain.set(ENTRY, token)
        except KeychainUnavailable:  # a token that it may hold stays
            self.keychain.keep_for_session(ENTRY, token)
            return token
        await asyncio.to_thread(self._leave_mark)
        self._seen = self._marked()
        return token

    def _marked(self) -> int:
        """When the token was last renewed, as the file's mtime in ns; 0 if it never was."""
        with suppress(OSError):
            return self._mark.stat().st_mtime_ns
        return 0

    def _leave_mark(self) -> None:
        with suppress(OSError):  # then the others know it when they start again
            private_folder(self._mark.parent)
            self._mark.write_text(f"{time.time()}\n")
