"""The money that one chat may cost, below what it has cost so far (L-14)."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.ui.controls import Label
from studio.ui.settings.limits import Amount, dollars
from studio.ui.theme import Theme


class CapRow(QWidget):
    """``given`` tells the dollars that the person typed; 0 is no limit of the chat's own."""

    given = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.amount = Amount(theme, "Limit of this chat", dollars, 0)
        self.amount.given.connect(self.given)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 16, 8)
        row.addWidget(Label(theme, "Limit of this chat", "ui", "text2"), 1)
        row.addWidget(self.amount)
        self.hide()

    def show_cap(self, value: float | None) -> None:
        """None where there is no chat yet. What is being typed is left alone."""
        self.setVisible(value is not None)
        if value is not None and not self.amount.hasFocus():
            self.amount.set_value(value)
