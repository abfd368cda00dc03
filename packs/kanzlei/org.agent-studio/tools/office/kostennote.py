"""Kostennote: puts a bill into an Akte as a Word file, filled from the template (KZ-25, KZ-33)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from studio.packs import Home, Person, ToolFailed

from ..fees.bill import Bill
from ..fees.note import statement
from ..muster.fields import known_fields
from ..muster.filling import all_muster, filled
from .akten import Akte
from .dokumente import Dokument, Dokumente
from .forms import read_day
from .persons import require_may_enter
from .zeiten import Zeiten

MUSTER = "Kostennote"


def write_note(
    home: Home,
    person: Person,
    akte: Akte,
    bill: Bill,
    given: Mapping[str, str],
    until: str = "",
) -> tuple[Dokument, int]:
    """A new document of the template “Kostennote”, the office's own if it has one. Blocks.

    ``given`` are its fields that the Akte does not have. Time that was entered up to the day
    ``until`` is billed by it; returns how many entries, too. Raises ToolFailed for a field that is
    missing, and for a wrong day.
    """
    require_may_enter(person, "Kostennoten")
    day = read_day("Zeiten bis", until) if until.strip() else ""
    documents = home.service(Dokumente)
    muster = next((one for one in all_muster(documents.templates) if one.name == MUSTER), None)
    if muster is None:
        raise ToolFailed(f"Das Muster {MUSTER} gibt es nicht.")
    said = {name: value.strip() for name, value in given.items() if value.strip()}
    values = {**known_fields(home, person, akte), **said, "kosten": statement(bill)}
    data = filled(muster, values)
    number = "".join(one if one.isalnum() else "-" for one in said.get("rechnungsnummer", ""))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{MUSTER} {number}.docx"
        path.write_bytes(data)
        made = documents.add(person, akte, path, kind=MUSTER)
    invoice = said.get("rechnungsnummer", made.name)
    return made, home.service(Zeiten).bill(person, akte.id, day, invoice) if day else 0
