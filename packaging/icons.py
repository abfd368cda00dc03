"""Draws the program's icon in every size that a system wants: ``python packaging/icons.py FOLDER``.

Needs Qt, which draws the SVG, and Pillow, which joins sizes to Windows' and macOS' files.
"""

from __future__ import annotations

import os
import sys
from io import BytesIO
from pathlib import Path

SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
WINDOWS = (16, 24, 32, 48, 64, 128, 256)
ROOM_ON_MACOS = 0.1
"""The part of the edge that macOS leaves empty on each side of an icon."""


def draw_icons(svg: Path, folder: Path, name: str) -> None:
    """Write ``name-SIZE.png`` for each size, ``name.ico`` and ``name.icns``."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PIL import Image
    from PySide6.QtCore import QBuffer, QByteArray, QRectF, Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    application = QGuiApplication.instance() or QGuiApplication([])
    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise SystemExit(f"{svg} is no picture that Qt can draw.")

    def drawn(size: int, room: float = 0.0) -> bytes:
        image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = size * room
        renderer.render(painter, QRectF(edge, edge, size - 2 * edge, size - 2 * edge))
        painter.end()
        data = QByteArray()
        image.save(QBuffer(data), "PNG")  # type: ignore[call-overload]
        return bytes(data.data())

    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        (folder / f"{name}-{size}.png").write_bytes(drawn(size))
    joined = [Image.open(BytesIO(drawn(size))) for size in WINDOWS]
    joined[-1].save(
        folder / f"{name}.ico", sizes=[(size, size) for size in WINDOWS], append_images=joined
    )
    Image.open(BytesIO(drawn(1024, ROOM_ON_MACOS))).save(folder / f"{name}.icns")
    del application


if __name__ == "__main__":
    from definition import definition

    about = definition()
    draw_icons(about.icon, Path(sys.argv[1]), about.command)
