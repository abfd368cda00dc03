"""Fact list: facts of a run or a chat below each other, painted in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.graph.nodes import STATES, NodeState
from studio.ui.theme import Theme, elided, joined
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets.painting import (
    PaintedWidget,
    paint_rounded,
    paint_spinner,
    paint_text,
    paint_tile,
)

MARGIN = 16
FONTS = {
    "title": ("ui_medium", "ui", "text2"),
    "heading": ("small_strong", "small", "text2"),
    "label": ("small_strong", "small", "text2"),
    "tree": ("ui", "ui_medium", "text2"),
    "row": ("ui", "ui_medium", "text1"),
    "note": ("small", "small", "text2"),
}
"""Font of the left side, font and colour of the right side."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line. A heading has a line above it, a label has none. ``icon`` stands before the words,
    on a tile where there is a ``hue``; ``state`` is a mark at the right end; ``share`` a bar below,
    from 0 to 1. ``about`` stands right behind the words, ``of`` what the right end is a part of.
    ``depth`` is how far down it stands in a tree, below the line above it that is less deep; the
    rows of a tree are higher, and have their mark left of what stands at the right end.
    """

    left: str
    right: str = ""
    style: Literal["title", "heading", "label", "row", "tree", "note"] = "row"
    icon: str = ""
    ink: str = "text2"
    hue: str = ""
    middle: str = ""
    state: NodeState = ""
    share: float | None = None
    depth: int = 0
    about: str = ""
    of: str = ""

    @property
    def spoken(self) -> str:
        words = tr(STATES[self.state][0]) if self.state else ""
        right = f"{self.right} {self.of}".strip()
        return joined((self.left, self.about, self.middle, right, words))


class FactList(PaintedWidget):
    """Its accessible name has all facts."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._facts: Sequence[Fact] = ()
        self._corner: QWidget | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._measure)
        self._measure()
        self.hide()

    @property
    def facts(self) -> Sequence[Fact]:
        return self._facts

    def show_facts(self, facts: Sequence[Fact]) -> None:
        if list(facts) == list(self._facts):
            return
        self._facts = facts
        self.setAccessibleName(". ".join(fact.spoken for fact in facts))
        self.setVisible(bool(facts))
        self._measure()

    def set_corner(self, widget: QWidget) -> None:
        """Put a widget at the right end of the first heading."""
        self._corner = widget
        widget.setParent(self)
        self._place_corner()

    def _place_corner(self) -> None:
        if self._corner is None:
            return
        size, row = self._corner.sizeHint(), self.theme.height(24, "small")
        y = self.theme.px(20) + (row - size.height()) // 2
        put(self._corner, self.width() - MARGIN - size.width(), y, size.width(), size.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_corner()

    def _measure(self) -> None:
        self._place_corner()
        self.setFixedHeight(round(sum(self._tall(fact) for fact in self._facts)))
        self.update()

    def _tall(self, fact: Fact) -> float:
        t = self.theme
        above = {"heading": t.px(20), "label": t.px(12)}.get(fact.style, 0)
        below = t.px(8) if fact.share is not None else 0
        return above + self._row(fact) + below

    def _row(self, fact: Fact) -> int:
        return self.theme.height(34 if fact.style == "tree" else 24, "small")

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, y = self.theme, 0.0
        for fact in self._facts:
            if fact.style == "heading":
                line = QRectF(MARGIN, round(y + t.px(10)), rect.width() - 2 * MARGIN, 1)
                painter.fillRect(line, t.color("hair"))
                y += t.px(20)
            elif fact.style == "label":
                y += t.px(12)
            row = QRectF(MARGIN, y, rect.width() - 2 * MARGIN, self._row(fact))
            self._paint_row(painter, row, fact)
            y += row.height()
            if fact.share is not None:
                self._paint_share(painter, QRectF(MARGIN, y, row.width(), t.px(4)), fact)
                y += t.px(8)

    def _paint_row(self, painter: QPainter, row: QRectF, fact: Fact) -> None:
        t = self.theme
        left_font, right_font, right_ink = FONTS[fact.style]
        x, right = row.x(), row.right()
        tree = fact.style == "tree"
        if tree and fact.state == "needs_you":
            right_ink = "warn"
        if fact.depth:
            x += fact.depth * t.px(22)
            corner = round(x - t.px(22) + t.px(9)), round(row.center().y())
            painter.fillRect(QRectF(corner[0], row.y(), 1, corner[1] - row.y()), t.color("control"))
            painter.fillRect(QRectF(*corner, x - t.px(4) - corner[0], 1), t.color("control"))
        if fact.icon or fact.hue:
            side = t.px(20 if tree else 18) if fact.hue else t.px(16)
            mark = QRectF(x, row.center().y() - side / 2, side, side)
            if fact.hue:
                paint_tile(painter, t, mark, fact.icon, fact.hue)
            elif fact.icon == "spinner":
                paint_spinner(painter, t, self, mark, fact.ink)
            else:
                t.paint_icon(painter, mark, fact.icon, fact.ink)
            x = mark.right() + t.px(8)
        if fact.state and not tree:
            right = self._paint_state(painter, row, right, fact.state)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        if fact.of:
            width = t.metrics("ui digits").horizontalAdvance(fact.of) + t.px(2)
            place = QRectF(right - width, row.y(), width, row.height())
            paint_text(painter, t, place, fact.of, "ui digits", "text2", at_right)
            right = place.x() - t.px(1)
        if fact.right:
            metrics = t.metrics(f"{right_font} digits")
            text = elided(metrics, fact.right, (right - x) * 0.65, middle=True)
            width = max(metrics.horizontalAdvance(text) + t.px(6), t.px(52) if fact.middle else 0)
            place = QRectF(right - width, row.y(), width, row.height())
            paint_text(painter, t, place, text, f"{right_font} digits", right_ink, at_right)
            right = place.x() - t.px(8)
        if fact.state and tree:
            right = self._paint_state(painter, row, right, fact.state)
        if fact.middle:
            width = t.metrics("ui digits").horizontalAdvance(fact.middle) + t.px(6)
            place = QRectF(right - width, row.y(), width, row.height())
            paint_text(painter, t, place, fact.middle, "ui digits", "text2", at_right)
            right = place.x() - t.px(8)
        ink = "text2" if fact.style in ("row", "note") and not fact.icon else "text1"
        words = QRectF(x, row.y(), max(0.0, right - x), row.height())
        paint_text(painter, t, words, fact.left, left_font, ink, room=words.width())
        words.setLeft(x + t.metrics(left_font).horizontalAdvance(fact.left) + t.px(8))
        if fact.about and words.width() > 0:
            paint_text(painter, t, words, fact.about, "small", "text2", room=words.width())

    def _paint_state(self, painter: QPainter, row: QRectF, right: float, state: NodeState) -> float:
        """The mark of a state, up to ``right``; returns where what is left of it ends."""
        t, side = self.theme, self.theme.px(15)
        mark = QRectF(right - side, row.center().y() - side / 2, side, side)
        _, icon, ink = STATES[state]
        if icon:
            t.paint_icon(painter, mark, icon, ink)
        else:
            paint_spinner(painter, t, self, mark, ink)
        return mark.x() - t.px(8)

    def _paint_share(self, painter: QPainter, track: QRectF, fact: Fact) -> None:
        t = self.theme
        assert fact.share is not None
        paint_rounded(painter, track, track.height() / 2, t.color("track"))
        done = QRectF(track)
        done.setWidth(track.width() * min(1.0, fact.share))
        if done.width() >= track.height():
            ink = "warn" if fact.share >= 0.9 else "accent_text"
            paint_rounded(painter, done, track.height() / 2, t.color(ink))
