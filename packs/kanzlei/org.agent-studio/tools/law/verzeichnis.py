"""Verzeichnis: the list of all decisions of rechtsprechung-im-internet.de (KZ-27).

The site makes it anew each night: some 83,000 rows of court, day, Aktenzeichen and address, 23 MB.
It is read in pieces and kept: what the office looks for is looked for here, and goes nowhere.
A list is a stranger's: it declares nothing, has a limit, and leads to this one site.
"""

from __future__ import annotations

import datetime
import json
import re
import xml.parsers.expat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from studio.packs import Home, ToolFailed, Value, dataclass

from .. import _german as german
from .._patterns import lazy_pattern
from .fetching import HOSTS
from .urteile import az_key

LIST = f"https://{HOSTS[1]}/rii-toc.xml"
MOST = 500_000
"""Rows of a list."""
_FIELDS = ("gericht", "entsch-datum", "aktenzeichen", "link")
_LONGEST = 500
"""Characters of a field."""
_PIECE = 65_536
_ROWS = 2_000
_COURT = lazy_pattern(r"(?:BVerfG|BGH|BAG|BSG|BFH|BVerwG|BPatG)\b", re.I)
"""Those that the site has."""
_DAY = lazy_pattern(r"\b(\d{1,2}\.\s?\d{1,2}\.\s?\d{4})\b")
_NO_WORDS = lazy_pattern(
    r"\b(?:Urteil|Urt|Beschluss|Beschl|vom|v|Az|Rn\.?\s?\d+)\b[.:]*|[,;–—]", re.I
)


@dataclass(frozen=True, slots=True)
class Eintrag:
    """A decision of the list. ``known``: it is in the store."""

    address: str
    court: str
    day: datetime.date
    az: str
    known: bool = False

    @property
    def name(self) -> str:
        return f"{self.court}, {self.day:%d.%m.%Y}, {self.az}"


class Verzeichnis:
    """The list as it was last loaded. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    @property
    def state(self) -> tuple[int, str]:
        """How many decisions the list has, and the day when it was loaded; empty for none."""
        rows = self._records.read(
            "SELECT (SELECT count(*) FROM verzeichnis) AS zahl, "
            "coalesce((SELECT max(tag) FROM verzeichnis_stand), '') AS tag"
        )
        return int(str(rows[0]["zahl"])), str(rows[0]["tag"])

    def replace(self, path: Path, hosts: Iterable[str] = (HOSTS[1],)) -> int:
        """Keep the list in a file in the place of the last one, which stays where this one is
        broken; returns how many decisions it has. Raises ToolFailed. Slow."""
        records, found = self._records, read_list(path, hosts)
        with records.together():
            records.write("DELETE FROM verzeichnis")
            while rows := [*islice(found, _ROWS)]:
                values = [[one.address, one.court, one.day.isoformat(), one.az] for one in rows]
                keyed = [[*row, az_key(row[3])] for row in values]
                records.write(
                    "INSERT OR REPLACE INTO verzeichnis SELECT value ->> 0, value ->> 1, "
                    "value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
                    json.dumps(keyed),
                )
            if not self.state[0]:
                raise ToolFailed("Die Liste nennt keine Entscheidung; die bisherige gilt weiter.")
            records.write("DELETE FROM verzeichnis_stand")
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            records.write("INSERT INTO verzeichnis_stand VALUES (?)", today)
        return self.state[0]

    def find(self, words: str, most: int = 20) -> tuple[list[Eintrag], int]:
        """The newest decisions that words name by court, day and Aktenzeichen, in any order and as
        they are cited, and how many there are."""
        court, day, az = parts_of(words)
        where, values = list[str](), list[Value]()
        for column, pattern in (("gericht", f"{court}%"), ("az_schluessel", f"%{_plain(az)}%")):
            if pattern.strip("%"):
                where.append(f"{column} LIKE ? ESCAPE '\\'")
                values.append(pattern)
        if day:
            where.append("tag = ?")
            values.append(day)
        if not where:
            return [], 0
        which = " AND ".join(where)
        count = self._records.read(f"SELECT count(*) AS n FROM verzeichnis WHERE {which}", *values)
        rows = self._records.read(
            "SELECT *, EXISTS (SELECT 1 FROM entscheidung AS e WHERE e.az_schluessel = "
            "verzeichnis.az_schluessel AND e.tag = verzeichnis.tag) AS da FROM verzeichnis "
            # The number itself before those that only have it within.
            f"WHERE {which} ORDER BY az_schluessel = ? DESC, tag DESC, az LIMIT ?",
            *values,
            az,
            most,
        )
        return [_entry(row) for row in rows], int(str(count[0]["n"]))

    def wanted(self, words: str) -> str:
        """The address of the one decision that words name; an address stays. Raises ToolFailed."""
        if "://" in words:
            return words.strip()
        found, many = self.find(words, 5)
        if not self.state[0]:
            raise ToolFailed("Lade zuerst das Verzeichnis der Entscheidungen.")
        exact = [one for one in found if az_key(one.az) == parts_of(words)[2]]
        if len(exact) == 1 or many == 1:
            return (exact or found)[0].address
        if not many:
            raise ToolFailed(f"„{words}“ steht nicht im Verzeichnis. Wie alt ist es?")
        names = "; ".join(one.name for one in found)
        raise ToolFailed(f"Das sind {many} Entscheidungen, nenne auch Gericht und Tag: {names}")


def parts_of(words: str) -> tuple[str, str, str]:
    """Court, ISO day and Aktenzeichen in words as “BGH, Beschluss vom 14.01.2010, IX ZB 72/08”;
    each may be missing. Raises ToolFailed for a day that there is not."""
    day = ""
    if found := _DAY.search(words):
        try:
            day = german.read_day(found[1].replace(" ", "")).isoformat()
        except ValueError as error:
            raise ToolFailed(f"{found[1]} ist kein Tag.") from error
        words = words[: found.start()] + " " + words[found.end() :]
    court = ""
    if named := _COURT.search(words):
        court = named[0]
        words = words[: named.start()] + " " + words[named.end() :]
    rest = _NO_WORDS.sub(" ", words)
    return court, day, az_key(rest.strip(" -:"))


def read_list(path: Path, hosts: Iterable[str]) -> Iterator[Eintrag]:
    """The decisions of a list, piece by piece; raises ToolFailed, in German, for what is none."""
    reader = _Reader(hosts)
    count = 0
    with path.open("rb") as file:
        while True:
            piece = file.read(_PIECE)
            try:
                reader.parser.Parse(piece, not piece)
            except xml.parsers.expat.ExpatError as error:
                raise ToolFailed(
                    f"Die Liste ist beschädigt (Zeile {error.lineno}); die bisherige gilt weiter."
                ) from error
            count += len(reader.found)
            if count > MOST:
                raise ToolFailed(f"Die Liste hat mehr als {german.count(MOST)} Zeilen.")
            yield from reader.found
            reader.found.clear()
            if not piece:
                return


class _Reader:
    """Collects the rows while the list is parsed; what has no day or leads elsewhere is none."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = tuple(hosts)
        self.found: list[Eintrag] = []
        self._fields: dict[str, str] = {}
        self._path: list[str] = []
        self.parser = parser = xml.parsers.expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refused

    def _refused(self, *_: object) -> None:
        raise ToolFailed("Die Liste erklärt eigene Zeichen (ENTITY); die bisherige gilt weiter.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._path and tag != "items":
            raise ToolFailed(
                f"Das ist nicht die Liste von {HOSTS[1]}: es beginnt mit <{tag[:40]}>."
            )
        self._path.append(tag)
        if tag == "item":
            self._fields = {}

    def _text(self, text: str) -> None:
        if len(self._path) == 3 and (name := self._path[2]) in _FIELDS:
            self._fields[name] = (self._fields.get(name, "") + text)[:_LONGEST]

    def _end(self, tag: str) -> None:
        self._path.pop()
        if tag != "item" or len(self._path) != 1:
            return
        fields = [" ".join(self._fields.get(name, "").split()) for name in _FIELDS]
        court, day, az, link = fields
        address = _address(link, self._hosts)
        try:
            decided = datetime.datetime.strptime(day, "%Y%m%d").date()
        except ValueError:
            return
        if address and az:
            self.found.append(Eintrag(address, court, decided, az))


def _address(link: str, hosts: Iterable[str]) -> str:
    """An address of the list, whose addresses are not yet encrypted; empty for another site's."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    if parts.netloc not in hosts:
        return ""
    return link if parts.hostname == "127.0.0.1" else parts._replace(scheme="https").geturl()


def _plain(words: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", words)


def _entry(row: dict[str, Value]) -> Eintrag:
    day = datetime.date.fromisoformat(str(row["tag"]))
    return Eintrag(str(row["adresse"]), str(row["gericht"]), day, str(row["az"]), bool(row["da"]))
