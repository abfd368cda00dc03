"""The inspector beside a chat: the run, its events, the provider's own history."""

from __future__ import annotations

import json
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
)
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListView,
    QPlainTextEdit,
    QScrollArea,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from studio.domain.jsonvalue import Json, JsonObject
from studio.ui.controls import Button, Field, Hairline, Label, OverlayBar, Segmented
from studio.ui.run_page import RunFacts, RunPage
from studio.ui.theme import Theme, elided, joined

KEPT_EVENTS = 5_000
LONG = 4_000
"""Characters of one string in the history view; pictures are base64 of megabytes."""


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


class _History(QWidget):
    """The provider's own items as JSON, made when the page is looked at."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._items: Sequence[JsonObject] = ()
        self._stale = False
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 10, 8, 0)
        head = QHBoxLayout()
        self._label = Label(theme, "", "small", "text2")
        copy = Button(theme, "Copy", "ghost", icon="copy")
        copy.clicked.connect(self._copy)
        head.addWidget(self._label, 1)
        head.addWidget(copy)
        column.addLayout(head)
        self._text = QPlainTextEdit()
        self._text.setReadOnly(True)
        self._text.setFrameShape(QFrame.Shape.NoFrame)
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setAccessibleName("History as the provider gets it")
        self._text.setTabChangesFocus(True)
        self._text.viewport().setAutoFillBackground(False)
        column.addWidget(self._text, 1)
        self._follow()
        theme.changed.connect(self._follow)

    def set(self, provider: str, items: Sequence[JsonObject]) -> None:
        self._items = items
        self._stale = True
        count = len(items)
        self._label.setText(f"{provider}, {count} {'item' if count == 1 else 'items'}")
        if self.isVisible():
            self.show_now()

    def show_now(self) -> None:
        if self._stale:
            self._stale = False
            shortened = [_short(item) for item in self._items]
            self._text.setPlainText(json.dumps(shortened, indent=2, ensure_ascii=False))

    def _copy(self) -> None:
        whole = json.dumps(list(self._items), indent=2, ensure_ascii=False)
        QGuiApplication.clipboard().setText(whole)

    def _follow(self) -> None:
        self._text.setFont(self.theme.font("code"))


def _short(value: Json) -> Json:
    if isinstance(value, str) and len(value) > LONG:
        return f"{value[:LONG]}… ({len(value) - LONG:,} more characters)"
    if isinstance(value, list):
        return [_short(part) for part in value]
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    return value


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
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(self.run)
        area.viewport().setAutoFillBackground(False)
        self.run.setAutoFillBackground(False)
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

        self._history = _History(theme)
        self._pages.addWidget(self._history)
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

    def set_history(self, provider: str, items: Sequence[JsonObject]) -> None:
        """Show a native history; ``items`` is read when the page is looked at."""
        self._history.set(provider, items)

    def _show(self, index: int) -> None:
        self.tabs.set_current(index)
        self._pages.setCurrentIndex(index)
        if index == 2:
            self._history.show_now()

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
