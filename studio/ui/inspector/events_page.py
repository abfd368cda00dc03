"""Shows the events of a chat: a list with a filter, and the details of the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QPlainTextEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.formatting import clock, moment
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import (
    Field,
    FocusRing,
    Hairline,
    Index,
    OverlayBar,
    make_transparent,
    plain_tip,
)
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.ui.widgets.painting import paint_rounded, paint_text

KEPT_EVENTS = 5_000


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of Events; ``at`` in seconds since the epoch."""

    at: float
    icon: str
    text: str
    right: str = ""
    details: Callable[[], str] = str
    """All there is to know of it, one thing a line; called when it is shown."""
    failed: bool = False
    begins: bool = False
    """Whether times count from here: a message was sent."""


class _Events(QAbstractListModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[EventRow] = []

    def seconds(self, index: int) -> float:
        """Since the message that it belongs to was sent."""
        at = self.rows[index].at
        for row in reversed(self.rows[: index + 1]):
            if row.begins:
                return at - row.at
        return at - self.rows[0].at

    def add(self, row: EventRow) -> None:
        if len(self.rows) >= KEPT_EVENTS:
            self.beginRemoveRows(QModelIndex(), 0, 99)
            del self.rows[:100]
            self.endRemoveRows()
        at = len(self.rows)
        self.beginInsertRows(QModelIndex(), at, at)
        self.rows.append(row)
        self.endInsertRows()

    def set(self, rows: Sequence[EventRow]) -> None:
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return row
        text = joined((row.text, tr("failed") if row.failed else "", row.right))
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(joined((moment(row.at), text)))
        return None


class _EventDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self.theme.height(28, "small"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self.theme, index.data(Qt.ItemDataRole.UserRole)
        if index == self._view.currentIndex():
            box = QRectF(option.rect).adjusted(8, 0, -8, 0)
            paint_rounded(painter, box, 6, t.color("selected"))
        rect = QRectF(option.rect).adjusted(16, 0, -16, 0)
        painter.save()
        model = index.model()
        assert isinstance(model, _Events)
        when, wide = (
            clock(model.seconds(index.row())),
            t.metrics("small digits").horizontalAdvance("000:00"),
        )
        place = QRectF(rect.x(), rect.y(), wide, rect.height())
        end = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, place, when, "small digits", "text3", end)
        side = t.px(14)
        x = rect.x() + wide + 8
        mark = QRectF(x, rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, row.icon, "err" if row.failed else "text2")
        right = t.metrics("small digits").horizontalAdvance(row.right)
        paint_text(painter, t, rect, row.right, "small digits", "text2", end)
        place = QRectF(mark.right() + 8, rect.y(), 0, rect.height())
        place.setRight(rect.right() - right - (8 if right else 0))
        paint_text(painter, t, place, row.text, "small digits", room=place.width())
        painter.restore()


class EventsPage(QWidget):
    """The list, and below it the details of the chosen event; Escape closes them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._model = _Events(self)
        self.filter = Field(theme, tr("Filter events"), icon="list-filter")
        self.filter.textChanged.connect(self._filter_rows)
        self.list = view = QListView()
        view.setAccessibleName(tr("Events"))
        view.setUniformItemSizes(True)
        view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.setSelectionMode(QListView.SelectionMode.NoSelection)
        view.setModel(self._model)
        view.setItemDelegate(_EventDelegate(theme, view))
        make_transparent(view)
        OverlayBar(view)
        view.selectionModel().currentChanged.connect(self._choose)
        self.details = QPlainTextEdit()
        self.details.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it is code
        self.details.setReadOnly(True)
        self.details.setFrameShape(QFrame.Shape.NoFrame)
        self.details.setAccessibleName(tr("Details of the event"))
        self.details.setTabChangesFocus(True)
        make_transparent(self.details)
        FocusRing.of(theme).follow(self.list)
        FocusRing.of(theme).follow(self.details, inside=False)
        box = row_of([self.filter], margins=(15, 0, 16, 8))
        text = row_of([self.details], margins=(12, 8, 8, 8))
        self._below = widget_of(column_of([Hairline(theme), (widget_of(text), 1)], spacing=0))
        self._below.hide()
        parts = (box, (view, 3), (self._below, 2))
        column_of(parts, spacing=0, margins=(0, 10, 0, 0), on=self)
        self._follow()
        theme.changed.connect(self._follow)

    @property
    def rows(self) -> Sequence[EventRow]:
        """All events, oldest first, also those that the filter hides."""
        return self._model.rows

    def set(self, rows: Sequence[EventRow]) -> None:
        """Show other events, scrolled to the newest."""
        self._below.hide()
        self._model.set(rows[-KEPT_EVENTS:])
        self._filter_rows(self.filter.text())
        self.list.scrollToBottom()

    def add(self, row: EventRow) -> None:
        """Append an event; follows the end if that is what is shown."""
        bar = self.list.verticalScrollBar()
        stick = bar.maximum() - bar.value() <= 40
        self._model.add(row)
        wanted = self.filter.text().strip().lower()
        if wanted and wanted not in row.text.lower():
            self.list.setRowHidden(self._model.rowCount() - 1, True)
        if stick:
            self.list.scrollToBottom()

    def _filter_rows(self, text: str) -> None:
        wanted = text.strip().lower()
        for at, row in enumerate(self._model.rows):
            self.list.setRowHidden(at, bool(wanted) and wanted not in row.text.lower())

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            self.details.setPlainText(self._model.rows[index.row()].details())
        self._below.setVisible(index.isValid())
        if index.isValid():
            self.list.scrollTo(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self._below.isHidden():
            self.list.setCurrentIndex(QModelIndex())
        else:
            super().keyPressEvent(event)

    def _follow(self) -> None:
        self.details.setFont(self.theme.font("code"))
        self.list.scheduleDelayedItemsLayout()
