"""Shows a widget as tall as it is up to a height, and scrolls to the rest."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QWidget

from studio.ui.theme import Theme

from .panels import OverlayBar


class ScrolledBody(QScrollArea):
    """What is asked, as tall as it is up to a height; the rest is scrolled to."""

    def __init__(self, theme: Theme, inner: QWidget) -> None:
        super().__init__()
        self._inner, self._least, self._most = inner, theme.height(28), 0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(inner)
        inner.setAutoFillBackground(False)
        self.setWidgetResizable(True)
        self._bar = OverlayBar(self)

    def set_most(self, height: int) -> None:
        """Let it be no taller, in pixels; one line is always seen."""
        self._most = max(self._least, height)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return min(self._most, self._inner.heightForWidth(width))

    def sizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(max(self.width(), 200)))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._least)
