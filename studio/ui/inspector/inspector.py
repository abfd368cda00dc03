"""The inspector beside a chat: the run, its budget (L-14), its events, the native history."""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QScrollArea,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.settings.amount_field import AmountField, dollars
from studio.ui.theme import Theme, joined
from studio.ui.widgets import Field, Hairline, Index, OverlayBar, Segmented, plain_tip
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_text

from .history_page import HistoryFacts, HistoryPage
from .run_page import RequestList, RunFacts, RunPage


class BudgetRow(PaintedWidget):
    """The field for what one chat may cost."""

    given = Signal(float)
    """The dollars that the person typed; 0 is no limit of the chat's own."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.amount = AmountField(theme, "Limit of this chat", dollars, 0)
        self.amount.entered.connect(self.given)
        row_of([STRETCH, self.amount], margins=(16, 0, 16, 8), on=self)
        self.hide()

    def show_cap(self, value: float | None) -> None:
        """Show the limit, unless another is being typed; None hides the row."""
        self.setVisible(value is not None)
        if value is not None and not self.amount.hasFocus():
            self.amount.set_value(value)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        words = QRectF(16, 0, self.amount.x() - 24, self.amount.height())
        text, room = "Limit of this chat", words.width()
        paint_text(painter, self.theme, words, text, "ui", "text2", room=room)


KEPT_EVENTS = 5_000


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of Events; ``at`` in seconds since the epoch."""

    at: float
    icon: str
    text: str
    right: str = ""


class _Events(QAbstractListModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[EventRow] = []

    def add(self, row: EventRow) -> None:
        if len(self.rows) >= KEPT_EVENTS:
            self.beginRemoveRows(QModelIndex(), 0, 99)
            del self.rows[:100]
            self.endRemoveRows()
        at = len(self.rows)
        self.beginInsertRows(QModelIndex(), at, at)
        self.rows.append(row)
        self.endInsertRows()

    def clear(self) -> None:
        self.beginResetModel()
        self.rows.clear()
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return row
        text = joined((row.text, row.right))
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(text)
        return None


class _EventDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self.theme.height(28, "small"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self.theme, index.data(Qt.ItemDataRole.UserRole)
        rect = QRectF(option.rect).adjusted(16, 0, -16, 0)
        painter.save()
        when = time.strftime("%H:%M:%S", time.localtime(row.at))
        paint_text(painter, t, rect, when, "small digits", "text3")
        side = t.px(14)
        x = rect.x() + t.metrics("small").horizontalAdvance("00:00:00") + 8
        mark = QRectF(x, rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, row.icon, "text2")
        right = t.metrics("small").horizontalAdvance(row.right)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, rect, row.right, "small digits", "text2", at_right)
        place = QRectF(mark.right() + 8, rect.y(), 0, rect.height())
        place.setRight(rect.right() - right - (8 if right else 0))
        paint_text(painter, t, place, row.text, "small digits", room=place.width())
        painter.restore()


class Inspector(PaintedWidget):
    """Run, Events and History of the open chat."""

    ground = "window"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName("Inspector")
        self.tabs = Segmented(theme, ["Run", "Events", "History"], wide=True)
        self.tabs.chosen.connect(self.show_page)
        head = widget_of(row_of([self.tabs], margins=(15, 0, 16, 0)))
        head.setFixedHeight(max(48, theme.px(48)))
        self._pages = QStackedWidget()
        parts = (head, Hairline(theme), (self._pages, 1))
        column_of(parts, spacing=0, margins=(1, 0, 0, 0), on=self)

        self.run = RunPage(theme)
        self.requests = RequestList(theme)
        self.cap = BudgetRow(theme)
        both = widget_of(column_of([self.run, self.cap, self.requests, STRETCH], spacing=0))
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(both)
        area.viewport().setAutoFillBackground(False)
        both.setAutoFillBackground(False)
        OverlayBar(area)
        self._pages.addWidget(area)

        self._filter = Field(theme, "Filter events", icon="search")
        self._filter.textChanged.connect(self._filter_rows)
        self._view = QListView()
        self._view.setAccessibleName("Events")
        self._view.setUniformItemSizes(True)
        self._view.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._view.setSelectionMode(QListView.SelectionMode.NoSelection)
        self._view.viewport().setAutoFillBackground(False)
        self.events = _Events(self)
        self._view.setModel(self.events)
        self._view.setItemDelegate(_EventDelegate(theme, self._view))
        OverlayBar(self._view)
        box = row_of([self._filter], margins=(15, 0, 16, 0))
        self._pages.addWidget(widget_of(column_of([box, (self._view, 1)], margins=(0, 10, 0, 0))))

        self.history = HistoryPage(theme)
        self.epoch_wanted = self.history.wanted
        self._pages.addWidget(self.history)
        theme.changed.connect(self._theme_changed)

    def add_event(self, at: float, icon: str, text: str, right: str = "") -> None:
        """Append a line to Events; follows the end if that is what is shown."""
        bar = self._view.verticalScrollBar()
        stick = bar.maximum() - bar.value() <= 40
        self.events.add(EventRow(at, icon, text, right))
        wanted = self._filter.text().strip().lower()
        if wanted and wanted not in text.lower():
            self._view.setRowHidden(self.events.rowCount() - 1, True)
        if stick:
            self._view.scrollToBottom()

    def clear(self) -> None:
        """Show nothing of the chat before: this one has not begun."""
        self.run.set(RunFacts())
        self.cap.show_cap(None)
        self.requests.set([])
        self.history.set(HistoryFacts())

    def show_page(self, index: int) -> None:
        """0 Run, 1 Events, 2 History."""
        self.tabs.set_current(index)
        self._pages.setCurrentIndex(index)
        if index == 2:
            self.history.show_now()

    def _filter_rows(self, text: str) -> None:
        wanted = text.strip().lower()
        for at, row in enumerate(self.events.rows):
            self._view.setRowHidden(at, bool(wanted) and wanted not in row.text.lower())

    def _theme_changed(self) -> None:
        self._view.scheduleDelayedItemsLayout()
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(0, 0, 1, self.height(), self.theme.color("hair"))
