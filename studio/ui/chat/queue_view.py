"""Queue view: shows the messages that wait above the composer (L-1)."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, IconButton, Label, plain_tip
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text

from .model.chat_model import ChatModel
from .model.message_queue import QueuedMessage

MOST_SHOWN = 4
"""Messages that are shown; the others are counted."""


class _MessageLine(PaintedWidget):
    """One message in one line, cut to what fits."""

    def __init__(self, theme: Theme, text: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.text = text
        self.setToolTip(plain_tip(text))
        self.setAccessibleName(text)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_text(painter, self.theme, rect, self.text, "ui", "text2", room=rect.width())


class QueueRow(PaintedWidget):
    """One message that waits, with what can be done about it."""

    def __init__(self, theme: Theme, text: str, send: str, tip: str, parent: QWidget) -> None:
        """``send`` is the text of the button that sends it; empty for none."""
        super().__init__(theme, parent)
        self.message = _MessageLine(theme, text, self)
        self.send = Button(theme, send, "ghost", parent=self)
        self.send.setVisible(bool(send))
        self.send.setToolTip(plain_tip(tip))
        self.send.setAccessibleName(f"{send}: {text}")
        self.remove = IconButton(theme, "x", tr("Take back"), size=24, icon_size=14, parent=self)
        self.remove.setAccessibleName(tr("Take back: {text}").format(text=text))
        self._row = row_of(((self.message, 1), self.send, self.remove), on=self)
        self.follow()

    def follow(self) -> None:
        """Take the lengths of the present text size."""
        px = self.theme.px
        self._row.setSpacing(px(6))
        self._row.setContentsMargins(px(38), 0, px(8), 0)
        self.setFixedHeight(max(self.theme.height(28), px(34)))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        side = t.px(14)
        mark = QRectF(t.px(15), (self.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, "clock", "text3")


class QueueView(PaintedWidget):
    """The messages that wait, the oldest first; hidden while there are none."""

    taken_back = Signal()
    """The person took a message back and may want to type."""
    changed = Signal()
    """The queue is shown, hidden, or needs another height."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._model = model
        self.rows: list[QueueRow] = []
        self._more = Label(theme, "", "small", "text3", parent=self)
        self._column = column_of([self._more], spacing=0, on=self)
        self.setAccessibleName(tr("Queued messages"))
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
        self._more.setText(tr_plural("{count} more queued", "{count} more queued", more))
        self._more.setVisible(more > 0)
        self._space()
        self.setVisible(bool(messages))
        self.changed.emit()
        self.update()

    def _row(self, message: QueuedMessage) -> QueueRow:
        if message.steers:
            row = QueueRow(
                self.theme,
                tr("Goes out at the next step: {text}").format(text=message.text),
                "",
                "",
                self,
            )
        elif self._model.queue.offline:
            row = QueueRow(self.theme, tr("Queued: {text}").format(text=message.text), "", "", self)
        elif self._model.queue.running:
            tip = tr("The agent reads it at its next step")
            row = QueueRow(
                self.theme,
                tr("Queued: {text}").format(text=message.text),
                tr("Send now"),
                tip,
                self,
            )
        else:
            row = QueueRow(
                self.theme, tr("Queued: {text}").format(text=message.text), tr("Send"), "", self
            )
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
            row.follow()
        self._space()
        self.changed.emit()
        self.update()

    def _space(self) -> None:
        px = self.theme.px
        self._column.setContentsMargins(0, px(2), 0, px(2))
        self._more.setContentsMargins(px(38), px(2), 0, px(6))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 10, t.color("surface"), t.color("hair"))
