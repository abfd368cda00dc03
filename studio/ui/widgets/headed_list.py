"""Headed list: the model of a list of choices under headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from .panels import Index

RowT = TypeVar("RowT")


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
