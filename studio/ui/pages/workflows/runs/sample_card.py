"""Sample card: asks above the items of a step whether the others are to be worked on (W-55)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QSizePolicy

from studio.domain.run_events import RunQuestion
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Card, Label
from studio.ui.widgets.answer_row import AnswerRow
from studio.ui.widgets.layouts import WrappingRow, column_of, row_of, widget_of
from studio.ui.widgets.question_tile import QuestionTile

from .sample_words import SampleWords, WayOn

BESIDE = 560
"""Pixels from which on the ways stand beside each other."""


class SampleCard(Card):
    """The ways on with price and time; Enter begins the chosen one."""

    answered = Signal(str, object)
    """The id of the question, and its answer."""
    file_wanted = Signal()
    """The person wants to change the workflow."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "warn_line")
        self._question = RunQuestion("", "sample", "")
        self._ways: list[WayOn] = []
        self.title = Label(theme, "", "ui_strong", wrap=True)
        self.summary = Label(theme, "", "ui", "text2", wrap=True)
        self.rows = [AnswerRow(theme), AnswerRow(theme)]
        for row in self.rows:  # as tall as each other
            row.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self._choices = row_of([(row, 1) for row in self.rows], 12)
        self._notes = [Label(theme, "", "small", "text2") for _ in range(5)]
        self.run = Button(theme, "", "primary", clicked=self.give)
        self.run.set_keycap("Enter")
        change = Button(theme, tr("Change workflow…"), clicked=self.file_wanted.emit)
        self.keep = Button(theme, tr("Keep only the sample"), clicked=self._keep)
        said = column_of([self.title, self.summary], 2)
        parts = [
            row_of([(QuestionTile(theme), Qt.AlignmentFlag.AlignTop), (said, 1)], 12),
            widget_of(self._choices),
            WrappingRow(self._notes, 16),
            WrappingRow([self.run, change, self.keep], apart=True),
        ]
        column_of(parts, spacing=12, margins=(18, 16, 18, 14), on=self)
        self.hide()

    def show_question(self, question: RunQuestion | None) -> None:
        """Show the question about the items of a step; None hides the card."""
        if question is None or question.id == self._question.id:
            self.setVisible(question is not None)
            return
        self._question, words = question, SampleWords(question)
        self.title.setText(tr_engine(question.text))
        self.summary.setText(words.summary)
        self._ways = words.ways
        for at, row in enumerate(self.rows):
            row.setVisible(at < len(self._ways))
            row.setChecked(not at)
            if at < len(self._ways):
                _, title, about, amount, span = self._ways[at]
                row.show_answer(title, about, amount, span)
        notes = words.notes
        for at, label in enumerate(self._notes):
            label.setVisible(at < len(notes))
            label.setText(notes[at] if at < len(notes) else "")
        self.run.set_text(words.run_words)
        self.setAccessibleName(f"{self.title.text()} {self.summary.text()} {'. '.join(notes)}")
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() >= self.theme.px(BESIDE)
        way = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        self._choices.setDirection(way)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        focus = self.focusWidget()
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif isinstance(focus, Button):
            focus.click()
        else:
            self.give()

    def focus(self) -> None:
        """Let keys reach the way that is chosen."""
        next(row for row in self.rows if row.isChecked()).setFocus()

    def give(self) -> None:
        """Have the other items worked on, as it is chosen."""
        at = next(at for at, row in enumerate(self.rows) if row.isChecked())
        self.answered.emit(self._question.id, self._ways[at].answer)

    def _keep(self) -> None:
        self.answered.emit(self._question.id, "keep")
