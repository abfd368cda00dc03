"""Items table: how far many items of a step are, what failed, and the newest results (W-54)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.domain.items import ItemTally
from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunQuestion
from studio.storage.run_items import ItemRow, Shown
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars, number, plain
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import (
    Button,
    Card,
    Field,
    Hairline,
    Index,
    Label,
    Mark,
    Segmented,
    plain_tip,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_text
from studio.ui.widgets.row_list import RowModel, paint_row_ground
from studio.workflows.items.results import FailureKind, title_of

from .item_figures import ItemFigures
from .letter_list import LetterList
from .sample_card import SampleCard

SHOWN: tuple[Shown, ...] = ("all", "done", "failed")
STATES = {
    "done": ("check", "ok", tr_later("Passed")),
    "failed": ("x", "err", tr_later("Failed")),
    "skipped": ("minus", "text3", tr_later("Left out")),
}
FAULT_ICONS = {
    "invalid": "code-xml",
    "timeout": "timer",
    "limit": "gauge",
    "unsure": "triangle-alert",
}
MOST_OUTPUTS = 4
"""Outputs that have a column of their own; the file has them all."""
MOST_KINDS = 4
SIDE = 16
"""Pixels at both sides, in every text size."""
NOTHING = "–"
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_LEFT = Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class ItemsFacts:
    """What the table shows: the newest results, and the kinds of failures, most first."""

    step: str
    tally: ItemTally
    rows: Sequence[ItemRow]
    failures: Sequence[FailureKind]
    running: bool


def words_of(value: Json) -> str:
    """An item, or what came of it, in one line."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, float):
        return plain(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {words_of(one)}" for name, one in value.items())
    return json.dumps(value, ensure_ascii=False)


def result_of(row: ItemRow) -> str:
    """What came of an item, or why nothing did."""
    if row.state in ("failed", "skipped"):
        return tr_engine(row.reason)
    return words_of(row.outputs) if row.outputs is not None else words_of(row.text)


def spoken_item(row: ItemRow) -> str:
    return f"{words_of(row.value)}: {tr(STATES[row.state][2])}, {result_of(row)}"


def title_of_output(name: str) -> str:
    """“Due date” for ``due_date``."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns between an item and its state: one for each output, or one for the text."""

    names: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    """The outputs that are numbers, which stand at the right."""

    @classmethod
    def of(cls, rows: Sequence[ItemRow]) -> Columns:
        names: dict[str, None] = {}
        numbers: set[str] = set()
        words: set[str] = set()
        for row in rows:
            for name, value in row.outputs.items() if isinstance(row.outputs, dict) else ():
                names.setdefault(name)
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                (numbers if is_number else words).add(name)
        return cls(tuple(names)[:MOST_OUTPUTS], frozenset(numbers - words))

    def places(self, theme: Theme, rect: QRectF) -> list[QRectF]:
        """Item, outputs, state and cost, from left to right."""
        gap, state, cost = theme.px(12), theme.px(150), theme.px(72)
        count = max(len(self.names), 1)
        room = rect.width() - state - cost - (count + 2) * gap
        item = room * (0.45 if count < 3 else 0.32)
        each = (room - item) / count
        places, x = list[QRectF](), rect.x()
        for wide in (item, *[each] * count, state, cost):
            places.append(QRectF(x, rect.y(), wide, rect.height()))
            x += wide + gap
        return places

    def align(self, name: str) -> Qt.AlignmentFlag:
        return _RIGHT if name in self.numbers else _LEFT

    def values(self, row: ItemRow) -> list[str]:
        """What stands in the columns of a row."""
        if not self.names:
            return [words_of(row.outputs if row.outputs is not None else row.text) or NOTHING]
        made = row.outputs if isinstance(row.outputs, dict) else {}
        return [words_of(made[name]) if name in made else NOTHING for name in self.names]


class _Head(PaintedWidget):
    """The names of the columns."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.columns = Columns()
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setFixedHeight(self.theme.height(28, "small"))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, columns = self.theme, self.columns
        names = [(tr("Item"), _LEFT)]
        names += [(title_of_output(one), columns.align(one)) for one in columns.names]
        if not columns.names:
            names.append((tr("Result"), _LEFT))
        names += [(tr("State"), _LEFT), (tr("Cost"), _RIGHT)]
        inner = rect.adjusted(SIDE, 0, -SIDE, 0)
        for (name, align), place in zip(names, columns.places(t, inner), strict=True):
            paint_text(painter, t, place, name, "small", "text2", align, place.width())


class _Line(QStyledItemDelegate):
    def __init__(self, theme: Theme, head: _Head) -> None:
        super().__init__()
        self._theme, self._head = theme, head

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(30, "ui"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row, columns = self._theme, index.data(Qt.ItemDataRole.UserRole), self._head.columns
        whole = QRectF(option.rect)
        line = QRectF(SIDE, whole.bottom() - 1, whole.width() - 2 * SIDE, 1)
        painter.fillRect(line, t.color("hair"))
        paint_row_ground(painter, t, option, whole.adjusted(t.px(8), 0, -t.px(8), 0), 6)
        item, *made, state, cost = columns.places(t, whole.adjusted(SIDE, 0, -SIDE, 0))
        paint_text(painter, t, item, words_of(row.value), "code", room=item.width())
        failed = row.state == "failed"
        for at, (place, words) in enumerate(zip(made, columns.values(row), strict=True)):
            align = columns.align(columns.names[at]) if columns.names else _LEFT
            ink = "text2" if words == NOTHING else "text1"
            role = "ui digits" if align == _RIGHT else "ui"
            paint_text(painter, t, place, words, role, ink, align, place.width())
        icon, ink, words = STATES[row.state]
        side = t.px(14)
        mark = QRectF(state.x(), state.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, icon, ink)
        state.setLeft(mark.right() + t.px(6))
        words = tr_engine(title_of(row.fault, row.reason)) if failed else tr(words)
        paint_text(painter, t, state, words, "ui", "err" if failed else "text1", room=state.width())
        spent = dollars(row.dollars, 4) if row.dollars else ""
        paint_text(painter, t, cost, spent, "small digits", "text2", _RIGHT)


class _Kind(QWidget):
    """A kind of failure, with how many there are and a button that shows them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.mark = Mark(theme, "circle-alert", "err")
        self.title = Label(theme, "", "ui_medium")
        self.example = Label(theme, "", "small", "text2")
        self.example.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.count = Label(theme, "", "ui", digits=True)
        self.show_them = Button(theme, tr("Show"), "ghost")
        self.line = Hairline(theme)
        parts = [self.mark, self.title, (self.example, 1), self.count, self.show_them]
        column_of([row_of(parts, 8, (12, 3, 4, 3)), self.line], 0, on=self)


class ItemsTable(QWidget):
    """Figures, failures by kind and results; what is looked for is read by the page."""

    asked = Signal()
    """Other rows are wanted: ``shown``, ``words`` and ``fault`` say which."""
    retry_wanted = Signal(str)
    export_wanted = Signal(str)
    """The step whose failed items are to be tried again, or whose results be written."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.step = ""
        self.fault = ""
        """The fault that the person wants to see alone."""
        self._model = RowModel(spoken_item, lambda row: row)
        self.sample = SampleCard(theme)
        self.figures = ItemFigures(theme)
        self.retry = Button(theme, "", icon="rotate-ccw")
        self.retry.clicked.connect(lambda: self.retry_wanted.emit(self.step))
        by_kind = Label(theme, tr("Failures by kind"), "ui_strong")
        self.kinds = [_Kind(theme) for _ in range(MOST_KINDS)]
        self._failures: Sequence[FailureKind] = ()
        for at, kind in enumerate(self.kinds):
            kind.show_them.clicked.connect(lambda _=False, at=at: self._show_kind(at))
        kinds = Card(theme, "surface", "hair")
        column_of(self.kinds, 0, (1, 1, 1, 1), on=kinds)
        head = row_of([by_kind, STRETCH, self.retry], 8)
        self._failed = widget_of(column_of([head, kinds], 6, (SIDE, 6, SIDE, 6)))
        self.field = Field(theme, tr("Filter results"), icon="list-filter")
        self.field.offer_clear()
        self.field.textChanged.connect(lambda: self.asked.emit())
        self.states = Segmented(
            theme, [tr("All"), tr("Passed"), tr("Failed")], name=tr("Show results")
        )
        self.states.chosen.connect(lambda _: self._show_all())
        self.export = Button(theme, tr("Export…"), icon="download")
        self.export.clicked.connect(lambda: self.export_wanted.emit(self.step))
        self._head = _Head(theme)
        self.list = LetterList(theme, tr("Results"))
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Line(theme, self._head))
        self.field.setMaximumWidth(theme.px(220))
        self._results = Label(theme, "", "ui_strong")
        self._about = Label(theme, "", "small", "text2")
        tools = [self._results, self._about, STRETCH, (self.field, 1), self.states, self.export]
        unkept = tr("What was sent for these items is not kept. To see it, run one item alone.")
        self.unkept = Label(theme, unkept, "small", "text2", wrap=True)
        self._unkept = widget_of(row_of([self.unkept], 0, (SIDE, 4, SIDE, 6)))
        self._unkept.hide()
        self._figures = widget_of(row_of([self.figures], 0, (SIDE, 8, SIDE, 8)))
        parts = [
            row_of([self.sample], 0, (SIDE, 8, SIDE, 0)),
            self._figures,
            self._failed,
            row_of(tools, 8, (SIDE, 10, SIDE, 6)),
            *(self._head, Hairline(theme), (self.list, 1), self._unkept),
        ]
        column_of(parts, spacing=0, on=self)

    @property
    def shown(self) -> Shown:
        return SHOWN[self.states.current]

    @property
    def words(self) -> str:
        return self.field.text().strip()

    @property
    def columns(self) -> Columns:
        return self._head.columns

    def _show_all(self) -> None:
        """Show the results of the chosen state, whatever their fault."""
        self.fault = ""
        self.asked.emit()

    def _show_kind(self, at: int) -> None:
        """Show the failures of one kind alone."""
        kind = self._failures[at]
        self.states.set_current(SHOWN.index("failed"))
        self.fault = kind.fault
        if self.words != kind.words:
            self.field.setText(kind.words)  # which asks
        else:
            self.asked.emit()

    def show_asked(self, question: RunQuestion | None) -> None:
        """Ask after a sample whether the other items are to be worked on, or not any more."""
        asks = question is not None
        self.sample.show_question(question)
        self._figures.setVisible(not asks)
        self._failed.setVisible(bool(self._failures) and not asks)
        self._results.setText(tr("Sample") if asks else tr("Results"))
        self._about.setText(tr("chosen evenly") if asks else tr("newest first"))

    def show_facts(self, facts: ItemsFacts) -> None:
        self.step = facts.step
        self.figures.show_tally(facts.tally, running=facts.running)
        self._failures = kinds = facts.failures
        self._failed.setVisible(bool(kinds) and self.sample.isHidden())
        for at, widget in enumerate(self.kinds):
            widget.setVisible(at < len(kinds))
            if at < len(kinds):
                widget.title.setText(tr_engine(kinds[at].title))
                widget.mark.set(FAULT_ICONS.get(kinds[at].fault, "circle-alert"))
                widget.line.setVisible(at + 1 < min(len(kinds), MOST_KINDS))
                reason = tr_engine(kinds[at].reason) if kinds[at].fault else ""
                widget.example.setText(reason)
                widget.example.setToolTip(plain_tip(reason))
                widget.count.setText(number(kinds[at].count))
                spoken = tr("Show: {kind}").format(kind=widget.title.text())
                widget.show_them.setAccessibleName(spoken)
        failed = facts.tally.failed
        self.retry.set_text(tr_plural("Retry {count} failed", "Retry {count} failed", failed))
        columns = Columns.of(facts.rows)
        if columns != self._head.columns and (columns.names or not facts.rows):
            self._head.columns = columns
            self._head.update()
        self._unkept.setVisible(bool(facts.rows) and not any(one.session_id for one in facts.rows))
        self._model.show(facts.rows)
