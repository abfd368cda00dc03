"""Export: one Akte as a whole in a zip, for another program or another office (KZ-50)."""

from __future__ import annotations

import datetime
import json
import zipfile
from pathlib import Path

from studio.packs import Home, Person, ToolFailed

from .. import _german as german
from .akten import Akte
from .audit import append, as_csv, private
from .aufgaben import Aufgaben
from .dokumente import Dokumente
from .fristen import Fristen
from .history import changes_of, now
from .kalender import calendar, of_aufgaben, of_fristen, of_termine
from .persons import ADMIN, ANWALT
from .termine import Termine

_ROWS = ("frist", "termin", "aufgabe", "zeit", "notiz", "alert", "dokument")
_PARTS = (
    "SELECT beteiligung.rolle, beteiligung.seite, beteiligung.zeichen, kontakt.* FROM beteiligung "
    "JOIN kontakt ON kontakt.id = beteiligung.kontakt WHERE akte = ? ORDER BY beteiligung.id"
)
_MOST_CHANGES = 1_000_000


def write_akte(home: Home, person: Person, akte: Akte, target: Path) -> int:
    """Write a new zip with its records, documents, calendar and audit; returns how many documents.

    Documents that are gone are left out, and named in the records. Blocks; raises ToolFailed.
    """
    if person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Eine Akte gibt ein Anwalt heraus, nicht {person.role}.")
    records, documents = home.records, home.service(Dokumente)
    entries = [
        *of_fristen(home.service(Fristen).find(person, akte=akte.id)),
        *of_termine(home.service(Termine).find(person, akte=akte.id)),
        *of_aufgaben(home.service(Aufgaben).find(person, akte=akte.id)),
    ]
    told = {
        "akte": records.read("SELECT * FROM akte WHERE id = ?", akte.id)[0],
        "beteiligte": records.read(_PARTS, akte.id),
        **{
            table: records.read(f"SELECT * FROM {table} WHERE akte = ? ORDER BY id", akte.id)
            for table in _ROWS
        },
        "verlauf": [str(one) for one in changes_of(records, akte.id, _MOST_CHANGES)],
        "zeit_der_ausgabe": now(),
    }
    place, count = documents.open_folder(akte), 0
    try:
        with (
            open(target, "xb", opener=private) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as made,
        ):
            made.writestr("akte.json", json.dumps(told, ensure_ascii=False, indent=1))
            made.writestr("protokoll.csv", "\ufeff" + as_csv(records, akte.id))
            made.writestr("kalender.ics", calendar(entries, datetime.datetime.now(datetime.UTC)))
            for one in documents.find(akte):
                path = place / one.folder / one.name
                if path.is_file() and path.resolve().is_relative_to(place.resolve()):
                    made.write(path, f"Dokumente/{one.folder}/{one.name}".replace("//", "/"))
                    count += 1
    except FileExistsError as error:
        raise ToolFailed(f"{target} gibt es schon.") from error
    except OSError as error:
        target.unlink(missing_ok=True)
        raise ToolFailed(f"{target} kann nicht geschrieben werden: {error.strerror}.") from error
    append(records, now(), person, akte.id, "Akte herausgegeben", german.many(count, "Dokumente"))
    return count
