"""The open chat: its session, its listeners, and what other programs change in it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass
from studio.ui.translation import tr

from .turn_runner import TurnRunner

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.event_channel import EventEnvelope
    from studio.agent.session.session import Session
    from studio.domain.events import Event
    from studio.domain.permissions import Answer
    from studio.tools.packs.persons_act import ActDesk, Acts

log = logging.getLogger(__name__)

Part: TypeAlias = Literal[
    "engine", "chat", "event", "text", "turn", "state", "session", "sent", "input", "attachments",
    "queue", "options", "chosen", "status", "summary", "parent", "caret", "offline",
    "versions", "answers",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """Names the part of the model that changed.

    - ``engine``: the engine is attached.
    - ``chat``: another chat is on screen, or a new one; ``reloaded`` if it is the same chat
      as another program left it, ``begun`` if it is the new one, whose session was made.
    - ``event``: ``event`` happened in the session and changed the transcript's ``block``.
    - ``text``: as ``event``, where that is more of an answer or of its reasoning, which comes fifty
      times a second.
    - ``turn``: a turn began or ended.
    - ``state``: Send does something else now, see ``MessageInput.state``.
    - ``session``: the session was made, or its title, state or model changed.
    - ``sent``: a message was sent.
    - ``answers``: an answer to one of several questions was typed.
    - ``versions``: other messages or answers of the chat have versions now.
    - ``chosen``: the person chose another agent, model, mode or folder.
    - ``options``: agents, models or the choice between them may have changed.
    - ``offline``: the message begins to wait until the provider can be reached, or ends that.
    - ``input``, ``caret``, ``attachments``, ``queue``, ``status``, ``summary``: what these
      parts show.
    """

    part: Part
    event: Event | None = None
    block: int | None = None
    reloaded: bool = False
    begun: bool = False


Listener: TypeAlias = Callable[[Change], None]


@cache
def _growing() -> tuple[type, ...]:
    """The events that are more text; imported with the first event, not at the start."""
    from studio.domain.events import ReasoningDelta, TextDelta

    return TextDelta, ReasoningDelta


class OpenChat:
    """Holds the session on screen and the engine; all parts of the model share it.

    ``report`` takes a problem in words for the person.
    """

    def __init__(self, runner: TurnRunner, report: Callable[[str], None]) -> None:
        self.runner, self.report = runner, report
        self.engine: Engine | None = None
        """None until the program has loaded what it needs."""
        self.session: Session | None = None
        """None for a chat that has not begun."""
        self.desk: ActDesk | None = None
        """Proves what the person clicks on for drafts of packs (KZ-5)."""
        self._unsubscribe: Callable[[], None] | None = None
        self._listeners: list[tuple[tuple[Part, ...], Listener]] = []
        self._changes: deque[Change] = deque()
        self._notifying = False
        self._tasks = BackgroundTasks()

    def decided(self, decision: str, session: Session, draft_ids: Sequence[str]) -> Acts:
        """The proof of what the person clicked on just now."""
        drafts = (session.drafts.get(one) for one in draft_ids)
        return self.desk.decided(decision, drafts) if self.desk is not None else {}

    # Listeners

    def subscribe(self, listener: Listener, *parts: Part) -> Callable[[], None]:
        """Call ``listener`` with each change of these parts, of all if none is named.

        Returns a function that ends the subscription.
        """
        entry = (parts, listener)
        self._listeners.append(entry)

        def end() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return end

    def notify(
        self,
        part: Part,
        *,
        event: Event | None = None,
        block: int | None = None,
        reloaded: bool = False,
        begun: bool = False,
    ) -> None:
        """Call the listeners. A change that a listener makes is told after the one before it."""
        self._changes.append(Change(part, event, block, reloaded, begun))
        if self._notifying:
            return
        self._notifying = True
        try:
            while self._changes:
                change = self._changes.popleft()
                for parts, listener in tuple(self._listeners):
                    if parts and change.part not in parts:
                        continue
                    try:
                        listener(change)
                    except Exception:  # the other listeners are called all the same
                        log.exception("a listener of the chat failed")
        finally:
            self._notifying = False

    # The session

    def show(self, session: Session | None, *, reloaded: bool = False, begun: bool = False) -> None:
        """Put a session on screen; None for a chat that has not begun. See ``Change``."""
        self._leave()
        self.session = session
        if session is not None:
            self._unsubscribe = session.subscribe(self._on_event)
        self.notify("chat", reloaded=reloaded, begun=begun)

    def _leave(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _on_event(self, envelope: EventEnvelope) -> None:
        grows = isinstance(envelope.event, _growing())
        self.notify("text" if grows else "event", event=envelope.event, block=envelope.block)

    # Background tasks

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the background; a failure is reported to the person."""
        return self._tasks.start(
            work, lambda error: self.report(str(error) or type(error).__name__)
        )

    async def finish(self) -> None:
        """Wait a second for the background tasks, then cancel those that are left."""
        self._leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._tasks.settled()
        await self._tasks.aclose()
        self._listeners.clear()


class ExternalChanges:
    """Notices that another program works in the open chat, and shows what it did.

    ``state`` is ``working`` while it does, ``went_on`` when it has changed the chat.
    """

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat
        self.state: Literal["", "working", "went_on"] = ""
        chat.subscribe(self._reset, "chat", "turn")

    def _reset(self, change: Change) -> None:
        self.state = ""

    async def refresh(self) -> None:
        """Show the chat as it is stored now, if another program has changed it."""
        chat, engine, session = self._chat, self._chat.engine, self._chat.session
        if engine is None or session is None or session.running:
            return
        fresh = await engine.sessions.open(session.info.id)
        working = await engine.store.running_elsewhere(session.info.id)
        if chat.session is not session or session.running:
            return
        before = self.state
        if fresh is not session:
            chat.show(fresh, reloaded=True)
        if working:
            self.state = "working"
        elif fresh is not session or before:
            self.state = "went_on"
        chat.notify("status")

    async def ensure_free(self) -> None:
        """Raise ConfigurationError while another program works in the chat."""
        await self.refresh()
        if self.state == "working":
            raise ConfigurationError(
                tr("Another window or terminal is working in this chat. Wait for it.")
            )

    async def answer(self, question_id: str, answer: Answer) -> None:
        """Answer a permission question that another program asks in this chat."""
        engine, session = self._chat.engine, self._chat.session
        if engine is None or session is None:
            return
        for asked in await engine.questions.waiting():
            if asked.session_id == session.info.id and asked.question.id == question_id:
                await engine.questions.answer(asked.id, "deny" if answer == "deny" else "once")
