"""What settings pages are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.ui.controls import Card, Hairline, Label, Mark, OverlayBar
from studio.ui.theme import Theme


class Page(QScrollArea):
    """A page with a title and a line below; ``column`` takes its cards."""

    def __init__(self, theme: Theme, title: str, line: str) -> None:
        super().__init__()
        self.theme = theme
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        inner = QWidget()
        self.column = QVBoxLayout(inner)
        self.column.setContentsMargins(24, 20, 24, 24)
        self.column.setSpacing(14)
        head = QVBoxLayout()
        head.setSpacing(2)
        head.addWidget(Label(theme, title, "title"))
        self.line = Label(theme, line, "ui", "text2", wrap=True)
        head.addWidget(self.line)
        self.column.addLayout(head)
        self.setWidget(inner)
        inner.setAutoFillBackground(False)
        self.bar = OverlayBar(self)

    def add_group(self, title: str, rows: QWidget) -> None:
        """A card below its title."""
        group = QVBoxLayout()
        group.setSpacing(6)
        group.addWidget(Label(self.theme, title, "ui_strong"))
        group.addWidget(rows)
        self.column.addLayout(group)


class Rows(Card):
    """A card of settings, each with words at the left and its control at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "hair")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 0, 14, 0)
        self._column.setSpacing(0)

    def add(
        self,
        title: str,
        control: QWidget,
        line: str = "",
        *,
        icon: str = "",
        role: str = "ui_medium",
    ) -> Label:
        """Returns the words below the title."""
        row, inner = self._row()
        if icon:
            inner.addWidget(Mark(self.theme, icon), 0, Qt.AlignmentFlag.AlignVCenter)
            inner.setSpacing(10)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(Label(self.theme, title, role, wrap=role == "code"))
        below = Label(self.theme, line, "small", "text2", wrap=True)
        below.setVisible(bool(line))
        words.addWidget(below)
        inner.addLayout(words, 1)
        inner.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        row.setMinimumHeight(max(48, self.theme.px(48)))
        return below

    def say(self, words: str) -> None:
        """A line of words alone."""
        _, inner = self._row()
        inner.addWidget(Label(self.theme, words, "ui", "text2", wrap=True))

    def _row(self) -> tuple[QWidget, QHBoxLayout]:
        if self._column.count():
            self._column.addWidget(Hairline(self.theme))
        row = QWidget()
        inner = QHBoxLayout(row)
        inner.setContentsMargins(0, 8, 0, 8)
        inner.setSpacing(16)
        self._column.addWidget(row)
        return row, inner
