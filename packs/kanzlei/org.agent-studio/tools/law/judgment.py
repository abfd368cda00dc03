"""Judgment: reads one decision from the XML of rechtsprechung-im-internet.de, ``rii-dok.dtd``
(KZ-27, KZ-28).

A file is a stranger's: it fetches nothing, declares nothing, and has a limit.
"""

from __future__ import annotations

import datetime
import html
import xml.parsers.expat
from dataclasses import field

from studio.packs import ToolFailed, dataclass

from .laws import MOST_OF_FIELD

_PARTS = {
    "leitsatz": "Leitsatz",
    "sonstosatz": "Orientierungssatz",
    "tenor": "Tenor",
    "tatbestand": "Tatbestand",
    "entscheidungsgruende": "Entscheidungsgründe",
    "gruende": "Gründe",
    "abwmeinung": "Abweichende Meinung",
    "sonstlt": "Sonstiges",
}
_FIELDS = frozenset(
    {"doknr", "ecli", "gertyp", "gerort", "spruchkoerper", "entsch-datum", "aktenzeichen"}
    | {"doktyp", "norm", "titelzeile"}
)
_LINES = frozenset({"p", "br", "dt", "dd", "tr", "li", "div", "h1", "h2", "h3"})


@dataclass(slots=True)
class Paragraph:
    """A piece of a decision; ``number`` is its Randnummer, where it has one."""

    part: str
    number: str
    text: str


@dataclass(slots=True)
class Judgment:
    """A decision as one file has it. ``source`` is empty for one of the official site; ``state`` is
    the day of its last change in another."""

    key: str
    ecli: str
    court: str
    chamber: str
    day: str
    az: str
    kind: str
    title: str
    norms: str
    paragraphs: list[Paragraph] = field(default_factory=list[Paragraph])
    source: str = ""
    state: str = ""

    @property
    def headnote(self) -> str:
        """The Leitsatz; of a decision without one, the Orientierungssatz."""
        for part in ("Leitsatz", "Orientierungssatz"):
            if text := "\n".join(one.text for one in self.paragraphs if one.part == part):
                return text
        return ""


def read_judgment(data: bytes, name: str) -> Judgment:
    """The decision in a file; raises ToolFailed, in German, for what is none."""
    reader = _Reader(name)
    try:
        reader.parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        raise ToolFailed(
            f"{name} ist beschädigt (Zeile {error.lineno}); daraus wurde nichts eingelesen."
        ) from error
    return reader.judgment()


class _Reader:
    """Collects a decision while its file is parsed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._path: list[str] = []
        self._fields: dict[str, str] = {}
        self._found: list[Paragraph] = []
        self._part, self._number = "", ""
        self._words: list[str] = []
        self._in_number = False
        self.parser = parser = xml.parsers.expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refused
        parser.SkippedEntityHandler = self._skipped

    def judgment(self) -> Judgment:
        fields = {key: " ".join(value.split()) for key, value in self._fields.items()}
        if not fields.get("doknr") or not fields.get("aktenzeichen") or not self._found:
            raise ToolFailed(f"{self._name} enthält keine Entscheidung.")
        try:
            day = datetime.datetime.strptime(fields.get("entsch-datum", ""), "%Y%m%d").date()
        except ValueError as error:
            raise ToolFailed(f"{self._name} nennt keinen Tag der Entscheidung.") from error
        return Judgment(
            key=fields["doknr"],
            ecli=fields.get("ecli", ""),
            court=f"{fields.get('gertyp', '')} {fields.get('gerort', '')}".strip(),
            chamber=fields.get("spruchkoerper", ""),
            day=day.isoformat(),
            az=fields["aktenzeichen"],
            kind=fields.get("doktyp", ""),
            title=fields.get("titelzeile", ""),
            norms=fields.get("norm", ""),
            paragraphs=self._found,
        )

    def _refused(self, *_: object) -> None:
        raise ToolFailed(
            f"{self._name} erklärt eigene Zeichen (ENTITY); daraus wurde nichts eingelesen."
        )

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._text(html.unescape(f"&{name};"))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._path and tag != "dokument":
            raise ToolFailed(
                f"{self._name} ist keine Entscheidung von rechtsprechung-im-internet.de: es "
                f"beginnt mit <{tag[:40]}>."
            )
        self._path.append(tag)
        if tag in _PARTS and len(self._path) == 2:
            self._close()
            self._part = _PARTS[tag]
        elif tag == "a" and attributes.get("name", "").startswith("rd_"):
            self._close()
            self._number, self._in_number = attributes["name"][3:], True
        elif tag in _LINES:
            self._words.append("\n")

    def _end(self, tag: str) -> None:
        self._path.pop()
        if tag == "a":
            self._in_number = False
        elif tag in _PARTS and len(self._path) == 1:
            self._close()
            self._part = ""

    def _text(self, text: str) -> None:
        if self._part:
            if not self._in_number:
                self._words.append(text.replace("\n", " "))
        elif len(self._path) > 1 and self._path[1] in _FIELDS:
            known = self._fields.get(self._path[1], "")
            self._fields[self._path[1]] = (known + text)[:MOST_OF_FIELD]

    def _close(self) -> None:
        """What was read since is a paragraph."""
        lines = (" ".join(one.split()) for one in "".join(self._words).split("\n"))
        if text := "\n".join(one for one in lines if one):
            self._found.append(Paragraph(self._part, self._number, text))
        self._words, self._number = [], ""
