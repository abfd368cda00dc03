"""A strip above the graph: the state of a run, its question, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.domain.jsonvalue import Json
from studio.domain.runs import Run, RunState
from studio.domain.workflows import Input
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Button, Field, Label
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget

STATES: Mapping[RunState, str] = {
    "running": tr_later("Running"),
    "paused": tr_later("Paused"),
    "needs_you": tr_later("Needs you"),
    "unsure": tr_later("This may have happened"),
    "done": tr_later("Done"),
    "failed": tr_later("Failed"),
    "stopped": tr_later("Stopped"),
}
ANSWERS: Mapping[str, Sequence[tuple[str, Json]]] = {
    "approve": ((tr_later("Approve"), True), (tr_later("Deny"), False)),
    "permission": (
        (tr_later("Allow once"), "once"),
        (tr_later("For this step"), "session"),
        (tr_later("Deny"), "deny"),
    ),
    "unsure": (
        (tr_later("It happened"), "happened"),
        (tr_later("Run again"), "again"),
        (tr_later("Stop"), "stop"),
    ),
}
"""The buttons of a question, with the answer that each gives."""


class RunStrip(PaintedWidget):
    """Asks for the inputs of a run, then shows the run."""

    ground = "surface"
    started = Signal(object)
    """The inputs that the person gave, as texts by name."""
    pause_wanted = Signal()
    stop_wanted = Signal()
    answered = Signal(str, object)
    """The id of a question, and its answer."""
    closed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.state = Label(theme, "", "ui_medium", wrap=True)
        self.asks = Label(theme, "", "ui", "text2", wrap=True)
        self.fields: dict[str, Field] = {}
        self.field = Field(theme, name=tr("Answer"))
        self.field.returnPressed.connect(self._say)
        self._question = ""
        self._values: list[Json] = []
        self.start = Button(theme, tr("Start"), "primary", clicked=self._begin)
        self.pause = Button(theme, tr("Pause"), clicked=lambda: self.pause_wanted.emit())
        self.stop = Button(theme, tr("Stop"), clicked=lambda: self.stop_wanted.emit())
        self.close_button = Button(theme, tr("Close"), "ghost", clicked=lambda: self.closed.emit())
        self.answers = [Button(theme, "", parent=self) for _ in range(3)]
        for at, button in enumerate(self.answers):
            button.clicked.connect(lambda _=False, at=at: self._answer(self._values[at]))
        head = [(self.state, 1), self.start, self.pause, self.stop, self.close_button]
        self._form = column_of(spacing=6)
        self._column = column_of(
            [
                row_of(head, spacing=8),
                self._form,
                self.asks,
                row_of([(self.field, 1), *self.answers], spacing=8),
            ],
            spacing=8,
            margins=(20, 8, 12, 10),
            on=self,
        )
        self._show_answers("", ())
        self.hide()

    def ask(self, name: str, inputs: Sequence[Input]) -> None:
        """Ask for the inputs of a workflow, before it runs."""
        self._clear()
        self.state.setText(tr("Run {name}").format(name=name))
        for one in inputs:
            words = one.description or one.name
            field = Field(self.theme, ", ".join(one.choices) or words, name=words)
            if one.default is not None:
                field.setText(str(one.default))
            field.returnPressed.connect(self._begin)
            self.fields[one.name] = field
            self._form.addWidget(Label(self.theme, words, "small", "text2"))
            self._form.addWidget(field)
        self._show_answers("", ())
        self.asks.hide()
        self.start.show()
        self.pause.hide()
        self.stop.hide()
        self.show()
        next(iter(self.fields.values()), self.start).setFocus()

    def show_error(self, text: str) -> None:
        self.asks.show_text(text)

    def show_run(self, run: Run) -> None:
        self._clear()
        self.start.hide()
        assert run.started is not None
        words = tr("{name}, run {number}: {state}, {cost}").format(
            name=run.started.name,
            number=run.started.number,
            state=tr(STATES[run.state]),
            cost=dollars(run.dollars),
        )
        reason = tr_engine(run.reason)
        self.state.setText(f"{words}. {reason}" if reason else words)
        over = run.end is not None
        self.pause.setVisible(not over)
        self.pause.set_text(tr("Go on") if run.paused is not None else tr("Pause"))
        self.stop.setVisible(not over)
        self.close_button.setVisible(over)
        one, question = next(iter(run.questions), (None, None))
        if question is None or one is None:
            self._show_answers("", ())
            self.asks.hide()
        else:
            parts = (f"{one.step}: {question.text}", question.detail)
            self.asks.show_text("\n".join(part for part in parts if part))
            self._show_answers(question.id, ANSWERS.get(question.kind, ()))
        self.show()

    def _clear(self) -> None:
        self.fields = {}
        while (item := self._form.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()

    def _show_answers(self, question: str, answers: Sequence[tuple[str, Json]]) -> None:
        if question != self._question:
            self.field.clear()
        self._question, self._values = question, [value for _, value in answers]
        self.field.setVisible(bool(question) and not answers)
        for at, button in enumerate(self.answers):
            button.setVisible(at < len(answers))
            if at < len(answers):
                button.set_text(tr(answers[at][0]))

    def _begin(self) -> None:
        self.started.emit({name: one.text() for name, one in self.fields.items() if one.text()})

    def _say(self) -> None:
        self._answer(self.field.text())

    def _answer(self, value: Json) -> None:
        if self._question:
            self.answered.emit(self._question, value)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        line = self.theme.color("hair")
        painter.fillRect(0, self.height() - 1, self.width(), 1, line)
