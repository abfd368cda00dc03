"""What is said while a turn runs: it waits, goes out at the next step, or comes back (L-1)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .composer import Composer
from .queue import QueueView
from .runs import TurnRunner

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session import Session
    from studio.domain.messages import Said


class Page(Protocol):
    """What the queue needs of the chat page."""

    session: Session | None
    composer: Composer
    queue: QueueView

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...


class MessageQueue:
    """Keeps the rows above the composer as the session's queue is, and does what they say."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._runs: TurnRunner | None = None
        self._steering: tuple[str, frozenset[str]] = ("", frozenset())
        """A turn, and the messages that are to reach it."""
        page.composer.queued.connect(self._queued)
        page.queue.send_wanted.connect(self._send)
        page.queue.back_wanted.connect(self._back)

    def live(self, runs: TurnRunner) -> None:
        self._runs = runs

    def show(self) -> None:
        session = self._page.session
        if session is None or session.damage:
            self._page.queue.show_queue({}, frozenset(), running=False)
            return
        steering = self._steered(session) if self._running else frozenset[str]()
        self._page.queue.show_queue(session.transcript.queued, steering, self._running)

    @property
    def _running(self) -> bool:
        """Whether a turn can still be steered; one that is only being saved can not."""
        return self._page.composer.state != "idle"

    def _steered(self, session: Session) -> frozenset[str]:
        turn_id, steering = self._steering
        return steering if turn_id == session.transcript.turn_id else frozenset()

    def _queued(self, text: str, now: bool) -> None:
        """The person typed while a turn runs; without a session yet, the words stay typed."""
        page, session = self._page, self._page.session
        if session is None or session.damage:
            return
        from studio.domain.messages import Text

        attached = page.composer.attachments.take()
        page.composer.clear()
        words = [Text(text)] if text else []
        message_id = session.queue([*(one.block for one in attached), *words])
        if now:
            self._steer(session, message_id)
        self.show()

    def _send(self, message_id: str) -> None:
        session, runs = self._page.session, self._runs
        if session is None or runs is None:
            return
        if self._running:
            self._steer(session, message_id)
            self.show()
        elif said := session.unqueue(message_id):
            self._page.composer.set_state("running")
            runs.start(session, said)

    def _steer(self, session: Session, message_id: str) -> None:
        session.steer(message_id)
        turn_id = session.transcript.turn_id
        self._steering = turn_id, self._steered(session) | {message_id}

    def _back(self, message_id: str) -> None:
        """Take a message out; into the composer, if nothing is typed there."""
        page, session = self._page, self._page.session
        if session is None:
            return
        said = session.unqueue(message_id)
        composer = page.composer
        if said and not composer.text and not composer.attachments.blocks:
            self._put_back(said)
        composer.setFocus()

    def _put_back(self, said: Sequence[Said]) -> None:
        from studio.domain.messages import Text

        composer = self._page.composer
        composer.attachments.replace([part for part in said if not isinstance(part, Text)])
        composer.set_text("\n".join(part.text for part in said if isinstance(part, Text)))
