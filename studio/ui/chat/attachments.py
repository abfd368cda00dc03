"""What is attached to the message that is being written.

Files are read and thumbnails made in threads; a chip shows how far that is. A
file that the chosen model would refuse is marked, with the reason below.

Files and pictures that are pasted or dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QBuffer, QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QDropEvent, QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.domain.errors import StudioError
from studio.ui.theme import Theme
from studio.ui.widgets import Label

from .attachment_chip import SIDE, Attachment, AttachmentChip

if TYPE_CHECKING:
    from studio.domain.messages import File, Image

GAP = 6


async def never_refused(block: Image | File) -> str:
    """Refuses nothing: what is asked before it is known what the chat runs on."""
    return ""


class Attachments(QWidget):
    """Chips in rows, and a line for each that something is wrong with.

    ``connect_to`` says how to run a coroutine and whom to ask whether the
    chosen model would refuse a block: a reason, or nothing.
    """

    changed = Signal()
    """Something came, went, or is ready now."""
    resized = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.chips: list[AttachmentChip] = []
        self._remarks: list[AttachmentProblem] = []
        self._later: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]] | None = None
        self._refuses: Callable[[Image | File], Awaitable[str]] = never_refused
        self._checking: asyncio.Task[Any] | None = None
        self.setAccessibleName("Attached files")
        self.hide()
        theme.changed.connect(self.fit)

    def connect_to(
        self,
        later: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        refuses: Callable[[Image | File], Awaitable[str]],
    ) -> None:
        self._later, self._refuses = later, refuses

    # What is there

    @property
    def blocks(self) -> list[Image | File]:
        return [chip.attached.block for chip in self.chips if chip.attached]

    @property
    def reading(self) -> bool:
        """Whether a file is still being read."""
        return any(chip.state == "reading" for chip in self.chips)

    @property
    def remark(self) -> str:
        """What Send has to say about the files; mostly nothing."""
        if self.reading:
            return "The files are still being read"
        refused = [chip.name for chip in self.chips if chip.state == "refused"]
        return f"The model refuses {', '.join(refused)}" if refused else ""

    # What comes and goes

    def add(self, paths: Sequence[Path]) -> None:
        """Read files and attach them; what cannot be is said in place."""

        async def attached(path: Path) -> Image | File:
            from studio.agent.attachments import attach

            return await attach(path)

        for path in paths:
            self._begin(path.name or str(path), attached(path))

    def paste(self, picture: bytes | QImage) -> None:
        """Attach a picture from the clipboard."""

        async def pasted() -> Image:
            from studio.agent import attachments as reading

            data = await asyncio.to_thread(_png, picture)
            return await reading.picture(data)

        count = sum(chip.name.startswith(PASTED) for chip in self.chips)
        self._begin(f"{PASTED} {count + 1}" if count else PASTED, pasted())

    def take(self) -> list[Attachment]:
        """All that can be sent, no longer attached; the rest is gone."""
        taken = [chip.attached for chip in self.chips if chip.attached]
        for chip in self.chips:
            self._drop(chip)
        self.chips = []
        self._update()
        return taken

    def put_back(self, attached: Sequence[Attachment]) -> None:
        """Attach again what ``take`` gave: it could not be sent."""
        for place, one in enumerate(attached):
            self._chip(one.name, place).succeed(one)
        self._update()
        self.recheck()

    def replace(self, blocks: Sequence[Image | File]) -> None:
        """Attach these and nothing else: those of a message that is edited."""

        async def known(block: Image | File) -> Image | File:
            return block

        self.take()
        for block in blocks:
            self._begin(getattr(block, "name", "Picture"), known(block))

    def recheck(self) -> None:
        """Ask again what the model refuses: another one is chosen, or more is known of it."""
        if self._later is None or not self.blocks:
            return
        if self._checking is not None:
            self._checking.cancel()
        self._checking = self._later(self._check())

    def _chip(self, name: str, place: int) -> AttachmentChip:
        chip = AttachmentChip(self.theme, name, self)
        chip.removed.connect(lambda: self._remove(chip))
        # Tab goes through the chips in their order, and from the last one to the words.
        before = self.chips[place - 1].remove if place else self.previousInFocusChain()
        while before.focusPolicy() == Qt.FocusPolicy.NoFocus:  # Qt would leave the order as it is
            before = before.previousInFocusChain()
        QWidget.setTabOrder(before, chip.remove)
        self.chips.insert(place, chip)
        chip.show()
        return chip

    def _begin(self, name: str, reading: Coroutine[Any, Any, Image | File]) -> None:
        chip = self._chip(name, len(self.chips))
        if self._later is None:
            reading.close()
            chip.fail("The program is not ready yet. Try again in a moment.")
        else:
            chip.task = self._later(self._read(chip, reading))
        self._update()

    async def _read(self, chip: AttachmentChip, reading: Coroutine[Any, Any, Image | File]) -> None:
        from studio.agent.attachments import check_total_size

        try:
            block = await reading
            check_total_size([*self.blocks, block])
        except StudioError as error:
            chip.fail(str(error))
        else:
            # Before it counts as ready: one that is refused is never shown without the reason.
            refusal = await self._refuses(block)
            about, thumbnail = await asyncio.to_thread(_described, block, self._side())
            chip.succeed(Attachment(chip.name, block, about, thumbnail), refusal)
        self._update()

    async def _check(self) -> None:
        for chip in list(self.chips):
            if chip.attached:
                chip.refuse(await self._refuses(chip.attached.block))
        self._update()

    def _remove(self, chip: AttachmentChip) -> None:
        at = self.chips.index(chip)
        self.chips.remove(chip)
        self._drop(chip)
        self._update()
        if self.chips:
            self.chips[min(at, len(self.chips) - 1)].remove.setFocus()

    @staticmethod
    def _drop(chip: AttachmentChip) -> None:
        chip.stop()
        chip.hide()
        chip.deleteLater()

    # Where it is

    def _side(self) -> int:
        return round(self.theme.px(SIDE) * self.devicePixelRatioF())

    def _update(self) -> None:
        wrong = [(chip.problem, chip.state) for chip in self.chips if chip.problem]
        for remark in self._remarks:
            remark.hide()
            remark.deleteLater()
        self._remarks = [
            AttachmentProblem(self.theme, words, state, self) for words, state in wrong
        ]
        for remark in self._remarks:
            remark.show()
        self.setVisible(bool(self.chips))
        self.fit()
        self.changed.emit()

    def fit(self) -> None:
        """Put the chips in rows as wide as this is, and take the height of all."""
        gap, x, y, tall = self.theme.px(GAP), 0, 0, 0
        for chip in self.chips:
            size = chip.sizeHint()
            if x and x + size.width() > self.width():
                x, y = 0, y + tall + gap
            chip.setGeometry(x, y, min(size.width(), max(1, self.width())), size.height())
            x, tall = x + size.width() + gap, size.height()
        y += tall
        for remark in self._remarks:
            y += gap
            height = remark.tall(self.width())
            remark.setGeometry(0, y, self.width(), height)
            y += height
        if y != self.height() or not y:
            self.setFixedHeight(max(y, 1))
        self.resized.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        if event.size().width() != event.oldSize().width():
            self.fit()


PASTED = "Pasted picture"


class AttachmentProblem(QWidget):
    """What is wrong with a file, with an icon, in as many lines as it takes."""

    def __init__(self, theme: Theme, words: str, state: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ink = "err" if state == "error" else "warn"
        self._icon = "circle-alert" if state == "error" else "triangle-alert"
        self.words = Label(theme, words, "small", self._ink, wrap=True, parent=self)
        self.setAccessibleName(words)

    def tall(self, width: int) -> int:
        left = self._theme.px(20)
        height = self.words.heightForWidth(max(1, width - left))
        self.words.setGeometry(left, 0, max(1, width - left), height)
        return max(height, self._theme.px(16))

    def paintEvent(self, event: QPaintEvent) -> None:
        side = self._theme.px(14)
        painter = QPainter(self)
        line = min(self.height(), self._theme.px(18))
        rect = QRectF(1, (line - side) / 2, side, side)
        self._theme.paint_icon(painter, rect, self._icon, self._ink)
        painter.end()


def _png(picture: bytes | QImage) -> bytes:
    """The file of a picture from the clipboard."""
    if isinstance(picture, bytes):
        return picture
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    return bytes(buffer.data().data())


def _described(block: Image | File, side: int) -> tuple[str, QImage | None]:
    """What a chip says below the name, and its little picture."""
    from studio.domain.messages import File
    from studio.tools.sdk.result import size
    from studio.ui.widgets.thumbnails import extent, thumbnail

    weight = size(len(block.data))
    if isinstance(block, File):
        return f"{'PDF' if block.media_type == 'application/pdf' else 'Text'}, {weight}", None
    about = extent(block.data)
    # Twice the side: the chip cuts a square out of it.
    return f"{about.width():,} × {about.height():,}, {weight}", thumbnail(block.data, 2 * side)


_RAW = ("image/png", "image/jpeg", "image/webp", "image/gif")


def files_in(data: QMimeData) -> list[str]:
    """Paths of the files of this computer that are copied or dragged."""
    return [url.toLocalFile() for url in data.urls() if url.isLocalFile()]


def picture_in(data: QMimeData) -> bytes | QImage | None:
    """A picture that is copied or dragged: its file where there is one.

    None where there are words as well: a table's cells come as both, and the
    words are meant.
    """
    if not data.hasImage() or data.hasText():
        return None
    for kind in _RAW:
        if data.hasFormat(kind):
            return bytes(data.data(kind).data())
    image = data.imageData()
    return image if isinstance(image, QImage) else None


class DropTarget(QObject):
    """Lets files and pictures be dropped anywhere on a widget; ``over`` hears if they hover."""

    def __init__(
        self,
        target: QWidget,
        files: Callable[[list[str]], object],
        picture: Callable[[bytes | QImage], object],
        over: Callable[[bool], object],
    ) -> None:
        super().__init__(target)
        self._files, self._picture, self._over = files, picture, over
        target.setAcceptDrops(True)
        target.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            assert isinstance(event, QDropEvent)
            data = event.mimeData()
            files, picture = files_in(data), picture_in(data)
            if not files and picture is None:
                return False
            self._over(kind == QEvent.Type.DragEnter)
            event.acceptProposedAction()
            if kind == QEvent.Type.Drop:
                if files:
                    self._files(files)
                elif picture is not None:
                    self._picture(picture)
            return True
        if kind == QEvent.Type.DragLeave:
            self._over(False)
            return True
        return False
