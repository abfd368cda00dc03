"""Keychain: keeps providers' API keys in the operating system's keychain (P-4)."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast

from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass

from .key_command import KeyCommands

SERVICE = "agent-studio"
PAUSE = 60.0  # s without further reading after it failed
T = TypeVar("T")

Source: TypeAlias = Literal["keychain", "session", "command", "environment", ""]
"""Where a key came from: ``session`` is this program's memory, ``command`` a program of the
person's; "" means there is no key."""

Status: TypeAlias = Literal["untried", "ready", "none", "locked", "silent", "failed"]
"""The state of the keychain. ``silent``: it does not answer, or waits for
the person in a window of its own."""

_PROBLEMS: dict[Status, str] = {
    "none": "This computer has no keychain that can be used.",
    "locked": "The system's keychain is locked.",
    "silent": "The system's keychain does not answer.",
    "failed": "The system's keychain reports an error.",
}


class Backend(Protocol):
    """The part of a ``keyring`` backend that is used; any call may block or raise."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


class NoKeyringError(Exception):
    """There is no keychain; named like keyring's own error, see ``_status``."""


class KeychainUnavailable(ConfigurationError):
    """The keychain cannot be used; ``status`` says why.

    The person may choose ``keep_for_session`` instead.
    """

    def __init__(self, status: Status) -> None:
        super().__init__(f"{_PROBLEMS.get(status, '')} The key can be kept for this session only.")
        self.status: Status = status


@dataclass(slots=True)
class _Job:
    work: Callable[[Backend], Any]
    deliver: Callable[[Any, BaseException | None], None]
    """Called in the keychain's thread."""
    abandoned: bool = False
    """Whether the caller has given up; work that has not begun is then skipped."""


class Keychain:
    """Reads and keeps keys by name, a provider's for example.

    The keychain is called in a thread of its own, with ``deadline`` seconds to answer,
    because a frozen one never does. A later answer (the person typed the keychain's
    password) still counts from then on. Keys read or kept stay in memory.
    """

    def __init__(
        self,
        service: str = SERVICE,
        deadline: float = 3.0,
        backend: Backend | None = None,
        variables: Mapping[str, Sequence[str]] | None = None,
        commands: KeyCommands | None = None,
    ) -> None:
        """``variables`` are the environment variables with a key, by the key's name.

        ``commands`` are asked before those, and after the keychain.
        """
        self.status: Status = "untried"
        self._service = service
        self._deadline = deadline
        self._backend = backend
        self._variables = variables or {}
        self.commands = commands or KeyCommands(dict)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._busy_since: float | None = None
        self._failed_at: float | None = None
        self._read: dict[str, str | None] = {}
        self._session: dict[str, str] = {}
        self._changes: dict[str, int] = {}
        self._listeners: list[Callable[[str], None]] = []

    def close(self) -> None:
        """End the thread when its work is done; a silent keychain's waits for the program's end.

        A later call starts another.
        """
        if self._thread is not None:
            self._jobs.put(None)
            self._jobs = queue.SimpleQueue()
            self._thread = None

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call ``listener`` with the name of each key after it was kept or deleted here."""
        self._listeners.append(listener)

    @property
    def session(self) -> Mapping[str, str]:
        """The keys that are kept until the program ends, and nowhere else."""
        return self._session

    def known(self) -> list[str]:
        """Every key that was read or kept since the program began."""
        kept = (*self._session.values(), *self._read.values(), *self.commands.every())
        return [key for key in kept if key]

    @property
    def problem(self) -> str:
        """What is wrong with the keychain, for the person; "" if nothing is."""
        return _PROBLEMS.get(self.status, "")

    def source(self, name: str) -> Source:
        """Where ``get`` found the key the last time."""
        if name in self._session:
            return "session"
        if self._read.get(name):
            return "keychain"
        if self.commands.known(name):
            return "command"
        return "environment" if self.environment_key(name) else ""

    def environment_key(self, name: str) -> str | None:
        """The key from the environment variables that other tools read; None if unset."""
        values = (os.environ.get(variable, "") for variable in self._variables.get(name, ()))
        return next((key for value in values if (key := value.strip())), None)

    async def get(self, name: str) -> str | None:
        """The key: kept for this session, from the keychain, a command or the environment.

        None if there is none. Never raises; ``status`` says how the keychain is.
        """
        if name in self._session:
            return self._session[name]
        if name not in self._read and not self._paused():
            change = self._changes.get(name, 0)

            def note(key: str | None) -> None:
                # Not if the key was changed meanwhile.
                if self._changes.get(name, 0) == change:
                    self._read[name] = key or None

            try:
                await self._call(lambda backend: backend.get_password(self._service, name), note)
            except KeychainUnavailable:
                self._failed_at = time.monotonic()
        return (
            self._session.get(name)
            or self._read.get(name)
            or await self.commands.get(name)
            or self.environment_key(name)
        )

    def forget(self, name: str, *, session: bool = False) -> None:
        """Read a key again at the next ``get``, because another program changed it.

        A key that is kept for the session stays, unless ``session`` is True.
        """
        self._changed(name)
        self._read.pop(name, None)
        self.commands.forget(name)
        if session:
            self._session.pop(name, None)

    async def set(self, name: str, key: str) -> Source:
        """Keep a key in the keychain and return ``"keychain"``.

        Raises KeychainUnavailable if the key may not be there, and
        ConfigurationError for an empty key.
        """
        key = _checked(key)
        change = self._changed(name)

        def keep(backend: Backend) -> str:
            backend.set_password(self._service, name, key)
            if backend.get_password(self._service, name) != key:
                raise LookupError("the keychain forgot the key")
            return key

        def note(kept: str) -> None:
            if self._changes[name] == change:
                self._session.pop(name, None)
                self._read[name] = kept

        await self._call(keep, note)
        self._tell(name)
        return "keychain"

    def keep_for_session(self, name: str, key: str) -> Source:
        """Keep a key in memory until the program ends; returns ``"session"``."""
        key = _checked(key)
        self._changed(name)
        self._session[name] = key
        self._tell(name)
        return "session"

    async def delete(self, name: str) -> None:
        """Delete a key here and in the keychain; no error if there is none.

        Raises KeychainUnavailable if it may still be in the keychain.
        """
        change = self._changed(name)
        self._session.pop(name, None)

        def remove(backend: Backend) -> None:
            if backend.get_password(self._service, name) is not None:
                backend.delete_password(self._service, name)

        def note(_: None) -> None:
            if self._changes[name] == change:
                self._read[name] = None

        self._read.pop(name, None)
        try:
            await self._call(remove, note)
        finally:
            self._tell(name)

    def _tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)

    def _paused(self) -> bool:
        """Whether reading failed recently: a locked keychain asks the person each time."""
        failed = self._failed_at
        return failed is not None and time.monotonic() - failed < PAUSE

    def _changed(self, name: str) -> int:
        self._changes[name] = self._changes.get(name, 0) + 1
        return self._changes[name]

    async def _call(self, work: Callable[[Backend], T], note: Callable[[T], None]) -> None:
        """Do ``work`` in the keychain's thread, then ``note`` its result on this loop.

        Raises KeychainUnavailable on any fault and when the deadline is over.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Status] = loop.create_future()

        def finish(result: T, error: BaseException | None) -> None:
            self.status = status = "ready" if error is None else _status(error)
            if error is None:
                self._failed_at = None
                note(result)
            if not done.done():
                done.set_result(status)

        def deliver(result: T, error: BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish, result, error)

        busy = self._busy_since
        if busy is not None and time.monotonic() - busy > self._deadline:
            self.status = "silent"  # an earlier call still blocks
            raise KeychainUnavailable("silent")
        job = _Job(work, deliver)
        self._jobs.put(job)
        if self._thread is None:
            # A daemon thread: the program ends even while the keychain is silent.
            self._thread = threading.Thread(
                target=self._serve, args=(self._jobs,), name="keychain", daemon=True
            )
            self._thread.start()
        try:
            status = await asyncio.wait_for(done, self._deadline)
        except TimeoutError:
            self.status = status = "silent"
        finally:
            job.abandoned = True
        if status != "ready":
            raise KeychainUnavailable(status)

    def _serve(self, jobs: queue.SimpleQueue[_Job | None]) -> None:
        while (job := jobs.get()) is not None:
            if job.abandoned:
                continue
            self._busy_since = time.monotonic()
            try:
                if self._backend is None:
                    self._backend = _system_backend()
                result, error = job.work(self._backend), None
            except BaseException as raised:
                result, error = None, raised
            self._busy_since = None
            job.deliver(result, error)
            del job, result, error


def _checked(key: str) -> str:
    key = key.strip()
    if not key:
        raise ConfigurationError("The key is empty.")
    return key


def _system_backend() -> Backend:
    """The system's keychain: one that keyring recommends, none that writes a plain file."""
    if sys.platform.startswith("linux") and not _has_bus() and not _names_backend():
        raise NoKeyringError  # to import keyring in vain takes a tenth of the start of a command
    if sys.platform != "darwin":  # it would look for Apple's libraries, in child processes
        cast("dict[str, Any]", sys.modules).setdefault("keyring.backends.macOS.api", None)
    from keyring import core

    # Its annotations are incomplete.
    core.init_backend(limit=cast("Any", core).recommended)
    backend = core.get_keyring()
    module = type(backend).__module__
    if module.startswith(("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")):
        raise NoKeyringError
    return cast("Backend", backend)


def _has_bus() -> bool:
    """Whether there is a session bus, on which all keychains of Linux are reached."""
    place = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return "DBUS_SESSION_BUS_ADDRESS" in os.environ or os.path.lexists(f"{place}/bus")


def _names_backend() -> bool:
    """Whether the person told keyring which keychain to use."""
    place = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    chosen = "PYTHON_KEYRING_BACKEND" in os.environ
    return chosen or os.path.lexists(f"{place}/python_keyring/keyringrc.cfg")


def _status(error: BaseException) -> Status:
    # By name: the exceptions of keyring's backends are not all importable everywhere.
    names = {kind.__name__ for kind in type(error).__mro__}
    if "NoKeyringError" in names:
        return "none"
    if names & {"KeyringLocked", "InitError", "LockedException", "PromptDismissedException"}:
        return "locked"
    return "failed"
