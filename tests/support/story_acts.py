"""What happens to a turn of a story while it runs, at the very moment it was told to."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from studio.domain.errors import StudioError
from studio.domain.events import Event
from support.story_steps import Act

if TYPE_CHECKING:
    from support.story_runner import StoryRunner


class StoryActs:
    """The acts of one turn."""

    def __init__(self, world: StoryRunner, acts: Sequence[Act]) -> None:
        self.world = world
        self.pending = list(acts)
        self.asked = len(world.simulator.requests)
        self.seen: dict[str, int] = {"": 0}
        self.tasks: list[asyncio.Task[None]] = []
        self.left = self.quit = False
        self.snapshot: Path | None = None

    def sees(self, event: Event | None) -> bool:
        """Take an event, None at the start; returns whether the reader leaves now."""
        if event is not None:
            self._count("")
            self._count(type(event).__name__)
        self._look(at_all=event is not None)
        return self.left

    def asks(self, kind: str) -> None:
        """A request has arrived at the provider."""
        self._count(kind)
        self._look(at_all=False)

    def _count(self, kind: str) -> None:
        self.seen[kind] = self.seen.get(kind, 0) + 1

    def _look(self, *, at_all: bool) -> None:
        for act in list(self.pending):
            stalled = act.on == "stalled"
            if stalled or self.seen.get(act.on, 0) >= act.nth + bool(act.on):
                self.pending.remove(act)
                if act.what == "leave":
                    self.left = at_all
                elif not stalled and not act.later:
                    self.do(act)
                else:
                    self.tasks.append(asyncio.create_task(self.later(act)))

    async def later(self, act: Act) -> None:
        simulator = self.world.simulator
        if act.on == "stalled":
            await simulator.wait_requests(self.asked + 1)
            await simulator.requests[-1].stalled.wait()
        if act.later > 10:
            await asyncio.sleep((act.later - 10) / 1000)
        else:
            for _ in range(act.later):
                await asyncio.sleep(0)
        self.do(act)

    def do(self, act: Act) -> None:
        with suppress(StudioError):  # it may be closed by now
            self._do(act)

    def _do(self, act: Act) -> None:
        world = self.world
        session = world.session
        match act.what:
            case "stop":
                session.stop()
            case "try_now":
                session.try_now()
            case "steer":
                session.steer(session.queue.add([world.said(act.kind)]))
            case "queue":
                session.queue.add([world.said(act.kind)])
            case "unqueue":
                world.unqueue()
            case "approve" | "undo":
                self.tasks.append(asyncio.create_task(world.decide(act.what)))
            case "quit" if not self.quit:
                self.quit = True
                self.tasks.append(asyncio.create_task(world.engine.close()))
            case "crash":
                self.snapshot = snapshot(world)
            case "quit" | "leave":
                pass

    async def over(self) -> None:
        """The turn is over: what did not happen yet does not happen any more."""
        closing = [task for task in self.tasks if self.quit]
        for task in self.tasks:
            if task not in closing:
                task.cancel()
        for error in await asyncio.gather(*self.tasks, return_exceptions=True):
            if isinstance(error, Exception) and not isinstance(error, StudioError):
                raise error


def snapshot(world: StoryRunner) -> Path:
    """The database as a crash at this moment would leave it."""
    copy = world.engine.paths.database.with_name("crashed.db")
    with (
        closing(sqlite3.connect(world.engine.paths.database)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    world.kept = world.rows
    return copy
