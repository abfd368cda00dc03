"""The inspector of an eval: the chosen cell, the whole in figures, and those that ran (W-58)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QPainter, QTextCursor
from PySide6.QtWidgets import QStackedWidget, QStyleOptionViewItem, QTextEdit, QWidget

from studio.domain.evals import Cell, EvalReport
from studio.storage.evals import EvalRow
from studio.ui.formatting import decimal, dollars, number
from studio.ui.inspector.fact_list import Fact, FactList
from studio.ui.pages.workflows.runs.letter_list import LetterList
from studio.ui.pages.workflows.runs.run_record import when
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import (
    Button,
    Card,
    FocusRing,
    Hairline,
    IconButton,
    Index,
    Label,
    Segmented,
    Tag,
)
from studio.ui.widgets.code_box import CodeBox
from studio.ui.widgets.layouts import STRETCH, WrappingRow, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_text
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.roles import give_role
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground
from studio.workflows.evals.figures import Difference, figures

from .eval_facts import (
    LETTERS,
    CaseRow,
    answer_marks,
    check_words,
    counts_words,
    figure_words,
    passed_of,
    use_words,
    variant_title,
    verdict_words,
)

CELL, SUMMARY, HISTORY = range(3)
STATES = {
    "running": tr_later("Running"),
    "done": tr_later("Done"),
    "unfinished": tr_later("Unfinished"),
}


class AnswerCard(Card):
    """One answer to a case, with what its graders say of it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "control", 8)
        self.head = Label(theme, "", "small", "text2", digits=True)
        self.state = Tag(theme, "")
        self.text = CodeBox(theme, tr("Answer"), 10, 1, "ui")
        self.verdicts = Label(theme, "", "small", "text2", wrap=True)
        self.used = Label(theme, "", "small", "text3", digits=True)
        head = row_of([(self.head, 1), self.state], 8, (10, 6, 8, 6))
        rest = column_of([self.text, self.verdicts, self.used], 6, (8, 8, 8, 8))
        column_of([head, Hairline(theme), rest], spacing=0, on=self)

    def show_cell(
        self, letter: str, cell: Cell, tries: int, marks: Sequence[tuple[int, int]]
    ) -> None:
        words = tr("{letter}, try {number} of {count}")
        self.head.setText(words.format(letter=letter, number=cell.number, count=tries))
        if not cell.graded:
            self.state.set(tr("no result"))
        elif cell.passed:
            self.state.set(tr("Passed"), "ok", "check")
        else:
            self.state.set(tr("Failed"), "err", "x")
        self.text.show_text(cell.text.strip())
        self.text.setVisible(bool(cell.text.strip()))
        self._mark(marks, len(cell.text) - len(cell.text.lstrip()))
        signs = {True: "✓", False: "×", None: "·"}
        said = [f"{signs[passed]} {words}" for passed, words in verdict_words(cell)]
        self.verdicts.show_text("\n".join(said))
        self.used.show_text(use_words(cell) if cell.answered else "")

    def _mark(self, marks: Sequence[tuple[int, int]], before: int) -> None:
        made: list[QTextEdit.ExtraSelection] = []
        last = len(self.text.edit.toPlainText())
        for start, end in marks:
            one, cursor = QTextEdit.ExtraSelection(), QTextCursor(self.text.edit.document())
            cursor.setPosition(min(max(start - before, 0), last))
            cursor.setPosition(min(max(end - before, 0), last), QTextCursor.MoveMode.KeepAnchor)
            one.cursor = cursor
            one.format.setBackground(self.theme.color("ok_soft"))
            one.format.setForeground(self.theme.color("ok"))
            made.append(one)
        self.text.edit.setExtraSelections(made)


class CellTab(QWidget):
    """The chosen cell beside the baseline’s, a try of each."""

    chat_wanted = Signal(object)
    """A try whose chat the person wants to see."""
    again_wanted = Signal(str)
    """The person wants a cell to be asked again, by its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._row: CaseRow | None = None
        self._at = self._try = 0
        self.nothing = Label(theme, tr("Choose a case to see it here."), "ui", "text2", wrap=True)
        self.title = Label(theme, "", "heading", wrap=True)
        self.id = Label(theme, "", "small", "text2")
        self.facts, self.against = FactList(theme), FactList(theme)
        self.before = IconButton(theme, "chevron-left", tr("Previous try"))
        self.before.clicked.connect(lambda: self._turn(-1))
        self.after = IconButton(theme, "chevron-right", tr("Next try"))
        self.after.clicked.connect(lambda: self._turn(1))
        self.which = Label(theme, "", "small", "text2", digits=True)
        self._tries = widget_of(row_of([(self.which, 1), self.before, self.after], 4))
        self.cards = [AnswerCard(theme), AnswerCard(theme)]
        self.chat = Button(theme, tr("Open chat"), keycap="O", clicked=self.open_chat)
        self.again = Button(theme, tr("Run cell"), icon="rotate-ccw", keycap="R")
        self.again.clicked.connect(self.run_again)
        self._buttons = WrappingRow([self.chat, self.again])
        upper = column_of([self.nothing, self.title, self.id], 2, (16, 0, 16, 6))
        lower = column_of([self._tries, *self.cards, self._buttons], 8, (16, 10, 16, 4))
        column_of([upper, self.facts, lower, self.against, STRETCH], 0, (0, 12, 0, 12), on=self)
        self.show_cell(None, 0, None)

    @property
    def cell(self) -> Cell | None:
        """The try that is shown of the chosen variant."""
        tries = self._row.tries[self._at] if self._row is not None else ()
        return tries[min(self._try, len(tries) - 1)] if tries else None

    def show_cell(self, row: CaseRow | None, at: int, against: Difference | None) -> None:
        """Show a cell: a case, and the variant at a place; its difference from the baseline."""
        before = self._row.case.id if self._row is not None else None
        if (row.case.id if row is not None else None, at) != (before, self._at):
            self._try = self._first(row, at)
        self._row, self._at = row, at
        self.nothing.setVisible(row is None)
        self.title.show_text(row.case.label if row is not None else "")
        self.id.show_text(row.case.id if row is not None and row.case.title else "")
        facts: list[Fact] = []
        if row is not None:
            facts += [Fact(*check_words(one, row.case)) for one in row.case.graders]
            facts += [Fact(LETTERS[one], passed_of(row.tries[one])) for one in self._sides]
        self.facts.show_facts(facts)
        self.against.show_facts(against_facts(against, LETTERS[at]) if against and at else [])
        self._buttons.setVisible(row is not None)
        self._show_try()

    @property
    def _sides(self) -> list[int]:
        """The places of the variants that are shown: the baseline, and the chosen one."""
        return sorted({0, self._at})

    @staticmethod
    def _first(row: CaseRow | None, at: int) -> int:
        """The first try that says why the case failed, or the first one."""
        tries = row.tries[at] if row is not None else ()
        return next((place for place, one in enumerate(tries) if not one.passed), 0)

    def _turn(self, by: int) -> None:
        self._try += by
        self._show_try()

    def _show_try(self) -> None:
        row, cell = self._row, self.cell
        count = len(row.tries[self._at]) if row is not None else 0
        self._tries.setVisible(count > 1)
        self.which.setText(tr("Try {number} of {count}").format(number=self._try + 1, count=count))
        self.before.setEnabled(self._try > 0)
        self.after.setEnabled(self._try + 1 < count)
        self.chat.setEnabled(cell is not None and cell.answered)
        shown = dict(enumerate(self._sides)) if row is not None else {}
        for number_, card in enumerate(self.cards):
            tries = row.tries[shown[number_]] if row is not None and number_ in shown else ()
            card.setVisible(bool(tries))
            if row is None or not tries:
                continue
            one = tries[min(self._try, len(tries) - 1)]
            base = row.tries[0]
            other = base[min(self._try, len(base) - 1)].text if number_ and base else ""
            marks = answer_marks(one.text, other, row.case)
            card.show_cell(LETTERS[shown[number_]], one, len(tries), marks)

    def open_chat(self) -> None:
        if self.cell is not None and self.chat.isEnabled():
            self.chat_wanted.emit(self.cell)

    def run_again(self) -> None:
        if (cell := self.cell) is not None and self.again.isEnabled():
            self.again_wanted.emit(f"{cell.case}:{cell.variant}")


def against_facts(found: Difference, letter: str) -> list[Fact]:
    """What speaks for a difference of a variant from the baseline, if there is anything."""
    heading = Fact(tr("A against {letter}").format(letter=letter), style="heading")
    if not found.cases:
        words = tr("Nothing to compare: no case has a result from both.")
        return [heading, Fact(words, style="note")]
    better, worse = (
        tr_plural("{count} case", "{count} cases", len(cases))
        for cases in (found.better, found.worse)
    )
    chance = tr("{number}%").format(number=decimal(100 * found.chance))
    return [
        heading,
        Fact(tr("Better"), better),
        Fact(tr("Worse"), worse),
        Fact(tr("Chance of no difference"), chance),
        Fact(tr("Intervals are 95%, by case, not by try."), style="note"),
    ]


def summary_facts(row: EvalRow, report: EvalReport) -> list[Fact]:
    """An eval that ran, and each of its variants, in figures."""
    facts = [
        Fact(tr("State"), tr(STATES[row.state])),
        Fact(tr("Begun"), when(row.began)),
        Fact(tr("Cost"), dollars(report.dollars)),
        Fact(tr("Cells"), number(len(report.cells))),
        Fact(tr("Asked now"), number(sum(one.fresh for one in report.cells))),
    ]
    for one in report.eval.variants:
        rate, *more = figure_words(figures(report, one.id))
        facts += [
            Fact(variant_title(report, one.id), rate, style="heading"),
            Fact(report.models.get(one.id, ""), style="note"),
            *(Fact(words, style="note") for words in more if words),
        ]
    return facts


def spoken_eval(row: EvalRow) -> str:
    return joined((_title(row), tr(STATES[row.state]), when(row.began)))


def _title(row: EvalRow) -> str:
    return tr("{name}, run {number}").format(name=row.name, number=row.number)


class _Ran(RowDelegate):
    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        paint_row_ground(painter, t, option, box)
        top, lower = t.metrics("ui_medium").height(), t.metrics("small").height()
        y = box.center().y() - (top + lower) / 2
        place = QRectF(box.x() + t.px(8), y, box.width() - t.px(16), top)
        paint_text(painter, t, place, _title(row), "ui_medium digits", room=place.width())
        place = QRectF(place.x(), y + top, place.width(), lower)
        about = joined((tr(STATES[row.state]), when(row.began)))
        paint_text(painter, t, place, about, "small digits", "text2", room=place.width())


class EvalInspector(PaintedWidget):
    """Three pages, of which one is shown."""

    ground = "window"
    run_chosen = Signal(object)
    """An eval that ran, which the person wants to see."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName(tr("Inspector"))
        words = [tr("Cell"), tr("Summary"), tr("History")]
        self.tabs = Segmented(theme, words, wide=True, name=tr("Inspector"))
        self.tabs.chosen.connect(self.show_page)
        self.cell = CellTab(theme)
        self.counts = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.summary = FactList(theme)
        self._ran = RowModel(spoken_eval, lambda row: row.id)
        self.history = LetterList(theme, tr("Evals that ran"))
        self.history.setUniformItemSizes(True)
        self.history.setModel(self._ran)
        self.history.setItemDelegate(_Ran(theme))
        self.history.selectionModel().currentChanged.connect(self._run_chosen)
        self._silent = False
        counts = row_of([(self.counts, 1)], 0, (16, 12, 16, 6))
        summary = widget_of(column_of([counts, self.summary, STRETCH], 0))
        self._pages = QStackedWidget()
        give_role(self._pages, QAccessible.Role.Client)
        for page, name in ((self.cell, words[CELL]), (summary, words[SUMMARY])):
            area = scrolled(page)
            page.setMinimumWidth(1)  # a long word is cut, and takes no button out of sight
            area.setAccessibleName(name)
            FocusRing.of(theme).follow(area)
            self._pages.addWidget(area)
        self._pages.addWidget(widget_of(column_of([self.history], 0, (0, 8, 0, 8))))
        self._head = widget_of(row_of([self.tabs], margins=(15, 0, 16, 0)))
        parts = (self._head, Hairline(theme), (self._pages, 1))
        column_of(parts, spacing=0, margins=(1, 0, 0, 0), on=self)
        theme.changed.connect(self._follow)
        self._follow()

    def show_page(self, page: int) -> None:
        """``CELL``, ``SUMMARY`` or ``HISTORY``."""
        self.tabs.set_current(page)
        self._pages.setCurrentIndex(page)

    def show_report(
        self, rows: Sequence[EvalRow], row: EvalRow | None, report: EvalReport | None
    ) -> None:
        """Show those that ran, and one of them in figures."""
        self.counts.show_text(counts_words(report) if report is not None else "")
        self.summary.show_facts(summary_facts(row, report) if row and report else [])
        self._silent = True
        self._ran.show(rows)
        self.history.setCurrentIndex(self._ran.index(rows.index(row) if row in rows else -1))
        self._silent = False

    def _run_chosen(self, index: QModelIndex) -> None:
        row: EvalRow | None = index.data(Qt.ItemDataRole.UserRole)
        if row is not None and not self._silent:
            self.run_chosen.emit(row)

    def _follow(self) -> None:
        self._head.setFixedHeight(self.theme.px(48))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(0, 0, 1, self.height(), self.theme.color("hair"))
