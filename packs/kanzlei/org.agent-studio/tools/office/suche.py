"""Suche: finds documents of all Akten by their words, of those alone that a person may see (KZ-32).

All words first. What is ranked are at most 20,000 documents, chosen by the rarest words; what a
person may not see is left out before, never after. Below five hits any of the words will do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

from studio.packs import Home, Person, Value, dataclass

from .._patterns import lazy_pattern
from ..law.normen import Normen
from ..law.words import DOTS, Known, content_words, parts, read_synonyms, stem
from .akten import visible
from .settings import OfficeSettings

MOST_RANKED = 20_000
FEW = 5
"""Fewer hits than these with all words, and any of them will do."""
_AT_ONCE = 500
"""Documents that are indexed in one transaction."""
_MOST_TEXT = 1_000_000
"""Characters of a document that are indexed."""
_MOST_WORDS = 20
_MOST_MEANT = 10
"""Words that another one may also mean."""
_MOST_STEMS = 100
_INDEXED = 4
"""Letters of the longest beginnings that are indexed."""
_WEIGHTS = "6, 1, 0"
_BEGUN = lazy_pattern(r"(?<=\w{4})u(?:n(?:g(?:en?)?)?)?$")
"""The beginning of the ending that a stem does not have: ``kündigun``."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found."""

    dokument: int
    akte: int


class Suche:
    """The search in the documents of all Akten. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def find(
        self,
        person: Person,
        query: str,
        *,
        akte: int | None = None,
        most: int = 20,
        typed: bool = False,
    ) -> list[Hit]:
        """The documents that fit best; of an unfinished query, whose last word is ``typed`` so far,
        the newest that do."""
        self.bring_up()
        known = self._home.service(Normen).vocabulary().__contains__
        said = content_words(query)[:_MOST_WORDS]
        meant = read_synonyms(self._home.settings(OfficeSettings).synonyme)
        asked = list(dict.fromkeys(_expression(word, known, meant) for word in said))
        if not asked:
            return []
        if typed and query[-1:].isalnum():
            asked[-1] = " OR ".join([asked[-1], *self._begun(said[-1])])
        inside = f' AND akte:"a{akte}"' if akte is not None else ""
        every = " AND ".join(f"({one})" for one in asked)
        found = self._matching(person, every + inside, most, ranked=not typed)
        if typed or len(found) >= min(FEW, most) or len(asked) == 1:
            return found
        rare = " OR ".join(f"({one})" for one in self._rare(asked))
        known = {one.dokument for one in found}
        more = self._matching(person, f"({rare}){inside}", most, ranked=True) if rare else []
        return [*found, *(one for one in more if one.dokument not in known)][:most]

    def stems(self, query: str) -> list[str]:
        """The stems of the words of a query."""
        return [stem(word) for word in content_words(query)]

    def bring_up(self) -> int:
        """Index what changed since, and forget what was deleted; returns how many documents. Slow
        where these are many."""
        done = 0
        sql = "SELECT dokument FROM dokument_geaendert LIMIT ?"
        while rows := self._records.read(sql, _AT_ONCE):
            indexed = self._home.service(Normen).indexed()
            with self._records.together():
                for row in rows:
                    self._index(cast("int", row["dokument"]), indexed)
            done += len(rows)
        return done

    def forget(self, stems: Collection[str]) -> None:
        """Let go of stems that no document has any more, once theirs are deleted."""
        self.bring_up()
        with self._records.together():
            for one in stems:
                self._records.write(
                    "DELETE FROM stamm WHERE stamm = ? AND NOT EXISTS (SELECT 1 FROM "
                    "dokument_suche WHERE dokument_suche MATCH ?)",
                    *(one, f'"{one}"'),
                )

    def _index(self, dokument: int, indexed: Callable[[str], str]) -> None:
        records = self._records
        records.write("DELETE FROM dokument_geaendert WHERE dokument = ?", dokument)
        records.write(
            "INSERT INTO dokument_suche (dokument_suche, rowid, titel, text, akte) "
            "SELECT 'delete', id, titel, text, akte FROM dokument_worte WHERE id = ?",
            dokument,
        )
        records.write("DELETE FROM dokument_worte WHERE id = ?", dokument)
        rows = records.read(
            "SELECT dokument.akte, dokument.name, dokument.art, seite.text FROM dokument "
            "JOIN version ON version.dokument = dokument.id AND version.nummer = "
            "(SELECT MAX(v.nummer) FROM version AS v WHERE v.dokument = dokument.id) "
            "LEFT JOIN seite ON seite.version = version.id WHERE dokument.id = ? "
            "ORDER BY seite.nummer",
            dokument,
        )
        if rows:
            text = "\n".join(str(row["text"] or "") for row in rows)[:_MOST_TEXT]
            title = f"{rows[0]['name']} {rows[0]['art']}"
            self._write([index_row(dokument, cast("int", rows[0]["akte"]), title, text, indexed)])

    def add_indexed(self, rows: Sequence[tuple[Value, ...]]) -> None:
        """Keep rows of ``index_row`` of documents that are new."""
        with self._records.together():
            for first in range(0, len(rows), _AT_ONCE):
                some = rows[first : first + _AT_ONCE]
                self._write(some)
                self._records.write(
                    "DELETE FROM dokument_geaendert WHERE dokument BETWEEN ? AND ?",
                    *(some[0][0], some[-1][0]),
                )

    def _write(self, rows: Sequence[tuple[Value, ...]]) -> None:
        marks = ", ".join(["(?, ?, ?, ?)"] * len(rows))
        values = [value for row in rows for value in row]
        self._records.write(f"INSERT INTO dokument_worte VALUES {marks}", *values)
        self._records.write(
            f"INSERT INTO dokument_suche (rowid, titel, text, akte) VALUES {marks}", *values
        )
        found = sorted({one for row in rows for text in row[1:3] for one in str(text).split()})
        for first in range(0, len(found), _AT_ONCE):
            some = found[first : first + _AT_ONCE]
            marks = ", ".join(["(?)"] * len(some))
            self._records.write(f"INSERT OR IGNORE INTO stamm VALUES {marks}", *some)

    def _matching(self, person: Person, match: str, most: int, *, ranked: bool) -> list[Hit]:
        """The hits of an expression among the newest that the person may see."""
        allowed, values = visible(person)
        seen = "" if allowed == "1" else f"AND d.akte IN (SELECT id FROM akte WHERE {allowed}) "
        value = f"bm25(dokument_suche, {_WEIGHTS})" if ranked else "0"
        rows = self._records.read(
            f"SELECT id, akte FROM (SELECT d.id, d.akte, {value} AS wert FROM dokument_suche "
            "JOIN dokument AS d ON d.id = dokument_suche.rowid "
            f"WHERE dokument_suche MATCH ? {seen}ORDER BY dokument_suche.rowid DESC LIMIT ?) "
            "ORDER BY wert, id DESC LIMIT ?",
            *(match, *values, MOST_RANKED if ranked else most, most),
        )
        return [Hit(cast("int", row["id"]), cast("int", row["akte"])) for row in rows]

    def _begun(self, word: str) -> list[str]:
        """Expressions for what begins as a word does. Beginnings of two to four letters are indexed
        themselves; of longer ones the stems are known."""
        plain = _BEGUN.sub("", word).translate(DOTS)
        if len(plain) <= _INDEXED:
            return [f'"{plain}"*']
        sql = "SELECT stamm FROM stamm WHERE stamm BETWEEN ? AND ? LIMIT ?"
        rows = self._records.read(sql, plain, f"{plain}\U0010ffff", _MOST_STEMS)
        return [f'"{row["stamm"]}"' for row in rows]

    def _rare(self, asked: Sequence[str]) -> list[str]:
        """The rarest of the expressions that together have no more hits than are ranked; one at
        least."""
        sql = (
            "SELECT COUNT(*) AS n FROM "
            "(SELECT 1 FROM dokument_suche WHERE dokument_suche MATCH ? LIMIT ?)"
        )
        counts = {
            one: cast("int", self._records.read(sql, one, MOST_RANKED)[0]["n"]) for one in asked
        }
        rare: list[str] = []
        left = MOST_RANKED
        for one in sorted((one for one in asked if counts[one]), key=counts.__getitem__):
            left -= counts[one]
            if rare and left < 0:
                break
            rare.append(one)
        return rare


def index_row(
    dokument: int, akte: int, title: str, text: str, indexed: Callable[[str], str]
) -> tuple[Value, ...]:
    """What is indexed of a document."""
    return dokument, indexed(title), indexed(text), f"a{akte}"


def _expression(word: str, known: Known, meant: Mapping[str, str]) -> str:
    """What fits a word: its stem, its parts together, and what the office also means by it."""
    found: list[str] = []
    for one in (word, *content_words(meant.get(stem(word), ""))[:_MOST_MEANT]):
        both = " AND ".join(f'"{stem(part)}"' for part in parts(one, known, 1))
        found += [f'"{stem(one)}"', *([f"({both})"] if both else [])]
    return " OR ".join(found)
