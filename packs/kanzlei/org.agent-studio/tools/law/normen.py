"""Normen: the store of laws. Keeps each wording with its days, and finds sections (KZ-28, KZ-31).

What is found is a section; of it that Absatz is shown which has most of the words asked for.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import cast

from studio.packs import Home, Records, ToolFailed, Value, dataclass

from .. import _german as german
from ..office.settings import OfficeSettings
from .citations import Citation
from .files import laws_of
from .laws import Law
from .words import DOTS, asked, indexer, read_synonyms, vocabulary, with_synonyms

SHIPPED = Path(__file__).parents[2] / "data" / "gesetze"
"""Sections that the pack computes with, by the wording of 2022 (KZ-27)."""
OLD_DAYS = 90
"""After so many days a wording is shown with a warning."""
_TITLE_WEIGHT = 6


@dataclass(slots=True)
class Imported:
    """What an import did. ``problems`` says in German what was not read, and why."""

    laws: int = 0
    sections: int = 0
    changed: int = 0
    problems: list[str] = field(default_factory=list[str])

    def told(self, nouns: str) -> str:
        """``1 Entscheidung, 1 neu oder geändert``."""
        return f"{german.many(self.laws, nouns)}, {german.count(self.changed)} neu oder geändert"


@dataclass(frozen=True, slots=True)
class Section:
    """One section as it was on a day, with its text by Absatz."""

    law: str
    law_title: str
    sign: str
    number: str
    title: str
    place: str
    day: str
    state: str
    hint: str
    texts: dict[str, str]

    @property
    def citation(self) -> Citation:
        return Citation(self.law, self.number, sign=self.sign)

    @property
    def stand(self) -> str:
        """Of which day the wording is, and by which change of the law."""
        day = german.day(datetime.date.fromisoformat(self.day))
        return f"{day} ({self.state})" if self.state else day

    def warning(self, today: datetime.date) -> str:
        """What to check first; empty for a wording that is new enough."""
        days = (today - datetime.date.fromisoformat(self.day)).days
        if days <= OLD_DAYS:
            return self.hint
        old = f"Der Stand ist {days} Tage alt. Prüfe den Wortlaut, bevor Du ihn verwendest."
        return f"{old} {self.hint}".strip()


class Normen:
    """The laws that ship with the pack, and those that were imported. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = Lock()
        self._shipped = False
        self._words: set[str] | None = None
        self._indexed: Callable[[str], str] = str

    @property
    def _records(self) -> Records:
        """The store; with its first use it gets the excerpts of laws that nobody imported."""
        with self._lock:
            first, self._shipped = not self._shipped, True
            if first:
                try:
                    self._add_shipped()
                except BaseException:
                    self._shipped = False
                    raise
        return self._home.records

    def _add_shipped(self) -> None:
        known = "SELECT 1 FROM gesetz WHERE kurz = ? AND (auszug = 0 OR tag >= ?)"
        changed = 0
        for law in laws_of(SHIPPED):
            if isinstance(law, Law) and not self._home.records.read(known, law.short, law.day):
                changed += self._add(law, excerpt=True)
        if changed or not self._home.records.read("SELECT 1 FROM wort LIMIT 1"):
            self._index()

    def add(self, path: Path) -> Imported:
        """Import the laws of a file, a zip or a folder; raises ToolFailed where there are none."""
        done, records = Imported(), self._records
        for law in laws_of(path):
            if isinstance(law, str):
                done.problems.append(law)
                continue
            try:
                done.changed += self._add(law)
            except ToolFailed as error:
                done.problems.append(str(error))
                continue
            done.laws += 1
            done.sections += len(law.sections)
        if done.changed or not records.read("SELECT 1 FROM wort LIMIT 1"):
            self._index()
        return done

    def laws(self) -> list[dict[str, Value]]:
        """The laws in the store: ``kurz``, ``titel``, ``stand``, ``tag``, and whether it is only an
        excerpt, ``auszug``."""
        return self._records.read(
            "SELECT kurz, titel, stand, tag, auszug FROM gesetz ORDER BY kurz"
        )

    def search(
        self, query: str, *, law: str = "", day: str = "", first: int = 0, most: int = 20
    ) -> tuple[list[tuple[Section, str]], int]:
        """The sections that fit best from the first on, each with the Absatz that does, and how
        many there are; of more than 100 the best 100."""
        synonyms = read_synonyms(self._home.settings(OfficeSettings).synonyme)
        terms = asked(with_synonyms(query, synonyms), cache(self.knows))
        if not terms:
            return [], 0
        when, days = _when(day)
        rows = self._records.read(
            "SELECT paragraf.id FROM norm_suche JOIN paragraf ON paragraf.id = norm_suche.rowid "
            "JOIN gesetz ON gesetz.id = paragraf.gesetz WHERE norm_suche MATCH ? "
            "AND (? = '' OR gesetz.kurz = ? COLLATE NOCASE) "
            f"AND EXISTS (SELECT 1 FROM norm WHERE norm.paragraf = paragraf.id AND {when}) "
            f"ORDER BY bm25(norm_suche, {_TITLE_WEIGHT}, 1), paragraf.id LIMIT 100",
            *(" OR ".join(f'"{one}"' for one in terms), law, law, *days),
        )
        shown = (self._section(cast("int", row["id"]), day) for row in rows[first : first + most])
        return [(one, _best(one, terms)) for one in shown if one], len(rows)

    def section(self, citation: Citation, day: str = "") -> Section | None:
        """The section that is cited, as it is or was on a day; None if it is not in the store."""
        rows = self._records.read(
            "SELECT paragraf.id FROM paragraf JOIN gesetz ON gesetz.id = paragraf.gesetz "
            "WHERE gesetz.kurz = ? COLLATE NOCASE AND nummer = ?",
            citation.law,
            citation.section,
        )
        return self._section(cast("int", rows[0]["id"]), day) if rows else None

    def has(self, law: str, *, whole: bool = False) -> bool:
        """Whether a law is in the store, or the whole of it."""
        sql = "SELECT auszug FROM gesetz WHERE kurz = ? COLLATE NOCASE"
        return any(not (whole and row["auszug"]) for row in self._records.read(sql, law))

    def _section(self, number: int, day: str) -> Section | None:
        """None where it had no wording on the day."""
        when, days = _when(day)
        rows = self._records.read(
            "SELECT gesetz.kurz, gesetz.titel AS gesetz, gesetz.tag, gesetz.stand AS neu, "
            "paragraf.zeichen, nummer, gliederung, paragraf.hinweis, absatz, norm.titel, text, "
            "norm.stand, von, bis "
            "FROM norm JOIN paragraf ON paragraf.id = norm.paragraf "
            "JOIN gesetz ON gesetz.id = paragraf.gesetz "
            f"WHERE paragraf.id = ? AND {when}",
            number,
            *days,
        )
        if not rows:
            return None
        row, ended = rows[0], any(one["bis"] for one in rows)
        return Section(
            law=str(row["kurz"]),
            law_title=str(row["gesetz"]),
            sign=str(row["zeichen"]),
            number=str(row["nummer"]),
            title=str(row["titel"]),
            place=str(row["gliederung"]),
            day=max(str(one["von"]) for one in rows) if ended else str(row["tag"]),
            state=str(row["stand"] if ended else row["neu"]),
            hint="" if ended else str(row["hinweis"]),
            texts={
                str(one["absatz"]): str(one["text"])
                for one in sorted(rows, key=lambda one: _order(str(one["absatz"])))
            },
        )

    def vocabulary(self) -> set[str]:
        """The words by which compounds are split."""
        records = self._records
        if self._words is None:
            sql, found, last = (
                "SELECT wort FROM wort WHERE wort > ? ORDER BY wort LIMIT 50000",
                set[str](),
                "",
            )
            while rows := records.read(sql, last):
                found.update(str(row["wort"]) for row in rows)
                last = str(rows[-1]["wort"])
            self._words, self._indexed = found, indexer(found.__contains__)
        return self._words

    def indexed(self) -> Callable[[str], str]:
        """Makes of a text what is indexed of it."""
        self.vocabulary()
        return self._indexed

    def knows(self, word: str) -> bool:
        """Whether a word, in small letters, stands in the laws more than twice."""
        return bool(self._records.read("SELECT 1 FROM wort WHERE wort = ?", word))

    def _add(self, law: Law, *, excerpt: bool = False) -> int:
        """Keep a law; returns how many wordings are new, changed or gone."""
        records = self._home.records
        with records.together():
            rows = records.read("SELECT id, tag FROM gesetz WHERE kurz = ?", law.short)
            if rows and str(rows[0]["tag"]) > law.day:
                raise ToolFailed(
                    f"{law.short} vom {law.day} ist älter als der Stand vom {rows[0]['tag']}, der "
                    "schon da ist, und wurde nicht eingelesen."
                )
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            records.write(
                "INSERT INTO gesetz (kurz, titel, stand, tag, eingelesen, auszug) "
                "VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (kurz) DO UPDATE SET titel = excluded.titel, stand = excluded.stand, "
                "tag = excluded.tag, eingelesen = excluded.eingelesen, auszug = excluded.auszug",
                *(law.short, law.title, law.state, law.day, today, int(excerpt)),
            )
            number = records.read("SELECT id FROM gesetz WHERE kurz = ?", law.short)[0]["id"]
            if changed := self._add_wordings(number, law):
                records.write("DELETE FROM wort")  # until the index is made anew
            return changed

    def _add_wordings(self, number: Value, law: Law) -> int:
        records, changed = self._home.records, 0
        before = {
            (str(row["nummer"]), str(row["absatz"])): row
            for row in records.read(
                "SELECT norm.id, nummer, absatz, norm.titel, text FROM norm "
                "JOIN paragraf ON paragraf.id = norm.paragraf WHERE gesetz = ? AND bis IS NULL",
                number,
            )
        }
        for order, section in enumerate(law.sections):
            records.write(
                "INSERT INTO paragraf (gesetz, folge, zeichen, nummer, gliederung, hinweis) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (gesetz, nummer) DO UPDATE SET folge = "
                "excluded.folge, gliederung = excluded.gliederung, hinweis = excluded.hinweis",
                *(number, order, section.sign, section.number, section.place, section.hint),
            )
            sql = "SELECT id FROM paragraf WHERE gesetz = ? AND nummer = ?"
            paragraf = records.read(sql, number, section.number)[0]["id"]
            for absatz, text in section.texts.items():
                old = before.pop((section.number, absatz), None)
                if old and (old["titel"], old["text"]) == (section.title, text):
                    continue
                if old:
                    records.write("UPDATE norm SET bis = ? WHERE id = ?", law.day, old["id"])
                records.write(
                    "INSERT INTO norm (paragraf, absatz, titel, text, stand, von) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    *(paragraf, absatz, section.title, text, law.state, law.day),
                )
                changed += 1
        for gone in before.values():
            records.write("UPDATE norm SET bis = ? WHERE id = ?", law.day, gone["id"])
            changed += 1
        return changed

    def _index(self) -> None:
        """Make the index anew: what is a compound depends on all texts. Slow."""
        records = self._home.records
        found: dict[int, tuple[str, list[str]]] = {}
        last = 0
        while rows := records.read(
            "SELECT id, paragraf, titel, text FROM norm WHERE bis IS NULL AND id > ? "
            "ORDER BY id LIMIT 20000",
            last,
        ):
            for row in rows:
                texts = found.setdefault(cast("int", row["paragraf"]), (str(row["titel"]), []))[1]
                texts.append(str(row["text"]))
            last = cast("int", rows[-1]["id"])
        known = vocabulary(one for title, texts in found.values() for one in (title, *texts))

        indexed = indexer(known.__contains__)
        lines = [
            (number, indexed(title), indexed("\n".join(texts)))
            for number, (title, texts) in found.items()
        ]
        with records.together():
            records.write("INSERT INTO norm_suche (norm_suche) VALUES ('delete-all')")
            records.write("DELETE FROM norm_worte")
            records.write("DELETE FROM wort")
            for word in known:
                records.write("INSERT INTO wort VALUES (?)", word)
            for line in lines:
                records.write("INSERT INTO norm_worte VALUES (?, ?, ?)", *line)
                records.write("INSERT INTO norm_suche (rowid, titel, text) VALUES (?, ?, ?)", *line)
        self._words = None


def _when(day: str) -> tuple[str, tuple[Value, ...]]:
    """A condition on ``norm``, and its values: what holds now, or on a day."""
    if not day:
        return "norm.bis IS NULL", ()
    return "norm.von <= ? AND (norm.bis IS NULL OR norm.bis > ?)", (day, day)


def _order(absatz: str) -> tuple[int, str]:
    digits = absatz.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits or 0), absatz


def _best(section: Section, terms: list[str]) -> str:
    """The Absatz with most of the words. A stem is the beginning of a word without its dots."""

    def fits(absatz: str) -> int:
        text = section.texts[absatz].lower().translate(DOTS)
        return sum(term in text for term in terms)

    return max(section.texts, key=fits)
