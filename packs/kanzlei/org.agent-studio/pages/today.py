"""The page Heute: what is overdue, unchecked or due soon; drafts, hints and time (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from studio.packs import dataclass
from studio.packs.ui import (
    Button,
    Hairline,
    Label,
    PackWindow,
    Page,
    column_of,
    row_of,
    widget_of,
)

from ..tools.office.akten import Akte, Akten
from ..tools.office.aufgaben import Aufgabe, Aufgaben
from ..tools.office.entwuerfe import Entwuerfe
from ..tools.office.fristen import CHECKED, COMPUTED, Frist, Fristen
from ..tools.office.notizen import Alert, Notizen
from ..tools.office.recheck import recheck
from ..tools.office.termine import Termin, Termine
from ..tools.office.zeiten import Stopwatch, Zeiten
from ._akte_facts import PROPOSED
from ._forms import AktePicker
from ._frist_form import FristForm
from ._frist_row import Due, FristRow, due_of
from ._hint_rows import AlertRow, ProposalRow
from ._planned_rows import AufgabeRow, TerminRow
from ._record_forms import ZeitForm
from ._rows import AGENT, ElidedLabel, ScrolledColumn, long_day, section
from ._today_side import SideFacts, TodaySide

DAYS_AHEAD = 14
SIDE, LEAST = 388, 880
"""Widths of the right column, and of the page from which on it has one."""
_TICK = 10_000
"""Milliseconds between two looks at the stopwatch."""


@dataclass(frozen=True, slots=True)
class TodayFacts:
    """What the page shows, read at once."""

    fristen: Sequence[Frist]
    termine: Sequence[Termin]
    aufgaben: Sequence[Aufgabe]
    side: SideFacts


class TodayPage(Page):
    """Heute. ``today`` is the day that counts, ``planned`` the rows that are no Fristen."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        t = self.theme
        self.today = datetime.date.today()
        self.opened: int | None = None
        self.facts: TodayFacts | None = None
        self.rows: list[FristRow] = []
        self.planned: list[TerminRow | AufgabeRow] = []
        self._reading = 0
        self._wide = True
        self.date = ElidedLabel(t, "small", "text2")
        frist = Button(t, "Frist", icon="plus", keycap="F", clicked=self._new_frist)
        zeit = Button(t, "Zeit", icon="timer", keycap="Z", clicked=self._new_time)
        akte = Button(t, "Akte", icon="plus", keycap="A", clicked=self._new_akte)
        parts = [Label(t, "Heute", "heading"), (self.date, 1), frist, zeit, akte]
        head = row_of(parts, spacing=10, margins=(20, 10, 14, 10))
        self.picker = AktePicker(self)
        self.picker.chosen.connect(self._picked)
        self.frist_form, self.zeit_form = FristForm(self), ZeitForm(self)
        self._forms = (self.frist_form, self.zeit_form)
        self.form_place = widget_of(
            column_of([self.picker, *self._forms], spacing=8, margins=(20, 12, 20, 12))
        )
        for form in self._forms:
            form.closed.connect(self.form_place.hide)
            form.entered.connect(lambda *_: self.run(self.load()))
        self.zeit_form.watched.connect(lambda: self.run(self.load()))
        self.form_place.hide()
        self.body, self.beside = ScrolledColumn(t), ScrolledColumn(t)
        self.beside.setFixedWidth(t.px(SIDE))
        self._edge = Hairline(t, upright=True)
        self.side = TodaySide(self, lambda one: self.run(self._see_to(one)), self._new_time)
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self.side.tick)
        columns = row_of([(self.body, 1), self._edge, self.beside], spacing=0)
        column_of([head, Hairline(t), self.form_place, (columns, 1)], spacing=0, on=self)
        for key, does in (
            (Qt.Key.Key_F, self._new_frist),
            (Qt.Key.Key_Z, self._new_time),
            (Qt.Key.Key_A, self._new_akte),
        ):
            shortcut = QShortcut(QKeySequence(key), self, does)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the keys work from the start

    @property
    def hints(self) -> list[AlertRow]:
        return self.side.hints

    @property
    def proposals(self) -> list[ProposalRow]:
        return self.side.proposals

    def open(self, *target: str) -> None:
        self.today = datetime.date.today()
        self.opened = int(target[0]) if target and target[0].isdecimal() else self.opened
        self.run(self.load())
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    async def load(self) -> None:
        """Read and show everything anew; an older reading that ends later is not shown."""
        self._reading = reading = self._reading + 1
        facts = await self.in_thread(self._read)
        if reading == self._reading:
            self.facts = facts
            self._show(facts)

    def _read(self) -> TodayFacts:
        home, today = self.home, self.today
        person, last = home.person, today + datetime.timedelta(days=DAYS_AHEAD)
        recheck(home)
        drafts = home.service(Entwuerfe).find(person)
        return TodayFacts(
            home.service(Fristen).find(person),
            home.service(Termine).find(person, since=today, until=last),
            home.service(Aufgaben).find(person, own=True, until=last),
            SideFacts(
                [one for one in drafts if one.kind not in PROPOSED],
                home.service(Notizen).alerts(person, until=last),
                [one for one in drafts if one.kind in PROPOSED],
                home.service(Zeiten).of_day(person, today),
                home.service(Zeiten).stopwatch(person),
            ),
        )

    def _show(self, facts: TodayFacts) -> None:
        self.date.setText(long_day(self.today))
        left, right = self._parts(facts), self.side.sections(facts.side, self.today)
        self._wide = self.width() >= self.theme.px(LEAST)
        self.beside.setVisible(self._wide)
        self._edge.setVisible(self._wide)
        if self._wide:
            self.beside.show_parts(right)
            self.body.show_parts(left or [self._nothing(facts)])
        else:
            self.beside.show_parts([])
            self.body.show_parts([*(left or [self._nothing(facts)]), *right])
        self._tick.start() if facts.side.watch else self._tick.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.facts is not None and self._wide != (self.width() >= self.theme.px(LEAST)):
            self._show(self.facts)

    async def _see_to(self, alert: Alert) -> None:
        await self.in_thread(lambda: self.home.service(Notizen).see_to(self.home.person, alert))
        await self.load()

    def _parts(self, facts: TodayFacts) -> list[QWidget]:
        today, last = self.today, self.today + datetime.timedelta(days=DAYS_AHEAD)
        groups: dict[str, list[tuple[datetime.date, str, QWidget]]] = {
            "Überfällig oder ungeprüft": [],
            "Heute": [],
            f"Die nächsten {DAYS_AHEAD} Tage": [],
        }
        overdue, now, soon = groups.values()
        self.rows, self.planned = [], []
        for due in self._due(facts.fristen):
            first = not due.early and (due.day < today or due.frist.state == COMPUTED)
            if first or due.day <= last:
                row = self._row(due)
                place = overdue if first else now if due.day == today else soon
                place.append((due.day, "", row))
        for aufgabe in facts.aufgaben:
            assert aufgabe.due is not None  # those until a day have one
            row = AufgabeRow(self.theme, aufgabe, today)
            row.button.clicked.connect(lambda _=False, one=row: self._close(one))
            place = overdue if aufgabe.due < today else now if aufgabe.due == today else soon
            place.append((aufgabe.due, "", row))
        for termin in facts.termine:
            row = TerminRow(self.theme, termin, today)
            row.button.clicked.connect(
                lambda _=False, one=termin: self.studio.open_page("akten", str(one.akte))
            )
            place = now if termin.day == today else soon
            place.append((termin.day, termin.hours, row))
        parts: list[QWidget] = []
        for title, found in groups.items():
            rows = [row for _, _, row in sorted(found, key=lambda one: one[:2])]
            self.rows += [row for row in rows if isinstance(row, FristRow)]
            self.planned += [row for row in rows if isinstance(row, (TerminRow, AufgabeRow))]
            if rows:
                link = None
                if found is soon:
                    show = lambda: self.studio.open_page("kalender")  # noqa: E731
                    link = Button(self.theme, "Kalender", "link", clicked=show)
                parts.append(section(self.theme, title, rows, link))
        return parts

    def _due(self, fristen: Sequence[Frist]) -> list[Due]:
        """The Fristen, and the Vorfristen that are still to come of checked ones."""
        early = [
            Due(one.vorfrist, f"Vorfrist: {one.kind}", one, early=True)
            for one in fristen
            if one.state == CHECKED and one.end >= self.today
            if one.vorfrist is not None and one.vorfrist >= self.today
        ]
        return [*map(due_of, fristen), *early]

    def _row(self, due: Due) -> FristRow:
        row = FristRow(self.theme, due, self.today, self._do)
        row.chat.clicked.connect(lambda: self._chat(due.frist))
        if due.frist.id == self.opened and not due.early:
            row.show_more(True)
        return row

    def _chat(self, frist: Frist) -> None:
        self.studio.new_chat(f"kanzlei:akte/{frist.akte}", agent=AGENT)

    def _nothing(self, facts: TodayFacts) -> QWidget:
        later = sorted(one.day for one in self._due(facts.fristen))
        words = f"Nichts fällig. Nächste Frist am {later[0]:%d.%m.}" if later else "Nichts fällig."
        label = Label(self.theme, words, "ui", "text2")
        label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        room = self.body.viewport().height()
        label.setContentsMargins(0, int(room * 0.4) - self.theme.px(40), 0, 0)
        return label

    # What the person does

    def _ask(self, form: FristForm | ZeitForm) -> None:
        for one in self._forms:
            one.setVisible(one is form)
        self.form_place.show()
        (self.picker.field if form.akte is None else form.first).setFocus()

    def _new_frist(self) -> None:
        self._ask(self.frist_form)

    def _new_time(self) -> None:
        watch = self.facts.side.watch if self.facts is not None else None
        self.zeit_form.show_stopwatch(watch)
        self._ask(self.zeit_form)
        if watch is not None:
            self.run(self._pick(watch))

    def _new_akte(self) -> None:
        self.studio.open_page("akten", "neu")

    async def _pick(self, watch: Stopwatch) -> None:
        """The Akte on which the stopwatch runs."""
        home = self.home
        self.picker.choose(
            await self.in_thread(lambda: home.service(Akten).get(home.person, watch.akte))
        )

    def _picked(self, akte: Akte) -> None:
        for form in self._forms:
            form.show_akte(akte)
        shown = next((one for one in self._forms if not one.isHidden()), None)
        if self.facts is not None:
            self.zeit_form.show_stopwatch(self.facts.side.watch)
        if shown is not None:
            shown.first.setFocus()

    def _close(self, row: AufgabeRow) -> None:
        home = self.home
        self._attempt(
            lambda: home.service(Aufgaben).finish(home.person, row.aufgabe), row, row.button
        )

    def _do(self, work: Callable[[Fristen], None], row: FristRow) -> None:
        self._attempt(lambda: work(self.home.service(Fristen)), row, row.confirm)

    def _attempt(
        self, work: Callable[[], object], row: AufgabeRow | FristRow, button: Button
    ) -> None:
        """Do what was clicked; a refusal is shown in the row."""

        def done(_: object, problem: str) -> None:
            if not problem:
                self.run(self.load())
            elif isValid(row):  # else it was drawn anew meanwhile
                row.problem.show_text(problem)

        self.attempt(work, done, button)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self.form_place.isHidden():
            self.form_place.hide()
            self.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        super().keyPressEvent(event)
