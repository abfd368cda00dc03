"""The page Kalender: Fristen, Vorfristen and what else has a day, by month or as a list (KZ-47)."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from studio.packs import Home, ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Check,
    Hairline,
    IconButton,
    Label,
    MenuButton,
    MenuItem,
    PackWindow,
    Page,
    Segmented,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.deadlines.free_days import LAENDER, free_reason, read_place
from ..tools.intake.kinds import CALENDAR
from ..tools.office.aufgaben import Aufgaben
from ..tools.office.fristen import COMPUTED, Fristen
from ..tools.office.kalender import write_calendar
from ..tools.office.notizen import Notizen
from ..tools.office.recheck import recheck
from ..tools.office.settings import OfficeSettings
from ..tools.office.termine import Termine
from ._choosing import choose_path
from ._intake_card import CardPlace, FileCard
from ._month_grid import KINDS, Entry, MonthGrid, other_month
from ._print import table, write_pdf
from ._rows import DAYS, MONTHS, LinkTitle, ScrolledColumn, day_block, long_day, section

SIDE, BELOW = 284, 124
"""The width of what is beside the month, and its height where it has to stand below."""
ROOM = 640
"""The width from which on a month has something beside it."""
_MONTH, _LIST = range(2)
_MOST = 16_777_215
"""Of Qt: as much as there is."""


def read_entries(home: Home) -> list[Entry]:
    """All that has a day and that the person may see, by day. Blocks."""
    recheck(home)
    found: list[Entry] = []
    for one in home.service(Fristen).find(home.person):
        target = ("akten", str(one.akte))
        unsure = one.state == COMPUTED
        found.append(Entry(one.end, "Frist", one.kind, one.az, open=unsure, target=target))
        if one.vorfrist is not None:
            early = Entry(one.vorfrist, "Vorfrist", one.kind, one.az, open=unsure, target=target)
            found.append(early)
    for termin in home.service(Termine).find(home.person):
        hour, target = f"{termin.begin:%H:%M}", ("akten", str(termin.akte), "aufgaben")
        found.append(Entry(termin.day, "Termin", termin.title, termin.az, hour, target=target))
    for aufgabe in home.service(Aufgaben).find(home.person):
        if aufgabe.due is not None:
            target = ("akten", str(aufgabe.akte), "aufgaben")
            found.append(Entry(aufgabe.due, "Aufgabe", aufgabe.text, aufgabe.az, target=target))
    for alert in home.service(Notizen).alerts(home.person):
        target = ("akten", str(alert.akte), "notizen")
        found.append(Entry(alert.due, "Wiedervorlage", alert.text, alert.az, target=target))
    return sorted(found, key=lambda one: (one.day, one.time, [*KINDS].index(one.kind)))


def free_days(days: Sequence[datetime.date], land: str) -> dict[datetime.date, str]:
    """The free ones of some days, with why. Blocks: reads the holidays."""
    place = read_place(land)
    return {day: reason for day in days if (reason := free_reason(day, place))}


class KalenderPage(Page):
    """Kalender. ``entries`` are all that was read, ``hidden`` the kinds that are not shown."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        t = self.theme
        self.entries: list[Entry] = []
        self.hidden: set[str] = set()
        self._reading = 0
        self.month = Label(t, "", "heading")
        before = IconButton(t, "chevron-left", "Monat davor", clicked=lambda: self._step(-1))
        after = IconButton(t, "chevron-right", "Monat danach", clicked=lambda: self._step(1))
        today = Button(t, "Heute", clicked=lambda: self.grid.choose(self.grid.today))
        self.view = Segmented(t, ("Monat", "Liste"), name="Ansicht")
        self.view.chosen.connect(lambda _: self._show())
        self.intake = FileCard(self, CALENDAR)
        self.intake.changed.connect(lambda: self.run(self.load()))
        self.more = MenuButton(t, "Kalender als Datei", "Datei", icon="calendar")
        self.more.set_items(
            [
                MenuItem("ein", "Einlesen…", detail="Termine einer Kalenderdatei (ics)"),
                MenuItem("aus", "Als Kalenderdatei…", detail="alles Offene, für jeden Kalender"),
                MenuItem("druck", "Als PDF zum Drucken…", detail="was in diesem Monat ansteht"),
            ]
        )
        self.more.chosen.connect(self._choose_file)
        head = [self.month, before, after, today, STRETCH, self.more, self.view]
        self.told = Label(t, "", "small", "text2", wrap=True)
        self.problem = Label(t, "", "small", "err", wrap=True)
        self._words = widget_of(
            column_of([self.told, self.problem], spacing=2, margins=(20, 8, 20, 8))
        )
        self._words.hide()
        self.grid = MonthGrid(t)
        self.grid.chosen.connect(lambda: self.run(self.load()))
        self.grid.opened.connect(self._open_first)
        self.list = ScrolledColumn(t)
        self.list.hide()
        self.about_day = ScrolledColumn(t)
        self.holidays = Label(t, "", "small", "text2", wrap=True)
        self.kinds = {kind: Check(t, _PLURALS[kind]) for kind in KINDS}
        for kind, check in self.kinds.items():
            check.setChecked(True)
            check.toggled.connect(lambda on, kind=kind: self._show_kind(kind, on))
        self._shown = Label(t, "Anzeigen", "ui_strong")
        self._checks = column_of([self._shown, *self.kinds.values()], spacing=6)
        self._land = widget_of(
            column_of([Label(t, "Feiertage", "ui_strong"), self.holidays], spacing=8)
        )
        self._fixed = column_of(
            [widget_of(self._checks), self._land], spacing=8, margins=(20, 14, 20, 20)
        )
        self.side = widget_of(column_of([(self.about_day, 1), Hairline(t), self._fixed], spacing=0))
        self._edge = Hairline(t, upright=True)
        self._middle = row_of([(self.grid, 1), (self.list, 1), self._edge, self.side], spacing=0)
        self._wide = True
        self.side.setFixedWidth(t.px(SIDE))
        top = row_of(head, spacing=8, margins=(20, 10, 14, 10))
        parts = [top, Hairline(t), CardPlace(self.intake), self._words, (self._middle, 1)]
        column_of(parts, spacing=0, on=self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= self.theme.px(SIDE + ROOM)
        if wide != self._wide:
            self._arrange(wide=wide)

    def _arrange(self, *, wide: bool) -> None:
        """Put what is beside the month below it where there is no room."""
        self._wide, direction, t = wide, QBoxLayout.Direction, self.theme
        self._middle.setDirection(direction.LeftToRight if wide else direction.TopToBottom)
        self._checks.setDirection(direction.TopToBottom if wide else direction.LeftToRight)
        self._edge.setVisible(wide)
        self._land.setVisible(wide)
        self._shown.setVisible(wide)
        self._fixed.setContentsMargins(20, 14 if wide else 6, 20, 20 if wide else 6)
        self.side.setMinimumWidth(t.px(SIDE) if wide else 0)
        self.side.setMaximumWidth(t.px(SIDE) if wide else _MOST)
        self.side.setMinimumHeight(0 if wide else t.px(BELOW))
        self.side.setMaximumHeight(_MOST if wide else t.px(BELOW))

    def open(self, *target: str) -> None:
        self.grid.today = datetime.date.today()
        if target:
            with contextlib.suppress(ValueError):
                self.grid.day = datetime.date.fromisoformat(target[0])
        self.run(self.load())
        self.grid.setFocus()

    async def load(self) -> None:
        """Read and show everything anew; an older reading that ends later is not shown."""
        self._reading = reading = self._reading + 1
        home, days = self.home, self.grid.days
        land = home.settings(OfficeSettings).land

        def read() -> tuple[list[Entry], dict[datetime.date, str]]:
            try:
                return read_entries(home), free_days(days, land)
            except ToolFailed:  # a Land that nobody knows, or years without checked holidays
                return read_entries(home), {}

        found, free = await self.in_thread(read)
        if reading != self._reading:
            return
        self.entries, self.grid.free = found, free
        self._show()

    def _choose_file(self, what: str) -> None:
        if what == "ein":
            self.intake.ask()
        elif what == "aus":
            choose_path(self, "Kalenderdatei", "*.ics", self.write_file, save="fristen.ics")
        else:
            name = f"Kalender {self.grid.day:%Y-%m}.pdf"
            choose_path(self, "PDF", "*.pdf", self.print_month, save=name)

    def write_file(self, path: str) -> None:
        """Write all that is open as a file that each calendar reads (KZ-21)."""
        home = self.home

        def done(count: int | None, problem: str) -> None:
            told = german.counted(count or 0, "Eintrag steht", "Einträge stehen")
            self.tell("" if problem else f"{told} in {path}.", problem)

        self.attempt(lambda: write_calendar(home, home.person, Path(path)), done)

    def print_month(self, path: str) -> None:
        """Write what the month shows as a page for paper (KZ-21)."""
        day = self.grid.day
        title = f"{MONTHS[day.month - 1]} {day.year}"
        month = (day.year, day.month)
        rows = [
            (german.day(one.day), one.time, one.kind, one.title, one.az,
             "ungeprüft" if one.open else "")
            for one in self.entries
            if one.kind not in self.hidden and (one.day.year, one.day.month) == month
        ]  # fmt: skip
        heads = ("Tag", "Zeit", "Art", "Was", "Akte", "")
        stand = f"<p>Stand: {datetime.datetime.now():%d.%m.%Y %H:%M}</p>"
        parts = [*table(f"Kalender {title}", heads, rows), stand]

        def done(_: None, problem: str) -> None:
            told = german.counted(len(rows), "Eintrag steht", "Einträge stehen")
            self.tell("" if problem else f"{told} in {path}.", problem)

        self.attempt(lambda: write_pdf(Path(path), title, parts), done)

    def tell(self, words: str, problem: str = "") -> None:
        self.told.show_text(words)
        self.problem.show_text(problem)
        self._words.setVisible(bool(words or problem))

    def _show_kind(self, kind: str, on: bool) -> None:
        (self.hidden.discard if on else self.hidden.add)(kind)
        self._show()

    def _show(self) -> None:
        day = self.grid.day
        self.month.setText(f"{MONTHS[day.month - 1]} {day.year}")
        shown = [one for one in self.entries if one.kind not in self.hidden]
        by_day: dict[datetime.date, list[Entry]] = {}
        for one in shown:
            by_day.setdefault(one.day, []).append(one)
        self.grid.show_entries(by_day, self.grid.free)
        as_list = self.view.current == _LIST
        self.grid.setVisible(not as_list)
        self.list.setVisible(as_list)
        if as_list:
            month = [one for one in shown if (one.day.year, one.day.month) == (day.year, day.month)]
            self._show_list(month)
        self.about_day.show_parts(self._about_day(by_day.get(day, [])))
        land = LAENDER.get(self.home.settings(OfficeSettings).land, "Unbekanntes Land")
        self.holidays.setText(
            f"{land}. Maßgeblich ist immer der Ort des Gerichts, nicht der Kanzlei."
        )

    def _show_list(self, entries: Sequence[Entry]) -> None:
        if entries:
            title = f"{MONTHS[self.grid.day.month - 1]} {self.grid.day.year}"
            self.list.show_parts([section(self.theme, title, [self._row(o) for o in entries])])
        else:
            words = "In diesem Monat ist nichts eingetragen."
            self.list.show_parts([Label(self.theme, words, "ui", "text2")])

    def _row(self, entry: Entry) -> QWidget:
        t = self.theme
        overdue = entry.kind == "Frist" and entry.day < self.grid.today
        state = "Entwurf oder ungeprüft" if entry.open else ""
        about = ", ".join(filter(None, (entry.kind, entry.az, entry.time, state)))
        words = column_of([self._title(entry), Label(t, about, "small", "text2")], spacing=1)
        block, line = day_block(t, entry.day, overdue=overdue), Hairline(t, upright=True)
        parts = [block, line, (words, 1)]
        return widget_of(row_of(parts, spacing=12, margins=(0, 9, 0, 9)))

    def _title(self, entry: Entry) -> LinkTitle:
        title = LinkTitle(self.theme, entry.title, f"{entry.kind} {entry.title}, {entry.az}")
        if entry.target:
            title.clicked.connect(lambda: self.studio.open_page(*entry.target))
        return title

    def _about_day(self, entries: Sequence[Entry]) -> list[QWidget]:
        """The chosen day and what is on it."""
        t, day = self.theme, self.grid.day
        heading = Label(t, long_day(day), "ui_strong", wrap=True)
        why = self.grid.free.get(day, "")
        free = Label(t, "" if why in DAYS else why, "small", "text2", wrap=True)
        if not free.text():
            free.hide()
        parts: list[QWidget] = [widget_of(column_of([heading, free], spacing=1))]
        for one in entries:
            state = "Entwurf oder ungeprüft" if one.open else ""
            about = ", ".join(filter(None, (one.kind, one.az, one.time, state)))
            ink = "warn" if one.open else "text2"
            words = [self._title(one), Label(t, about, "small", ink, wrap=True)]
            parts.append(widget_of(column_of(words, spacing=1)))
        if not entries:
            parts.append(Label(t, "Nichts eingetragen.", "small", "text2"))
        return parts

    def _step(self, months: int) -> None:
        self.grid.choose(other_month(self.grid.day, months))

    def _open_first(self) -> None:
        shown = self.grid.entries.get(self.grid.day, ())
        if shown and shown[0].target:
            self.studio.open_page(*shown[0].target)


_PLURALS = {
    "Frist": "Fristen",
    "Vorfrist": "Vorfristen",
    "Termin": "Termine",
    "Wiedervorlage": "Wiedervorlagen",
    "Aufgabe": "Aufgaben",
}
