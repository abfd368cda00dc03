"""Run recorder: applies the events of a run, stores them, and tells who listens (W-15).

An event is applied at once, and on the disk before anything acts on it. So a run that was killed
goes on from its events.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import StudioError
from studio.domain.run_events import RunEvent, RunStarted, StepFinished
from studio.domain.runs import Run
from studio.storage.runs import NewRun, RunStore

from .breakpoints import stop_after
from .file_reads import FileReads
from .laid_desks import LaidDesks
from .plan import Plan
from .step_sessions import StepSessions
from .step_tasks import StepTasks

Listener: TypeAlias = Callable[[float, RunEvent], None]


class RunRecorder:
    """Records the events of one run; with the end of a try its session, run and desk are let go."""

    def __init__(
        self,
        store: RunStore,
        plan: Plan,
        run: Run,
        sessions: StepSessions,
        desks: LaidDesks,
        reads: FileReads,
        tasks: StepTasks,
        below: dict[str, Any],
    ) -> None:
        """``below`` are the runs of steps that are open here, by their ids."""
        self.plan, self.run = plan, run
        self.background = BackgroundTasks()
        """What records something, and is not waited for."""
        self._store, self._tasks = store, tasks
        self._sessions, self._desks, self._reads, self._below = sessions, desks, reads, below
        self._listeners: list[Listener] = []
        self._untold: set[asyncio.Future[None]] = set()
        """Ends of what is being recorded."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with the time of each event and the event; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def record(self, *events: RunEvent, below: Sequence[NewRun] = ()) -> Sequence[RunStarted]:
        """Apply events, and return when they are stored; then they are told.

        The runs ``below`` that they begin are stored with them.
        """
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._untold.add(told)
        try:
            return await self._record(events, below)
        finally:
            self._untold.discard(told)
            told.set_result(None)

    async def settled(self) -> None:
        """Return when all that was applied is stored and told."""
        while self._untold or len(self.background):
            if self._untold:
                await asyncio.wait(self._untold)
            await self.background.settled()

    async def _record(
        self, events: Sequence[RunEvent], below: Sequence[NewRun]
    ) -> Sequence[RunStarted]:
        known = await self._desks.with_changes(events)
        now = time.time()
        over: list[str] = []
        for event in known:
            self.run.apply(now, event)
            if isinstance(event, StepFinished):
                self._sessions.let_go((event.step, event.item))
                run_id = self.run.step(event.step, event.item).run_id
                if self._below.pop(run_id, None) is not None:
                    over.append(run_id)
        if (reached := stop_after(self.plan, self.run, known)) is not None:
            self.run.apply(now, reached)
            known.append(reached)
        runs = await self._store.append(self.run, now, known, below)
        await self._desks.put_away(known)
        for run_id in over:
            await self._store.release(run_id)
        if any(isinstance(event, StepFinished) for event in known):
            self._reads.forget()
        for event in known:
            for listener in tuple(self._listeners):
                listener(now, event)
        self._tasks.note_change()
        return runs

    def note(self, *events: RunEvent) -> None:
        """Record events in the background; if they cannot be stored, the run ends with that."""

        async def note() -> None:
            try:
                await self.record(*events)
            except StudioError as error:
                self._tasks.fail(error)

        self.background.start(note())
