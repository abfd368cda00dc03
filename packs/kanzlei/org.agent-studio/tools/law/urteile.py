"""Urteile: the store of decisions, found by words, by norm and by citation (KZ-27, KZ-29)."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import cast

from studio.packs import Home, ToolFailed, Value, dataclass

from .. import _german as german
from .citations import citations
from .files import read_all
from .judgment import Judgment, read_judgment
from .normen import Imported, Normen
from .words import asked

_MOST = 100


@dataclass(frozen=True, slots=True)
class Urteil:
    """One decision. ``paragraphs`` are part, Randnummer and text."""

    id: int
    court: str
    chamber: str
    day: datetime.date
    az: str
    ecli: str
    kind: str
    title: str
    headnote: str
    norms: str
    source: str
    """Empty for a decision of the official site."""
    state: str
    read: str

    @property
    def note(self) -> str:
        """What to know of a decision that is not from the official site, in German."""
        if not self.source:
            return ""
        days = f"geladen am {_shown(self.read)}"
        if self.state:
            days += f", dort geändert am {_shown(self.state)}"
        return (
            f"Von {self.source}, keiner amtlichen Stelle ({days}): sie kann veraltet oder "
            "unvollständig sein."
        )

    @property
    def address(self) -> str:
        return f"kanzlei:urteil/{self.id}"

    @property
    def name(self) -> str:
        kind = f"{self.kind} vom " if self.kind else ""
        return f"{self.court}, {kind}{self.day:%d.%m.%Y}, {self.az}"


class Urteile:
    """The decisions that were imported. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def add(self, path: Path) -> Imported:
        """Import the decisions of a file, a zip or a folder; raises ToolFailed where there are
        none. ``laws`` of the result counts decisions. Slow."""
        done = Imported()
        for one in read_all(path, read_judgment):
            if isinstance(one, str):
                done.problems.append(one)
                continue
            done.changed += self._add(one)
            done.laws += 1
        return done

    def keep(self, one: Judgment) -> Imported:
        """Import a decision; raises ToolFailed where the official one is there already."""
        return Imported(laws=1, changed=self._add(one))

    def find(
        self,
        query: str,
        *,
        court: str = "",
        since: str = "",
        norm: str = "",
        first: int = 0,
        most: int = 20,
    ) -> tuple[list[Urteil], int]:
        """Those that fit best from the first on, and how many there are, of more than 100 the best
        100; without words the newest."""
        terms = asked(query, self._home.service(Normen).vocabulary().__contains__)
        sql, values = "SELECT entscheidung.* FROM entscheidung", list[Value]()
        where, order = ["1"], "tag DESC"
        if terms:
            sql += " JOIN entscheidung_suche ON entscheidung_suche.rowid = entscheidung.id"
            where.append("entscheidung_suche MATCH ?")
            values.append(" OR ".join(f'"{one}"' for one in terms))
            order = "bm25(entscheidung_suche, 6, 1), tag DESC"
        elif query.strip():
            return [], 0
        if court:
            where.append("gericht LIKE ? ESCAPE '\\'")
            values.append("%" + re.sub(r"([\\%_])", r"\\\1", court.strip()) + "%")
        if since:
            where.append("tag >= ?")
            values.append(since)
        if norm:
            named = [f"{one.law}/{one.section}" for one in citations(norm)]
            if not named:
                raise ToolFailed(f"norm: „{norm}“ nennt keine Norm. Geschrieben wird § 573 BGB.")
            marks = ", ".join("?" * len(named))
            where.append(
                "EXISTS (SELECT 1 FROM entscheidung_norm AS n WHERE n.entscheidung = "
                f"entscheidung.id AND n.norm IN ({marks}))"
            )
            values += named
        sql += f" WHERE {' AND '.join(where)} ORDER BY {order} LIMIT {_MOST}"
        rows = self._records.read(sql, *values)
        return [_urteil(row) for row in rows[first : first + most]], len(rows)

    def get(self, number: int) -> Urteil | None:
        rows = self._records.read("SELECT * FROM entscheidung WHERE id = ?", number)
        return _urteil(rows[0]) if rows else None

    def cited(self, words: str) -> list[Urteil]:
        """The decisions with an Aktenzeichen, or an ECLI."""
        sql = "SELECT * FROM entscheidung WHERE az_schluessel = ? OR (ecli != '' AND ecli = ?)"
        return [_urteil(row) for row in self._records.read(sql, az_key(words), words.strip())]

    def paragraphs(self, urteil: Urteil) -> list[tuple[str, str, str]]:
        """Part, Randnummer and text of each paragraph."""
        sql = "SELECT teil, rn, text FROM entscheidung_absatz WHERE entscheidung = ? ORDER BY folge"
        rows = self._records.read(sql, urteil.id)
        return [(str(row["teil"]), str(row["rn"]), str(row["text"])) for row in rows]

    def _add(self, one: Judgment) -> int:
        """Keep a decision, or its newer text; returns 1 where something is new."""
        records, indexed = self._records, self._home.service(Normen).indexed()
        text = "\n".join(paragraph.text for paragraph in one.paragraphs)
        words = indexed(f"{one.title} {one.headnote}"), indexed(text)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        with records.together():
            rows = records.read(
                "SELECT id, doknr, quelle, stand FROM entscheidung WHERE doknr = ? OR "
                "((quelle = '') != (? = '') AND az_schluessel = ? AND tag = ? AND gericht = ?)",
                *(one.key, one.source, az_key(one.az), one.day, one.court),
            )
            if one.source and not all(row["quelle"] for row in rows):
                raise ToolFailed(f"{one.court}, {one.az} ist schon im Bestand, und zwar amtlich.")
            if rows:
                number = cast("int", rows[0]["id"])
                sql = "SELECT titel, text FROM entscheidung_worte WHERE id = ?"
                same = (rows[0]["doknr"], rows[0]["stand"]) == (one.key, one.state)
                if same and [tuple(row.values()) for row in records.read(sql, number)] == [words]:
                    sql = "UPDATE entscheidung SET eingelesen = ? WHERE id = ?"
                    records.write(sql, today, number)
                    return 0
                self._forget(number)
            else:
                number = None
            number = records.write(
                "INSERT INTO entscheidung (id, doknr, ecli, gericht, spruchkoerper, tag, az, "
                "az_schluessel, art, titel, leitsatz, normen, eingelesen, quelle, stand) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(number, one.key, one.ecli, one.court, one.chamber, one.day, one.az),
                *(az_key(one.az), one.kind, one.title, one.headnote, one.norms),
                *(today, one.source, one.state),
            )
            for order, paragraph in enumerate(one.paragraphs):
                records.write(
                    "INSERT INTO entscheidung_absatz VALUES (?, ?, ?, ?, ?)",
                    *(number, order, paragraph.part, paragraph.number, paragraph.text),
                )
            for norm in {f"{cited.law}/{cited.section}" for cited in citations(one.norms)}:
                records.write("INSERT INTO entscheidung_norm VALUES (?, ?)", norm, number)
            records.write("INSERT INTO entscheidung_worte VALUES (?, ?, ?)", number, *words)
            sql = "INSERT INTO entscheidung_suche (rowid, titel, text) VALUES (?, ?, ?)"
            records.write(sql, number, *words)
        return 1

    def _forget(self, number: int) -> None:
        records = self._records
        records.write(
            "INSERT INTO entscheidung_suche (entscheidung_suche, rowid, titel, text) "
            "SELECT 'delete', id, titel, text FROM entscheidung_worte WHERE id = ?",
            number,
        )
        records.write("DELETE FROM entscheidung_worte WHERE id = ?", number)
        for table in ("entscheidung_absatz", "entscheidung_norm"):
            records.write(f"DELETE FROM {table} WHERE entscheidung = ?", number)
        records.write("DELETE FROM entscheidung WHERE id = ?", number)


def az_key(az: str) -> str:
    """An Aktenzeichen without what is written in different ways."""
    return re.sub(r"[\s.\u00a0]+", "", az).upper()


def _urteil(row: dict[str, Value]) -> Urteil:
    return Urteil(
        id=cast("int", row["id"]),
        court=str(row["gericht"]),
        chamber=str(row["spruchkoerper"]),
        day=german.read_day(str(row["tag"])),
        az=str(row["az"]),
        ecli=str(row["ecli"]),
        kind=str(row["art"]),
        title=str(row["titel"]),
        headnote=str(row["leitsatz"]),
        norms=str(row["normen"]),
        source=str(row["quelle"]),
        state=str(row["stand"]),
        read=str(row["eingelesen"]),
    )


def _shown(day: str) -> str:
    return f"{german.read_day(day):%d.%m.%Y}"
