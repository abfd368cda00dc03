"""Calls before: what who asks did just before, in a box; a click shows it in its chat (W-22)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.domain.blocks import ToolBlock
from studio.ui.theme import Theme, joined
from studio.ui.transcript.model import row_status, verb
from studio.ui.translation import tr
from studio.ui.widgets import Card, Label
from studio.ui.widgets.buttons import PaintedButton
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.painting import centred, paint_text

from .waiting import MOST_BEFORE

_MARKS = {"done": ("check", "ok"), "error": ("circle-alert", "err")}
"""Icon and colour of how a call ended."""


class CallRow(PaintedButton):
    """One call: what it did, and what came of it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._call: ToolBlock | None = None
        self.first = False
        """Whether no other one stands above it."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_call(self, call: ToolBlock) -> None:
        self._call = call
        self.setText(joined((verb(call), call.target, row_status(call, None))))
        self.setAccessibleName(self.text())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(200), self.theme.height(34))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, call = self.theme, self._call
        if call is None:
            return
        if not self.first:
            painter.fillRect(QRectF(0, 0, rect.width(), 1), t.color("hair"))
        self.paint_overlay(painter, rect.adjusted(-t.px(6), 1, t.px(6), 0))
        side = t.px(16)
        t.paint_icon(painter, centred(QRectF(0, 0, side, rect.height()), side), call.icon, "text2")
        right = rect.right() - side
        place = QRectF(right, 0, side, rect.height())
        t.paint_icon(painter, centred(place, t.px(14)), "chevron-right", "text2")
        icon, ink = _MARKS.get(call.state, ("circle-dashed", "text3"))
        place.moveLeft(right - t.px(7) - side)
        t.paint_icon(painter, centred(place, t.px(14)), icon, ink)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        left, words = side + t.px(8), verb(call)
        place = QRectF(left, 0, place.x() - t.px(8) - left, rect.height())
        status = row_status(call, None)
        paint_text(painter, t, place, status, "small digits", "text2", at_right)
        place.setRight(place.right() - t.metrics("small").horizontalAdvance(status) - t.px(12))
        paint_text(painter, t, place, words, "ui_medium", room=place.width())
        place.setLeft(left + t.metrics("ui_medium").horizontalAdvance(words) + t.px(8))
        if place.width() > 0:
            paint_text(painter, t, place, call.target, "code", "text2", room=place.width())


class CallsBefore(QWidget):
    """The last calls of one session, the newest last."""

    opened = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.calls: Sequence[ToolBlock] = ()
        self.rows = [CallRow(theme) for _ in range(MOST_BEFORE)]
        for row in self.rows:
            row.clicked.connect(self.opened)
        box = Card(theme)
        column_of(self.rows, 0, (12, 0, 10, 0), on=box)
        heading = Label(theme, tr("Just before"), "small_strong")
        column_of([heading, box], 6, (16, 8, 16, 0), on=self)
        self.hide()

    def show_calls(self, calls: Sequence[ToolBlock]) -> None:
        self.calls = calls
        for at, row in enumerate(self.rows):
            row.setVisible(at < len(calls))
            row.first = not at
            if at < len(calls):
                row.show_call(calls[at])
        self.setVisible(bool(calls))
