"""The page Kontakte: people and firms of the office, and the check for conflicts (KZ-15, KZ-47)."""

from __future__ import annotations

import dataclasses
from functools import cached_property

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Combo,
    Field,
    Hairline,
    Label,
    MenuItem,
    PackWindow,
    Page,
    Theme,
    column_of,
    row_of,
    widget_of,
)

from ..tools.contacts.konflikte import Check, Konflikte, named
from ..tools.contacts.kontakte import KINDS, Kontakt, Kontakte
from ..tools.intake.kinds import CONTACTS
from ._found_list import FoundList
from ._intake_card import CardPlace, FileCard
from ._rows import ElidedLabel, pair

_WAIT = 120
"""Milliseconds after the last letter before it is looked for."""
_FIELDS = (
    ("name", "Name oder Firma"),
    ("vorname", "Vorname"),
    ("fruehere_namen", "Frühere Namen"),
    ("geboren", "Geboren"),
    ("strasse", "Straße"),
    ("plz", "PLZ"),
    ("ort", "Ort"),
    ("telefon", "Telefon"),
    ("email", "E-Mail"),
    ("iban", "IBAN"),
)
SIDES = (("Mandant", "als Mandant"), ("Gegner", "als Gegner"))


class KontaktePage(Page):
    """Kontakte, by name."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        t = self.theme
        self.wanted = ""
        self.search = Field(t, "Name oder Ort", icon="search", name="Kontakte suchen")
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: self.run(self.load()))
        self.search.textChanged.connect(self._typed)
        check = Button(t, "Konflikt prüfen", icon="scale", clicked=self.show_check)
        new = Button(t, "Kontakt", icon="plus", clicked=self.show_form)
        read = Button(t, "Einlesen", icon="inbox", clicked=lambda: self.intake.ask())
        parts = [Label(t, "Kontakte", "heading"), (self.search, 1), check, read, new]
        head = row_of(parts, spacing=14, margins=(20, 10, 14, 10))
        self._places = column_of(spacing=0)
        self.body = FoundList(
            self,
            "Kontakte",
            ("Noch kein Kontakt.", "Kein Kontakt passt dazu."),
            self._find,
            self._count,
            self._row,
            KontaktRow.reuse,
            self._sample,
        )
        column_of([head, Hairline(t), self._places, (self.body, 1)], spacing=0, on=self)

    # What is made when it is first wanted

    @cached_property
    def intake(self) -> FileCard:
        card = FileCard(self, CONTACTS)
        card.changed.connect(lambda: self.run(self.load()))
        self._places.addWidget(CardPlace(card))
        return card

    @cached_property
    def form(self) -> KontaktForm:
        form = KontaktForm(self.theme)
        form.save.clicked.connect(self.add)
        return form

    @cached_property
    def check(self) -> CheckForm:
        form = CheckForm(self.theme)
        form.go.clicked.connect(self.look)
        form.name.returnPressed.connect(form.go.click)
        return form

    @cached_property
    def form_place(self) -> QWidget:
        return self._placed(self.form)

    @cached_property
    def check_place(self) -> QWidget:
        return self._placed(self.check)

    def _placed(self, form: KontaktForm | CheckForm) -> QWidget:
        place = widget_of(row_of([form], margins=(20, 20, 20, 0)))
        form.cancel.clicked.connect(place.hide)
        place.hide()
        self._places.addWidget(place)
        return place

    def open(self, *target: str) -> None:
        self.wanted = target[0] if target else ""
        self.run(self.load())
        self.search.setFocus()

    def _typed(self) -> None:
        self.wanted = ""
        self._soon.start()

    @property
    def rows(self) -> list[KontaktRow]:
        """Those in sight."""
        return self.body.rows

    async def load(self) -> None:
        """Read and show everything anew."""
        await self.body.load(self.search.text())

    def _find(self, words: str, most: int, skip: int) -> list[Kontakt]:
        """The wanted one alone, where one is."""
        service, person = self.home.service(Kontakte), self.home.person
        if self.wanted.isdecimal() and not words.strip():
            return [service.get(person, int(self.wanted))][skip:]
        return service.find(person, words, most, skip)

    def _count(self, words: str) -> int:
        if self.wanted.isdecimal() and not words.strip():
            return 1
        return self.home.service(Kontakte).count(self.home.person, words)

    def _row(self, contact: Kontakt) -> KontaktRow:
        row = KontaktRow(self.theme, contact)
        if str(contact.id) == self.wanted:
            row.detail.show()
        return row

    def _sample(self, contact: Kontakt) -> KontaktRow:
        return KontaktRow(self.theme, dataclasses.replace(contact, city="Ort"))

    def show_form(self) -> None:
        self.check_place.hide()
        self.form_place.show()
        self.form.fields["name"].setFocus()

    def show_check(self) -> None:
        self.form_place.hide()
        self.check_place.show()
        self.check.name.setFocus()

    def add(self) -> None:
        """Keep the contact of the form; a refusal is shown in it."""
        values, home = self.form.values(), self.home

        def done(_: object, problem: str) -> None:
            self.form.problem.show_text(problem)
            if not problem:
                self.form.clear()
                self.form_place.hide()
                self.run(self.load())

        self.attempt(
            lambda: home.service(Kontakte).add(home.person, **values), done, self.form.save
        )

    def look(self) -> None:
        """Check whether somebody may be taken on; the result is kept with its day."""
        name, side, home = self.check.name.text(), self.check.side.current, self.home

        def work() -> Check:
            return home.service(Konflikte).check(home.person, [named(name)], side)

        def done(found: Check | None, problem: str) -> None:
            if found is None:
                self.check.show_problem(problem)
            else:
                self.check.show_result(found)

        self.attempt(work, done, self.check.go)


class KontaktRow(QWidget):
    """One contact; more of it shows what is known."""

    def __init__(self, theme: Theme, contact: Kontakt) -> None:
        super().__init__()
        self._theme = theme
        self._name, self._below = ElidedLabel(theme, "ui"), ElidedLabel(theme, "small", "text2")
        words = column_of([self._name, self._below], spacing=1)
        self.more = Button(theme, "Mehr")
        self.more.clicked.connect(lambda: self.detail.setVisible(self.detail.isHidden()))
        line = row_of([(words, 1), self.more], spacing=12)
        self._column = column_of([line], spacing=6, margins=(0, 9, 0, 9), on=self)
        self._show(contact)

    def _show(self, contact: Kontakt) -> None:
        self.contact = contact
        self._place = " ".join(filter(None, (contact.zip, contact.city)))
        about = ", ".join(filter(None, (self._place, contact.phone, contact.mail)))
        self._name.setText(contact.shown)
        self._below.show_text(about)
        self.more.setAccessibleName(f"Mehr zu {contact.shown}")
        self.setAccessibleName(f"{contact.shown}, {about}")

    def reuse(self, contact: Kontakt) -> bool:
        """Show another contact, unless more of this one was shown."""
        if "detail" in self.__dict__:
            return False
        self._show(contact)
        return True

    @cached_property
    def detail(self) -> QWidget:
        """All that is known, hidden at first."""
        contact = self.contact
        known = (
            ("Name", contact.shown),
            ("Frühere Namen", contact.name.earlier),
            ("Geboren", contact.name.born),
            ("Straße", contact.street),
            ("Ort", self._place),
            ("Telefon", contact.phone),
            ("E-Mail", contact.mail),
            ("IBAN", contact.iban),
        )
        pairs = [pair(self._theme, title, value) for title, value in known]
        detail = widget_of(column_of(pairs, spacing=5, margins=(0, 4, 0, 6)))
        detail.hide()
        self._column.addWidget(detail)
        return detail


class KontaktForm(Card):
    """The form of a new contact."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.kind = Combo(theme, "Art", items=[MenuItem(one, one) for one in KINDS])
        self.kind.set_current(KINDS[0])
        self.fields = {name: Field(theme, "", name=title) for name, title in _FIELDS}
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.save = Button(theme, "Anlegen", "primary")
        self.cancel = Button(theme, "Abbrechen")
        for field in self.fields.values():
            field.returnPressed.connect(self.save.click)
        titles = dict(_FIELDS)

        def row(*names: str) -> QWidget:
            made = [
                (column_of([Label(theme, titles[one], "small", "text2"), self.fields[one]],
                           spacing=4), 1)
                for one in names
            ]  # fmt: skip
            return widget_of(row_of(made, spacing=10))

        kind = column_of([Label(theme, "Art", "small", "text2"), self.kind], spacing=4)
        first = row_of([kind, (row("name", "vorname"), 1)], spacing=10)
        parts = [
            Label(theme, "Neuer Kontakt", "ui_strong"),
            first,
            row("fruehere_namen", "geboren"),
            row("strasse", "plz", "ort"),
            row("telefon", "email", "iban"),
            self.problem,
            row_of([STRETCH, self.cancel, self.save], spacing=8),
        ]
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)

    def values(self) -> dict[str, str]:
        written = {name: field.text().strip() for name, field in self.fields.items()}
        return {"art": self.kind.current, **{name: one for name, one in written.items() if one}}

    def clear(self) -> None:
        for field in self.fields.values():
            field.clear()
        self.problem.hide()


class CheckForm(Card):
    """Asks who is to be taken on, or stand against a client, and shows what is known."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.name = Field(theme, "Petra Huber, oder eine Firma", name="Wer geprüft wird")
        self.side = Combo(theme, "Seite", items=[MenuItem(*one) for one in SIDES])
        self.side.set_current(SIDES[0][0])
        self.go = Button(theme, "Prüfen", "primary")
        self.cancel = Button(theme, "Schließen")
        self.result = Label(theme, "", "small", wrap=True)
        self.result.hide()
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        parts = [
            Label(theme, "Konfliktprüfung (§ 43a IV BRAO)", "ui_strong"),
            row_of([(self.name, 1), self.side, self.cancel, self.go], spacing=8),
            self.problem,
            self.result,
        ]
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)

    def show_result(self, check: Check) -> None:
        clashes = [str(one) for one in check.hits if one.clash]
        others = [str(one) for one in check.hits if not one.clash]
        self.problem.show_text("\n".join(clashes))
        if check.hits:
            self.result.show_text("\n".join(others))
        else:
            self.result.show_text(f"Kein Treffer zu {check.asked}. Die Prüfung ist festgehalten.")

    def show_problem(self, words: str) -> None:
        self.problem.show_text(words)
        self.result.show_text("")
