"""Search results: lists the hits by chat, and paints them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QPointF, QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.domain.sessions import SearchHit
from studio.ui.formatting import day_of
from studio.ui.theme import Theme, elided, joined
from studio.ui.theme.mirroring import mirrored_row, upright
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import HeadedList, Index
from studio.ui.widgets.painting import paint_rounded, paint_text, paint_tile

CHAT, LINE, GAP = 34, 30, 12
"""Heights of the row of a chat and of a line in it, and the space above a chat."""

KINDS = {
    "said": tr_later("You"),
    "answer": tr_later("Answer"),
    "reasoning": tr_later("Thought"),
    "call": tr_later("Call"),
    "result": tr_later("Result"),
    "question": tr_later("Question"),
    "reply": tr_later("Your answer"),
    "draft": tr_later("Draft"),
}
"""What a line is of."""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A hit; the ``first`` of its chat shows the chat above itself."""

    hit: SearchHit
    first: bool

    @property
    def lined(self) -> bool:
        """Whether it has a line of its own: the title stands above already."""
        return self.hit.kind != "title"


class FoundList(HeadedList[FoundLine]):
    """The hits, those of a chat one after the other."""

    def show(self, hits: Sequence[SearchHit]) -> None:
        before = ""
        rows: list[str | FoundLine] = []
        for hit in hits:
            rows.append(FoundLine(hit, hit.session_id != before))
            before = hit.session_id
        self.set_rows(rows)

    @property
    def lines(self) -> list[FoundLine]:
        return [row for row in self.rows if not isinstance(row, str)]

    def describe(self, row: FoundLine) -> str:
        hit = row.hit
        title = hit.title or tr("New chat")
        parts = (title, hit.agent, day_of(hit.at)) if row.first else ()
        line = (tr(KINDS.get(hit.kind, hit.kind)), hit.line) if row.lined else ()
        return joined((*parts, *line) or (title,))


class FoundRow(QStyledItemDelegate):
    """Paints a hit, and above the first of a chat the chat with its agent and date."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.pattern: re.Pattern[str] | None = None
        """What is marked."""
        self.agents: Mapping[str, tuple[str, str]] = {}
        """Icon and hue of an agent by its name."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        t, row = self._theme, index.data(FoundList.RowRole)
        assert isinstance(row, FoundLine)
        tall = t.height(CHAT) + (t.px(GAP) if index.row() else 0) if row.first else 0
        return QSize(100, tall + (t.height(LINE) if row.lined else 0))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row, rect = self._theme, index.data(FoundList.RowRole), QRectF(option.rect)
        assert isinstance(row, FoundLine)
        tall = t.height(LINE) if row.lined else t.height(CHAT)
        below = QRectF(rect.x(), rect.bottom() - tall, rect.width(), tall)
        if option.state & QStyle.StateFlag.State_Selected:
            paint_rounded(painter, below, 6, t.color("accent_soft"))
        if row.first:
            top = below.top() - t.height(CHAT) if row.lined else below.top()
            self._paint_chat(painter, QRectF(rect.x(), top, rect.width(), t.height(CHAT)), row.hit)
        if row.lined:
            self._paint_line(painter, below, row.hit)

    def _paint_chat(self, painter: QPainter, rect: QRectF, hit: SearchHit) -> None:
        t, side = self._theme, self._theme.px(20)
        icon, hue = self.agents.get(hit.agent, ("message-square", "slate"))
        mark = QRectF(rect.x() + t.px(8), rect.center().y() - side / 2, side, side)
        paint_tile(painter, t, mark, icon, hue)
        about = "  ·  ".join(part for part in (hit.agent, day_of(hit.at)) if part)
        wide = t.metrics("small").horizontalAdvance(about)
        right = rect.right() - t.px(10) - wide
        paint_text(
            painter, t, QRectF(right, rect.y(), wide + 4, rect.height()), about, "small", "text2"
        )
        left = mark.right() + t.px(10)
        place = QRectF(left, rect.y(), right - t.px(12) - left, rect.height())
        self._paint_marked(painter, place, hit.title or tr("New chat"), "ui_strong", "text1")

    def _paint_line(self, painter: QPainter, rect: QRectF, hit: SearchHit) -> None:
        t = self._theme
        left, wide = rect.x() + t.px(38), t.px(84)
        kind = tr(KINDS.get(hit.kind, hit.kind))
        label = QRectF(left, rect.y(), wide, rect.height())
        paint_text(painter, t, label, kind, "small", "text2", room=wide - t.px(8))
        place = QRectF(left + wide, rect.y(), rect.right() - t.px(10) - left - wide, rect.height())
        self._paint_marked(painter, place, hit.line, "ui", "text1")

    def _paint_marked(
        self, painter: QPainter, place: QRectF, text: str, role: str, ink: str
    ) -> None:
        """A text in one line from a little before its first match, each match on a tint."""
        t, metrics = self._theme, self._theme.metrics(role)
        text = " ".join(text.split())
        match = self.pattern.search(text) if self.pattern is not None else None
        if match and metrics.horizontalAdvance(text[: match.end()]) > place.width() * 0.8:
            start = max(match.start() - 24, 0)
            word = text.find(" ", start, match.start()) + 1
            text = "…" + text[word or start :]
        text = elided(metrics, text, place.width())
        x, whole = place.x(), metrics.horizontalAdvance(text)
        with upright(painter, QRectF(x, place.y(), whole, place.height())):
            for part, marked in self._parts(text):
                wide = metrics.horizontalAdvance(part)
                if marked:
                    tall = min(metrics.height() + 2, place.height())
                    tint = QRectF(x - 1, place.center().y() - tall / 2, wide + 2, tall)
                    paint_rounded(painter, tint, 3, t.color("warn_soft"))
                base = place.center().y() + (metrics.ascent() - metrics.descent()) / 2
                painter.setFont(t.font(role))
                painter.setPen(t.color(ink))
                painter.drawText(QPointF(x, round(base)), part)
                x += wide

    def _parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """The pieces of a text, and whether each is a match."""
        at = 0
        for match in self.pattern.finditer(text) if self.pattern is not None else ():
            yield text[at : match.start()], False
            yield match[0], True
            at = match.end()
        yield text[at:], False
