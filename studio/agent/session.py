"""One saved conversation: its transcript, its native history, its drafts.

Whoever shows a session subscribes to its events; whoever drives it calls
``turn``, ``answer``, ``reply``, ``stop`` and the draft methods. Each event is
folded, journalled and handed to the listeners exactly once, here.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

from studio.domain.agents import LIMITS, Agent, Limits
from studio.domain.errors import ConfigurationError, FolderGone
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    DraftResolved,
    Event,
    Notice,
    PermissionResolved,
    ReplyGiven,
    StepStarted,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Said, Text
from studio.domain.models import ModelInfo
from studio.domain.permissions import Answer, Rule
from studio.domain.sessions import SessionInfo
from studio.domain.tools import Draft, DraftStatus
from studio.domain.transcript import Transcript
from studio.providers.base import Provider
from studio.storage.sessions import SessionStore
from studio.tools import Tool, Workspace

from .drafts import SessionDrafts
from .execution import Execution
from .history import Epochs
from .policy import Policy
from .turn import Clock, Setting, Turn, failure

log = logging.getLogger(__name__)

Listener = Callable[[Event, "int | None"], None]


class Elsewhere(ConfigurationError):
    """Another program works in this session; two at once would mix their histories."""


class Surroundings(Protocol):
    """What a session needs of the rest of the house for one turn."""

    async def agent(self, name: str, folder: Path) -> Agent: ...
    async def provider(self, name: str) -> Provider: ...
    def model(self, provider: str, model: str) -> ModelInfo: ...
    def tools(self) -> dict[str, Tool]: ...
    def environment(self) -> dict[str, str]: ...
    def spill(self, session_id: str) -> Path: ...


class Session:
    """Made by ``Sessions``; one object for each open session."""

    def __init__(
        self,
        info: SessionInfo,
        store: SessionStore,
        surroundings: Surroundings,
        events: Sequence[Event],
        rules: Sequence[Rule],
        *,
        interrupted: bool = False,
    ) -> None:
        self.info = info
        self.transcript = Transcript(events)
        self.drafts = SessionDrafts(self.transcript.drafts)
        self._store = store
        self._around = surroundings
        self._rules = list(rules)
        self._journal = store.journal(info.id)
        self._listeners: list[Listener] = []
        self._preparing: asyncio.Future[Turn] | None = None
        self._turn: Turn | None = None
        self._stop_asked = False
        self._epochs = Epochs(store, info.id)
        self._unsent = _unsent(events)
        self._notes = [note for note in map(self._draft_note, _since_last_request(events)) if note]
        if interrupted:
            self._record(TurnComplete("error", "The program ended during this turn."))
            self._record(Notice("The program ended during this turn. You can go on from here."))

    # What a door may ask

    @property
    def running(self) -> bool:
        return self._preparing is not None

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear every event from now on, with the transcript block it changed."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def change(self, **fields: Any) -> None:
        """Change title, folder, agent, provider, model or permission mode."""
        self.info = replace(self.info, **fields)
        await self._store.update(self.info.id, **fields)

    async def turn(
        self, said: Sequence[Said], *, rules: Sequence[Rule] = (), limits: Limits | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run one turn and yield its events, as they are folded and saved.

        ``rules`` count for this turn alone, on top of the agent's and the session's.

        With nothing said it tries the last message again. Whatever is wrong
        with the set-up ends the turn as an error in the transcript, so that
        what the person typed is kept.
        """
        if self.running:
            raise ConfigurationError("This session is still working. Stop it first, or wait.")
        started = TurnStarted(
            self.info.id,
            uuid.uuid4().hex,
            tuple(said),
            self.info.agent,
            self.info.provider,
            self.info.model,
            "background",
        )
        self._stop_asked = False
        self._preparing = preparing = asyncio.ensure_future(self._prepare(started, rules, limits))
        try:
            await asyncio.wait([preparing])
            if not preparing.cancelled() and isinstance(preparing.exception(), Elsewhere):
                preparing.result()
            if turn := self._prepared(preparing):
                self._turn = turn
                async with aclosing(turn.events([*self._unsent, *said])) as events:
                    async for event in events:
                        yield event
            else:
                for event in self._not_begun(preparing, started):
                    yield event
        finally:
            if not preparing.done():
                preparing.cancel()
                await asyncio.wait([preparing])
                self._not_begun(preparing, started)
            self._preparing = self._turn = None
            await self.flush()

    def _prepared(self, preparing: asyncio.Future[Turn]) -> Turn | None:
        """The turn that was made, unless it was stopped first, or could not be made."""
        if preparing.cancelled() or preparing.exception() or self._stop_asked:
            return None
        return preparing.result()

    def _not_begun(self, preparing: asyncio.Future[Turn], started: TurnStarted) -> list[Event]:
        """The events of a turn that came to nothing, recorded: what was said is kept."""
        error = None if preparing.cancelled() else preparing.exception()
        events: list[Event] = [started, TurnComplete("cancelled")]
        if isinstance(error, Exception):
            events[1:] = [failure(error), TurnComplete("error", str(error))]
        for event in events:
            self._record(event)
        return events

    def stop(self) -> None:
        """End the running turn, also while it is still being made."""
        if self._turn is not None:
            self._turn.stop()
        elif self._preparing is not None:
            self._stop_asked = True  # it may be made already, and its reader not awake yet
            self._preparing.cancel()

    def answer(self, question_id: str, answer: Answer) -> None:
        if self._turn is not None:
            self._turn.answer(question_id, answer)

    def reply(self, call_id: str, text: str) -> None:
        if self._turn is not None:
            self._turn.reply(call_id, text)

    async def decide(
        self, draft_id: str, decision: Literal["approve", "discard", "undo"]
    ) -> DraftStatus:
        """Approve, discard or undo a draft; the model hears of it with its next request."""
        if decision == "discard":
            status = self.drafts.discard(draft_id, self._record)
        elif decision == "approve":
            status = await self.drafts.approve(draft_id, await self._workspace(), self._record)
        else:
            status = await self.drafts.undo(draft_id, await self._workspace(), self._record)
        if note := self._draft_note(DraftResolved(draft_id, status)):
            self._notes.append(note)
        await self.flush()
        return status

    async def edit_draft(self, draft_id: str, text: str) -> Draft:
        """Replace a waiting draft's text by the person's own."""
        old = self.drafts.get(draft_id)
        if old is None or old.status != "waiting":
            raise ConfigurationError("This draft no longer waits.")
        draft = replace(old, id=uuid.uuid4().hex, after=text)
        await self.drafts.add("", draft, await self._workspace(), self._record, approve=False)
        self._notes.append(f"The person edited the draft of {draft.path} by hand.")
        await self.flush()
        return draft

    async def flush(self) -> None:
        """Everything recorded so far is on disk when this returns."""
        await self._journal.flush()

    async def close(self) -> None:
        """Stop what runs and save; the object is of no use afterwards."""
        self.stop()
        if self._turn is not None:
            await self._turn.ended()
        elif self._preparing is not None:
            await asyncio.wait([self._preparing])
        try:
            await self._epochs.save()
        finally:
            await self._journal.close()

    # How a turn is made

    async def _prepare(
        self, started: TurnStarted, rules: Sequence[Rule], limits: Limits | None
    ) -> Turn:
        if await self._store.running_elsewhere(self.info.id):
            raise Elsewhere("Another window or terminal is working in this chat. Wait for it.")
        if started.said and not self.info.title:
            await self.change(title=_title(started.said))
        info = self.info
        folder = Path(info.folder)
        if not await asyncio.to_thread(folder.is_dir):
            raise FolderGone(
                f"The folder {info.folder} is not there any more. Choose another folder."
            )
        agent = await self._around.agent(info.agent, folder)
        provider = await self._around.provider(info.provider)
        if not info.model:
            raise ConfigurationError("No model is chosen. Choose one below the message.")
        policy = Policy(info.permission_mode, [*agent.permissions, *self._rules, *rules])
        tools = self._around.tools()
        offered = policy.offered([tool.spec for tool in tools.values()], agent.tools)
        epoch = await self._epochs.open(
            provider, info.model, _system(agent, folder), offered, self.transcript, self._unsent
        )
        for notice in epoch.notices:
            self._record(Notice(notice))
        limits = limits or LIMITS[agent.mode]
        fact = self._around.model(info.provider, info.model)
        setting = Setting(
            session_id=info.id,
            turn_id=started.turn_id,
            agent=agent.name,
            model=info.model,
            system=epoch.system,
            tools=epoch.tools,
            limits=limits,
            started=replace(started, mode=agent.mode),
            facts=fact,
            output_limit=fact.output_limit,
            notes=self._notes,
        )
        spill = await asyncio.to_thread(self._around.spill, info.id)
        workspace = await self._workspace()

        def execution(emit: Callable[[Event], None], clock: Clock) -> Execution:
            return Execution(
                session_id=info.id,
                agent=agent.name,
                tools=tools,
                offered=epoch.tools,
                policy=policy,
                workspace=workspace,
                drafts=_TurnDrafts(self.drafts, workspace, emit),
                environment=self._around.environment(),
                spill=spill,
                parallel=limits.parallel_tools,
                remember=self._remember,
                emit=emit,
                clock=clock,
            )

        return Turn(setting, provider, epoch.history, execution, self._record)

    async def _remember(self, rule: Rule) -> None:
        self._rules.append(rule)
        await self._store.add_rule(self.info.id, rule)

    async def _workspace(self) -> Workspace:
        def make() -> Workspace:
            return Workspace(self.info.folder, readable=[self._around.spill(self.info.id)])

        return await asyncio.to_thread(make)

    # What happens is folded, saved and told, once

    def _record(self, event: Event) -> None:
        index = self.transcript.apply(event)
        self._journal.append(event)
        _note_unsent(self._unsent, event)
        match event:
            case AwaitingPermission() | AwaitingReply():
                self._state("waiting")
            case TurnStarted() | PermissionResolved() | ReplyGiven():
                self._state("running")
            case TurnComplete():
                self._state(event.reason)
            case _:
                pass
        for listener in list(self._listeners):
            try:
                listener(event, index)
            except Exception:  # a view's fault must not end the turn it looks at
                log.exception("a listener failed")

    def _state(self, state: str) -> None:
        """For whoever looks at ``info``; the journal stores the same from the events."""
        self.info = replace(self.info, state=state, updated=time.time())

    def _draft_note(self, event: Event) -> str:
        """What the model is told of a draft's end, or nothing."""
        if not isinstance(event, DraftResolved):
            return ""
        draft = self.drafts.get(event.draft_id)
        path = draft.path if draft else "a file"
        return {
            "approved": f"The person approved the draft of {path}. It is written.",
            "discarded": f"The person discarded the draft of {path}. The file is unchanged.",
            "undone": f"The person undid the change of {path}. The file is as it was before.",
            "conflict": f"The draft of {path} was not written: the file had changed meanwhile.",
        }.get(event.status, "")


class _TurnDrafts:
    """The session's drafts as a turn's tools reach them."""

    def __init__(
        self, drafts: SessionDrafts, workspace: Workspace, emit: Callable[[Event], None]
    ) -> None:
        self._drafts = drafts
        self._workspace = workspace
        self._emit = emit

    def draft_of(self, path: str) -> Draft | None:
        return self._drafts.draft_of(path)

    async def propose(self, call_id: str, draft: Draft, *, approve: bool) -> None:
        await self._drafts.add(call_id, draft, self._workspace, self._emit, approve=approve)


def _system(agent: Agent, folder: Path) -> str:
    """Frozen for the session, so it names nothing that changes, no date for one."""
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system())
    return (
        f"{agent.prompt}\n\n"
        f"You work in the folder {folder} on {system}. Paths are relative to it. "
        "Files you write or edit become drafts that the person approves; "
        "reading a file shows your draft of it."
    )


def _title(said: Sequence[Said]) -> str:
    words = " ".join(part.text for part in said if isinstance(part, Text)).split()
    title = " ".join(words)
    return title if len(title) <= 60 else title[:59].rsplit(" ", 1)[0] + "…"


def _since_last_request(events: Sequence[Event]) -> list[Event]:
    """What the model has not heard of: neither a request nor a tool's result came after it."""
    told = (n for n, e in enumerate(events) if isinstance(e, StepStarted | ToolFinished))
    return list(events[max(told, default=-1) + 1 :])


def _unsent(events: Sequence[Event]) -> list[Said]:
    """What the person said in turns that ended before a request was made of it."""
    unsent: list[Said] = []
    for event in events:
        _note_unsent(unsent, event)
    return unsent


def _note_unsent(unsent: list[Said], event: Event) -> None:
    if isinstance(event, TurnStarted):
        unsent.extend(event.said)
    elif isinstance(event, StepStarted):
        unsent.clear()
