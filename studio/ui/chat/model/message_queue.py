"""Message queue: messages sent while a turn runs wait, join its next step, or come back (L-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from studio.ui.translation import tr

from .message_input import MessageInput
from .open_chat import OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.messages import Said


class QueuedMessage(NamedTuple):
    """One message that waits, in one line."""

    id: str
    text: str
    steers: bool
    """Whether it joins the running turn at its next step."""


class MessageQueue:
    """Shows the session's queue, the oldest message first, and changes it."""

    def __init__(self, chat: OpenChat, message_input: MessageInput) -> None:
        self._chat, self._input = chat, message_input
        self.messages: Sequence[QueuedMessage] = ()
        self.running = False
        """Whether a turn can still be steered; one that is only being saved can not."""
        self._steering: tuple[str, frozenset[str]] = ("", frozenset())
        """The id of a turn, and those of the messages that are to join it."""
        self._shown: object = ((), frozenset[str](), False)
        self.offline = False
        """Whether the messages wait until the provider can be reached."""
        chat.subscribe(lambda _: self._update(), "chat", "event", "state", "offline")

    def _update(self) -> None:
        session = self._chat.session
        if session is None or session.damage:
            queued, running, steering = {}, False, frozenset[str]()
        else:
            queued, running = session.transcript.queued, self._input.state != "idle"
            steering = self._steered(session) if running else frozenset[str]()
        offline = session is not None and self._chat.runner.is_offline(session.info.id)
        shown = (tuple(queued), steering & queued.keys(), running, offline)
        if shown != self._shown:
            self._shown, self.running, self.offline = shown, running, offline
            self.messages = [
                QueuedMessage(id_, _in_one_line(parts), id_ in steering)
                for id_, parts in queued.items()
            ]
            self._chat.notify("queue")

    def _steered(self, session: Session) -> frozenset[str]:
        turn_id, steering = self._steering
        return steering if turn_id == session.transcript.turn_id else frozenset()

    def add(self, *, now: bool) -> None:
        """Queue what is typed; with ``now`` it joins the running turn at its next step.

        Without a session yet, it stays typed.
        """
        session = self._chat.session
        if session is None or session.damage:
            return
        message_id = session.queue.add(self._input.take().parts)
        if now:
            self._steer(session, message_id)
        self._update()

    def send(self, message_id: str) -> None:
        """Send a message at the next step, or begin a turn with it."""
        session = self._chat.session
        if session is None:
            return
        if self._input.state != "idle":
            self._steer(session, message_id)
            self._update()
        elif message := session.queue.get(message_id):
            self._input.set_state("running")
            self._chat.runner.start(session, message)

    def _steer(self, session: Session, message_id: str) -> None:
        session.steer(message_id)
        turn_id = session.transcript.turn_id
        self._steering = turn_id, self._steered(session) | {message_id}

    def take_back(self, message_id: str) -> None:
        """Remove a message; it goes back to the input if that is empty."""
        session = self._chat.session
        if session is None:
            return
        parts = session.queue.remove(message_id)
        if parts and not self._input.text and not self._input.attachments.blocks:
            self._input.fill(parts)


def _in_one_line(parts: Sequence[Said]) -> str:
    """A message in one line: its words, else the names of what is attached."""
    from studio.domain.messages import Text

    words = " ".join(part.text for part in parts if isinstance(part, Text)).split()
    names = [
        getattr(part, "name", "") or tr("Picture") for part in parts if not isinstance(part, Text)
    ]
    return ", ".join(filter(None, [" ".join(words)[:400], *names]))
