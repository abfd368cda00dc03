"""A dialog in which a person ticks chats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QRectF,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QMouseEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field, FocusRing, OverlayBar
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import paint_check, paint_rounded, paint_text
from studio.ui.widgets.panels import Index

if TYPE_CHECKING:
    from studio.domain.sessions import SessionInfo

_ID, _TICK = Qt.ItemDataRole.UserRole, int(Qt.ItemDataRole.CheckStateRole)


class _ChatRow(QStyledItemDelegate):
    """Paints a check box of the theme and a title. A click anywhere in the row ticks it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, self._theme.height(30))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, rect = self._theme, QRectF(option.rect)
        painter.save()
        chosen = option.state & QStyle.StateFlag.State_HasFocus
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            paint_rounded(painter, rect, 6, t.color("selected" if chosen else "hover"))
        side = t.px(16)
        box = QRectF(rect.x() + t.px(8), rect.center().y() - side / 2, side, side)
        paint_check(painter, t, box, _is_ticked(index))
        words = rect.adjusted(t.px(8) + side + t.px(8), 0, -t.px(8), 0)
        paint_text(painter, t, words, index.data(), room=words.width())
        painter.restore()

    def editorEvent(
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        if isinstance(event, QMouseEvent):
            left = event.button() == Qt.MouseButton.LeftButton
            if left and event.type() == QEvent.Type.MouseButtonRelease:
                ticked = Qt.CheckState.Unchecked if _is_ticked(index) else Qt.CheckState.Checked
                model.setData(index, ticked, _TICK)
            return False
        return super().editorEvent(event, model, option, index)


def _is_ticked(index: Index) -> bool:
    return Qt.CheckState(index.data(_TICK)) == Qt.CheckState.Checked


class ChatsDialog(QDialog):
    """Lists chats with check boxes. ``picked`` gives the ids of those that are ticked.

    ``verb`` says what is done with a number of chats, on the button.
    """

    picked = Signal(list)

    def __init__(
        self,
        theme: Theme,
        title: str,
        infos: Iterable[SessionInfo],
        verb: Callable[[int], str],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self._verb = verb
        self.resize(theme.px(460), theme.px(500))
        self.rows = QStandardItemModel(self)
        for info in infos:
            row = QStandardItem(info.title or tr("New chat"))
            row.setData(info.id, _ID)
            row.setCheckable(True)
            row.setEditable(False)
            self.rows.appendRow(row)
        self.rows.itemChanged.connect(self._count)
        self._found = QSortFilterProxyModel(self)
        self._found.setSourceModel(self.rows)
        self._found.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.field = Field(theme, tr("Search chats"), icon="search")
        self.field.textChanged.connect(self._found.setFilterFixedString)
        self.list = QListView()
        self.list.setModel(self._found)
        self.list.setItemDelegate(_ChatRow(theme, self.list))
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(True)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName(tr("Chats"))
        OverlayBar(self.list)
        FocusRing.of(theme).follow(self.list)
        self.all = Button(theme, tr("Tick all"), clicked=self._tick_shown)
        cancel = Button(theme, tr("Cancel"), clicked=self.reject)
        self.use = Button(theme, "", "primary", clicked=self._pick)
        foot = row_of([self.all, STRETCH, cancel, self.use], spacing=8)
        column_of([self.field, (self.list, 1), foot], spacing=10, margins=(14, 14, 14, 14), on=self)
        self._count()

    @property
    def ticked(self) -> list[str]:
        """Ids of the ticked chats, also of those that the search hides."""
        rows = (self.rows.item(at) for at in range(self.rows.rowCount()))
        return [row.data(_ID) for row in rows if row.checkState() == Qt.CheckState.Checked]

    def _tick_shown(self) -> None:
        for at in range(self._found.rowCount()):
            index = self._found.index(at, 0)
            self._found.setData(index, Qt.CheckState.Checked, _TICK)

    def _count(self) -> None:
        count = len(self.ticked)
        self.use.set_text(self._verb(count))
        self.use.setEnabled(bool(count))

    def _pick(self) -> None:
        ids = self.ticked
        self.accept()
        self.picked.emit(ids)
