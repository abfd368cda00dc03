"""Rows of a list: the model of plain values, and the base of delegates that paint two lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.ui.theme import Theme

from .painting import paint_rounded
from .panels import Index


class RowModel(QAbstractListModel):
    """One column of plain values, which a delegate paints; ``spoken`` says a row in words.

    ``key`` tells rows from each other: where those shown have the same keys as those before, the
    view stays where it is.
    """

    def __init__(
        self, spoken: Callable[[Any], str], key: Callable[[Any], object] | None = None
    ) -> None:
        super().__init__()
        self.rows: Sequence[Any] = ()
        self._spoken, self._key = spoken, key

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not 0 <= index.row() < len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._spoken(row)
        return None

    def show(self, rows: Sequence[Any]) -> None:
        if self._key is not None and [*map(self._key, rows)] == [*map(self._key, self.rows)]:
            before, self.rows = self.rows, rows
            for at, (old, new) in enumerate(zip(before, rows, strict=True)):
                if old != new:
                    self.dataChanged.emit(self.index(at), self.index(at))
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()


class RowDelegate(QStyledItemDelegate):
    """The base of delegates that paint a title with a line below it."""

    least, around = 48, 12
    """Pixels of a row at least, and around its two lines, at text size 100 %."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        t = self._theme
        lines = t.metrics("ui_medium").height() + t.metrics("small").height()
        return QSize(100, max(t.px(self.least), lines + t.px(self.around)))


def paint_row_ground(
    painter: QPainter, theme: Theme, option: QStyleOptionViewItem, box: QRectF, radius: float = 7
) -> None:
    """Paint what shows that a row is chosen, or that the mouse is over it."""
    if option.state & QStyle.StateFlag.State_Selected:
        paint_rounded(painter, box, radius, theme.color("selected"))
    elif option.state & QStyle.StateFlag.State_MouseOver:
        paint_rounded(painter, box, radius, theme.color("hover"))
