"""The form of a Kostennote: it makes a Word file of the bill that is shown (KZ-25)."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from studio.packs import Home, ToolFailed
from studio.packs.ui import Field, Page

from ..tools import _german as german
from ..tools.fees.bill import Bill
from ..tools.office.akten import Akte
from ..tools.office.kostennote import write_note
from ._forms import OfficeForm
from ._rows import MONTHS

_FIELDS = {
    "rechnungsnummer": ("Rechnungsnummer", "2026-017"),
    "leistungszeitraum": ("Leistungszeitraum", "Januar bis März 2026"),
    "ort_datum": ("Ort und Datum", ""),
    "mandant_anschrift": ("Anschrift des Mandanten", "wie in den Kontakten"),
    "kanzlei": ("Kanzlei", "wie eingestellt"),
    "steuernummer": ("Steuernummer", "wie eingestellt"),
}


class NoteForm(OfficeForm):
    """What a Kostennote says beside its bill. ``bill`` is what the page shows."""

    def __init__(self, page: Page) -> None:
        t, today = page.theme, datetime.date.today()
        self.bill: Bill | None = None
        self.fields = {name: Field(t, hint, name=title) for name, (title, hint) in _FIELDS.items()}
        day = f"{today.day}. {MONTHS[today.month - 1]} {today.year}"
        self.fields["ort_datum"].setPlaceholderText(f"München, den {day}")
        rows = [
            [(_FIELDS[name][0], self.fields[name], wide) for name, wide in row]
            for row in (
                (("rechnungsnummer", 2), ("leistungszeitraum", 3), ("ort_datum", 3)),
                (("mandant_anschrift", 4), ("kanzlei", 2), ("steuernummer", 2)),
            )
        ]
        title = "Zeiten abgerechnet bis"
        self.until = Field(t, "leer: keine", name=title)
        rows[1].append((title, self.until, 2))
        super().__init__(page, "Kostennote", rows)
        self.save.set_text("In die Akte legen")

    def work(self, akte: Akte) -> Callable[[Home], tuple[str, str]]:
        bill, until = self.bill, self.until.text()
        given = {name: field.text() for name, field in self.fields.items()}
        values = [
            one.value
            for part in (bill.sections if bill else ())
            for one in part.rows
            if one.value is not None
        ]
        if values:
            given["wert"] = german.euros(max(values))

        def enter(home: Home) -> tuple[str, str]:
            if bill is None:
                raise ToolFailed("Es ist nichts gerechnet. Gib Wert und Positionen ein.")
            made, billed = write_note(home, home.person, akte, bill, given, until)
            told = german.counted(billed, "Zeit ist", "Zeiten sind")
            told = f" {told} damit abgerechnet." if billed else ""
            return f"{made.name} liegt in {akte.az}. Prüfe und unterschreibe sie.{told}", ""

        return enter
