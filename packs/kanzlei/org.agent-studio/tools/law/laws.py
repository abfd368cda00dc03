"""Laws: reads one law from the XML of gesetze-im-internet.de, ``gii-norm.dtd`` (KZ-27, KZ-28).

A file is a stranger's: it fetches nothing, declares nothing, and has a limit.
"""

from __future__ import annotations

import datetime
import html
import xml.parsers.expat
from dataclasses import field

from studio.packs import ToolFailed, dataclass

from .._patterns import lazy_pattern

MOST_BYTES = 50_000_000
"""Of one law; the longest has some 10 MB."""
MOST_OF_FIELD = 100_000
"""Characters of a title and the like."""
_DEEPEST = 100
"""Tags within each other; a law has some 20."""
_MOST_SECTIONS = 2_000
"""Of a repealed range."""
_PLACE = lazy_pattern(r"(§|Art(?:ikel|\.)?)\s*(\d+[a-z]?)(?:\s*§\s*(\d+[a-z]?))?")
_REPEALED = lazy_pattern(r"\(XXXX\)\s*(§§?|Art\S*)\s*(\d+)(?:\s*(?:bis|-|–|u(?:nd|\.))\s*(\d+))?")
_ANNEX = lazy_pattern(r"Anlage(?:\s+(\w+))?")
_ABSATZ = lazy_pattern(r"\((\d+[a-z]?)\)\s*")
_LINES = frozenset({"P", "DT", "row", "BR", "Title"})
_WITHOUT = frozenset({"fussnoten", "FnR", "kommentar", "FILE", "IMG"})


@dataclass(slots=True)
class Section:
    """One section. ``texts`` has its text by Absatz; without any, the Absatz is empty.
    ``hint`` says what the file knows of newer wordings."""

    sign: str
    number: str
    title: str
    place: str
    texts: dict[str, str] = field(default_factory=dict[str, str])
    hint: str = ""


@dataclass(slots=True)
class Law:
    """A law as one file has it. ``day`` is when the file was made, ``state`` the last change."""

    short: str
    title: str
    state: str
    day: str
    sections: list[Section]


def read_law(data: bytes, name: str) -> Law:
    """The law in a file; raises ToolFailed, in German, for what is no law. Slow."""
    reader = _Reader(name)
    try:
        reader.parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        raise ToolFailed(
            f"{name} ist beschädigt (Zeile {error.lineno}); daraus wurde nichts eingelesen."
        ) from error
    return reader.law()


class _Reader:
    """Collects a law while its file is parsed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._path: list[str] = []
        self._fields: dict[str, str] = {}
        self._content: list[str] = []
        self._groups: dict[int, str] = {}
        self._law: dict[str, str] = {}
        self._sections: dict[str, Section] = {}
        self._day = ""
        self.parser = parser = xml.parsers.expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refused
        parser.SkippedEntityHandler = self._skipped

    def law(self) -> Law:
        short = self._law.get("amtabk") or self._law.get("jurabk", "")
        if not short or not self._sections:
            raise ToolFailed(f"{self._name} enthält kein Gesetz.")
        return Law(
            " ".join(short.split()),
            self._law.get("langue", short),
            self._law.get("standkommentar", ""),
            self._day,
            list(self._sections.values()),
        )

    def _refused(self, *_: object) -> None:
        raise ToolFailed(
            f"{self._name} erklärt eigene Zeichen (ENTITY); daraus wurde nichts eingelesen."
        )

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._text(html.unescape(f"&{name};"))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._path:
            if tag != "dokumente":
                raise ToolFailed(
                    f"{self._name} ist kein Gesetz von gesetze-im-internet.de: es beginnt mit "
                    f"<{tag[:40]}>."
                )
            self._day = _day(attributes.get("builddate", ""), self._name)
        self._path.append(tag)
        if len(self._path) > _DEEPEST:
            raise ToolFailed(f"{self._name} ist zu tief verschachtelt und wurde nicht gelesen.")
        if tag == "norm":
            self._fields, self._content = {}, []
        elif "Content" in self._path:
            if tag in _LINES:
                self._content.append("\n")
            elif tag in ("DD", "entry"):
                self._content.append(" ")

    def _end(self, tag: str) -> None:
        self._path.pop()
        if tag == "norm":
            self._add()

    def _text(self, text: str) -> None:
        if _WITHOUT.intersection(self._path):
            return
        if "Content" in self._path:
            self._content.append(text.replace("\n", " "))
        elif "metadaten" in self._path:
            tag = self._path[-1]
            self._fields[tag] = (self._fields.get(tag, "") + text)[:MOST_OF_FIELD]

    def _add(self) -> None:
        fields = {key: " ".join(value.split()) for key, value in self._fields.items()}
        self._law = self._law or fields
        if key := fields.get("gliederungskennzahl"):
            level = len(key) // 3
            self._groups = {one: text for one, text in self._groups.items() if one < level}
            self._groups[level] = " ".join(
                (fields.get("gliederungsbez", ""), fields.get("gliederungstitel", ""))
            ).strip()
        for sign, number in _numbers(fields.get("enbez", "")):
            place = " › ".join(self._groups.values())
            title = fields.get("titel", "")
            texts, hint = _texts("".join(self._content)), fields.get("standkommentar", "")
            section = Section(sign, number, title, place, texts, hint)
            self._sections.setdefault(number, section)


def _day(built: str, name: str) -> str:
    try:
        return datetime.datetime.strptime(built[:8], "%Y%m%d").date().isoformat()
    except ValueError as error:
        raise ToolFailed(f"{name} nennt keinen Tag, von dem es ist (builddate).") from error


def _numbers(named: str) -> list[tuple[str, str]]:
    """The sections that an ``enbez`` names: one, none, or those of a repealed range."""
    if found := _REPEALED.match(named):
        first, last = int(found[2]), int(found[3] or found[2])
        sign = _sign(found[1])
        return [(sign, str(one)) for one in range(first, min(last, first + _MOST_SECTIONS) + 1)]
    if found := _PLACE.match(named):
        return [(_sign(found[1]), f"{found[2]}-{found[3]}" if found[3] else found[2])]
    if found := _ANNEX.match(named):
        return [("Anlage", f"Anlage-{found[1]}" if found[1] else "Anlage")]
    return []


def _sign(text: str) -> str:
    return "§" if text.startswith("§") else "Art."


def _texts(content: str) -> dict[str, str]:
    """The text by Absatz: a line that begins with the next number in brackets begins one."""
    texts: dict[str, list[str]] = {}
    now = ""
    for line in content.split("\n"):
        line = " ".join(line.split())
        if not line:
            continue
        found = _ABSATZ.match(line)
        if found and found[1] not in texts:
            now, line = found[1], line[found.end() :]
        texts.setdefault(now, []).append(line)
    return {number: "\n".join(lines) for number, lines in texts.items()} or {"": ""}
