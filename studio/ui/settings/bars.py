"""Bars that show shares of a whole, with a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme, joined
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text

HUES = ("blue", "teal", "plum", "ochre", "slate", "rust", "green", "rose")
"""Of the parts, in their order."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a whole; ``detail`` is its amount in words."""

    name: str
    detail: str
    size: float


class ShareBar(PaintedWidget):
    """A bar of parts, and below it what they are. Its name says the same."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._parts: tuple[Part, ...] = ()
        self._share = 1.0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_parts(self, parts: Sequence[Part], share: float = 1.0) -> None:
        """The parts fill ``share`` of the bar; more than 1 is a full one."""
        self._parts, self._share = tuple(parts), share
        self.setAccessibleName(joined(f"{part.name} {part.detail}" for part in parts))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.heightForWidth(max(self.width(), 300)))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return int(places[-1].bottom()) if places else self.theme.px(8)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        bar = QRectF(0, 0, rect.width(), t.px(8))
        paint_rounded(painter, bar, 4, t.color("track"))
        whole = sum(part.size for part in self._parts)
        outline = QPainterPath()
        outline.addRoundedRect(bar, 4, 4)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipPath(outline)
        x = 0.0
        for index, part in enumerate(self._parts if whole else ()):
            wide = rect.width() * min(1.0, self._share) * part.size / whole
            painter.fillRect(QRectF(x, 0, max(0.0, wide - 1), bar.height()), self._ink(index))
            x += wide
        painter.restore()
        for index, (part, place) in enumerate(
            zip(self._parts, self._places(int(rect.width())), strict=True)
        ):
            side = t.px(7)
            dot = QRectF(place.left(), place.center().y() - side / 2, side, side)
            paint_rounded(painter, dot, side / 2, self._ink(index))
            words = place.adjusted(side + t.px(6), 0, 0, 0)
            paint_text(painter, t, words, part.name, "small", "text2")
            words.setLeft(words.left() + self._name_width(part))
            paint_text(painter, t, words, part.detail, "small digits", "text1")

    def _ink(self, index: int):
        return self.theme.hue(HUES[index % len(HUES)])[0]

    def _name_width(self, part: Part) -> int:
        return self.theme.metrics("small").horizontalAdvance(part.name + " ")

    def _places(self, width: int) -> list[QRectF]:
        """Where each entry of the legend stands: side by side, and on further lines."""
        t, places = self.theme, list[QRectF]()
        x, y, tall = 0.0, float(t.px(8) + t.px(8)), float(t.metrics("small").height() + 4)
        digits = t.metrics("small digits")
        for part in self._parts:
            words = digits.horizontalAdvance(part.detail)
            wide = float(t.px(7) + t.px(6) + self._name_width(part) + words + 4)
            if x and x + wide > width:
                x, y = 0.0, y + tall
            places.append(QRectF(x, y, wide, tall))
            x += wide + t.px(12)
        return places


class FillBar(PaintedWidget):
    """How much of a whole is used or done; its name says the same."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._share, self._ink = 0.0, "accent"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_share(self, share: float, name: str, ink: str = "accent") -> None:
        """``share`` of the whole, from 0; more than 1 is a full bar. ``ink`` is a token."""
        self._share, self._ink = share, ink
        self.setAccessibleName(name)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, max(4, self.theme.px(4)))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, round_ = self.theme, rect.height() / 2
        paint_rounded(painter, rect, round_, t.color("track"))
        if self._share > 0:
            part = QRectF(rect)
            part.setWidth(max(rect.height(), rect.width() * min(1.0, self._share)))
            paint_rounded(painter, part, round_, t.color(self._ink))
