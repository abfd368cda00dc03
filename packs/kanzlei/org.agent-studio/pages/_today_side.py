"""The right column of Heute: drafts to decide, hints and proposals, and the time of the day."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget

from studio.packs import dataclass
from studio.packs.ui import Button, Card, Hairline, Label, Page, column_of, row_of, widget_of

from ..tools.office.entwuerfe import Entwurf
from ..tools.office.notizen import Alert
from ..tools.office.zeiten import Stopwatch, Zeit, duration
from ._akte_tabs import DraftRow
from ._hint_rows import AlertRow, ProposalRow
from ._rows import ElidedLabel, section

_MOST = 6


@dataclass(frozen=True, slots=True)
class SideFacts:
    """``drafts`` without what is proposed as notes or hints, which are ``proposed``."""

    drafts: Sequence[Entwurf]
    alerts: Sequence[Alert]
    proposed: Sequence[Entwurf]
    zeiten: Sequence[Zeit]
    watch: Stopwatch | None


class TodaySide:
    """Makes the sections. ``see_to`` closes a hint, ``enter`` opens the form of time."""

    def __init__(
        self, page: Page, see_to: Callable[[Alert], None], enter: Callable[[], None]
    ) -> None:
        self._page, self.theme = page, page.theme
        self._see_to, self._enter = see_to, enter
        self.drafts: list[DraftRow] = []
        self.hints: list[AlertRow] = []
        self.proposals: list[ProposalRow] = []
        self.watch: Stopwatch | None = None
        self.running: Label | None = None

    def sections(self, facts: SideFacts, today: datetime.date) -> list[QWidget]:
        """What there is, from top to bottom; the time always."""
        t, studio = self.theme, self._page.studio
        self.drafts = [DraftRow(self._page, one, named=True) for one in facts.drafts[:_MOST]]
        self.hints = [AlertRow(t, one, today, narrow=True) for one in facts.alerts]
        for hint in self.hints:
            hint.done.clicked.connect(lambda _=False, one=hint.alert: self._see_to(one))
        self.proposals = [ProposalRow(t, one, narrow=True) for one in facts.proposed]
        for row in self.proposals:
            row.decide.clicked.connect(lambda _=False, one=row.draft: studio.show_drafts(one.id))
        parts: list[QWidget] = []
        if self.drafts:
            every = Button(t, "Alle ansehen", "link", clicked=lambda: studio.show_drafts())
            drafts = section(t, "Entwürfe für Dich", self.drafts, every, len(facts.drafts))
            parts.append(drafts)
        if self.hints or self.proposals:
            parts.append(section(t, "Hinweise", [*self.hints, *self.proposals]))
        return [*parts, self._time(facts)]

    def _time(self, facts: SideFacts) -> QWidget:
        t = self.theme
        rows = [self._zeit(one) for one in facts.zeiten]
        self.watch, self.running = facts.watch, None
        if facts.watch is not None:
            self.running = Label(t, facts.watch.shown, "ui_strong", "accent_text", digits=True)
            about = ElidedLabel(t, "small", "text2")
            about.setText(f"{facts.watch.az}  {facts.watch.rubrum}")
            stop = Button(t, "Anhalten", clicked=self._enter)
            stop.setAccessibleName(f"Stoppuhr anhalten und eintragen, {facts.watch.az}")
            rows.append(widget_of(row_of([self.running, (about, 1), stop], spacing=10,
                                         margins=(0, 8, 0, 8))))  # fmt: skip
        link = Button(t, "Erfassen", "link", clicked=self._enter)
        sum_ = duration(sum(one.minutes for one in facts.zeiten))
        head = [Label(t, "Zeit heute", "ui_strong"), (Label(t, sum_, "small", "text2"), 1), link]
        if not rows:
            rows = [Label(t, "Noch nichts erfasst.", "small", "text2")]
            rows[0].setContentsMargins(0, 10, 0, 10)
        card = Card(t)
        column = column_of(spacing=0, margins=(14, 0, 14, 0), on=card)
        for index, row in enumerate(rows):
            if index:
                column.addWidget(Hairline(t))
            column.addWidget(row)
        return widget_of(column_of([row_of(head, spacing=8), card], spacing=8))

    def _zeit(self, one: Zeit) -> QWidget:
        t = self.theme
        az, long = Label(t, one.az, "small", "text2", digits=True), duration(one.minutes)
        words = Label(t, one.text, "ui", wrap=True)
        parts = [az, (words, 1), Label(t, long, "small", digits=True)]
        return widget_of(row_of(parts, spacing=10, margins=(0, 8, 0, 8)))

    def tick(self) -> None:
        """Show how long the stopwatch runs."""
        if self.watch is not None and self.running is not None:
            self.running.setText(self.watch.shown)
