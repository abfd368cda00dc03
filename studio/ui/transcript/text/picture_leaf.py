"""Picture leaf: a picture of this computer, shown small in the text."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from studio.ui.markdown.blocks import Block
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.translation import tr
from studio.ui.widgets.thumbnails import LocalPicture, Thumbnails, fitted, paint_image

from .leaf import Leaf, Link

PICTURE_SIDE = 1024
"""Pixels of the longer side to which pictures of answers are made smaller."""
PICTURE_TALL = 420
"""Pixels of the height on screen, at the most."""


class PictureLeaf(Leaf):
    """A picture of the chat's folder, or a row with its name where it cannot be shown."""

    over = False
    hit: Literal["", "found", "current"] = ""
    """Whether the words that describe it have what is looked for."""

    def __init__(self, block: Block, folder: str, thumbnails: Thumbnails) -> None:
        super().__init__(block)
        self.picture = LocalPicture(folder, block.spans[0][3])
        self.thumbnails = thumbnails
        self.broken = not self.picture.is_possible

    @property
    def title(self) -> str:
        return self.block.text or self.picture.name or tr("Picture")

    def texts(self) -> list[str]:
        return [self.block.text]

    def links(self) -> list[Link]:
        return []

    def estimate(self, style: PaintStyle, width: float) -> float:
        return self._extent(style, width - self.indent(style)).height()

    def _extent(self, style: PaintStyle, room: float) -> QSizeF:
        known = self.thumbnails.size(self.picture)
        self.broken = not self.picture.is_possible or (known is not None and not known.isValid())
        self.complete = self.broken or known is not None
        if self.broken:
            wide = style.px(34) + style.width("small", self.title) + style.px(12)
            return QSizeF(min(room, wide), style.theme.height(28))
        if known is None:
            return QSizeF(min(room, style.px(240)), style.px(160))
        most = QSize(round(room), style.px(PICTURE_TALL))
        return QSizeF(fitted(known, most).expandedTo(QSize(style.px(28), style.px(28))))

    def lay(self, style: PaintStyle, width: float) -> None:
        self._x = self.indent(style)
        self._size = self._extent(style, max(40.0, width - self._x))
        if not self.complete:
            self.thumbnails.get(self.picture, PICTURE_SIDE)
        self.height = self._size.height()
        self.laid = True

    def row(self, y: float) -> QRectF:
        """Where it is, if its top is at ``y``."""
        return QRectF(QPointF(self._x, y), self._size)

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        if self.block.nesting:
            self.paint_nesting(painter, y, style, style.body_line)
        rect = self.row(y)
        image = None if self.broken else self.thumbnails.get(self.picture, PICTURE_SIDE)
        if self.broken:
            style.card(painter, rect, "sunken", "hair", 6)
            at = QPointF(rect.left() + style.px(18), rect.center().y())
            style.icon(painter, at, "image", "text3", 16)
            line = rect.adjusted(style.px(34), 0, -style.px(10), 0)
            style.text(painter, line, self.title, "small", "text2")
        elif image is None or image.isNull():
            style.card(painter, rect, "sunken", "hair", 8)
            style.icon(painter, rect.center(), "image", "text3", 16)
        else:
            scale = min(rect.width() / image.width(), rect.height() / image.height(), 1.0)
            target = QRectF(0, 0, image.width() * scale, image.height() * scale)
            target.moveCenter(rect.center())
            paint_image(painter, target, image, QRectF(image.rect()), 8)
            if self.over:
                style.card(painter, rect, "hover", None, 8)
            style.card(painter, rect, None, "control" if self.over else "hair", 7.5)
        if selected is not None and selected[0] < selected[1]:
            mark = QColor(style.color("accent"))
            mark.setAlpha(40)
            painter.fillRect(rect, mark)
        if self.hit:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            ring = "warn" if self.hit == "current" else "accent_text"
            painter.setPen(QPen(style.color(ring), 3 if self.hit == "current" else 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(1.5, 1.5, -1.5, -1.5), 7, 7)
            painter.restore()

    def position(self, x: float, y: float) -> int:
        return 0 if y < self.height / 2 else self.length
