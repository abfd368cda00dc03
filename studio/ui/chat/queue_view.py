"""Queue view: shows the messages that wait above the composer (L-1)."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.ui.theme import Theme, elided
from studio.ui.widgets import Button, IconButton, Label, paint_rounded

from .model.chat_model import ChatModel
from .model.message_queue import QueuedMessage

MOST_SHOWN = 4
"""Messages that are shown; the others are counted."""


class _MessageLine(QWidget):
    """One message in one line, cut to what fits."""

    def __init__(self, theme: Theme, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self.text = theme, text
        self.setToolTip(text)
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        text = elided(t.metrics("ui"), self.text, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


class QueueRow(QWidget):
    """One message that waits, with what can be done about it."""

    def __init__(self, theme: Theme, text: str, send: str, tip: str, parent: QWidget) -> None:
        """``send`` is the text of the button that sends it; empty for none."""
        super().__init__(parent)
        self._theme = theme
        self.message = _MessageLine(theme, text, self)
        self.send = Button(theme, send, "ghost", parent=self)
        self.send.setVisible(bool(send))
        self.send.setToolTip(tip)
        self.send.setAccessibleName(f"{send}: {text}")
        self.remove = IconButton(theme, "x", "Take back", size=24, icon_size=14, parent=self)
        self.remove.setAccessibleName(f"Take back: {text}")
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(38), 0, theme.px(8), 0)
        row.setSpacing(theme.px(6))
        row.addWidget(self.message, 1)
        row.addWidget(self.send)
        row.addWidget(self.remove)
        self.setFixedHeight(max(theme.height(28), theme.px(34)))

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        side = t.px(14)
        mark = QRectF(t.px(15), (self.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, "clock", "text3")
        painter.end()


class QueueView(QWidget):
    """The messages that wait, the oldest first; hidden while there are none."""

    taken_back = Signal()
    """The person took a message back and may want to type."""
    changed = Signal()
    """The queue is shown, hidden, or needs another height."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._model = theme, model
        self.rows: list[QueueRow] = []
        self._more = Label(theme, "", "small", "text3", parent=self)
        self._column = QVBoxLayout(self)
        self._column.setSpacing(0)
        self._column.addWidget(self._more)
        self.setAccessibleName("Queued messages")
        theme.changed.connect(self._restyle)
        model.subscribe(lambda _: self._refresh(), "queue")
        self.hide()

    def _refresh(self) -> None:
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        messages = self._model.queue.messages
        self.rows = [self._row(message) for message in messages[:MOST_SHOWN]]
        for at, row in enumerate(self.rows):
            self._column.insertWidget(at, row)
            row.show()
        more = len(messages) - len(self.rows)
        self._more.setText(f"{more} more queued")
        self._more.setVisible(more > 0)
        self._space()
        self.setVisible(bool(messages))
        self.changed.emit()
        self.update()

    def _row(self, message: QueuedMessage) -> QueueRow:
        if message.steers:
            row = QueueRow(self._theme, f"Goes out at the next step: {message.text}", "", "", self)
        elif self._model.queue.running:
            tip = "The agent reads it at its next step"
            row = QueueRow(self._theme, f"Queued: {message.text}", "Send now", tip, self)
        else:
            row = QueueRow(self._theme, f"Queued: {message.text}", "Send", "", self)
        row.send.clicked.connect(lambda: self._model.queue.send(message.id))
        row.remove.clicked.connect(lambda: self._take_back(message.id))
        return row

    def _take_back(self, message_id: str) -> None:
        self._model.queue.take_back(message_id)
        self.taken_back.emit()

    def heightForWidth(self, width: int) -> int:
        return self._column.sizeHint().height()

    def _restyle(self) -> None:
        for row in self.rows:
            row.setFixedHeight(max(self._theme.height(28), self._theme.px(34)))
        self._space()
        self.changed.emit()
        self.update()

    def _space(self) -> None:
        px = self._theme.px
        self._column.setContentsMargins(0, px(2), 0, px(2))
        self._more.setContentsMargins(px(38), px(2), 0, px(6))

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        paint_rounded(painter, QRectF(self.rect()), 10, t.color("surface"), t.color("hair"))
        painter.end()
