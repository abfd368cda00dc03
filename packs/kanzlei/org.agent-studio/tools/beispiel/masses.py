"""Masses: a large invented office, to measure by: 20,000 Akten with 400,000 documents (KZ-52).

Its documents are short and made of sentences by chance; words are as frequent as in a real office:
a few are everywhere, most are rare. The rows are written many at a time.
"""

from __future__ import annotations

import datetime
import hashlib
import random
import re
from collections.abc import Callable, Iterator
from itertools import accumulate

from studio.packs import Home, Person, Value

from ..law.normen import Normen
from ..law.words import words
from ..office.akten import Akte
from ..office.dokumente import Dokumente
from ..office.history import now
from ..office.persons import number_of
from ..office.suche import Suche
from .names import Names
from .office import Made, require_empty
from .stories import stories

AKTEN = 20_000
EACH = 20
"""Documents of an Akte."""
_YEARS = 8
_AT_ONCE = 50
"""Akten that are written in one transaction."""
_SENTENCES = 6_000
_NAMED = ("Schreiben", "Urteil", "Vermerk", "Bescheid", "Rechnung", "Gutachten", "Klage", "Vertrag")


class Masses:
    """Makes Akten of sentences, in the order of their numbers."""

    def __init__(self, home: Home, person: Person, akten: int = AKTEN, seed: int = 1) -> None:
        require_empty(home)
        self._records, self._suche = home.records, home.service(Suche)
        self._folder_of = home.service(Dokumente).folder_of
        self._person = person
        self._chance = random.Random(seed)
        self._names = Names(self._chance)
        self._areas = [one.area for one in stories()]
        self._indexed = home.service(Normen).indexed()
        self._sentences = [(one, self._indexed(one)) for one in self._made_sentences()]
        self._often = list(accumulate(1 / (n + 8) for n in range(_SENTENCES)))
        self._now, self._document = now(), 0
        self._year = datetime.date.today().year
        self._total = akten
        self.made = Made()

    def make(self, tell: Callable[[str], None] = lambda words: None) -> Made:
        """Make all of them, with files and index. Minutes."""
        for first in range(0, self._total, _AT_ONCE):
            self._add(first, min(_AT_ONCE, self._total - first))
            if first % 2_000 == 0:
                tell(f"{first} von {self._total} Akten\n")
        return self.made

    def _made_sentences(self) -> Iterator[str]:
        """Sentences of the stories with other nouns in them, the frequent ones first."""
        texts = [document.text for story in stories() for document in story.documents]
        found = [one for text in texts for one in re.split(r"(?<=[.:])\s+", text) if "{" not in one]
        parts = sorted({one for text in texts for one in words(text) if len(one) > 4})
        chance = self._chance
        for number in range(_SENTENCES):
            said = chance.choice(found).split()
            if number > 40:
                rare = chance.choice(parts).capitalize() + chance.choice(parts)
                said[chance.randrange(len(said))] = rare
            yield " ".join(said)

    def _add(self, first: int, count: int) -> None:
        """Make some Akten with all that is in them."""
        akten: list[tuple[Value, ...]] = []
        documents: list[tuple[Value, ...]] = []
        versions: list[tuple[Value, ...]] = []
        pages: list[tuple[Value, ...]] = []
        indexed: list[tuple[Value, ...]] = []
        for number in range(first + 1, first + count + 1):
            akte = self._akte(number)
            akten.append(akte)
            folder = self._folder_of(_named(number, str(akte[1])))
            folder.mkdir(parents=True, exist_ok=True)
            for _ in range(EACH):
                self._document += 1
                document = self._document
                name = f"{self._chance.choice(_NAMED)} {document}.txt"
                text, stems = self._text(str(akte[4]))
                data = text.encode()
                (folder / name).write_bytes(data)
                day = f"{akte[3]}-{self._chance.randint(1, 12):02}-{self._chance.randint(1, 28):02}"
                kind = name.split()[0]
                documents.append((document, number, "", name, kind, day, self._now))
                digest = hashlib.sha256(data).hexdigest()
                version = (document, document, 1, digest, len(data), self._now)
                versions.append((*version, number_of(self._person)))
                pages.append((document, 1, text))
                title = self._indexed(f"{name} {kind}")
                indexed.append((document, title, stems, f"a{number}"))
        with self._records.together():
            self._insert("akte (id, az, lfd, jahr, rubrum, sachgebiet, anwalt, angelegt)", akten)
            self._insert("dokument (id, akte, ordner, name, art, datum, angelegt)", documents)
            self._insert("version (id, dokument, nummer, sha256, bytes, zeit, person)", versions)
            self._insert("seite (version, nummer, text)", pages)
            self._suche.add_indexed(indexed)
        self.made.akten += count
        self.made.documents += len(documents)

    def _akte(self, number: int) -> tuple[Value, ...]:
        year = self._year - _YEARS + 1 + (number - 1) * _YEARS // self._total
        rubrum = f"{self._names.person().full} ./. {self._party()}"
        owner = number_of(self._person)
        az = f"{number:05}/{year % 100:02}"
        area = self._chance.choice(self._areas)
        return number, az, number, year, rubrum, area, owner, self._now

    def _party(self) -> str:
        party = self._names.firm() if self._chance.random() < 0.5 else self._names.person()
        return party.full

    def _text(self, rubrum: str) -> tuple[str, str]:
        """A text of 60 to 250 words, and its stems."""
        chance = self._chance
        picked = chance.choices(self._sentences, cum_weights=self._often, k=chance.randint(5, 20))
        said = f"In Sachen {rubrum}. "
        text = said + " ".join(sentence for sentence, _ in picked)
        return text, f"{self._indexed(said)} {' '.join(stems for _, stems in picked)}"

    def _insert(self, table: str, rows: list[tuple[Value, ...]]) -> None:
        marks = f"({', '.join('?' * len(rows[0]))})"
        for first in range(0, len(rows), 500):
            some = rows[first : first + 500]
            values = [value for row in some for value in row]
            sql = f"INSERT INTO {table} VALUES {', '.join([marks] * len(some))}"
            self._records.write(sql, *values)


def _named(number: int, az: str) -> Akte:
    """As much of an Akte as its folder depends on."""
    return Akte(number, az, "", "", "", None, "", "", "", "", None, None, "")
