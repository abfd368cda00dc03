"""Items table: how far many items of a step are, what failed, and the newest results (W-54)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.domain.items import ItemTally
from studio.domain.jsonvalue import Json
from studio.storage.run_items import ItemRow, Shown
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars, duration, number
from studio.ui.settings.bars import FillBar
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button, Field, Index, Label, Segmented
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import paint_text
from studio.ui.widgets.row_list import RowModel, paint_row_ground

from .letter_list import LetterList

SHOWN: tuple[Shown, ...] = ("all", "done", "failed")
STATES = {
    "done": ("check", "ok", tr_later("Passed")),
    "failed": ("x", "err", tr_later("Failed")),
}


@dataclass(frozen=True, slots=True)
class ItemsFacts:
    """What the table shows: the newest results, and the kinds of failures with their numbers."""

    step: str
    tally: ItemTally
    rows: Sequence[ItemRow]
    failures: Sequence[tuple[str, str, int]]
    running: bool


def words_of(value: Json) -> str:
    """An item, or what came of it, in one line."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return ", ".join(f"{name} {words_of(one)}" for name, one in value.items())
    return json.dumps(value, ensure_ascii=False)


def figures(tally: ItemTally, *, running: bool) -> str:
    """“6,412 of 10,000 items · about 38 min to go · …”."""
    parts = [
        tr("{done} of {count} items").format(
            done=number(tally.done + tally.failed), count=number(tally.count)
        )
    ]
    if tally.failed:
        parts.append(tr("{count} failed").format(count=number(tally.failed)))
    if tally.linked:
        parts.append(tr("{count} done before").format(count=number(tally.linked)))
    if tally.left and tally.dollars_left:
        parts.append(tr("about {cost} to go").format(cost=dollars(tally.dollars_left)))
    if running and tally.left and tally.seconds_left:
        parts.append(tr("about {span} to go").format(span=duration(tally.seconds_left)))
    if running and tally.at_a_time:
        parts.append(tr("{count} at a time").format(count=number(tally.at_a_time)))
    if tally.found:
        parts.append(tr("limit found at {count}").format(count=number(tally.found)))
    if tally.sent:
        parts.append(tr("{count} in batches").format(count=number(tally.sent)))
    return " · ".join(parts)


def result_of(row: ItemRow) -> str:
    """What came of an item, or why nothing did."""
    if row.state == "failed":
        return tr_engine(row.reason)
    return words_of(row.outputs) if row.outputs is not None else words_of(row.text)


def spoken_item(row: ItemRow) -> str:
    return f"{words_of(row.value)}: {tr(STATES[row.state][2])}, {result_of(row)}"


class _Line(QStyledItemDelegate):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(30, "small"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 0, -t.px(8), 0)
        paint_row_ground(painter, t, option, box, 6)
        rect = box.adjusted(t.px(8), 0, -t.px(8), 0)
        icon, ink, _ = STATES[row.state]
        side = t.px(15)
        mark = QRectF(rect.x(), rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, icon, ink)
        width = rect.width() - side - t.px(10) - t.px(80)
        item = QRectF(mark.right() + t.px(10), rect.y(), width * 0.42, rect.height())
        paint_text(painter, t, item, words_of(row.value), "ui", room=item.width())
        made = QRectF(item.right() + t.px(12), rect.y(), width * 0.58 - t.px(12), rect.height())
        inks = ("ui", "err") if row.state == "failed" else ("ui", "text2")
        paint_text(painter, t, made, result_of(row), *inks, room=made.width())
        cost = dollars(row.dollars, 4) if row.dollars else ""
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, rect, cost, "small digits", "text2", at_right)


class ItemsTable(QWidget):
    """Figures, failures by kind and results; what is looked for is read by the page."""

    asked = Signal()
    """Other rows are wanted: ``shown`` and ``words`` say which."""
    retry_wanted = Signal(str)
    export_wanted = Signal(str)
    """The step whose failed items are to be tried again, or whose results be written."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.step = ""
        self._model = RowModel(spoken_item, lambda row: row)
        self.figures = Label(theme, "", "ui", digits=True, wrap=True)
        self.bar = FillBar(theme)
        self.bar.setFixedHeight(theme.px(8))
        self.failures = Label(theme, "", "small", "text2", wrap=True)
        self.field = Field(theme, tr("Filter results"), icon="list-filter")
        self.field.offer_clear()
        self.field.textChanged.connect(lambda: self.asked.emit())
        self.kinds = Segmented(
            theme, [tr("All"), tr("Passed"), tr("Failed")], name=tr("Show results")
        )
        self.kinds.chosen.connect(lambda _: self.asked.emit())
        self.retry = Button(theme, "", icon="rotate-ccw")
        self.retry.clicked.connect(lambda: self.retry_wanted.emit(self.step))
        self.export = Button(theme, tr("Export…"), icon="arrow-down")
        self.export.clicked.connect(lambda: self.export_wanted.emit(self.step))
        self.list = LetterList(theme, tr("Results"))
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Line(theme))
        self.field.setMaximumWidth(theme.px(220))
        head = [(self.field, 1), self.kinds, STRETCH, self.retry, self.export]
        words = column_of(
            [self.figures, self.bar, self.failures], spacing=4, margins=(16, 4, 16, 2)
        )
        column_of([words, row_of(head, 8, (16, 2, 16, 6)), (self.list, 1)], spacing=0, on=self)

    @property
    def shown(self) -> Shown:
        return SHOWN[self.kinds.current]

    @property
    def words(self) -> str:
        return self.field.text().strip()

    def show_facts(self, facts: ItemsFacts) -> None:
        self.step = facts.step
        words, tally = figures(facts.tally, running=facts.running), facts.tally
        self.figures.setText(words)
        over = tally.done + tally.failed
        self.bar.show_share(
            over / max(tally.count, 1), words, "err" if tally.failed == over > 0 else "accent"
        )
        kinds = [f"{number(count)} × {tr_engine(title)}" for title, _, count in facts.failures[:6]]
        self.failures.setText(" · ".join(kinds))
        self.failures.setVisible(bool(kinds))
        failed = facts.tally.failed
        self.retry.set_text(tr_plural("Retry {count} failed", "Retry {count} failed", failed))
        self.retry.setVisible(bool(failed))
        self._model.show(facts.rows)
