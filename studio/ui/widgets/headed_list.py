"""Headed list: choices under headings, which the keys of a field beside them move through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QObject, QPoint, Qt
from PySide6.QtGui import QCursor, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import (
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from .announcement import announce
from .panels import Index, OverlayBar, make_transparent

RowT = TypeVar("RowT")

PAGE = 8
"""Choices that Page Up and Page Down go by."""


class HeadedList(QAbstractListModel, Generic[RowT]):
    """Headings and choices. A heading is a text, and nobody can choose it."""

    RowRole = int(Qt.ItemDataRole.UserRole)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[str | RowT] = []

    def describe(self, row: RowT) -> str:
        """What a screen reader says of a choice."""
        raise NotImplementedError

    def set_rows(self, rows: Sequence[str | RowT]) -> None:
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        row = self.rows[index.row()] if 0 <= index.row() < len(self.rows) else None
        if role == self.RowRole:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return row if row is None or isinstance(row, str) else self.describe(row)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = index.data(self.RowRole)
        if row is None or isinstance(row, str):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class HeadedView(QListView, Generic[RowT]):
    """Shows a ``HeadedList``. A field keeps the keyboard, and ``key`` takes what is typed there.

    The mouse chooses what it is over when it is moved, not where the list comes to be below it.
    What is chosen is said in the field, which has the focus.
    """

    def __init__(
        self,
        rows: HeadedList[RowT],
        delegate: Callable[[QObject], QStyledItemDelegate],
        field: QWidget,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._rows, self._field = rows, field
        self.setModel(rows)
        self.setItemDelegate(delegate(self))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        make_transparent(self)
        OverlayBar(self)
        self._mouse = QPoint()
        """Where the mouse was last, on the screen."""

    @property
    def current(self) -> RowT | None:
        """What is chosen."""
        return self.choice(self.currentIndex())

    def choice(self, index: Index) -> RowT | None:
        """What an index stands for; None for a heading."""
        row = index.data(HeadedList.RowRole)
        return None if isinstance(row, str) else row

    def choose(self, wanted: Callable[[RowT], bool] = lambda row: True) -> None:
        """Choose the first that is wanted, and scroll to it; nothing changes if there is none."""
        for at, row in enumerate(self._rows.rows):
            if not isinstance(row, str) and wanted(row):
                self._go_to(at)
                return

    def move(self, step: int) -> None:
        """Go so many choices on; past the end to the other end, but first to the end itself."""
        choices = [at for at, row in enumerate(self._rows.rows) if not isinstance(row, str)]
        if not choices:
            return
        here, last = self.currentIndex().row(), len(choices) - 1
        at = choices.index(here) if here in choices else -1
        end = last if step > 0 else 0
        to = last - end if at == end else min(max(at + step, 0), last)
        self._go_to(choices[to])
        announce(self._field, str(self.currentIndex().data()))

    def key(self, event: QKeyEvent) -> bool:
        """Take a key of the field; False if it does not move."""
        steps = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_PageDown: PAGE,
            Qt.Key.Key_PageUp: -PAGE,
        }
        step = steps.get(Qt.Key(event.key()))
        if step is not None:
            self.move(step)
        return step is not None

    def rows_height(self, most: int | None = None) -> int:
        """How tall the first rows are, or all of them."""
        option, delegate = QStyleOptionViewItem(), self.itemDelegate()
        shown = range(min(len(self._rows.rows), most or len(self._rows.rows)))
        return sum(delegate.sizeHint(option, self._rows.index(at)).height() for at in shown)

    def _go_to(self, at: int) -> None:
        index = self._rows.index(at)
        self.setCurrentIndex(index)
        if at and isinstance(self._rows.rows[at - 1], str):
            self.scrollTo(self._rows.index(at - 1))
        self.scrollTo(index)
        self._field.setAccessibleDescription(str(index.data()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._mouse = QCursor.pos()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Choose what the mouse was moved over.

        Qt sends a move, too, when the list is shown below a mouse that nobody moves, and
        ``entered`` when it is scrolled or gets a scroll bar there.
        """
        super().mouseMoveEvent(event)
        before, self._mouse = self._mouse, event.globalPosition().toPoint()
        index = self.indexAt(event.position().toPoint())
        if self._mouse != before and self.choice(index) is not None:
            self.setCurrentIndex(index)
