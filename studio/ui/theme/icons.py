"""Icons: Lucide's line drawings, painted in a token's colour.

A drawing is rendered once for each colour and pixel size and then reused.
"""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap

from studio.storage.paths import resources

_NAME = re.compile(r"[a-z0-9-]{1,60}")
_KEEP = 600
"""Pixmaps kept; a window shows about a hundred."""


def _stroke(size: float) -> str:
    if size >= 18:
        return "1.75"
    if size > 14:
        return "1.9"
    return "2" if size > 12 else "2.4"


class Icons:
    """Drawings by their Lucide name, from ``folder``."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or resources() / "icons"
        self._sources: dict[str, str] = {}
        self._pixmaps: dict[tuple[str, int, float, float], QPixmap] = {}

    def known(self, name: str) -> bool:
        """Whether there is such a drawing; a name with a path is not one, whoever chose it."""
        return _NAME.fullmatch(name) is not None and (self._folder / f"{name}.svg").is_file()

    def pixmap(self, name: str, color: QColor, size: float, dpr: float) -> QPixmap:
        """The drawing ``size`` logical pixels square; an unknown name is drawn as ``circle``."""
        key = (name, color.rgba(), round(size, 2), round(dpr, 3))
        found = self._pixmaps.get(key)
        if found is None:
            if len(self._pixmaps) >= _KEEP:
                self._pixmaps.clear()
            found = self._pixmaps[key] = self._render(name, color, size, dpr)
        return found

    def _source(self, name: str) -> str:
        text = self._sources.get(name)
        if text is None:
            found = name if self.known(name) else "circle"
            text = self._sources[name] = (self._folder / f"{found}.svg").read_text("utf-8")
        return text

    def _render(self, name: str, color: QColor, size: float, dpr: float) -> QPixmap:
        from PySide6.QtSvg import QSvgRenderer

        svg = self._source(name).replace("currentColor", color.name())
        svg = svg.replace('stroke-width="2"', f'stroke-width="{_stroke(size)}"')
        side = max(1, round(size * dpr))
        pixmap = QPixmap(side, side)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setOpacity(color.alphaF())
        QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, side, side))
        painter.end()
        pixmap.setDevicePixelRatio(dpr)
        return pixmap
