"""Answer row: one of the answers to a question, with the key that chooses it (W-22).

What it costs and how long it takes may stand at its end (W-55).
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import draw_text

from .buttons import PaintedButton
from .painting import keycaps_width, paint_keycaps, paint_rounded, paint_text

_WRAP = int(Qt.TextFlag.TextWordWrap)


class AnswerRow(PaintedButton):
    """A radio button as wide as its card; long words are wrapped, never cut.

    What is said about the answer stands beside it where there is room, else below.
    """

    radius = 8

    def __init__(self, theme: Theme, number: int = 0) -> None:
        super().__init__(theme)
        self._key, self._about = str(number) if number else "", ""
        self._ends = "", ""
        self.role = "ui_medium"
        """The type of the answer's words."""
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.toggled.connect(self.update)

    def show_answer(
        self, text: str, about: str = "", amount: str = "", span: str = "", *, code: bool = False
    ) -> None:
        """Show an answer; in the code font with ``code``."""
        self._about, self._ends = about, (amount, span)
        self.role = "code" if code else "ui_medium"
        self.setText(text)
        self.setAccessibleName(joined((text, about, amount, span)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(200), self._tall(self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._tall(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    @property
    def _left(self) -> int:
        return self.theme.px(12 + 16 + 10)

    def _room(self, width: float) -> float:
        t = self.theme
        return max(1.0, width - self._left - self._keyed - self._ended - 2 * t.px(12))

    @property
    def _keyed(self) -> float:
        return keycaps_width(self.theme, self._key) if self._key else 0.0

    @property
    def _ended(self) -> float:
        """How wide the amount and the time are, with the room before them."""
        words = zip(("ui_strong", "small"), self._ends, strict=True)
        wide = max(self.theme.metrics(role).horizontalAdvance(text) for role, text in words)
        return wide + self.theme.px(16) if wide else 0.0

    def _lines(self, role: str, text: str, room: float) -> float:
        """How tall a text is."""
        bounds = QRect(0, 0, int(room), 10_000)
        return self.theme.metrics(role).boundingRect(bounds, _WRAP, text).height()

    def _beside(self, room: float) -> float:
        """Where what is said about it begins, right of the answer; 0 where it goes below."""
        if any(self._ends):
            return 0.0
        m = self.theme.metrics(self.role), self.theme.metrics("ui")
        left = m[0].horizontalAdvance(self.text()) + self.theme.px(10)
        return left if left + m[1].horizontalAdvance(self._about) <= room else 0.0

    def _tall(self, width: int) -> int:
        t, room = self.theme, self._room(width)
        tall = self._lines(self.role, self.text(), room)
        if self._about and not self._beside(room):
            tall += self._lines("ui", self._about, room)
        ends = sum(t.metrics(role).height() for role in ("ui_strong", "small") if any(self._ends))
        return max(t.height(44), round(max(tall, ends)) + t.px(18))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, chosen, here = self.theme, self.isChecked(), self.isEnabled()
        line = ("accent_text", 2.0) if chosen else ("control", 1.0)
        paint_rounded(painter, rect, self.radius, t.color("button"), t.color(line[0]), line[1])
        self.paint_overlay(painter, rect)
        side = t.px(16)
        ring = QRectF(t.px(12), rect.center().y() - side / 2, side, side)
        mark = t.color(("accent" if chosen else "strong") if here else "control")
        paint_rounded(painter, ring, side / 2, mark if chosen else None, mark, 1.5)
        if chosen:
            inner = ring.adjusted(t.px(5), t.px(5), -t.px(5), -t.px(5))
            paint_rounded(painter, inner, inner.width() / 2, t.color("accent_on"))
        room, ink = self._room(rect.width()), "text1" if here else "text3"
        beside = self._beside(room) if self._about else 0.0
        first = self._lines(self.role, self.text(), room)
        below = self._lines("ui", self._about, room) if self._about and not beside else 0.0
        top = (rect.height() - first - below) / 2
        self._write(painter, QRectF(self._left, top, room, first), self.role, self.text(), ink)
        if self._about:
            at = (beside, top, first) if beside else (0.0, top + first, below)
            place = QRectF(self._left + at[0], at[1], room - at[0], at[2])
            self._write(painter, place, "ui", self._about, "text2" if here else "text3")
        self._paint_ends(painter, rect)
        if t.keycaps and self._key:
            x = rect.width() - t.px(12) - keycaps_width(t, self._key)
            paint_keycaps(painter, t, QPointF(x, rect.center().y()), self._key)

    def _paint_ends(self, painter: QPainter, rect: QRectF) -> None:
        t, (amount, span) = self.theme, self._ends
        right = rect.width() - t.px(12) - (self._keyed + t.px(12) if self._key else 0.0)
        upper = t.metrics("ui_strong").height() if amount else 0
        tall = upper + (t.metrics("small").height() if span else 0)
        place = QRectF(0, rect.center().y() - tall / 2, right, upper)
        end = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, place, amount, "ui_strong digits", "text1", end)
        place = QRectF(0, place.bottom(), right, tall - upper)
        paint_text(painter, t, place, span, "small digits", "text2", end)

    def _write(self, painter: QPainter, place: QRectF, role: str, text: str, ink: str) -> None:
        painter.setFont(self.theme.font(role))
        painter.setPen(self.theme.color(ink))
        draw_text(painter, place, _WRAP, text)
