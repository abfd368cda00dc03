"""A rule as it is written, which is clicked to change it."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.controls.buttons import PaintedButton
from studio.ui.theme import Theme

_WRAP = int(Qt.TextFlag.TextWrapAnywhere) | int(Qt.AlignmentFlag.AlignVCenter)
LEAST = 24


class RuleButton(PaintedButton):
    """As wide as there is room; what is longer is wrapped, never cut off."""

    def __init__(self, theme: Theme, rule: str, about: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setText(rule)
        self.setAccessibleName(f"Change {rule}")
        self.setAccessibleDescription(about)
        self.setToolTip("Change")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        width = self.theme.metrics("code").horizontalAdvance(self.text()) + 2
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.px(LEAST))

    def heightForWidth(self, width: int) -> int:
        room = QRect(0, 0, max(1, width), 100_000)
        words = self.theme.metrics("code").boundingRect(room, _WRAP, self.text())
        return max(self.theme.px(LEAST), words.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = self.theme.font("code")
        font.setUnderline(self.overlay() is not None)
        painter.setFont(font)
        painter.setPen(self.theme.color("text1"))
        painter.drawText(self.rect(), _WRAP, self.text())
        painter.end()
