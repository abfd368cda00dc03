"""Tabs of an Akte with a form each: planned things, time, notes, participants; and drafts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.packs import Home
from studio.packs.ui import (
    STRETCH,
    Button,
    Label,
    Page,
    Tag,
    Theme,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.contacts.konflikte import Check
from ..tools.contacts.kontakte import Beteiligung
from ..tools.office.akten import Akte
from ..tools.office.aufgaben import Aufgaben
from ..tools.office.entwuerfe import Entwurf
from ..tools.office.notizen import Notiz, Notizen
from ..tools.office.termine import OPEN, Termine
from ..tools.office.zeiten import Zeit, duration
from ._akte_facts import AkteFacts
from ._forms import OfficeForm
from ._hint_rows import AlertRow, ProposalRow
from ._planned_rows import AufgabeRow, TerminRow
from ._record_forms import AufgabeForm, NotizForm, ParticipantForm, TerminForm, ZeitForm
from ._rows import LinkTitle, ScrolledColumn, section

_STATES = {
    "PENDING": ("Entwurf", "warn"),
    "CONFLICT": ("Konflikt", "err"),
    "APPROVED": ("genehmigt", "ok"),
    "REJECTED": ("verworfen", "neutral"),
    "SUPERSEDED": ("ersetzt", "neutral"),
    "UNDONE": ("zurückgenommen", "neutral"),
}


class RecordsTab(QWidget):
    """Records of an Akte under their forms. ``changed``: they have to be read anew, with what is
    to be told and what to be warned of."""

    changed = Signal(str, str)

    def __init__(self, page: Page, *forms: tuple[str, OfficeForm]) -> None:
        super().__init__()
        self.page, self.theme = page, page.theme
        self.forms = [form for _, form in forms]
        self.buttons = [
            Button(page.theme, name, icon="plus", clicked=lambda _=False, one=form: self.ask(one))
            for name, form in forms
        ]
        bar = widget_of(row_of([STRETCH, *self.buttons], spacing=8, margins=(20, 12, 20, 0)))
        if not forms:
            bar.hide()
        places = widget_of(column_of(self.forms, spacing=8, margins=(20, 12, 20, 0)))
        self._places = places
        for form in self.forms:
            form.hide()
            form.closed.connect(self.close_form)
            form.entered.connect(self.changed)
        places.hide()
        self.body = ScrolledColumn(self.theme)
        column_of([bar, places, (self.body, 1)], spacing=0, on=self)

    def show_akte(self, akte: Akte) -> None:
        for form in self.forms:
            form.show_akte(akte)

    def ask(self, form: OfficeForm) -> None:
        """Show one of the forms."""
        for one in self.forms:
            one.setVisible(one is form)
        self._places.show()
        form.first.setFocus()

    def close_form(self) -> bool:
        """Hide the form; says whether one was shown."""
        shown = not self._places.isHidden()
        self._places.hide()
        return shown

    def show_sections(self, nothing: str, *sections: tuple[str, Sequence[QWidget]]) -> None:
        found = [section(self.theme, title, rows) for title, rows in sections if rows]
        self.body.show_parts(found or [Label(self.theme, nothing, "ui", "text2", wrap=True)])

    def do(self, work: Callable[[Home], None]) -> None:
        """Do what a button of a row says; a refusal is told above."""
        home = self.page.home
        self.page.attempt(lambda: work(home), lambda _, problem: self.changed.emit("", problem))


class PlannedTab(RecordsTab):
    """Termine and Aufgaben."""

    def __init__(self, page: Page) -> None:
        self.termin, self.aufgabe = TerminForm(page), AufgabeForm(page)
        super().__init__(page, ("Aufgabe", self.aufgabe), ("Termin", self.termin))
        self.rows: list[TerminRow | AufgabeRow] = []

    def show_facts(self, facts: AkteFacts) -> None:
        t, today = self.theme, datetime.date.today()
        aufgaben = [AufgabeRow(t, one, today, in_akte=True) for one in facts.aufgaben]
        termine = [TerminRow(t, one, today, in_akte=True) for one in facts.termine]
        for row in aufgaben:
            row.button.clicked.connect(lambda _=False, one=row.aufgabe: self.do(
                lambda home: home.service(Aufgaben).finish(home.person, one)))  # fmt: skip
        for row in termine:
            row.button.clicked.connect(lambda _=False, one=row.termin: self.do(
                lambda home: home.service(Termine).cancel(home.person, one)))  # fmt: skip
        self.rows = [*aufgaben, *termine]

        def coming(row: TerminRow) -> bool:
            return row.termin.day >= today and row.termin.state == OPEN

        self.show_sections(
            "Keine Aufgabe und kein Termin.",
            ("Aufgaben", aufgaben),
            ("Termine", [row for row in termine if coming(row)]),
            ("Vergangene und abgesagte Termine", [row for row in termine if not coming(row)]),
        )


class TimeTab(RecordsTab):
    """Time, with its sums."""

    def __init__(self, page: Page) -> None:
        self.form = ZeitForm(page)
        super().__init__(page, ("Zeit", self.form))
        self.form.watched.connect(lambda: self.changed.emit("", ""))
        self.sums = ""

    def show_facts(self, facts: AkteFacts) -> None:
        t, zeiten = self.theme, facts.zeiten
        self.form.show_stopwatch(facts.watch)
        if not zeiten:
            self.sums = ""
            self.show_sections("Noch keine Zeit. Mit Z trägst Du sie ein.")
            return
        billable = [one.minutes for one in zeiten if one.billable]
        unbilled = [one.minutes for one in zeiten if one.billable and not one.billed]
        self.sums = (
            f"Zusammen {duration(sum(one.minutes for one in zeiten))}, "
            f"abrechenbar {duration(sum(billable))}, davon offen {duration(sum(unbilled))}"
        )
        rows = [_zeit_row(t, one) for one in zeiten]
        sums = Label(t, self.sums, "small", "text2")
        self.body.show_parts([section(t, "Zeit", rows, sums)])


class NotesTab(RecordsTab):
    """Notes and hints, and above them what Helena proposes, which counts nowhere yet (KZ-37)."""

    def __init__(self, page: Page) -> None:
        self.form = NotizForm(page)
        super().__init__(page, ("Notiz", self.form))
        self.proposals: list[ProposalRow] = []
        self.alerts: list[AlertRow] = []

    def show_facts(self, facts: AkteFacts) -> None:
        t, today = self.theme, datetime.date.today()
        self.proposals = [ProposalRow(t, one) for one in facts.proposals]
        for row in self.proposals:
            row.decide.clicked.connect(
                lambda _=False, one=row.draft: self.page.studio.show_drafts(one.id)
            )
        self.alerts = [AlertRow(t, one, today) for one in facts.alerts]
        for row in self.alerts:
            row.done.clicked.connect(lambda _=False, one=row.alert: self.do(
                lambda home: home.service(Notizen).see_to(home.person, one)))  # fmt: skip
        self.show_sections(
            "Noch keine Notiz.",
            ("Vorschläge", self.proposals),
            ("Hinweise", self.alerts),
            ("Notizen", [_note_row(t, one) for one in facts.notizen]),
        )


class DraftsTab(RecordsTab):
    """Drafts of the Akte; the window's page of drafts alone decides about them."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.rows: list[DraftRow] = []

    def show_facts(self, facts: AkteFacts) -> None:
        self.rows = [DraftRow(self.page, one) for one in facts.drafts]
        self.show_sections(
            "Kein Entwurf. Nichts gilt, bevor Du genehmigst.",
            ("Warten auf Dich", [row for row in self.rows if row.draft.open]),
            ("Entschieden", [row for row in self.rows if not row.draft.open]),
        )


class ParticipantsTab(RecordsTab):
    """Who takes part, and the checks for conflicts."""

    def __init__(self, page: Page) -> None:
        self.form = ParticipantForm(page)
        super().__init__(page, ("Beteiligte", self.form))
        self.rows: list[QWidget] = []

    def show_facts(self, facts: AkteFacts) -> None:
        self.rows = [participant_row(self.theme, one, facts.checks) for one in facts.parts]
        checks = [_check_row(self.theme, one) for one in facts.checks]
        self.show_sections(
            "Noch niemand beteiligt.", ("Beteiligte", self.rows), ("Konfliktprüfungen", checks)
        )


class DraftRow(QWidget):
    """A draft, whose title opens it."""

    def __init__(self, page: Page, draft: Entwurf, *, named: bool = False) -> None:
        super().__init__()
        self.draft, t = draft, page.theme
        state, kind = _STATES[draft.state]
        self.link = LinkTitle(t, draft.title, f"Entwurf ansehen: {draft.title}, {state}")
        self.link.clicked.connect(lambda: page.studio.show_drafts(draft.id))
        about = ", ".join(filter(None, (draft.az if named else "", draft.reason)))
        second = Label(t, about, "small", "text2", wrap=True)
        if not about:
            second.hide()
        time = datetime.datetime.fromisoformat(draft.made).astimezone() if draft.made else None
        today = time is not None and time.date() == datetime.date.today()
        when = "" if time is None else f"{time:%H:%M}" if today else f"{time:%d.%m. %H:%M}"
        marks: list[QWidget] = [] if named and draft.state == "PENDING" else [Tag(t, state, kind)]
        words = column_of([self.link, second], spacing=1)
        parts = [(words, 1), Label(t, when, "small", "text2", digits=True), *marks]
        row_of(parts, spacing=12, margins=(0, 8, 0, 8), on=self)


def participant_row(
    theme: Theme, one: Beteiligung, checks: Sequence[Check] = (), *, few: bool = False
) -> QWidget:
    """One participant; ``few`` words of it for the overview."""
    side = "" if one.side in ("", one.role) else f"auf der Seite: {one.side}"
    by = f"vertreten durch {one.by}" if one.by else ""
    sign = f"Zeichen {one.sign}" if one.sign and not few else ""
    about = ", ".join(filter(None, (one.role, side, one.contact.city, by, sign)))
    second = Label(theme, about, "small", "text2", wrap=True)
    words = column_of([Label(theme, one.contact.shown, "ui", wrap=True), second], spacing=1)
    last = next((check for check in checks if check.contact == one.contact.id), None)
    told = check_words(last) if last else "" if few else "nicht auf Konflikte geprüft"
    ink = "err" if last and last.clashes else "text2"
    parts = [(words, 1), *([] if few else [Label(theme, told, "small", ink)])]
    row = widget_of(row_of(parts, spacing=12, margins=(0, 8, 0, 8)))
    row.setAccessibleName(", ".join(filter(None, (one.contact.shown, about, told))))
    return row


def check_words(check: Check) -> str:
    """``Konfliktprüfung 02.06.2025, kein Treffer``."""
    day = datetime.datetime.fromisoformat(check.day).astimezone()
    found = "Widerstreit möglich" if check.clashes else f"{len(check.hits)} bekannt"
    return f"Konfliktprüfung {day:%d.%m.%Y}, {found if check.hits else 'kein Treffer'}"


def _check_row(theme: Theme, check: Check) -> QWidget:
    head = f"{check.asked}: {check_words(check)}"
    lines = [Label(theme, head, "ui", "err" if check.clashes else "text1", wrap=True)]
    lines += [Label(theme, str(hit), "small", "text2", wrap=True) for hit in check.hits]
    return widget_of(column_of(lines, spacing=1, margins=(0, 8, 0, 8)))


def _zeit_row(theme: Theme, one: Zeit) -> QWidget:
    day = Label(theme, f"{german.read_day(one.day):%d.%m.%Y}", "small", "text2", digits=True)
    day.setMinimumWidth(theme.px(76))
    marks = [] if one.billable else [Tag(theme, "nicht abrechenbar")]
    marks += [Tag(theme, f"Kostennote {one.billed}", "ok")] if one.billed else []
    long = Label(theme, duration(one.minutes), "ui", digits=True)
    words = Label(theme, one.text, "ui", wrap=True)
    parts = [day, (words, 1), *marks, Label(theme, one.person, "small", "text2"), long]
    return widget_of(row_of(parts, spacing=12, margins=(0, 8, 0, 8)))


def _note_row(theme: Theme, one: Notiz) -> QWidget:
    made = datetime.datetime.fromisoformat(one.made).astimezone()
    about = Label(theme, f"{one.person}, {made:%d.%m.%Y %H:%M}", "small", "text2")
    text = Label(theme, one.text, "ui", wrap=True)
    return widget_of(column_of([text, about], spacing=1, margins=(0, 8, 0, 8)))
