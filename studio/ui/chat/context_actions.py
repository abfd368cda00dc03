"""What the model keeps of a long chat: summaries are made, edited and undone, messages pinned."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme

if TYPE_CHECKING:  # all this comes after the first paint
    import asyncio

    from studio.agent.session.session import Session


class Page(Protocol):
    """What is needed of the chat page."""

    session: Session | None

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...


class ContextActions(QObject):
    """Does what the rows of summaries and the inspector's button say."""

    changed = Signal()
    """A summary is begun or has come to an end."""

    def __init__(self, page: Page, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._page = page
        self._theme = theme
        self._window = window
        self._busy: set[str] = set()

    def busy(self, session: Session) -> bool:
        """Whether one is being written."""
        return session.info.id in self._busy

    def summarise(self) -> None:
        """Have the model sum up the chat, but for its end."""
        session = self._page.session
        if session is not None and not self.busy(session):
            self._page.later(self._summarise(session))

    def do(self, summary_id: str, what: str) -> None:
        """``edit`` or ``undo``."""
        session = self._page.session
        if session is not None:
            work = session.memory.undo_summary if what == "undo" else self._edit
            self._page.later(work(summary_id))

    def pin(self, block: int, on: bool) -> None:
        if self._page.session is not None:
            self._page.later(self._page.session.memory.pin(block, on))

    async def _summarise(self, session: Session) -> None:
        self._busy.add(session.info.id)
        self.changed.emit()
        try:
            await session.memory.summarise()
        finally:
            self._busy.discard(session.info.id)
            self.changed.emit()

    async def _edit(self, summary_id: str) -> None:
        from studio.domain.blocks import SummaryBlock

        from .text_editor import edit_text

        session = self._page.session
        if session is None:
            return
        blocks = (b for b in session.transcript.blocks if isinstance(b, SummaryBlock))
        block = next((block for block in blocks if block.summary_id == summary_id), None)
        if block is None:
            return
        text = await edit_text(
            self._theme,
            block.text,
            self._window,
            title="Edit summary",
            name="Summary",
            keep="Keep",
            code=False,
        )
        if text is not None and text != block.text:
            await session.memory.edit_summary(summary_id, text)
