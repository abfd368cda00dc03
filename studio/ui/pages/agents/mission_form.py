"""Mission form: asks what an agent has to reach, how that is checked, and its limits (W-47)."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.domain.agents import Agent, Caps
from studio.domain.jsonvalue import JsonObject
from studio.domain.workflows import Budget
from studio.ui.pages.start_form import StartForm
from studio.ui.settings.amount_field import AmountField, cycles, dollars, minutes, tokens
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Field, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.workflows.missions.check_keys import is_capped, time_of_day
from studio.workflows.missions.mission_files import budget_of, check_names


class MissionForm(StartForm):
    """It begins with what the agent's file says; Enter starts the mission, Escape leaves it."""

    started = Signal(str, object, object)
    """What has to be reached, the checks beside those of the file, and the limits."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.goal = self._field(tr("What it has to reach"))
        self.known = Label(theme, "", "small", "text2", wrap=True)
        self.command = self._field(tr("A command that has to succeed, for example pytest -q"), True)
        self.file = self._field(tr("A file that has to be there"), True)
        self.dollars = AmountField(theme, tr("Money in all"), dollars, 0)
        self.tokens = AmountField(theme, tr("Tokens in all"), tokens, 0)
        self.cycles = AmountField(theme, tr("Cycles in all"), cycles, 0)
        self.minutes = AmountField(theme, tr("Working time in all"), minutes, 0)
        until = tr("Works until, by the clock")
        self.until = Field(theme, tr("For example 06:00"), name=until)
        self._has_checks = False
        asked = [self._headed(one) for one in (self.goal, self.command, self.file)]
        amounts = [self._headed(one) for one in (self.dollars, self.tokens, self.cycles)]
        times = [self._headed(one) for one in (self.minutes, self.until)]
        column_of(
            [
                row_of([(self.title, 1), self.start, self.cancel], 8),
                asked[0],
                self.known,
                *asked[1:],
                row_of([*amounts, STRETCH], 12),
                row_of([*times, STRETCH], 12),
                self.wrong,
            ],
            6,
            (20, 8, 12, 10),
            on=self,
        )

    def _field(self, name: str, code: bool = False) -> Field:
        return Field(self.theme, name=name, role="code" if code else "ui")

    def _headed(self, field: Field) -> QWidget:
        head = Label(self.theme, field.accessibleName(), "small", "text2")
        return widget_of(column_of([head, field], 2))

    def ask(self, agent: Agent) -> None:
        """Ask for a mission of an agent."""
        self.title.setText(tr("Mission of {name}").format(name=agent.name))
        self.goal.setText(agent.mission)
        names = check_names(agent)
        self._has_checks = bool(names)
        words = tr("It is done when these checks of its file pass: {checks}")
        self.known.show_text(words.format(checks=", ".join(names)) if names else "")
        self.command.clear()
        self.file.clear()
        budget = budget_of(agent)
        self.dollars.set_value(budget.caps.dollars)
        self.tokens.set_value(budget.caps.tokens)
        self.cycles.set_value(budget.cycles)
        self.minutes.set_value(budget.minutes)
        self.until.setText(budget.until)
        self.until.set_error()
        self.show_error("")
        self.show()
        self.goal.setFocus()

    def give(self) -> None:
        goal, until = self.goal.text().strip(), time_of_day(self.until.text())
        amounts = (self.dollars, self.tokens, self.cycles, self.minutes)
        command, file = self.command.text().strip(), self.file.text().strip()
        given = {"run": command, "file": file}
        checks: list[JsonObject] = [{key: value} for key, value in given.items() if value]
        caps = Caps(int(self.tokens.value), self.dollars.value)
        budget = Budget(caps, self.minutes.value, int(self.cycles.value), until)
        wrong = bool(self.until.text().strip()) and not until
        self.until.set_error(tr("Type a time of the day, for example 06:00.") if wrong else "")
        if not goal:
            self.show_error(tr("Say what it has to reach."))
        elif not checks and not self._has_checks:
            self.show_error(tr("Give a command or a file: no model says that a mission is done."))
        elif amount := next((one for one in amounts if one.error), None):
            self.show_error(amount.error)
        elif wrong:
            self.show_error(self.until.error)
        elif not is_capped(budget):
            self.show_error(tr("Give one limit at least, for example 20 cycles."))
        else:
            self.wrong.show_text("")
            self.started.emit(goal, checks, budget)
