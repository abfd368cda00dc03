"""Mask: puts placeholders for what an Akte knows, and words for placeholders (KZ-43).

``[Mandant 1]`` stands for the same person in every chat of an Akte. Each written form has a
placeholder of its own, ``[Mandant 1 Nachname, Form 2]`` for MÜLLER, so that a text which was hidden
and is shown again is the same text.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from threading import RLock

from studio.packs import Home, Mask, Records

from .._patterns import lazy_pattern
from ..law.normen import Normen
from .finding import Finder, Found, apart
from .folding import clean
from .known import LABELS, Known, everybody, known_of, taking_part
from .lone import LoneNames

LONGEST = 60
"""Characters of a placeholder, with its brackets."""
MOST_CACHED = 20_000_000
"""Characters of hidden texts that are kept: a history is hidden anew for each request."""
_LABELS = "|".join(
    map(
        re.escape,
        (
            *LABELS.values(),
            *("Aktenzeichen", "IBAN", "Telefon", "E-Mail", "Kennzeichen", "Anschrift", "Ort"),
            "Geburtstag",
        ),
    )
)
_HOLDER = lazy_pattern(
    rf"\[\s*((?:{_LABELS})\s\d{{1,6}}(?:\s(?:Vor|Nach|Kurz)name(?:\s\d{{1,3}})?)?"
    r"(?:,\sForm\s\d{1,6})?)\s*\]",
    re.I,
)


class Placeholders:
    """Those of one Akte, kept in the records; other chats and programs make some meanwhile."""

    def __init__(self, records: Records, akte: int) -> None:
        self._records = records
        self._akte = akte
        self._lock = RLock()
        self._names: dict[tuple[str, str], str] = {}
        """By whom or what they stand for, and the written form."""
        self._words: dict[str, str] = {}
        self._read()

    def _read(self) -> None:
        sql = "SELECT name, schluessel, wort FROM platzhalter WHERE akte = ?"
        for row in self._records.read(sql, self._akte):
            name, key, word = str(row["name"]), str(row["schluessel"]), str(row["wort"])
            self._names[key, word] = name
            self._words[name.casefold()] = word

    def __bool__(self) -> bool:
        return bool(self._words)

    def of(self, found: Found, word: str) -> str:
        """The placeholder of a written form; a new one is kept before it is used."""
        with self._lock:
            key = f"{found.key}\t{found.part}"
            name = self._names.get((key, word))
            if name is None:
                try:
                    with self._records.together():
                        self._read()
                        name = self._names.get((key, word)) or self._added(found, key, word)
                except BaseException:  # what is known here may not have been kept
                    self._names, self._words = {}, {}
                    raise
            return f"[{name}]"

    def _added(self, found: Found, key: str, word: str) -> str:
        base = f"{self._whole(found)} {found.part}".strip()
        if base.casefold() not in self._words:
            self._keep(base, key, found.usual or word)
        name = self._names.get((key, word))
        if name is None:
            forms = sum(1 for known, _ in self._names if known == key)
            name = self._keep(f"{base}, Form {forms + 1}", key, word)
        return name

    def _whole(self, found: Found) -> str:
        """What somebody is called whose names all begin alike, as Mandant 1."""
        for (key, _), name in self._names.items():
            if key.partition("\t")[0] == found.key:
                return " ".join(name.partition(",")[0].split()[:2])
        label = LABELS.get(found.label, found.label)
        taken = {name.split(",")[0].split()[1] for name in self._names.values()
                 if name.startswith(f"{label} ")}  # fmt: skip
        return f"{label} {len(taken) + 1}"

    def _keep(self, name: str, key: str, word: str) -> str:
        sql = "INSERT INTO platzhalter (akte, name, schluessel, wort) VALUES (?, ?, ?, ?)"
        self._records.write(sql, self._akte, name, key, word)
        self._names[key, word] = name
        self._words[name.casefold()] = word
        return name

    def word(self, name: str) -> str | None:
        """What a placeholder stands for; one that another program just made is read."""
        plain = " ".join(name.split()).casefold()
        with self._lock:
            if plain not in self._words:
                self._read()
            return self._words.get(plain)


class AkteMask(Mask):
    """The mask of one Akte."""

    def __init__(
        self, placeholders: Placeholders, known: Sequence[Known], others: Finder | None = None
    ) -> None:
        self.known, self.others = tuple(known), others
        self._placeholders = placeholders
        self._finder = Finder(known)
        self._hidden: OrderedDict[str, str] = OrderedDict()
        self._kept = 0
        self._lock = RLock()

    def hide(self, text: str) -> str:
        with self._lock:
            if (hidden := self._hidden.get(text)) is not None:
                self._hidden.move_to_end(text)
                return hidden
        hidden = "".join(self._pieces(text))
        with self._lock:
            self._hidden[text] = hidden
            self._kept += len(text)
            while self._kept > MOST_CACHED and self._hidden:
                self._kept -= len(self._hidden.popitem(last=False)[0])
        return hidden

    def show(self, text: str) -> str:
        return _HOLDER.sub(lambda one: self._placeholders.word(one[1]) or one[0], text)

    def find(self, text: str) -> list[Found]:
        """What is to hide in a text without placeholders."""
        others = self.others.spans(text) if self.others is not None else []
        return apart([*self._finder.spans(text), *others])

    def _pieces(self, text: str) -> list[str]:
        """The text in pieces; a placeholder that is there already is left as it is."""
        pieces: list[str] = []
        last = 0
        for holder in [*_HOLDER.finditer(text), None]:
            plain = text[last : holder.start() if holder else len(text)]
            at = 0
            for one in self.find(plain):
                word = clean(plain[one.start : one.end])
                pieces += [plain[at : one.start], self._placeholders.of(one, word)]
                at = one.end
            pieces.append(plain[at:])
            if holder:
                pieces.append(holder[0])
                last = holder.end()
        return pieces


class ShowingMask(Mask):
    """For a model that may see everything in an Akte whose history has placeholders."""

    hides = False

    def __init__(self, placeholders: Placeholders) -> None:
        self._placeholders = placeholders

    def hide(self, text: str) -> str:
        return text

    def show(self, text: str) -> str:
        return _HOLDER.sub(lambda one: self._placeholders.word(one[1]) or one[0], text)


class Masken:
    """The masks of the office's Akten. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = RLock()
        self._placeholders: dict[int, Placeholders] = {}
        self._masks: dict[int, AkteMask] = {}
        self._others: tuple[object, Finder] | None = None
        self._lone: tuple[object, LoneNames] | None = None
        self._last: tuple[object, list[str]] | None = None
        """What was looked at last, and who is named there: a turn asks about the same words."""

    def of(self, akte: int) -> AkteMask:
        """The mask of an Akte, with whom it knows now."""
        known = known_of(self._home.records, akte)
        with self._lock:
            others, made = self._everybody(), self._masks.get(akte)
            if made is None or made.known != known or made.others is not others:
                made = self._masks[akte] = AkteMask(self._of(akte), known, others)
            return made

    def named(self, text: str, akte: int | None) -> list[str]:
        """Who and what of an Akte is named in a text, which other contacts by their whole names,
        and who takes part in another Akte by their last name alone; each once."""
        with self._lock:
            others, lone = self._everybody(), self._taking_part()
            mask = self.of(akte) if akte is not None else others
            asked = text, akte, mask, lone
            if self._last is None or self._last[0] != asked:
                found = apart([*mask.find(text), *lone.find(text)])
                names = [clean(text[one.start : one.end]) for one in found]
                self._last = asked, list(dict.fromkeys(names))
            return [*self._last[1]]

    def _everybody(self) -> Finder:
        """Finds the other contacts of the office; a new one where these changed."""
        stand = self._home.records.read("SELECT zahl FROM kontakt_stand")[0]["zahl"]
        if self._others is None or self._others[0] != stand:
            self._others = stand, Finder(everybody(self._home.records), whole=True)
        return self._others[1]

    def _taking_part(self) -> LoneNames:
        """Finds who takes part in an Akte by their last name; a new one where that changed."""
        sql = "SELECT kontakt_stand.zahl AS a, beteiligt_stand.zahl AS b FROM kontakt_stand, "
        (row,) = self._home.records.read(f"{sql}beteiligt_stand")
        stand = row["a"], row["b"]
        if self._lone is None or self._lone[0] != stand:
            known = taking_part(self._home.records)
            self._lone = stand, LoneNames(known, self._home.service(Normen).knows)
        return self._lone[1]

    def showing(self, akte: int) -> ShowingMask | None:
        """A mask that hides nothing; None where nothing was ever hidden."""
        found = self._of(akte)
        return ShowingMask(found) if found else None

    def forget(self, akte: int) -> None:
        """Let go of what was known of an Akte that is deleted."""
        with self._lock:
            self._placeholders.pop(akte, None)
            self._masks.pop(akte, None)

    def _of(self, akte: int) -> Placeholders:
        with self._lock:
            if akte not in self._placeholders:
                self._placeholders[akte] = Placeholders(self._home.records, akte)
            return self._placeholders[akte]
