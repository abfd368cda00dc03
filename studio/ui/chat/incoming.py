"""Files and pictures that are pasted or dropped."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMimeData, QObject
from PySide6.QtGui import QDropEvent, QImage
from PySide6.QtWidgets import QWidget

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
