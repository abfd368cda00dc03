"""Lists notes under headings: those that wait first, then the kept ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)

from studio.tools.memory.note_index import Entry
from studio.ui.formatting import day_of
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import FocusRing, Index, OverlayBar, make_transparent
from studio.ui.widgets.painting import paint_ends, paint_rounded, paint_text
from studio.ui.widgets.row_list import RowDelegate, RowModel

from .trust_tag import KINDS, paint_trust, trust_width, trust_word


def when(written: float) -> str:
    """The time of today, the day of any other."""
    at = datetime.fromtimestamp(written)
    return at.strftime("%H:%M") if at.date() == datetime.now().date() else day_of(written)


def about(entry: Entry) -> str:
    """By whom, and what it is."""
    kind = tr(KINDS[entry.kind][0])
    return tr("{kind}, by {agent}").format(kind=kind, agent=entry.by) if entry.by else kind


def spoken_row(row: str | Entry) -> str:
    if isinstance(row, str):
        return row
    state = tr("waits for you") if row.state == "proposed" else ""
    return joined((row.title, about(row), trust_word(row.trust), state, when(row.written)))


class NoteListModel(RowModel):
    """Headings, which are texts, and entries."""

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(index.data(Qt.ItemDataRole.UserRole), Entry):
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return Qt.ItemFlag.NoItemFlags


class _Row(RowDelegate):
    least, around = 56, 20

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        t = self._theme
        if isinstance(index.data(Qt.ItemDataRole.UserRole), str):
            return QSize(200, max(t.px(30), t.metrics("small_strong").height() + t.px(12)))
        return super().sizeHint(option, index)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        if isinstance(row, str):
            place = box.adjusted(t.px(10), t.px(6), -t.px(10), 0)
            paint_text(painter, t, place, row, "small_strong", "text2", room=place.width())
            return
        if option.state & QStyle.StateFlag.State_Selected:
            paint_rounded(painter, box, 7, t.color("selected"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            paint_rounded(painter, box, 7, t.color("hover"))
        side = t.px(16)
        first = QRectF(box.x() + t.px(36), box.y() + t.px(8), 0, t.px(20))
        first.setRight(box.right() - t.px(10))
        second = first.translated(0, t.px(19))
        mark = QRectF(box.x() + t.px(10), first.center().y() - side / 2, side, side)
        waits = row.state == "proposed"
        icon = "shield-question-mark" if waits else KINDS[row.kind][1]
        t.paint_icon(painter, mark, icon, "warn" if waits else "text2")
        wide = trust_width(t, row.trust)
        tag = QPointF(first.right() - wide, first.center().y())
        paint_trust(painter, t, tag, row.trust)
        title = QRectF(first)
        title.setRight(tag.x() - t.px(8))
        paint_text(painter, t, title, row.title, "ui_medium", "text1", room=title.width())
        paint_ends(
            painter,
            t,
            second,
            (about(row), "small", "text2"),
            (when(row.written), "small", "text2"),
        )


class NoteList(QListView):
    """Keeps the chosen row by its note while the list changes."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.notes = NoteListModel(spoken_row)
        self.setModel(self.notes)
        self.setItemDelegate(_Row(theme))
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Notes"))
        make_transparent(self)
        self._bar = OverlayBar(self)
        FocusRing.of(theme).follow(self)
        theme.changed.connect(self.doItemsLayout)

    @property
    def entry(self) -> Entry | None:
        """The chosen one."""
        row = self.currentIndex().data(Qt.ItemDataRole.UserRole)
        return row if isinstance(row, Entry) else None

    @property
    def entries(self) -> list[Entry]:
        return [row for row in self.notes.rows if isinstance(row, Entry)]

    def show_rows(self, rows: Sequence[str | Entry], wanted: tuple[str, str] | None) -> None:
        """Show these, with the note ``wanted``, by folder and name, or what is in its place."""
        old, at = self.entry, self.currentIndex().row()
        key = wanted or ((old.place, old.name) if old else None)
        self.notes.show(rows)
        found = [n for n, row in enumerate(rows) if isinstance(row, Entry)]
        same = [n for n in found if key == (rows[n].place, rows[n].name)]  # type: ignore[union-attr]
        after = [n for n in found if n >= at]
        choice = (same or after or found[-1:] or [-1])[0]
        self.setCurrentIndex(self.notes.index(choice))

    def step(self, rows: int) -> None:
        """Go to the next note, or the one before."""
        found = [n for n, row in enumerate(self.notes.rows) if isinstance(row, Entry)]
        here = self.currentIndex().row()
        further = [n for n in found if (n - here) * rows > 0]
        if further:
            self.setCurrentIndex(self.notes.index(further[0 if rows > 0 else -1]))
