"""Brief: what a new session of a mission's cycle is told (W-47)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from studio.agent import prompts
from studio.agent.delegation.board import told_tasks
from studio.agent.services import Services
from studio.agent.usage_costs import format_dollars
from studio.domain.boards import BoardTask
from studio.domain.runs import Run
from studio.domain.sessions import Caller
from studio.domain.workflows import Step, Workflow
from studio.tools.memory.note import Note
from studio.tools.memory.note_store import NoteStore, State, place_of
from studio.tools.sdk.result import shorten
from studio.workflows.run_accounts import RunTime

from .cycles import Cycles

MOST_NOTES = 8
MOST_WORDS = 8
"""Words of the person that a cycle is told."""
LONGEST_NOTE = 2_000
LONGEST_FOUND = 8_000
"""Characters of what one check found."""


class MissionBrief:
    """What sessions of one run are told of its mission, or of that of the run ``above`` it."""

    def __init__(
        self,
        services: Services,
        workflow: Workflow,
        run: Run,
        cycles: Cycles,
        time: RunTime,
        above: MissionBrief | None,
    ) -> None:
        self._services, self._workflow, self._run = services, workflow, run
        self._cycles, self._time = cycles, time
        self._above = above

    async def words(self) -> str:
        """What is said before the prompt of a step; empty where there is no mission."""
        run, cycles = self._run, self._cycles
        if not cycles.mission:
            return await self._above.words() if self._above is not None else ""
        assert run.started is not None
        told: list[str] = []
        if left := left_of(run, cycles.most, self._time.minutes, cycles.until):
            told.append(prompts.MISSION_LEFT.format(left=left))
        if run.steered:
            words = _lines(text for _, text in run.steered[-MOST_WORDS:])
            told.append(prompts.MISSION_STEERED.format(words=words))
        if tasks := told_tasks(await self.tasks()):
            told.append(prompts.MISSION_TASKS.format(tasks=_lines(tasks)))
        folder = Path(run.started.folder)
        if notes := await asyncio.to_thread(last_notes, self._services.notes, folder, run):
            texts = (f"{one.name}: {shorten(one.text.strip(), LONGEST_NOTE)}" for one in notes)
            told.append(prompts.MISSION_NOTES.format(notes=_lines(texts)))
        told.append(_found(run))
        return prompts.MISSION_CYCLE.format(
            number=run.cycle,
            mission=run.started.mission,
            checks=_lines(map(check_words, (one for one in self._workflow.steps if one.proves))),
            told="".join(f"{one}\n\n" for one in told),
        )

    async def tasks(self) -> Sequence[BoardTask]:
        """The tasks that agents of the run, or of what began it, keep on their board (W-40)."""
        boards = self._services.boards
        return await boards.tasks(await boards.root_of(Caller("run", self._run.id)))


def last_notes(notes: Path, folder: Path, run: Run) -> list[Note]:
    """The last notes about a folder without strangers' words; blocks.

    Of those that wait for the person only what this mission noted itself: no other chat is told.
    """
    store, about, found = NoteStore(notes), place_of(folder), list[Note]()
    own = {one.session_id for step in run.steps.values() for one in step.tries}
    states: tuple[State, State] = ("kept", "proposed")
    for state in states:
        for entry in store.index.entries([about], state, trusts=("yours", "agent"), limit=50):
            note = store.get(about, entry.name, state)
            plain = entry.trust == "yours" or not entry.marked
            if note and plain and not note.forgets and (state == "kept" or note.session in own):
                found.append(note)
    return sorted(found, key=lambda one: one.written)[-MOST_NOTES:]


def _found(run: Run) -> str:
    if not run.cycles:
        return prompts.MISSION_FIRST
    last = run.cycles[-1]
    lines: list[str] = []
    for one in last.checks:
        lines.append(f"{one.title}: {'passes' if one.passed else 'does not pass'}")
        if one.words and not one.passed:
            lines[-1] += f"\n{shorten(one.words, LONGEST_FOUND)}"
    if last.changed:
        lines.append(prompts.MISSION_CHANGED.format(files=", ".join(last.changed)))
    return prompts.MISSION_FOUND.format(number=last.number, found=_lines(lines))


def check_words(step: Step) -> str:
    """A check in words."""
    check = step.proves
    assert check is not None
    match check.kind:
        case "run":
            words = f"the command “{check.target}” ends with {check.exit_code}"
        case "file":
            fits = " and fits its schema" if check.schema is not None else ""
            words = f"the file {check.target} is there{fits}"
        case "grader":
            words = f"{check.target} judges: {check.prompt or 'it is reached'}"
        case "check":
            words = f"“{check.target}” holds"
    return f"{check.title}: {words}" if check.title else words


def left_of(run: Run, most_cycles: int, minutes: float, until: str) -> str:
    """What all cycles may still use, in words; empty where only the model's place limits it."""
    caps = run.caps.get("")
    found: list[str] = []
    if most_cycles:
        found.append(f"cycles {max(most_cycles - run.cycle, 0)} after this one")
    if caps is not None and caps.dollars:
        left = format_dollars(max(caps.dollars - run.dollars, 0.0)) or "$0.00"
        found.append(left)
    if caps is not None and caps.tokens:
        found.append(f"{max(caps.tokens - run.tokens, 0):,} tokens")
    if minutes:
        found.append(f"{max(minutes - run.worked / 60, 0.0):.0f} minutes of work")
    if until:
        found.append(f"the time until {until}")
    return ", ".join(found)


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {one}" for one in texts)
