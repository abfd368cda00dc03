"""The base classes of the pages in the middle of the window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import Card, Label, Tag
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.jsonvalue import Json
    from studio.ui.chat.model.chat_model import ChatModel

Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any] | None]
"""Starts a coroutine on the event loop and shows the person the error it ends with."""


class Page(PaintedWidget):
    """A page of the window. It is made when it is first shown, and kept."""

    ground = "surface"

    open_wanted = Signal(str)
    """The person wants to see a chat, by its id."""
    found_wanted = Signal(str, str, str)
    """The person wants to see a hit: a chat's id, the words and the line that has them."""
    page_wanted = Signal(str, str, str)
    """The person wants to see another page: its key, and what of it; empty for no more words."""
    pack_page_wanted = Signal(str, tuple)
    """The person wants to see a page of a pack: its key, and what of it."""
    chat_wanted = Signal(str, str, str)
    """The person wants a new chat: what it is about, the text that stands in it, and its agent."""
    subject_shown = Signal()
    """The page has another ``subject`` now, or none."""
    chat_beside_wanted = Signal()
    """The person wants to see the chat about the page's subject."""
    left = Signal()
    """The person is done here, and goes back to the chat."""
    keys_wanted = Signal()
    """The person wants to see all keys."""
    notified = Signal(str, str)
    """Something out of sight needs the person or is over: its key, and words; none withdraw it."""
    answered = Signal(str, str, object, bool)
    """The person answered a question of a run: its id, that of the question, and the answer."""
    pause_answered = Signal(str, str, object)
    """What a run that paused by itself shall do: its id, “go_on”, “raise” or “stop”, and the cap
    that was offered to be raised."""
    left_out = Signal(str, str)
    """The item of a run that asks something is to be left out: the run's id, the question's."""
    settings_wanted = Signal(str, str)
    """The person wants to see a page of the settings: its key, and which of them."""
    watch_wanted = Signal()
    """The person switched on what begins runs by itself."""
    decided = Signal()
    """A draft was decided; the sidebar counts again."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme)
        self._theme, self._engine, self._run = theme, engine, run
        self.chat: ChatModel | None = None
        """The chat pane's model, for pages that show something of its folder."""
        self.subject = ""
        """The thing of a pack that the page shows, whose chat stands beside it; empty for none."""
        self.agent = ""
        """The one that a new chat about it is with."""
        self.keeps_chat = False
        """Whether a source of the chat on screen led here: that chat stands beside the page."""
        self._work: asyncio.Task[Any] | None = None
        """What fills the page at the moment."""

    def open(self, *target: str) -> None:
        """Shows the present state. It is called each time the page comes on screen.

        ``target`` names what on the page is wanted, for pages that know such names.
        """

    def chat_shown(self, shown: bool) -> None:
        """The chat about ``subject`` stands beside the page now, or does not."""

    def answer(self, run_id: str, question: str, value: Json) -> None:
        """Answer a question of a run, on the page that carries out runs."""

    def answer_pause(self, run_id: str, answer: str) -> None:
        """Let a paused mission go on or stop, on the page that carries out runs."""

    def leave_out(self, run_id: str, question: str) -> None:
        """Leave out the item that asks something, on the page that carries out runs."""

    def _replace(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this; what was looked for before is not wanted any more."""
        if self._work is not None:
            self._work.cancel()
        self._work = self._run(work)

    async def finish(self) -> None:
        """Save what is left to save: the window closes."""

    async def drafts_changed(self, session: Session) -> None:
        """A draft of ``session`` was made or decided while the page is on screen."""


class ListPage(Page):
    """A page with a title, a line of text and rows below each other."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.viewport().setAutoFillBackground(False)
        column_of([self._area], on=self)

    def card(self, title: str, text: str, tile: QWidget | None = None, tag: str = "") -> QWidget:
        """A row: a title with a text below, perhaps a tile before and a tag after them."""
        card = Card(self._theme)
        words = column_of(
            [
                Label(self._theme, title, "heading"),
                Label(self._theme, text, "ui", "text2", wrap=True),
            ],
            spacing=2,
        )
        parts = [tile] if tile is not None else []
        row = row_of([*parts, (words, 1)], spacing=12, margins=(14, 10, 14, 10), on=card)
        if tag:
            row.addWidget(Tag(self._theme, tag), 0, Qt.AlignmentFlag.AlignVCenter)
        return card

    def show_rows(self, title: str, text: str, rows: Sequence[QWidget]) -> None:
        """Fills the page anew."""
        head = Label(self._theme, title, "title")
        line = Label(self._theme, text, "ui", "text2", wrap=True)
        parts = (head, line, 8, *rows, STRETCH)
        inner = widget_of(column_of(parts, spacing=8, margins=(24, 24, 24, 24)))
        inner.setMaximumWidth(self._theme.px(720))
        self._area.setWidget(inner)
