"""Retention: which Akten may go, what is held, and what is deleted with an Akte (§ 50 BRAO, KZ-45).

Nothing is deleted by itself: a person deletes from the list, and it is recorded. With an Akte go
its rows in every table, its texts and placeholders, its folder, and the chats about it with their
drafts.
"""

from __future__ import annotations

import datetime
import re

from studio.packs import Home, Person, ToolFailed, dataclass

from .._patterns import lazy_pattern
from ..masking.mask import Masken
from .akten import Akte, Akten, visible
from .audit import append
from .dokumente import Dokumente
from .history import note, now
from .persons import ADMIN, ANWALT
from .sealing import delete_folder, forget_sealed, open_folder, seal_folder, sealed_of
from .settings import OfficeSettings
from .suche import Suche

YEARS = 6
_CREATED = lazy_pattern(r"CREATE TABLE (\w+) \((.*)\)", re.S | re.I)
_REFERS = lazy_pattern(r"^\s*(\w+)[^\n]*\bREFERENCES (\w+)", re.M)
_KEPT = {"protokoll"}


@dataclass(frozen=True, slots=True)
class Kept:
    """An Akte that is over. ``until`` is the last day that it is kept; ``held`` why longer."""

    akte: Akte
    ended: str
    until: datetime.date
    held: str

    @property
    def due(self) -> bool:
        return not self.held and self.until < datetime.date.today()


class Aufbewahrung:
    """How long Akten are kept. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def close_akte(self, person: Person, akte: Akte, day: datetime.date) -> None:
        """End a mandate: its Akte is put away, and the years begin."""
        _require_lawyer(person, "legt Akten ab")
        if self._records.read(
            "SELECT 1 FROM frist WHERE akte = ? AND zustand IN ('berechnet', 'geprüft')", akte.id
        ):
            raise ToolFailed(f"In der Akte {akte.az} laufen noch Fristen. Erledige sie zuerst.")
        with self._records.together():
            sql = "UPDATE akte SET status = 'abgelegt', beendet = ? WHERE id = ?"
            self._records.write(sql, day.isoformat(), akte.id)
            new = f"abgelegt zum {day.isoformat()}"
            note(self._records, person, akte.id, "akte", akte.id,
                 field="status", old=akte.state, new=new)  # fmt: skip

    def hold(self, person: Person, akte: Akte, reason: str) -> None:
        """Keep an Akte whatever its age; without a reason that ends."""
        _require_lawyer(person, "hält Akten fest")
        with self._records.together():
            self._records.write("DELETE FROM aufbewahrung WHERE akte = ?", akte.id)
            if reason := " ".join(reason.split()):
                sql = "INSERT INTO aufbewahrung (akte, grund) VALUES (?, ?)"
                self._records.write(sql, akte.id, reason)
            note(self._records, person, akte.id, "akte", akte.id,
                 field="aufbewahrung", new=reason or "frei")  # fmt: skip

    def all(self, person: Person) -> list[Kept]:
        """Those that are put away and the person may see, the oldest first."""
        allowed, values = visible(person)
        sql = (
            "SELECT akte.id, beendet, coalesce(aufbewahrung.grund, '') AS grund FROM akte "
            "LEFT JOIN aufbewahrung ON aufbewahrung.akte = akte.id "
            f"WHERE beendet IS NOT NULL AND status = 'abgelegt' AND {allowed} ORDER BY beendet"
        )
        years = max(YEARS, self._home.settings(OfficeSettings).aufbewahrung_jahre)
        akten = self._home.service(Akten)
        return [
            Kept(
                akten.get(person, int(str(row["id"]))),
                str(row["beendet"]),
                datetime.date(int(str(row["beendet"])[:4]) + years, 12, 31),
                str(row["grund"]),
            )
            for row in self._records.read(sql, *values)
        ]

    def seal(self, person: Person, akte: Akte) -> int:
        """Encrypt the files of an Akte, see ``sealing``; returns how many. Raises ToolFailed."""
        _require_lawyer(person, "verschließt Akten")
        key = self._records.file_key()
        if key is None:
            raise ToolFailed(
                "Die Daten der Kanzlei sind nicht verschlüsselt, und damit hätten die Dateien "
                "keinen Schlüssel. Zuerst: agent-studio packs encrypt kanzlei"
            )
        count = seal_folder(self._home.service(Dokumente).open_folder(akte), key)
        note(self._records, person, akte.id, "akte", akte.id, field="dateien", new="verschlossen")
        return count

    def unseal(self, person: Person, akte: Akte) -> int:
        """Have the files of an Akte in its folder again; returns how many. Raises ToolFailed."""
        _require_lawyer(person, "öffnet verschlossene Akten")
        folder = self._home.service(Dokumente).folder_of(akte)
        if not sealed_of(folder).is_file():
            raise ToolFailed(f"Die Dateien der Akte {akte.az} sind nicht verschlossen.")
        key = self._records.file_key(opening=True)
        if key is None:
            raise ToolFailed(
                "Der Schlüssel ist nicht im Schlüsselbund dieses Rechners. Gib den von Deinem "
                "Notfallblatt ein: agent-studio packs key kanzlei"
            )
        count = open_folder(folder, key)
        note(self._records, person, akte.id, "akte", akte.id, field="dateien", new="offen")
        return count

    def delete(self, person: Person, akte: Akte, *, reason: str = "") -> str:
        """Delete an Akte for good; before its years are over with a reason only.

        Returns what went with it. Raises ToolFailed for one that has to be kept.
        """
        _require_lawyer(person, "löscht Akten")
        reason = " ".join(reason.split())
        kept = next((one for one in self.all(person) if one.akte.id == akte.id), None)
        if kept is None:
            raise ToolFailed(f"Die Akte {akte.az} ist nicht abgelegt.")
        if kept.held:
            raise ToolFailed(f"Die Akte {akte.az} wird festgehalten: {kept.held}.")
        if not kept.due and not reason:
            raise ToolFailed(
                f"Die Akte {akte.az} ist bis {kept.until:%d.%m.%Y} aufzubewahren (§ 50 BRAO). "
                "Früher geht es nur mit einem Grund."
            )
        chats = self._home.forget(akte.address)  # first: what follows can be done again
        folder = self._home.service(Dokumente).folder_of(akte)
        delete_folder(folder)
        if folder.exists():
            raise ToolFailed(f"{folder} kann nicht gelöscht werden. Die Akte steht noch.")
        forget_sealed(folder)
        stems = self._records.read(
            "SELECT titel || ' ' || text AS stems FROM dokument_worte WHERE id IN "
            "(SELECT id FROM dokument WHERE akte = ?)",
            akte.id,
        )
        with self._records.together():
            rows = self.remove_rows(akte)
            due = f"aufbewahrt bis {kept.until.isoformat()}"
            append(self._records, now(), person, akte.id, "Akte gelöscht",
                   f"{reason or due}; {rows} Zeilen, {chats} Gespräche", az=akte.az)  # fmt: skip
        self._home.service(Masken).forget(akte.id)
        self._home.service(Suche).forget(
            {one for row in stems for one in str(row["stems"]).split()}
        )
        return f"{rows} Zeilen, {chats} Gespräche und der Ordner {folder.name}"

    def remove_rows(self, akte: Akte) -> int:
        """Delete all rows of an Akte, in a transaction of the caller's; returns how many."""
        return self._delete_rows("akte", "akte.id = ?", akte.id)

    def _delete_rows(self, table: str, where: str, value: int) -> int:
        """Delete rows of a table, after those of other tables that refer to them."""
        count = 0
        chosen = f"SELECT id FROM {table} WHERE {where}"
        for child, column in self._referring(table):
            if child not in _KEPT:
                inner = f"{child}.{column} IN ({chosen})"
                count += self._delete_rows(child, inner, value)
        return count + self._records.write(f"DELETE FROM {table} WHERE {where}", value)

    def _referring(self, table: str) -> list[tuple[str, str]]:
        """The tables with a column that refers to this one, those of later versions too."""
        found: list[tuple[str, str]] = []
        for row in self._records.read("SELECT sql FROM sqlite_master WHERE type = 'table'"):
            made = _CREATED.match(str(row["sql"] or ""))
            if made and made[1] != table:
                columns = _REFERS.findall(made[2])
                found += [(made[1], column) for column, other in columns if other == table]
        return found


def _require_lawyer(person: Person, does: str) -> None:
    if person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Nur ein Anwalt {does}, nicht {person.role}.")
