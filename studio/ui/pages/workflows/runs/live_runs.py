"""Live runs: those that this window carries out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from studio.agent.engine import Engine
from studio.domain.jsonvalue import Json
from studio.domain.run_events import BreakpointSet
from studio.workflows.fork import ForkPlan
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

if TYPE_CHECKING:
    from studio.ui.pages.page import Run


class LiveRuns(QObject):
    """Begins runs, goes on with stored ones, and tells when something happens in one."""

    told = Signal(str)
    """The id of a run in which something happened, and is stored."""

    def __init__(self, engine: Engine, run: Run, parent: QObject) -> None:
        super().__init__(parent)
        self.runs = WorkflowRuns(engine)
        self._run = run
        self._runners: dict[str, Runner] = {}
        self._busy: set[str] = set()

    def runner(self, run_id: str) -> Runner | None:
        """The runner of a run that this window has claimed."""
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

    async def fork(self, plan: ForkPlan) -> str:
        """Begin a fork as planned, and return its id; raises StudioError."""
        runner = self._take(await self.runs.fork(plan))
        self._go_on(runner)
        return runner.run.id

    async def claim(self, run_id: str) -> Runner:
        """The runner of a run that has no end; raises StudioError if another program has it."""
        return self._runners.get(run_id) or self._take(await self.runs.open(run_id))

    async def resume(self, run_id: str, *, one: bool = False) -> None:
        """Go on with a run; with ``one`` only until another step would begin."""
        runner = await self.claim(run_id)
        await runner.resume(one=one)
        self._go_on(runner)

    async def answer(self, run_id: str, question: str, answer: Json) -> None:
        """Answer a question of a run, which goes on here if it does nowhere; raises StudioError."""
        if run_id not in self._runners:
            await self.resume(run_id)
            await asyncio.sleep(0)
        await (await self.claim(run_id)).answer(question, answer)

    async def hold(self, run_id: str, step: str) -> None:
        """Pause one step of a run, or let it go on."""
        runner = await self.claim(run_id)
        if step not in runner.run.held:
            await runner.hold(step)
            return
        await runner.release(step)
        if runner.run.paused is None:
            self._go_on(runner)

    async def stop(self, run_id: str) -> None:
        """End a run with all that belongs to it."""
        if (runner := self._runners.get(run_id)) is None:
            await self.runs.stop(run_id)
            self.told.emit(run_id)
            return
        await runner.stop()
        if run_id not in self._busy:
            await self._let_go(runner)

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
            await runner.carry_out()
        finally:
            self._busy.discard(runner.run.id)
            if runner.run.end is not None or runner.run.paused is None:
                await self._let_go(runner)

    async def _let_go(self, runner: Runner) -> None:
        if self._runners.pop(runner.run.id, None) is not None:
            await self.runs.close(runner)
            self.told.emit(runner.run.id)
