"""Choice card: a question whose answers are rows; digits choose, Enter gives the answer (W-22)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunQuestion
from studio.ui.pages.workflows.runs.question_card import MOST, TYPED, QuestionCard, answers_to
from studio.ui.pages.workflows.runs.sample_words import SampleWords, WayOn
from studio.ui.translation import tr
from studio.ui.widgets.answer_row import AnswerRow
from studio.ui.widgets.layouts import WrappingRow, column_of, row_of, widget_of
from studio.ui.widgets.question_tile import QuestionTile

_QUOTED = r"`[^`]+`"
_PATH = r"[~.]?[/\\]?[^\W_][\w@+-]*[/\\.][\w@+./\\-]*[\w/]|[^\W_]+(?:_[^\W_]+)+"
_NAME = re.compile(f"{_QUOTED}|{_PATH}")


def are_names(choices: Sequence[str]) -> bool:
    """Whether choices are names such as ``src/a.py``, ``v2.4`` or a command in back quotes.

    Their form tells: one at least has it, and the others are single words beside it, as ``main``
    is beside ``release-2.4``.
    """
    fits = [_NAME.fullmatch(one) is not None for one in choices]
    single = (fit or len(one.split()) == 1 for fit, one in zip(fits, choices, strict=True))
    return any(fits) and all(single)


class ChoiceCard(QuestionCard):
    """The answer counts once, or with a tick for the whole run or chat.

    No row is chosen at first: Enter must not give an answer that nobody has read.
    """

    def _lay(self) -> None:
        theme = self.theme
        self.rows = [AnswerRow(theme, at + 1) for at in range(MOST)]
        for row in self.rows:
            row.toggled.connect(self._toggled)
        self.field.textChanged.connect(self._follow)
        self.send.set_keycap("Enter")
        self._wide: Json = ""
        theme.changed.connect(self._indent)
        self._indent()
        self.head = widget_of(row_of([QuestionTile(theme), (self.title, 1)], 12))
        foot = WrappingRow([self.send, self.skip, self.widely], apart=True)
        parts = [self.head, 4, self.about, self.detail, *self.rows, self.field, self.asked, 4, foot]
        column_of(parts, spacing=6, margins=(16, 14, 16, 14), on=self)

    def _indent(self) -> None:
        """What is said beyond the question begins below it, not below its tile."""
        self.about.setIndent(self.theme.px(28) + 12)

    @property
    def chosen(self) -> AnswerRow | None:
        """The row that is chosen."""
        return next((row for row in self.rows if not row.isHidden() and row.isChecked()), None)

    @property
    def value(self) -> Json:
        """What would be answered now; nothing where nothing is chosen or typed."""
        if not self.field.isHidden():
            return self.field.text().strip()
        value = self._values[self.rows.index(self.chosen)] if self.chosen is not None else ""
        return self._wide if value == "once" and self.widely.isChecked() else value

    def set_open(self, here: bool) -> None:
        """Whether this program can take the answer."""
        for part in (*self.rows, self.field, self.asked):
            part.setEnabled(here)
        self._follow()

    def choose(self, number: int) -> None:
        """Choose the row with a number, if there is one."""
        if number <= len(self._values) and self.rows[number - 1].isEnabled():
            self.rows[number - 1].setChecked(True)

    def _toggled(self) -> None:
        if self.chosen is not None and self.unread:  # meant for an answer that stood there before
            self._uncheck(self.chosen)
        self._follow()

    def _uncheck(self, row: AnswerRow) -> None:
        row.setAutoExclusive(False)
        row.setChecked(False)
        row.setAutoExclusive(True)

    def give(self) -> None:
        if self.send.isEnabled():
            self._answer(self.value)

    def _show_answers(self, question: RunQuestion, for_chat: bool) -> None:
        answers = answers_to(question, for_chat)
        permission = question.kind == "permission"
        if permission:  # the tick says for how long
            self._wide = answers[1][1]
            answers = [(tr("Allow"), "once"), answers[2]]
        elif answers and question.kind in TYPED:
            answers = [*answers[: MOST - 1], (tr("Something else…"), None)]
        widely = tr("For this chat") if for_chat else tr("For this run")
        self.widely.setText(widely)
        self.widely.setAccessibleName(widely)
        self.widely.setVisible(permission or not self.widely.isHidden())
        ways = [WayOn(value, title) for title, value in answers]
        if question.kind == "sample":
            words = SampleWords(question)
            ways = [*words.ways, words.keep]
        abouts = dict(zip(question.choices, question.abouts, strict=False))
        names = question.kind == "reply" and are_names(question.choices)
        for at, row in enumerate(self.rows):
            self._uncheck(row)
            row.setVisible(at < len(ways))
            if at < len(ways):
                _, title, about, amount, span = ways[at]
                about, code = about or abouts.get(title, ""), names and title in question.choices
                shown = title.strip("`") if code else title
                row.show_answer(shown, about, amount, span, code=code)
        self._values = [one.answer for one in ways]
        self.send.setVisible(question.server is None and bool(ways or question.kind in TYPED))
        self._follow()

    def _title_of(self, question: RunQuestion, title: str, path: Sequence[str]) -> str:
        """With who asks, where that is an agent."""
        asks = question.kind == "reply" and question.server is None and len(path) > 1
        words = tr("{agent} asks: {question}")
        return words.format(agent=path[-1], question=title) if asks else title

    def _say_sample(self, question: RunQuestion) -> str:
        words = SampleWords(question)
        return "\n".join([words.summary, ". ".join([*words.notes, ""]).rstrip()])

    def _follow(self) -> None:
        question = self.question
        if question is None:
            return
        own = question.kind in TYPED and question.server is None
        if own and self._values:
            own = self.chosen is not None and self._values[self.rows.index(self.chosen)] is None
        if own and self._values and self.field.isHidden():
            self.field.show()
            self.field.setFocus()
        self.field.setVisible(own)
        refused = question.kind == "permission" and self.rows[1].isChecked()
        self.widely.setEnabled(self.rows[0].isEnabled() and not refused)
        self.send.setEnabled(self.rows[0].isEnabled() and self.value != "")
