"""What a picture of a widget shows, looked at all at once."""

from __future__ import annotations

from PySide6.QtGui import QImage


def pixels(image: QImage) -> memoryview:
    """The ``rgba`` of all pixels, row by row: a hundred times as fast as one after the other."""
    here = image.convertToFormat(QImage.Format.Format_ARGB32)
    return memoryview(bytes(here.constBits())).cast("I")  # a copy: Qt's own ends with the image
