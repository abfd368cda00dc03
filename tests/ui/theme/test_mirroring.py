"""Painted rows are mirrored where people read from the right; texts and icons stay upright."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.widgets.painting import PaintedWidget, paint_keycaps, paint_rounded, paint_text

WIDTH, HEIGHT = 300, 40
LTR, RTL = Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft


class Row(PaintedWidget):
    """A mark, then words, and a key at the other end."""

    ground = "surface"
    words = "Clear…"

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, QRectF(0, 0, 20, HEIGHT), 0, t.color("accent"))
        paint_text(painter, t, rect.adjusted(30, 0, 0, 0), self.words, "ui")
        paint_keycaps(painter, t, rect.center() + rect.center() / 2, "Ctrl+K")


def inked(image: QImage, left: int, right: int, ground: QColor) -> QImage:
    """The part of a picture between two columns, cut to what is drawn there."""
    part = image.copy(left, 0, right - left, HEIGHT)
    columns = [
        x
        for x in range(part.width())
        if any(part.pixelColor(x, y) != ground for y in range(part.height()))
    ]
    return part.copy(columns[0], 0, columns[-1] - columns[0] + 1, HEIGHT)


def unlike(one: QImage, other: QImage) -> int:
    """How far two pictures differ."""
    width = min(one.width(), other.width())
    return sum(
        abs(one.pixelColor(x, y).lightness() - other.pixelColor(x, y).lightness())
        for x in range(width)
        for y in range(HEIGHT)
    )


@pytest.mark.parametrize("words", ["Clear…", "~/code/atlas", "git push origin main."])
def test_rows_are_mirrored_and_texts_are_not(qapp: QApplication, words: str) -> None:
    theme = Theme("light")
    row = Row(theme)
    row.words = words
    row.resize(WIDTH, HEIGHT)
    ground, accent = theme.color("surface"), theme.color("accent")
    pictures = {}
    for direction in (LTR, RTL):
        row.setLayoutDirection(direction)
        pictures[direction] = row.grab().toImage()
    before, after = pictures[LTR], pictures[RTL]
    assert before.pixelColor(5, 5) == accent and after.pixelColor(WIDTH - 6, 5) == accent
    assert after.pixelColor(5, 5) == ground
    # Words and keys read as before, in their mirrored places.
    for begin, end in ((28, 200), (210, 290)):
        drawn = inked(before, begin, end, ground)
        found = inked(after, WIDTH - end, WIDTH - begin, ground)
        assert abs(found.width() - drawn.width()) <= 1, words
        turned = drawn.flipped(Qt.Orientation.Horizontal)
        assert unlike(found, drawn) < unlike(found, turned) / 2, words
    row.deleteLater()


def test_placed_widgets_are_counted_from_the_right(qapp: QApplication) -> None:
    parent = QWidget()
    QVBoxLayout(parent)
    parent.resize(200, 50)
    child = QWidget(parent)
    for direction, x in ((LTR, 10), (RTL, 150)):
        parent.setLayoutDirection(direction)
        put(child, 10, 5, 40, 20)
        assert child.geometry().getRect() == (x, 5, 40, 20)
    parent.deleteLater()
