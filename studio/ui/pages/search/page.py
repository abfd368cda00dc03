"""Search page: shows field, filters and what was found in all chats, and opens one at the hit."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QWidget

from studio.agent.engine import Engine
from studio.domain.errors import StudioError
from studio.domain.sessions import SearchHit
from studio.storage.sessions.search_filters import read_filters
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.page import Page, Run
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import draw_text
from studio.ui.transcript.find import Wanted
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Field, HeadedView
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import (
    PaintedWidget,
    keycaps_width,
    paint_keycaps,
    paint_rounded,
    paint_text,
)

from .filter_bar import FilterBar, completed, without
from .results import CHAT, LINE, FoundLine, FoundList, FoundRow

LINES = 4
"""Lines that are shown of a chat."""
WIDTH = 716
SLOW, SECOND = 200, 1000
"""Milliseconds after which a search shows that it goes on, and then each second."""


class Foot(PaintedWidget):
    """Key hints at the left, the count at the right."""

    ground = "surface"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._count = ""
        self._fit()
        theme.changed.connect(self._fit)

    def _fit(self) -> None:
        self.setFixedHeight(self.theme.height(37))

    @property
    def text(self) -> str:
        return self._count

    def set_count(self, text: str) -> None:
        self._count = text
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, x = self.theme, 0.0
        painter.fillRect(0, 0, self.width(), 1, t.color("hair"))
        for keys, text in (("↑+↓", tr("Move")), ("Enter", tr("Open")), ("Tab", tr("Complete"))):
            paint_keycaps(painter, t, QPointF(x, rect.center().y()), keys)
            x += keycaps_width(t, keys) + t.px(7)
            wide = t.metrics("small").horizontalAdvance(text)
            paint_text(painter, t, QRectF(x, 0, wide + 2, rect.height()), text, "small", "text2")
            x += wide + t.px(14)
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        place = QRectF(x, 0, rect.width() - x, rect.height())
        paint_text(painter, t, place, self._count, "small digits", "text2", side)


class Under(PaintedWidget):
    """What stands in the place of results: a sentence, or grey rows while a search goes on."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.text = ""
        self.busy = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_text(self, text: str, *, busy: bool = False) -> None:
        self.text, self.busy = text, busy
        self.setVisible(bool(text))
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if not self.busy:
            line = QRectF(0, rect.height() * 0.32, rect.width(), t.line("ui") * 3)
            flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
            painter.setFont(t.font("ui"))
            painter.setPen(t.color("text2"))
            draw_text(painter, line, int(flags | Qt.TextFlag.TextWordWrap), self.text)
            return
        y, track = 0.0, t.color("track")
        for at in range(4):
            middle = y + t.height(CHAT) / 2
            paint_rounded(painter, QRectF(t.px(8), middle - t.px(10), t.px(20), t.px(20)), 5, track)
            bar = QRectF(t.px(38), middle - t.px(5), t.px((240, 180, 300, 210)[at]), t.px(10))
            paint_rounded(painter, bar, 4, track)
            y += t.height(CHAT) + t.height(LINE) / 2
            wide = min(rect.width() - t.px(132), t.px((420, 500, 360, 460)[at]))
            paint_rounded(painter, QRectF(t.px(122), y - t.px(5), wide, t.px(10)), 4, track)
            y += t.height(LINE)
        paint_text(
            painter, t, QRectF(t.px(8), y, rect.width(), t.line("ui")), self.text, "small", "text2"
        )


class SearchPage(Page):
    """The field keeps the keyboard; keys move through the hits below it."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        words = tr("Search everything in all chats")
        self.field = Field(theme, words, icon="search", role="body")
        self.field.offer_clear()
        self.bar = FilterBar(theme)
        self.found = FoundList(self)
        self._row = FoundRow(theme, self)
        self.list = HeadedView(self.found, lambda parent: self._row, self.field, self)
        self.list.setAccessibleName(tr("Results"))
        self.under = Under(theme, self.list)
        self.foot = Foot(theme)
        parts = [self.field, self.bar, (self.list, 1), self.foot]
        self._column = widget_of(column_of(parts, spacing=10))
        row_of([STRETCH, (self._column, 100), STRETCH], margins=(24, 24, 24, 0), on=self)
        self._begun = 0.0
        self._answered = ""
        """The text whose results are shown."""
        self._enter = False
        """Whether Enter was pressed before the results of the present text were there."""
        self._slow = QTimer(self, singleShot=True)
        self._slow.timeout.connect(self._show_seconds)
        self.field.textChanged.connect(self._typed)
        self.field.cursorPositionChanged.connect(lambda *_: self._offer())
        self.field.installEventFilter(self)
        self.list.installEventFilter(self)
        self.list.clicked.connect(lambda _: self._open())
        self.bar.removed.connect(lambda word: self._set(without(self.field.text(), word)))
        self.bar.offered.connect(self._complete)
        theme.changed.connect(self._follow)
        self._follow()
        self._typed("")

    # -- opening ------------------------------------------------------------------

    def open(self, *target: str) -> None:
        """Show the page; ``target`` is what is looked for, as before without it."""
        self._enter = False
        if target and target[0]:
            self.field.setText(target[0])
        elif self.field.text():
            self._search()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        self._run(self._learn())

    async def _learn(self) -> None:
        """Read what filters may name, and how agents look."""
        self.bar.known = await self._engine.store.search_values()
        agents = await self._engine.agents()
        self._row.agents = {one.name: (one.icon, one.hue) for one in agents.by_name.values()}
        self._offer()
        self.list.viewport().update()

    def _follow(self) -> None:
        self._column.setMaximumWidth(self._theme.px(WIDTH))
        self.field.setMinimumHeight(self._theme.height(38))
        self.list.scheduleDelayedItemsLayout()

    # -- searching ----------------------------------------------------------------

    def _typed(self, text: str) -> None:
        self._enter = False
        self._offer()
        self._search()

    def _offer(self) -> list[str]:
        return self.bar.show_text(self.field.text(), self.field.cursorPosition())

    def _search(self) -> None:
        text = self.field.text().strip()
        self._begun = time.monotonic()
        if text:
            self._slow.start(SLOW)
        else:
            self._slow.stop()
        self._replace(self._look(text))

    async def _look(self, text: str) -> None:
        try:
            hits = await self._engine.sessions.search(text, LINES) if text else ()
        except StudioError as error:
            self._slow.stop()
            self.found.show(())
            self.foot.set_count("")
            self.under.show_text(tr_engine(str(error)))
            raise
        self._slow.stop()
        self._show(text, hits)

    def _show(self, text: str, hits: Sequence[SearchHit]) -> None:
        chosen = None if self._enter else self.list.current
        wanted = read_filters(text, time.time())
        self._row.pattern = Wanted(wanted.words, each_word=True).pattern()
        self.found.show(hits)
        self.list.choose()
        if chosen is not None:
            self.list.choose(lambda row: row.hit == chosen.hit)
        self._answered = text
        chats = sum(row.first for row in self.found.lines)
        lines = tr_plural("{count} hit", "{count} hits", len(hits))
        count = tr_plural("{hits} in {count} chat", "{hits} in {count} chats", chats, hits=lines)
        self.foot.set_count(count if hits else "")
        empty = tr("Titles, messages, tool calls, questions and drafts of all chats are searched.")
        if text:
            empty = tr("Nothing found.")
            if wanted.found:
                empty = tr("Nothing found with these filters.")
            if not hits:
                announce(self.field, empty)
        self.under.show_text("" if hits else empty)
        if self._enter and self.isVisible():  # nobody is taken from where they went meanwhile
            self._open_chosen()

    def _show_seconds(self) -> None:
        """Say that a search goes on; what was found before stays until it is done."""
        seconds = int(time.monotonic() - self._begun)
        text = tr("Searching…")
        if seconds:
            text = tr("Searching… {number} s").format(number=seconds)
        if self.found.rows:
            self.foot.set_count(text)
        else:
            self.under.show_text(text, busy=True)
        self._slow.start(SECOND)

    # -- keys and mouse -------------------------------------------------------------

    def _set(self, text: str) -> None:
        self.field.setText(text)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _complete(self, word: str) -> None:
        text, caret = completed(self.field.text(), self.field.cursorPosition(), word)
        self._set(text)
        self.field.setCursorPosition(caret)

    def _open_chosen(self) -> None:
        """Open what the keys chose; of a search that goes on, the first row once it is there."""
        self._enter = self.field.text().strip() != self._answered
        if not self._enter:
            self._open()

    def _open(self) -> None:
        row: FoundLine | None = self.list.current
        if row is not None:
            words = read_filters(self.field.text(), time.time()).words
            line = row.hit.line if row.lined else ""
            self.found_wanted.emit(row.hit.session_id, words, line)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.list:
            if event.type() == QEvent.Type.Resize:
                self.under.setGeometry(self.list.rect())
            return False
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._open_chosen()
            case Qt.Key.Key_Escape if self.field.text():
                self.field.clear()
            case Qt.Key.Key_Escape:
                self.left.emit()
            case Qt.Key.Key_Tab if self._is_begun() and (offers := self._offer()):
                self._complete(offers[0])
            case _:
                return self.list.key(event)
        return True

    def _is_begun(self) -> bool:
        """Whether a word before the caret may go on."""
        return bool(self.field.text()[: self.field.cursorPosition()].rpartition(" ")[2])
