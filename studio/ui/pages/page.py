"""The base classes of the pages in the middle of the window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import Card, Label, Tag

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session

Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any] | None]
"""Starts a coroutine on the event loop and shows the person the error it ends with."""


class Page(QWidget):
    """A page of the window. It is made when it is first shown, and kept."""

    open_wanted = Signal(str)
    """The person wants to see a chat, by its id."""
    keys_wanted = Signal()
    """The person wants to see all keys."""
    decided = Signal()
    """A draft was decided; the sidebar counts again."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__()
        self._theme, self._engine, self._run = theme, engine, run
        theme.changed.connect(self.update)

    def open(self, *target: str) -> None:
        """Shows the present state. It is called each time the page comes on screen.

        ``target`` names what on the page is wanted, for pages that know such names.
        """

    async def drafts_changed(self, session: Session) -> None:
        """A draft of ``session`` was made or decided while the page is on screen."""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("surface"))
        painter.end()


class ListPage(Page):
    """A page with a title, a line of text and rows below each other."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.viewport().setAutoFillBackground(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._area)

    def card(self, title: str, text: str, tile: QWidget | None = None, tag: str = "") -> QWidget:
        """A row: a title with a text below, perhaps a tile before and a tag after them."""
        card = Card(self._theme)
        row = QHBoxLayout(card)
        row.setContentsMargins(14, 10, 14, 10)
        row.setSpacing(12)
        if tile is not None:
            row.addWidget(tile)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Label(self._theme, title, "heading", "text1"))
        words.addWidget(Label(self._theme, text, "ui", "text2", wrap=True))
        row.addLayout(words, 1)
        if tag:
            row.addWidget(Tag(self._theme, tag), 0, Qt.AlignmentFlag.AlignVCenter)
        return card

    def show_rows(self, title: str, text: str, rows: Sequence[QWidget]) -> None:
        """Fills the page anew."""
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(8)
        column.addWidget(Label(self._theme, title, "title", "text1"))
        column.addWidget(Label(self._theme, text, "ui", "text2", wrap=True))
        column.addSpacing(8)
        for row in rows:
            column.addWidget(row)
        column.addStretch(1)
        inner.setMaximumWidth(self._theme.px(720))
        self._area.setWidget(inner)
