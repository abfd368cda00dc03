"""Rows of hints on a day, and of what Helena proposes, which counts nowhere yet (KZ-37, KZ-47)."""

from __future__ import annotations

import datetime

from PySide6.QtWidgets import QWidget

from studio.packs.ui import STRETCH, Button, Hairline, Label, Tag, Theme, column_of, row_of

from ..tools import _german as german
from ..tools.office.entwuerfe import PROPOSAL, Entwurf
from ..tools.office.notizen import Alert
from ._rows import day_block


class AlertRow(QWidget):
    """A hint that calls the person who works here; ``narrow`` has its day below its words."""

    def __init__(
        self, theme: Theme, alert: Alert, today: datetime.date, *, narrow: bool = False
    ) -> None:
        super().__init__()
        self.alert = alert
        overdue = alert.due < today
        ink = "err" if overdue else "text2"
        left = Label(theme, german.days_left(alert.due, today), "small", ink)
        az = Label(theme, alert.az, "small", "text2", digits=True)
        self.done = Button(theme, "Erledigt")
        self.done.setAccessibleName(f"Hinweis erledigen: {alert.text}")
        marks = [] if alert.level == "Hinweis" else [Tag(theme, alert.level, "warn")]
        text = Label(theme, alert.text, "ui", wrap=True)
        if narrow:
            below = row_of([az, left, *marks, STRETCH], spacing=8)
            parts = [(column_of([text, below], spacing=2), 1), self.done]
        else:
            words, day = (
                column_of([text, az], spacing=1),
                day_block(theme, alert.due, overdue=overdue),
            )
            parts = [day, Hairline(theme, upright=True), (words, 1), left, *marks, self.done]
        row_of(parts, spacing=12, margins=(0, 9, 0, 9), on=self)
        self.setAccessibleName(f"Hinweis, {german.day(alert.due)}, {alert.az}: {alert.text}")


class ProposalRow(QWidget):
    """A note or hint that Helena proposes."""

    def __init__(self, theme: Theme, draft: Entwurf, *, narrow: bool = False) -> None:
        super().__init__()
        self.draft = draft
        self.decide = Button(theme, "Entscheiden")
        self.decide.setAccessibleName(f"Entscheiden: {draft.title}")
        title = Label(theme, draft.title, "ui", wrap=True)
        mark = Tag(theme, PROPOSAL)
        if narrow:
            parts = [(column_of([title, row_of([mark, STRETCH])], spacing=4), 1), self.decide]
        else:
            parts = [(title, 1), mark, self.decide]
        row_of(parts, spacing=12, margins=(0, 9, 0, 9), on=self)
        self.setAccessibleName(f"{PROPOSAL}: {draft.title}")
