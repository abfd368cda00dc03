"""The list of pages at the left of the settings window: one Tab stop with arrow keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPen,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.theme import Theme, elided
from studio.ui.widgets import OverlayBar, make_transparent, paint_rounded
from studio.ui.widgets.focus import KEYBOARD

GAP = 1
"""Pixels between two rows."""
_KEY, _ICON = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1


class _Row(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: PageList) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return QSize(80, self._theme.height(30) + GAP)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        t, rect = self._theme, QRectF(option.rect).adjusted(0, 0, 0, -GAP)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            paint_rounded(painter, rect, 6, t.color("selected"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            paint_rounded(painter, rect, 6, t.color("hover"))
        painter.save()
        if chosen and self._view.keyboard_focus:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(t.color("accent_text"), 2))
            painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), 5, 5)
        side = t.px(16)
        mark = QRectF(10, rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, index.data(_ICON), "text1" if chosen else "text2")
        words = rect.adjusted(10 + side + t.px(8), 0, -10, 0)
        role = "ui_medium" if chosen else "ui"
        painter.setFont(t.font(role))
        painter.setPen(t.color("text1"))
        title = elided(t.metrics(role), index.data(), words.width())
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, title)
        painter.restore()


class PageList(QListView):
    """One row is chosen, always. ``chosen`` tells the key of the page a person went to."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.keyboard_focus = False
        self._rows = QStandardItemModel(self)
        self.setModel(self._rows)
        self.setItemDelegate(_Row(theme, self))
        self.setAccessibleName("Settings pages")
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setUniformItemSizes(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        make_transparent(self)
        OverlayBar(self)
        theme.changed.connect(self.doItemsLayout)

    def add(self, key: str, title: str, icon: str) -> None:
        row = QStandardItem(title)
        row.setData(key, _KEY)
        row.setData(icon, _ICON)
        self._rows.appendRow(row)

    def choose(self, key: str) -> None:
        """Mark the page that is shown."""
        found = self._rows.match(self._rows.index(0, 0), _KEY, key)
        if found:
            self.setCurrentIndex(found[0])

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:
        super().currentChanged(current, previous)
        if current.isValid():
            self.chosen.emit(current.data(_KEY))

    def selectionCommand(
        self, index: QModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        """Ctrl does not take the choice away."""
        if not index.isValid():
            return QItemSelectionModel.SelectionFlag.NoUpdate
        return QItemSelectionModel.SelectionFlag.ClearAndSelect

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._show_ring(True)
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._show_ring(event.reason() in KEYBOARD)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._show_ring(False)
        super().focusOutEvent(event)

    def _show_ring(self, on: bool) -> None:
        self.keyboard_focus = on
        self.update(self.currentIndex())
