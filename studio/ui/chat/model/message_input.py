"""Message input: the text and attachments that are being written, and what Send does now.

The state follows the events of the session alone (G-2), except that sending
shows Stop at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .attachments import Attachment, AttachmentList
from .open_chat import Change, OpenChat

if TYPE_CHECKING:
    from studio.domain.messages import Said

State: TypeAlias = Literal["idle", "running", "waiting"]


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A message as it was typed, on its way to the agent."""

    text: str
    attachments: Sequence[Attachment]

    @property
    def parts(self) -> list[Said]:
        """What the agent is sent: the files, then the text."""
        from studio.domain.messages import Text

        files = [item.block for item in self.attachments if item.block is not None]
        return [*files, *([Text(self.text)] if self.text else [])]


class MessageInput:
    """Keeps what is typed and attached; ``state`` says whether Send sends or stops.

    ``running`` shows Stop; ``waiting`` shows Send again: a message answers instead.
    """

    def __init__(self, chat: OpenChat, attachments: AttachmentList) -> None:
        self._chat = chat
        self.attachments = attachments
        self.text = ""
        self.state: State = "idle"
        self.editing = ""
        """The turn whose message is edited here, to be sent anew in a branch."""
        chat.subscribe(self._changed, "chat", "event")

    @property
    def closed(self) -> str:
        """Why nothing can be written; empty where it can."""
        session = self._chat.session
        return "This chat can only be read" if session is not None and session.damage else ""

    @property
    def ready(self) -> bool:
        """Whether there is something to send."""
        files = self.attachments
        return bool(self.text.strip() or files.blocks) and not files.reading and not self.closed

    def set_text(self, text: str) -> None:
        """Replace the text; an edited message whose text is deleted is edited no more."""
        if text == self.text:
            return
        self.text = text
        if self.editing and not text:
            self.edit("")
        self._chat.notify("input")

    def edit(self, turn_id: str) -> None:
        """Note that what is typed replaces the message of a turn; of none if it is empty."""
        self.editing = turn_id
        self._chat.notify("status")

    def set_state(self, state: State) -> None:
        self.state = state
        self._chat.notify("input")

    def take(self) -> TypedMessage:
        """Return what can be sent and leave the input empty."""
        message = TypedMessage(self.text.strip(), self.attachments.take())
        self.set_text("")
        return message

    def put_back(self, message: TypedMessage) -> None:
        """Restore what ``take`` returned: it could not be sent."""
        self.set_state("idle")
        self.set_text(message.text)
        self.attachments.put_back(message.attachments)

    def fill(self, parts: Sequence[Said], text: str | None = None) -> None:
        """Replace everything by a message that was sent or queued before."""
        from studio.domain.messages import Text

        self.attachments.replace([part for part in parts if not isinstance(part, Text)])
        joined = "\n".join(part.text for part in parts if isinstance(part, Text))
        self.set_text(joined if text is None else text)

    def clear(self) -> None:
        """Remove text and attachments; nothing is edited any more."""
        self.set_text("")
        if self.editing:
            self.edit("")
        self.attachments.take()

    def _changed(self, change: Change) -> None:
        if change.part == "chat":
            self.editing = ""
        self._follow_session()

    def _follow_session(self) -> None:
        session = self._chat.session
        if session is None:
            self.set_state("idle")
            return
        state: State = "running" if session.running else "idle"
        if session.running and session.info.state == "waiting":
            state = "waiting"
        over = session.info.state not in ("running", "waiting", "idle") and not session.escalating
        if session.running and over:
            state = "idle"  # complete, the journal is still being flushed
        if state != self.state:
            self.state = state
            self._chat.notify("state")
