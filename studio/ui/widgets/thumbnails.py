"""Makes small versions of pictures in a thread, and keeps the latest.

A picture is the bytes of a message or a ``LocalPicture`` that an answer names.
"""

from __future__ import annotations

from base64 import b64decode
from collections import OrderedDict
from pathlib import Path
from queue import SimpleQueue
from stat import S_ISREG
from threading import Thread
from typing import TypeAlias
from urllib.parse import unquote

from PySide6.QtCore import QBuffer, QByteArray, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QImage, QImageReader, QImageWriter, QPainter, QTransform

from studio.domain.messages import Image
from studio.domain.records import dataclass

from .thread_signal import ThreadSignal

KEPT = 64
"""Thumbnails in memory; one of 240 pixels has about 0.9 MB on a fine screen."""
HEAD = 256_000
"""Bytes of a file that tell its picture's size: a colour profile may come before it."""
MOST_BYTES = 20_000_000
"""Bytes of a file that an answer names; a larger one is not read."""
MOST_PIXELS = 64_000_000
MOST_REWRITTEN = 12_000_000
"""Pixels of a picture that is made a PNG: that takes up to a second."""
_SIZES = 2000
"""Pictures whose sizes are known after their thumbnails are gone."""
_FORMATS = (b"png", b"jpeg", b"webp", b"gif")
"""Qt's names of the formats that messages hold. It would read SVG and others, too, which an
imported conversation may hold instead."""


@dataclass(frozen=True, slots=True)
class LocalPicture:
    """A picture that a text names: a file inside ``folder``, or a ``data:`` address."""

    folder: str
    url: str

    @property
    def name(self) -> str:
        """The name of the file; empty for one that stands in the text."""
        return "" if self.is_data else unquote(self.url).replace("\\", "/").rsplit("/", 1)[-1]

    @property
    def is_data(self) -> bool:
        return self.url.startswith("data:")

    @property
    def is_possible(self) -> bool:
        return self.is_data or bool(self.folder)

    def path(self) -> Path | None:
        """The file; None if it is outside the folder, gone or too large. Slow."""
        if self.is_data or not self.folder:
            return None
        root = Path(self.folder).resolve()
        for name in (self.url, unquote(self.url)):
            if name[:2].replace("\\", "/") == "//" or ":" in name[:2]:
                continue  # another computer or drive: Windows would ask it, and say who we are
            try:
                place = (root / name).resolve()
                about = place.stat()
            except (OSError, ValueError, RuntimeError):
                continue
            if place.is_relative_to(root) and S_ISREG(about.st_mode):
                return place if about.st_size <= MOST_BYTES else None
        return None

    def read(self) -> bytes:
        """The bytes of the picture; empty if it cannot be had. Slow."""
        try:
            if self.is_data:
                head, _, body = self.url.partition(",")
                fits = head.endswith(";base64") and len(body) <= MOST_BYTES
                return b64decode(unquote(body)) if fits else b""
            path = self.path()
            if path is None:
                return b""
            with path.open("rb") as opened:
                return opened.read(MOST_BYTES)
        except (OSError, ValueError):
            return b""

    def image(self) -> Image | None:
        """The picture as messages have it; None if it cannot be read. Slow."""
        data = self.read()
        held = QByteArray(data)
        buffer = QBuffer(held)
        buffer.open(QBuffer.OpenModeFlag.ReadOnly)
        reader = QImageReader(buffer)
        if not _is_known(reader):
            return None
        return Image(f"image/{bytes(reader.format().data()).decode()}", data)


Picture: TypeAlias = Image | LocalPicture
Key: TypeAlias = tuple[Picture, int]
"""A picture, and the side it is to fit."""


def extent(data: bytes) -> QSize:
    """Width and height of a picture, from the head of its file; not valid if it is none."""
    held = QByteArray(data[:HEAD])
    buffer = QBuffer(held)
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    return reader.size() if _is_known(reader) else QSize()


def _is_known(reader: QImageReader) -> bool:
    return bytes(reader.format().data()) in _FORMATS


def fitted(size: QSize, most: QSize) -> QSize:
    """The size of a picture that is no wider and taller than ``most``; none is enlarged."""
    if size.width() <= most.width() and size.height() <= most.height():
        return size
    return size.scaled(most, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))


def decoded(data: bytes) -> QImage:
    """A picture as large as it is; null if it cannot be read. Slow."""
    held = QByteArray(data)
    buffer = QBuffer(held)
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    size = reader.size()
    if not _is_known(reader) or size.width() * size.height() > MOST_PIXELS:
        return QImage()
    return reader.read()


def as_png(picture: Image) -> bytes:
    """A picture as PNG; empty if it cannot be read, or is too large to be written anew. Slow."""
    size = extent(picture.data)
    if picture.media_type == "image/png" and size.isValid():
        return picture.data
    if size.width() * size.height() > MOST_REWRITTEN:
        return b""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image = decoded(picture.data)
    written = not image.isNull() and QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(buffer.data().data()) if written else b""


def thumbnail(data: bytes, side: int) -> QImage:
    """A picture made to fit a square of ``side`` pixels; null if it cannot be read. Slow."""
    image = decoded(data)
    if image.isNull():
        return image
    return image.scaled(
        fitted(image.size(), QSize(side, side)),
        Qt.AspectRatioMode.IgnoreAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )


def paint_image(
    painter: QPainter, target: QRectF, image: QImage, source: QRectF, radius: float
) -> None:
    """Part of a picture with round corners: as a brush, since a clip has rough edges."""
    brush = QBrush(image)
    fit = QTransform.fromTranslate(target.x(), target.y())
    fit.scale(target.width() / source.width(), target.height() / source.height())
    brush.setTransform(fit.translate(-source.x(), -source.y()))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(brush)
    painter.drawRoundedRect(target, radius, radius)
    painter.restore()


class Thumbnails(QObject):
    """Hands out thumbnails; ``loaded`` is emitted when one more can be had."""

    loaded = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._made: OrderedDict[Key, QImage] = OrderedDict()
        self._sizes: OrderedDict[Picture, QSize] = OrderedDict()
        self._asked: set[Key] = set()
        self._queue: SimpleQueue[Key | None] = SimpleQueue()
        self._thread: Thread | None = None
        queue = self._queue
        self.destroyed.connect(lambda: queue.put(None))

    def __len__(self) -> int:
        return len(self._made)

    def get(self, picture: Picture, side: int) -> QImage | None:
        """The picture within ``side`` × ``side`` pixels; None until ``loaded`` tells.

        Null for one that cannot be read.
        """
        key = (picture, side)
        if (found := self._made.get(key)) is not None:
            self._made.move_to_end(key)
            return found
        if key not in self._asked:
            self._asked.add(key)
            self._queue.put(key)
            if self._thread is None:
                decoded = ThreadSignal()
                decoded.emitted.connect(self._take)
                work = self._queue, decoded
                self._thread = Thread(target=_decode, args=work, name="thumbnails", daemon=True)
                self._thread.start()
        return None

    def forget(self, picture: Picture) -> None:
        """It is far from the window: its thumbnails are made again when it comes back."""
        for key in [key for key in self._made if key[0] is picture or key[0] == picture]:
            del self._made[key]

    def size(self, picture: Picture) -> QSize | None:
        """How large its thumbnail is, also after it was forgotten; None if that is not known.

        Not valid for a picture that cannot be read.
        """
        return self._sizes.get(picture)

    def _take(self, decoded: tuple[Key, QImage]) -> None:
        key, image = decoded
        self._asked.discard(key)
        self._made[key] = image
        self._sizes[key[0]] = image.size() if not image.isNull() else QSize()
        if len(self._sizes) > _SIZES:
            self._sizes.popitem(last=False)
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        self.loaded.emit()


def _decode(queue: SimpleQueue[Key | None], decoded: ThreadSignal) -> None:
    while (key := queue.get()) is not None:
        picture = key[0]
        data = picture.read() if isinstance(picture, LocalPicture) else picture.data
        decoded.emit((key, thumbnail(data, key[1])))
    decoded.end()
