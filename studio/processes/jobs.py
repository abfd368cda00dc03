"""Jobs: commands that go on in the background of a chat, each with what it printed (C-13)."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import field

from studio.domain.aio import BackgroundTasks
from studio.domain.drafts import FileDraft
from studio.domain.records import dataclass

from .desk import Desk
from .shell_command import ShellCommand, last_states

MOST = 8
"""Jobs that run in one chat."""
PATIENCE = 60.0
"""Seconds after which a command goes on in the background."""
SETTLES = 1.0
"""Seconds in which a command that goes to the background at once may still fail to begin."""
IDLE = 1800.0
"""Seconds after the last look at a job at which it is ended and forgotten."""


@dataclass(eq=False, slots=True)
class Job:
    """A command of a chat; ``line`` is its text. It is a job once it is in the ``background``.

    ``desk`` is the copy of the folder that it works on, if it does, with ``drafts`` in it.
    ``network``: it asked for the network; ``held``: it began in a sandbox that keeps it from there.
    """

    chat: str
    call_id: str
    line: str
    command: ShellCommand
    network: bool = False
    desk: Desk | None = None
    drafts: Sequence[FileDraft] = ()
    held: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:4])
    began: float = field(default_factory=time.time)
    background: bool = False
    released: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the person sends it to the background."""
    looked: float = field(default_factory=time.monotonic)
    read: int = 0
    """How far the agent has read its output."""
    closing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by who takes over what it wrote after its end."""

    @property
    def output(self) -> str:
        """What it printed so far, as a terminal shows it."""
        return last_states(self.command.output.since()[0]).rstrip("\n")

    def news(self) -> str:
        """What it printed since the agent looked last."""
        text, self.read = self.command.output.since(self.read)
        self.looked = time.monotonic()
        return text


class Jobs:
    """The running commands of all chats, and the jobs that ended and were not looked at.

    Belongs to one event loop. Seconds: see above.
    """

    def __init__(
        self, patience: float = PATIENCE, settles: float = SETTLES, idle: float = IDLE
    ) -> None:
        self.patience, self.settles, self.idle = patience, settles, idle
        self._commands: list[Job] = []
        self._tasks = BackgroundTasks()
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call ``listener`` soon with a chat whose list of jobs changed; returns what ends that.

        One that fails is reported by the event loop, and hurts no command.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def of(self, chat: str = "") -> list[Job]:
        """The jobs of a chat or all, also ended ones that the agent has not looked at.

        The oldest is first.
        """
        return [one for one in self._commands if chat in ("", one.chat) and one.background]

    def running(self, chat: str = "") -> list[Job]:
        """The jobs of a chat or all that run."""
        return [one for one in self.of(chat) if one.command.running]

    def full(self, chat: str) -> bool:
        """Whether no more jobs may run in a chat."""
        return len(self.running(chat)) >= MOST

    def add(self, job: Job) -> Job:
        """Take a command, which is not in the background yet."""
        while any(one.id == job.id for one in self._commands):
            job.id = uuid.uuid4().hex[:4]
        self._commands.append(job)
        return job

    def awaited(self, chat: str) -> list[Job]:
        """The commands of a chat that its agent waits for: no jobs yet."""
        return [one for one in self._commands if one.chat == chat and not one.background]

    def release(self, chat: str, call_id: str = "") -> bool:
        """Send the awaited commands to the background, or that of one call; False if none can."""
        found = [one for one in self.awaited(chat) if call_id in ("", one.call_id)]
        if self.full(chat):
            return False
        for job in found:
            job.released.set()
        return bool(found)

    def interrupt(self, chat: str, call_id: str) -> bool:
        """Begin to end the command that a call waits for; False if there is none."""
        found = [one for one in self.awaited(chat) if one.call_id == call_id]
        for job in found:
            self._tasks.start(job.command.end())
        return bool(found)

    def keep(self, job: Job) -> bool:
        """Let a command go on in the background; False if too many do."""
        if self.full(job.chat):
            job.released.clear()
            return False
        job.background = True
        self._tasks.start(self._watch(job))
        self._tell(job.chat)
        return True

    async def forget(self, job: Job) -> None:
        """End a command, and remove all that is left of it."""
        if job in self._commands:
            self._commands.remove(job)
        try:
            await job.command.end()
        finally:
            if (desk := job.desk) is not None:
                job.desk = None
                await asyncio.shield(asyncio.to_thread(desk.remove))
            self._tell(job.chat)

    async def stop(self, job: Job) -> None:
        """End a job; the agent can still look at what it printed."""
        await job.command.end()
        self._tell(job.chat)

    async def end(self, chat: str = "") -> None:
        """End and forget the commands of a chat, or all."""
        ours = [one for one in self._commands if chat in ("", one.chat)]
        await asyncio.gather(*(self._tasks.run(self.forget(one)) for one in ours))
        if not chat:
            await self._tasks.aclose()

    async def _watch(self, job: Job) -> None:
        """Tell when a job has ended, and forget it when nobody has looked at it for long."""
        ended = False
        while job in self._commands:
            left = job.looked + self.idle - time.monotonic()
            if left <= 0:
                await self.forget(job)
            elif ended:
                await asyncio.sleep(left)
            elif await job.command.wait(left):
                ended = True
                self._tell(job.chat)

    def _tell(self, chat: str) -> None:
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.call_soon(listener, chat)
