"""One attached file, before it is sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import IconButton, paint_rounded, paint_spinner
from studio.ui.widgets.thumbnails import paint_image

if TYPE_CHECKING:
    from studio.domain.messages import File, Image

ChipState: TypeAlias = Literal["reading", "ready", "refused", "error"]

SIDE = 32
"""Pixels of the thumbnail."""
WIDEST = 240


@dataclass(frozen=True, slots=True, eq=False)
class Attachment:
    """A file that was read: the block that is sent, and what a chip shows of it."""

    name: str
    block: Image | File
    about: str
    thumbnail: QImage | None


class AttachmentChip(QWidget):
    """A thumbnail or icon, the name, what it is, and a button that removes it."""

    removed = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.name = name
        self.state: ChipState = "reading"
        self.attached: Attachment | None = None
        self.problem = ""
        """What is wrong, in words for the person; empty for a good one."""
        self.task: asyncio.Task[Any] | None = None
        self._about = "Reading…"
        self.remove = IconButton(theme, "x", "Remove", size=24, icon_size=14, parent=self)
        self.remove.clicked.connect(self.removed)
        self._say()

    def succeed(self, attached: Attachment, refusal: str = "") -> None:
        """It was read; ``refusal`` is why the model refuses it, if it does."""
        self.attached, self._about = attached, attached.about
        self.refuse(refusal)

    def refuse(self, reason: str) -> None:
        """The model refuses it for this reason, or takes it after all."""
        self.state = "refused" if reason else "ready"
        self.problem = f"{self.name}: {reason}" if reason else ""
        self._say()

    def fail(self, problem: str) -> None:
        """It cannot be attached."""
        self.state, self.problem, self._about = "error", problem, "Not attached"
        self._say()

    def stop(self) -> None:
        """Nobody waits for it any more."""
        if self.task is not None:
            self.task.cancel()

    def sizeHint(self) -> QSize:
        t = self.theme
        words = max(
            t.metrics("small_medium").horizontalAdvance(self.name),
            t.metrics("small").horizontalAdvance(self._about),
        )
        width = t.px(6) + t.px(SIDE) + t.px(9) + words + t.px(8) + t.px(24) + t.px(6)
        return QSize(min(width + 2, t.px(WIDEST)), t.height(SIDE + 12))

    def _say(self) -> None:
        state = {
            "reading": "reading",
            "ready": self._about,
            "refused": f"{self._about}, refused: {self.problem}",
            "error": f"not attached: {self.problem}",
        }[self.state]
        self.setAccessibleName(f"{self.name}, {state}")
        self.setToolTip(self.name)
        self.remove.set_tooltip(f"Remove {self.name}")
        self.remove.setAccessibleName(f"Remove {self.name}, {state}")
        self.updateGeometry()
        self.update()

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
        border = {"refused": "warn_line", "error": "err"}.get(self.state, "control")
        fill = {"refused": "warn_soft", "error": "err_soft"}.get(self.state, "sunken")
        paint_rounded(painter, rect, t.px(8), t.color(fill), t.color(border))
        side = t.px(SIDE)
        tile = QRectF(t.px(6), (rect.height() - side) / 2, side, side)
        self._paint_tile(painter, tile)
        ink = {"refused": "warn", "error": "err"}.get(self.state, "text2")
        left = tile.right() + t.px(9)
        width = self.remove.x() - t.px(4) - left
        half = rect.height() / 2
        for role, color, words, y in (
            ("small_medium", "text1", self.name, half - t.px(17)),
            ("small", ink, self._about, half + t.px(1)),
        ):
            painter.setFont(t.font(role))
            painter.setPen(t.color(color))
            words = t.metrics(role).elidedText(words, Qt.TextElideMode.ElideMiddle, int(width))
            line = QRectF(left, y, width, t.px(16))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, words)
        painter.end()

    def _paint_tile(self, painter: QPainter, tile: QRectF) -> None:
        t = self.theme
        if self.state == "reading":
            paint_spinner(painter, t, self, tile.adjusted(8, 8, -8, -8))
            return
        image = self.attached.thumbnail if self.attached else None
        if image is not None and not image.isNull():
            least = min(image.width(), image.height())
            square = QRectF(0, 0, least, least)
            square.moveCenter(QRectF(image.rect()).center())
            paint_image(painter, tile, image, square, 5)
            return
        icon, ink = {
            "refused": ("file-text", "warn"),
            "error": ("circle-alert", "err"),
        }.get(self.state, ("file-text", "text2"))
        side = t.px(16)
        mark = QRectF(0, 0, side, side)
        mark.moveCenter(tile.center())
        paint_rounded(painter, tile, 5, t.color("track"))
        t.paint_icon(painter, mark, icon, ink)
