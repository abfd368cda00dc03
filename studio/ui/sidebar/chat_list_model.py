"""Holds the rows of the list of chats, grouped by date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.ui.formatting import age
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Index, plain_tip

if TYPE_CHECKING:
    from studio.domain.sessions import SearchHit, SessionInfo

FAILED = frozenset({"error", "stalled"})
"""How a last turn ended where the row should say so."""

ORIGINS = {
    "server": ("server", tr_later("Begun through the server")),
    "terminal": ("terminal", tr_later("Begun in a terminal")),
    "editor": ("file-pen", tr_later("Begun in an editor")),
}
"""Icon and words of where a chat comes from, unless that is a window."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One line of the list: a heading (no ``session``), a chat, or a chat that was found."""

    title: str
    session: SessionInfo | None = None
    hit: SearchHit | None = None
    age: str = ""

    @property
    def id(self) -> str:
        if self.hit is not None:
            return self.hit.session_id
        return self.session.id if self.session is not None else ""

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
            return self.title
        spoken = {
            "waiting": tr("needs your answer"),
            "running": tr("running"),
            "failed": tr("failed"),
            "unread": tr("unread"),
        }
        status = spoken.get(self.status, "")
        since = tr("{age} ago").format(age=self.age) if self.age else ""
        return joined((self.title, status, self.origin[1], since))


def grouped(sessions: Iterable[SessionInfo], now: float) -> list[ChatRow]:
    """Rows with headings by date, latest first."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    limits = [
        (tr("Today"), today),
        (tr("Yesterday"), today - timedelta(days=1)),
        (tr("Last 7 days"), today - timedelta(days=7)),
        (tr("Last 30 days"), today - timedelta(days=30)),
    ]
    rows: list[ChatRow] = []
    heading = ""
    for info in sorted(sessions, key=lambda info: info.updated, reverse=True):
        when = datetime.fromtimestamp(info.updated)
        group = next((name for name, start in limits if when >= start), tr("Older"))
        if group != heading:
            heading = group
            rows.append(ChatRow(heading))
        shown = age(now - info.updated) if when >= today else ""
        rows.append(ChatRow(info.title or tr("New chat"), info, age=shown))
    return rows


def _identity(row: ChatRow) -> tuple[str, bool]:
    """Equal for rows of the same chat, or of the same heading."""
    return row.id or row.title, row.hit is None


class ChatListModel(QAbstractListModel):
    """Rows; ``renamed`` comes when a title was edited in place."""

    renamed = Signal(str, str)
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
        if not title or title == row.title or row.session is None:
            return False
        self.rows[index.row()] = replace(row, title=title)
        self.dataChanged.emit(index, index)
        self.renamed.emit(row.id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or not self.rows[index.row()].id:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable
