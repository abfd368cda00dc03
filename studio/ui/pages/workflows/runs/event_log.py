"""Event log: what happened in a run, line by line, with filters and a search (W-64)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.ui.formatting import clock
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Field, Index, Label, Segmented
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import paint_text
from studio.ui.widgets.row_list import paint_row_ground

from .letter_list import LetterList
from .log_rows import LogKind, LogRow, found_rows

KINDS: tuple[tuple[LogKind, ...], ...] = ((), ("step",), ("question",), ("problem",))
"""What each filter shows; nothing is all."""


class LogModel(QAbstractListModel):
    """Rows of a log, of which some are shown."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[LogRow] = ()
        self.found: list[int] = []

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        return 0 if parent.isValid() else len(self.found)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not 0 <= index.row() < len(self.found):
            return None
        row = self.rows[self.found[index.row()]]
        if role == Qt.ItemDataRole.UserRole:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return row.spoken
        return None

    def show(self, rows: Sequence[LogRow], found: list[int]) -> None:
        """Show these of the rows; where only new ones come at the end, the view stays."""
        before = self.found
        if rows is self.rows and found[: len(before)] == before:
            if len(found) > len(before):
                self.beginInsertRows(QModelIndex(), len(before), len(found) - 1)
                self.found = found
                self.endInsertRows()
            return
        self.beginResetModel()
        self.rows, self.found = rows, found
        self.endResetModel()


class LogLine(QStyledItemDelegate):
    """Time, mark, step, words, and what stands at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(30, "small"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 0, -t.px(8), 0)
        paint_row_ground(painter, t, option, box, 6)
        rect = box.adjusted(t.px(8), 0, -t.px(8), 0)
        paint_text(painter, t, rect, clock(row.at), "small digits", "text2")
        side = t.px(15)
        x = rect.x() + max(t.px(44), t.metrics("small digits").horizontalAdvance("00:00") + t.px(8))
        mark = QRectF(x, rect.center().y() - side / 2, side, side)
        if row.icon:
            t.paint_icon(painter, mark, row.icon, row.ink)
        step = QRectF(mark.right() + t.px(10), rect.y(), t.px(76), rect.height())
        paint_text(painter, t, step, row.step, "small", "text2", room=step.width())
        right = t.metrics("small digits").horizontalAdvance(row.right)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, rect, row.right, "small digits", "text2", at_right)
        words = QRectF(step.right() + t.px(8), rect.y(), 0, rect.height())
        words.setRight(rect.right() - right - (t.px(12) if right else 0))
        paint_text(painter, t, words, row.text, "ui", room=words.width())


class EventLog(QWidget):
    """A field and filters above the lines. The chosen line's step is chosen elsewhere too."""

    chosen = Signal(str, str)
    """The person chose a line, by its step and item."""
    opened = Signal(str, str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: Sequence[LogRow] = ()
        self._model = LogModel()
        self.field = Field(theme, tr("Filter, for example step:test"), icon="list-filter")
        self.field.offer_clear()
        self.field.textChanged.connect(lambda: self._filter())
        words = [tr("All"), tr("Steps"), tr("Questions"), tr("Problems")]
        self.kinds = Segmented(theme, words, name=tr("Show"))
        self.kinds.chosen.connect(self._kind_chosen)
        self.list = LetterList(theme, tr("Event log"))
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(LogLine(theme))
        self.list.selectionModel().currentChanged.connect(self._current_changed)
        self.list.activated.connect(lambda index: self._tell(self.opened, index))
        self._nothing = Label(theme, tr("Nothing like this happened."), "ui", "text2")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.hide()
        self.field.setMaximumWidth(theme.px(260))
        head = row_of([(self.field, 1), 8, self.kinds, STRETCH], 0, (16, 4, 16, 6))
        column_of([head, self._nothing, (self.list, 1)], spacing=0, on=self)
        self._silent = False

    @property
    def counts(self) -> str:
        """“38 of 214 events”."""
        whole = len(self._rows)
        if len(self._model.found) == whole:
            return tr_plural("{count} event", "{count} events", whole)
        return tr("{count} of {all} events").format(count=len(self._model.found), all=whole)

    def show_rows(self, rows: Sequence[LogRow]) -> None:
        """Show the rows of a run, which may have got longer since."""
        bar = self.list.verticalScrollBar()
        stick = rows is not self._rows or bar.maximum() - bar.value() <= 40
        self._rows = rows
        for at, (kinds, words) in enumerate(
            zip(KINDS, (tr("All"), tr("Steps"), tr("Questions"), tr("Problems")), strict=True)
        ):
            count = sum(row.kind in kinds for row in rows) if at > 1 else 0
            self.kinds.segment(at).setText(f"{words} {count}" if count else words)
        self.kinds.updateGeometry()
        self._filter()
        if stick:
            self.list.scrollToBottom()

    def choose(self, step: str, item: str) -> None:
        """Mark the newest line of a step, or of its item."""
        index = self.list.currentIndex()
        row: LogRow | None = index.data(Qt.ItemDataRole.UserRole) if index.isValid() else None
        if row is not None and row.step == step and item in ("", row.item):
            return
        place = -1
        for at, number in enumerate(self._model.found):
            found = self._rows[number]
            if step and found.step == step and item in ("", found.item):
                place = at
        self._silent = True
        self.list.setCurrentIndex(self._model.index(place) if place >= 0 else QModelIndex())
        self._silent = False

    def show_kind(self, number: int) -> None:
        self.kinds.set_current(number)
        self._filter()

    def _kind_chosen(self, number: int) -> None:
        self.show_kind(number)

    def _filter(self) -> None:
        found = found_rows(self._rows, KINDS[self.kinds.current], self.field.text())
        self._model.show(self._rows, found)
        self._nothing.setVisible(not found and bool(self._rows))

    def _current_changed(self, index: QModelIndex) -> None:
        if not self._silent:
            self._tell(self.chosen, index)

    def _tell(self, signal: Any, index: Index) -> None:
        row: LogRow | None = index.data(Qt.ItemDataRole.UserRole) if index.isValid() else None
        if row is not None and row.step:
            signal.emit(row.step, row.item)
