"""Language servers: keeps those of chats, from the first edit of such a file on (C-11)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from studio.domain.aio import BackgroundTasks
from studio.domain.records import dataclass
from studio.processes.command_start import start_command
from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox
from studio.processes.sandbox_mounts import Launch
from studio.tools.workspace.listing import list_names

from .connection import ServerGone
from .known_servers import ServerProgram, find_server
from .language_server import LanguageServer

SECONDS = 2.0
"""How long an edit waits for a server."""
MOST = 4
"""Servers that run at a time; one more ends that which was used longest ago."""
IDLE = 600.0
"""Seconds after the last question after which a server is ended."""
STARTS = 2
"""How often one that ends by itself is begun in a chat."""
BEGINS = 60.0
"""Seconds after which one that has not begun is given up."""
_MOST_FILES = 5_000
_LISTING = 0.3  # s


@dataclass(frozen=True, slots=True)
class Texts:
    """A file as it was before a change, or None, and after it; ``others`` are those of the
    drafts that wait besides, by name."""

    name: str
    before: str | None
    after: str
    others: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(eq=False, slots=True)
class _Kept:
    """A server that was begun for a chat, by its program and where it works."""

    key: tuple[str, ServerProgram, Path]
    starts: int = 0
    server: LanguageServer | None = None
    """None also while it begins."""
    beginning: asyncio.Task[None] | None = None
    times: Mapping[str, int] | None = None
    """When the folder's files were changed, as it knows them."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class LanguageServers:
    """The language servers of all chats; belongs to one event loop.

    ``own`` gives the person's servers, by patterns of names. A server is begun in the sandbox
    at the first question. No question waits longer than ``seconds``: what begins goes on
    beginning, and who does not answer is left alone until it does.
    """

    def __init__(
        self,
        own: Callable[[], Mapping[str, Sequence[str]]],
        seconds: float = SECONDS,
        idle: float = IDLE,
    ) -> None:
        self._own = own
        self.seconds, self.idle = seconds, idle
        self._kept: dict[tuple[str, ServerProgram, Path], _Kept] = {}
        self._tasks = BackgroundTasks()
        self._endings = BackgroundTasks()
        """Of servers that were lost; nothing cancels them, so that no process stays."""
        self._sweeping: asyncio.Task[None] | None = None

    def running(self, chat: str = "") -> list[LanguageServer]:
        """Those of a chat, or all."""
        return [server for _, server in self._running(chat)]

    async def findings(
        self, chat: str, texts: Texts, launch: Launch, sandbox: Sandbox, keeper: Keeper
    ) -> tuple[list[str], list[str]] | None:
        """What a server says of a file after a change and before it; None if none can say it
        now. What was before is asked only if there is something after.

        ``launch`` says where and with which environment a server runs, without its command.
        """
        path = launch.environment.get("PATH", os.defpath)
        find = partial(find_server, texts.name, launch.folder, path, self._own())
        program = await asyncio.to_thread(find)
        if program is None:
            return None
        disk = launch.folder if launch.desk is None else launch.desk.root
        key = (chat, program, disk)
        kept = self._kept.setdefault(key, _Kept(key))
        if kept.turn.locked():  # another edit of this chat asks
            return None
        async with kept.turn:
            with suppress(TimeoutError, ServerGone, LookupError):
                async with asyncio.timeout(self.seconds):
                    server = await self._server(kept, launch, sandbox, keeper)
                    return None if server is None else await _ask(kept, server, texts)
        return None

    async def end(self, chat: str = "") -> None:
        """End the servers of a chat, or all."""
        ours = [one for one in self._kept.values() if chat in ("", one.key[0])]
        await asyncio.gather(*(self._tasks.run(self._end(one)) for one in ours))
        if not chat:
            await self._tasks.aclose()
        await self._endings.settled()

    def _running(self, chat: str = "") -> list[tuple[_Kept, LanguageServer]]:
        return [
            (one, one.server)
            for one in self._kept.values()
            if chat in ("", one.key[0]) and one.server is not None and one.server.running
        ]

    async def _server(
        self, kept: _Kept, launch: Launch, sandbox: Sandbox, keeper: Keeper
    ) -> LanguageServer | None:
        """The server, which is begun if it does not run; None if it cannot be asked now."""
        if kept.server is not None and kept.server.running:
            return None if kept.server.busy else kept.server
        if kept.beginning is not None and not kept.beginning.done():  # since an earlier edit
            return None
        if kept.starts >= STARTS:
            return None
        kept.starts += 1
        kept.server = None
        kept.beginning = self._tasks.start(self._begin(kept, launch, sandbox, keeper))
        await asyncio.shield(kept.beginning)
        return kept.server

    async def _begin(self, kept: _Kept, launch: Launch, sandbox: Sandbox, keeper: Keeper) -> None:
        """Begin a server; where that fails there is none."""
        running = sorted(self._running(), key=lambda pair: pair[1].used)
        for other, _ in running[: max(0, len(running) - MOST + 1)]:
            await self._end(other)
        launch = replace(launch, command=kept.key[1].line)
        with suppress(OSError):
            command = await start_command(
                launch, sandbox=sandbox, keeper=keeper, stdin="pipe", errors="lost"
            )
            server = LanguageServer(command, launch.folder, self._lost)
            try:
                async with asyncio.timeout(BEGINS):
                    kept.times = await asyncio.to_thread(_times, kept.key[2])
                    await server.begin()
            except (TimeoutError, ServerGone, LookupError):
                await server.end()
            except BaseException:
                await asyncio.shield(server.end())
                raise
            else:
                kept.server = server
                if self._sweeping is None or self._sweeping.done():
                    self._sweeping = self._tasks.start(self._sweep())

    def _lost(self, server: LanguageServer) -> None:
        """It may run on, though it broke the protocol or stopped reading."""
        self._endings.start(server.end())

    async def _end(self, kept: _Kept) -> None:
        self._kept.pop(kept.key, None)
        if kept.beginning is not None and not kept.beginning.done():
            kept.beginning.cancel()
            await asyncio.wait([kept.beginning])
        if kept.server is not None:
            await kept.server.end()

    async def _sweep(self) -> None:
        """End what nobody asked for long, until no server runs."""
        while running := self._running():
            left = min(server.used for _, server in running) + self.idle - time.monotonic()
            if left > 0:
                await asyncio.sleep(left)
            for kept, server in self._running():
                if server.used + self.idle <= time.monotonic():
                    await self._end(kept)


async def _ask(kept: _Kept, server: LanguageServer, texts: Texts) -> tuple[list[str], list[str]]:
    times = await asyncio.to_thread(_times, kept.key[2])
    if times is not None and kept.times is not None:
        server.changed(kept.times, times)
    kept.times = times
    server.show({**texts.others, texts.name: texts.after})
    after = await server.findings(texts.name)
    if not after or texts.before is None:
        return after, []
    server.show({**texts.others, texts.name: texts.before})
    return after, await server.findings(texts.name)


def _times(folder: Path) -> dict[str, int] | None:
    """When the files of a folder were changed; None if it has too many. Blocks."""
    until = time.monotonic() + _LISTING
    names = list_names(folder, _MOST_FILES, _LISTING)
    if len(names) >= _MOST_FILES or time.monotonic() >= until:
        return None
    found: dict[str, int] = {}
    for name in names:
        if not name.endswith("/"):
            with suppress(OSError):
                found[name] = (folder / name).stat().st_mtime_ns
    return found
