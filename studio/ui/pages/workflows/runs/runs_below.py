"""Runs below: what is known of the runs of a run's steps, and what of them is unfolded (W-62).

While some are unfolded, their bars and rows stand among those of the run itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.errors import StudioError
from studio.domain.run_events import RunEvent
from studio.domain.runs import Run
from studio.ui.graph.nodes import Graph
from studio.ui.pages.workflows.files_below import FilesBelow
from studio.ui.pages.workflows.nested_graph import can_unfold, nested
from studio.ui.pages.workflows.run_graph import graph_of_run
from studio.workflows.child_runs import MOST_DEEP
from studio.workflows.expressions import as_words
from studio.workflows.workflow_runs import WorkflowRuns

from .lanes import Lanes
from .log_rows import LogRow
from .run_record import RunRecord


class RunsBelow:
    """The runs below one run by the paths of their steps; one that has not begun has no events."""

    def __init__(self, runs: WorkflowRuns) -> None:
        self._runs = runs
        self._files = FilesBelow(runs.files)
        self._reads = asyncio.Lock()
        self._chosen: dict[str, set[str]] = {}
        """The steps that the person unfolded, by the file of the run: also for its other runs."""
        self._top: RunRecord | None = None
        self._below: dict[str, RunRecord | None] = {}
        """None for a workflow that cannot be read."""
        self._items: dict[str, str] = {}
        """The items whose runs are shown, by the path of their step."""
        self._picked: set[str] = set()
        """The steps of which the person chose the item."""
        self._merged: dict[str, str] = {}
        """The runs whose bars and rows are in ``lanes`` and ``log``, by path."""
        self._taken: dict[str, tuple[int, int]] = {}
        """How many events and rows of each of them are there."""
        self.lanes: Lanes | None = None
        self.log: list[LogRow] = []

    def show(self, record: RunRecord) -> None:
        """Begin with another run."""
        self._top, self._below, self._merged = record, {}, {"": record.run.id}
        self._items, self._picked = {}, set()
        self.lanes, self.log = record.lanes, record.log

    @property
    def unfolded(self) -> set[str]:
        started = self._top.run.started if self._top is not None else None
        return self._chosen.setdefault(started.source if started is not None else "", set())

    def toggle(self, path: str) -> None:
        """Unfold or fold a step; ``read`` then reads what is missing."""
        self.unfolded.symmetric_difference_update({path})

    def pick(self, path: str, item: str) -> bool:
        """Show the run of this item inside of a step; whether that is another one than before."""
        if path not in self.unfolded or not item or self._items.get(path) == item:
            return False
        self._items[path] = item
        self._picked.add(path)
        return True

    def _item(self, path: str, run: Run, step: str) -> str:
        """The item whose run is shown inside of a step: the person's, or one that moves."""
        keys = run.items.get(step, {})
        shown = self._items.get(path, "")
        if path in self._picked or (shown in keys and not run.step(step, shown).over):
            return shown
        begun = [key for key in keys if run.step(step, key).run_id]
        moving = (key for key in begun if not run.step(step, key).over)
        failed = (key for key in begun if run.step(step, key).state == "failed")
        found = next(moving, shown if shown in keys else next(failed, next(iter(begun), "")))
        self._items[path] = found
        return found

    def of(self, path: str) -> tuple[RunRecord, str] | None:
        """The record that has a step, and what it calls it; None if there is none."""
        above, _, id = path.rpartition("/")
        record = self._below.get(above) if above else self._top
        return (record, id) if record is not None else None

    def graph(self) -> Graph:
        """The run's graph with those inside of its steps."""
        if self._top is None:
            return Graph()
        inside = {path: _graph(record) for path, record in self._below.items() if record}
        names: dict[str, str] = {}
        for path, item in self._items.items():
            if item and (above := self.of(path)) is not None:
                value = above[0].run.items.get(above[1], {}).get(item)
                names[path] = escape_line(as_words(value), 24)
        return nested(_graph(self._top), inside, self.unfolded, names)

    async def read(self) -> bool:
        """Read what is new and unfolded; whether there was anything."""
        async with self._reads:
            return await self._read_all()

    async def _read_all(self) -> bool:
        top = self._top
        if top is None:
            return False
        new = False
        paths: list[str] = []
        left = [("", top)]
        while left:
            above, record = left.pop()
            for step in filter(can_unfold, record.workflow.steps):
                path = f"{above}{step.id}"
                if path.count("/") >= MOST_DEEP:
                    continue
                new |= await self._read(path, record, step.id)
                if top is not self._top:
                    return False
                below = self._below[path]
                if below is not None and path in self.unfolded:
                    left.append((f"{path}/", below))
                    paths.append(path)
        return await self._merge(top, paths) or new

    async def _read(self, path: str, above: RunRecord, step: str) -> bool:
        """Read the run of a step, or the file of one that has not begun."""
        item = self._item(path, above.run, step)
        run_id = above.run.step(step, item).run_id
        known = self._below.get(path)
        if path in self._below and (known.run.id if known is not None else "") == run_id:
            if known is None or not run_id or path not in self.unfolded:
                return False
            events = await self._runs.store.events(run_id, known.count)
            known.apply(events)
            return bool(events)
        self._below[path] = await self._record(above, step, run_id)
        return True

    async def _record(self, above: RunRecord, step: str, run_id: str) -> RunRecord | None:
        try:
            if run_id:
                events = await self._runs.store.events(run_id)
                record = RunRecord(await self._runs.workflow_of(Run(events)), above.agents)
                record.apply(events)
                return record
            assert self._top is not None and self._top.run.started is not None
            folder = Path(self._top.run.started.folder)
            target = above.workflow.step(step).target
            text = await self._files.of(target, folder)
        except StudioError:
            return None
        if text is None or text.workflow is None:
            return None
        return RunRecord(text.workflow, above.agents)

    # Bars and rows

    async def _merge(self, top: RunRecord, paths: list[str]) -> bool:
        """Bring bars and rows up with what is unfolded; whether that was another."""
        parts = {"": top}
        for path in paths:
            record = self._below[path]
            if record is not None and record.run.id:
                parts[path] = record
        merged = {path: record.run.id for path, record in parts.items()}
        if merged == self._merged:
            await self._take(parts)
            return False
        lanes, log = top.lanes, top.log
        if len(parts) > 1:
            lanes, log = Lanes(top.workflow, top.agents), []
            for path, record in parts.items():
                if path:
                    lanes.add(record.workflow, f"{path}/")
        self._merged, self._taken = merged, {}
        self.lanes, self.log = lanes, log
        await self._take(parts)
        return True

    async def _take(self, parts: dict[str, RunRecord]) -> None:
        """Take in what came since, in the order in which it happened."""
        if len(parts) == 1:
            return  # the run's own are shown
        assert self.lanes is not None
        lanes, began = self.lanes, parts[""].run.began
        events: list[tuple[float, RunEvent, str]] = []
        rows: list[LogRow] = []
        for path, record in parts.items():
            known, written = self._taken.get(path, (0, 0))
            within = f"{path}/" if path else ""
            new: list[tuple[float, RunEvent]] = []
            if record.count > known:
                new = await self._runs.store.events(record.run.id, known)
            if lanes is not self.lanes:
                return
            events += [(at, event, within) for at, event in new]
            rows += _rows(record, path, written, record.run.began - began)
            self._taken[path] = known + len(new), len(record.log)
        for at, event, within in sorted(events, key=lambda one: one[0]):
            lanes.apply(at, event, within)
        self.log.extend(sorted(rows, key=lambda row: row.at))


def _graph(record: RunRecord) -> Graph:
    return graph_of_run(record.workflow, record.run, record.agents)


def _rows(record: RunRecord, path: str, written: int, later: float) -> Iterator[LogRow]:
    """The rows of a run that came since, as those of the run above; not of its begin and end."""
    for row in record.log[written:]:
        if not path:
            yield row
        elif row.kind != "run":
            step = f"{path}/{row.step}" if row.step else path
            yield replace(row, at=row.at + later, step=step)
