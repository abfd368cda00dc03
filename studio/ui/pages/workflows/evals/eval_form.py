"""Eval form: asks which variants and cases run, how often and within what limit (W-58)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Caps
from studio.domain.evals import Case, Eval
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import number
from studio.ui.pages.start_form import StartForm
from studio.ui.pages.workflows.runs.sample_words import budget_notes
from studio.ui.settings.amount_field import AmountField, dollars, tokens, tries
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Check, Combo, Label, MenuItem
from studio.ui.widgets.layouts import WrappingRow, column_of, row_of, widget_of
from studio.workflows.evals.cost_estimate import CostEstimate
from studio.workflows.evals.eval_file import MOST_REPEATS
from studio.workflows.evals.eval_runs import EvalOptions

from .eval_facts import compared_words, estimate_words

CASES = 200
"""Pixels of the field that chooses among the cases."""


class EvalForm(StartForm):
    """It begins with what the file says; Enter runs the eval, Escape leaves the form."""

    started = Signal(object, object)
    """The eval with the variants and cases that are wanted, and how it is run."""
    changed = Signal()
    """Something else is wanted, and costs something else."""
    shown = Signal()
    """It is shown now, or hidden."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._eval = Eval("")
        self._cases: Mapping[str, tuple[Case, ...]] = {}
        self.variants: list[Check] = []
        self._checks = column_of(spacing=0)
        self.cases = Combo(theme, tr("Cases"), width=CASES, chosen=lambda _: self.changed.emit())
        self.tries = AmountField(theme, tr("Tries of each case"), tries, 1)
        self.dollars = AmountField(theme, tr("Money in all"), dollars, 0)
        self.tokens = AmountField(theme, tr("Tokens in all"), tokens, 0)
        for one in (self.tries, self.dollars, self.tokens):
            one.entered.connect(lambda _: self.changed.emit())
        self.fresh = Check(theme, tr("Ask again what the record has"))
        self.fresh.toggled.connect(lambda _: self.changed.emit())
        self.cost = Label(theme, "", "ui_medium", wrap=True, digits=True)
        self.notes = Label(theme, "", "small", "text2", wrap=True, digits=True)
        column_of(
            [
                row_of([(self.title, 1), self.start, self.cancel], 8),
                Label(theme, tr("Variants"), "small", "text2"),
                self._checks,
                WrappingRow(
                    [
                        self._headed(tr("Cases"), self.cases),
                        *(
                            self._headed(one.accessibleName(), one)
                            for one in (self.tries, self.dollars, self.tokens)
                        ),
                    ],
                    12,
                ),
                self.fresh,
                self.cost,
                self.notes,
                self.wrong,
            ],
            6,
            (20, 8, 12, 10),
            on=self,
        )

    def _headed(self, name: str, field: QWidget) -> QWidget:
        return widget_of(column_of([Label(self.theme, name, "small", "text2"), field], 2))

    def ask(self, one: Eval, groups: Mapping[str, tuple[str, tuple[Case, ...]]]) -> None:
        """Ask how an eval is run; ``groups`` are cases with their title, the first one chosen."""
        self._eval = one
        self._cases = {key: cases for key, (_, cases) in groups.items()}
        self.title.setText(tr("Run {name}").format(name=escape_line(one.name, 80)))
        while (item := self._checks.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.variants = [Check(self.theme, escape_line(each.label, 80)) for each in one.variants]
        for check in self.variants:
            check.setChecked(True)
            check.toggled.connect(lambda _: self.changed.emit())
        self._checks.addWidget(WrappingRow(self.variants, 16))
        items = [
            MenuItem(key, title, detail=number(len(cases)))
            for key, (title, cases) in groups.items()
        ]
        self.cases.set_items(items)
        self.cases.set_current(items[0].key)
        self.tries.set_value(one.repeats)
        self.dollars.set_value(one.budget.caps.dollars)
        self.tokens.set_value(one.budget.caps.tokens)
        self.fresh.blockSignals(True)
        self.fresh.setChecked(False)
        self.fresh.blockSignals(False)
        self.show_estimate(None)
        self.show_error("")
        self.show()
        self.tries.setFocus()

    @property
    def caps(self) -> Caps:
        """The limits that hold: those of the file cannot be raised here."""
        given = Caps(int(self.tokens.value), self.dollars.value)
        return given.within(self._eval.budget.caps)

    @property
    def wanted(self) -> tuple[Eval, EvalOptions]:
        """The eval as it is wanted, and how it is run."""
        one = self._eval
        chosen = zip(one.variants, self.variants, strict=True)
        variants = tuple(each for each, check in chosen if check.isChecked())
        cases = self._cases.get(self.cases.current, one.cases)
        one = replace(one, variants=variants, cases=cases, repeats=round(self.tries.value))
        return one, EvalOptions(self.caps, fresh=self.fresh.isChecked())

    def show_estimate(self, found: CostEstimate | None, why: str = "") -> None:
        """Show what it will cost, or why that is not known; nothing while it is computed."""
        words, notes = estimate_words(found) if found is not None else ("", [])
        self.cost.setText(words)
        if found is not None:
            if compared := compared_words(self.wanted[0], self._eval.variants[0]):
                notes.insert(0, compared)
            notes += budget_notes(self.caps.dollars, self.caps.tokens)
        self.notes.setText(" · ".join(notes) or tr_engine(why))

    def problem(self) -> str:
        """Why it cannot be run so; empty if it can."""
        amounts = (self.tries, self.dollars, self.tokens)
        if not any(one.isChecked() for one in self.variants):
            return tr("Choose one variant at least.")
        if wrong := next((one for one in amounts if one.error), None):
            return wrong.error
        if self.tries.value > MOST_REPEATS:
            return tr("At most {count} tries of each case.").format(count=number(MOST_REPEATS))
        if not (self.caps.dollars or self.caps.tokens):
            return tr("Give a limit: money or tokens.")
        return ""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.shown.emit()

    def give(self) -> None:
        if wrong := self.problem():
            self.show_error(wrong)
            return
        self.wrong.show_text("")
        self.hide()
        self.started.emit(*self.wanted)
