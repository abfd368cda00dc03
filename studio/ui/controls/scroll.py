"""Scroll bars that lie over the content, so that its width never changes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QScrollBar

BAR_WIDTH = 10


def make_transparent(area: QAbstractScrollArea) -> None:
    """Show what is behind ``area``.

    Not by way of ``viewport()``: the first widget that comes from Qt makes
    PySide set up every class of widget there is, and the window would wait.
    """
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
    area.setPalette(palette)


class OverlayBar(QScrollBar):
    """A vertical bar over the right edge of ``area``, in step with the area's own, hidden one."""

    def __init__(self, area: QAbstractScrollArea) -> None:
        super().__init__(Qt.Orientation.Vertical, area)
        self._area = area
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = area.verticalScrollBar()
        inner.rangeChanged.connect(self._ranged)
        inner.valueChanged.connect(self.setValue)
        self.valueChanged.connect(inner.setValue)
        area.installEventFilter(self)
        self._ranged(inner.minimum(), inner.maximum())

    def _ranged(self, low: int, high: int) -> None:
        inner = self._area.verticalScrollBar()
        self.setRange(low, high)
        self.setPageStep(inner.pageStep())
        self.setSingleStep(inner.singleStep())
        self.setVisible(high > low)
        self._place()

    def _place(self) -> None:
        area = self._area
        self.setGeometry(area.width() - BAR_WIDTH, 0, BAR_WIDTH, area.height())
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
            self._ranged(self.minimum(), self._area.verticalScrollBar().maximum())
        return False
