"""Trigger clock: begins the runs of triggers while a program is open (W-9).

Several programs with the same data have a clock each: the one that claims a time in the database
begins its run. With nothing switched on a clock reads one empty table a minute.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from studio.agent.engine import Engine
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, StudioError, ToolFailed
from studio.domain.run_events import Trigger
from studio.domain.workflows import Workflow, WorkflowTrigger
from studio.storage.runs import RunStore
from studio.storage.snapshots.file_changes import FileChangeStore
from studio.storage.triggers import TriggerMark, TriggerStore

from .reader import digest_of, read_workflow_text
from .run_files import read_text
from .runner import Runner
from .triggers import day_of, is_due, last_time, next_time
from .watched_files import WatchedFiles, are_own, look_at
from .workflow_runs import RunOptions, WorkflowRuns

LONGEST = 60.0
"""Seconds after which a clock looks in any case: the computer may have slept, and another program
may have switched something on."""
QUIET = 2.0
"""Seconds in which no watched file changes before a run begins, and between two looks at them."""
SHARE = 50
"""A look at files that takes a second is made again after this many: no more work than 2 %."""
ENDED = "The program ended."

Begin: TypeAlias = Callable[[Path, Path, RunOptions], Awaitable[object]]
"""Begins a run of a file in a folder, and returns when it is under way."""


class Triggers:
    """Switches triggers on and off; only the person does that."""

    def __init__(self, engine: Engine, now: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._now = now
        self._runs = WorkflowRuns(engine)
        self.store = TriggerStore(engine.database)

    async def switch_on(self, path: Path, folder: Path) -> Workflow:
        """Let the triggers of a file begin runs in a folder, as long as the file stays as it is.

        Raises ConfigurationError for a file with mistakes, without a trigger or with inputs that
        somebody has to give, and for a file of a folder that is not trusted.
        """
        path, folder = await asyncio.to_thread(lambda: (path.resolve(), folder.resolve()))
        text = await asyncio.to_thread(read_text, path)
        workflow = await self._runs.files.checked(text, path.stem, str(path), folder)
        if not workflow.triggers:
            raise ConfigurationError(f"{path} has no “triggers”.")
        await self._runs.files.inputs(workflow, {}, folder, "manual")
        if not await self.trusts(path, folder):
            raise ConfigurationError(
                f"You do not trust {folder}, so its files begin nothing by themselves. Look at "
                "them, then: agent-studio permissions trust"
            )
        now = self._now()
        marks = [
            TriggerMark(
                *(str(path), str(folder), number, workflow.digest, now),
                (await asyncio.to_thread(look_at, folder, one.change)).digest if one.change else "",
            )
            for number, one in enumerate(workflow.triggers)
        ]
        await self.store.switch_on(marks)
        await asyncio.to_thread(self._engine.questions.notifier.notify)
        return workflow

    async def switch_off(self, path: Path, folder: Path) -> bool:
        """False if nothing was on."""
        path, folder = await asyncio.to_thread(lambda: (path.resolve(), folder.resolve()))
        return await self.store.switch_off(str(path), str(folder))

    async def marks(self, path: Path, folder: Path) -> dict[int, TriggerMark]:
        """What is switched on of a file, by the place in the file."""
        wanted = str(path.resolve()), str(folder.resolve())
        found = await self.store.all()
        return {one.number: one for one in found if (one.source, one.folder) == wanted}

    async def trusts(self, path: Path, folder: Path) -> bool:
        """Whether a file may begin runs: it is the person's own, or of a folder they trust."""
        paths = self._engine.paths
        own = (paths.workflows.resolve(), (paths.resources / "workflows").resolve())
        if any(path.is_relative_to(place) for place in own):
            return True
        return await self._engine.rules.trusted(folder) == "trusted"


def describe_trigger(trigger: WorkflowTrigger, mark: TriggerMark | None, now: float) -> str:
    """A trigger in a line; ``mark`` is its own if it is on."""
    what = f"{trigger.schedule}  {trigger.zone}".rstrip()
    if trigger.change:
        what = f"change of {', '.join(trigger.change)}"
    if mark is None:
        return f"off  {what}"
    begun = f"{mark.begun_on(day_of(trigger, now))} of {trigger.per_day} runs today"
    if trigger.change:
        return f"on   {what}  {begun}"
    at = next_time(trigger, now)
    following = datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if at < math.inf else "never"
    return f"on   {what}  next {following}, {begun}"


@dataclass(slots=True)
class _Watch:
    """What this program saw of a trigger's files.

    ``decided`` is what they were like when it was last decided on them, None where that was before
    the program began. They have been like ``seen`` since ``since``.
    """

    decided: WatchedFiles | None
    seen: WatchedFiles
    since: float


class TriggerClock:
    """Looks which triggers are due, and has their runs begun."""

    def __init__(self, engine: Engine, begin: Begin, now: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._begin = begin
        self._now = now
        self._triggers = Triggers(engine, now)
        self._store = self._triggers.store
        self._read: dict[tuple[str, str], Workflow] = {}
        """The workflows that are on, by source and digest."""
        self._watches: dict[tuple[str, str, int], _Watch] = {}
        self._changes = FileChangeStore(engine.database)
        self._runs = RunStore(engine.database)

    async def follow(self) -> None:
        """Look whenever something may be due, until it is cancelled."""
        while True:
            wait = LONGEST
            try:
                wait = await self.look()
            except StudioError as error:  # the database is busy or full: the next look may do
                self._engine.services.report_problem(str(error))
            await asyncio.sleep(wait)

    async def look(self) -> float:
        """Begin what is due now; returns after how many seconds to look again."""
        now, ahead = self._now(), LONGEST
        marks = await self._store.all()
        await self._read_files(marks)
        for mark in marks:
            workflow = self._read.get((mark.source, mark.digest))
            if workflow is None:
                continue
            trigger = workflow.triggers[mark.number]
            if trigger.change:
                ahead = min(ahead, await self._look_at_files(mark, trigger, now))
                continue
            at = last_time(trigger, now)
            if at > mark.seen:
                await self._time_came(mark, trigger, at, now)
            ahead = min(ahead, next_time(trigger, now) - now)
        return max(ahead, 0.0)

    async def _time_came(
        self, mark: TriggerMark, trigger: WorkflowTrigger, at: float, now: float
    ) -> None:
        if not is_due(trigger, at, now):
            await self._store.advance(mark, at)
        elif await self._store.claim(mark, at, "", day_of(trigger, now), trigger.per_day):
            await self._begin_run(mark, "schedule")

    async def _look_at_files(
        self, mark: TriggerMark, trigger: WorkflowTrigger, now: float
    ) -> float:
        """Begin a run if files changed, and have been quiet since; after how long to look again.

        What agents write begins none: so no workflow begins itself.
        """
        folder, key = Path(mark.folder), (mark.source, mark.folder, mark.number)
        try:
            found = await asyncio.to_thread(look_at, folder, trigger.change)
        except ToolFailed:  # as on a disk that is away
            return LONGEST
        pause = max(QUIET, found.seconds * SHARE)
        if found.digest == mark.files:
            self._watches[key] = _Watch(found, found, now)
            return pause
        watch = self._watches.setdefault(key, _Watch(None, found, now))
        if watch.seen.digest != found.digest:
            watch.seen, watch.since = found, now
        if now - watch.since < QUIET:
            return QUIET - (now - watch.since)
        if await self._is_at_work(mark):
            return pause
        before, watch.decided = watch.decided, found
        own = before and await are_own(self._changes, folder, found.differing(before))
        day = day_of(trigger, now)
        if own or not is_due(trigger, now if before else found.newest, now):
            await self._store.advance(mark, now, found.digest)
        elif await self._store.claim(mark, now, found.digest, day, trigger.per_day):
            await self._begin_run(mark, "change")
        return pause

    async def _is_at_work(self, mark: TriggerMark) -> bool:
        """Whether a run of the same file works in the folder: what it writes is not known yet."""
        runs = await self._runs.list(source=mark.source)
        return any(
            one.live and one.state == "running" and one.folder == mark.folder for one in runs
        )

    async def _begin_run(self, mark: TriggerMark, trigger: Trigger) -> None:
        path, folder = Path(mark.source), Path(mark.folder)
        try:
            if not await self._triggers.trusts(path, folder):
                await self._switch_off(mark, "you do not trust its folder any more")
                return
            options = RunOptions({}, trigger=trigger, digest=mark.digest)
            await self._begin(path, folder, options)
        except StudioError as error:
            self._tell(f"No run of {mark.source} was begun. {error}")

    async def _read_files(self, marks: list[TriggerMark]) -> None:
        """Read the files of the marks, and switch off those that were edited.

        Of a file that is not there, as on a disk that is away, nothing is due.
        """
        before, self._read = self._read, {}
        for mark in marks:
            key = (mark.source, mark.digest)
            if key in self._read:
                continue
            try:
                text = await asyncio.to_thread(read_text, Path(mark.source))
            except ConfigurationError:
                continue
            known = before.get(key)
            found = known if known and known.digest == digest_of(text) else await _read(text)
            if found is not None and found.digest == mark.digest:
                self._read[key] = found
            else:
                await self._switch_off(mark, "the file was changed")

    async def _switch_off(self, mark: TriggerMark, why: str) -> None:
        if await self._store.switch_off(mark.source, mark.folder, mark.digest):
            self._tell(
                f"The triggers of {mark.source} are off: {why}. "
                "To switch them on again: agent-studio workflow triggers FILE on"
            )

    def _tell(self, text: str) -> None:
        self._engine.services.report_problem(escape_line(text, 1_000))


async def _read(text: str) -> Workflow | None:
    return (await asyncio.to_thread(read_workflow_text, text)).workflow


class UnattendedRuns:
    """Carries out runs where no window does: what needs a yes waits for the person."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runs = WorkflowRuns(engine)
        self._tasks = BackgroundTasks()

    async def begin(self, path: Path, folder: Path, options: RunOptions) -> None:
        """Begin a run, which goes on in the background."""
        runner = await self._runs.start(path, folder, options)
        runner.attended = False
        self._tasks.start(self._carry_out(runner))

    async def _carry_out(self, runner: Runner) -> None:
        try:
            await runner.carry_out()
        except asyncio.CancelledError:
            with suppress(StudioError):
                await runner.pause(ENDED)
            raise
        except StudioError as error:
            self._engine.services.report_problem(str(error))
        finally:
            await self._runs.close(runner)

    async def settled(self) -> None:
        """Return when no run is under way."""
        await self._tasks.settled()

    async def close(self) -> None:
        """Pause the runs that are under way, so that the person can go on with them."""
        await self._tasks.aclose()
