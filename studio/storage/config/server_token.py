"""Server token: keeps the secret that clients of the server send (S-4).

In a file, in the environment, as a credential of systemd, or in the keychain."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

from studio.domain.errors import ConfigurationError
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder

from .keychain import Keychain, KeychainUnavailable

ENTRY = "server"
"""Its name in the keychain."""
VARIABLE = "AGENT_STUDIO_SERVER_TOKEN"
CREDENTIAL = "agent-studio-server-token"
"""The name of a credential of systemd (``LoadCredential=``)."""
LEAST = 16
"""Characters of a token."""


class TokenFile:
    """A token that a file keeps; ``shared`` says that others than its owner may read it.

    Each method raises ConfigurationError that says what to do.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path = path
        self._shared = shared
        self._read: tuple[tuple[int, ...], str] | None = None

    async def get(self) -> str:
        """The token; made if there is no such file yet."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return await self.renew()
        except OSError as error:
            raise self._unreadable(error) from error
        if not stat.S_ISREG(found.st_mode):  # the reading of a pipe would not end
            raise ConfigurationError(f"{self.path} is no file that could keep a token.")
        state = (found.st_mtime_ns, found.st_ino, found.st_mode, found.st_uid, found.st_size)
        if self._read is None or self._read[0] != state:
            self._read = state, await asyncio.to_thread(self._load)
        return self._read[1]

    async def renew(self) -> str:
        """Write a new token, readable by its owner alone."""
        if self._shared:
            raise ConfigurationError(f"The token in {self.path} is not Agent Studio’s to renew.")
        token = _new_token()
        try:
            await asyncio.to_thread(write_atomically, self.path, f"{token}\n".encode())
        except OSError as error:
            raise ConfigurationError(
                f"No token can be written to {self.path}: {error.strerror}."
            ) from error
        return token

    def _load(self) -> str:
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                if sys.platform != "win32" and not self._shared:
                    self._check(found)
                data = file.read(_LONGEST)
        except OSError as error:
            raise self._unreadable(error) from error
        return checked_token(data.decode(errors="replace"), f"The file {self.path}")

    def _check(self, found: os.stat_result) -> None:
        if found.st_mode & 0o077 or found.st_uid not in (os.geteuid(), 0):
            raise ConfigurationError(
                f"Others can read or write the token in {self.path}. Make the file yours alone "
                f"with chmod 600, then renew the token."
            )

    def _unreadable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(f"The token in {self.path} cannot be read: {error.strerror}.")


_LONGEST = 4096


def checked_token(text: str, where: str) -> str:
    """The token in a text; raises ConfigurationError for one that is too short or not ASCII."""
    token = text.strip()
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            f"{where} has no token: at least {LEAST} letters, digits and signs, without blanks."
        )
    return token


def _new_token() -> str:
    return f"as-{secrets.token_urlsafe(32)}"


def _given_file(file: Path | None) -> TokenFile | None:
    if file is not None:
        return TokenFile(file)
    folder = os.environ.get("CREDENTIALS_DIRECTORY", "")
    path = Path(folder) / CREDENTIAL
    return TokenFile(path, shared=True) if folder and path.is_file() else None


class ServerToken:
    """The token: given, or made when it is first needed and kept in the keychain.

    It is given in ``file``, else in the environment as ``VARIABLE``, else as a credential of
    systemd. Several programs may use that of the keychain. One that renews it touches a file in
    ``folder``, which tells the others that the token they know is not valid any more.
    """

    def __init__(self, keychain: Keychain, folder: Path, *, file: Path | None = None) -> None:
        self._variable = os.environ.get(VARIABLE, "") if file is None else ""
        self._file = None if self._variable else _given_file(file)
        self.keychain = keychain
        self._mark = folder / "server-token-renewed"
        self._seen = self._marked()
        self._lock = asyncio.Lock()

    @property
    def given(self) -> str:
        """Where the token comes from, if not from the keychain: a variable or a file."""
        return VARIABLE if self._variable else str(self._file.path) if self._file else ""

    async def get(self) -> str:
        """The valid token. Raises ConfigurationError if a given one is not as it has to be."""
        if self._variable:
            return checked_token(self._variable, f"The variable {VARIABLE}")
        async with self._lock:
            if self._file is not None:
                return await self._file.get()
            if (marked := self._marked()) != self._seen:
                self.keychain.forget(ENTRY)
                self._seen = marked
            return await self.keychain.get(ENTRY) or await self._make()

    async def renew(self) -> str:
        """Make a new token; the old one is not valid any more.

        Raises ConfigurationError if it is given from outside.
        """
        if self._variable:
            raise ConfigurationError(f"The token is in {VARIABLE}: change it there.")
        async with self._lock:
            if self._file is not None:
                return await self._file.renew()
            return await self._make()

    @property
    def kept(self) -> bool:
        """Whether the token outlives the program; otherwise it has to be shown now."""
        return bool(self.given) or self.keychain.source(ENTRY) == "keychain"

    async def _make(self) -> str:
        token = _new_token()
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
