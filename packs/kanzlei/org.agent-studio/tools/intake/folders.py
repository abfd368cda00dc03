"""Folders: reads the files of a folder into an Akte, those alone that it does not have (KZ-51)."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import cast

from studio.packs import Home, Person, ToolFailed, dataclass

from .. import _german as german
from ..office.akten import Akte, Akten
from ..office.dokumente import Dokumente
from ..office.history import note, now
from ..office.persons import ADMIN, ANWALT, SACHBEARBEITER, number_of
from ..office.suche import Suche
from ..office.texts import MOST_BYTES
from . import akten, calendars, cases
from .contacts import take_back

MOST_FILES = 5_000
"""Of one folder."""


@dataclass(slots=True)
class FolderPlan:
    """What would be read in. ``known`` are files that the Akte has already, or the folder twice;
    ``problems`` says in German what cannot be read."""

    akte: Akte
    folder: Path
    new: list[Path] = field(default_factory=list[Path])
    known: list[Path] = field(default_factory=list[Path])
    problems: list[str] = field(default_factory=list[str])
    number: int = 0


class Intake:
    """Reads files into Akten. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def plan(self, person: Person, akte: Akte, folder: Path) -> FolderPlan:
        """Look at a folder; nothing is changed. Raises ToolFailed where there is nothing."""
        if person.role not in (ADMIN, ANWALT, SACHBEARBEITER, "SEKRETARIAT"):
            raise ToolFailed(f"{person.name} darf als {person.role} nichts einlesen.")
        if not folder.is_dir():
            raise ToolFailed(f"{folder} ist kein Ordner.")
        seen = self._home.service(Dokumente).digests(akte)
        plan = FolderPlan(akte, folder)
        for count, path in enumerate(_files(folder, plan.problems), 1):
            if count > MOST_FILES:
                plan.problems.append(
                    f"Mehr als {german.count(MOST_FILES)} Dateien; die übrigen blieben liegen."
                )
                break
            try:
                digest = _digest(path)
            except OSError as error:
                plan.problems.append(f"{path} kann nicht gelesen werden: {error.strerror}.")
                continue
            except ToolFailed as error:
                plan.problems.append(str(error))
                continue
            (plan.known if digest in seen else plan.new).append(path)
            seen.add(digest)
        return plan

    def apply(self, person: Person, plan: FolderPlan) -> FolderPlan:
        """Read in what is new; what fails is told, and the rest goes on."""
        service = self._home.service(Dokumente)
        plan.number = self._records.write(
            "INSERT INTO einlesung (zeit, person, quelle) VALUES (?, ?, ?)",
            *(now(), number_of(person), str(plan.folder)),
        )
        done: list[Path] = []
        for path in plan.new:
            place = path.parent.relative_to(plan.folder).as_posix()
            try:
                made = service.add(person, plan.akte, path, folder="" if place == "." else place)
            except ToolFailed as error:
                plan.problems.append(str(error))
                continue
            sql = "INSERT INTO einlesung_dokument VALUES (?, ?)"
            self._records.write(sql, plan.number, made.id)
            if made.missing:
                plan.problems.append(f"{made.name}: {made.missing}")
            done.append(path)
        plan.new = done
        self._home.service(Suche).bring_up()
        return plan

    def undo(self, person: Person, number: int) -> list[str]:
        """Take back what an import brought; what was changed since stays, and is told."""
        sql = "SELECT * FROM einlesung WHERE id = ? AND zurueckgenommen IS NULL"
        rows = self._records.read(sql, number)
        if not rows:
            raise ToolFailed(f"Es gibt keine Einlesung {number}, oder sie ist zurückgenommen.")
        if person.role not in (ADMIN, ANWALT) and rows[0]["person"] != number_of(person):
            raise ToolFailed(f"Die Einlesung {number} nimmt zurück, wer sie gemacht hat.")
        self._require_open(person, number)
        told, taken = list[str](), 0
        sql = "SELECT dokument FROM einlesung_dokument WHERE einlesung = ?"
        for row in self._records.read(sql, number):
            problem = self._remove(person, cast("int", row["dokument"]))
            taken += not problem
            told += [problem] if problem else []
        entries, changed = calendars.take_back(self._home, person, number)
        opened, used = akten.take_back(self._home, person, number)
        left, gone = cases.take_back(self._home, person, number)
        contacts, kept = take_back(self._home, person, number)
        sql = "UPDATE einlesung SET zurueckgenommen = ? WHERE id = ?"
        self._records.write(sql, now(), number)
        self._home.service(Suche).bring_up()
        counts = (
            (opened, used, "Akten"),
            (left, gone, "Beteiligte"),
            (contacts, kept, "Kontakte"),
            (taken, told, "Dokumente"),
            (entries, changed, "Einträge"),
        )
        what = ", ".join(
            german.many(count, noun) for count, other, noun in counts if count or other
        )
        return [f"{what or 'Nichts'} zurückgenommen.", *told, *used, *gone, *kept, *changed]

    def _require_open(self, person: Person, number: int) -> None:
        """Refuse while files of an import are sealed: it is taken back once, and whole."""
        service, akten = self._home.service(Dokumente), self._home.service(Akten)
        sql = (
            "SELECT DISTINCT akte FROM dokument JOIN einlesung_dokument ON dokument = dokument.id "
            "WHERE einlesung = ?"
        )
        for row in self._records.read(sql, number):
            try:
                akte = akten.get(person, cast("int", row["akte"]))
            except ToolFailed:  # it is not for this person, which is told of each document
                continue
            service.open_folder(akte)

    def _remove(self, person: Person, number: int) -> str:
        """Remove a document as it came; returns why not, in German."""
        service = self._home.service(Dokumente)
        try:
            one = service.get(person, number)
        except ToolFailed as error:
            return str(error)
        akte = self._home.service(Akten).get(person, one.akte)
        try:
            path = service.open_folder(akte) / one.folder / one.name
        except ToolFailed as error:
            return str(error)
        try:
            same = one.version == 1 and _digest(path) == one.digest
        except (OSError, ToolFailed):
            same = one.version == 1 and not path.exists()
        if not same:
            return f"{one.name} wurde seither geändert und bleibt."
        with self._records.together():
            self._records.write("DELETE FROM seite WHERE version = ?", one.stand)
            self._records.write("DELETE FROM version WHERE id = ?", one.stand)
            self._records.write("DELETE FROM dokument WHERE id = ?", one.id)
            note(self._records, person, akte.id, "dokument", one.id,
                 field="zurückgenommen", old=one.name)  # fmt: skip
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # one that has other files stays
            place = path.parent
            while place != service.root:
                place.rmdir()
                place = place.parent
        return ""


def _files(folder: Path, problems: list[str]) -> Iterator[Path]:
    """The files of a folder and those below, without hidden ones and links."""

    def told(error: OSError) -> None:
        problems.append(f"{error.filename} kann nicht gelesen werden: {error.strerror}.")

    for place, folders, names in os.walk(folder, onerror=told):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith((".", "~$")) and not path.is_symlink():
                yield path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise ToolFailed(f"{path.name} ist größer als 50 MB.")
        return hashlib.file_digest(file, "sha256").hexdigest()
