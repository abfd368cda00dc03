"""What turns changed in the folder: undone, done again, and looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, SignalInstance
from PySide6.QtGui import QAction

from .file_viewer import FileViewer

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.blocks import FilesBlock
    from studio.domain.events import Event
    from studio.ui.transcript import TranscriptView

RUNNING = "Wait until the turn ends, or stop it first."


class Page(Protocol):
    """What undo needs of the chat page."""

    session: Session | None

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...
    @property
    def view(self) -> TranscriptView: ...
    @property
    def opened(self) -> SignalInstance: ...
    @property
    def event_seen(self) -> SignalInstance: ...
    @property
    def trouble(self) -> SignalInstance: ...


class UndoController(QObject):
    """Does what the rows of changed files say, and the two lines of the Run menu."""

    def __init__(self, page: Page, opening: FileViewer, parent: QObject) -> None:
        super().__init__(parent)
        self._page = page
        self._opening = opening
        self._actions: tuple[QAction, QAction] | None = None

    def take_actions(self, undo: QAction, redo: QAction) -> None:
        """Keep two actions enabled while there is something for them to do."""
        self._actions = undo, redo
        self._page.opened.connect(self._enable)
        self._page.event_seen.connect(self._heard)
        self._enable()

    def do(self, turn_id: str, what: str) -> None:
        """``undo`` or ``redo`` a turn, or undo the ``later`` ones that are in its way, then it."""
        session = self._page.session
        if session is not None:
            self._page.later(self._restore(session, turn_id, what))

    def undo_last(self) -> None:
        if (block := self._next("undo")) is not None:
            self._show(block)
            self.do(block.turn_id, "undo")

    def redo_last(self) -> None:
        if (block := self._next("redo")) is not None:
            self._show(block)
            self.do(block.turn_id, "redo")

    def open_path(self, path: str) -> None:
        """Have the system show a file of the chat's folder."""
        if self._page.session is not None:
            self._page.later(self._open(self._page.session.info.folder, path))

    async def _open(self, folder: str, path: str) -> None:
        if problem := await self._opening.show(folder, path):
            self._page.trouble.emit(problem)

    async def _restore(self, session: Session, turn_id: str, what: str) -> None:
        if what == "redo":
            await session.redo_turn(turn_id)
            return
        if what == "later":
            for other in session.files.blocking(turn_id):
                await session.undo_turn(other)
        await session.undo_turn(turn_id)

    def _next(self, what: str) -> FilesBlock | None:
        """The newest turn that can be undone, or the one that was undone last."""
        session = self._page.session
        if session is None or session.damage or session.transcript.running:
            return None
        from studio.domain.blocks import FilesBlock  # not before there is a session

        files = [b for b in session.transcript.blocks if isinstance(b, FilesBlock) and b.paths]
        if what == "undo":
            return next((block for block in reversed(files) if not block.undone), None)
        return next((block for block in files if block.undone), None)

    def _show(self, block: FilesBlock) -> None:
        session, view = self._page.session, self._page.view
        assert session is not None
        view.flush()
        at = next(n for n, other in enumerate(session.transcript.blocks) if other is block)
        if (index := view.canvas.holding(at)) is not None:
            view.reveal(index)

    def _heard(self, event: Event) -> None:
        from studio.domain.events import FilesChanged, FilesRestored, TurnComplete, TurnStarted

        if isinstance(event, TurnStarted | TurnComplete | FilesChanged | FilesRestored):
            self._enable()

    def _enable(self) -> None:
        if self._actions is None:
            return
        session = self._page.session
        running = session is not None and session.transcript.running
        for action, what in zip(self._actions, ("undo", "redo"), strict=True):
            action.setEnabled(self._next(what) is not None)
            action.setToolTip(RUNNING if running else "")
