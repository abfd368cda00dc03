"""The rail: leads to the sidebar where a small window has no room for it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import IconButton
from studio.ui.widgets.layouts import STRETCH, column_of
from studio.ui.widgets.painting import PaintedWidget


class Rail(PaintedWidget):
    """A narrow strip at the left: the sidebar's button, and New chat."""

    ground = "window"

    sidebar_wanted = Signal()
    new_chat = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.sidebar = IconButton(theme, "panel-left", tr("Sidebar"))
        self.sidebar.setCheckable(True)
        self.sidebar.clicked.connect(self.sidebar_wanted)
        new = IconButton(theme, "square-pen", tr("New chat"))
        new.clicked.connect(self.new_chat)
        column_of([self.sidebar, new, STRETCH], spacing=6, margins=(8, 11, 9, 8), on=self)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(self.width() - 1, 0, 1, self.height(), self.theme.color("hair"))
