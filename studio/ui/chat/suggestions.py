"""Suggestions: offers beginnings below the composer of a new chat."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from studio.ui.theme import Theme, elided
from studio.ui.widgets import PaintedButton, paint_rounded


class SuggestionButton(PaintedButton):
    """One suggestion."""

    def __init__(self, theme: Theme, text: str, icon: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.setText(text)
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._icon = icon

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(300), self.theme.px(34))

    def paintEvent(self, event: QPaintEvent) -> None:
        t, rect = self.theme, QRectF(self.rect())
        painter = QPainter(self)
        if over := self.overlay():
            paint_rounded(painter, rect, self.radius, t.color(over))
        side = t.px(16)
        mark = QRectF(t.px(14), (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, self._icon, "text2")
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        words = QRectF(mark.right() + t.px(12), 0, rect.width(), rect.height())
        text = elided(t.metrics("ui"), self.text(), rect.width() - words.x() - t.px(8))
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


class Suggestions(QWidget):
    """Suggested messages, and the chat used last; made again for each new chat."""

    open_wanted = Signal(str)
    text_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: list[SuggestionButton] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._column.addStretch(1)

    def offer(self, last: tuple[str, str] | None, folder: str) -> None:
        """``last``: id and title of the chat used last."""
        for row in self._rows:
            row.deleteLater()
        self._rows.clear()
        if last is not None:
            row = self._add(f"Continue “{last[1]}”", "history")
            row.clicked.connect(lambda _=False, id=last[0]: self.open_wanted.emit(id))
        for text, icon in (
            (f"Explain what is in {folder}", "folder-open"),
            (f"Review my uncommitted changes in {folder}", "git-branch"),
        ):
            row = self._add(text, icon)
            row.clicked.connect(lambda _=False, text=text: self.text_wanted.emit(text))

    def _add(self, text: str, icon: str) -> SuggestionButton:
        row = SuggestionButton(self._theme, text, icon, self)
        self._column.insertWidget(len(self._rows), row)
        self._rows.append(row)
        return row
