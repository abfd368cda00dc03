"""Parts of a provider's section: its head, and the card that says why no list came."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from studio.ui.controls import Button, Card, Label, PaintedButton, paint_rounded, paint_spinner
from studio.ui.theme import Theme, joined

from .known import ProviderMeta


class SectionHeader(PaintedButton):
    """The line that opens and closes a section."""

    radius = 8

    def __init__(self, theme: Theme, known: ProviderMeta, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._known = known
        self._words, self._state = "", "off"
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, theme.px(26), 0)
        row.addStretch(1)
        self.add_key = Button(theme, "Add key…", parent=self)
        self.add_key.hide()
        row.addWidget(self.add_key)
        self.toggled.connect(lambda _on: self.set_status(self._words, self._state))

    def set_status(self, words: str, state: str) -> None:
        self._words, self._state = words, state
        opened = "expanded" if self.isChecked() else "collapsed"
        self.setAccessibleName(joined((self._known.title, words, opened)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(300), max(self.theme.px(48), 48))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        t, rect, middle = self.theme, QRectF(self.rect()), Qt.AlignmentFlag.AlignVCenter
        painter = QPainter(self)
        side = t.px(26)
        tile = QRectF(0, (rect.height() - side) / 2, side, side)
        paint_rounded(painter, tile, 6, t.color("track"))
        if self._known.icon:
            inset = t.px(5)
            box = tile.adjusted(inset, inset, -inset, -inset)
            t.paint_icon(painter, box, self._known.icon, "text1")
        else:
            painter.setFont(t.font("ui_strong"))
            painter.setPen(t.color("text1"))
            painter.drawText(tile, Qt.AlignmentFlag.AlignCenter, self._known.title[0])
        painter.setFont(t.font("ui_strong"))
        painter.setPen(t.color("text1"))
        painter.drawText(rect.adjusted(side + t.px(10), 0, 0, 0), middle, self._known.title)
        mark = t.px(14)
        arrow = QRectF(rect.width() - mark, (rect.height() - mark) / 2, mark, mark)
        name = "chevron-down" if self.isChecked() else "chevron-right"
        t.paint_icon(painter, arrow, name, "text2")
        right = self.add_key.x() - 10 if self.add_key.isVisible() else arrow.x() - 10
        width = t.metrics("small").horizontalAdvance(self._words)
        painter.setFont(t.font("small"))
        painter.setPen(t.color("err" if self._state == "err" else "text2"))
        place = QRectF(right - width - 2, 0, width + 4, rect.height())
        painter.drawText(place, middle, self._words)
        if self._state == "busy":
            size = t.px(14)
            spin = QRectF(place.x() - size - 5, rect.center().y() - size / 2, size, size)
            paint_spinner(painter, t, self, spin)
        elif self._words:
            dot = QRectF(place.x() - t.px(14), rect.center().y() - t.px(7) / 2, t.px(7), t.px(7))
            ink = {"ok": "ok", "warn": "warn", "err": "err"}.get(self._state, "strong")
            paint_rounded(painter, dot, dot.width() / 2, t.color(ink))
        painter.end()


class FailureCard(Card):
    """Why no list came, and what is shown instead."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "control", 8)
        row = QHBoxLayout(self)
        row.setContentsMargins(14 + theme.px(26) + 12, 10, 12, 10)  # the tile is painted
        row.setSpacing(12)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(Label(theme, "Couldn’t load models", "ui_strong"))
        self.reason = Label(theme, "", "small", "text2", wrap=True)
        words.addWidget(self.reason)
        row.addLayout(words, 1)
        self.again = Button(theme, "Try again")
        row.addWidget(self.again)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        t, side = self.theme, self.theme.px(26)
        painter = QPainter(self)
        tile = QRectF(14, (self.height() - side) / 2, side, side)
        paint_rounded(painter, tile, 6, t.color("warn_soft"))
        inset = t.px(5)
        t.paint_icon(painter, tile.adjusted(inset, inset, -inset, -inset), "cloud-off", "warn")
        painter.end()
