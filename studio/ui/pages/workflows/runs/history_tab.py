"""History: the runs of a workflow, or all, with state, trigger, cost and time (W-66)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from studio.storage.runs import RunInfo
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock, dollars
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import Button, Combo, Field, Index, Label, MenuItem
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import paint_spinner, paint_text
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground

from .letter_list import LetterList
from .run_record import RUN_STATES, TRIGGERS, when

FILTERS = ("all", "open", "done", "failed", "stopped")


def title_of(info: RunInfo) -> str:
    return tr("{name}, run {number}").format(name=info.name, number=info.number)


def words_of(info: RunInfo) -> tuple[str, str, str, str]:
    """State, when and by what it began, cost, and how long it took."""
    words, took = tr(RUN_STATES[info.state][0]), clock(info.updated - info.created)
    if info.state == "running" and not info.live:
        words = tr("Broken off")
    began = tr("{time}, {trigger}").format(
        time=when(info.created), trigger=tr(TRIGGERS[info.trigger])
    )
    return words, began, dollars(info.dollars), took


def spoken_run(info: RunInfo) -> str:
    return joined((title_of(info), *words_of(info)))


class _Row(RowDelegate):
    def __init__(self, theme: Theme, view: QWidget) -> None:
        super().__init__(theme)
        self._view = view

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, info = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        paint_row_ground(painter, t, option, box)
        words, began, cost, took = words_of(info)
        _, icon, ink = RUN_STATES[info.state]
        if icon == "spinner" and not info.live:
            icon, ink = "circle-dashed", "text2"
        side = t.px(16)
        top, lower = t.metrics("ui_medium").height(), t.metrics("small").height()
        y = box.center().y() - (top + lower + t.px(1)) / 2
        mark = QRectF(box.x() + t.px(8), y + (top - side) / 2, side, side)
        if icon == "spinner":
            paint_spinner(painter, t, self._view, mark, ink)
        else:
            t.paint_icon(painter, mark, icon, ink)
        left, right = mark.right() + t.px(8), box.right() - t.px(8)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        for number, (text, aside) in enumerate(((title_of(info), cost), (began, took))):
            role, tone = ("ui_medium", "text1") if not number else ("small", "text2")
            metrics = t.metrics(f"{role} digits")
            height = top if not number else lower
            line = QRectF(left, y + number * (top + t.px(1)), right - left, height)
            paint_text(painter, t, line, aside, f"{role} digits", tone, at_right)
            room = line.width() - metrics.horizontalAdvance(aside) - t.px(10)
            text = f"{words}, {began}" if number else text
            paint_text(painter, t, line, text, role, tone, room=room)


class HistoryTab(QWidget):
    """A field and two choices above the list."""

    chosen = Signal(str)
    """The id of a run that the person wants to see."""
    compare_wanted = Signal()
    """The person wants to see the run beside another."""
    delete_wanted = Signal()
    """The person wants to delete the run that is shown."""
    wanted = Signal()
    """Whose runs are listed has changed: the list has to be read again."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._all: Sequence[RunInfo] = ()
        self._model = RowModel(spoken_run, lambda info: info.id)
        self._silent = False
        self.field = Field(theme, tr("Filter runs"), icon="search")
        self.field.offer_clear()
        self.field.textChanged.connect(lambda: self._filter())
        self.whose = Combo(
            theme,
            tr("Runs of"),
            items=[
                MenuItem("this", tr("This workflow")),
                MenuItem("all", tr("All workflows")),
            ],
            chosen=lambda key: self.wanted.emit(),
        )
        self.whose.set_current("this")
        self.states = Combo(
            theme,
            tr("State"),
            items=[
                MenuItem("all", tr("All states")),
                MenuItem("open", tr("Not over")),
                *(MenuItem(key, tr(RUN_STATES[key][0])) for key in FILTERS[2:]),
            ],
            chosen=lambda key: self._filter(),
        )
        self.states.set_current("all")
        self.list = LetterList(theme, tr("Runs"))
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Row(theme, self.list.viewport()))
        self.list.selectionModel().currentChanged.connect(self._current_changed)
        self._nothing = Label(theme, tr("No run is like this."), "ui", "text2")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.hide()
        choices = row_of([(self.whose, 1), (self.states, 1)], 8, (16, 0, 16, 8))
        field = row_of([self.field], margins=(16, 0, 16, 8))
        self.compare = Button(theme, tr("Compare…"), icon="files", keycap="D")
        self.compare.clicked.connect(self.compare_wanted)
        self.delete = Button(theme, tr("Delete…"), "ghost", clicked=self.delete_wanted.emit)
        foot = row_of([self.compare, STRETCH, self.delete], margins=(16, 8, 16, 0))
        parts = [field, choices, self._nothing, (self.list, 1), foot]
        column_of(parts, spacing=0, margins=(0, 12, 0, 8), on=self)

    @property
    def rows(self) -> Sequence[RunInfo]:
        """The runs that are listed."""
        return self._model.rows

    @property
    def of_all(self) -> bool:
        """Whether the runs of all workflows are wanted."""
        return self.whose.current == "all"

    def show_runs(self, rows: Sequence[RunInfo], shown: str) -> None:
        """List runs; the one that is ``shown`` is marked."""
        self._all = rows
        self.compare.setEnabled(len(rows) > 1)
        self._filter()
        ids = [one.id for one in self._model.rows]
        self._silent = True
        self.list.setCurrentIndex(self._model.index(ids.index(shown) if shown in ids else -1))
        self._silent = False

    def _filter(self) -> None:
        words, state = self.field.text().casefold().split(), self.states.current
        found = [
            info
            for info in self._all
            if (state == "all" or info.state == state or (state == "open" and not _over(info)))
            and all(word in _searched(info) for word in words)
        ]
        before = self.list.currentIndex().data(Qt.ItemDataRole.UserRole)
        self._silent = True
        self._model.show(found)
        ids = [one.id for one in found]
        if before is not None and before.id in ids:
            self.list.setCurrentIndex(self._model.index(ids.index(before.id)))
        self._silent = False
        self._nothing.setVisible(not found)

    def _current_changed(self, index: QModelIndex) -> None:
        info: RunInfo | None = index.data(Qt.ItemDataRole.UserRole)
        if info is not None and not self._silent:
            self.chosen.emit(info.id)


def _over(info: RunInfo) -> bool:
    return info.state in ("done", "failed", "stopped")


def _searched(info: RunInfo) -> str:
    parts = (title_of(info), *words_of(info), tr_engine(info.reason), info.id)
    return " ".join(parts).casefold()
