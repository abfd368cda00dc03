"""Eval view: up to three variants side by side, with the cases that flipped (W-58)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFileDialog

from studio.agent.engine import Engine
from studio.domain.errors import StudioError
from studio.domain.evals import Cell, Eval, EvalReport
from studio.files.atomic_write import write_atomically
from studio.storage.evals import EvalRow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import number
from studio.ui.pages.page import Run
from studio.ui.pages.workflows.runs.live_runs import LiveRuns
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets import Button, Combo, Hairline, IconButton, Label, MenuItem, Segmented
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget
from studio.workflows.evals.eval_file import MOST_REPEATS, read_eval
from studio.workflows.evals.eval_runs import Drive, EvalOptions, EvalRuns
from studio.workflows.evals.export import lines_of
from studio.workflows.evals.figures import Difference, difference, figures
from studio.workflows.runner import Runner

from .case_list import CaseList
from .eval_facts import (
    ALL,
    FAILED,
    FLIPPED,
    LETTERS,
    CaseRow,
    case_groups,
    case_rows,
    counts_words,
    variant_title,
)
from .eval_form import EvalForm
from .eval_inspector import EvalInspector
from .variant_card import VariantCard

Folder: TypeAlias = Callable[[], Awaitable[Path]]
"""Tells the folder in which evals of the chat run."""
Work: TypeAlias = Callable[[Drive], Awaitable[None]]
"""Runs an eval, or a part of it."""
INSPECTOR = 320
LEAST = 560
"""Pixels that the cases have at least beside the inspector; else that lies over them."""
TALL = 720
"""Pixels from which on the form has room above the cards."""
HEAD = 48
LISTED = 20
"""Evals of a file that are listed."""


class _Column(PaintedWidget):
    ground = "surface"


class EvalView(PaintedWidget):
    """The cards above the cases, and beside these the inspector."""

    ground = "surface"

    run_wanted = Signal(str)
    """The id of the run that answers or grades now."""
    chat_wanted = Signal(str)

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
        self.row: EvalRow | None = None
        self.report: EvalReport | None = None
        self._found: Sequence[Difference] = ()
        """What the variants that are shown are against the baseline."""
        self._wanted = 0
        """Counts what was wanted: the last one is shown, however long others take."""
        self._estimated = 0
        """Counts the estimates, of which the last one is shown."""
        self._shown: Sequence[str] = ()
        """The variants side by side."""
        self._inspector_wanted = True
        self._was_roomy = True
        self._make_parts()
        theme.changed.connect(self._place)
        theme.changed.connect(self._show_cell)  # its marks have the theme's colours
        self._place()

    def _make_parts(self) -> None:
        t = self.theme
        self.column = _Column(t, self)
        self.title = ElidedLabel(t, "", "heading", "text1", middle=False)
        self.file = ElidedLabel(t, "")
        self.counts = Label(t, "", "small", "text2", wrap=True, digits=True)
        self.against = Combo(t, tr("Compare with"), chosen=lambda _: self._show())
        self.kinds = Segmented(t, [tr("All"), tr("Flipped"), tr("Failed")], name=tr("Show cases"))
        self.kinds.chosen.connect(lambda _: self._show())
        self.cards = [VariantCard(t, letter) for letter in LETTERS]
        self.list = CaseList(t)
        self.list.cell_chosen.connect(self._show_cell)
        self.list.activated.connect(lambda _: self.inspector.cell.open_chat())
        self.list_button = IconButton(t, "list", tr("All workflows"))
        self.export = Button(t, tr("Export…"), icon="download", clicked=self._ask_where_to_export)
        self.run_button = Button(t, tr("Run…"), icon="play", clicked=self._run_or_show)
        self.side = IconButton(t, "panel-right", tr("Inspector"))
        self.side.setCheckable(True)
        self.side.clicked.connect(lambda: self.show_inspector(not self._inspector_wanted))
        self.wrong = Label(t, "", "small", "err", wrap=True)
        self.told = Label(t, "", "small", "text2", wrap=True)
        heads = [self.list_button, self.title, (self.file, 1)]
        heads += [self.against, self.export, self.run_button, self.side]
        head = widget_of(row_of(heads, 8, (20, 0, 12, 0), folding=(self.export, self.run_button)))
        head.setFixedHeight(t.px(HEAD))
        self._head = head
        self._cards = widget_of(row_of([(one, 1) for one in self.cards], 12, (20, 12, 20, 4)))
        self._tools = widget_of(row_of([(self.counts, 1), self.kinds], 8, (20, 6, 20, 6)))
        self.form = EvalForm(t)
        self.form.started.connect(self._run_as_wanted)
        self.form.shown.connect(self._show_parts)
        self.form.changed.connect(lambda: self._run(self._estimate()))
        said = [row_of([(one, 1)], 0, (20, 0, 20, 0)) for one in (self.wrong, self.told)]
        cases = widget_of(column_of([self.list], 0))  # its place stays where it is hidden
        column_of(
            [
                *(head, Hairline(t), self.form, *said, self._cards, self._tools),
                *(self.list.head, Hairline(t), (cases, 1)),
            ],
            spacing=0,
            on=self.column,
        )
        self.inspector = EvalInspector(t, self)
        self.inspector.cell.chat_wanted.connect(lambda cell: self._run(self._open_chat(cell)))
        self.inspector.cell.again_wanted.connect(self.run_cell)
        self.inspector.run_chosen.connect(lambda row: self._run(self._show_row(row)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()
        self._show_parts()

    @property
    def roomy(self) -> bool:
        """Whether the inspector has room beside the cases."""
        return self.width() - self.theme.px(INSPECTOR) >= self.theme.px(LEAST)

    def _place(self) -> None:
        px, width, height = self.theme.px, self.width(), self.height()
        if self.roomy != self._was_roomy:  # where there is none the person asks for it
            self._was_roomy = self._inspector_wanted = self.roomy
        side, shown = min(px(INSPECTOR), width - px(40)), self._inspector_wanted
        self._head.setFixedHeight(px(HEAD))
        put(self.column, 0, 0, width - side if shown and self.roomy else width, height)
        top = 0 if self.roomy else px(HEAD) + 1
        put(self.inspector, width - side, top, side, height - top)
        self.inspector.setVisible(shown)
        self.inspector.raise_()
        self.side.setChecked(shown)

    def _show_parts(self) -> None:
        """Show what there is; in a low window the form stands in place of cards and cases."""
        low = self.height() < self.theme.px(TALL) and self.form.isVisibleTo(self)
        ran = self.report is not None and not low
        for one in (self._cards, self.kinds, self.list.head, self.list):
            one.setVisible(ran)
        self._tools.setVisible(not low)

    def show_inspector(self, wanted: bool) -> None:
        self._inspector_wanted = wanted
        self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
        if event.key() == Qt.Key.Key_Escape and self._inspector_wanted and not self.roomy:
            self.show_inspector(False)
            return
        does = {"R": self.inspector.cell.run_again, "O": self.inspector.cell.open_chat}
        if held or (act := does.get(event.text().upper())) is None:
            super().keyPressEvent(event)
        else:
            act()

    @property
    def rows(self) -> Sequence[CaseRow]:
        """The cases that are listed."""
        return self.list.cases

    # Running

    def _run_or_show(self) -> None:
        """Ask how the eval is run, or show the run that works for it now."""
        if (path := self._path) is None:
            return
        if path not in self._running:
            self._run(self._ask(path))
        elif self._running[path]:
            self.run_wanted.emit(self._running[path])

    async def _ask(self, path: Path) -> None:
        """Ask how an eval is run, as its file is now."""
        self.wrong.show_text("")
        try:
            one = await asyncio.to_thread(read_eval, path)
        except StudioError as error:
            self.wrong.show_text(tr_engine(str(error)))
            return
        if path == self._path and path not in self._running:
            self.form.ask(one, case_groups(one, self.report, self._shown, self.list.row))
            await self._estimate()

    async def _estimate(self) -> None:
        """Show in the form what it will cost as it is wanted now."""
        self._estimated = wanted = self._estimated + 1
        path, (one, options) = self._path, self.form.wanted
        if path is None or self.form.isHidden():
            return
        self.form.show_estimate(None)
        found, why = None, self.form.problem()
        if one.variants and not self.form.tries.error and one.repeats <= MOST_REPEATS:
            try:
                folder = await self._folder()
                found = await self.evals.estimate(one, path, folder, options, self.report)
            except StudioError as error:
                why = str(error)
        if wanted == self._estimated:
            self.form.show_estimate(found, why)

    def _run_as_wanted(self, one: Eval, options: EvalOptions) -> None:
        path = self._path
        if path is None or path in self._running:
            return

        async def work(drive: Drive) -> None:
            await self.evals.run(one, path, await self._folder(), options, drive)

        self._begin(path, work)

    def run_cell(self, name: str) -> None:
        """Ask a cell again, ``CASE:VARIANT``, in the folder in which the eval ran."""
        path, row, report = self._path, self.row, self.report
        if path is None or path in self._running or row is None or report is None:
            return

        async def work(drive: Drive) -> None:
            await self.evals.run_cell(report, name, path, Path(row.folder), drive)

        self._begin(path, work)

    def _begin(self, path: Path, work: Work) -> None:
        self._running[path] = ""  # now, so that a double click runs it once
        self.form.hide()
        self._show_running()
        self._run(self._run_eval(path, self._name, work))

    async def _run_eval(self, path: Path, name: str, work: Work) -> None:
        async def drive(runner: Runner) -> None:
            self._running[path] = runner.run.id
            self._show_running()
            await self._live.drive(runner)

        wrong = ""
        try:
            await work(drive)
        except StudioError as error:
            wrong = tr_engine(str(error))
        finally:
            del self._running[path]
        if path == self._path:
            await self.show_eval(path, name)
            self.wrong.show_text(wrong)

    def _show_running(self) -> None:
        runs = self._path in self._running
        self.run_button.set_text(tr("Show the run") if runs else tr("Run…"))
        self.run_button.setEnabled(not runs or bool(self._path and self._running[self._path]))
        self.inspector.cell.again.setEnabled(not runs)

    # What is done with results

    async def _open_chat(self, cell: Cell) -> None:
        if self.row is None or self.report is None:
            return
        try:
            self.chat_wanted.emit(await self.evals.chat(self.row, self.report, cell, "window"))
        except StudioError as error:
            self.wrong.show_text(tr_engine(str(error)))

    def _ask_where_to_export(self) -> None:
        if self._path is None:
            return
        names = "CSV (*.csv);;JSON lines (*.jsonl)"
        dialog = QFileDialog(self, tr("Export results"), f"{self._path.stem}.csv", names)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda place: self._run(self.export_to(Path(place))))
        dialog.open()

    async def export_to(self, place: Path) -> None:
        """Write all tries as CSV or JSON lines."""
        if (report := self.report) is None:
            return
        kind = "csv" if place.suffix.lower() == ".csv" else "jsonl"
        text = await asyncio.to_thread(lambda: "".join(lines_of(report, kind)))
        await asyncio.to_thread(write_atomically, place, text.encode("utf-8", "replace"))
        self.told.show_text(tr("The results are in {name}.").format(name=place.name))

    # Which eval

    async def show_eval(self, path: Path, name: str) -> None:
        """Show the last one of a file that came to something."""
        if path != self._path:
            self.list.fold_all()
            self.form.hide()
            self.report = None
        self._path, self._name = path, name
        self.file.set_text("/".join(path.parts[-2:]))
        await self._show_row(None)

    async def _show_row(self, wanted_row: EvalRow | None) -> None:
        """Show one that ran; without one the last that came to something."""
        path, name = self._path, self._name
        if path is None:
            return
        self.wrong.show_text("")
        self.told.show_text("")
        self._show_running()
        self._wanted = wanted = self._wanted + 1
        found: EvalReport | None = None
        words = tr("To run it: {command}").format(command=f"agent-studio eval run {path.stem}")
        title, shown = name, None
        rows = await self.evals.store.list(LISTED, source=str(path))
        for row in rows if wanted_row is None else [wanted_row]:
            try:
                found = await self.evals.report(row)
            except StudioError as error:
                words = tr_engine(str(error))
                continue
            shown, words = row, counts_words(found)
            title = tr("{name}, run {number}").format(name=row.name, number=row.number)
            break
        if wanted != self._wanted:
            return
        self.row, self.report = shown, found
        self.title.set_text(title)
        self.counts.setText(words)
        self.inspector.show_report(rows, shown or wanted_row, found)
        others = found.eval.variants[1:] if found is not None else ()
        items = [MenuItem(one.id, variant_title(found, one.id)) for one in others] if found else []
        before = self.against.current
        self.against.set_items(items)
        if items:
            keys = [one.key for one in items]
            self.against.set_current(before if before in keys else keys[0])
        self.against.setVisible(len(items) >= len(LETTERS))
        self._show()

    def _show(self) -> None:
        report = self.report
        self._show_parts()
        self.export.setEnabled(report is not None)
        if report is None:
            self.list.show_cases([], 2)
            self._show_cell()
            return
        base, *others = [one.id for one in report.eval.variants]
        others.sort(key=lambda one: one != self.against.current)  # the chosen one is B
        self._shown = shown = [base, *others[: len(LETTERS) - 1]]
        of_base = figures(report, base)
        rate = of_base.rate if of_base.cases else None
        self._found = [difference(report, report, base, one) for one in shown[1:]]
        for at, card in enumerate(self.cards):
            card.setVisible(at < len(shown))
            if at < len(shown):
                against = self._found[at - 1] if at else None
                card.show_variant(report, shown[at], against, rate if at else None)
        titles = {ALL: tr("All"), FLIPPED: tr("Flipped"), FAILED: tr("Failed")}
        for kind, title in titles.items():
            rows = case_rows(report, shown, kind)
            self.kinds.set_words(kind, f"{title} {number(len(rows))}")
            if kind == self.kinds.current:
                self.list.show_cases(rows, len(shown), folds=kind == ALL)
        self._show_cell()

    def _show_cell(self) -> None:
        at = self.list.variant
        against = self._found[at - 1] if 0 < at <= len(self._found) else None
        self.inspector.cell.show_cell(self.list.row, at, against)
