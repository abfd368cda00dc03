"""Question card: what a step of a run asks the person, with its path (W-22)."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from PySide6.QtCore import QElapsedTimer, Signal

from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunQuestion
from studio.ui.engine_texts import tr_engine
from studio.ui.forms.question_panel import QuestionPanel
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in, tr_later
from studio.ui.widgets import Button, Card, Check, Field, Label, Mark
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.code_box import CodeBox
from studio.ui.widgets.layouts import STRETCH, WrappingRow, column_of, row_of, widget_of

ANSWERS: Mapping[str, Sequence[tuple[str, Json]]] = {
    "approve": ((tr_later("Approve"), True), (tr_later("Deny"), False)),
    "permission": (
        (tr_later("Allow once"), "once"),
        (tr_later("For this run"), "run"),
        (tr_later("Deny"), "deny"),
    ),
    "unsure": (
        (tr_later("It happened"), "happened"),
        (tr_later("Run again"), "again"),
        (tr_later("Stop"), "stop"),
    ),
    "paused": (
        (tr_later("Raise to {raised}"), "raise"),
        (tr_later("Settings…"), "settings"),
        (tr_later("Go on"), "go_on"),
        (tr_later("Stop"), "stop"),
    ),
    "sample": (
        (tr_later("Run the rest"), "all"),
        (tr_later("As a batch, half price"), "batch"),
        (tr_later("Keep only the sample"), "keep"),
    ),
}
"""The buttons of a question, with the answer that each gives. The last one stands apart."""


TYPED = ("ask", "reply", "conflict")
"""Questions that take any words."""
MOST = 9
"""Choices that have a button; of more one is typed."""
READ = 1_000
"""Milliseconds in which nobody has read a question that took the place of another by itself."""
SERVER = 480
"""Pixels that a form of a server gets before it scrolls."""


class QuestionCard(Card):
    """Buttons for the answers that there are, else a field.

    What is typed or filled in stays while other questions are shown, see ``keep``.
    """

    answered = Signal(str, object, bool)
    """The id of a question, its answer, and whether that counts for all who ask the same."""
    left_out = Signal(str)
    """The item that asks this is to be left out."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "raised", "warn_line")
        self._question: RunQuestion | None = None
        self._values: list[Json] = []
        self._given = ""
        """The question that was answered here last."""
        self._typed: dict[str, str] = {}
        """What is half typed, by the questions that are not shown."""
        self._forms: dict[str, QuestionPanel] = {}
        """The forms of servers, by their questions."""
        self._replaced = QElapsedTimer()
        """Runs since a question took the place of another by itself."""
        self.title = Label(theme, "", "ui_strong", wrap=True)
        self.path = Label(theme, "", "small", "text2", wrap=True)
        self.about = Label(theme, "", "small", "text2", wrap=True)
        self.detail = CodeBox(theme, tr("What it would do"), 10, least=1)
        self.field = Field(theme, tr("Your answer"))
        self.field.returnPressed.connect(self.give)
        self.send = Button(theme, tr_in("a button", "Answer"), "primary", clicked=self.give)
        self.skip = Button(theme, tr("Skip item"), clicked=self._leave_out)
        self.skip.hide()
        self.widely = Check(theme, tr("For this run"))
        self.server: QuestionPanel | None = None
        self._asked = column_of()
        self.asked = widget_of(self._asked)
        self._lay()
        self.hide()

    def _lay(self) -> None:
        theme = self.theme
        self.buttons = [
            Button(theme, "", "primary" if not at else "secondary", small=True)
            for at in range(MOST)
        ]
        for at, button in enumerate(self.buttons):
            button.clicked.connect(lambda _=False, at=at: self._answer(self._values[at]))
        head = row_of([(Mark(theme, "shield-question-mark", "warn"), 0), (self.title, 1)], 8)
        self._choices = WrappingRow(self.buttons, apart=True)
        self._said = widget_of(row_of([(self.field, 1), self.send], 8))
        self.head = widget_of(head)
        said = [self.path, self.about, self.detail]
        parts = [self.head, *said, self._choices, self._said, self.asked]
        parts.append(row_of([self.skip, STRETCH, self.widely], 8))
        column_of(parts, spacing=8, margins=(12, 12, 12, 12), on=self)

    @property
    def question(self) -> RunQuestion | None:
        return self._question

    def show_question(
        self,
        question: RunQuestion | None,
        path: Sequence[str],
        *,
        for_chat: bool = False,
        item: bool = False,
        wanted: bool = False,
    ) -> None:
        """Show a question of a step, or a chat, that has this path; None hides the card.

        ``item``: it is about one of several items, which can be left out. ``wanted``: the person
        has chosen it. Else no answer counts at first where it takes the place of another, unless
        that was answered here: what is pressed was meant for what stood there before.
        """
        before = self._question
        shown = (before.id, before.server) if before is not None else None
        if question is not None and shown == (question.id, question.server):
            self.show()
            return
        if before is not None and self.field.text():
            self._typed[before.id] = self.field.text()
        self._question = question
        if question is None:
            self.hide()
            return
        self._replaced.invalidate()
        if before is not None and not wanted and before.id != self._given:
            self.begin_reading()
        self.skip.setVisible(item)
        self.widely.setChecked(False)
        self.widely.setVisible(question.reply_to is not None and not for_chat)
        self.field.setText(self._typed.pop(question.id, ""))
        unsure = question.kind == "unsure"
        text = tr("This may have happened") if unsure else tr_engine(question.text)
        asks = question.kind in ("approve", "ask", "reply")
        title, more = parted(text) if asks else text.partition("\n\n")[::2]
        title = self._title_of(question, title, path)
        self.title.setText(title)
        self.path.setText(", ".join(path))
        detail = question.text if unsure and not question.detail else question.detail
        plain = question.kind == "sample"
        if plain:
            detail = more = self._say_sample(question)
        self.about.setText(more.strip())
        self.about.setVisible(bool(more))
        self.detail.show_text("" if plain else detail)
        self.detail.setVisible(bool(detail) and not plain)
        self.head.setVisible(question.server is None)
        self._show_form(question)
        self._show_answers(question, for_chat)
        told = detail if plain else f"{more} {detail}".strip()
        self.setAccessibleName(f"{title}. {self.path.text()}. {told}")
        self.show()
        if self.unread:
            announce(self, self.accessibleName(), urgent=True)

    def _show_form(self, question: RunQuestion) -> None:
        """Show what a server asks, if one does, as far as it is filled in."""
        if self.server is not None:
            self.server.hide()  # moves the focus, if it was inside, to the next control
        self.server = self._forms.get(question.id)
        if self.server is not None and self.server.question != question.server:
            self._forget_form(question.id)  # the next one of the same call
            self.server = None
        if self.server is None and question.server is not None:
            self.server = self._forms[question.id] = QuestionPanel(self.theme, question.server)
            self.server.set_most(SERVER)
            self.server.answered.connect(lambda answer: self._answer(answer.told))
            self._asked.addWidget(self.server)
        self.asked.setVisible(self.server is not None)
        if self.server is not None:
            self.server.show()
            self.server.appear()

    def keep(self, waiting: Container[str]) -> None:
        """Forget what was typed for the questions that do not wait any more, by their ids."""
        shown = self._question.id if self._question is not None else ""
        self._typed = {id: text for id, text in self._typed.items() if id in waiting}
        for id in [id for id in self._forms if id != shown and id not in waiting]:
            self._forget_form(id)

    def _forget_form(self, question: str) -> None:
        form = self._forms.pop(question)
        if form is self.server:  # it is shown until another question comes
            self.server = None
        self._asked.removeWidget(form)
        form.deleteLater()

    def begin_reading(self) -> None:
        """Let no answer count until what is shown can have been read."""
        self._replaced.start()

    @property
    def unread(self) -> bool:
        """Whether what is pressed now was meant for what stood here before."""
        return self._replaced.isValid() and self._replaced.elapsed() < READ

    def _title_of(self, question: RunQuestion, title: str, path: Sequence[str]) -> str:
        return title

    def _say_sample(self, question: RunQuestion) -> str:
        """What a sample showed, with all that its answers do not say."""
        return "\n".join(map(tr_engine, question.detail.split("\n")))

    def _show_answers(self, question: RunQuestion, for_chat: bool) -> None:
        answers = answers_to(question, for_chat)
        self._choices.setVisible(bool(answers))
        self._said.setVisible(question.kind in TYPED and question.server is None)
        placed = [*answers[:-1], *[None] * (3 - len(answers)), *answers[-1:]]
        placed += [None] * (MOST - len(placed))
        self._values = []
        for button, answer in zip(self.buttons, placed, strict=True):
            button.setVisible(answer is not None)
            self._values.append(answer[1] if answer is not None else None)
            if answer is not None:
                button.set_text(answer[0])

    def give(self) -> None:
        """Give the answer that was typed."""
        self._answer(self.field.text())

    def _leave_out(self) -> None:
        if self._question is not None and not self.unread:
            self.left_out.emit(self._question.id)

    def _answer(self, value: Json) -> None:
        asked = self._question
        if asked is not None and value != "" and not self.unread:
            self._given = asked.id
            whole = asked.reply_to is not None and self.widely.isChecked()
            self.answered.emit(asked.id, value, whole)


def parted(text: str) -> tuple[str, str]:
    """A question, and what is said beyond it: below it, or after its question mark.

    A gate may show a whole text below its question.
    """
    found = re.match(r"\s*(.+?\?)\s+(?=\S)|\s*([^\n]+)\n\s*(?=\S)", text)
    return ((found[1] or found[2]).strip(), text[found.end() :]) if found else (text, "")


def answers_to(question: RunQuestion, for_chat: bool = False) -> list[tuple[str, Json]]:
    """The answers that a question suggests, with their words."""
    found = [(tr(words), value) for words, value in ANSWERS.get(question.kind, ())]
    if question.kind == "permission":
        found[0] = tr_in("a button in a narrow column", "Allow once"), "once"
        if for_chat:
            found[1] = tr("For this chat"), "session"
    if question.kind in ("sample", "paused"):
        found = [one for one in found if one[1] in question.choices]
    if question.kind == "paused" and "raise" in question.choices:
        found[0] = found[0][0].format(raised=question.abouts[0]), "raise"
    if question.kind in ("reply", "conflict") and 0 < len(question.choices) <= MOST:
        return [(words, words) for words in question.choices]
    return found
