"""A session: runs the turns of one conversation, and carries out the person's decisions.

A view calls ``subscribe`` for the events; ``turn`` runs a turn, ``stop`` ends it,
``answer_permission`` and ``answer_question`` answer its questions.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from studio.agent.attachments import repair_text
from studio.agent.changes.draft_review import DraftReview
from studio.agent.changes.undo import Undo
from studio.agent.delegation.offers import Delegation
from studio.agent.loop.turn import Turn
from studio.agent.loop.user_messages import CUT_OFF, INTERRUPTED, describe_error
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.permission.policy import Policy
from studio.agent.services import Services
from studio.agent.session.event_channel import EventEnvelope
from studio.domain.agents import NO_CAPS, Caps, Limits, Mode
from studio.domain.aio import ended, settled
from studio.domain.blocks import DraftBlock, ToolBlock
from studio.domain.drafts import Draft
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    ChildWorks,
    Event,
    FilesRestored,
    MessageQueued,
    Notice,
    PermissionResolved,
    ReasoningDelta,
    ReplyGiven,
    TextDelta,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Said, ToolCall, ToolResult
from studio.domain.models import DEFAULT_GENERATION, Generation
from studio.domain.permissions import Answer, Rule
from studio.domain.questions import ServerAnswer
from studio.domain.sessions import SessionInfo, title_of
from studio.domain.tools import ToolSpec
from studio.tools import Tool

from .context_control import ContextControl
from .event_channel import Subscriber
from .message_queue import MessageQueue
from .message_reader import MessageReader
from .session_state import SessionInUse, SessionState
from .turn_builder import TurnBuilder
from .turn_options import ParentTurn, TurnOptions

AGAIN = 1.0
"""Seconds after an interruption in which another one ends the turn."""


def cut_off(call: ToolBlock, tools: Mapping[str, Tool]) -> bool:
    """Whether a call of a turn that is over began to act, and nobody recorded its end (W-16)."""
    known = tools.get(call.name)
    effect = known.spec.of_call(call.arguments).effect if known is not None else call.effect
    return call.started and call.state == "cancelled" and effect == "act"


class Session:
    """Made by ``Sessions``; one object for each open session."""

    def __init__(
        self,
        state: SessionState,
        services: Services,
        delegation: Delegation,
        *,
        interrupted: bool = False,
        new: bool = False,
    ) -> None:
        self.state = state
        self.transcript = state.transcript
        self.drafts = state.drafts
        self.rules = state.rules
        self.jobs = services.jobs
        self._languages = services.languages
        self._delegation = delegation
        self.resolve = services.packs.resolve
        """What the addresses of packs among some lead to; blocks (KZ-8)."""
        self.undo = Undo(
            state, services.folders, state.store.changes, lambda: services.workspace(state.info)
        )
        self.drafts.track_changes = self.undo.writing
        state.recorded = self._recorded
        self._journal = state.journal
        self._preparing: asyncio.Future[Turn] | None = None
        self._hearing: asyncio.Future[None] | None = None
        """Hooks look at what the person said, before its turn is built."""
        self._turn: Turn | None = None
        self._work: asyncio.Task[None] | None = None
        """Runs all turns of one message."""
        self._message: TurnOptions | None = None
        """The options of the message that runs, by one tier after the other."""
        self._stop_asked = self._escalating = False
        self._interrupted_at = -AGAIN
        """When the person interrupted last, by ``time.monotonic``."""
        self._exclusive = asyncio.Lock()
        self._look, self._budgets = services.sources.once, services.budgets
        self._builder = TurnBuilder(state, services, delegation, self.undo, new=new)
        self._reader = MessageReader(
            state, services, self._builder.content_filter, self._builder.hooks
        )
        self.queue = MessageQueue(state, self._builder.steering, self._reader.mask_queued)
        self.review = DraftReview(state, self._builder.workspace, self._files_changed)
        self.context = ContextControl(state, services, self._builder, self._exclusive_access)
        self.broken_off: list[str] = []
        """What the program's end broke off and may have happened, where it was found just now."""
        if state.damage:
            if self.transcript.running:  # its end cannot be written any more
                self.transcript.apply(TurnComplete("error"))
        elif interrupted:
            state.record(TurnComplete("error", "The program ended during this turn."))
            calls, tools = self.transcript.last_calls, services.toolbox.tools
            self.broken_off = [one.target or one.name for one in calls if cut_off(one, tools)]
            self.note_broken_off(self.broken_off)
            state.record(Notice(INTERRUPTED))

    # State, and what the session is based on

    @property
    def running(self) -> bool:
        return self._message is not None

    @property
    def in_use(self) -> bool:
        """Whether something works with it now: a turn, a decision about a draft, an undo."""
        return self.running or self._exclusive.locked() or self.state.users > 0

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

    def note_broken_off(self, names: Sequence[str]) -> None:
        """Tell the person of actions that may have happened; none are no news."""
        if names:
            self.state.record(Notice(CUT_OFF.format(names=escape_line(", ".join(names)))))

    async def change(self, **fields: Any) -> None:
        """Change what ``SessionState.change`` names."""
        await self.state.change(**fields)

    async def turn(
        self,
        said: Sequence[Said] | MessageQueued,
        *,
        rules: Sequence[Rule] = (),
        mode: Mode | None = None,
        limits: Limits | None = None,
        parent: ParentTurn | None = None,
        within: Policy | None = None,
        tools: Sequence[ToolSpec] = (),
        results: Sequence[ToolResult] = (),
        generation: Generation = DEFAULT_GENERATION,
        caps: Caps = NO_CAPS,
        mentions: bool = False,
        invokes: bool = False,
        least: Mode = "inline",
        call: ToolCall | None = None,
        resumable: bool = False,
        texts: bool = True,
    ) -> AsyncGenerator[EventEnvelope, None]:
        """Run one turn and yield what the channel carries of this session meanwhile.

        A ``TurnComplete`` comes last. Closing the generator stops the turn.

        ``rules`` count for this turn alone, in addition to the agent's and the
        session's; ``mode`` and ``limits`` are the agent's where not given, the mode at least
        ``least``; ``caps`` apply in addition to all others (L-14). With ``mentions`` an agent
        whose name after @ begins the words answers this one turn. ``parent`` is the
        ``as_parent`` of the session whose turn begins this one. ``within`` is the most that
        the turn may do, whatever the rules allow.

        With ``invokes``, or ``mentions``, a message that begins with the name of a skill or a
        command after a slash calls it (K-5, K-7).

        ``tools`` are run by the client: a turn that calls them ends as
        ``handed_over``, and the next one brings their ``results``. A call without a
        result gets an error.

        With a ``call`` the turn is that one call, and no model is asked (``CallLoop``).

        Without ``texts`` what an answer grows by is left out: the caller is not woken for it.

        A ``resumable`` turn that is stopped leaves its calls without results, as a killed program
        does. The next one makes those first that never began: they waited for the person, say.

        A queued message leaves the queue as its turn begins. With nothing said it tries the
        last message again. An error in the set-up ends the turn as an error in the transcript,
        so that what the person typed is kept.
        """
        message = TurnOptions(
            rules,
            mode,
            limits,
            parent,
            within,
            tools,
            results,
            generation,
            caps,
            least=least,
            call=call,
            resumable=resumable,
        )
        self._require_idle()
        words = repair_text(self.queue.send(said) if isinstance(said, MessageQueued) else said)
        self._message = message
        self._stop_asked = self._escalating = False
        stream: deque[EventEnvelope] = deque()
        more = asyncio.Event()
        complete = False

        def add(envelope: EventEnvelope) -> None:
            nonlocal complete
            grows = isinstance(envelope.event, TextDelta | ReasoningDelta)
            if not complete and (texts or not grows):
                stream.append(envelope)
                more.set()
                complete = isinstance(envelope.event, TurnComplete) and not self._escalating

        unsubscribe = self.subscribe(add)
        self._work = work = asyncio.ensure_future(
            self._run(words, message, mentions, mentions or invokes)
        )
        work.add_done_callback(lambda _: more.set())
        try:
            while stream or not work.done():
                if stream:
                    yield stream.popleft()
                else:
                    more.clear()
                    await more.wait()
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

    async def _run(
        self, said: tuple[Said, ...], message: TurnOptions, mentions: bool, invokes: bool
    ) -> None:
        """Run the turn for a message, and those of the tiers that take it over."""
        look = self._look()
        with look:
            agent = await self._reader.agent_named_by(said) if mentions else ""
            said = await self._reader.mask_words(said, agent)
            heard = await self._tell_hooks(said, message)
            options = replace(message, agent=agent) if agent else message
            if invokes:
                called = await self._reader.invocation(said)
                said, options = called.said, replace(options, opening=called.calls)
        if heard or invokes:  # it may have taken its time
            look = self._look()
        while True:
            await self._one_turn(said, options, look)
            if self._message is not message or self._journal.closed:
                return
            said, options = (
                (),
                replace(options, limits=None, results=(), opening=(), escalated=True),
            )
            look = self._look()

    async def _tell_hooks(self, said: tuple[Said, ...], message: TurnOptions) -> bool:
        """Let hooks look at what the person says; whether there are any.

        Raises ConfigurationError if it stays unsaid.
        """
        hooks = self._builder.hooks
        hooks.taken_reading()  # of a message that was not sent after all
        if message.parent is not None or message.call is not None:
            return False  # no person said it
        looking = asyncio.ensure_future(hooks.around(begins=True))
        try:
            await settled(looking)
        except asyncio.CancelledError:  # the reader has left: what was said is kept all the same
            self._stop_asked = True
        found = looking.result()
        if found is None:
            return False
        self._hearing = asyncio.ensure_future(hooks.hear(found, said))
        if self._stop_asked:  # before there was anything to cancel
            self._hearing.cancel()
        try:
            await ended(self._hearing)
            if self._hearing.cancelled():
                raise ConfigurationError(
                    "This was stopped before your hooks had looked at it, so it was not sent."
                )
            self._hearing.result()
        finally:
            self._hearing.cancel()
            self._hearing = None
        return True

    async def _one_turn(
        self, said: tuple[Said, ...], options: TurnOptions, look: AbstractContextManager[object]
    ) -> None:
        started = TurnStarted(
            self.info.id,
            uuid.uuid4().hex,
            said,
            options.agent or self.info.agent,
            self.info.provider,
            self.info.model,
            "background",
            by_agent=options.parent is not None,
        )
        self._builder.opened = []
        self._preparing = preparing = asyncio.ensure_future(self._prepare(started, options, look))
        try:
            await ended(preparing)
            if not preparing.cancelled() and isinstance(preparing.exception(), SessionInUse):
                preparing.result()
            if turn := self._built_turn(preparing):
                self._turn = turn
                self.queue.sent()
                await turn.run()
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
            await self.state.flush()

    def _end_message(self) -> None:
        self._message = None
        self.queue.end()
        self.state.working_agent = ""

    def _built_turn(self, preparing: asyncio.Future[Turn]) -> Turn | None:
        """The turn that was built; None if it was stopped first or could not be built."""
        if preparing.cancelled() or preparing.exception() or self._stop_asked:
            return None
        return preparing.result()

    def _record_failed_start(self, preparing: asyncio.Future[Turn], started: TurnStarted) -> None:
        """Record a turn that could not be built, so that what was said is kept."""
        error = None if preparing.cancelled() else preparing.exception()
        events: list[Event] = [started, *self._builder.opened, TurnComplete("cancelled")]
        if isinstance(error, Exception):
            events[-1:] = [describe_error(error), TurnComplete("error", str(error))]
        self.queue.sent()
        self._builder.history.miss(started)
        for event in events:
            self.state.record(event)

    async def offer(
        self, drafts: Sequence[Draft], *, further: bool = False, superseded: Sequence[str] = ()
    ) -> None:
        """Add drafts that were made outside of any turn, as a turn that nobody began (W-26).

        ``further`` ones belong to the turn of the first ones, and are undone with it: it is gone
        on with, also where the person said something since. The open drafts with
        the ids ``superseded`` are wanted no more. Raises ConfigurationError while a turn runs.
        """
        async with self._exclusive_access():
            info, record = self.info, self.state.record
            last = self.transcript.turn_id
            drafted = (one for one in self.transcript.blocks if isinstance(one, DraftBlock))
            turn_id = next((one.turn_id for one in drafted), last) if further else uuid.uuid4().hex
            if turn_id != last:
                whose = info.id, turn_id, (), info.agent, info.provider, info.model
                record(TurnStarted(*whose, "background", by_agent=True))
            workspace = await self._builder.workspace()
            for draft_id in superseded:
                await self.drafts.settle(draft_id, "superseded", workspace, record)
            await self.drafts.add("", drafts, workspace, record, approve=False)
            if turn_id != last:
                record(TurnComplete("done"))

    def try_now(self) -> None:
        """Skip the wait before another attempt, or give up a request that is silent."""
        if self._turn is not None and self._turn.requests is not None:
            self._turn.requests.try_now()

    def stop(self) -> None:
        """End the running turn, also while it is still being built."""
        self._stop_asked = True  # it may be built already, and not run yet
        if self._hearing is not None:
            self._hearing.cancel()
        if self._turn is not None:
            self._turn.stop()
        elif self._preparing is not None and self._journal.claimed:
            self._preparing.cancel()
        self.context.stop()
        self._delegation.stop(self.info.id)

    def stop_calls(self, call_id: str = "") -> bool:
        """End the tools that work now, or that of one call, and let the turn go on (C-25).

        Returns whether there was one, see ``WorkingCalls.stop``.
        """
        return self._turn is not None and self._turn.stop_calls(call_id)

    def interrupt(self) -> bool:
        """End the tools that work now; or the turn, if none does or this is called again soon.

        Returns whether the turn goes on (C-25). A call that asks the person is no such tool.
        """
        now = time.monotonic()
        again, self._interrupted_at = now - self._interrupted_at < AGAIN, now
        if not again and self.stop_calls():
            return True
        self.stop()
        return False

    def asks(self, question_id: str) -> bool:
        """Whether a question of the running turn waits for its answer."""
        return self._turn is not None and self._turn.approvals.asks(question_id)

    def answer_permission(self, question_id: str, answer: Answer, by: str = "") -> None:
        """Answer a permission question; ``by`` names who answers if not the person."""
        if self._turn is not None:
            self._turn.approvals.answer_permission(question_id, answer, by)

    def answer_question(self, call_id: str, *answers: str) -> None:
        """Answer the agent's questions, see ``Approvals.answer_question``."""
        if self._turn is not None:
            self._turn.approvals.answer_question(call_id, *answers)

    def answer_form(self, call_id: str, answer: ServerAnswer) -> None:
        """Answer what a server asks during a call (M-19)."""
        if self._turn is not None:
            self._turn.approvals.answer_form(call_id, answer)

    def steer(self, message_id: str) -> None:
        """Give a queued message to the running turn, if there is one."""
        if self.running:
            self.queue.steer(message_id)

    @property
    def as_parent(self) -> ParentTurn | None:
        """What the running turn hands on to the turns that it begins."""
        return self._builder.parent if self.running else None

    async def undo_turn(self, turn_id: str) -> FilesRestored:
        """Restore the files that a turn changed, but those that somebody changed since.

        Raises ConfigurationError while a turn runs, or if the turn's changes are not known.
        """
        return await self._restore(turn_id, undo=True)

    async def redo_turn(self, turn_id: str) -> FilesRestored:
        """Change the files again as the turn had; see ``undo_turn``."""
        return await self._restore(turn_id, undo=False)

    async def _restore(self, turn_id: str, *, undo: bool) -> FilesRestored:
        async with self._exclusive_access():
            try:
                return await self.undo.restore(turn_id, undo=undo)
            finally:
                await self.undo.settled()

    async def raise_cap(self, offered: Caps) -> bool:
        """Let the session use what the person was offered after its last turn (L-14).

        Returns whether that was done: not where something else would be offered by now, since
        another program raised the cap or went on. Raises ConfigurationError while a turn runs.
        """
        async with self._exclusive_access():
            stored, end = await self.state.store.get(self.info.id), self.transcript.last_end
            if stored is not None:
                self.state.info = replace(self.info, caps=stored.caps)
            if end is None or self._budgets.twice_the_cap(self.info, end) != offered:
                return False
            await self.change(caps=offered)
            return True

    async def note(self, *events: Notice | ChildWorks) -> None:
        """Record what the program has to tell; raises ConfigurationError while a turn runs."""
        async with self._exclusive_access():
            for event in events:
                self.state.record(event)

    async def find_changes(self) -> None:
        """Record the files that were changed by a turn which ended with its program."""
        if not self.damage:
            for event in await self.undo.end(self.transcript.turn_id):
                self.state.record(event)

    @asynccontextmanager
    async def _exclusive_access(self) -> AsyncGenerator[None, None]:
        """Reserve the session while no turn runs; one that begins meanwhile waits."""
        self._require_idle()
        async with self._exclusive:
            self._require_idle()
            try:
                await self.state.claim()
                yield
            finally:
                await self._release()
                await self.flush()

    async def flush(self) -> None:
        """Return when everything recorded so far is on disk."""
        await self.state.flush()
        await self._builder.recorder.settled()

    async def close(self) -> None:
        """Stop what runs and save; the session cannot be used afterwards."""
        self.stop()
        if self._work is not None:
            await ended(self._work)
        with suppress(StudioError, OSError):
            await self._builder.hooks.end()
        await self.jobs.end(self.info.id)
        await self._languages.end(self.info.id)
        await self.context.settled()
        await self.drafts.settled()
        await self.undo.settled()
        try:
            await self._builder.history.save()
        finally:
            await self._journal.close()

    def _files_changed(self) -> None:
        """Tell the running turn that the person changed files."""
        if self._turn is not None:
            self._turn.files_changed()

    def _require_idle(self) -> None:
        self.state.require_sound()
        if self.running:
            raise ConfigurationError("This session is still working. Stop it first, or wait.")

    async def _release(self) -> None:
        """Release the session once the native history is stored.

        No other program may go on without what only this one has.
        """
        history = self._builder.history
        try:
            if not history.saved:  # its turn was cancelled, or the disk fails
                await settled(asyncio.gather(history.save(), return_exceptions=True))
        finally:
            if history.saved:
                self._journal.release()

    async def _prepare(
        self, started: TurnStarted, options: TurnOptions, look: AbstractContextManager[object]
    ) -> Turn:
        async with self._exclusive:
            await self.state.claim()
        if self._stop_asked:  # before it was built, or between two tiers
            raise asyncio.CancelledError
        if started.said and not self.info.title:
            await self.change(title=title_of(started.said))
        with look:
            return await self._builder.turn(started, options)

    def _recorded(self, event: Event) -> None:
        """Update the state after an event was stored, before it is published."""
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
                if self._builder.history.saved:  # other programs may go on at once
                    self._journal.release()
            case _:
                pass

    def _set_state(self, state: str) -> None:
        """Show the state in ``info``; the journal stores the same from the events."""
        self.state.info = replace(self.info, state=state, updated=time.time())
