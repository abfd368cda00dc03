"""Live runs: those that this window carries out, and what a person does to a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from studio.agent.engine import Engine
from studio.domain.agents import Caps
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.run_events import (
    TAKEN_OVER,
    BreakpointCleared,
    BreakpointSet,
    CapRaised,
    ResultEdited,
    RunSteered,
    StepEdited,
)
from studio.storage.runs import RunInUse
from studio.workflows.fork import ForkPlan
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

if TYPE_CHECKING:
    from studio.ui.pages.page import Run


class LiveRuns(QObject):
    """Begins runs, goes on with stored ones, and does to a run what the person commands.

    ``told`` says when something happens in one.
    """

    told = Signal(str)
    """The id of a run in which something happened, and is stored."""

    def __init__(self, engine: Engine, run: Run, parent: QObject) -> None:
        super().__init__(parent)
        self.runs = WorkflowRuns(engine)
        self._cluster = engine.paths.data / "cluster"
        self._run = run
        self._runners: dict[str, Runner] = {}
        """Those of the runs that are carried out here, and of one that something is done to."""
        self._busy: set[str] = set()
        """The runs that are carried out here."""
        self._claims = asyncio.Lock()
        """Held while a run is claimed and something is done to it, and while it is let go of."""

    def runner(self, run_id: str) -> Runner | None:
        """The runner of a run that this window carries out."""
        return self._runners.get(run_id)

    async def start(
        self,
        path: Path,
        folder: Path,
        options: RunOptions,
        breakpoints: Sequence[BreakpointSet] = (),
    ) -> str:
        """Begin a run and return its id; raises StudioError."""
        runner = await self.runs.start(path, folder, options)
        self._take(runner)
        for one in breakpoints:
            await runner.debug(one)
        self._go_on(runner)
        return runner.run.id

    async def drive(self, runner: Runner) -> None:
        """Carry out a run that something else began, until it is over or paused."""
        self._busy.add(runner.run.id)
        await self._carry_out(self._take(runner))

    async def fork(self, plan: ForkPlan) -> str:
        """Begin a fork as planned, and return its id; raises StudioError."""
        runner = self._take(await self.runs.fork(plan))
        self._go_on(runner)
        return runner.run.id

    @asynccontextmanager
    async def held(self, run_id: str) -> AsyncIterator[Runner]:
        """The runner of a run that has no end; raises StudioError if another program has it.

        Afterwards other programs may have the run, unless it is carried out here.
        """
        async with self._claims:
            runner = self._runners.get(run_id) or self._take(await self.runs.open(run_id))
            try:
                yield runner
            finally:
                await self._let_go(runner)

    async def resume(self, run_id: str, *, one: bool = False) -> None:
        """Go on with a run; with ``one`` only until another step would begin."""
        async with self.held(run_id) as runner:
            await runner.resume(one=one)
            self._go_on(runner)

    async def pause(self, run_id: str) -> None:
        """Pause a run that is carried out here."""
        if (runner := self._runners.get(run_id)) is not None:
            await runner.pause()

    async def raise_caps(
        self, run_id: str, caps: Caps, minutes: float, cycles: int, until: str
    ) -> None:
        """Give a run these limits, and go on with it."""
        async with self.held(run_id) as runner:
            await runner.raise_cap(caps, minutes=minutes, cycles=cycles, until=until)
        await self.resume(run_id)

    async def raise_reached(self, run_id: str, offered: CapRaised) -> None:
        """Double the cap that a run is paused at, also one of a run below it, and go on with it.

        Does nothing where that is not ``offered`` any more: the person is asked anew then.
        """
        async with self.held(run_id) as runner:
            offer = await self.runs.cap_offer(runner.run)
            if offer is None or offer.raised != offered:
                return
            await runner.grant(offered)
        await self.resume(run_id)

    async def retry_failed(self, run_id: str, step: str) -> None:
        """Do the failed items of a step once more."""
        async with self.held(run_id) as runner:
            await runner.retry_failed(step)
        await self.resume(run_id)

    async def steer(self, run_id: str, text: str) -> None:
        """Say something to who works on a mission, also in another program."""
        if (runner := self._runners.get(run_id)) is not None:
            await runner.steer(text)
        else:
            await self.runs.wish(run_id, RunSteered(text))
            self.told.emit(run_id)

    async def take_over(self, run_id: str) -> str:
        """Pause a mission; returns the id of its present session, which is a chat from now on."""
        async with self.held(run_id) as runner:
            await runner.pause(TAKEN_OVER)
            return await runner.as_chat()

    async def debug(
        self, run_id: str, event: BreakpointSet | BreakpointCleared | StepEdited | ResultEdited
    ) -> None:
        """Set or clear a breakpoint, or change a prompt or a result."""
        async with self.held(run_id) as runner:
            await runner.debug(event)

    async def answer(
        self, run_id: str, question: str, answer: Json, *, whole: bool = False
    ) -> None:
        """Answer a question of a run, which goes on here if it does nowhere; raises StudioError.

        One that is paused stays so. ``whole`` as in ``OpenRun.answer``.
        """
        async with self.held(run_id) as runner:
            if runner.run.paused is None and run_id not in self._busy:
                await runner.resume()
                self._go_on(runner)
                await asyncio.sleep(0)
            await runner.answer(question, answer, whole=whole)

    async def leave_out(self, run_id: str, question: str) -> None:
        """Leave out the item that asks this; the run goes on here if it does nowhere."""
        async with self.held(run_id) as runner:
            await runner.leave_out(question)
            if runner.run.paused is None and run_id not in self._busy:
                await runner.resume()
                self._go_on(runner)

    async def hold(self, run_id: str, step: str) -> None:
        """Pause one step of a run, or let it go on."""
        async with self.held(run_id) as runner:
            if step not in runner.run.held:
                await runner.hold(step)
                return
            await runner.release(step)
            if runner.run.paused is None:
                self._go_on(runner)

    async def stop(self, run_id: str) -> None:
        """End a run with all that belongs to it, also one that another program carries out."""
        if run_id in self._runners:
            async with self.held(run_id) as runner:
                await runner.stop()
        else:
            await self.runs.stop(run_id)
            self.told.emit(run_id)

    async def cluster(self, run_id: str) -> JsonObject | None:
        """How the cluster does that works on a run in another program; None if none does."""

        def look() -> JsonObject | None:
            from studio.workflows.cluster.control import status_of_run  # slow: certificates

            return status_of_run(self._cluster, run_id)

        return await asyncio.to_thread(look)

    async def delete(self, run_id: str) -> None:
        """Delete a run with its chats; raises RunInUse where it runs again by now."""
        if any(one.id == run_id and one.live for one in await self.runs.store.list(1, run_id)):
            raise RunInUse
        await self.runs.delete(run_id)

    async def close(self) -> None:
        """Let other programs carry out what has no end yet."""
        for runner in tuple(self._runners.values()):
            await self.runs.close(runner)
        self._runners.clear()

    def _take(self, runner: Runner) -> Runner:
        run_id = runner.run.id
        self._runners[run_id] = runner
        runner.subscribe(lambda at, event: self.told.emit(run_id))
        return runner

    def _go_on(self, runner: Runner) -> None:
        if runner.run.id not in self._busy:
            self._busy.add(runner.run.id)
            self._run(self._carry_out(runner))

    async def _carry_out(self, runner: Runner) -> None:
        try:
            while (run := await runner.carry_out()).end is None and run.paused is None:
                pass  # it was resumed while its pause began
        finally:
            self._busy.discard(runner.run.id)
            async with self._claims:
                await self._let_go(runner)

    async def _let_go(self, runner: Runner) -> None:
        """Let other programs have a run that is not carried out here: it can be stopped there."""
        run_id = runner.run.id
        if run_id not in self._busy and self._runners.pop(run_id, None) is not None:
            await self.runs.close(runner)
            self.told.emit(run_id)
