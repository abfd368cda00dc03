"""Lists drafts: a model of rows, and the delegate that paints them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)

from studio.domain.sessions import DraftEntry
from studio.ui.formatting import age
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.transcript.items.draft_item import ICONS, outcome_of
from studio.ui.translation import tr, tr_in, tr_later
from studio.ui.widgets import FocusRing, Index, OverlayBar, make_transparent, plain_tip
from studio.ui.widgets.painting import paint_check, paint_ends, paint_rounded
from studio.ui.widgets.row_list import RowDelegate

HEADINGS = {
    "write": tr_later("Write {name}"),
    "delete": tr_later("Delete {name}"),
    "move": tr_later("Move {name}"),
}


def heading(entry: DraftEntry) -> str:
    """``Write retry.py``; the title of what is no file, as its pack gave it."""
    if entry.noun not in ("file", "record") and entry.action == "write":
        return entry.path
    name = entry.path.rpartition("/")[2] if entry.noun == "file" else entry.path
    return tr(HEADINGS[entry.action]).format(name=name)


def whole_place(entry: DraftEntry) -> str:
    """Where what it changes is: a file in its folder; the name alone of anything else."""
    return str(Path(entry.folder) / entry.place) if entry.noun == "file" else entry.place


def origin(entry: DraftEntry) -> str:
    """``Coder in Fix flaky retry test``."""
    return tr("{agent} in {chat}").format(agent=entry.agent, chat=entry.title or tr("New chat"))


class DraftListModel(QAbstractListModel):
    """The entries; ``marked`` are the ids of those that are selected for one decision."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[DraftEntry] = []
        self.marked: set[tuple[str, str]] = set()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid() or index.row() >= len(self.entries):
            return None
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return entry
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            state = "" if entry.status == "waiting" else tr(outcome_of(entry)[2])
            chosen = tr_in("a draft in a list", "selected") if key_of(entry) in self.marked else ""
            return joined((heading(entry), origin(entry), state, chosen))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(whole_place(entry))
        return None

    def show(self, entries: Sequence[DraftEntry]) -> None:
        self.beginResetModel()
        self.entries = list(entries)
        self.marked &= {key_of(entry) for entry in entries}
        self.endResetModel()

    def mark(self, row: int) -> None:
        """Select a row for the next decision, or no longer."""
        self.marked ^= {key_of(self.entries[row])}
        self.dataChanged.emit(self.index(0), self.index(len(self.entries) - 1))


def key_of(entry: DraftEntry) -> tuple[str, str]:
    """A branched chat has drafts with the ids of the other's."""
    return entry.session_id, entry.draft_id


class _Row(RowDelegate):
    """Two lines: what and since when; by whom, or what became of it."""

    least, around = 56, 20

    def __init__(self, theme: Theme, model: DraftListModel) -> None:
        super().__init__(theme)
        self._model = model

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, entry = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        marked = key_of(entry) in self._model.marked
        if option.state & QStyle.StateFlag.State_Selected:
            paint_rounded(painter, box, 7, t.color("selected"))
        elif marked or option.state & QStyle.StateFlag.State_MouseOver:
            paint_rounded(painter, box, 7, t.color("hover"))
        side = t.px(16)
        first = QRectF(box.x() + t.px(38), box.y() + t.px(8), 0, t.px(20))
        first.setRight(box.right() - t.px(10))
        second = first.translated(0, t.px(19))
        mark = QRectF(box.x() + t.px(12), first.center().y() - side / 2, side, side)
        icon, color = ICONS[entry.action], "text1"
        if entry.status != "waiting":
            icon, color, _ = outcome_of(entry)
        if self._model.marked:
            paint_check(painter, t, mark, marked)
        else:
            t.paint_icon(painter, mark, icon, color)
        when = age(time.time() - (entry.resolved or entry.created))
        done = "" if entry.status == "waiting" else f"{tr(outcome_of(entry)[2])}  ·  "
        what = (heading(entry), "ui_medium", "text1")
        paint_ends(painter, t, first, what, (when, "tiny", "text2"))
        paint_ends(painter, t, second, (f"{done}{origin(entry)}", "small", "text2"))


def place_of(wanted: tuple[str, str], entries: Sequence[DraftEntry]) -> int | None:
    """Where a draft is in the list; without an id of its session, the first with its own."""
    session, draft = wanted
    for at, entry in enumerate(entries):
        if entry.draft_id == draft and session in ("", entry.session_id):
            return at
    return None


class DraftList(QListView):
    """Keeps the chosen row by its draft while the list changes."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.drafts = DraftListModel()
        self.setModel(self.drafts)
        self.setItemDelegate(_Row(theme, self.drafts))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Drafts"))
        self.setViewportMargins(0, theme.px(8), 0, 0)
        make_transparent(self)
        self._bar = OverlayBar(self)
        FocusRing.of(theme).follow(self)
        theme.changed.connect(self.doItemsLayout)

    @property
    def entry(self) -> DraftEntry | None:
        """The chosen one."""
        return self.currentIndex().data(Qt.ItemDataRole.UserRole)

    @property
    def marked(self) -> list[DraftEntry]:
        """Those selected, or else the chosen one; the oldest first."""
        found = [e for e in self.drafts.entries if key_of(e) in self.drafts.marked]
        entry = self.entry
        return found[::-1] if found or entry is None else [entry]

    def show_entries(self, entries: Sequence[DraftEntry], wanted: tuple[str, str] | None) -> None:
        """Show these, with the one ``wanted`` chosen, or what is where the chosen one was."""
        row, old = self.currentIndex().row(), self.entry
        wanted = wanted or (key_of(old) if old else None)
        self.drafts.show(entries)
        at = place_of(wanted, entries) if wanted else None
        at = min(max(row, 0), len(entries) - 1) if at is None else at
        self.setCurrentIndex(self.drafts.index(at))

    def step(self, rows: int) -> None:
        at = self.currentIndex().row() + rows
        if 0 <= at < len(self.drafts.entries):
            self.setCurrentIndex(self.drafts.index(at))

    def mark(self) -> None:
        """Select the chosen one for the next decision, or no longer."""
        if self.currentIndex().isValid():
            self.drafts.mark(self.currentIndex().row())
