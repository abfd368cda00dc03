"""The forms of time, notes, Termine, Aufgaben and participants of an Akte (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from PySide6.QtCore import Signal

from studio.packs import Home, ToolFailed
from studio.packs.ui import Button, Check, Combo, Field, MenuItem, Page

from ..tools.contacts.konflikte import Konflikte, named
from ..tools.contacts.kontakte import ROLES, Kontakt, Kontakte, name_and_heads
from ..tools.office.akten import Akte
from ..tools.office.aufgaben import Aufgaben
from ..tools.office.forms import read_day
from ..tools.office.notizen import Notizen
from ..tools.office.persons import named as person_named
from ..tools.office.persons import require_may_enter
from ..tools.office.termine import KINDS, Termine
from ..tools.office.zeit_kind import require_text
from ..tools.office.zeiten import Stopwatch, Zeiten, duration, read_minutes
from ._forms import OfficeForm

Work = Callable[[Home], tuple[str, str]]
_BY_ROLE = "nach der Rolle"
_LONGEST = 5_000


class ZeitForm(OfficeForm):
    """Time, typed or from the stopwatch, which runs until the time is entered.

    ``watched``: the stopwatch was begun or thrown away.
    """

    watched = Signal()

    def __init__(self, page: Page) -> None:
        t = page.theme
        self.minutes = Field(t, "42, 0:42 oder 0,7 h", name="Dauer")
        self.text = Field(t, "Urteil gelesen", name="Was getan wurde")
        self.day = Field(t, "heute", name="Tag")
        self.billable = Check(t, "abrechenbar")
        self.billable.setChecked(True)
        self.start = Button(t, "Stoppuhr starten", icon="timer", clicked=self._start)
        self.drop = Button(t, "Stoppuhr verwerfen", "ghost", clicked=self._drop)
        self.drop.hide()
        fields = [("Dauer", self.minutes, 2), ("Tätigkeit", self.text, 5), ("Tag", self.day, 2)]
        super().__init__(page, "Zeit", [fields], [self.start, self.drop, self.billable])

    def show_stopwatch(self, watch: Stopwatch | None) -> None:
        """With its minutes, where it runs on this Akte."""
        here = watch is not None and self.akte is not None and watch.akte == self.akte.id
        self.start.setVisible(watch is None)
        self.drop.setVisible(here)
        if watch is not None and here and not self.minutes.text():
            self.minutes.setText(watch.shown)

    def clear(self) -> None:
        super().clear()
        self.billable.setChecked(True)

    def work(self, akte: Akte) -> Work:
        text, day = self.text.text().strip(), self.day.text().strip()
        minutes, billable = read_minutes(self.minutes.text()), self.billable.isChecked()

        def enter(home: Home) -> tuple[str, str]:
            require_may_enter(home.person, "Zeiten")
            require_text(text, _LONGEST)
            iso = read_day("Tag", day) if day else datetime.date.today().isoformat()
            zeiten = home.service(Zeiten)
            watch = zeiten.stopwatch(home.person)
            with home.records.together():
                zeiten.add(
                    *(home.person, akte.id),
                    day=iso,
                    minutes=minutes,
                    text=text,
                    billable=billable,
                )
                if watch is not None and watch.akte == akte.id:
                    zeiten.stop(home.person)
            return f"{duration(minutes)} eingetragen.", ""

        return enter

    def _start(self) -> None:
        if (akte := self.akte) is None:
            self.enter()  # which asks for it
        else:
            self._watch(lambda zeiten, home: zeiten.start(home.person, akte.id))

    def _drop(self) -> None:
        self.minutes.clear()
        self._watch(lambda zeiten, home: zeiten.stop(home.person))

    def _watch(self, work: Callable[[Zeiten, Home], None]) -> None:
        home = self.page.home

        def done(_: None, problem: str) -> None:
            if problem:
                self.problem.show_text(problem)
                return
            self.closed.emit()
            self.watched.emit()

        self.page.attempt(lambda: work(home.service(Zeiten), home), done, self.start, self.drop)


class NotizForm(OfficeForm):
    """A note; with a day it is a hint that calls the person on it."""

    def __init__(self, page: Page) -> None:
        t = page.theme
        self.text = Field(t, "Mandantin ruft am Montag zurück", name="Notiz")
        self.due = Field(t, "nur Notiz", name="Erinnern am, als Hinweis")
        fields = [("Notiz", self.text, 5), ("Erinnern am", self.due, 2)]
        super().__init__(page, "Notiz oder Wiedervorlage", [fields])

    def work(self, akte: Akte) -> Work:
        text, due = self.text.text().strip(), self.due.text().strip()

        def enter(home: Home) -> tuple[str, str]:
            notizen, person = home.service(Notizen), home.person
            require_may_enter(person, "Notizen")
            require_text(text, _LONGEST)
            if due:
                day = read_day("Erinnern am", due)
                more = {"who": int(person.id), "due": day, "level": "Hinweis", "text": text}
                notizen.add_alert(person, akte.id, **more)
            else:
                notizen.add(person, akte.id, text)
            return "", ""

        return enter


class TerminForm(OfficeForm):
    """A hearing or a meeting."""

    def __init__(self, page: Page) -> None:
        t = page.theme
        self.kind = Combo(t, "Art des Termins", items=[MenuItem(one, one) for one in KINDS])
        self.kind.set_current(KINDS[0])
        self.day = Field(t, "04.02.2026", name="Tag des Termins")
        self.begin = Field(t, "10:30", name="Beginn")
        self.end = Field(t, "11:15", name="Ende")
        self.text = Field(t, "Güteverhandlung", name="Worum es geht")
        self.place = Field(t, "AG Rosenheim, Saal 12", name="Ort")
        above = [("Art", self.kind, 3), ("Tag", self.day, 2), ("Beginn", self.begin, 1)]
        below = [("Worum es geht", self.text, 3), ("Ort", self.place, 3)]
        super().__init__(page, "Neuer Termin", [[*above, ("Ende", self.end, 1)], below])

    def work(self, akte: Akte) -> Work:
        fields = {
            "kind": self.kind.current,
            "day": self.day.text(),
            "begin": self.begin.text(),
            "end": self.end.text(),
            "text": self.text.text(),
            "place": self.place.text(),
        }

        def enter(home: Home) -> tuple[str, str]:
            home.service(Termine).add(home.person, akte, **fields)
            return "", ""

        return enter


class AufgabeForm(OfficeForm):
    """Something to do."""

    def __init__(self, page: Page) -> None:
        t = page.theme
        self.text = Field(t, "Gutachten an Mandantin senden", name="Aufgabe")
        self.due = Field(t, "ohne Tag", name="Fällig am")
        self.who = Field(t, "ich", name="Für wen")
        fields = [("Aufgabe", self.text, 5), ("Fällig", self.due, 2), ("Für", self.who, 2)]
        super().__init__(page, "Neue Aufgabe", [fields])

    def work(self, akte: Akte) -> Work:
        text, due, name = self.text.text(), self.due.text().strip(), self.who.text().strip()

        def enter(home: Home) -> tuple[str, str]:
            who = person_named(home.records, name) if name else home.person
            if who is None:
                raise ToolFailed(f"Hier arbeitet niemand, der {name} heißt.")
            home.service(Aufgaben).add(home.person, akte, text, due=due, who=who)
            return "", ""

        return enter


class ParticipantForm(OfficeForm):
    """Who takes part. Conflicts are looked for first; with one it takes a second time (KZ-15)."""

    def __init__(self, page: Page) -> None:
        t = page.theme
        self.name = Field(t, "Petra Huber oder Holzbau Süd GmbH", name="Name")
        self.role = Combo(t, "Rolle", items=[MenuItem(one, one) for one in ROLES])
        self.role.set_current(ROLES[0])
        sides = [MenuItem(one, one) for one in (_BY_ROLE, "Mandant", "Gegner")]
        self.side = Combo(t, "Seite", items=sides)
        self.side.set_current(_BY_ROLE)
        self.by = Field(t, "niemand", name="Vertreten durch")
        self.sign = Field(t, "Zeichen dort", name="Zeichen")
        self._warned: tuple[str, ...] = ()
        above = [("Name", self.name, 4), ("Rolle", self.role, 2), ("Seite", self.side, 2)]
        below = [("Vertreten durch", self.by, 4), ("Zeichen", self.sign, 2)]
        super().__init__(page, "Neue Beteiligte", [above, below])
        self.save.set_text("Prüfen und eintragen")

    def clear(self) -> None:
        super().clear()
        self._warned = ()
        self.save.set_text("Prüfen und eintragen")

    def work(self, akte: Akte) -> Work:
        side = "" if self.side.current == _BY_ROLE else self.side.current
        role, sign = self.role.current, self.sign.text().strip()
        name, by = (" ".join(one.text().split()) for one in (self.name, self.by))
        said = (str(akte.id), name, role, side, by)
        sure = said == self._warned

        def enter(home: Home) -> tuple[str, str]:
            who = _contact(home, name)
            head = _contact(home, by) if by else None
            told = ""
            if not sure:
                stands = side or (role if role in ("Mandant", "Gegner") else "")
                found = home.service(Konflikte).check(
                    home.person, name_and_heads(who, head), stands, akte=akte, contact=who
                )
                told = "\n".join(str(one) for one in found.hits)
                if found.clashes:
                    self._warned = said
                    raise Clash(f"{told}\nNoch einmal bestätigt, wird trotzdem eingetragen.")
                told = told or "Kein Konflikt gefunden."
            home.service(Kontakte).take_part(
                home.person, akte, who, role, side=side, by=head, sign=sign
            )
            return f"{who.shown} ist eingetragen. {told}".strip(), ""

        return enter

    def _entered(self, told: tuple[str, str] | None, problem: str) -> None:
        super()._entered(told, problem)
        self.save.set_text("Trotzdem eintragen" if self._warned else "Prüfen und eintragen")


class Clash(ToolFailed):
    """Somebody stands on the other side already, perhaps."""


def _contact(home: Home, text: str) -> Kontakt:
    """The contact of this name, or a new one; raises ToolFailed where several have it."""
    kontakte, person = home.service(Kontakte), home.person
    if text.isdecimal() and len(text) <= 15:
        return kontakte.get(person, int(text))
    name = named(text)
    if not name.name:
        raise ToolFailed("Wer? Nenne einen Namen oder die Nummer eines Kontakts.")
    words = f"{name.first} {name.name}".strip()
    same = [
        one
        for one in kontakte.find(person, words)
        if words.casefold() == f"{one.name.first} {one.name.name}".strip().casefold()
    ]
    if len(same) > 1:
        told = "; ".join(f"{one.id}: {one.shown}, {one.city or 'ohne Ort'}" for one in same)
        raise ToolFailed(f"So heißen mehrere Kontakte. Schreib die Nummer: {told}.")
    if same:
        return same[0]
    return kontakte.add(person, art=name.kind, name=name.name, vorname=name.first)
