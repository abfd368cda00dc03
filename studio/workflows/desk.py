"""Desks: lets steps of a run that write side by side see their own changes, and merges them.

Each step works on a copy of the folder with the changes of the steps that it needs (W-23). What
it changed is kept by digests when its try ends. Where steps meet, their changes are merged in
order, each on what it began with (W-25). In the end all waits as the drafts of one session (W-26).
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from studio.agent.budget import Account, Budget
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.drafts import BINARY, FileDraft
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.run_events import (
    MERGE,
    ChangedFile,
    RunDrafted,
    RunEvent,
    RunFinished,
    RunQuestion,
    StepChanged,
    StepFinished,
    StepInTurns,
    StepStarted,
)
from studio.domain.runs import Run
from studio.domain.sessions import Caller
from studio.domain.workflows import Step
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder
from studio.processes.desk import Desk, DeskTooLarge
from studio.storage.runs import RunStore
from studio.storage.snapshots.blob_store import UNDO_SECONDS, BlobStore
from studio.tools import Workspace
from studio.tools.workspace.encodings import NotText, encode

from .change_merge import ChangeMerge, Clash, DeskContents
from .plan import Plan
from .step_work import Outcome, StepWork

LARGEST = 10_000_000
"""Bytes of the largest file that is kept of a desk."""
_FILES = frozenset({"read", "draft", "act"})
_WRITES = frozenset({"draft", "act"})


class Desks:
    """The desks of one run; ``record`` is the runner's.

    ``accounts`` are those that a merge by an agent is booked on.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        run: Run,
        work: StepWork,
        accounts: Callable[[], list[Account]],
        record: Callable[..., Awaitable[object]],
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._run = run
        self._work = work
        self._accounts = accounts
        self._record = record
        self._place = engine.paths.data / "desks"
        contents = engine.services.folders.contents
        self._contents = DeskContents(BlobStore(self._place / "contents.db"), contents)
        self._merge = ChangeMerge(plan.workflow, run, self._contents)
        self._chosen: dict[str, str] | None = None
        self._turn = asyncio.Lock()
        self._open: dict[tuple[str, str], str] = {}
        """The sessions that work on a desk now, by step and item."""

    # Who has one

    async def _choice(self) -> dict[str, str]:
        """The steps that work on a desk, each with the reason why it cannot, or none (W-24)."""
        if self._chosen is not None:
            return self._chosen
        steps, every = self._plan.workflow.steps, self._plan.every
        work = {(step.kind, step.target): step for step in steps}
        found = {what: await self._effects(step) for what, step in work.items()}
        effects = {step.id: found[step.kind, step.target] for step in steps}
        writers = {id for id, does in effects.items() if does & _WRITES}
        mode = self._run.started.permission_mode if self._run.started else ""
        waits = (mode or self._engine.settings.values.default_permission_mode) != "auto"
        wanted = set[str]()
        for step in steps:
            apart = (one for one in writers - {step.id} if one not in every[step.id])
            beside = any(step.id not in every[one] for one in apart)
            many = bool(step.for_each or step.matrix) and step.max_parallel != 1
            # Where drafts wait, a step that needs this one would not see what it wrote.
            needed = waits and any(effects[one] & _FILES and step.id in every[one] for one in every)
            if step.desk == "own" or (
                step.desk == "auto" and step.id in writers and (beside or many or needed)
            ):
                wanted.add(step.id)
        for step in steps:
            if step.desk == "auto" and effects[step.id] & _FILES and every[step.id] & wanted:
                wanted.add(step.id)
        sandbox = await self._engine.sandbox()
        why = "" if sandbox.desks else "No sandbox here can show a copy of the folder to commands."
        acts = {id for id, does in effects.items() if "act" in does}
        self._chosen = {id: why if id in acts else "" for id in wanted if effects[id]}
        return self._chosen

    async def _effects(self, step: Step) -> set[str]:
        """What the tools of a step do; nothing for one that has none, or is not known."""
        if step.kind == "run":
            return {"act"}
        if step.kind != "agent" or self._run.started is None:
            return set()
        try:
            agent = await self._work.sessions.agent(step.target)
        except ConfigurationError:  # the step itself says so
            return set()
        tools = self._engine.tools()
        return {str(tools[name].spec.effect) for name in agent.tools if name in tools}

    # The work of a step

    async def working(
        self, step: Step, item: str, session_id: str, work: Callable[[], Awaitable[Outcome]]
    ) -> Outcome | RunQuestion:
        """Do the work of a step on its desk, if it has one; or a question that comes before."""
        choice = await self._choice()
        if step.id not in choice:
            return await work()
        key, why = (step.id, item), choice[step.id]
        if not why and key not in self._open:
            try:
                blocked = await self._lay(step, item, session_id)
            except DeskTooLarge as error:
                why = f"No copy can be made, because {error}."
            except (OSError, ToolFailed) as error:
                why = f"The folder cannot be copied: {error}."
            else:
                if blocked is not None:
                    return blocked
        if not why:
            return await work()
        if self._run.step(*key).in_turns != why:
            await self._record(StepInTurns(*key, why))
        async with self._turn:
            return await work()

    async def _lay(
        self, step: Step, item: str, session_id: str
    ) -> RunQuestion | StepFinished | None:
        """Lay the desk of a try, or open it again; or what has to be answered first."""
        at, folder = self._place / session_id, Path(self._folder)
        try:
            desk = await asyncio.to_thread(Desk.open, at)
        except (OSError, ValueError):
            kept = await (await self._engine.services.folders.track(str(folder))).keep()
            before = self._ordered(self._plan.every[step.id])
            own = self._run.changes.get((step.id, item))
            found = await self._merged([*before, own] if own else before, (step.id, item))
            if not isinstance(found, Mapping):
                return found
            needed = await self._merged(before, (step.id, item))
            assert isinstance(needed, Mapping), "less changes have no more clashes"

            def lay() -> Desk:
                private_folder(self._place)
                shutil.rmtree(at, ignore_errors=True)
                contents = {
                    path: self._contents.bytes(one) if one else None for path, one in found.items()
                }
                desk = Desk.lay(folder, contents, at)
                base = {**kept, **needed}
                write_atomically(at / "base.json", json.dumps(base).encode("ascii"))
                return desk

            desk = await asyncio.to_thread(lay)
        self._open[step.id, item] = session_id
        self._engine.services.desks[session_id] = desk
        return None

    async def with_changes(self, events: Sequence[RunEvent]) -> list[RunEvent]:
        """The events, before each end of a try what it did on its desk."""
        found: list[RunEvent] = []
        looks = {step.id for step in self._plan.workflow.steps if step.proves is not None}
        for event in events:
            if (
                isinstance(event, StepFinished)
                and (event.step, event.item) in self._open
                and event.step not in looks  # what a check leaves behind is no work
            ):
                found.append(await self._changed(event.step, event.item))
            found.append(event)
        return found

    async def put_away(self, events: Iterable[RunEvent]) -> None:
        """Take away the desks of tries whose end is stored."""
        for event in events:
            key = (event.step, event.item) if isinstance(event, StepFinished) else ("", "")
            if (session_id := self._open.pop(key, "")) and isinstance(event, StepFinished):
                desk = self._engine.services.desks.pop(session_id)
                await asyncio.to_thread(desk.remove)

    async def _changed(self, step: str, item: str) -> StepChanged:
        session_id = self._open[step, item]
        await self._engine.services.jobs.end(session_id)
        await self._engine.services.languages.end(session_id)
        desk = self._engine.services.desks[session_id]
        own = self._run.changes.get((step, item), StepChanged(step, item, ()))

        def look() -> StepChanged:
            base = cast("dict[str, str]", json.loads((desk.root.parent / "base.json").read_text()))
            changes = desk.changes()
            names = [*changes.written, *changes.deleted, *(one.path for one in own.files)]
            files, left = list[ChangedFile](), [*changes.other]
            for name in sorted(set(names)):
                place = desk.root / name
                # What is behind a link is not on the desk.
                ordinary = os.path.realpath(place) == str(place) and place.is_file()
                try:
                    if ordinary and place.stat().st_size > LARGEST:
                        raise OSError
                    after = self._contents.put(place.read_bytes()) if ordinary else ""
                except OSError:
                    left.append(name)
                    continue
                before = base[name] if name in base else self._in_folder(desk, name)
                if before != after:
                    self._contents.keep(before)
                    files.append(ChangedFile(name, before, after))
            return StepChanged(step, item, tuple(files), tuple(dict.fromkeys(left)))

        return await asyncio.to_thread(look)

    async def content(self, step: Step, path: str) -> bytes | None:
        """What is in a file as a step would find it; None where there is none.

        Raises ToolFailed for a path that leads out of the folder.
        """
        place = Workspace(Path(self._folder)).resolve(path)
        name = place.relative_to(Path(self._folder).resolve()).as_posix()
        found = await self._merged(self._ordered(self._plan.every[step.id]), (step.id, ""))
        changed = found.get(name) if isinstance(found, Mapping) else None
        if changed is not None:
            return self._contents.bytes(changed) if changed else None

        def read() -> bytes | None:
            try:
                return place.read_bytes()
            except OSError:
                return None

        return await asyncio.to_thread(read)

    # Where changes meet

    def _ordered(self, steps: Iterable[str]) -> list[StepChanged]:
        """What these steps changed, each after those that it needs."""
        every, places = self._plan.every, [one.id for one in self._plan.workflow.steps]
        order = sorted(steps, key=lambda id: (len(every[id]), places.index(id)))
        keys = [(id, key) for id in order for key in ("", *self._run.items.get(id, ()))]
        return [self._run.changes[key] for key in keys if key in self._run.changes]

    async def _merged(
        self, changes: Sequence[StepChanged], key: tuple[str, str]
    ) -> Mapping[str, str] | RunQuestion | StepFinished:
        """What files become by these changes, by digest; or what has to be answered first."""
        while True:
            found, clashes = await asyncio.to_thread(self._merge.fold, changes)
            if not clashes:
                return found
            clash, how = clashes[0], self._plan.workflow.on_conflict
            if how == "stop":
                reason = clash.question.text
                return StepFinished(*key, "failed", reason, fault="invalid")
            if how == "ask" or not await self._merged_by_agent(how, clash):
                return clash.question

    async def _merged_by_agent(self, agent: str, clash: Clash) -> bool:
        """Have an agent merge a text; False if it did not."""
        if clash.texts is None or self._run.step(MERGE, clash.id).over:
            return False
        step, said = clash.step(agent), clash.task
        session = await self._work.sessions.create(step)
        await self._record(StepStarted(MERGE, clash.id, session_id=session.info.id))
        budget = Budget(self._accounts())
        outcome = await self._work.run(step, clash.id, session, said, budget, ())
        if not isinstance(outcome, StepFinished):
            outcome = StepFinished(MERGE, clash.id, "failed", "It was not merged.", fault="error")
        await self._record(outcome)
        return outcome.state == "done"

    # The end

    def before_end(self, events: Sequence[RunEvent]) -> Sequence[RunEvent]:
        """What happens instead of these events: before a run ends, its changes meet.

        The end is no success if they could not be merged.
        """
        merge, end = self._run.step(MERGE), events[-1] if events else None
        if not isinstance(end, RunFinished):
            return events
        if any(one.files for one in self._run.changes.values()) and not merge.over:
            return () if merge.tries else [StepStarted(MERGE)]
        if merge.state == "failed" and end.state == "done":
            return [*events[:-1], replace(end, state="failed", reason=merge.reason)]
        return events

    async def meet(self) -> StepFinished | RunQuestion:
        """Merge all that the run changed, and let it wait as drafts."""
        changes = self._ordered(self._plan.every)
        found = await self._merged(changes, (MERGE, ""))
        if isinstance(found, RunQuestion):
            return found
        count = await self.offer()
        tries = [one.session_id for step in self._run.steps.values() for one in step.tries]
        for session_id in filter(None, tries):  # of a program that was killed
            await asyncio.to_thread(shutil.rmtree, self._place / session_id, True)
        if isinstance(found, StepFinished):
            return found
        files = "1 file waits" if count == 1 else f"{count} files wait"
        return StepFinished(MERGE, "", text=f"{files} for you as drafts.")

    async def tidy(self, store: RunStore) -> None:
        """Once a day delete contents of runs that ended 30 days ago: from these nothing goes on."""
        if not await asyncio.to_thread(self._contents.blobs.due):
            return
        wanted = await store.contents_since(time.time() - UNDO_SECONDS)
        await asyncio.to_thread(self._contents.blobs.collect, wanted)

    async def offer(self) -> int:
        """Make drafts of what the run changed, with both sides of a conflict; returns how many."""
        wanted, started = await self._all_changes(), self._run.started
        if not wanted or started is None:
            return 0
        sessions = self._engine.sessions
        if self._run.drafts and await self._engine.store.get(self._run.drafts) is not None:
            session = await sessions.open(self._run.drafts)
        else:
            session = await sessions.create(
                folder=started.folder,
                agent=started.name,
                provider=started.provider,
                model=started.model,
                title=f"Run {started.number}",
                held=True,
                caller=Caller("run", started.run_id),
                subject=started.subject,
            )
            await self._record(RunDrafted(session.info.id))
        await self._offer_in(session, wanted)
        return len(wanted)

    async def hand_over(self, session: Session) -> None:
        """Make drafts in a chat of what the run changed, also in steps that are under way."""
        for one in tuple(self._run.busy):
            place = self._place / one.session_id
            if one.session_id and await asyncio.to_thread((place / "desk.json").exists):
                if (one.step, one.item) not in self._open:
                    desk = await asyncio.to_thread(Desk.open, place)
                    self._open[one.step, one.item] = one.session_id
                    self._engine.services.desks[one.session_id] = desk
                await self._record(await self._changed(one.step, one.item))
        await self._offer_in(session, await self._all_changes())

    async def _all_changes(self) -> dict[str, tuple[str, str]]:
        """What files were before the run and are by its changes, by digest."""
        changes = self._ordered(self._plan.every)
        found, _ = await asyncio.to_thread(self._merge.fold, changes)
        first: dict[str, str] = {}
        for change in changes:
            for file in change.files:
                first.setdefault(file.path, file.before)
        return {path: (first[path], now) for path, now in found.items() if now != first[path]}

    async def _offer_in(self, session: Session, wanted: Mapping[str, tuple[str, str]]) -> None:
        known = {path for one in session.drafts.all for path in getattr(one, "paths", ())}
        drafts = await asyncio.to_thread(
            lambda: [self._draft(one, *wanted[one]) for one in sorted(wanted.keys() - known)]
        )
        if drafts:
            await session.offer(drafts)

    def _draft(self, path: str, before: str, after: str) -> FileDraft:
        """A draft of a file that no other draft changes."""
        try:
            old, encoding = self._contents.text(before, path)
            new, encoding = self._contents.text(after, path) if after else ("", encoding)
            if encode(old, encoding) != (self._contents.bytes(before) if before else b""):
                raise NotText(path)
        except (NotText, ToolFailed):
            old = self._contents.bytes(before).decode("latin-1") if before else ""
            new = self._contents.bytes(after).decode("latin-1") if after else ""
            encoding = BINARY
        return FileDraft(
            uuid.uuid4().hex,
            path,
            old if before else None,
            new,
            before,
            encoding,
            action="write" if after else "delete",
        )

    # Contents

    @property
    def _folder(self) -> str:
        return self._run.started.folder if self._run.started else ""

    def _in_folder(self, desk: Desk, name: str) -> str:
        """The digest of a file of the folder that was too big to be kept; empty for none."""
        place = desk.folder / name
        if desk.outdated(name) or not place.is_file() or place.is_symlink():
            return ""
        return self._contents.put(place.read_bytes())
