"""Lists files by where they are from, and those that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyleOptionViewItem,
)

from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.widgets import FocusRing, Index, OverlayBar, make_transparent, plain_tip
from studio.ui.widgets.painting import paint_rounded, paint_tag, paint_text, paint_tile, tag_width
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground

from .row import FileRow


class GalleryModel(RowModel):
    """The rows, with their headings."""

    def __init__(self) -> None:
        super().__init__(lambda row: row.spoken)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        row = super().data(index, int(Qt.ItemDataRole.UserRole))
        if role == Qt.ItemDataRole.ToolTipRole and row is not None and row.path is not None:
            return plain_tip("\n".join(filter(None, (row.problem or row.about, str(row.path)))))
        return super().data(index, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.rows[index.row()].path is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def replace(self, at: int, row: FileRow) -> None:
        self.rows = [*self.rows[:at], row, *self.rows[at + 1 :]]
        self.dataChanged.emit(self.index(at), self.index(at))


class _Row(RowDelegate):
    """Tile, name and a line of text, or a heading."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        if index.data(Qt.ItemDataRole.UserRole).path is None:
            return QSize(100, self._theme.height(32, "label"))
        return super().sizeHint(option, index)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        if row.path is None:
            words = box.adjusted(t.px(8), t.px(4), -t.px(8), 0)
            paint_text(painter, t, words, row.name, "label", "text2", room=words.width())
            return
        paint_row_ground(painter, t, option, box)
        side = t.px(26)
        tile = QRectF(box.x() + t.px(10), box.center().y() - side / 2, side, side)
        if row.problem:
            inner = tile.adjusted(t.px(4), t.px(4), -t.px(4), -t.px(4))
            t.paint_icon(painter, inner, "circle-alert", "err")
        else:
            paint_tile(painter, t, tile, row.icon, row.hue)
        top, lower = t.metrics("ui_medium").height(), t.metrics("small").height()
        left = tile.right() + t.px(10)
        right = box.right() - t.px(10)
        y = box.center().y() - (top + lower + t.px(1)) / 2
        end = right
        dot = t.px(7)
        if row.unsaved:
            mark = QRectF(right - dot, y + (top - dot) / 2, dot, dot)
            paint_rounded(painter, mark, dot / 2, t.color("text2"))
            end = mark.x() - t.px(6)
        if not row.trusted:
            size = t.px(14)
            mark = QRectF(end - size, y + (top - size) / 2, size, size)
            t.paint_icon(painter, mark, "shield-question-mark", "warn")
            end = mark.x() - t.px(6)
        if row.tag:
            width = tag_width(t, row.tag)
            paint_tag(painter, t, QPointF(end - width, y + top / 2), row.tag)
            end -= width + t.px(6)
        first = QRectF(left, y, end - left, top)
        paint_text(painter, t, first, row.name, "ui_medium", "text1", room=first.width())
        second = QRectF(left, y + top + t.px(1), right - left, lower)
        line, ink = (row.problem, "err") if row.problem else (row.about, "text2")
        paint_text(painter, t, second, line, "small", ink, room=second.width())


class Gallery(QListView):
    """Keeps the chosen row by its file while the list changes."""

    radius = 7
    chosen = Signal(object)
    """The row of another file."""
    entered = Signal()
    delete_wanted = Signal()

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.files = GalleryModel()
        self.setModel(self.files)
        self.setItemDelegate(_Row(theme))
        self.setMouseTracking(True)
        self.setAccessibleName(name)
        make_transparent(self)
        self._bar = OverlayBar(self)
        self.selectionModel().currentChanged.connect(self._current_changed)
        self.activated.connect(lambda _: self.entered.emit())
        theme.changed.connect(self.doItemsLayout)

    @property
    def row(self) -> FileRow | None:
        return self.currentIndex().data(Qt.ItemDataRole.UserRole)

    def show_rows(self, rows: Sequence[FileRow], wanted: Path | None) -> None:
        """Show these, with the file ``wanted`` chosen, or what is where the chosen one was."""
        at = self.currentIndex().row()
        self.selectionModel().blockSignals(True)
        self.files.show(rows)
        paths = [row.path for row in rows]
        if wanted is None or wanted not in paths:
            files = [n for n, path in enumerate(paths) if path is not None]
            after = [n for n in files if n >= at]
            index = (after or files or [-1])[0]
        else:
            index = paths.index(wanted)
        self.setCurrentIndex(self.files.index(index))
        self.selectionModel().blockSignals(False)
        self.viewport().update()

    def mark_unsaved(self, path: Path, unsaved: bool) -> None:
        for at, row in enumerate(self.files.rows):
            if row.path == path and row.unsaved != unsaved:
                self.files.replace(at, replace(row, unsaved=unsaved))

    def choose(self, path: Path) -> None:
        """Choose a file that is listed."""
        for at, row in enumerate(self.files.rows):
            if row.path == path:
                self.setCurrentIndex(self.files.index(at))

    def _current_changed(self, index: QModelIndex) -> None:
        row = index.data(Qt.ItemDataRole.UserRole)
        if row is not None and row.path is not None:
            self.chosen.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.delete_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        FocusRing.of(self._theme).around(self, event.reason())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        FocusRing.of(self._theme).leave(self, event.reason())
