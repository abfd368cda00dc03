"""A session: runs the turns of one saved conversation, and what the person does between them.

A view calls ``subscribe`` for the events; ``turn`` runs a turn, ``stop`` ends it,
``answer_permission`` and ``answer_question`` answer its questions.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from studio.agent.attachments import whole
from studio.agent.changes.draft_review import DraftDecision, DraftReview
from studio.agent.changes.draft_store import DraftStore
from studio.agent.changes.undo import Undo
from studio.agent.loop.turn import Turn
from studio.agent.loop.user_messages import describe_error
from studio.agent.permission.policy import Policy
from studio.agent.services import Services
from studio.domain.agents import NO_CAPS, Caps, Limits, Mode
from studio.domain.aio import settled
from studio.domain.drafts import Draft, DraftStatus
from studio.domain.envelope import EventEnvelope
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    Exposed,
    FilesRestored,
    Notice,
    PermissionResolved,
    Recounted,
    ReplyGiven,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Message, Said, ToolResult
from studio.domain.models import AS_IT_IS, Generation
from studio.domain.permissions import Answer, Rule
from studio.domain.sessions import SessionInfo
from studio.domain.tools import ToolSpec
from studio.storage.sessions.store import SessionStore
from studio.tools.drafts.draft_conflict import Conflict

from .context_control import ContextControl
from .event_channel import EventChannel, Subscriber
from .message_queue import MessageQueue
from .session_state import SessionState
from .titles import title_of
from .turn_builder import ParentTurn, TurnBuilder, TurnOptions

MANY = 1_000
"""Messages; more are folded in a thread."""


class SessionInUse(ConfigurationError):
    """Another program works in this session; two at once would mix their histories."""


class Session:
    """Made by ``Sessions``; one object for each open session."""

    def __init__(
        self,
        info: SessionInfo,
        store: SessionStore,
        services: Services,
        channel: EventChannel,
        events: Sequence[Event],
        *,
        interrupted: bool = False,
        damage: str = "",
        new: bool = False,
    ) -> None:
        self.state = state = SessionState(
            info,
            store,
            channel,
            lambda transcript: DraftStore(transcript.drafts, services.draft_targets),
            events,
            damage,
        )
        self.transcript = state.transcript
        self.drafts = state.drafts
        self.rules = state.rules
        self.files = Undo(state, services.folders, store.changes)
        self.drafts.around = self.files.writing
        state.recorded = self._recorded
        self._journal = state.journal
        self._preparing: asyncio.Future[Turn] | None = None
        self._turn: Turn | None = None
        self._work: asyncio.Task[None] | None = None
        """Runs the turns of a message."""
        self._message: TurnOptions | None = None
        """The options of the message that is worked on, by one tier after the other."""
        self._stop_asked = self._escalating = False
        self._exclusive = asyncio.Lock()
        self._builder = TurnBuilder(state, services, self.files, new=new)
        self.queue = MessageQueue(state, self._builder.steering)
        self._review = DraftReview(state, self._builder.workspace)
        self.memory = ContextControl(state, self._builder, self._exclusive_access)
        if damage:
            if self.transcript.running:  # nobody can write its end
                self.transcript.apply(TurnComplete("error"))
        elif interrupted:
            self.state.record(TurnComplete("error", "The program ended during this turn."))
            self.state.record(
                Notice("The program ended during this turn. You can go on from here.")
            )

    # State, and what the session is based on

    @property
    def running(self) -> bool:
        return self._message is not None

    @property
    def escalating(self) -> bool:
        """Whether a turn is over and the next tier takes over its message (L-13)."""
        return self.running and self._escalating

    @property
    def info(self) -> SessionInfo:
        return self.state.info

    @property
    def damage(self) -> str:
        """What is wrong with a session that can only be read; empty for a sound one."""
        return self.state.damage

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with every envelope of this session from now on.

        Returns a function that ends the subscription.
        """
        return self.state.channel.subscribe(subscriber, self.info.id)

    async def change(self, **fields: Any) -> None:
        """Change title, folder, agent, provider, model or permission mode.

        A model that is changed counts as chosen, unless ``model_chosen`` says otherwise.
        """
        await self.state.change(**fields)

    async def turn(
        self,
        said: Sequence[Said],
        *,
        rules: Sequence[Rule] = (),
        mode: Mode | None = None,
        limits: Limits | None = None,
        parent: ParentTurn | None = None,
        within: Policy | None = None,
        tools: Sequence[ToolSpec] = (),
        results: Sequence[ToolResult] = (),
        generation: Generation = AS_IT_IS,
        caps: Caps = NO_CAPS,
    ) -> AsyncGenerator[EventEnvelope, None]:
        """Run one turn and yield what the channel carries of this session meanwhile.

        A ``TurnComplete`` comes last. A reader that walks away stops the turn.

        ``rules`` count for this turn alone, on top of the agent's and the
        session's; ``mode`` and ``limits`` are the agent's where not given, ``caps``
        hold beside all others (L-14). A turn that another one begins has its
        bounds too: that session's ``as_parent``.
        ``within`` is what the turn may do at most, whatever else allows.

        ``tools`` are run by the client: a turn that calls them ends as
        ``handed_over``, and the next one brings their ``results``. A call that
        is not among these gets an error.

        With nothing said it tries the last message again. Whatever is wrong
        with the set-up ends the turn as an error in the transcript, so that
        what the person typed is kept.
        """
        message = TurnOptions(rules, mode, limits, parent, within, tools, results, generation, caps)
        words = whole(said)
        self._require_idle()
        self._message = message
        self._stop_asked = self._escalating = False
        stream: asyncio.Queue[EventEnvelope | None] = asyncio.Queue()
        complete = False

        def add(envelope: EventEnvelope) -> None:
            nonlocal complete
            if not complete:
                stream.put_nowait(envelope)
                complete = isinstance(envelope.event, TurnComplete) and not self._escalating

        unsubscribe = self.subscribe(add)
        self._work = work = asyncio.ensure_future(self._run(words, message))
        work.add_done_callback(lambda _: stream.put_nowait(None))
        try:
            while (envelope := await stream.get()) is not None:
                yield envelope
        finally:
            unsubscribe()
            if not complete:
                work.cancel()
            try:
                await settled(work)
            finally:
                if self._message is message:
                    self._end_message()
            if not work.cancelled():
                work.result()

    async def _run(self, said: tuple[Said, ...], message: TurnOptions) -> None:
        """Run the turn that works on a message, and those of the tiers that take it over."""
        options = message
        while True:
            await self._one_turn(said, options)
            if self._message is not message or self._journal.closed:
                return
            said, options = (), replace(message, limits=None, results=(), escalated=True)

    async def _one_turn(self, said: tuple[Said, ...], options: TurnOptions) -> None:
        started = TurnStarted(
            self.info.id,
            uuid.uuid4().hex,
            said,
            self.info.agent,
            self.info.provider,
            self.info.model,
            "background",
        )
        self._builder.opened = []
        self._preparing = preparing = asyncio.ensure_future(self._prepare(started, options))
        try:
            await asyncio.wait([preparing])
            if not preparing.cancelled() and isinstance(preparing.exception(), SessionInUse):
                preparing.result()
            if turn := self._built_turn(preparing):
                self._turn = turn
                await turn.run(self.state.pending.words(said))
            else:
                self._record_failed_start(preparing, started)
        finally:
            cut_short = not preparing.done()
            preparing.cancel()
            try:
                await settled(preparing)
            finally:
                if cut_short and self._journal.claimed:
                    self._record_failed_start(preparing, started)
                try:
                    await self._release()
                finally:
                    self._preparing = self._turn = None
                    if not self._escalating:
                        self._end_message()
                self._builder.steering.clear()
            await self.flush()

    def _end_message(self) -> None:
        self._message = None
        self.state.working_agent = ""

    def _built_turn(self, preparing: asyncio.Future[Turn]) -> Turn | None:
        """The turn that was built; None if it was stopped first or could not be built."""
        if preparing.cancelled() or preparing.exception() or self._stop_asked:
            return None
        return preparing.result()

    def _record_failed_start(self, preparing: asyncio.Future[Turn], started: TurnStarted) -> None:
        """Record a turn that came to nothing: what was said is kept."""
        error = None if preparing.cancelled() else preparing.exception()
        events: list[Event] = [started, *self._builder.opened, TurnComplete("cancelled")]
        if isinstance(error, Exception):
            events[-1:] = [describe_error(error), TurnComplete("error", str(error))]
        for event in events:
            self.state.record(event)

    def try_now(self) -> None:
        """Skip the wait before another attempt, or give up a request that is silent."""
        if self._turn is not None:
            self._turn.try_now()

    def stop(self) -> None:
        """End the running turn, also while it is still being made."""
        self._stop_asked = True  # it may be made already, and its reader not awake yet
        if self._turn is not None:
            self._turn.stop()
        elif self._preparing is not None and self._journal.claimed:
            self._preparing.cancel()
        self.memory.stop()

    def answer_permission(self, question_id: str, answer: Answer, by: str = "") -> None:
        """``by`` says who answers where that is not the person, for the audit."""
        if self._turn is not None:
            self._turn.answer_permission(question_id, answer, by)

    def answer_question(self, call_id: str, text: str) -> None:
        if self._turn is not None:
            self._turn.answer_question(call_id, text)

    # What the person says while a turn runs

    def steer(self, message_id: str) -> None:
        """Give a queued message to the running turn, if there is one."""
        if self.running:
            self.queue.steer(message_id)

    @property
    def as_parent(self) -> ParentTurn | None:
        """The bounds of the running turn, for turns that it begins."""
        return self._builder.parent if self.running else None

    async def begin_with(self, messages: Sequence[Message]) -> None:
        """Begin with a conversation that somebody else tells; before any turn."""
        info = self.info
        recounted = Recounted(tuple(messages), info.agent, info.provider, info.model)
        if len(messages) > MANY:  # nobody sees the session yet
            self.state.publish(recounted, await asyncio.to_thread(self.transcript.apply, recounted))
        else:
            self.state.record(recounted)
        if info.origin != "server":  # of a file, which anybody may have written
            self.state.record(Exposed("untrusted", "what was said elsewhere"))
        elif any(isinstance(block, ToolResult) for one in messages for block in one.blocks):
            self.state.record(Exposed("untrusted", "results that the client tells of"))
        await self.flush()

    async def decide(self, draft_id: str, decision: DraftDecision) -> DraftStatus:
        """Approve, discard or undo a draft; the next request tells the model."""
        return (await self.decide_all(decision, [draft_id]))[draft_id]

    async def decide_all(
        self, decision: DraftDecision, draft_ids: Sequence[str] = (), *, turn_id: str = ""
    ) -> dict[str, DraftStatus]:
        """Decide several drafts, or all that wait of one turn; see ``DraftReview.decide``."""
        self.state.require_sound()
        if turn_id:
            drafts = self.transcript.drafts_of(turn_id)
            draft_ids = [draft.id for draft in drafts if draft.status == "waiting"]
        decided = await self._review.decide(draft_ids, decision)
        self._changed()
        return decided

    async def edit_draft(self, draft_id: str, text: str) -> Draft:
        """Replace a waiting draft's text by the person's own."""
        self.state.require_sound()
        draft = await self._review.edit(draft_id, text)
        self._changed()
        return draft

    async def conflict(self, draft_id: str) -> Conflict:
        """A draft whose file changed meanwhile, with the three versions of the text."""
        return await self._review.conflict(draft_id)

    async def resolve(self, draft_id: str, text: str | None, on: Conflict | None = None) -> Draft:
        """Make a draft anew on top of the file as it is now; see ``DraftReview.resolve``."""
        self.state.require_sound()
        draft = await self._review.resolve(draft_id, text, on)
        self._changed()
        return draft

    async def undo_turn(self, turn_id: str) -> FilesRestored:
        """Put back the files that a turn changed; what another hand changed since is left.

        Raises ConfigurationError while a turn runs, or if nothing is known of the turn's changes.
        """
        return await self._restore(turn_id, undo=True)

    async def redo_turn(self, turn_id: str) -> FilesRestored:
        """Change the files again as the turn had; see ``undo_turn``."""
        return await self._restore(turn_id, undo=False)

    async def _restore(self, turn_id: str, *, undo: bool) -> FilesRestored:
        async with self._exclusive_access():
            try:
                return await self.files.restore(turn_id, undo=undo)
            finally:
                await self.files.settled()

    async def find_changes(self) -> None:
        """Tell what a turn changed that ended with its program."""
        if not self.damage:
            for event in await self.files.end(self.transcript.turn_id):
                self.state.record(event)

    @asynccontextmanager
    async def _exclusive_access(self) -> AsyncGenerator[None, None]:
        """Around work in the session while no turn runs; one that begins meanwhile waits."""
        self._require_idle()
        async with self._exclusive:
            self._require_idle()
            try:
                await self._claim()
                yield
            finally:
                await self._release()
                await self.flush()

    async def flush(self) -> None:
        """Everything recorded so far is on disk when this returns."""
        await self.state.flush()

    async def close(self) -> None:
        """Stop what runs and save; the object is of no use afterwards."""
        self.stop()
        if self._work is not None:
            await asyncio.wait([self._work])
        await self.memory.settled()
        await self.drafts.settled()
        await self.files.settled()
        try:
            await self._builder.history.save()
        finally:
            await self._journal.close()

    def _changed(self) -> None:
        """The person changed files under a running turn."""
        if self._turn is not None:
            self._turn.files_changed()

    def _require_idle(self) -> None:
        self.state.require_sound()
        if self.running:
            raise ConfigurationError("This session is still working. Stop it first, or wait.")

    async def _claim(self) -> None:
        """Have the session for this program alone, until ``_release``."""
        claim = asyncio.ensure_future(self._journal.claim())
        try:
            await settled(claim)  # stopped or not, nothing is told in a chat that is another's
        finally:
            elsewhere = claim.result()
            if elsewhere.running:
                raise SessionInUse(
                    "Another window or terminal is working in this chat. Wait for it."
                )
            if elsewhere.changed:
                raise SessionInUse(
                    "Another window or terminal went on with this chat. Open it again."
                )

    async def _release(self) -> None:
        """Once all of it is stored: no other program may go on without what is here alone."""
        history = self._builder.history
        try:
            if not history.saved:  # whoever wrote it was stopped, or the disk fails
                await settled(asyncio.gather(history.save(), return_exceptions=True))
        finally:
            if history.saved:
                self._journal.release()

    async def _prepare(self, started: TurnStarted, options: TurnOptions) -> Turn:
        async with self._exclusive:
            await self._claim()
        if self._stop_asked:  # before, or between two tiers
            raise asyncio.CancelledError
        if started.said and not self.info.title:
            await self.change(title=title_of(started.said))
        return await self._builder.turn(started, options)

    def _recorded(self, event: Event) -> None:
        """An event is in the transcript and the journal, and the listeners come next."""
        match event:
            case AwaitingPermission() | AwaitingReply():
                self._set_state("waiting")
            case TurnStarted() | PermissionResolved() | ReplyGiven():
                if isinstance(event, TurnStarted):
                    self.state.working_agent = event.agent
                self._escalating = False
                self._set_state("running")
            case TurnComplete():
                self._escalating = event.reason in self._builder.escalates
                self._set_state(event.reason)
                if self._builder.history.saved:  # then it is free with its end
                    self._journal.release()
            case _:
                pass

    def _set_state(self, state: str) -> None:
        """Show the state in ``info``; the journal stores the same from the events."""
        self.state.info = replace(self.info, state=state, updated=time.time())
