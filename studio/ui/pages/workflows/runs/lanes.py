"""Lanes: who worked when in a run, as bars beside each other. Free of Qt.

A bar takes some 30 bytes, so that 100,000 of them need little room (W-64).
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from studio.domain.agents import Agent
from studio.domain.run_events import (
    ItemsFound,
    RetryPlanned,
    RunEvent,
    RunFinished,
    StepAnswered,
    StepAsked,
    StepFinished,
    StepResumed,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import item_keys
from studio.domain.workflows import Step, Workflow
from studio.ui.pages.workflows.workflow_graph import ICONS
from studio.ui.translation import tr

WORK, WAIT, AGAIN, FAILED, STOPPED = range(5)
"""What a bar is: work, a wait for the person, a wait for the next try, work that failed."""
Key: TypeAlias = tuple[str, str]
"""A step and its item."""
OPEN = math.inf
"""The end of a bar that has none yet."""


class BarRow:
    """Bars after each other, which do not overlap."""

    def __init__(self) -> None:
        self.begins, self.ends = array("d"), array("d")
        self.kinds, self.owners = bytearray(), array("I")
        """``owners`` are places in ``Lanes.keys``."""

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def free(self) -> float:
        """When the last bar ends."""
        return self.ends[-1] if self.ends else -OPEN

    def add(self, owner: int, kind: int, begin: float, end: float = OPEN) -> int:
        self.begins.append(begin)
        self.ends.append(end)
        self.kinds.append(kind)
        self.owners.append(owner)
        return len(self) - 1

    def count(self, left: float, right: float) -> int:
        """How many bars are seen from ``left`` to ``right``."""
        return bisect_left(self.begins, right) - bisect_right(self.ends, left)

    def between(self, left: float, right: float, least: float) -> Iterator[tuple[int, int, float]]:
        """The bars that are seen from ``left`` to ``right``: first, behind the last, and end.

        Those that end within ``least`` seconds of the begin of a short one are put together with
        it, so that however many there are, no more come than there is room for.
        """
        at, last = bisect_right(self.ends, left), bisect_left(self.begins, right)
        while at < last:
            end = max(self.ends[at], self.begins[at] + least)
            behind = max(at + 1, bisect_right(self.ends, end, at, last))
            yield at, behind, self.ends[behind - 1]
            at = behind

    def newest(self, owners: Collection[int]) -> int:
        """The last bar of one of these; -1 if there is none."""
        return next((at for at in reversed(range(len(self))) if self.owners[at] in owners), -1)


@dataclass(slots=True)
class Lane:
    """One agent, or what stands for one; where several work at a time it has more rows."""

    name: str
    icon: str
    hue: str
    rows: list[BarRow] = field(default_factory=list[BarRow])

    def free_row(self, at: float) -> BarRow:
        for row in self.rows:
            if row.free <= at:
                return row
        self.rows.append(BarRow())
        return self.rows[-1]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, as it is read from its row. ``end`` is ``OPEN`` while it grows."""

    key: Key
    kind: int
    begin: float
    end: float


class Lanes:
    """The lanes of one run, in the order of its steps; ``apply`` lets them grow."""

    def __init__(self, workflow: Workflow, agents: Mapping[str, Agent]) -> None:
        self._agents = agents
        self._steps: dict[str, Step] = {}
        self._lanes: dict[str, Lane] = {}
        self.keys: list[Key] = []
        self._numbers: dict[Key, int] = {}
        self._open: dict[Key, tuple[BarRow, int]] = {}
        self._items: dict[str, dict[str, int]] = {}
        """The number of each item, by step and key."""
        self.count = 0
        self.began = self.ended = 0.0
        """When the run began, and when it ended; 0 before."""
        self.add(workflow)

    def add(self, workflow: Workflow, within: str = "") -> None:
        """Add the lanes of a workflow; its steps are called as in the run, after ``within``."""
        for step in workflow.steps:
            if step.kind not in ("set", "check"):
                self._lane(step)
            self._steps[f"{within}{step.id}"] = step

    @property
    def lanes(self) -> list[Lane]:
        return list(self._lanes.values())

    @property
    def agents(self) -> int:
        """How many agents work in it."""
        return len({step.target for step in self._steps.values() if step.kind == "agent"})

    @property
    def running(self) -> int:
        """How many lanes have a bar that grows."""
        return sum(
            any(row.free == OPEN and row.kinds[-1] == WORK for row in lane.rows)
            for lane in self._lanes.values()
        )

    def bar(self, row: BarRow, at: int) -> Bar:
        key = self.keys[row.owners[at]]
        return Bar(key, row.kinds[at], row.begins[at], row.ends[at])

    def item_name(self, key: Key) -> str:
        """“item 3”; empty for a step as a whole."""
        number = self._items.get(key[0], {}).get(key[1])
        return tr("item {number}").format(number=number) if number is not None else ""

    def newest(self, key: Key) -> tuple[int, BarRow, int] | None:
        """The newest bar of a step or item: its lane, row and place."""
        step, number = self._steps.get(key[0]), self._numbers.get(key)
        if step is None or (name := self._name(step)) not in self._lanes:
            return None
        if number is not None:
            owners = {number}
        elif not key[1]:
            owners = {self._numbers[one] for one in self.keys if one[0] == key[0]}
        else:
            return None
        found = [(row, row.newest(owners)) for row in self._lanes[name].rows]
        bars = [(row.begins[at], row, at) for row, at in found if at >= 0]
        if not bars:
            return None
        _, row, at = max(bars, key=lambda one: one[0])
        return list(self._lanes).index(name), row, at

    def apply(self, at: float, event: RunEvent, within: str = "") -> None:
        """Take in what happened; ``within`` is as in ``add``."""
        self.began = self.began or at
        if within and hasattr(event, "step"):
            event = replace(event, step=f"{within}{getattr(event, 'step', '')}")
        match event:
            case ItemsFound():
                keys = item_keys(event.items)
                self._items[event.step] = {key: at for at, key in enumerate(keys, 1)}
            case StepStarted():
                self._end(at, (event.step, event.item))
                if not self._waits(event.step):
                    self._begin(at, (event.step, event.item), WORK)
            case StepResumed() | StepAnswered():
                if self._end(at, (event.step, event.item)) and not self._waits(event.step):
                    self._begin(at, (event.step, event.item), WORK)
            case StepAsked():
                self._end(at, (event.step, event.item))
                self._begin(at, (event.step, event.item), WAIT)
            case StepFinished():
                kind = {"failed": FAILED, "stopped": STOPPED}.get(event.state, WORK)
                self._end(at, (event.step, event.item), kind)
            case StepsRedone():  # what sent the run back did not pass
                if (found := self.newest((f"{within}{event.by}", ""))) is not None:
                    _, row, place = found
                    row.kinds[place] = FAILED if row.kinds[place] == WORK else row.kinds[place]
            case RetryPlanned():
                self._begin(at, (event.step, event.item), AGAIN)
            case RunFinished():
                self.ended = self.ended if within else at
                for key in tuple(self._open):
                    if key[0].startswith(within):
                        self._end(at, key)
            case _:
                pass

    def _waits(self, step: str) -> bool:
        """Whether nobody but the person works on a step."""
        found = self._steps.get(step)
        return found is not None and found.kind in ("approve", "ask")

    def _begin(self, at: float, key: Key, kind: int) -> None:
        step = self._steps.get(key[0])
        if step is None or step.kind in ("set", "check"):
            return
        if key not in self._numbers:
            self._numbers[key] = len(self.keys)
            self.keys.append(key)
        row = self._lane(step).free_row(at)
        self._open[key] = row, row.add(self._numbers[key], kind, at)
        self.count += 1

    def _end(self, at: float, key: Key, kind: int = WORK) -> bool:
        """End the bar of a key; whether there was one."""
        if (found := self._open.pop(key, None)) is None:
            return False
        row, place = found
        row.ends[place] = max(at, row.begins[place])
        if kind != WORK and row.kinds[place] == WORK:
            row.kinds[place] = kind
        return True

    def _name(self, step: Step) -> str:
        match step.kind:
            case "approve" | "ask":
                return tr("You")
            case "run":
                return tr("Commands")
            case _:
                return step.target

    def _lane(self, step: Step) -> Lane:
        name = self._name(step)
        if name not in self._lanes:
            agent = self._agents.get(step.target) if step.kind == "agent" else None
            icon, hue = (agent.icon, agent.hue) if agent else (ICONS[step.kind], "slate")
            self._lanes[name] = Lane(name, icon, hue)
        return self._lanes[name]
