"""Eval view: up to three variants side by side, with intervals, costs and flipped cases (W-58)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from studio.agent.engine import Engine
from studio.domain.agents import NO_CAPS
from studio.domain.errors import StudioError
from studio.domain.evals import Cell, EvalReport
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.page import Run
from studio.ui.pages.workflows.runs.letter_list import LetterList
from studio.ui.pages.workflows.runs.live_runs import LiveRuns
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import (
    Button,
    Combo,
    Hairline,
    IconButton,
    Index,
    Label,
    MenuItem,
    Segmented,
    Tag,
)
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.ui.widgets.painting import (
    PaintedWidget,
    paint_rounded,
    paint_tag,
    paint_text,
    tag_width,
)
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.row_list import RowModel, paint_row_ground
from studio.workflows.evals.eval_file import read_eval
from studio.workflows.evals.eval_runs import EvalOptions, EvalRuns
from studio.workflows.evals.figures import Difference, VariantFigures, difference, figures
from studio.workflows.runner import Runner

from .eval_facts import (
    LETTERS,
    VERDICTS,
    CaseRow,
    SectionRow,
    case_rows,
    counts_words,
    difference_words,
    figure_words,
    in_sections,
    section_words,
    spoken_case,
    variant_title,
    why_failed,
)

Folder: TypeAlias = Callable[[], Awaitable[Path]]
"""Tells the folder in which evals of the chat run."""
TRIES = 200
"""Pixels of the tries of one variant."""
CHECKS = 96
"""Pixels of the kinds of checks of a case."""
DETAIL = 240


class IntervalBar(PaintedWidget):
    """A rate on a line from 0 to 100 %, its interval, and the baseline's rate dashed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._figures: VariantFigures | None = None
        self._baseline: float | None = None
        self.setFixedHeight(theme.px(18))

    def show_figures(self, found: VariantFigures, baseline: float | None) -> None:
        self._figures, self._baseline = found, baseline
        self.setAccessibleName(", ".join(figure_words(found)[:2]))
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, found = self.theme, self._figures
        if found is None:
            return
        middle, wide = rect.center().y(), rect.width()
        line = QRectF(rect.x(), middle - t.px(2), wide, t.px(4))
        paint_rounded(painter, line, 2, t.color("track"))
        left, right = rect.x() + found.low * wide, rect.x() + found.high * wide
        within = QRectF(left, line.y(), right - left, line.height())
        faint = QColor(t.color("accent_text"))
        faint.setAlphaF(0.5)
        paint_rounded(painter, within, 2, faint)
        mark = QRectF(rect.x() + found.rate * wide - t.px(1), rect.y() + t.px(3), t.px(3), t.px(12))
        paint_rounded(painter, mark, 1, t.color("accent_text"))
        if self._baseline is not None:
            x, side = rect.x() + self._baseline * wide, t.px(3)
            for at in range(3):
                dash = QRectF(x, rect.y() + t.px(2) + at * t.px(5), t.px(1), side)
                paint_rounded(painter, dash, 0, t.color("text2"))


class VariantCard(PaintedWidget):
    """One variant: its rate, what it costs, and what the figures say beside the baseline."""

    def __init__(self, theme: Theme, letter: str) -> None:
        super().__init__(theme)
        self.letter = letter
        self.title = Label(theme, "", "ui_strong")
        self.model = Label(theme, "", "small", "text2")
        self.tag = Tag(theme, "")
        self.rate = Label(theme, "", "display", digits=True)
        self.interval = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.each = Label(theme, "", "small", "text2", digits=True)
        self.bar = IntervalBar(theme)
        head = row_of([(self.title, 1), self.tag], 8)
        rate = row_of([self.rate, (self.interval, 1)], 8)
        parts = [head, self.model, rate, self.bar, self.each]
        column_of(parts, spacing=4, margins=(16, 12, 16, 12), on=self)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 8, t.color("surface"), t.color("hair"))

    def show_variant(
        self, report: EvalReport, variant: str, against: Difference | None, baseline: float | None
    ) -> None:
        found = figures(report, variant)
        self.title.setText(f"{self.letter}  {variant_title(report, variant)}")
        self.model.setText(report.models.get(variant, ""))
        if against is None:
            self.tag.set(tr("Baseline"), "accent")
        else:
            kind, word = VERDICTS[against.verdict]
            self.tag.set(tr(word), kind)
        rate, interval, each = figure_words(found)
        self.rate.setText(rate)
        self.interval.setText(interval)
        self.each.setText(each)
        self.bar.show_figures(found, baseline)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Case, checks and the tries of each variant, from left to right."""

    title: QRectF
    checks: QRectF
    tries: Sequence[QRectF]

    @classmethod
    def of(cls, t: Theme, row: QRectF, variants: int) -> _Columns:
        """The column of the first variant has no flips, and is narrower."""
        box = row.adjusted(t.px(20), 0, -t.px(8), 0)
        wide = min(t.px(TRIES), box.width() * 0.6 / max(variants, 2))
        widths = [wide * 0.8, *[wide] * (variants - 1)]
        x, tries = box.right() - sum(widths), list[QRectF]()
        left = QRectF(box.x(), box.y(), x - box.x() - t.px(8), box.height())
        for each in widths:
            tries.append(QRectF(x, box.y(), each, box.height()))
            x += each
        kind = min(float(t.px(CHECKS)), left.width() * 0.4)
        checks = QRectF(left.right() - kind, left.y(), kind, left.height())
        return cls(left.adjusted(0, 0, -kind - t.px(12), 0), checks, tries)


class _Rows(RowModel):
    """Cases below headings; these cannot be chosen."""

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(index.data(Qt.ItemDataRole.UserRole), SectionRow):
            return Qt.ItemFlag.NoItemFlags
        return super().flags(index)


class _Head(PaintedWidget):
    """The names of the columns."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.variants = 2
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setFixedHeight(self.theme.height(28, "small"))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        places = _Columns.of(self.theme, rect, self.variants)
        for place, words in (
            (places.title, tr("Case")),
            (places.checks, tr_in("what grades a case", "Check")),
            *zip(places.tries, LETTERS, strict=False),
        ):
            paint_text(painter, self.theme, place, words, "small", "text2", room=place.width())


class _Line(QStyledItemDelegate):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(32, "ui"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        whole = QRectF(option.rect)
        if isinstance(row, SectionRow):
            self._section(painter, whole, row)
            return
        places = _Columns.of(t, whole, len(row.tries))
        right = places.tries[-1].right()
        line = QRectF(places.title.x(), whole.bottom() - 1, right - places.title.x(), 1)
        painter.fillRect(line, t.color("hair"))
        box = whole.adjusted(t.px(8), 0, -t.px(8), 0)
        paint_row_ground(painter, t, option, box, 6)
        title, checks = places.title, places.checks
        paint_text(painter, t, title, row.case.label, "ui", room=title.width())
        paint_text(painter, t, checks, row.checks, "small", "text2", room=checks.width())
        for place, cells, flip in zip(places.tries, row.tries, (0, *row.flips), strict=True):
            at = self._tries(painter, place, cells)
            if flip:
                words, tag = (tr("↑ flip"), "ok") if flip > 0 else (tr("↓ flip"), "err")
                if at + tag_width(t, words) < place.right():
                    paint_tag(painter, t, QPointF(at, place.center().y()), words, tag)

    def _section(self, painter: QPainter, whole: QRectF, row: SectionRow) -> None:
        t = self._theme
        painter.fillRect(whole, t.color("sunken"))
        painter.fillRect(QRectF(whole.x(), whole.bottom() - 1, whole.width(), 1), t.color("hair"))
        place = whole.adjusted(t.px(20), 0, -t.px(8), 0)
        title, count = section_words(row)
        paint_text(painter, t, place, title, "ui_strong", room=place.width())
        used = t.metrics("ui_strong").horizontalAdvance(title)
        place.setLeft(min(place.left() + used + t.px(8), place.right()))
        paint_text(painter, t, place, count, "small", "text2", room=place.width())

    def _tries(self, painter: QPainter, place: QRectF, cells: Sequence[Cell]) -> float:
        """A mark for each try, as far as there is room; returns where they end."""
        t, x = self._theme, place.x()
        side, room = t.px(14), place.right() - t.px(56)
        for cell in cells:
            if x + side > room:
                break
            icon, ink = ("check", "ok") if cell.passed else ("x", "err")
            if not cell.graded:
                icon, ink = "minus", "text3"
            mark = QRectF(x, place.center().y() - side / 2, side, side)
            t.paint_icon(painter, mark, icon, ink)
            x += side + t.px(4)
        return x + t.px(6)


class EvalView(PaintedWidget):
    """The cards above the cases; below these all answers to the chosen case."""

    ground = "surface"

    run_wanted = Signal(str)
    """The id of the run that answers or grades now."""

    def __init__(
        self, theme: Theme, engine: Engine, live: LiveRuns, run: Run, folder: Folder
    ) -> None:
        super().__init__(theme)
        self._live, self._run, self._folder = live, run, folder
        self.evals = EvalRuns(engine, live.runs)
        self._path: Path | None = None
        self._name = ""
        self._running: dict[Path, str] = {}
        """The evals that run here, each with its present run, which is empty before the first."""
        self.report: EvalReport | None = None
        self._wanted = 0
        """Counts what was wanted: the last one is shown, however long others take."""
        t = theme
        self.title = Label(t, "", "heading")
        self.counts = Label(t, "", "small", "text2", wrap=True, digits=True)
        self.against = Combo(t, tr("Compare with"), chosen=lambda _: self._show())
        self.kinds = Segmented(t, [tr("All"), tr("Flipped"), tr("Failed")], name=tr("Show cases"))
        self.kinds.chosen.connect(lambda _: self._show())
        self.cards = [VariantCard(t, letter) for letter in LETTERS]
        self.words = Label(t, "", "small", "text2", wrap=True, digits=True)
        self._model = _Rows(
            spoken_case, lambda row: row.case.id if isinstance(row, CaseRow) else row
        )
        self.list = LetterList(t, tr("Cases"))
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Line(t))
        self.list.selectionModel().currentChanged.connect(self._case_chosen)
        self.answers = [Label(t, "", "ui", wrap=True) for _ in LETTERS]
        for one in self.answers:
            one.setAlignment(Qt.AlignmentFlag.AlignTop)
            one.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._cards = widget_of(row_of([(one, 1) for one in self.cards], 12, (20, 12, 20, 4)))
        tools = [(self.words, 1), self.kinds]
        self._tools = widget_of(row_of(tools, 8, (20, 4, 20, 6)))
        both = row_of([(one, 1) for one in self.answers], 16, (20, 10, 20, 10))
        self._detail = scrolled(widget_of(both))
        self._detail.setFixedHeight(t.px(DETAIL))
        self._head = _Head(t)
        self.list_button = IconButton(t, "list", tr("All workflows"))
        self.run_button = Button(t, tr("Run"), "primary", icon="play", clicked=self._run_or_show)
        self.wrong = Label(t, "", "small", "err", wrap=True)
        heads = [self.list_button, (self.title, 1), self.against, self.run_button]
        head = row_of(heads, 8, (20, 8, 12, 2))
        wrong = row_of([(self.wrong, 1)], 0, (20, 0, 20, 0))
        counts = row_of([(self.counts, 1)], 0, (20, 0, 20, 6))
        column_of(
            [
                *(head, counts, wrong, Hairline(t), self._cards, self._tools),
                *(self._head, Hairline(t), (self.list, 1)),
                *(Hairline(t), self._detail),
            ],
            spacing=0,
            on=self,
        )

    @property
    def rows(self) -> Sequence[CaseRow]:
        """The cases that are listed."""
        return [row for row in self._model.rows if isinstance(row, CaseRow)]

    def _run_or_show(self) -> None:
        """Run the eval, or show the run that works for it now."""
        path = self._path
        if path is None:
            return
        if path not in self._running:
            self._running[path] = ""  # now, so that a double click runs it once
            self._show_running()
            self._run(self._run_eval(path, self._name))
        elif self._running[path]:
            self.run_wanted.emit(self._running[path])

    async def _run_eval(self, path: Path, name: str) -> None:
        async def drive(runner: Runner) -> None:
            self._running[path] = runner.run.id
            self._show_running()
            await self._live.drive(runner)

        wrong = ""
        try:
            one = await asyncio.to_thread(read_eval, path)
            folder = await self._folder()
            await self.evals.run(one, path, folder, EvalOptions(NO_CAPS), drive)
        except StudioError as error:
            wrong = tr_engine(str(error))
        finally:
            del self._running[path]
        if path == self._path:
            await self.show_eval(path, name)
            self.wrong.show_text(wrong)

    def _show_running(self) -> None:
        runs = self._path in self._running
        self.run_button.set_text(tr("Show the run") if runs else tr("Run"))
        self.run_button.setEnabled(not runs or bool(self._path and self._running[self._path]))

    async def show_eval(self, path: Path, name: str) -> None:
        """Show the last one of a file that came to something."""
        self._path, self._name = path, name
        self.wrong.show_text("")
        self._show_running()
        self._wanted = wanted = self._wanted + 1
        found: EvalReport | None = None
        words = tr("To run it: {command}").format(command=f"agent-studio eval run {path.stem}")
        title = name
        for row in await self.evals.store.list(20, source=str(path)):
            try:
                found = await self.evals.report(row)
            except StudioError as error:
                words = tr_engine(str(error))
                continue
            title = tr("{name}, run {number}").format(name=row.name, number=row.number)
            words = counts_words(row, found)
            break
        if wanted != self._wanted:
            return
        self.report = found
        self.title.setText(title)
        self.counts.setText(words)
        others = found.eval.variants[1:] if found is not None else ()
        items = [MenuItem(one.id, variant_title(found, one.id)) for one in others] if found else []
        self.against.set_items(items)
        if items:
            self.against.set_current(items[0].key)
        self.against.setVisible(len(items) >= len(LETTERS))
        self._show()

    def _show(self) -> None:
        report = self.report
        for one in (self._cards, self._tools, self.list, self._detail):
            one.setVisible(report is not None)
        if report is None:
            return
        base, *others = [one.id for one in report.eval.variants]
        others.sort(key=lambda one: one != self.against.current)  # the chosen one is B
        shown = [base, *others[: len(LETTERS) - 1]]
        rate = figures(report, base).rate
        found = [difference(report, report, base, one) for one in shown[1:]]
        for at, card in enumerate(self.cards):
            card.setVisible(at < len(shown))
            if at < len(shown):
                against = found[at - 1] if at else None
                card.show_variant(report, shown[at], against, rate if at else None)
        self._head.variants = len(shown)
        self._head.update()
        self.words.setText(difference_words(found[0]) if found else "")
        self._model.show(in_sections(case_rows(report, shown, self.kinds.current)))
        if self.rows and not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self._model.index(self._model.rows.index(self.rows[0])))
        self._show_answers()

    def _case_chosen(self, index: QModelIndex) -> None:
        self._show_answers()

    def _show_answers(self) -> None:
        """Show the first try of each side, or the first that says why the case failed."""
        row: CaseRow | None = self.list.currentIndex().data(Qt.ItemDataRole.UserRole)
        sides = row.tries if row is not None else ()
        for at, (letter, label) in enumerate(zip(LETTERS, self.answers, strict=True)):
            cells = sides[at] if at < len(sides) else ()
            label.setText(_told(letter, cells))
            label.setVisible(bool(cells))


def _told(letter: str, cells: Sequence[Cell]) -> str:
    if not cells:
        return ""
    cell = next((one for one in cells if not one.passed), cells[0])
    state = tr("Passed") if cell.passed else tr("Failed")
    head = tr("{letter}, try {number} of {count}: {state}").format(
        letter=letter, number=cell.number, count=len(cells), state=state
    )
    return "\n\n".join(filter(None, (head, cell.text.strip(), why_failed(cell))))
