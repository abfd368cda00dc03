"""Keeps the size and place of the window from one run to the next."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize
from PySide6.QtWidgets import QWidget

from .window_layout import WindowLayout

if TYPE_CHECKING:
    from studio.storage.config.settings import Settings

DECORATIONS = QSize(8, 40)
"""What the system's frame may take of the screen around a window."""


def keep(window: QWidget, sides: WindowLayout, values: Settings) -> None:
    """Write into the settings where the window and its sides are."""
    values.window_geometry = base64.b64encode(window.saveGeometry().data()).decode()
    values.sidebar_width = sides.sidebar_width
    values.sidebar_open = sides.sidebar_open
    values.inspector_width = sides.inspector_width
    values.inspector_open = sides.inspector_open


def restore(window: QWidget, sides: WindowLayout, sidebar: QWidget, values: Settings) -> None:
    """Put them where they were; the inspector is made and opened later."""
    kept = base64.b64decode(values.window_geometry) if values.window_geometry else b""
    if not kept or not window.restoreGeometry(QByteArray(kept)):
        room = window.screen().availableSize() - DECORATIONS
        window.resize(QSize(1440, 900).boundedTo(room))
    sides.sidebar_width = values.sidebar_width
    sides.inspector_width = values.inspector_width
    sides.sidebar_open = values.sidebar_open
    sidebar.setVisible(values.sidebar_open)
