"""The list of chats: they are chosen, dragged, put away and renamed in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QPoint,
    QRectF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QContextMenuEvent,
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
    QPixmap,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QWidget,
)

from studio.ui.theme import Theme
from studio.ui.theme.mirroring import draw_text, mirrored
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Index, OverlayBar, make_transparent
from studio.ui.widgets.focus import KEYBOARD
from studio.ui.widgets.painting import paint_rounded, paint_text

from .chat_delegate import SIDE, ChatDelegate
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
        if not self.currentIndex().isValid() and not self.hasFocus():
            # Its row was gone for a while, as when another version of the chat was listed.
            self.setCurrentIndex(self.chats.index_of(self._delegate.open_id))
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
        delegate = self._delegate
        delegate.painted = event.region()
        delegate.picked, delegate.ring = self.picked, self.keyboard_focus
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
