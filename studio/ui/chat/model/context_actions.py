"""Context actions: summaries are made, edited and undone, and messages pinned for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .open_chat import OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.blocks import SummaryBlock


class ContextActions:
    """Changes what the model keeps of a long chat."""

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat
        self._busy: set[str] = set()

    def busy(self, session: Session) -> bool:
        """Whether a summary is being written."""
        return session.info.id in self._busy

    def summarise(self) -> None:
        """Have the model sum up the chat, except for its end."""
        session = self._chat.session
        if session is not None and not self.busy(session):
            self._chat.run(self._summarise(session))

    async def _summarise(self, session: Session) -> None:
        self._busy.add(session.info.id)
        self._chat.notify("summary")
        try:
            await session.memory.summarise()
        finally:
            self._busy.discard(session.info.id)
            self._chat.notify("summary")

    def summary(self, summary_id: str) -> SummaryBlock | None:
        """The block of a summary, if there is one."""
        from studio.domain.blocks import SummaryBlock

        session = self._chat.session
        blocks = session.transcript.blocks if session is not None else ()
        found = (block for block in blocks if isinstance(block, SummaryBlock))
        return next((block for block in found if block.summary_id == summary_id), None)

    def undo_summary(self, summary_id: str) -> None:
        if self._chat.session is not None:
            self._chat.run(self._chat.session.memory.undo_summary(summary_id))

    def pin(self, block: int, on: bool) -> None:
        """Keep a message whole for the model, or no longer."""
        if self._chat.session is not None:
            self._chat.run(self._chat.session.memory.pin(block, on))
