"""The event channel: delivers each event once to every subscriber.

An event travels in an envelope, which names the run, agent and step that it comes
from, to the window, the terminal, the server, the editor protocol and whatever else
follows a session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from studio.domain.events import Event
from studio.domain.records import dataclass
from studio.domain.sessions import Caller

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventEnvelope:
    """One event of one session, folded and on its way to the disk.

    ``run_id`` is the id of the turn that the event belongs to, or of the last turn
    before it; empty where the session has had none. ``agent`` is the name of the
    agent that works in the session, ``step`` the number of the turn's model request
    (0 before the first). ``block`` is the index of the transcript block that the
    event changed, None where it changed none. ``caller`` began the session, None for a chat.
    """

    session_id: str
    run_id: str
    agent: str
    step: int
    event: Event
    block: int | None = None
    caller: Caller | None = None


Subscriber: TypeAlias = Callable[[EventEnvelope], None]


class EventChannel:
    """One channel for all sessions of a program; its methods are called on the event loop.

    Subscribers are called in the order in which they subscribed, when an event has
    been folded into its transcript and handed to the journal.
    """

    def __init__(self) -> None:
        self._subscribers: list[tuple[str, Subscriber]] = []

    def subscribe(self, subscriber: Subscriber, session_id: str = "") -> Callable[[], None]:
        """Call ``subscriber`` with every envelope from now on, or with those of one session.

        Returns a function that ends the subscription; it may be called twice.
        """
        entry = (session_id, subscriber)
        self._subscribers.append(entry)

        def unsubscribe() -> None:
            self._subscribers = [one for one in self._subscribers if one is not entry]

        return unsubscribe

    def has_subscribers(self, session_id: str) -> bool:
        """Whether somebody follows this session in particular."""
        return any(wanted == session_id for wanted, _ in self._subscribers)

    def publish(self, envelope: EventEnvelope) -> None:
        """Deliver an envelope; a subscriber that fails is logged and disturbs nobody else."""
        for session_id, subscriber in self._subscribers.copy():
            if session_id and session_id != envelope.session_id:
                continue
            try:
                subscriber(envelope)
            except Exception:
                log.exception("a subscriber of the event channel failed")
