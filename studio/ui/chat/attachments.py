"""Attachments of the message that is being written: chips in rows, pasted and dropped files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QBuffer, QEvent, QMimeData, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QDropEvent, QImage, QImageWriter, QPainter, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.ui.formatting import byte_size, number
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets import IconButton, Label, plain_tip
from studio.ui.widgets.painting import (
    PaintedWidget,
    centred,
    paint_rounded,
    paint_spinner,
    paint_text,
)
from studio.ui.widgets.thumbnails import extent, paint_image, thumbnail

from .model.attachments import Attachment
from .model.chat_model import ChatModel

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.domain.messages import File, Image

GAP = 6
SIDE = 32
"""Pixels of the thumbnail."""
WIDEST = 240


class ChipLook(NamedTuple):
    """Icon and colours of a chip."""

    icon: str
    ink: str
    fill: str
    border: str


LOOKS = {
    "ready": ChipLook("file-text", "text2", "sunken", "control"),
    "secret": ChipLook("key-round", "warn", "warn_soft", "warn_line"),
    "refused": ChipLook("file-text", "warn", "warn_soft", "warn_line"),
    "error": ChipLook("circle-alert", "err", "err_soft", "err"),
}


class AttachmentChip(PaintedWidget):
    """A thumbnail or icon, the name, what it is, and a button that removes it."""

    removed = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.attachment = attachment
        self.remove = IconButton(theme, "x", tr("Remove"), size=24, icon_size=14, parent=self)
        self.remove.clicked.connect(self.removed)
        self.refresh()

    def refresh(self) -> None:
        """Show the attachment as it is now."""
        file = self.attachment
        state = {
            "reading": tr("reading"),
            "ready": file.about,
            "secret": joined((file.about, file.problem)),
            "refused": tr("{about}, refused: {problem}").format(
                about=file.about, problem=file.problem
            ),
            "error": tr("not attached: {problem}").format(problem=file.problem),
        }[file.state]
        self.setAccessibleName(f"{file.name}, {state}")
        self.setToolTip(plain_tip(file.name))
        self.remove.set_tooltip(tr("Remove {name}").format(name=file.name))
        self.remove.setAccessibleName(
            tr("Remove {name}, {state}").format(name=file.name, state=state)
        )
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
        put(
            self.remove,
            self.width() - size.width() - self.theme.px(6),
            (self.height() - size.height()) // 2,
            size.width(),
            size.height(),
        )

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        look = LOOKS.get(self.attachment.state, LOOKS["ready"])
        paint_rounded(painter, rect, t.px(8), t.color(look.fill), t.color(look.border))
        side = t.px(SIDE)
        tile = QRectF(t.px(6), (rect.height() - side) / 2, side, side)
        self._paint_tile(painter, tile)
        left = tile.right() + t.px(9)
        width = self.remove.x() - t.px(4) - left
        half = rect.height() / 2
        for role, color, words, y in (
            ("small_medium", "text1", self.attachment.name, half - t.px(17)),
            ("small", look.ink, self.attachment.about, half + t.px(1)),
        ):
            words = t.metrics(role).elidedText(words, Qt.TextElideMode.ElideMiddle, int(width))
            line = QRectF(left, y, width, t.px(16))
            paint_text(painter, t, line, words, role, color)

    def _paint_tile(self, painter: QPainter, tile: QRectF) -> None:
        t = self.theme
        if self.attachment.state == "reading":
            paint_spinner(painter, t, self, tile.adjusted(8, 8, -8, -8))
            return
        image = self.attachment.preview
        if isinstance(image, QImage) and not image.isNull():
            square = centred(QRectF(image.rect()), min(image.width(), image.height()))
            paint_image(painter, tile, image, square, 5)
            return
        look = LOOKS.get(self.attachment.state, LOOKS["ready"])
        paint_rounded(painter, tile, 5, t.color("track"))
        t.paint_icon(painter, centred(tile, t.px(16)), look.icon, look.ink)


class Attachments(QWidget):
    """Shows a chip for each attachment, and a line for each that something is wrong with."""

    mentioned = Signal(str)
    """A text that names the folders among the files that were added; may be empty."""
    resized = Signal()

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self._model = model
        self.chips: list[AttachmentChip] = []
        self._problems: list[AttachmentProblem] = []
        self._dialog: QFileDialog | None = None
        self.setAccessibleName(tr("Attached files"))
        self.hide()
        model.attachments.describe = self._describe
        model.subscribe(lambda _: self._refresh(), "attachments")
        theme.changed.connect(self.fit)

    # What a person adds and removes

    def choose_files(self) -> None:
        """Show a dialog that chooses files to go with the message."""
        dialog = self._dialog = QFileDialog(
            self, tr("Add files"), self._model.options.chooser_folder
        )
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.add_paths)
        dialog.open()

    def add_paths(self, paths: Sequence[str]) -> None:
        """Attach files; a folder is mentioned in the text, for the agent to look into."""
        found = [Path(path) for path in paths]
        folders = [path for path in found if path.is_dir()]
        self._model.attachments.add([path for path in found if path not in folders])
        names: list[str] = []
        for folder in folders:
            try:
                inside = folder.relative_to(self._model.options.folder)
                names.append(f"@{inside.as_posix()}/ ")
            except ValueError:
                self._model.report(
                    tr("{folder} is outside the folder of this chat.").format(folder=folder)
                )
        self.mentioned.emit("".join(names))

    def paste(self, picture: bytes | QImage) -> None:
        """Attach a picture from the clipboard."""
        self._model.attachments.paste(partial(_png, picture))

    def _remove(self, chip: AttachmentChip) -> None:
        at = self.chips.index(chip)
        self._model.attachments.remove(chip.attachment)
        if self.chips:
            self.chips[min(at, len(self.chips) - 1)].remove.setFocus()

    # What is shown

    def _refresh(self) -> None:
        items = self._model.attachments.items
        for chip in [chip for chip in self.chips if chip.attachment not in items]:
            self.chips.remove(chip)
            chip.hide()
            chip.deleteLater()
        for place, item in enumerate(items):
            if place == len(self.chips) or self.chips[place].attachment is not item:
                self._insert(place, item)
            else:
                self.chips[place].refresh()
        for problem in self._problems:
            problem.hide()
            problem.deleteLater()
        self._problems = [
            AttachmentProblem(self.theme, item.problem, item.state, self)
            for item in items
            if item.problem
        ]
        for problem in self._problems:
            problem.show()
        self.setVisible(bool(self.chips))
        self.fit()

    def _insert(self, place: int, item: Attachment) -> None:
        chip = AttachmentChip(self.theme, item, self)
        chip.removed.connect(lambda: self._remove(chip))
        # Tab goes through the chips in their order, and from the last one to the words.
        before = self.chips[place - 1].remove if place else self.previousInFocusChain()
        while before is not None and before.focusPolicy() == Qt.FocusPolicy.NoFocus:
            before = before.previousInFocusChain()  # Qt would leave the order as it is
        if before is not None:
            QWidget.setTabOrder(before, chip.remove)
        self.chips.insert(place, chip)
        chip.show()

    async def _describe(self, block: Image | File) -> tuple[str, QImage | None]:
        side = round(self.theme.px(SIDE) * self.devicePixelRatioF())
        return await asyncio.to_thread(_described, block, side)

    def fit(self) -> None:
        """Put the chips in rows as wide as this widget, and take their height."""
        gap, x, y, tall = self.theme.px(GAP), 0, 0, 0
        for chip in self.chips:
            size = chip.sizeHint()
            if x and x + size.width() > self.width():
                x, y = 0, y + tall + gap
            put(chip, x, y, min(size.width(), max(1, self.width())), size.height())
            x, tall = x + size.width() + gap, size.height()
        y += tall
        for problem in self._problems:
            y += gap
            height = problem.lay_out(self.width())
            problem.setGeometry(0, y, self.width(), height)
            y += height
        if y != self.height() or not y:
            self.setFixedHeight(max(y, 1))
        self.resized.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        if event.size().width() != event.oldSize().width():
            self.fit()


class AttachmentProblem(PaintedWidget):
    """What is wrong with a file, with an icon, in as many lines as the text takes."""

    def __init__(self, theme: Theme, words: str, state: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._ink = "err" if state == "error" else "warn"
        self._icon = "circle-alert" if state == "error" else "triangle-alert"
        self.words = Label(theme, words, "small", self._ink, wrap=True, parent=self)
        self.setAccessibleName(words)

    def lay_out(self, width: int) -> int:
        """Fit the text into ``width``; returns the height that it takes."""
        left = self.theme.px(20)
        height = self.words.heightForWidth(max(1, width - left))
        put(self.words, left, 0, max(1, width - left), height)
        return max(height, self.theme.px(16))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        side = self.theme.px(14)
        line = min(self.height(), self.theme.px(18))
        rect = QRectF(1, (line - side) / 2, side, side)
        self.theme.paint_icon(painter, rect, self._icon, self._ink)


def _png(picture: bytes | QImage) -> bytes:
    """The file of a picture from the clipboard."""
    if isinstance(picture, bytes):
        return picture
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, b"PNG").write(picture)
    return bytes(buffer.data().data())


def _described(block: Image | File, side: int) -> tuple[str, QImage | None]:
    """Kind and size for the chip, and the thumbnail of a picture. Blocks: call it in a thread."""
    from studio.domain.messages import File

    weight = byte_size(len(block.data))
    if isinstance(block, File):
        kind = "PDF" if block.media_type == "application/pdf" else tr("Text")
        return f"{kind}, {weight}", None
    about = extent(block.data)
    # Twice the side: the chip cuts a square out of it.
    return f"{number(about.width())} × {number(about.height())}, {weight}", thumbnail(
        block.data, 2 * side
    )


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
    """Lets files and pictures be dropped anywhere on a widget."""

    files_dropped = Signal(list)
    picture_dropped = Signal(object)
    hovered = Signal(bool)
    """Something that can be dropped is over the widget, or no longer."""

    def __init__(self, target: QWidget) -> None:
        super().__init__(target)
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
            self.hovered.emit(kind == QEvent.Type.DragEnter)
            event.acceptProposedAction()
            if kind == QEvent.Type.Drop:
                if files:
                    self.files_dropped.emit(files)
                elif picture is not None:
                    self.picture_dropped.emit(picture)
            return True
        if kind == QEvent.Type.DragLeave:
            self.hovered.emit(False)
            return True
        return False
