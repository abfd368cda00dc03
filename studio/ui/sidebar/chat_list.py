"""Paints the list of chats, and lets their titles be edited in place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QCursor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.formatting import keys
from studio.ui.theme import Theme, elided
from studio.ui.translation import tr
from studio.ui.widgets import Field, Index, OverlayBar, make_transparent
from studio.ui.widgets.focus import KEYBOARD
from studio.ui.widgets.painting import paint_rounded, paint_spinner, paint_text

from .chat_list_model import ChatListModel, ChatRow, grouped

if TYPE_CHECKING:
    from studio.domain.sessions import SearchHit, SessionInfo

SIDE = 10
"""Space left and right of the rows, in pixels."""


class ChatDelegate(QStyledItemDelegate):
    """Paints a row. ``open_id`` is the chat that is open, ``query`` what was searched for."""

    def __init__(self, theme: Theme, view: ChatList) -> None:
        super().__init__(view)
        self.theme = theme
        self.view = view
        self.agents: Mapping[str, tuple[str, str]] = {}
        self.open_id = ""
        self.query = ""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        t, row = self.theme, index.data(ChatListModel.RowRole)
        if row.hit is not None:
            height = t.height(32) + t.metrics("small").height() + 4
        elif row.session is None:
            height = max(t.px(30), t.metrics("label").height() + 14)
        else:
            height = t.height(32)
        return QSize(100, height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not self.view.painted.intersects(option.rect):
            return  # a view asks for all rows between two that have changed
        t, row, rect = self.theme, index.data(ChatListModel.RowRole), QRectF(option.rect)
        painter.save()
        if not row.id:
            place = rect.adjusted(20, t.px(8), -SIDE, 0)
            paint_text(painter, t, place, row.title, "label", "text3")
            painter.restore()
            return
        box = rect.adjusted(SIDE, 1, 1 - SIDE, -1)  # the window's hairline is the last pixel
        chosen = row.id == self.open_id
        if chosen:
            paint_rounded(painter, box, 6, t.color("selected"))
        elif self.view.hovers(option.rect):
            paint_rounded(painter, box, 6, t.color("hover"))
        spinner = self._end_mark(box)
        painted = self.view.painted.intersected(option.rect).boundingRect()
        if row.status == "running" and spinner.contains(QRectF(painted)):
            paint_spinner(painter, t, self.view.viewport(), spinner)
            painter.restore()
            return
        if self.view.keyboard_focus and index == self.view.currentIndex():
            painter.setPen(QPen(t.color("accent_text"), 2))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 5, 5)
        self._paint_chat(painter, box, row, chosen)
        painter.restore()

    def _paint_chat(self, painter: QPainter, box: QRectF, row: ChatRow, chosen: bool) -> None:
        t = self.theme
        line = t.height(32) - 2 if row.hit is not None else box.height()
        side = t.px(16)
        name = row.session.agent if row.session is not None else ""
        icon = self.agents.get(name, ("message-square", "slate"))[0]
        mark = QRectF(box.x() + 10, box.y() + (line - side) / 2, side, side)
        t.paint_icon(painter, mark, icon, "text1" if chosen else "text2")
        x = mark.right() + t.px(8)
        right = self._paint_end(painter, QRectF(box.x(), box.y(), box.width(), line), row)
        if origin := row.origin[0]:
            small = t.px(14)
            right -= small + t.px(6)
            door = QRectF(right, box.y() + (line - small) / 2, small, small)
            t.paint_icon(painter, door, origin, "text3")
        role = "ui_strong" if row.status == "unread" else "ui_medium" if chosen else "ui"
        room = right - t.px(8) - x
        place = QRectF(x, box.y(), room + 2, line)
        paint_text(painter, t, place, row.title, role, room=room)
        if row.hit is not None:
            under = QRectF(x, box.y() + line - 4, box.right() - 10 - x, box.height() - line)
            self._paint_line(painter, under, row.hit.line)

    def _paint_end(self, painter: QPainter, box: QRectF, row: ChatRow) -> float:
        """Paint what the row's end shows; returns where it begins."""
        t, right, mark = self.theme, box.right() - 10, self._end_mark(box)
        match row.status:
            case "running":
                paint_spinner(painter, t, self.view.viewport(), mark)
            case "waiting":
                t.paint_icon(painter, mark, "shield-question-mark", "warn")
            case "failed":
                t.paint_icon(painter, mark, "circle-alert", "err")
            case "unread":
                dot = QRectF(0, 0, t.px(7), t.px(7))
                dot.moveCenter(QPointF(right - t.px(6), box.center().y()))
                paint_rounded(painter, dot, dot.width() / 2, t.color("accent_text"))
                return dot.x()
            case _:
                if not row.age:
                    return right
                role = "tiny"
                width = t.metrics(role).horizontalAdvance(row.age)
                place = QRectF(right - width - 2, box.y(), width + 3, box.height())
                paint_text(painter, t, place, row.age, f"{role} digits", "text3")
                return right - width
        return mark.x()

    def _end_mark(self, box: QRectF) -> QRectF:
        """The place of a sign at a row's end."""
        side = float(self.theme.px(16))
        return QRectF(box.right() - 9 - side, round(box.center().y() - side / 2), side, side)

    def _paint_line(self, painter: QPainter, place: QRectF, line: str) -> None:
        """The matching line, from a little before the match, the match in strong."""
        t, text = self.theme, " ".join(line.split())
        at = text.lower().find(self.query.lower()) if self.query else -1
        if at > 18:
            text = "…" + text[at - 14 :]
            at = 15
        cut = elided(t.metrics("small"), text, place.width())
        if at < 0:
            parts = [(cut, "small", "text3")]
        else:
            end = at + len(self.query)
            parts = [
                (cut[:at], "small", "text3"),
                (cut[at:end], "small_strong", "text2"),
                (cut[end:], "small", "text3"),
            ]
        painter.setClipRect(place)
        x, base = place.x(), place.y() + t.metrics("small").ascent()
        for part, role, token in parts:
            painter.setFont(t.font(role))
            painter.setPen(t.color(token))
            painter.drawText(QPointF(x, base), part)
            x += t.metrics(role).horizontalAdvance(part)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = Field(self.theme, parent=parent)
        editor.setAccessibleName(tr("Title of the chat"))
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, Field)
        editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractListModel, index: Index) -> None:
        assert isinstance(editor, Field)
        model.setData(index, editor.text())

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        place: QRect = option.rect
        editor.setGeometry(place.adjusted(SIDE, 0, -SIDE, 0))


class ChatList(QListView):
    """The chats. Each signal carries the id of one."""

    opened = Signal(str)
    found_opened = Signal(str, str, str)
    """A chat that was searched for: its id, the words and the line that has them."""
    removing = Signal(str)
    """The person wants to delete a chat."""
    stopping = Signal(str)
    """The person wants to end a chat's turn."""

    def __init__(
        self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.keyboard_focus = False
        self.painted = QRegion()
        """What the present paint event is about."""
        self._clock = clock
        self._sessions: list[SessionInfo] = []
        self._listed = False  # whether the stored chats are known
        self._hits: list[SearchHit] | None = None
        self.chats = ChatListModel(self)
        self.setModel(self.chats)
        self._delegate = ChatDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setAccessibleName(tr("Chats"))
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.chats.modelReset.connect(self._take_tab)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        make_transparent(self)
        OverlayBar(self)
        self.clicked.connect(self._open)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self._minute = QTimer(self)
        """Runs while there are chats whose age can change."""
        self._minute.setInterval(60_000)
        self._minute.timeout.connect(self._rebuild)
        theme.changed.connect(self._theme_changed)

    def _take_tab(self) -> None:
        """Tab stops only at a list in which there is something."""
        stops = Qt.FocusPolicy.TabFocus if self.chats.rows else Qt.FocusPolicy.NoFocus
        self.setFocusPolicy(stops)

    # What it shows

    def set_sessions(
        self, sessions: Iterable[SessionInfo], agents: Mapping[str, tuple[str, str]]
    ) -> None:
        self._sessions = list(sessions)
        self._listed = True
        self._delegate.agents = agents
        if not self._sessions:
            self._minute.stop()
        elif not self._minute.isActive():
            self._minute.start()
        self._rebuild()

    def set_query(self, query: str) -> None:
        """Filter titles at once, until ``set_hits`` brings what was found in the chats."""
        self._delegate.query = query
        self._hits = None
        self._rebuild()

    def set_hits(self, hits: Sequence[SearchHit] | None) -> None:
        self._hits = list(hits) if hits is not None else None
        self._rebuild()

    def select(self, session_id: str) -> None:
        self._delegate.open_id = session_id
        index = self.chats.index_of(session_id)
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)
        self.viewport().update()

    @property
    def open_id(self) -> str:
        return self._delegate.open_id

    def ids(self) -> list[str]:
        """The ids of the chats as listed, top to bottom: Alt and the arrows step through them."""
        return [row.id for row in self.chats.rows if row.id]

    def step(self, by: int) -> None:
        """Choose the next row, or with -1 the one before, without opening it."""
        ids = self.ids()
        if not ids:
            return
        at = self._current()
        at = (0 if by > 0 else len(ids) - 1) if at is None else at + by
        index = self.chats.index_of(ids[max(0, min(at, len(ids) - 1))])
        self.keyboard_focus = True
        self.setCurrentIndex(index)
        self.scrollTo(index)
        self.viewport().update()

    def open_chosen(self) -> None:
        """Open the row that was stepped to, or the first one."""
        ids = self.ids()
        if ids:
            at = self._current() if self.keyboard_focus else None
            self._open(self.chats.index_of(ids[at or 0]))

    def _current(self) -> int | None:
        row = self.currentIndex().data(ChatListModel.RowRole)
        ids = self.ids()
        return ids.index(row.id) if row is not None and row.id in ids else None

    def forget_step(self) -> None:
        """The keyboard has left the list: no row is marked for it."""
        self.keyboard_focus = False
        self.viewport().update()

    def _rebuild(self) -> None:
        query = self._delegate.query.lower()
        if not query:
            rows = grouped(self._sessions, self._clock())
        elif self._hits is None:
            rows = [
                ChatRow(info.title, info) for info in self._sessions if query in info.title.lower()
            ]
        else:
            known = {info.id: info for info in self._sessions}
            rows = [ChatRow(hit.title, known.get(hit.session_id), hit) for hit in self._hits]
        current = self.currentIndex().data(ChatListModel.RowRole)
        self.chats.show(rows)
        if current is not None and not self.currentIndex().isValid():
            self.setCurrentIndex(self.chats.index_of(current.id))
        self.viewport().update()

    def _theme_changed(self) -> None:
        self.scheduleDelayedItemsLayout()
        self.viewport().update()

    # What the person does

    def hovers(self, rect: QRect) -> bool:
        viewport = self.viewport()
        return viewport.underMouse() and rect.contains(viewport.mapFromGlobal(QCursor.pos()))

    def _open(self, index: Index) -> None:
        row = index.data(ChatListModel.RowRole)
        if row is None or not row.id:
            return
        if row.hit is not None:
            self.found_opened.emit(row.id, self._delegate.query, row.hit.line)
        else:
            self.opened.emit(row.id)

    def _menu(self, place: QPoint) -> None:
        index = self.indexAt(place)
        row = index.data(ChatListModel.RowRole)
        if row is None or not row.id:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if row.status in ("running", "waiting") and self.chats.progress(row.id):
            menu.addAction(tr("Stop"), lambda: self.stopping.emit(row.id))
        if row.session is not None:
            menu.addAction(tr("Rename") + "\tF2", lambda: self.edit(self.chats.index_of(row.id)))
        menu.addAction(tr("Delete…") + "\t" + keys("Del"), lambda: self.removing.emit(row.id))
        menu.popup(self.viewport().mapToGlobal(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().data(ChatListModel.RowRole)
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and row is not None:
            self._open(self.currentIndex())
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and row is not None:
            self.removing.emit(row.id)
        else:
            self.keyboard_focus = True
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.keyboard_focus = event.reason() in KEYBOARD
        if not self.currentIndex().isValid() and self.keyboard_focus:
            ids = self.ids()
            if ids:
                self.setCurrentIndex(self.chats.index_of(ids[0]))
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.forget_step()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.MouseMove, QEvent.Type.Leave, QEvent.Type.Wheel):
            self.viewport().update()
        return super().viewportEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted = event.region()
        super().paintEvent(event)
        if self.chats.rows or not self._listed:
            return
        t = self.theme
        painter = QPainter(self.viewport())
        words = tr("No chats found.") if self._delegate.query else tr("Your chats appear here.")
        place = QRectF(20, t.px(8), self.width() - 30, t.px(80))
        painter.setFont(t.font("small"))
        painter.setPen(t.color("text3"))
        painter.drawText(place, int(Qt.TextFlag.TextWordWrap), words)
        painter.end()
