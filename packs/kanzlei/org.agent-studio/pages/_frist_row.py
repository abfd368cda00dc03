"""One row of a Frist: its day, what it is of, its calculation, and what a person can do."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio.packs import dataclass
from studio.packs.ui import (
    STRETCH,
    Button,
    Field,
    Hairline,
    Label,
    Tag,
    Theme,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.office.fristen import CHECKED, OPEN, Frist, Fristen
from ._rows import FoldedRow, RowTitle, day_block

LEAST = 420
"""Room for the words of a row with its state and button beside."""


@dataclass(frozen=True, slots=True)
class Due:
    """A Frist, or its Vorfrist, on a day."""

    day: datetime.date
    title: str
    frist: Frist
    early: bool = False


def due_of(frist: Frist) -> Due:
    return Due(frist.end, frist.kind, frist)


Do = Callable[[Callable[[Fristen], None], "FristRow"], None]


class FristRow(QWidget):
    """One row; more of it shows the calculation, and what can be done.

    With ``in_akte`` it names its norm and its Vorfrist in the place of its Akte.
    """

    def __init__(
        self, theme: Theme, due: Due, today: datetime.date, do: Do, *, in_akte: bool = False
    ) -> None:
        super().__init__()
        self.due, self._do = due, do
        self.cancelling = False
        frist = due.frist
        title = row_of([RowTitle(theme, due.title), STRETCH], spacing=8)
        if frist.notfrist and not due.early:
            title.insertWidget(1, Tag(theme, "Notfrist"))
        about = _norm_of(frist) if in_akte else f"{frist.az}  {frist.rubrum}"
        words = column_of([title, Label(theme, about, "small", "text2", wrap=True)], spacing=1)
        overdue = due.day < today and frist.state in OPEN
        left = german.days_left(due.day, today) if frist.state in OPEN else frist.note
        state = [Label(theme, left, "small", "err" if overdue else "text2")]
        checked = frist.state == CHECKED
        open_ = frist.state in OPEN
        words_of_state = frist.state if checked or not open_ else "ungeprüft"
        kind = "ok" if checked else "warn" if open_ else "neutral"
        mark = Tag(theme, words_of_state, kind)
        text = "Erledigt" if checked else "Prüfen…"
        self.more = Button(theme, text, "secondary" if checked else "primary")
        self.more.clicked.connect(lambda: self.show_more(self.detail.isHidden()))
        tail = row_of([*state, mark, self.more, STRETCH], spacing=12)
        line = row_of(
            [day_block(theme, due.day, overdue=overdue), Hairline(theme, upright=True),
             (FoldedRow(theme, widget_of(words), widget_of(tail), LEAST), 1)],
            spacing=12,
        )  # fmt: skip
        if due.early or not open_:
            self.more.hide()
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.note = Field(theme, "Was wurde getan?", name="Notiz")
        self.note.returnPressed.connect(self._confirm)
        self.confirm = Button(theme, "Als erledigt ablegen" if checked else "Geprüft", "primary")
        self.confirm.clicked.connect(self._confirm)
        self.chat = Button(theme, "Chat zur Akte")
        if in_akte:
            self.chat.hide()
        self.steps = Label(theme, _calculation(frist), "small", "text2", wrap=True)
        self.steps.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        if not checked:
            self.note.hide()
        self.cancel = Button(theme, "Stornieren…", "ghost", clicked=self._ask_why)
        parts = [self.chat, self.cancel, STRETCH, (self.note, 2), self.confirm]
        buttons = row_of(parts, spacing=8)
        self.detail = widget_of(
            column_of(
                [self.steps, self.problem, buttons], spacing=8, margins=(theme.px(76) + 25, 0, 0, 6)
            )
        )
        self.detail.hide()
        column_of([line, self.detail], spacing=8, margins=(0, 9, 0, 9), on=self)
        self.setAccessibleName(f"{due.title}, {german.day(due.day)}, {frist.state}, {frist.az}")

    def show_more(self, shown: bool) -> None:
        self.detail.setVisible(shown)
        if shown:
            (self.note if self.note.isVisible() else self.confirm).setFocus()

    def _ask_why(self) -> None:
        """Cancel it once the reason is said (KZ-21)."""
        self.cancelling = True
        self.cancel.hide()
        self.note.setPlaceholderText("Warum wird sie storniert?")
        self.note.setAccessibleName("Grund der Stornierung")
        self.confirm.set_text("Stornieren")
        self.note.show()
        self.note.setFocus()

    def _confirm(self) -> None:
        if not self.confirm.isEnabled():
            return  # Enter twice, or after the button
        frist, words, cancelling = self.due.frist, self.note.text(), self.cancelling

        def work(fristen: Fristen) -> None:
            person = fristen.person
            if cancelling:
                fristen.cancel(person, frist, words)
            elif frist.state == CHECKED:
                fristen.done(person, frist, words)
            else:
                fristen.check(person, frist)

        self._do(work, self)


def _calculation(frist: Frist) -> str:
    lines = [f"{number}. {step}" for number, step in enumerate(frist.steps, 1)]
    return "\n".join([*lines, *frist.hints, *([f"Grund: {frist.reason}"] if frist.reason else [])])


def _norm_of(frist: Frist) -> str:
    early = f"Vorfrist {frist.vorfrist:%d.%m.}" if frist.vorfrist else ""
    return ", ".join(filter(None, (frist.norm, early, frist.reason)))
