"""Run changes: lists what the steps of a run changed, by step, and which of it waits (W-26).

What a step did on its desk waits as drafts once the run is over; what one without a desk wrote
waits at once. A file that several steps changed stands below each, and is one draft.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from studio.agent.engine import Engine
from studio.domain.drafts import FileDraft
from studio.domain.errors import StorageError
from studio.domain.line_changes import changed_lines
from studio.domain.run_events import ChangedFile
from studio.domain.runs import Run
from studio.domain.sessions import Caller
from studio.storage.runs import RunStore
from studio.storage.snapshots.blob_store import BlobStore

from .expressions import as_words

FileState = Literal["ahead", "waiting", "decided"]
"""``ahead``: it is on a desk, and waits for the person when the run is over."""
MOST = 500_000
"""Bytes of a text whose lines are counted."""


@dataclass(frozen=True, slots=True)
class ChangedByStep:
    """A file that a step changed. ``draft`` are session and id of the draft that has it.

    ``lines`` are those added and removed, None where they were not counted.
    """

    path: str
    deleted: bool = False
    lines: tuple[int, int] | None = None
    state: FileState = "ahead"
    draft: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class StepChanges:
    """The files of a step, or of an item of one; ``path`` leads to it from the run."""

    path: tuple[str, ...]
    files: tuple[ChangedByStep, ...]


async def changes_by_step(engine: Engine, run: Run) -> list[StepChanges]:
    """What the steps of a run and of the runs below it changed, in the order of the steps."""
    found: list[StepChanges] = []
    drafted = await _drafted(engine, run)
    desks = engine.services.desk_contents
    store = RunStore(engine.database)
    for (step, item), one in tuple(run.steps.items()):
        value = run.items.get(step, {}).get(item)
        path = (step, as_words(value)[:40]) if item else (step,)
        files = dict[str, ChangedByStep]()
        if (change := run.changes.get((step, item))) is not None:
            on_desk = await asyncio.to_thread(_counted, desks, change.files)
            files = {file.path: _as_drafted(file, drafted.get(run.drafts)) for file in on_desk}
        own = [drafted[made.session_id] for made in one.tries if made.session_id in drafted]
        files.update({path: file for group in own for path, file in group.items()})
        if files:
            found.append(StepChanges(path, tuple(files.values())))
        for run_id in dict.fromkeys(made.run_id for made in one.tries if made.run_id):
            below = await changes_by_step(engine, Run(await store.events(run_id)))
            found += [replace(group, path=(*path, *group.path)) for group in below]
    return found


async def approve_drafts(engine: Engine, drafts: Sequence[tuple[str, str]]) -> list[str]:
    """Approve drafts, each named by its session and its id; why some could not be, in words."""
    failed: list[str] = []
    for owner in dict.fromkeys(session for session, _ in drafts):
        ids = [draft for one, draft in drafts if one == owner]
        async with engine.sessions.working_with(owner) as session:
            states = await session.review.decide_all("approve", ids)
        details = {draft.id: detail for draft, detail in session.transcript.draft_details}
        failed += [
            details.get(one) or f"{one[:8]} is {state}."
            for one, state in states.items()
            if state != "approved"
        ]
    return failed


async def _drafted(engine: Engine, run: Run) -> dict[str, dict[str, ChangedByStep]]:
    """The files of the drafts of each session of a run, by path."""
    found: dict[str, dict[str, ChangedByStep]] = {}
    for info in await engine.store.called_by(Caller("run", run.id)):
        entries = await engine.store.drafts(info.id)
        done = await engine.store.drafts(info.id, done=True) if info.id == run.drafts else ()
        if not entries and not done:
            continue
        made = (await engine.sessions.transcript(info.id)).drafts
        texts = {one.id: one for one in made if isinstance(one, FileDraft)}
        files: dict[str, ChangedByStep] = {}
        for entry in (*done, *entries):
            draft = texts.get(entry.draft_id)
            if draft is not None:
                lines = await asyncio.to_thread(_lines, draft.before or "", draft.after)
                state: FileState = "waiting" if entry in entries else "decided"
                files[entry.path] = ChangedByStep(
                    *(entry.path, entry.action == "delete", lines, state),
                    draft=(info.id, entry.draft_id) if state == "waiting" else None,
                )
        found[info.id] = files
    return found


def _as_drafted(file: ChangedByStep, drafts: dict[str, ChangedByStep] | None) -> ChangedByStep:
    draft = (drafts or {}).get(file.path)
    return file if draft is None else replace(file, state=draft.state, draft=draft.draft)


def _counted(desks: BlobStore, files: Iterable[ChangedFile]) -> list[ChangedByStep]:
    def text(digest: str) -> str | None:
        data = desks.get(digest) if digest else b""
        try:
            return data.decode() if data is not None and len(data) <= MOST else None
        except UnicodeDecodeError:
            return None

    found: list[ChangedByStep] = []
    for file in files:
        try:
            before, after = text(file.before), text(file.after)
        except StorageError:  # what changed is known, only its lines are not
            before = after = None
        known = before is not None and after is not None
        lines = _lines(before or "", after or "") if known else None
        found.append(ChangedByStep(file.path, not file.after, lines))
    return found


def _lines(before: str, after: str) -> tuple[int, int] | None:
    if max(len(before), len(after)) > MOST:
        return None
    return changed_lines(before.splitlines(), after.splitlines())
