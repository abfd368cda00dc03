"""The sheet of all keys: those of the actions as they are now, and those of single places."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import ceil

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QSizePolicy, QWidget

from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Button, FocusRing, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, keycaps_width, paint_keycaps, paint_text
from studio.ui.widgets.panels import scrolled

from .shortcut_choice import FIXED, native, shortcuts

COLUMNS, GAP, SIDE = 2, 36, 24


class _Line(PaintedWidget):
    """What a key does, and the key."""

    def __init__(self, theme: Theme, text: str, keys: str) -> None:
        super().__init__(theme)
        self._text, self._keys = text, keys
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(joined((text, native(keys))))

    def sizeHint(self) -> QSize:
        t = self.theme
        whole = t.metrics("ui").horizontalAdvance(self._text) + keycaps_width(t, self._keys)
        return QSize(max(t.px(240), ceil(whole) + t.px(14)), t.height(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        wide = keycaps_width(t, self._keys)
        room = rect.width() - wide - t.px(12)
        paint_text(painter, t, rect, self._text, room=room)
        paint_keycaps(painter, t, QPointF(rect.right() - wide, rect.center().y()), self._keys)


class KeySheet(QDialog):
    """All keys, by where they count; Esc closes it. Actions without a key are not here."""

    change_wanted = Signal()
    """The person wants other keys."""

    def __init__(self, theme: Theme, chosen: Mapping[str, str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self.setWindowTitle(tr("All keys"))
        self.lines: list[tuple[str, str]] = []
        """What is shown: words and keys, from top to bottom."""
        groups = [
            (group, [(one.text, one.keys) for one in found if one.keys])
            for group, found in groupby(shortcuts(chosen), lambda one: one.group)
        ]
        groups += [
            (tr(title), [(tr(words), keys) for keys, words in rows]) for title, rows in FIXED
        ]
        columns = [column_of(spacing=0, margins=(0, 0, 0, 0)) for _ in range(COLUMNS)]
        rows = sum(len(found) + 2 for _, found in groups)
        done = 0
        for title, found in groups:
            column = columns[min(COLUMNS - 1, done * COLUMNS // rows)]
            done += len(found) + 2
            head = Label(theme, title, "label", "text2")
            head.setContentsMargins(0, 12, 0, 4)
            column.addWidget(head)
            for text, keys in found:
                column.addWidget(_Line(theme, text, keys))
            self.lines += found
        for column in columns:
            column.addStretch(1)
        inner = widget_of(row_of([(column, 1) for column in columns], GAP, (SIDE, 4, SIDE, 12)))
        area = scrolled(inner)
        area.setAccessibleName(tr("All keys"))
        FocusRing.of(theme).follow(area)
        change = Button(theme, tr("Change keys…"), clicked=self._change)
        foot = row_of([STRETCH, change], margins=(24, 10, 24, 14))
        column_of([(area, 1), foot], spacing=0, on=self)
        largest = self.screen().availableSize() * 0.9
        widest = max(line.sizeHint().width() for line in inner.findChildren(_Line))
        whole = COLUMNS * widest + (COLUMNS - 1) * GAP + 2 * SIDE
        wide = max(theme.px(680), whole)  # no words are cut where there is room
        self.resize(QSize(wide, theme.px(600)).boundedTo(largest))

    def _change(self) -> None:
        self.close()
        self.change_wanted.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("surface"))
        painter.end()
