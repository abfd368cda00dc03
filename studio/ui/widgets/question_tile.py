"""Question tile: stands before what waits for the person's answer."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from studio.ui.theme import Theme

from .painting import PaintedWidget, centred, paint_rounded


class QuestionTile(PaintedWidget):
    """A shield on the ground of what needs attention."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setFixedSize(self.theme.px(28), self.theme.px(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 6, t.color("warn_soft"))
        t.paint_icon(painter, centred(rect, t.px(16)), "shield-question-mark", "warn")
