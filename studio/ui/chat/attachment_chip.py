"""Attachment chip: shows one attached file before it is sent."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import IconButton, paint_rounded, paint_spinner
from studio.ui.widgets.thumbnails import paint_image

from .model.attachments import Attachment

SIDE = 32
"""Pixels of the thumbnail."""
WIDEST = 240


class AttachmentChip(QWidget):
    """A thumbnail or icon, the name, what it is, and a button that removes it."""

    removed = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.attachment = attachment
        self.remove = IconButton(theme, "x", "Remove", size=24, icon_size=14, parent=self)
        self.remove.clicked.connect(self.removed)
        self.refresh()

    def refresh(self) -> None:
        """Show the attachment as it is now."""
        file = self.attachment
        state = {
            "reading": "reading",
            "ready": file.about,
            "refused": f"{file.about}, refused: {file.problem}",
            "error": f"not attached: {file.problem}",
        }[file.state]
        self.setAccessibleName(f"{file.name}, {state}")
        self.setToolTip(file.name)
        self.remove.set_tooltip(f"Remove {file.name}")
        self.remove.setAccessibleName(f"Remove {file.name}, {state}")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        t = self.theme
        words = max(
            t.metrics("small_medium").horizontalAdvance(self.attachment.name),
            t.metrics("small").horizontalAdvance(self.attachment.about),
        )
        width = t.px(6) + t.px(SIDE) + t.px(9) + words + t.px(8) + t.px(24) + t.px(6)
        return QSize(min(width + 2, t.px(WIDEST)), t.height(SIDE + 12))

    def resizeEvent(self, event: QResizeEvent) -> None:
        size = self.remove.sizeHint()
        self.remove.setGeometry(
            self.width() - size.width() - self.theme.px(6),
            (self.height() - size.height()) // 2,
            size.width(),
            size.height(),
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        t, rect = self.theme, QRectF(self.rect())
        painter = QPainter(self)
        border = {"refused": "warn_line", "error": "err"}.get(self.attachment.state, "control")
        fill = {"refused": "warn_soft", "error": "err_soft"}.get(self.attachment.state, "sunken")
        paint_rounded(painter, rect, t.px(8), t.color(fill), t.color(border))
        side = t.px(SIDE)
        tile = QRectF(t.px(6), (rect.height() - side) / 2, side, side)
        self._paint_tile(painter, tile)
        ink = {"refused": "warn", "error": "err"}.get(self.attachment.state, "text2")
        left = tile.right() + t.px(9)
        width = self.remove.x() - t.px(4) - left
        half = rect.height() / 2
        for role, color, words, y in (
            ("small_medium", "text1", self.attachment.name, half - t.px(17)),
            ("small", ink, self.attachment.about, half + t.px(1)),
        ):
            painter.setFont(t.font(role))
            painter.setPen(t.color(color))
            words = t.metrics(role).elidedText(words, Qt.TextElideMode.ElideMiddle, int(width))
            line = QRectF(left, y, width, t.px(16))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, words)
        painter.end()

    def _paint_tile(self, painter: QPainter, tile: QRectF) -> None:
        t = self.theme
        if self.attachment.state == "reading":
            paint_spinner(painter, t, self, tile.adjusted(8, 8, -8, -8))
            return
        image = self.attachment.preview
        if isinstance(image, QImage) and not image.isNull():
            least = min(image.width(), image.height())
            square = QRectF(0, 0, least, least)
            square.moveCenter(QRectF(image.rect()).center())
            paint_image(painter, tile, image, square, 5)
            return
        icon, ink = {
            "refused": ("file-text", "warn"),
            "error": ("circle-alert", "err"),
        }.get(self.attachment.state, ("file-text", "text2"))
        side = t.px(16)
        mark = QRectF(0, 0, side, side)
        mark.moveCenter(tile.center())
        paint_rounded(painter, tile, 5, t.color("track"))
        t.paint_icon(painter, mark, icon, ink)
