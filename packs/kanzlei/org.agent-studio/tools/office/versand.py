"""Versandmappe: numbered PDFs of an Akte with a list, and with an XJustiz message where it is
wanted, for beA, which this program does not send to (KZ-34)."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from pathlib import Path

from studio.packs import Home, Person, ToolFailed, dataclass

from .. import _german as german
from .._patterns import lazy_pattern
from ..xjustiz.codes import FILENAME
from ..xjustiz.writing import SentDocument, write_message
from .akten import Akte
from .audit import append, cell
from .dokumente import Dokument, Dokumente
from .history import now

FILE = Path(__file__).parents[2] / "data" / "versand.csv"
LIST = "Verzeichnis.csv"
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9ÄÖÜäöüß_-]+")
"""beA takes letters, digits, _ and - in names, and one point before the ending."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one message. ``unchecked``: nobody looked them up yet."""

    files: int
    bytes: int
    name: int
    unchecked: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """One file of a Versandmappe."""

    name: str
    document: Dokument
    bytes: int
    digest: str


def limits() -> Limits:
    """What one message may have, from the data file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = {row["grenze"]: row for row in csv.DictReader(file)}
    files, size, name = (int(rows[one]["wert"]) for one in ("Dateien", "Bytes", "Zeichen"))
    unchecked = any(row["geprueft"] == "ungeprüft" for row in rows.values())
    return Limits(files, size, name, unchecked)


def put_together(
    home: Home,
    person: Person,
    akte: Akte,
    numbers: Sequence[int],
    target: Path,
    *,
    xjustiz: bool = False,
    stands: str = "",
) -> list[Sent]:
    """Copy documents, in this order, into a new folder with a list; raises ToolFailed. Blocks.

    ``xjustiz``: an XJustiz message too, in which the client is what ``stands`` says, as Kläger.
    All is checked before the first file is written. Where writing fails, the folder goes again.
    """
    most, service = limits(), home.service(Dokumente)
    if not numbers:
        raise ToolFailed("Nenne die Dokumente, die hineinkommen, mit ihren Nummern.")
    if len(set(numbers)) < len(numbers):
        raise ToolFailed("Ein Dokument ist zweimal genannt.")
    if (count := len(numbers) + xjustiz) > most.files:
        raise ToolFailed(f"Es sind {count} Dateien, mehr als {most.files}: teile sie auf.")
    sent: list[Sent] = []
    contents: list[bytes] = []
    total = 0
    for at, number in enumerate(numbers, 1):
        document = service.get(person, number)
        if document.akte != akte.id:
            raise ToolFailed(f"Das Dokument {number} gehört nicht zur Akte {akte.az}.")
        data = service.content(akte, document.folder, document.name)
        if not data.startswith(b"%PDF-"):
            raise ToolFailed(f"{document.name} ist kein PDF: speichere es zuerst als PDF.")
        total += len(data)
        if total > most.bytes:
            mb = most.bytes // 1_000_000
            raise ToolFailed(f"Zusammen sind es mehr als {mb} MB: teile sie auf.")
        name = _name(at, len(numbers), document.name, most.name)
        sent.append(Sent(name, document, len(data), hashlib.sha256(data).hexdigest()))
        contents.append(data)
    message = b""
    if xjustiz:
        named = [SentDocument(one.name, one.document.name, one.document.kind) for one in sent]
        message = write_message(home, akte, named, stands)
    try:
        target.mkdir(parents=True)
    except FileExistsError as error:
        raise ToolFailed(f"{target} gibt es schon. Nenne einen neuen Ordner.") from error
    except OSError as error:
        raise ToolFailed(f"{target} kann nicht angelegt werden: {error.strerror}.") from error
    try:
        for one, data in zip(sent, contents, strict=True):
            (target / one.name).write_bytes(data)
        if message:
            (target / FILENAME).write_bytes(message)
        _write_list(target / LIST, sent)
    except OSError as error:
        for path in target.iterdir():
            path.unlink(missing_ok=True)
        target.rmdir()
        raise ToolFailed(f"{target} kann nicht beschrieben werden: {error.strerror}.") from error
    what = f"Versandmappe mit {german.many(len(sent), 'Dokumenten')}"
    append(home.records, now(), person, akte.id, what, "zusammengestellt")
    return sent


def _name(at: int, many: int, name: str, longest: int) -> str:
    number = str(at).zfill(max(2, len(str(many))))
    stem = _UNSAFE.sub("_", Path(name).stem).strip("_") or "Dokument"
    return f"{number}_{stem[: longest - len(number) - len('_.pdf')]}.pdf"


def _write_list(path: Path, sent: Sequence[Sent]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:  # as Excel reads it
        table = csv.writer(file, delimiter=";")
        table.writerow(["Nr.", "Datei", "Dokument", "Art", "Datum", "Seiten", "Bytes", "SHA-256"])
        for at, one in enumerate(sent, 1):
            d = one.document
            row = [at, one.name, d.name, d.kind, d.date, d.pages, one.bytes, one.digest]
            table.writerow([cell(str(value)) for value in row])
