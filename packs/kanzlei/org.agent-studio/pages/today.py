"""The page Heute: Fristen that are overdue, unchecked or due soon, hints and proposals (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio.packs import ToolFailed
from studio.packs.ui import STRETCH, Button, Hairline, Label, PackWindow, Page, column_of, row_of

from ..tools.office.entwuerfe import Entwuerfe, Entwurf
from ..tools.office.fristen import CHECKED, COMPUTED, Frist, Fristen
from ..tools.office.notizen import Alert, Notizen
from ._frist_row import Due, FristRow, due_of
from ._hint_rows import AlertRow, ProposalRow
from ._rows import AGENT, ScrolledColumn, long_day, section

DAYS_AHEAD = 14


class TodayPage(Page):
    """Heute. ``today`` is the day that counts."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        self.today = datetime.date.today()
        self.opened: int | None = None
        self._reading = 0
        self.date = Label(self.theme, "", "small", "text2")
        self.body = ScrolledColumn(self.theme)
        self.rows: list[FristRow] = []
        self.hints: list[AlertRow] = []
        self.proposals: list[ProposalRow] = []
        drafts = Button(self.theme, "Entwürfe", clicked=studio.show_drafts)
        parts = [Label(self.theme, "Heute", "heading"), self.date, STRETCH, drafts]
        head = row_of(parts, spacing=10, margins=(20, 10, 14, 10))
        column_of([head, Hairline(self.theme), (self.body, 1)], spacing=0, on=self)

    def open(self, *target: str) -> None:
        self.today = datetime.date.today()
        self.opened = int(target[0]) if target and target[0].isdecimal() else self.opened
        self.run(self.load())

    async def load(self) -> None:
        """Read and show everything anew; an older reading that ends later is not shown."""
        self._reading = reading = self._reading + 1

        def read() -> tuple[list[Frist], list[Alert], list[Entwurf]]:
            home, last = self.home, self.today + datetime.timedelta(days=DAYS_AHEAD)
            person = home.person
            alerts = home.service(Notizen).alerts(person, until=last)
            proposed = home.service(Entwuerfe).find(person, kinds=("notiz", "alert"), most=20)
            return home.service(Fristen).find(person), alerts, proposed

        found, alerts, proposed = await self.in_thread(read)
        if reading != self._reading:
            return
        self.date.setText(long_day(self.today))
        self.hints = [self._hint(one) for one in alerts]
        self.proposals = [ProposalRow(self.theme, one) for one in proposed]
        for row in self.proposals:
            row.decide.clicked.connect(lambda: self.studio.show_drafts())
        self.body.show_parts(self._parts(found))

    def _hint(self, alert: Alert) -> AlertRow:
        row = AlertRow(self.theme, alert, self.today)
        row.done.clicked.connect(lambda: self.run(self._see_to(alert)))
        return row

    async def _see_to(self, alert: Alert) -> None:
        await self.in_thread(lambda: self.home.service(Notizen).see_to(self.home.person, alert))
        await self.load()

    def _parts(self, found: Sequence[Frist]) -> list[QWidget]:
        first = [due_of(one) for one in found if one.end < self.today or one.state == COMPUTED]
        other = [one for one in found if one.end >= self.today and one.state == CHECKED]
        due = [due_of(one) for one in other] + [
            Due(one.vorfrist, f"Vorfrist: {one.kind}", one, early=True)
            for one in other
            if one.vorfrist is not None and one.vorfrist >= self.today
        ]
        last = self.today + datetime.timedelta(days=DAYS_AHEAD)
        groups = (
            ("Überfällig oder ungeprüft", first),
            ("Heute", [one for one in due if one.day == self.today]),
            (
                f"Die nächsten {DAYS_AHEAD} Tage",
                [one for one in due if self.today < one.day <= last],
            ),
        )
        self.rows = []
        parts: list[QWidget] = []
        for title, rows in groups:
            if rows:
                made = [self._row(one) for one in sorted(rows, key=lambda one: one.day)]
                parts.append(section(self.theme, title, made))
                self.rows += made
        if self.hints:
            parts.append(section(self.theme, "Hinweise", self.hints))
        if self.proposals:
            parts.append(section(self.theme, "Vorschläge", self.proposals))
        if not parts:
            nothing = self._nothing(sorted(due, key=lambda one: one.day))
            room = self.body.viewport().height()
            nothing.setContentsMargins(0, int(room * 0.4) - self.theme.px(40), 0, 0)
            return [nothing]
        return parts

    def _row(self, due: Due) -> FristRow:
        row = FristRow(self.theme, due, self.today, self._do)
        row.chat.clicked.connect(lambda: self._chat(due.frist))
        if due.frist.id == self.opened and not due.early:
            row.show_more(True)
        return row

    def _chat(self, frist: Frist) -> None:
        self.studio.new_chat(f"kanzlei:akte/{frist.akte}", agent=AGENT)

    def _nothing(self, later: Sequence[Due]) -> QWidget:
        words = "Nichts fällig."
        if later:
            words += f" Nächste Frist am {later[0].day:%d.%m.}"
        label = Label(self.theme, words, "ui", "text2")
        label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        return label

    def _do(self, work: Callable[[Fristen], None], row: FristRow) -> None:
        self.run(self._done(work, row))

    async def _done(self, work: Callable[[Fristen], None], row: FristRow) -> None:
        """Do what was clicked; a refusal is shown in the row."""
        try:
            await self.in_thread(lambda: work(self.home.service(Fristen)))
        except ToolFailed as error:
            row.problem.setText(str(error))
            row.problem.show()
            return
        await self.load()
