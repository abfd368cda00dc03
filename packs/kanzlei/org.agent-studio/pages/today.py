"""The page Heute: what is overdue or unchecked, due today, and in the next two weeks (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio.packs import ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Field,
    Hairline,
    Label,
    PackWindow,
    Page,
    Tag,
    Theme,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.office.fristen import CHECKED, COMPUTED, Frist, Fristen
from ._rows import AGENT, ScrolledColumn, day_block, long_day, section

DAYS_AHEAD = 14


@dataclass(frozen=True, slots=True)
class Due:
    """A Frist, or its Vorfrist, on a day."""

    day: datetime.date
    title: str
    frist: Frist
    early: bool = False


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
        found = await self.in_thread(lambda: self.home.service(Fristen).find(self.home.person))
        if reading != self._reading:
            return
        self.date.setText(long_day(self.today))
        self.body.show_parts(self._parts(found))

    def _parts(self, found: Sequence[Frist]) -> list[QWidget]:
        first = [_due(one) for one in found if one.end < self.today or one.state == COMPUTED]
        other = [one for one in found if one.end >= self.today and one.state == CHECKED]
        due = [_due(one) for one in other] + [
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
        return parts or [self._nothing(sorted(due, key=lambda one: one.day))]

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


def _due(frist: Frist) -> Due:
    return Due(frist.end, frist.kind, frist)


Do = Callable[[Callable[[Fristen], None], "FristRow"], None]


class FristRow(QWidget):
    """One row; more of it shows the calculation, and what can be done."""

    def __init__(self, theme: Theme, due: Due, today: datetime.date, do: Do) -> None:
        super().__init__()
        self.due, self._do = due, do
        frist = due.frist
        title = row_of([Label(theme, due.title, "ui", wrap=True), STRETCH], spacing=8)
        if frist.notfrist and not due.early:
            title.insertWidget(1, Tag(theme, "Notfrist"))
        az = Label(theme, f"{frist.az}  {frist.rubrum}", "small", "text2", wrap=True)
        words = column_of([title, az], spacing=1)
        left = german.days_left(due.day, today)
        overdue = due.day < today
        state = [Label(theme, left, "small", "err" if overdue else "text2")]
        checked = frist.state == CHECKED
        mark = Tag(theme, frist.state if checked else "ungeprüft", "ok" if checked else "warn")
        text = "Erledigt" if checked else "Prüfen…"
        self.more = Button(theme, text, "secondary" if checked else "primary")
        self.more.clicked.connect(lambda: self.show_more(self.detail.isHidden()))
        line = row_of(
            [day_block(theme, due.day, overdue=overdue), Hairline(theme, upright=True),
             (words, 1), *state, mark, self.more],
            spacing=12,
        )  # fmt: skip
        if due.early:
            self.more.hide()
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.note = Field(theme, "Was wurde getan?", name="Notiz")
        self.note.returnPressed.connect(self._confirm)
        self.confirm = Button(theme, "Als erledigt ablegen" if checked else "Geprüft", "primary")
        self.confirm.clicked.connect(self._confirm)
        self.chat = Button(theme, "Chat zur Akte")
        self.steps = Label(theme, _calculation(frist), "small", "text2", wrap=True)
        self.steps.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.note.setVisible(checked)
        buttons = row_of([self.chat, STRETCH, (self.note, 2), self.confirm], spacing=8)
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

    def _confirm(self) -> None:
        frist, words = self.due.frist, self.note.text()

        def work(fristen: Fristen) -> None:
            person = fristen.person
            if frist.state == CHECKED:
                fristen.done(person, frist, words)
            else:
                fristen.check(person, frist)

        self._do(work, self)


def _calculation(frist: Frist) -> str:
    lines = [f"{number}. {step}" for number, step in enumerate(frist.steps, 1)]
    return "\n".join([*lines, *frist.hints, *([f"Grund: {frist.reason}"] if frist.reason else [])])
