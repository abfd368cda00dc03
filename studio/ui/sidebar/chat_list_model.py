"""Holds the rows of the list of chats: pinned ones, groups, the others by date, the archive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractListModel, QMimeData, QModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.domain.records import dataclass
from studio.ui.formatting import age, ago
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Index, plain_tip

if TYPE_CHECKING:
    from studio.domain.sessions import SearchHit, SessionInfo
    from studio.storage.sessions.store import SessionChanges

PINNED, ARCHIVED, GROUP = "pinned", "archived", "group:"
"""Keys of sections; ``GROUP`` comes before a group's name. The others are of dates."""
DRAGGED = "application/x-agent-studio-chats"
"""The format in which chats are dragged: their ids in lines."""
FAILED = frozenset({"error", "stalled"})
"""How a last turn ended where the row should say so."""

ORIGINS = {
    "server": ("server", tr_later("Begun through the server")),
    "terminal": ("terminal", tr_later("Begun in a terminal")),
    "editor": ("file-pen", tr_later("Begun in an editor")),
}
"""Icon and words of where a chat comes from, unless that is a window."""


@cache
def _flags(*, chosen: bool, moved: bool, group: bool) -> Qt.ItemFlag:
    """Of a row; kept, as each frame of a spinner asks for them and to join two makes a third."""
    flag = Qt.ItemFlag
    flags = flag.ItemIsEnabled | flag.ItemIsDropEnabled
    flags |= flag.ItemIsSelectable if chosen else flag.NoItemFlags
    flags |= flag.ItemIsDragEnabled if moved else flag.NoItemFlags
    return flags | flag.ItemIsEditable if moved or group else flags


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One line of the list: a heading (no ``session``), a chat, or a chat that was found.

    ``section`` is the key of its heading; a ``closed`` one stands for ``count`` hidden chats.
    """

    title: str
    session: SessionInfo | None = None
    hit: SearchHit | None = None
    age: str = ""
    since: str = ""
    """How long ago something was said last: at the row's end, and as a screen reader says it."""
    section: str = ""
    closed: bool = False
    count: int = 0

    @property
    def group(self) -> str:
        """The name of the person's group that this heads; empty for other rows."""
        return self.section.removeprefix(GROUP) if is_group(self.section) and not self.id else ""

    @property
    def id(self) -> str:
        if self.hit is not None:
            return self.hit.session_id
        return self.session.id if self.session is not None else ""

    def is_of(self, other: ChatRow) -> bool:
        """Whether both are of the same chat, in any version of it, or of the same heading."""
        ours, theirs = self.session, other.session
        if ours is not None and theirs is not None and ours.family and ours.family == theirs.family:
            return True
        return self.id == other.id if self.id else not other.id and self.section == other.section

    @property
    def status(self) -> str:
        """What the row's end shows: ``waiting``, ``running``, ``failed``, ``unread`` or ``age``."""
        info = self.session
        if info is None:
            return ""
        if info.state in ("waiting", "running"):
            return info.state
        if info.state in FAILED:
            return "failed"
        return "unread" if info.unread else "age"

    @property
    def origin(self) -> tuple[str, str]:
        """Icon and words of the door it was begun through; empty for a window."""
        icon, words = ORIGINS.get(self.session.origin, ("", "")) if self.session else ("", "")
        return icon, tr(words)

    @property
    def spoken(self) -> str:
        if not self.id:
            hidden = tr_plural("{count} chat", "{count} chats", self.count)
            return joined((self.title, tr("collapsed"), hidden)) if self.closed else self.title
        spoken = {
            "waiting": tr("needs your answer"),
            "running": tr("running"),
            "failed": tr("failed"),
            "unread": tr("unread"),
        }
        status = spoken.get(self.status, "")
        return joined((self.title, status, self.origin[1], self.since))


def is_group(section: str) -> bool:
    return section.startswith(GROUP)


def section_changes(section: str) -> SessionChanges:
    """What puts a chat into a section."""
    if section == ARCHIVED:
        return {"archived": True}
    group = section.removeprefix(GROUP) if is_group(section) else ""
    if section == PINNED:
        return {"archived": False, "pinned": True}
    return {"archived": False, "pinned": False, "group_name": group}


def grouped(
    sessions: Iterable[SessionInfo], now: float, closed: Collection[str] = (), archived: int = 0
) -> list[ChatRow]:
    """Rows with headings; in each section the latest first.

    Sections whose keys are in ``closed`` have their heading only. ``archived`` is the number of
    chats in the archive, which need not be among the ``sessions``.
    """
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [("today", 0), ("yesterday", 1), ("week", 7), ("month", 30)]
    limits = [(key, (today - timedelta(days=back)).timestamp()) for key, back in days]
    sections: dict[str, list[SessionInfo]] = {}
    for info in sorted(sessions, key=lambda info: info.updated, reverse=True):
        if info.archived:
            key = ARCHIVED
        elif info.pinned:
            key = PINNED
        elif info.group_name:
            key = GROUP + info.group_name
        else:
            key = next((key for key, start in limits if info.updated >= start), "older")
        sections.setdefault(key, []).append(info)
    groups = sorted(filter(is_group, sections), key=str.casefold)
    titles = {
        PINNED: tr("Pinned"),
        **{key: key.removeprefix(GROUP) for key in groups},
        "today": tr("Today"),
        "yesterday": tr("Yesterday"),
        "week": tr("Last 7 days"),
        "month": tr("Last 30 days"),
        "older": tr("Older"),
        ARCHIVED: tr("Archived"),
    }
    rows: list[ChatRow] = []
    for key, title in titles.items():
        found = sections.get(key, [])
        count = max(archived, len(found)) if key == ARCHIVED else len(found)
        if not count:
            continue
        hidden = key in closed
        rows.append(ChatRow(title, section=key, closed=hidden, count=count))
        for info in () if hidden else found:
            row = ChatRow(info.title or tr("New chat"), info, section=key)
            if info.updated >= limits[0][1]:
                passed = now - info.updated
                row = replace(row, age=age(passed), since=ago(passed))
            rows.append(row)
    return rows


def _identity(row: ChatRow) -> tuple[str, bool]:
    """Equal for rows of the same chat, or of the same heading."""
    return row.id or f"#{row.section}", row.hit is None


class ChatListModel(QAbstractListModel):
    """Rows; ``renamed`` comes when a title was edited in place, with the chat's id."""

    renamed = Signal(str, str)
    group_renamed = Signal(str, str)
    """A group's name, and the new one."""
    RowRole = int(Qt.ItemDataRole.UserRole)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: list[ChatRow] = []
        self.progress: Callable[[str], str] = lambda session_id: ""
        """How far a running chat is, by its id; called when its tooltip or name is shown."""
        self.folder_name: Callable[[str], str] = str
        """A folder in words; called when a tooltip is shown."""

    def show(self, rows: Sequence[ChatRow]) -> None:
        """Replace the rows; a list of the same chats only repaints what changed."""
        new = list(rows)
        if list(map(_identity, new)) == list(map(_identity, self.rows)):
            for at, (old, row) in enumerate(zip(self.rows, new, strict=True)):
                if old != row:
                    self.rows[at] = row
                    self.dataChanged.emit(self.index(at), self.index(at))
            return
        self.beginResetModel()
        self.rows = new
        self.endResetModel()

    def index_of(self, session_id: str) -> QModelIndex:
        for at, row in enumerate(self.rows):
            if row.id == session_id and session_id:
                return self.index(at)
        return QModelIndex()

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == self.RowRole:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return joined((row.spoken, self.progress(row.id) if row.id else ""))
        if role == Qt.ItemDataRole.ToolTipRole and row.session is not None:
            folder = self.folder_name(row.session.folder)
            lines = (self.progress(row.id), folder, row.origin[1])
            return plain_tip("\n".join(filter(None, lines)))
        return None

    def setData(
        self, index: Index, value: object, role: int = int(Qt.ItemDataRole.EditRole)
    ) -> bool:
        title = str(value).strip()
        row = self.rows[index.row()]
        if not title or title == row.title or not (row.session or row.group):
            return False
        if row.session is None:
            self.group_renamed.emit(row.group, title)
            return True
        self.rows[index.row()] = replace(row, title=title)
        self.dataChanged.emit(index, index)
        self.renamed.emit(row.id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.ItemIsDropEnabled
        row = self.rows[index.row()]
        return _flags(chosen=bool(row.id), moved=row.session is not None, group=bool(row.group))

    def mimeTypes(self) -> list[str]:
        return [DRAGGED]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        ids = [self.rows[index.row()].id for index in indexes]
        data.setData(DRAGGED, "\n".join(filter(None, ids)).encode())
        return data

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction
