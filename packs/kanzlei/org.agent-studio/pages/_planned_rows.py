"""Rows of Termine and Aufgaben, in an Akte and on Heute (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from studio.packs.ui import (
    STRETCH,
    Button,
    Hairline,
    Label,
    Tag,
    Theme,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.office.aufgaben import Aufgabe
from ..tools.office.termine import OPEN, Termin
from ._frist_row import LEAST
from ._rows import FoldedRow, RowTitle, block, day_block


class _Row(QWidget):
    """A day or hours, words in two lines, marks and a button."""

    def __init__(
        self,
        theme: Theme,
        when: QWidget,
        title: str,
        about: str,
        marks: Sequence[QWidget],
        button: Button,
    ) -> None:
        super().__init__()
        self.title = title
        self.button = button
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        second = Label(theme, about, "small", "text2", wrap=True)
        words = column_of([RowTitle(theme, title), second, self.problem], spacing=1)
        tail = row_of([*marks, button, STRETCH], spacing=12)
        body = FoldedRow(theme, widget_of(words), widget_of(tail), LEAST)
        parts = [when, Hairline(theme, upright=True), (body, 1)]
        row_of(parts, spacing=12, margins=(0, 9, 0, 9), on=self)


class TerminRow(_Row):
    """A Termin; in its Akte it can be called off, elsewhere the Akte is opened."""

    def __init__(
        self, theme: Theme, termin: Termin, today: datetime.date, *, in_akte: bool = False
    ) -> None:
        self.termin = termin
        if termin.day == today and not in_akte:
            until = f"bis {termin.end:%H:%M}" if termin.end else "Uhr"
            when = block(theme, f"{termin.begin:%H:%M}", until)
        else:
            when = day_block(theme, termin.day)
        matter = "" if in_akte else f"{termin.az}  {termin.rubrum}"
        hours = f"{termin.hours} Uhr" if in_akte or termin.day != today else ""
        kind = termin.kind if termin.text else ""
        about = ", ".join(filter(None, (matter, hours, kind, termin.place)))
        open_ = termin.state == OPEN and termin.day >= today
        left = german.days_left(termin.day, today) if open_ else ""
        state = [] if termin.state == OPEN else [Tag(theme, termin.state)]
        button = Button(theme, "Absagen" if in_akte else "Akte")
        button.setAccessibleName(f"{button.text()}: {termin.title}")
        marks = [Label(theme, left, "small", "text2"), *state]
        super().__init__(theme, when, termin.title, about, marks, button)
        button.setVisible(not in_akte or open_)
        self.setAccessibleName(
            f"Termin, {german.day(termin.day)}, {termin.hours}, {termin.az}: {termin.title}"
        )


class AufgabeRow(_Row):
    """An Aufgabe, which is done by its button."""

    def __init__(
        self, theme: Theme, aufgabe: Aufgabe, today: datetime.date, *, in_akte: bool = False
    ) -> None:
        self.aufgabe, due = aufgabe, aufgabe.due
        overdue = due is not None and due < today and not aufgabe.done
        when = day_block(theme, due, overdue=overdue) if due else block(theme, "–", "ohne Tag")
        about = f"für {aufgabe.who}" if in_akte else f"{aufgabe.az}  {aufgabe.rubrum}"
        if aufgabe.note:
            about = f"{about}: {aufgabe.note}"
        left = german.days_left(due, today) if due and not aufgabe.done else ""
        marks: list[QWidget] = [Label(theme, left, "small", "err" if overdue else "text2")]
        if aufgabe.done:
            marks.append(Tag(theme, "erledigt"))
        button = Button(theme, "Erledigt")
        button.setAccessibleName(f"Aufgabe erledigen: {aufgabe.text}")
        title = aufgabe.text if in_akte else f"Aufgabe: {aufgabe.text}"
        super().__init__(theme, when, title, about, marks, button)
        button.setVisible(not aufgabe.done)
        day = german.day(due) if due else "ohne Tag"
        self.setAccessibleName(f"Aufgabe, {day}, {aufgabe.az}: {aufgabe.text}")
