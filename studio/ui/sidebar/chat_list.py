"""Paints the list of chats; they are chosen, dragged, put away and renamed in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QContextMenuEvent,
    QCursor,
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QRegion,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.formatting import number
from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import draw_text, mirrored, mirrored_row, upright
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Field, Index, OverlayBar, make_transparent
from studio.ui.widgets.focus import KEYBOARD
from studio.ui.widgets.painting import paint_rounded, paint_spinner, paint_text

from .chat_list_model import (
    ARCHIVED,
    DRAGGED,
    GROUP,
    ChatListModel,
    ChatRow,
    grouped,
    section_changes,
)

if TYPE_CHECKING:
    from studio.domain.sessions import SearchHit, SessionInfo

SIDE = 10
"""Space left and right of the rows, in pixels."""


class ChatDelegate(QStyledItemDelegate):
    """Paints a row. ``open_id`` is the chat that is open, ``query`` what was searched for.

    ``drop`` is the section into which chats are being dragged.
    """

    def __init__(self, theme: Theme, view: ChatList) -> None:
        super().__init__(view)
        self.theme = theme
        self.view = view
        self.agents: Mapping[str, tuple[str, str]] = {}
        self.open_id = ""
        self.query = ""
        self.drop = ""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        t, row = self.theme, index.data(ChatListModel.RowRole)
        if row.hit is not None:
            height = t.height(32) + t.metrics("small").height() + 4
        else:
            height = t.height(32)  # one height for all: a view asks for that of the first row only
        return QSize(100, height)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not self.view.painted.intersects(option.rect):
            return  # a view asks for all rows between two that have changed
        t, row, rect = self.theme, index.data(ChatListModel.RowRole), QRectF(option.rect)
        painter.save()
        if not row.id:
            self._paint_heading(painter, rect, row, option.rect, index)
            painter.restore()
            return
        box = rect.adjusted(SIDE, 1, 1 - SIDE, -1)  # the window's hairline is the last pixel
        picked = self.view.picked
        chosen = row.id in picked if picked else row.id == self.open_id
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
        self._paint_ring(painter, box, index)
        self._paint_chat(painter, box, row, chosen)
        painter.restore()

    def _paint_ring(self, painter: QPainter, box: QRectF, index: Index) -> None:
        if self.view.keyboard_focus and index == self.view.currentIndex():
            painter.setPen(QPen(self.theme.color("accent_text"), 2))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 5, 5)

    def _paint_heading(
        self, painter: QPainter, rect: QRectF, row: ChatRow, place: QRect, index: Index
    ) -> None:
        """The name of a section, and a chevron where it is closed or under the mouse."""
        t = self.theme
        box = rect.adjusted(SIDE, t.px(5), 1 - SIDE, -1)
        if self.drop and self.drop == row.section:
            paint_rounded(painter, box, 6, t.color("accent_soft"))
        self._paint_ring(painter, box, index)
        right = box.right() - 10
        if row.closed or self.view.hovers(place):
            side = t.px(14)
            mark = QRectF(right - side + 2, box.center().y() - side / 2, side, side)
            t.paint_icon(painter, mark, "chevron-right" if row.closed else "chevron-down", "text3")
            right = mark.x() - t.px(4)
        if row.closed:
            text = number(row.count)
            width = t.metrics("tiny").horizontalAdvance(text)
            box_end = QRectF(right - width - 2, box.y(), width + 3, box.height())
            paint_text(painter, t, box_end, text, "tiny digits", "text3")
            right -= width + t.px(6)
        left = box.x() + 10
        words = QRectF(left, box.y(), right - left, box.height())
        paint_text(painter, t, words, row.title, "label", "text3", room=right - left)

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
                width = t.metrics(f"{role} digits").horizontalAdvance(row.age)
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
        wide = sum(t.metrics(role).horizontalAdvance(part) for part, role, _ in parts)
        with upright(painter, QRectF(x, place.y(), wide, place.height())):
            for part, role, token in parts:
                painter.setFont(t.font(role))
                painter.setPen(t.color(token))
                painter.drawText(QPointF(x, base), part)
                x += t.metrics(role).horizontalAdvance(part)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = Field(self.theme, parent=parent)
        group = index.data(ChatListModel.RowRole).group
        editor.setAccessibleName(tr("Name of the group") if group else tr("Title of the chat"))
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
    """The chats. Several can be picked, with Shift and Ctrl; what is done is done with all."""

    opened = Signal(str)
    """The id of a chat."""
    found_opened = Signal(str, str, str)
    """A chat that was searched for: its id, the words and the line that has them."""
    window_wanted = Signal(str)
    """The person wants a chat in a window of its own."""
    stopping = Signal(str)
    """The person wants to end a chat's turn."""
    removing = Signal(list)
    """The ids of chats to delete."""
    arranging = Signal(list, object)
    """Ids of chats, and what of them changes: fields of a session."""
    grouping = Signal(list)
    """The ids of chats for a new group."""
    exporting = Signal(list, str)
    """The ids of chats, and the form: “md” or “json”."""
    undoing = Signal()
    """The last deletion is to be undone."""
    folded = Signal()
    """Other sections are closed."""
    menu_wanted = Signal(QPoint)
    """The menu of the current row, at a place on the screen."""
    more_wanted = Signal()
    """The end of what is listed comes into view."""

    def __init__(
        self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.keyboard_focus = False
        self._picking = False
        """The last click picks a chat, and does not open it."""
        self.painted = QRegion()
        """What the present paint event is about."""
        self._clock = clock
        self._sessions: list[SessionInfo] = []
        self._archived = 0
        self._found: dict[str, SessionInfo] = {}
        self._to_show = self._to_name = ""
        self._open_chat = "", ""
        """The id and the family of the open chat."""
        self.closed: set[str] = {ARCHIVED}
        """The keys of sections of which only the heading is shown."""
        self._listed = False  # whether the stored chats are known
        self._hits: list[SearchHit] | None = None
        self.chats = ChatListModel(self)
        self.setModel(self.chats)
        self._delegate = ChatDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setAccessibleName(tr("Chats"))
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setUniformItemSizes(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDropIndicatorShown(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.chats.modelReset.connect(self._take_tab)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        make_transparent(self)
        OverlayBar(self)
        self.clicked.connect(self._clicked)
        self.chats.group_renamed.connect(self._rename_group)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
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
        self,
        sessions: Iterable[SessionInfo],
        agents: Mapping[str, tuple[str, str]],
        archived: int = 0,
    ) -> None:
        """``archived`` is how many chats are in the archive, which need not be listed."""
        self._sessions = list(sessions)
        self._archived = archived
        self._listed = True
        self._delegate.agents = agents
        if not self._sessions:
            self._minute.stop()
        elif not self._minute.isActive():
            self._minute.start()
        self._rebuild()
        self._scroll_to_open()
        self._edit_heading()

    def set_query(self, query: str) -> None:
        """Filter titles at once, until ``set_hits`` brings what was found in the chats."""
        self._delegate.query = query
        self._hits = None
        self._rebuild()

    def set_hits(self, hits: Sequence[SearchHit] | None, found: Iterable[SessionInfo] = ()) -> None:
        """``found`` are chats of the hits; they need not be listed."""
        self._hits = list(hits) if hits is not None else None
        self._found = {info.id: info for info in found}
        self._rebuild()

    def select(self, session_id: str, family: str = "") -> None:
        """Mark the open chat. Its row may be that of another version, which waits."""
        if session_id != self._open_chat[0]:
            self._to_show = session_id
        self._open_chat = session_id, family
        self._find_open()
        self._scroll_to_open()
        self.viewport().update()

    def _find_open(self) -> None:
        session_id, family = self._open_chat
        found = [row.session for row in self.chats.rows if row.session is not None]
        versions = (one.id for one in found if family and one.family == family)
        listed = any(one.id == session_id for one in found)
        self._delegate.open_id = session_id if listed else next(versions, session_id)

    def _scroll_to_open(self) -> None:
        """Once for each chat that is opened, when it is listed: the person may scroll away."""
        index = self.chats.index_of(self._to_show)
        if index.isValid():
            self._to_show = ""
            self.setCurrentIndex(index)
            self.scrollTo(index)

    @property
    def picked(self) -> list[str]:
        """The ids of the chats that are picked, top to bottom, where it is more than one."""
        rows = sorted(index.row() for index in self.selectionModel().selectedIndexes())
        return [self.chats.rows[at].id for at in rows] if len(rows) > 1 else []

    @property
    def groups(self) -> list[str]:
        """The names of the person's groups."""
        names = {info.group_name for info in self._sessions if not info.archived}
        return sorted(names - {""}, key=str.casefold)

    def edit_group(self, name: str) -> None:
        """Let the person write another name of a group in its heading, once it is listed."""
        self._to_name = name
        self._edit_heading()

    def _edit_heading(self) -> None:
        rows = enumerate(self.chats.rows if self._to_name else ())
        at = next((at for at, row in rows if row.group == self._to_name), None)
        if at is not None:
            self._to_name = ""
            self.setCurrentIndex(self.chats.index(at))
            self.scrollTo(self.chats.index(at))
            self.edit(self.chats.index(at))

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
            rows = grouped(self._sessions, self._clock(), self.closed, self._archived)
        elif self._hits is None:
            rows = [
                ChatRow(info.title, info) for info in self._sessions if query in info.title.lower()
            ]
        else:
            known = self._found | {info.id: info for info in self._sessions}
            rows = [ChatRow(hit.title, known.get(hit.session_id), hit) for hit in self._hits]
        at, current = self.currentIndex().row(), self.currentIndex().data(ChatListModel.RowRole)
        picked = self.picked
        self.chats.show(rows)
        self._find_open()
        if current is not None and not self.currentIndex().isValid():
            self.setCurrentIndex(self.chats.index(self._place_of(current, at)))
            self._pick(picked)
        self.viewport().update()

    def _place_of(self, row: ChatRow, before: int) -> int:
        """Where a row is now; -1 if it is gone.

        The keyboard goes on at the chat that took the place ``before``, or at the last one.
        """
        same = [n for n, one in enumerate(self.chats.rows) if one.is_of(row)]
        if same or not self.hasFocus():
            return same[0] if same else -1
        chats = [n for n, one in enumerate(self.chats.rows) if one.id]
        return next((n for n in chats if n >= before), chats[-1] if chats else -1)

    def _pick(self, ids: Collection[str]) -> None:
        """Pick the chats of ``ids`` again, after the rows are new."""
        wanted, select = set(ids), QItemSelection()
        for at, row in enumerate(self.chats.rows if wanted else ()):
            if row.id in wanted:
                select.select(self.chats.index(at), self.chats.index(at))
        if wanted:
            flag = QItemSelectionModel.SelectionFlag
            self.selectionModel().select(select, flag.ClearAndSelect)

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

    def _clicked(self, index: Index) -> None:
        row = index.data(ChatListModel.RowRole)
        if row is None or self._picking:
            return
        if row.id:
            self._open(index)
        else:
            self.fold(row.section, closed=not row.closed)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        keys = Qt.KeyboardModifier
        self._picking = bool(event.modifiers() & (keys.ShiftModifier | keys.ControlModifier))
        if self._picking:  # the keys that follow are for what is picked
            self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)
        self.viewport().update()

    def fold(self, section: str, *, closed: bool) -> None:
        """Hide or show the chats of a section."""
        if closed:
            self.closed.add(section)
        else:
            self.closed.discard(section)
        self._rebuild()
        heading = next((n for n, r in enumerate(self.chats.rows) if r.section == section), -1)
        self.setCurrentIndex(self.chats.index(heading))
        self.folded.emit()

    def _rename_group(self, old: str, new: str) -> None:
        if GROUP + old in self.closed:
            self.closed = (self.closed - {GROUP + old}) | {GROUP + new}
            self.folded.emit()
        self.arranging.emit(self.in_group(old), {"group_name": new})

    def title_of(self, session_id: str) -> str:
        return str(self.chats.index_of(session_id).data() or "")

    def in_group(self, name: str) -> list[str]:
        return [info.id for info in self._sessions if info.group_name == name]

    def chosen_ids(self) -> list[str]:
        """What a key or a menu is for: the picked chats, or the current one."""
        row = self.currentIndex().data(ChatListModel.RowRole)
        return self.picked or ([row.id] if row is not None and row.id else [])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self._ask_for_menu()
            return
        index = self.indexAt(event.pos())
        row = index.data(ChatListModel.RowRole)
        if row is not None:
            if row.id not in self.picked:
                self.setCurrentIndex(index)
            self.menu_wanted.emit(event.globalPos())

    def _ask_for_menu(self) -> None:
        """Below the current row."""
        if self.currentIndex().isValid():
            below = self.visualRect(self.currentIndex()).bottomLeft() + QPoint(SIDE + 10, 0)
            self.menu_wanted.emit(self.viewport().mapToGlobal(below))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        row = self.indexAt(event.position().toPoint()).data(ChatListModel.RowRole)
        if event.button() == Qt.MouseButton.MiddleButton and row is not None and row.id:
            self.window_wanted.emit(row.id)
        else:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().data(ChatListModel.RowRole)
        key, shift = event.key(), event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        if self.state() == QAbstractItemView.State.EditingState:
            event.ignore()  # the end of a title's editing is no more than that
        elif event.matches(QKeySequence.StandardKey.Undo):
            self.undoing.emit()
        elif key == Qt.Key.Key_Menu or (key == Qt.Key.Key_F10 and shift):
            self._ask_for_menu()
        elif row is None:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or event.text() == " ":
            self._picking = False
            self._clicked(self.currentIndex())
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            if ids := self.chosen_ids():
                self.removing.emit(ids)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and row.hit is None and row.section:
            self.keyboard_focus = True
            self.fold(row.section, closed=key == Qt.Key.Key_Left)
        elif key == Qt.Key.Key_Escape and self.picked:
            self.setCurrentIndex(self.currentIndex())
        else:
            self.keyboard_focus = True
            super().keyPressEvent(event)
        self.viewport().update()

    # Dragging chats into another section

    def startDrag(self, actions: Qt.DropAction) -> None:
        data = self.chats.mimeData(self.selectionModel().selectedIndexes())
        ids = bytes(data.data(DRAGGED).data()).decode().split()
        if not ids:
            return
        row = self.currentIndex().data(ChatListModel.RowRole)
        several = tr_plural("{count} chat", "{count} chats", len(ids))
        drag = QDrag(self)
        drag.setMimeData(data)
        drag.setPixmap(self._tag(several if len(ids) > 1 else row.title))
        drag.exec(Qt.DropAction.MoveAction)

    def _tag(self, words: str) -> QPixmap:
        """What hangs on the mouse."""
        t, ratio = self.theme, self.devicePixelRatioF()
        width = min(t.metrics("ui").horizontalAdvance(words) + 22, t.px(200))
        box = QRectF(0, 0, width, t.height(28))
        image = QPixmap(box.size().toSize() * ratio)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        paint_rounded(painter, box, 6, t.color("raised"), t.color("control"))
        paint_text(painter, t, box.adjusted(10, 0, -8, 0), words, "ui", room=width - 20)
        painter.end()
        return image

    def _section_at(self, event: QDropEvent) -> str:
        """The section under the mouse where chats can be dropped; empty if there is none."""
        row = self.indexAt(event.position().toPoint()).data(ChatListModel.RowRole)
        ours = event.mimeData().hasFormat(DRAGGED) and event.source() is self
        return row.section if ours and row is not None and not self._delegate.query else ""

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(DRAGGED):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)  # scrolls at the edges
        self._delegate.drop = self._section_at(event)
        event.setAccepted(bool(self._delegate.drop))
        self.viewport().update()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._delegate.drop = ""
        self.viewport().update()
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        section = self._section_at(event)
        self._delegate.drop = ""
        self.setState(QAbstractItemView.State.NoState)
        self.viewport().update()
        if section:
            ids = bytes(event.mimeData().data(DRAGGED).data()).decode().split()
            event.accept()
            self.arranging.emit(ids, section_changes(section))

    def _scrolled(self, value: int) -> None:
        if value + 2 * self.viewport().height() >= self.verticalScrollBar().maximum():
            self.more_wanted.emit()

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
        with mirrored(painter, place, self.layoutDirection()):
            draw_text(painter, place, int(Qt.TextFlag.TextWordWrap), words)
        painter.end()
