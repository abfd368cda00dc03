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
from .persons import require_may_enter

MUSTER = "Kostennote"


def write_note(
    home: Home, person: Person, akte: Akte, bill: Bill, given: Mapping[str, str]
) -> Dokument:
    """A new document of the template “Kostennote”, the office's own if it has one. Blocks.

    ``given`` are its fields that the Akte does not have. Raises ToolFailed for one that is missing.
    """
    require_may_enter(person, "Kostennoten")
    documents = home.service(Dokumente)
    muster = next((one for one in all_muster(documents.templates) if one.name == MUSTER), None)
    if muster is None:
        raise ToolFailed(f"Das Muster {MUSTER} gibt es nicht.")
    said = {name: value for name, value in given.items() if value.strip()}
    values = {**known_fields(home, person, akte), **said, "kosten": statement(bill)}
    data = filled(muster, values)
    number = "".join(one if one.isalnum() else "-" for one in said.get("rechnungsnummer", ""))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{MUSTER} {number}.docx"
        path.write_bytes(data)
        return documents.add(person, akte, path, kind=MUSTER)
