"""The channel of events delivers each envelope once to every subscriber."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from studio.domain.envelope import EventEnvelope

log = logging.getLogger(__name__)

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
