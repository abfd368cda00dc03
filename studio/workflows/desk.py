"""Desks: lets steps of a run that write side by side see their own changes, and merges them.

Each step works on a copy of the folder with the changes of the steps that it needs (W-23). What
it changed is kept by digests when its try ends. Where steps meet, their changes are merged in
order, each on what it began with (W-25). In the end all waits as the drafts of one session (W-26).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from studio.agent.budget import Budget
from studio.agent.changes.draft_store import OPEN
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
from studio.domain.runs import StepKey
from studio.domain.sessions import Caller
from studio.domain.workflows import Step
from studio.processes.desk import DeskTooLarge
from studio.storage.runs import RunStore
from studio.storage.snapshots.blob_store import UNDO_SECONDS
from studio.tools import Workspace
from studio.tools.workspace.encodings import NotText, encode

from .change_merge import ChangeMerge, Clash
from .laid_desks import LaidDesks
from .missions.check_scripts import scripts_of
from .run_accounts import RunAccounts
from .run_recorder import RunRecorder
from .step_work import Outcome, StepWork

_FILES = frozenset({"read", "draft", "act"})
_WRITES = frozenset({"draft", "act"})


class Desks:
    """The desks of one run: who has one, where their changes meet, and the drafts in the end."""

    def __init__(
        self,
        engine: Engine,
        recorder: RunRecorder,
        work: StepWork,
        accounts: RunAccounts,
        laid: LaidDesks,
    ) -> None:
        """A merge by an agent is booked on those ``accounts`` that the run itself is booked on."""
        self._engine = engine
        self._recorder, self._plan, self._run = recorder, recorder.plan, recorder.run
        self._work = work
        self._accounts = accounts
        self._laid, self._contents = laid, laid.contents
        self._merge = ChangeMerge(self._plan, self._run, laid.contents)
        self._chosen: dict[str, str] | None = None
        self._choosing = asyncio.Lock()
        self._turn = asyncio.Lock()

    # Who has one

    async def _choice(self) -> dict[str, str]:
        """The steps that work on a desk, each with the reason why it cannot, or none (W-24)."""
        async with self._choosing:  # all that begin at once want it
            if self._chosen is None:
                self._chosen = await self._choose()
            return self._chosen

    async def _choose(self) -> dict[str, str]:
        steps, every = self._plan.workflow.steps, self._plan.every
        work = {(step.kind, step.target): step for step in steps}
        found = {what: await self._effects(step) for what, step in work.items()}
        effects = {step.id: found[step.kind, step.target] for step in steps}
        writers = {id for id, does in effects.items() if does & _WRITES}
        mode = self._run.started.permission_mode if self._run.started else ""
        waits = (mode or self._engine.settings.values.default_permission_mode) != "auto"
        # Where drafts wait, a step that needs another would not see what that one wrote.
        reading = [every[id] for id, does in effects.items() if does & _FILES] if waits else []
        needed = frozenset[str]().union(*reading)
        wanted = set[str]()
        for step in steps:
            apart = (one for one in writers - {step.id} if one not in every[step.id])
            beside = any(step.id not in every[one] for one in apart)
            many = bool(step.for_each or step.matrix) and step.max_parallel != 1
            if step.desk == "own" or (
                step.desk == "auto" and step.id in writers and (beside or many or step.id in needed)
            ):
                wanted.add(step.id)
        for step in steps:
            if step.desk == "auto" and effects[step.id] & _FILES and every[step.id] & wanted:
                wanted.add(step.id)
        sandbox = await self._engine.sandbox()
        why = "" if sandbox.desks else "No sandbox here can show a copy of the folder to commands."
        acts = {id for id, does in effects.items() if "act" in does}
        return {id: why if id in acts else "" for id in wanted if effects[id]}

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
    ) -> Outcome:
        """Do the work of a step on its desk, if it has one; or a question that comes before."""
        choice = await self._choice()
        if step.id not in choice:
            return await work()
        key, why = (step.id, item), choice[step.id]
        if not why and not await self._laid.open(key, session_id):
            try:
                blocked = await self._lay(key, session_id)
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
            await self._recorder.record(StepInTurns(*key, why))
        async with self._turn:
            return await work()

    async def _lay(self, key: StepKey, session_id: str) -> RunQuestion | StepFinished | None:
        """Lay the desk of a try; or what has to be answered first."""
        kept = await (await self._engine.services.folders.track(self._folder)).keep()
        before = self._merge.ordered(self._plan.every[key[0]])
        own = self._run.changes.get(key)
        found = await self._merged([*before, own] if own else before, key)
        if not isinstance(found, Mapping):
            return found
        needed = await self._merged(before, key)
        assert isinstance(needed, Mapping), "less changes have no more clashes"
        await self._laid.lay(key, session_id, found, {**kept, **needed})
        return None

    async def content(self, step: Step, path: str) -> bytes | None:
        """What is in a file as a step would find it; None where there is none.

        Raises ToolFailed for a path that leads out of the folder.
        """
        return (await self.contents(step, [path]))[path]

    async def contents(self, step: Step, paths: Iterable[str]) -> dict[str, bytes | None]:
        """What is in files, see ``content``."""
        workspace, root = Workspace(Path(self._folder)), Path(self._folder).resolve()
        places = {path: workspace.resolve(path) for path in paths}
        found = await self._merged(self._merge.ordered(self._plan.every[step.id]), (step.id, ""))
        merged: Mapping[str, str] = found if isinstance(found, Mapping) else {}

        def read(place: Path) -> bytes | None:
            changed = merged.get(place.relative_to(root).as_posix())
            if changed is not None:
                return self._contents.bytes(changed) if changed else None
            try:
                return place.read_bytes()
            except OSError:
                return None

        return await asyncio.to_thread(lambda: {path: read(one) for path, one in places.items()})

    async def scripts(self) -> dict[str, bytes | None]:
        """What is in the scripts of a mission's checks, as these see them (W-48)."""
        started, steps = self._run.started, self._plan.workflow.steps
        looks = next((one for one in steps if one.proves and one.proves.kind == "run"), None)
        if started is None or looks is None:
            return {}
        return await self.contents(looks, scripts_of(started.parts))

    # Where changes meet

    async def _merged(
        self, changes: Sequence[StepChanged], key: StepKey
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
        await self._recorder.record(StepStarted(MERGE, clash.id, session_id=session.info.id))
        budget = Budget(self._accounts.upward())
        outcome = await self._work.run(step, clash.id, session, said, budget, ())
        if not isinstance(outcome, StepFinished):
            outcome = StepFinished(MERGE, clash.id, "failed", "It was not merged.", fault="error")
        await self._recorder.record(outcome)
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
        changes = self._merge.ordered(self._plan.every)
        found = await self._merged(changes, (MERGE, ""))
        if isinstance(found, RunQuestion):
            return found
        count = await self.offer()
        tries = [one.session_id for step in self._run.steps.values() for one in step.tries]
        await self._laid.remove(filter(None, tries))
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

    async def offer_before(self, gate: Step) -> None:
        """Make drafts of what the steps before a gate changed, unless they clash (W-26).

        Clashes are asked about where the next step needs both sides, or at the end.
        """
        changes = self._merge.ordered(self._plan.every[gate.id])
        found, clashes = await asyncio.to_thread(self._merge.fold, changes)
        if not clashes:
            with suppress(ConfigurationError):  # the person talks there: they come at the end
                await self._offer(_changed(changes, found))

    async def offer(self) -> int:
        """Make drafts of what the run changed, with both sides of a conflict; returns how many."""
        return await self._offer(await self._all_changes())

    async def _offer(self, found: Mapping[str, tuple[str, str]]) -> int:
        """Make drafts of changes, by what files were and are, of which there are none yet.

        What was drafted at a gate and is as it was before the run is taken back.
        """
        started, drafted = self._run.started, self._run.drafted
        wanted = {path: was for path, was in found.items() if was[0] != was[1] or path in drafted}
        if not wanted or started is None:
            return 0
        sessions = self._engine.sessions
        if self._run.drafts and await self._engine.store.get(self._run.drafts) is not None:
            session_id = self._run.drafts
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
            session_id = session.info.id
            await self._recorder.record(RunDrafted(session_id))
        async with sessions.working_with(session_id) as session:
            files = await self._offer_further(session, wanted)
        if files:
            await self._recorder.record(RunDrafted(session_id, files))
        return sum(before != now for before, now in wanted.values())

    async def _offer_further(
        self, session: Session, wanted: Mapping[str, tuple[str, str]]
    ) -> tuple[ChangedFile, ...]:
        """Make drafts of the changes that were not offered at a gate; returns these."""
        drafted, files = self._run.drafted, list[ChangedFile]()
        for path, (before, now) in wanted.items():
            if drafted.get(path) != now:  # else it was offered at a gate
                approved = await asyncio.to_thread(self._approved, session, path)
                files.append(ChangedFile(path, before if approved is None else approved, now))
        new = {file.path: (file.before, file.after) for file in files if file.before != file.after}
        same = {file.path for file in files} - new.keys()
        known = (one for one in session.drafts.all if isinstance(one, FileDraft))
        old = [one.id for one in known if one.status in OPEN and one.path in same]
        await self._offer_in(session, new, further=bool(drafted), superseded=old)
        return tuple(files)

    def _approved(self, session: Session, path: str) -> str | None:
        """The digest of a file as the person approved it last; None if they never did."""
        drafts = (one for one in session.drafts.all if isinstance(one, FileDraft))
        approved = [one for one in drafts if one.path == path and one.status == "approved"]
        if not approved or approved[-1].action == "delete":
            return "" if approved else None
        text, encoding = approved[-1].after, approved[-1].encoding
        data = text.encode("latin-1") if encoding == BINARY else encode(text, encoding)
        return self._contents.put(data)

    async def hand_over(self, session: Session) -> None:
        """Make drafts in a chat of what the run changed, also in steps that are under way."""
        for one in tuple(self._run.busy):
            if one.session_id and await self._laid.open(one.key, one.session_id):
                await self._recorder.record(await self._laid.changed(one.key))
        wanted = await self._all_changes()
        known = {path for one in session.drafts.all for path in getattr(one, "paths", ())}
        new = {path: was for path, was in wanted.items() if path not in known and was[0] != was[1]}
        await self._offer_in(session, new)

    async def _all_changes(self) -> dict[str, tuple[str, str]]:
        """What files were before the run and are by its changes, by digest."""
        changes = self._merge.ordered(self._plan.every)
        found, _ = await asyncio.to_thread(self._merge.fold, changes)
        return _changed(changes, found)

    async def _offer_in(
        self,
        session: Session,
        wanted: Mapping[str, tuple[str, str]],
        *,
        further: bool = False,
        superseded: Sequence[str] = (),
    ) -> None:
        drafts = await asyncio.to_thread(
            lambda: [self._draft(one, *wanted[one]) for one in sorted(wanted)]
        )
        if drafts or superseded:
            await session.offer(drafts, further=further, superseded=superseded)

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

    @property
    def _folder(self) -> str:
        return self._run.started.folder if self._run.started else ""


def _changed(changes: Sequence[StepChanged], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What files were before these changes and are by them, by digest."""
    first: dict[str, str] = {}
    for change in changes:
        for file in change.files:
            first.setdefault(file.path, file.before)
    return {path: (first[path], after) for path, after in now.items()}
