"""Supervised server: one MCP server that is started when needed, and again when it ends (M-6)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from studio.domain.aio import BackgroundTasks, settled
from studio.domain.records import dataclass
from studio.mcp.entries import ServerEntry
from studio.mcp.faults import FaultKind, NotSent, ServerFailed
from studio.mcp.lists import ServerLists
from studio.mcp.server_log import ServerLog

if TYPE_CHECKING:
    from studio.mcp.connection import Connection

Found = TypeVar("Found")
CALLS = 5
"""Calls of one server at a time (L-3)."""
RESTARTS = 5
"""How often in a row a server is started again, before it counts as failed."""
_PASSING: tuple[FaultKind, ...] = ("exited", "silent", "network")
"""Faults that may be gone at the next try."""
SIGN_IN: tuple[FaultKind, ...] = ("sign_in", "rights")
"""Faults after which the person has to sign in."""

StateKind: TypeAlias = Literal[
    "off",
    "idle",
    "starting",
    "running",
    "waiting",
    "sign_in",
    "signing_in",
    "failed",
    "withheld",
]
"""``idle``: it starts with the next call. ``waiting``: it ended, and is started again soon.
``sign_in``: the person has to sign in. ``signing_in``: they are at it, in their browser.
``withheld``: it changed since the person approved it."""


@dataclass(frozen=True, slots=True)
class ServerTimes:
    """Seconds. ``start``: a start may take so long. ``again``: the first wait before a server that
    ended is started again; each further wait is twice as long, up to ``longest``. ``steady``: one
    that ran so long counts as well again. ``idle``: one that nobody calls so long is ended."""

    start: float = 60.0
    again: float = 1.0
    longest: float = 60.0
    steady: float = 60.0
    idle: float = 600.0


@dataclass(frozen=True, slots=True)
class ServerState:
    """How a server is. ``since`` is a time of the system's clock, ``line`` the last of stderr."""

    kind: StateKind
    since: float = 0.0
    reason: str = ""
    tools: int = 0
    line: str = ""
    fault: ServerFailed | None = None


class SupervisedServer:
    """One server, for all chats or for one folder. Belongs to the event loop.

    ``connect`` connects it or raises ServerFailed; ``tell`` is called when its state or its lists
    change.
    """

    def __init__(
        self,
        entry: ServerEntry,
        folder: Path | None,
        log: ServerLog,
        connect: Callable[[SupervisedServer], Awaitable[Connection]],
        tell: Callable[[], object],
        times: ServerTimes,
    ) -> None:
        self.entry = entry
        self.folder = folder
        self.log = log
        self._connect = connect
        self._tell = tell
        self._times = times
        self._state = ServerState("idle", time.time())
        self._connection: Connection | None = None
        self._starting: asyncio.Task[Connection] | None = None
        self._hurry = asyncio.Event()
        self._closed = False
        self._failures = 0
        self._fault: ServerFailed | None = None
        self._not_before = 0.0
        self._ran_since = 0.0
        self._calls = asyncio.Semaphore(1 if entry.alone else CALLS)
        self._open_calls = 0
        self._idle: asyncio.TimerHandle | None = None
        self._tasks = BackgroundTasks()

    @property
    def state(self) -> ServerState:
        return replace(self._state, line=self.log.last)

    @property
    def lists(self) -> ServerLists | None:
        """What it offers; None while it is not connected."""
        return self._connection.lists if self._connection else None

    @property
    def roots(self) -> bool:
        """Whether it asked for the folder."""
        return self._connection is not None and self._connection.asked_for_roots

    def forgive(self) -> None:
        """Forget earlier failures: the person wants it to start now."""
        self._failures, self._fault, self._not_before = 0, None, 0.0
        self._hurry.set()

    async def connection(self) -> Connection:
        """The connection; starts the server if need be. Raises ServerFailed."""
        if self._closed:
            raise ServerFailed("off", f"The server {self.entry.name} was stopped.")
        if self._connection is not None:
            return self._connection
        if self._starting is None:
            now = asyncio.get_running_loop().time()
            if self._fault and (self._failures > RESTARTS or now < self._not_before):
                raise self._fault
            self._start(again=False)
        assert self._starting is not None
        starting = self._starting
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            if not starting.cancelled():
                raise
            raise ServerFailed("off", f"The server {self.entry.name} was stopped.") from None

    async def use(self, work: Callable[[Connection], Awaitable[Found]]) -> Found:
        """Do ``work`` with the connection; raises ToolFailed.

        Its time begins when it need not wait for others.
        """
        self._open_calls += 1
        self._stay()
        try:
            async with self._calls:
                try:
                    found = await work(await self.connection())
                except NotSent:
                    found = await work(await self.connection())
            if self._fault is not None and self._fault.kind == "sign_in":
                self._fault = None  # another program's sign-in holds for this one, too
                self._listed()
            return found
        except ServerFailed as error:
            self.note(error)
            raise
        finally:
            self._open_calls -= 1
            self._stay()

    def note(self, error: ServerFailed) -> None:
        """Show that the person has to sign in, if that is what is wrong; it stays connected."""
        if error.kind in SIGN_IN and self._connection is not None:
            self._fault = error
            self._set("sign_in", str(error))

    async def close(self) -> None:
        """End it for good; returns when that is done, also if cancelled."""
        self._closed = True
        starting, self._starting = self._starting, None
        connection, self._connection = self._connection, None
        if self._idle is not None:
            self._idle.cancel()
        if starting is not None:
            starting.cancel()
            await settled(starting)
        if connection is not None:
            await self._tasks.run(connection.close())
        await self._tasks.settled()
        if self._state.kind != "failed":
            self._set("idle")

    def _start(self, *, again: bool) -> None:
        self._starting = asyncio.ensure_future(self._bring_up(again))
        self._starting.add_done_callback(_seen)

    async def _bring_up(self, again: bool) -> Connection:
        """Connect once; ``again``: it ran before, so more tries follow."""
        try:
            await self._wait()
            self._set("starting")
            connection = await self._connect(self)
        except ServerFailed as error:
            self._starting = None
            self._failed(error, again)
            raise
        except asyncio.CancelledError:
            self._starting = None
            raise
        except Exception as error:
            self._starting = None
            failed = ServerFailed("protocol", f"The server {self.entry.name} does not start.")
            self._failed(failed, again=False)
            raise failed from error
        self._starting, self._connection = None, connection
        connection.on_end, connection.on_lists = self._ended, self._listed
        self._ran_since = asyncio.get_running_loop().time()
        self._fault = None
        self._listed()
        self._stay()
        return connection

    async def _wait(self) -> None:
        left = self._not_before - asyncio.get_running_loop().time()
        if left <= 0:
            return
        reason = str(self._fault or "")
        self._set("waiting", reason)
        self._hurry.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), left)

    def _ended(self, fault: ServerFailed) -> None:
        """It ended though nobody wanted that."""
        self._connection = None
        if asyncio.get_running_loop().time() - self._ran_since >= self._times.steady:
            self._failures = 0
        self._failed(fault, again=True)

    def _failed(self, fault: ServerFailed, again: bool) -> None:
        self._fault = fault
        self._failures += 1
        wait = min(self._times.again * 2 ** (self._failures - 1), self._times.longest)
        self._not_before = 0.0
        if fault.kind in _PASSING:
            self._not_before = asyncio.get_running_loop().time() + wait
            if again and self._failures <= RESTARTS:
                self._set("waiting", str(fault))
                self._start(again=True)
                return
        self._set("sign_in" if fault.kind in SIGN_IN else "failed", str(fault))

    def _listed(self) -> None:
        self._set("running")

    def _set(self, kind: StateKind, reason: str = "") -> None:
        since = self._state.since if self._state.kind == kind else time.time()
        tools = len(self._connection.lists.tools) if self._connection else 0
        fault = self._fault if reason else None
        self._state = ServerState(kind, since, reason, tools, fault=fault)
        self._tell()

    def _stay(self) -> None:
        """It is ended when nobody has called it for long, unless it starts with the program."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._connection and not self._open_calls and self.entry.starts == "call":
            self._idle = asyncio.get_running_loop().call_later(self._times.idle, self._let_go)

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._tasks.start(connection.close())
            self._set("idle")


def _seen(task: asyncio.Task[Connection]) -> None:
    """Whoever waits for a start is told its error; if nobody does, the state says it."""
    if not task.cancelled():
        task.exception()
