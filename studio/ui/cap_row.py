"""The money that one chat may cost, below what it has cost so far (L-14)."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.ui.settings.limits import AmountField, dollars
from studio.ui.theme import Theme, elided


class BudgetRow(QWidget):
    """``given`` tells the dollars that the person typed; 0 is no limit of the chat's own."""

    given = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.amount = AmountField(theme, "Limit of this chat", dollars, 0)
        self.amount.given.connect(self.given)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 16, 8)
        row.addStretch(1)
        row.addWidget(self.amount)
        self.theme = theme
        theme.changed.connect(self.update)
        self.hide()

    def show_cap(self, value: float | None) -> None:
        """None where there is no chat yet. What is being typed is left alone."""
        self.setVisible(value is not None)
        if value is not None and not self.amount.hasFocus():
            self.amount.set_value(value)

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self.theme, QPainter(self)
        words = QRectF(16, 0, self.amount.x() - 24, self.amount.height())
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        text = elided(t.metrics("ui"), "Limit of this chat", words.width())
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()
