"""The message queue: keeps messages that the person sends while a turn runs (L-1)."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Sequence

from studio.agent.attachments import repair_text
from studio.domain.errors import ConfigurationError
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
        self._sending = ""
        """The id of the message that the present turn sends."""

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
        message = self.get(message_id)
        if message is None:
            return ()
        if message in self._steering:
            self._steering.remove(message)
        self._state.record(MessageTaken(message_id))
        return message.said

    def steer(self, message_id: str) -> None:
        """Give a queued message to the running turn.

        If the turn ends before its next request, the message stays queued.
        """
        message = self.get(message_id)
        if message is not None and message not in self._steering:
            self._steering.append(message)

    def get(self, message_id: str) -> MessageQueued | None:
        """A message, for ``Session.turn``; None if it was sent or removed by now."""
        said = self._state.transcript.queued.get(message_id)
        return MessageQueued(message_id, said) if said and message_id != self._sending else None

    @property
    def next(self) -> MessageQueued | None:
        """The oldest message."""
        return self.get(next(iter(self._state.transcript.queued), ""))

    def send(self, message: MessageQueued) -> tuple[Said, ...]:
        """Reserve a message for the turn that is prepared now; returns its content.

        Raises ConfigurationError if it was sent or removed by now.
        """
        if self.get(message.message_id) is None:
            raise ConfigurationError("This message was sent or taken back by now.")
        self._sending = message.message_id
        return message.said

    def sent(self) -> None:
        """Record that the message leaves the queue.

        Its turn begins in the same write: a crash neither loses it nor sends it twice.
        """
        if self._sending in self._state.transcript.queued:
            self._state.record(MessageTaken(self._sending))

    def end(self) -> None:
        """The turn is over; a message that it did not send waits on."""
        self._sending = ""
