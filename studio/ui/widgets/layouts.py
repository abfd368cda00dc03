"""Puts widgets in rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget


class Stretch(int):
    """Empty room that grows; the number is its share of what there is."""


STRETCH = Stretch(1)
Part: TypeAlias = QWidget | QLayout | int
"""A number is a space in pixels."""
PlacedPart: TypeAlias = Part | tuple[Part, int | Qt.AlignmentFlag]
"""A part, perhaps with its share of the room or its alignment."""
Margins: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""
NO_MARGINS: Margins = (0, 0, 0, 0)
_Box = TypeVar("_Box", bound=QBoxLayout)


def row_of(
    parts: Sequence[PlacedPart] = (),
    spacing: int = -1,
    margins: Margins = NO_MARGINS,
    on: QWidget | None = None,
) -> QHBoxLayout:
    """Parts from left to right, as the contents of the widget ``on`` if there is one.

    The spacing is the style's unless given.
    """
    return _fill(QHBoxLayout(), on, parts, spacing, margins)


def column_of(
    parts: Sequence[PlacedPart] = (),
    spacing: int = -1,
    margins: Margins = NO_MARGINS,
    on: QWidget | None = None,
) -> QVBoxLayout:
    """Parts from top to bottom, see ``row_of``."""
    return _fill(QVBoxLayout(), on, parts, spacing, margins)


def widget_of(layout: QLayout) -> QWidget:
    """A plain widget with this layout."""
    widget = QWidget()
    widget.setLayout(layout)
    return widget


def _fill(
    box: _Box, on: QWidget | None, parts: Sequence[PlacedPart], spacing: int, margins: Margins
) -> _Box:
    if on is not None:
        on.setLayout(box)
    box.setSpacing(spacing)
    box.setContentsMargins(*margins)
    for placed in parts:
        part, place = placed if isinstance(placed, tuple) else (placed, 0)
        if isinstance(part, Stretch):
            box.addStretch(part)
        elif isinstance(part, int):
            box.addSpacing(part)
        elif isinstance(part, QLayout):
            box.addLayout(part, place)
        elif isinstance(place, Qt.AlignmentFlag):
            box.addWidget(part, 0, place)
        else:
            box.addWidget(part, place)
    return box
