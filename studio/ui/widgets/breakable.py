"""Breaks words that are longer than their place, so that all is seen, or leaves out the middle."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme

from .painting import PaintedWidget, paint_text
from .panels import Label
from .plain_text import plain_tip

LONGEST = 16
"""Characters after which a word may be broken anywhere."""


class BreakableLabel(Label):
    """Code that breaks anywhere, so that all of it is seen."""

    def __init__(self, theme: Theme, text: str, token: str = "text1") -> None:
        super().__init__(theme, breakable(text), "code", token, wrap=True)
        self.setAccessibleName(text)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)


class ElidedLabel(PaintedWidget):
    """One line of text whose middle, or else its end, is left out where there is no room for it."""

    def __init__(
        self,
        theme: Theme,
        text: str,
        role: str = "small",
        token: str = "text2",
        *,
        middle: bool = True,
    ) -> None:
        super().__init__(theme)
        self._text, self._role, self._token = "", role, token
        self._mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def text(self) -> str:
        return self._text

    def set_text(self, text: str) -> None:
        self._text = text
        self.setAccessibleName(text)
        self.setToolTip(plain_tip(text))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.theme.metrics(self._role)
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.theme.px(60), self.sizeHint().width()), self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        metrics = self.theme.metrics(self._role)
        text = metrics.elidedText(self._text, self._mode, int(rect.width()))
        paint_text(painter, self.theme, rect, text, self._role, self._token)


def breakable(text: str) -> str:
    """With places at which a long word may be broken."""
    parts: list[str] = []
    run = 0
    for one in text:
        parts.append(one)
        run = 0 if one.isspace() else run + 1
        if one in "/=&?@,-_.:" or run >= LONGEST:
            parts.append("\u200b")
            run = 0
    return "".join(parts)
