"""The inspector beside a chat: the run, its budget (L-14), its events, the native history."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListView,
    QScrollArea,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from studio.ui.settings.pages.general_limits import AmountField, dollars
from studio.ui.theme import Theme, elided, joined
from studio.ui.widgets import Field, Hairline, OverlayBar, Segmented

from .history_page import HistoryFacts, HistoryPage
from .run_page import RequestList, RequestRow, RunFacts, RunPage


class BudgetRow(QWidget):
    """The field for what one chat may cost."""

    given = Signal(float)
    """The dollars that the person typed; 0 is no limit of the chat's own."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.amount = AmountField(theme, "Limit of this chat", dollars, 0)
        self.amount.entered.connect(self.given)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 16, 8)
        row.addStretch(1)
        row.addWidget(self.amount)
        self.theme = theme
        theme.changed.connect(self.update)
        self.hide()

    def show_cap(self, value: float | None) -> None:
        """Show the limit, unless another is being typed; None hides the row."""
        self.setVisible(value is not None)
        if value is not None and not self.amount.hasFocus():
            self.amount.set_value(value)

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self.theme, QPainter(self)
        words = QRectF(16, 0, self.amount.x() - 24, self.amount.height())
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        text = elided(t.metrics("ui"), "Limit of this chat", words.width())
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


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

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        return len(self.rows)

    def data(
        self,
        index: QModelIndex | QPersistentModelIndex,
        role: int = int(Qt.ItemDataRole.DisplayRole),
    ) -> object:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return joined((row.text, row.right))
        return None


class _EventDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(100, self.theme.height(28, "small"))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        t, row = self.theme, index.data(Qt.ItemDataRole.UserRole)
        rect = QRectF(option.rect).adjusted(16, 0, -16, 0)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.save()
        painter.setFont(t.font("small", digits=True))
        painter.setPen(t.color("text3"))
        when = time.strftime("%H:%M:%S", time.localtime(row.at))
        painter.drawText(rect, middle, when)
        side = t.px(14)
        x = rect.x() + t.metrics("small").horizontalAdvance("00:00:00") + 8
        mark = QRectF(x, rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, row.icon, "text2")
        right = t.metrics("small").horizontalAdvance(row.right)
        painter.setPen(t.color("text2"))
        painter.drawText(rect, middle | Qt.AlignmentFlag.AlignRight, row.right)
        place = QRectF(mark.right() + 8, rect.y(), 0, rect.height())
        place.setRight(rect.right() - right - (8 if right else 0))
        painter.setPen(t.color("text1"))
        painter.drawText(place, middle, elided(t.metrics("small"), row.text, place.width()))
        painter.restore()


class Inspector(QWidget):
    """Run, Events and History of the open chat."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setAccessibleName("Inspector")
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 0, 0, 0)
        column.setSpacing(0)
        head = QWidget()
        head.setFixedHeight(max(48, theme.px(48)))
        row = QHBoxLayout(head)
        row.setContentsMargins(15, 0, 16, 0)
        self.tabs = Segmented(
            theme, [("Run", None), ("Events", None), ("History", None)], wide=True
        )
        self.tabs.chosen.connect(self._show)
        row.addWidget(self.tabs)
        column.addWidget(head)
        column.addWidget(Hairline(theme))
        self._pages = QStackedWidget()
        column.addWidget(self._pages, 1)

        self.run = RunPage(theme)
        self.requests = RequestList(theme)
        both = QWidget()
        below = QVBoxLayout(both)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(0)
        below.addWidget(self.run)
        self.cap = BudgetRow(theme)
        below.addWidget(self.cap)
        below.addWidget(self.requests)
        below.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(both)
        area.viewport().setAutoFillBackground(False)
        both.setAutoFillBackground(False)
        OverlayBar(area)
        self._pages.addWidget(area)

        events = QWidget()
        inner = QVBoxLayout(events)
        inner.setContentsMargins(0, 10, 0, 0)
        self._filter = Field(theme, "Filter events", icon="search")
        self._filter.textChanged.connect(self._filter_rows)
        box = QHBoxLayout()
        box.setContentsMargins(15, 0, 16, 0)
        box.addWidget(self._filter)
        inner.addLayout(box)
        self._view = QListView()
        self._view.setAccessibleName("Events")
        self._view.setUniformItemSizes(True)
        self._view.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._view.setSelectionMode(QListView.SelectionMode.NoSelection)
        self._view.viewport().setAutoFillBackground(False)
        self._events = _Events(self)
        self._view.setModel(self._events)
        self._view.setItemDelegate(_EventDelegate(theme, self._view))
        OverlayBar(self._view)
        inner.addWidget(self._view, 1)
        self._pages.addWidget(events)

        self.history = HistoryPage(theme)
        self.epoch_wanted = self.history.wanted
        self._pages.addWidget(self.history)
        theme.changed.connect(self._theme_changed)

    def set_run(self, facts: RunFacts) -> None:
        """Show the run's values."""
        self.run.set(facts)

    def add_event(self, at: float, icon: str, text: str, right: str = "") -> None:
        """Append a line to Events; follows the end if that is what is shown."""
        bar = self._view.verticalScrollBar()
        stick = bar.maximum() - bar.value() <= 40
        self._events.add(EventRow(at, icon, text, right))
        wanted = self._filter.text().strip().lower()
        if wanted and wanted not in text.lower():
            self._view.setRowHidden(self._events.rowCount() - 1, True)
        if stick:
            self._view.scrollToBottom()

    def clear_events(self) -> None:
        self._events.clear()

    def clear(self) -> None:
        """Show nothing of the chat before: this one has not begun."""
        self.set_run(RunFacts())
        self.cap.show_cap(None)
        self.set_requests([])
        self.set_history(HistoryFacts())

    def set_requests(self, rows: Sequence[RequestRow]) -> None:
        """Show the chat's requests, the newest first."""
        self.requests.set(rows)

    def set_history(self, facts: HistoryFacts) -> None:
        """Show a native history; its items are read when the page is looked at."""
        self.history.set(facts)

    def _show(self, index: int) -> None:
        self.tabs.set_current(index)
        self._pages.setCurrentIndex(index)
        if index == 2:
            self.history.show_now()

    def show_page(self, index: int) -> None:
        """0 Run, 1 Events, 2 History."""
        self._show(index)

    def _filter_rows(self, text: str) -> None:
        wanted = text.strip().lower()
        for at, row in enumerate(self._events.rows):
            self._view.setRowHidden(at, bool(wanted) and wanted not in row.text.lower())

    def _theme_changed(self) -> None:
        self._view.scheduleDelayedItemsLayout()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.color("window"))
        painter.fillRect(0, 0, 1, self.height(), self.theme.color("hair"))
        painter.end()
