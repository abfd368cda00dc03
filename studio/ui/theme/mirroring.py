"""Mirroring: paints rows from the right, where people read from there.

What is painted for people who read from the left is mirrored as a whole; texts and icons in it are
painted upright in their mirrored places.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps

from PySide6.QtCore import QModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget


@contextmanager
def mirrored(painter: QPainter, rect: QRectF, direction: Qt.LayoutDirection) -> Generator[None]:
    """Paint ``rect`` mirrored, if this is the direction from the right."""
    if direction != Qt.LayoutDirection.RightToLeft:
        yield
        return
    painter.save()
    _flip(painter, rect)
    yield
    painter.restore()


@contextmanager
def upright(painter: QPainter, rect: QRectF) -> Generator[bool]:
    """Paint what is not to be mirrored, in its place; tells whether the painter is."""
    turned = painter.worldTransform().m11() < 0
    if turned:
        painter.save()
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        _flip(painter, rect)
    yield turned
    if turned:
        painter.restore()


def _flip(painter: QPainter, rect: QRectF) -> None:
    painter.translate(2 * rect.center().x(), 0)
    painter.scale(-1, 1)


def draw_text(painter: QPainter, rect: QRectF, flags: int, text: str) -> None:
    """A text that begins at the near side of ``rect``, in a mirrored painter the right one.

    Sentences read in their own direction: a path or a command keeps its order.
    """
    with upright(painter, rect) as turned:
        before = painter.layoutDirection()
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        sides = int((Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignHCenter).value)
        if turned and not flags & sides:
            flags |= Qt.AlignmentFlag.AlignRight.value
        elif turned and flags & Qt.AlignmentFlag.AlignRight.value:
            flags &= ~Qt.AlignmentFlag.AlignRight.value
        if turned and reads_from_right(text):
            painter.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
            flags |= Qt.AlignmentFlag.AlignAbsolute.value
        painter.drawText(rect, flags, text)
        painter.setLayoutDirection(before)


def mirrored_row(paint: Callable[..., None]) -> Callable[..., None]:
    """Have a delegate paint its row mirrored, where people read from the right."""

    @wraps(paint)
    def painted(
        self: object, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        with mirrored(painter, QRectF(option.rect), option.direction):
            paint(self, painter, option, index)

    return painted


def reads_from_right(text: str) -> bool:
    """Whether the first letter that has a direction is one of Arabic, Hebrew and so on."""
    found = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind for kind in found if kind in ("L", "R", "AL")), "L") != "L"


def put(widget: QWidget, x: float, y: float, width: float, height: float) -> None:
    """Place a widget in its parent, counted from the right where people read from there."""
    rect = QRect(round(x), round(y), round(width), round(height))
    if (parent := widget.parentWidget()) is not None:
        rect = QStyle.visualRect(parent.layoutDirection(), parent.rect(), rect)
    widget.setGeometry(rect)
