"""The message queue: keeps messages that the person sends while a turn runs (L-1)."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Sequence

from studio.agent.attachments import repair_text
from studio.domain.events import MessageQueued, MessageTaken
from studio.domain.messages import Said

from .session_state import SessionState


class MessageQueue:
    """The queued messages of one session; the transcript holds them, so a restart keeps them."""

    def __init__(
        self,
        state: SessionState,
        steering: deque[MessageQueued],
        mask: Callable[[tuple[Said, ...]], tuple[Said, ...]],
    ) -> None:
        """``steering`` are the messages that the running turn reads with its next request.

        ``mask`` masks what the person says, if they want that (T-9).
        """
        self._state = state
        self._steering = steering
        self._mask = mask

    def add(self, said: Sequence[Said]) -> str:
        """Queue a message until the turn is done; returns its id.

        Raises ConfigurationError if it cannot be masked.
        """
        self._state.require_sound()
        message = MessageQueued(uuid.uuid4().hex, self._mask(repair_text(said)))
        self._state.record(message)
        return message.message_id

    def remove(self, message_id: str) -> tuple[Said, ...]:
        """Take a message out of the queue; returns its content, empty if it was sent by now."""
        said = self._state.transcript.queued.get(message_id, ())
        if said:
            self._state.record(MessageTaken(message_id))
        return said

    def steer(self, message_id: str) -> None:
        """Give a queued message to the running turn.

        If the turn ends before its next request, the message stays queued.
        """
        said = self._state.transcript.queued.get(message_id)
        if said is not None:
            self._steering.append(MessageQueued(message_id, said))

    def take_next(self) -> tuple[Said, ...]:
        """Take the oldest message out of the queue, for a turn of its own."""
        return self.remove(next(iter(self._state.transcript.queued), ""))
