"""Key foot: the keys of a list and what they do, below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme

from .painting import PaintedWidget, keycaps_width, paint_keycaps, paint_text

Hints: TypeAlias = Sequence[tuple[Sequence[str], str]]
"""Keys, and what they do in a word."""


class KeyFoot(PaintedWidget):
    """Where there is no room for all, those at one end go. ``spoken`` says them in a sentence."""

    def __init__(self, theme: Theme, hints: Hints, spoken: str, *, last_stay: bool = False) -> None:
        super().__init__(theme)
        self._hints, self._going = hints, 0 if last_stay else -1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(spoken)

    def sizeHint(self) -> QSize:
        return QSize(200, self.theme.px(42))

    @property
    def wide(self) -> int:
        """Pixels that all hints take."""
        return self.theme.px(3) + round(sum(map(self._wide, self._hints))) + self.theme.px(16)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        x, middle = float(t.px(16)), self.height() / 2
        shown = list(self._hints)
        while len(shown) > 1 and t.px(3) + sum(map(self._wide, shown)) > rect.width():
            del shown[self._going]
        for keys, words in shown:
            for key in keys:
                paint_keycaps(painter, t, QPointF(x, middle), key)
                x += keycaps_width(t, key) + t.px(4)
            wide = t.metrics("small").horizontalAdvance(words)
            place = QRectF(x + t.px(3), 0, wide + 2, rect.height())
            paint_text(painter, t, place, words, "small", "text2")
            x += wide + t.px(16)

    def _wide(self, hint: tuple[Sequence[str], str]) -> float:
        t, (keys, words) = self.theme, hint
        caps = sum(keycaps_width(t, key) + t.px(4) for key in keys)
        return caps + t.metrics("small").horizontalAdvance(words) + t.px(16)
