"""The open chat: session on screen, engine, background tasks, and listeners to changes."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .turn_runner import TurnRunner

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.envelope import EventEnvelope
    from studio.domain.events import Event

log = logging.getLogger(__name__)

Part: TypeAlias = Literal[
    "engine", "chat", "event", "turn", "state", "session", "sent", "input", "attachments",
    "queue", "options", "chosen", "status", "summary", "parent",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """Names the part of the model that changed.

    - ``engine``: the engine is there.
    - ``chat``: another chat is on screen, or a new one; ``reloaded`` if it is the same chat
      as another program left it.
    - ``event``: ``event`` happened in the session and changed the transcript's ``block``.
    - ``turn``: a turn began or ended.
    - ``state``: what Send does is another thing, see ``MessageInput.state``.
    - ``session``: the session has another title, state or model, or was made.
    - ``sent``: a message was sent.
    - ``chosen``: the person chose another agent, model, mode or folder.
    - ``options``: agents, models or the choice between them may be others now.
    - ``input``, ``attachments``, ``queue``, ``status``, ``summary``: what these parts show.
    """

    part: Part
    event: Event | None = None
    block: int | None = None
    reloaded: bool = False


Listener: TypeAlias = Callable[[Change], None]


class OpenChat:
    """Shared by all parts of the model.

    ``report`` takes a problem in words for the person.
    """

    def __init__(self, runner: TurnRunner, report: Callable[[str], None]) -> None:
        self.runner, self.report = runner, report
        self.engine: Engine | None = None
        """None until the program has loaded what it needs."""
        self.session: Session | None = None
        """None for a chat that has not begun."""
        self._unsubscribe: Callable[[], None] | None = None
        self._listeners: list[tuple[tuple[Part, ...], Listener]] = []
        self._changes: deque[Change] = deque()
        self._notifying = False
        self._tasks: set[asyncio.Task[Any]] = set()

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
    ) -> None:
        """Tell every listener. A change made by a listener is told after the one before it."""
        self._changes.append(Change(part, event, block, reloaded))
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
                    except Exception:  # the others are told all the same
                        log.exception("a listener of the chat failed")
        finally:
            self._notifying = False

    # The session

    def show(self, session: Session | None, *, reloaded: bool = False) -> None:
        """Put a session on screen, or a chat that has not begun."""
        self.leave()
        self.session = session
        if session is not None:
            self._unsubscribe = session.subscribe(self._happened)
        self.notify("chat", reloaded=reloaded)

    def leave(self) -> None:
        """Listen no more to the session on screen."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _happened(self, envelope: EventEnvelope) -> None:
        self.notify("event", event=envelope.event, block=envelope.block)

    # Background tasks

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the background; a failure is reported to the person."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.report(str(error) or type(error).__name__)

    async def finish(self) -> None:
        """Wait a second for the background tasks, then cancel those that are left."""
        self.leave()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
