"""The Run tab: state, question, budget, agents and breakpoints of a run."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QWidget

from studio.domain.agents import NO_CAPS, Caps
from studio.domain.jsonvalue import JsonObject
from studio.domain.run_events import BreakpointCleared, BreakpointSet, CapReached
from studio.ui.engine_texts import tr_engine
from studio.ui.inspector.board_list import BoardList
from studio.ui.inspector.fact_list import FactList
from studio.ui.pages.needs.waiting import raise_question
from studio.ui.pages.workflows.run_graph import merge_step
from studio.ui.settings.amount_field import AmountField, cycles, dollars, minutes, tokens
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Combo, Field, IconButton, Label, Mark, MenuItem
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.workflows.cap_offers import CapOffer
from studio.workflows.missions.check_keys import time_of_day
from studio.workflows.missions.cycles import Cycles

from .changes_list import ChangesList
from .log_rows import breakpoint_words
from .mission_part import MissionPart
from .pace_chart import PaceChart
from .question_card import QuestionCard
from .run_record import RunRecord
from .sample_words import SampleWords, samples_asked
from .worker_facts import worker_facts


class RunTab(QWidget):
    """What is said here is the person's to decide; the graph beside it shows the steps."""

    raised = Signal(object, float, int, str)
    """The caps, minutes and cycles that the run has from now on, and the time it works until."""
    debugged = Signal(object)
    """A breakpoint that is set or cleared."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.state = FactList(theme)
        self.reason = Label(theme, "", "small", "text2", wrap=True)
        self.card = QuestionCard(theme)
        self.more = Label(theme, "", "small", "text2", wrap=True)
        self.budget = FactList(theme)
        self.raise_button = Button(theme, tr("Raise…"), "link", clicked=self._ask_raise)
        self.dollars = AmountField(theme, tr("Money for the run"), dollars, 0)
        self.tokens = AmountField(theme, tr("Tokens for the run"), tokens, 0)
        self.minutes = AmountField(theme, tr("Minutes for the run"), minutes, 0.1)
        self.cycles = AmountField(theme, tr("Cycles of the mission"), cycles, 1)
        self.until = Field(theme, tr("For example 06:00"), name=tr("Time until which it works"))
        self.until.setFixedWidth(self.cycles.width())
        self.until.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._until_head = Label(theme, tr("Works until, by the clock"), "small", "text2")
        self._cycles_head = Label(theme, tr("Cycles in all"), "small", "text2")
        self._minutes_head = Label(theme, tr("Working time in all"), "small", "text2")
        self.raise_now = Button(theme, tr("Raise"), clicked=self._raised)
        self._wanted = ("", "")
        """The run and the step of it whose question the person wanted to see."""
        self._reached: CapReached | None = None
        """The limit for which the form was opened by itself."""
        self._raise = widget_of(
            column_of(
                [
                    Label(theme, tr("Money in all"), "small", "text2"),
                    self.dollars,
                    Label(theme, tr("Tokens in all"), "small", "text2"),
                    self.tokens,
                    self._minutes_head,
                    self.minutes,
                    self._cycles_head,
                    self.cycles,
                    self._until_head,
                    self.until,
                    row_of([STRETCH, self.raise_now]),
                ],
                4,
                (0, 4, 0, 0),
            )
        )
        self._raise.hide()
        self.mission = MissionPart(theme)
        self.pace = PaceChart(theme)
        self.workers = FactList(theme)
        self.board = BoardList(theme)
        self.agents = FactList(theme)
        self.changes = ChangesList(theme)
        self.breakpoints: list[QWidget] = []
        self._stops_head = Label(theme, tr("Breakpoints"), "small_strong")
        self.add_button = Button(theme, tr("Add…"), "link", clicked=self._ask_stop)
        self._stops: QBoxLayout = column_of(spacing=2)
        self.step = Combo(theme, tr("Step"))
        self.moment = Combo(
            theme,
            tr("When"),
            items=[MenuItem("before", tr("Before it")), MenuItem("after", tr("After it"))],
        )
        self.moment.set_current("before")
        self.when = Field(theme, tr("Always, or when not outputs.passed"), role="code")
        self.when.returnPressed.connect(self._add)
        self.wrong = Label(theme, "", "small", "err", wrap=True)
        self.wrong.hide()
        self._add_form = widget_of(
            column_of(
                [
                    row_of([(self.step, 1), (self.moment, 1)], 8),
                    self.when,
                    self.wrong,
                    row_of([STRETCH, Button(theme, tr("Add"), clicked=self._add)]),
                ],
                6,
            )
        )
        self._add_form.hide()
        inner = column_of(
            [
                self.reason,
                self.card,
                self.more,
            ],
            8,
            (16, 6, 16, 0),
        )
        stops = column_of(
            [
                row_of([(self._stops_head, 1), self.add_button]),
                self._stops,
                self._add_form,
            ],
            4,
            (16, 14, 16, 12),
        )
        self.how = Label(theme, "", "small", "text2", wrap=True)
        how_head = Label(theme, tr("How the estimate is made"), "small_strong")
        self._how = widget_of(column_of([how_head, self.how], 4, (16, 12, 16, 4)))
        self._how.hide()
        raise_row = row_of([(self._raise, 1)], margins=(16, 0, 16, 0))
        parts = [
            self.state,
            inner,
            self.mission,
            self.budget,
            raise_row,
            self._how,
            self.pace,
            self.workers,
            self.agents,
            self.board,
            self.changes,
            stops,
            STRETCH,
        ]
        column_of(parts, 0, (0, 10, 0, 0), on=self)
        self.budget.set_corner(self.raise_button)
        self._shown: list[tuple[str, str, str]] = []

    def show_record(
        self,
        record: RunRecord,
        preferred: str,
        offer: CapOffer | None = None,
        *,
        sample: bool = True,
    ) -> None:
        """Show a run; of several questions that of the ``preferred`` step.

        ``offer`` is the cap of a step, or of a run below, that it is paused at, and that is asked
        about first, unless that step asks too or an answer is half typed. Without ``sample`` the
        question about many items is shown elsewhere.
        """
        run = record.run
        self.state.show_facts(record.state_facts())
        self.mission.show_record(record)
        asked = [pair for pair in run.questions if sample or pair[1].kind != "sample"]
        found = next((pair for pair in asked if pair[0].step == preferred), None)
        wanted = run.id, preferred
        if self.card.field.text().strip() and (found is None or wanted == self._wanted):
            shown = self.card.question.id if self.card.question is not None else ""
            found = next((pair for pair in asked if pair[1].id == shown), found)
        one, question = found or next(iter(asked), (None, None))
        path: list[str] = []
        if one is not None and run.started is not None:
            step = record.step(one.step)
            agent = step.target if step is not None and step.kind == "agent" else ""
            item = record.item_name(one.step, one.item)
            name = one.step or merge_step().label
            path = [part for part in (run.started.name, name, item, agent) if part]
        if question is not None and question.path and one is not None and one.step in run.tallies:
            path = [*question.path]  # it names the item
        below = run.started is not None and bool(run.started.parent)
        item = one is not None and question is not None and run.is_of_item(one, question)
        item, others = item and not below, len(asked) - 1
        if offer is not None:
            others += 1
        if offer is not None and found is None and run.started is not None:
            question, item = raise_question(run, record.count, offer.raised), False
            path = [run.started.name, *offer.way]
        question = question if run.end is None else None
        self.card.show_question(question, path, item=item, wanted=wanted != self._wanted)
        self.card.keep({one.id for _, one in run.questions})
        self._wanted = wanted
        asks = question is not None and question.text == run.reason
        self.reason.show_text("" if asks else tr_engine(run.reason))  # the card says it
        words = tr("{count} more wait for you. Choose their steps to see them.")
        self.more.show_text(words.format(count=others) if others > 0 else "")
        self.budget.show_facts(record.budget_facts())
        estimated = next(iter(samples_asked(run).values()), None)
        self._how.setVisible(estimated is not None)
        if estimated is not None:
            self.how.setText(SampleWords(estimated).how)
        self.raise_button.setVisible(run.end is None)
        if run.end is not None:
            self._raise.hide()
        elif run.reached is not self._reached and run.reached is not None:
            self.show_caps(record)
            self._raise.setVisible(run.reached.own and run.reached.cap in ("run", "minutes"))
        self._reached = run.reached
        step, points = next(iter(record.paces.items()), ("", []))
        self.pace.show_points(points, run.tallies[step].found if step in run.tallies else 0)
        self.agents.show_facts(record.agent_facts())
        self._show_stops(record)

    def show_cluster(self, status: JsonObject | None) -> None:
        """Show the workers of the run's cluster, see ``worker_facts``."""
        self.workers.show_facts(worker_facts(status))

    def _show_stops(self, record: RunRecord) -> None:
        run = record.run
        labels = {step.id: step.label for step in record.workflow.steps}
        shown = [
            (step, moment, breakpoint_words(labels.get(step, step), moment, when))
            for (step, moment), when in run.breakpoints.items()
        ]
        over = run.end is not None
        self._stops_head.setVisible(bool(shown) or not over)
        self.add_button.setVisible(not over)
        if over:
            self._add_form.hide()
        self.step.set_items([MenuItem(id, label) for id, label in labels.items()])
        if shown == self._shown:
            return
        self._shown = shown
        for old in self.breakpoints:
            self._stops.removeWidget(old)
            old.deleteLater()
        self.breakpoints = []
        for step, moment, words in shown:
            remove = IconButton(self._theme, "x", tr("Remove “{stop}”").format(stop=words), 24, 14)
            cleared = BreakpointCleared(step, "before" if moment == "before" else "after")
            remove.clicked.connect(lambda _=False, event=cleared: self.debugged.emit(event))
            if over:
                remove.hide()
            mark = Mark(self._theme, "octagon-pause", "text1")
            row = row_of([mark, (Label(self._theme, words, wrap=True), 1), remove], 8)
            self.breakpoints.append(widget_of(row))
            self._stops.addWidget(self.breakpoints[-1])

    def _ask_raise(self) -> None:
        self._raise.setVisible(self._raise.isHidden())
        if self._raise.isVisible():
            self.dollars.setFocus()

    def show_caps(self, record: RunRecord) -> None:
        """What the form begins with; there is nothing to raise where a time has no limit."""
        caps, minutes = record.run.caps.get("", NO_CAPS), record.minutes
        mission = Cycles(record.workflow, record.run)
        cycles = mission.most
        for part in (self._until_head, self.until):
            part.setVisible(bool(mission.until))
        for part in (self._cycles_head, self.cycles):
            part.setVisible(cycles > 0)
        for part in (self._minutes_head, self.minutes):
            part.setVisible(minutes > 0)
        if self._raise.isHidden():
            self.minutes.set_value(minutes)
            self.dollars.set_value(caps.dollars)
            self.tokens.set_value(caps.tokens)
            self.cycles.set_value(cycles)
            self.until.setText(mission.until)
            self.until.set_error()

    def _raised(self) -> None:
        until = time_of_day(self.until.text())
        if self.until.text().strip() and not until:
            self.until.set_error(tr("Type a time of the day, for example 06:00."))
            return
        self._raise.hide()
        caps = Caps(int(self.tokens.value), self.dollars.value)
        self.raised.emit(caps, self.minutes.value, int(self.cycles.value), until)

    def _ask_stop(self) -> None:
        self._add_form.setVisible(self._add_form.isHidden())
        if self._add_form.isVisible():
            self.step.setFocus()

    def choose_step(self, id: str) -> None:
        """The step that a new breakpoint is for, until another is chosen."""
        self.step.set_current(id)

    def show_wrong(self, text: str) -> None:
        """Say why a condition is not taken; empty where it is."""
        self.wrong.show_text(text)
        self.when.set_error(text)
        if not text:
            self.when.clear()
            self._add_form.hide()

    def _add(self) -> None:
        if self.step.current:
            moment = "before" if self.moment.current == "before" else "after"
            self.debugged.emit(BreakpointSet(self.step.current, moment, self.when.text().strip()))
