"""Reading: the facts of an XJustiz message of any kind, as files of others have them (KZ-34).

A message is a stranger's: it declares nothing, fetches nothing, and has limits. Elements are found
by their names, not by a schema: what stands there in 3.5 and in 3.6 is read, what is missing is
left empty.
"""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Iterator
from dataclasses import field

from studio.packs import ToolFailed, dataclass

NAMESPACE = "http://www.xjustiz.de"
MOST_BYTES = 50_000_000
_DEEPEST = 60
"""Elements within each other; files of a court with parts in parts have some 25."""
_MOST = 200_000
"""Elements of one message; a document has some 15."""
_LONGEST = 2_000
"""Characters of a fact."""


@dataclass(slots=True)
class Node:
    """An element: its name without the namespace, its words and what is within it.

    ``remark`` is a comment in it: courts write there what a code stands for.
    """

    tag: str
    text: str = ""
    remark: str = ""
    within: list[Node] = field(default_factory=list["Node"])

    def all(self, path: str) -> Iterator[Node]:
        """The elements at a path such as ``rolle/rollenbezeichnung``."""
        name, _, rest = path.partition("/")
        for one in self.within:
            if one.tag == name:
                if rest:
                    yield from one.all(rest)
                else:
                    yield one

    def words(self, *paths: str) -> str:
        """The words at the first of the paths that has any."""
        for path in paths:
            for one in self.all(path):
                if found := " ".join(one.text.split()):
                    return found
        return ""

    def named(self, path: str) -> str:
        """What a code at a path stands for, as the message says it, else the code itself."""
        for one in self.all(path):
            name = one.words("name") or " ".join(one.remark.split())
            if found := name or one.words("code") or " ".join(one.text.split()):
                return found
        return ""


@dataclass(frozen=True, slots=True)
class MessageParty:
    """Who takes part, with what the office keeps of a contact. ``codes`` are its roles, ``numbers``
    those of the roles, ``of`` the numbers of the roles that it represents."""

    fields: dict[str, str]
    codes: tuple[str, ...]
    numbers: tuple[str, ...]
    of: tuple[str, ...]
    sign: str
    is_office: bool


@dataclass(frozen=True, slots=True)
class MessageDocument:
    """One document; ``files`` are the names of its files, signatures and protocols too."""

    title: str
    code: str
    day: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What a message says. ``kind`` is its root, ``version`` that of the standard."""

    kind: str
    version: str
    sender: str
    recipient: str
    sender_signs: tuple[str, ...]
    recipient_signs: tuple[str, ...]
    """The Aktenzeichen that each of the two has."""
    court: str
    court_sign: str
    title: str
    parties: tuple[MessageParty, ...]
    documents: tuple[MessageDocument, ...]


def read_message(data: bytes, name: str) -> Message:
    """The message in a file; raises ToolFailed, in German, for what is none. Slow."""
    if len(data) > MOST_BYTES:
        raise ToolFailed(f"{name} ist größer als 50 MB und wurde nicht gelesen.")
    root = _Reader(name).read(data)
    head = next(root.all("nachrichtenkopf"), Node(""))
    case = next(root.all("grunddaten/verfahrensdaten"), Node(""))
    instances = [*case.all("instanzdaten")]
    found = [
        (_station(one, "auswahl_instanzbehoerde"), _sign(one, "aktenzeichen"), one)
        for one in instances
    ]
    court, court_sign = next(((who, az) for who, az, _ in reversed(found) if who), ("", ""))
    sender = _station(head, "absender/informationen/auswahl_kommunikationspartner")
    free = "empfaenger/auswahl_aktenzeichen/aktenzeichen.freitext"
    return Message(
        root.tag,
        next((one.text for one in head.within if one.tag == "@xjustizVersion"), ""),
        sender or _station(head, "auswahl_absender", "absender."),
        _station(head, "empfaenger/informationen/auswahl_kommunikationspartner")
        or _station(head, "auswahl_empfaenger", "empfaenger."),
        _signs(head, "aktenzeichen.absender", "absender/aktenzeichen"),
        _signs(head, "aktenzeichen.empfaenger", free),
        court,
        court_sign or case.words("verfahrensnummer"),
        next((one.words("kurzrubrum") for one in instances if one.words("kurzrubrum")), ""),
        tuple(_party(one) for one in case.all("beteiligung")),
        tuple(_document(one) for one in _documents(root)),
    )


class _Reader:
    """Builds the tree of a message."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[Node] = [Node("")]
        self._count = 0
        self._parser = parser = xml.parsers.expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.CommentHandler = self._text, self._remark
        parser.StartDoctypeDeclHandler = self._refused

    def read(self, data: bytes) -> Node:
        try:
            self._parser.Parse(data, True)
        except xml.parsers.expat.ExpatError as error:
            raise ToolFailed(
                f"{self._name} ist beschädigt (Zeile {error.lineno}) und wurde nicht gelesen."
            ) from error
        except (ValueError, LookupError) as error:  # letters that it names and nobody knows
            raise ToolFailed(f"{self._name}: seine Zeichen sind nicht zu lesen.") from error
        return self._open[0].within[0]

    def _refused(self, *_: object) -> None:
        raise ToolFailed(f"{self._name} erklärt eigene Zeichen (DOCTYPE) und wurde nicht gelesen.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        space, _, name = tag.rpartition("}")
        if len(self._open) == 1 and (space != NAMESPACE or not name.startswith("nachricht.")):
            raise ToolFailed(f"{self._name} ist keine XJustiz-Nachricht: <{name[:60]}>.")
        self._count += 1
        if self._count > _MOST or len(self._open) > _DEEPEST:
            raise ToolFailed(f"{self._name} ist größer oder tiefer, als eine Nachricht sein kann.")
        node = Node(name)
        if version := attributes.get("xjustizVersion"):
            node.within.append(Node("@xjustizVersion", version[:20]))
        self._open[-1].within.append(node)
        self._open.append(node)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        node = self._open[-1]
        if len(node.text) < _LONGEST:
            node.text = (node.text + text)[:_LONGEST]

    def _remark(self, text: str) -> None:
        self._open[-1].remark = text[:_LONGEST]


def _station(node: Node, path: str, prefix: str = "") -> str:
    """A court or another office, by its name where the message says it."""
    for one in node.all(path):
        for kind in ("gericht", "polizeibehoerde", "finanzbehoerde", "rvTraeger", "sonstige"):
            if found := one.named(f"{prefix}{kind}"):
                return f"Gericht {found}" if kind == "gericht" and " " not in found else found
    return ""


def _signs(head: Node, *paths: str) -> tuple[str, ...]:
    found = (" ".join(one.text.split()) for path in paths for one in head.all(path))
    return tuple(dict.fromkeys(filter(None, found)))


def _sign(node: Node, path: str) -> str:
    """An Aktenzeichen as one reads it: ``12 O 345/26``."""
    for one in node.all(f"{path}/auswahl_aktenzeichen"):
        if free := one.words("aktenzeichen.freitext"):
            return free
        for parts in one.all("aktenzeichen.strukturiert"):
            year = parts.words("jahr")
            number = "/".join(filter(None, (parts.words("laufendeNummer"), year[-2:])))
            return " ".join(
                filter(None, (parts.words("abteilung"), parts.named("register"), number))
            )
    return ""


def _party(node: Node) -> MessageParty:
    fields: dict[str, str] = {}
    office = False
    for who in node.all("beteiligter/auswahl_beteiligter/natuerlichePerson"):
        fields = _person(who)
    for tag in ("organisation", "ra.kanzlei"):
        for who in node.all(f"beteiligter/auswahl_beteiligter/{tag}"):
            fields = {"art": "Firma", "name": who.words("bezeichnung/bezeichnung.aktuell")}
            fields |= _address(who)
            office = tag == "ra.kanzlei"
    roles = [*node.all("rolle")]
    of = [one.words("ref.rollennummer") for role in roles for one in role.all("referenz")]
    return MessageParty(
        {name: value for name, value in fields.items() if value},
        tuple(one.words("rollenbezeichnung/code", "rollenbezeichnung", "code") for one in roles),
        tuple(filter(None, (one.words("rollennummer") for one in roles))),
        tuple(filter(None, of)),
        next((one.words("geschaeftszeichen") for one in roles), ""),
        office,
    )


def _person(who: Node) -> dict[str, str]:
    prefix = who.words("vollerName/namensvorsatz")
    name = who.words("vollerName/nachname")
    birth = who.words("geburt/geburtsdatum")
    return {
        "titel": who.words("vollerName/titel"),
        "vorname": who.words("vollerName/vorname", "vollerName/rufname"),
        "name": f"{prefix} {name}".strip(),
        "fruehere_namen": who.words("vollerName/geburtsname"),
        "geboren": birth if len(birth) == 10 else "",
        **_address(who),
    }


def _address(who: Node) -> dict[str, str]:
    for one in who.all("anschrift"):
        if one.words("ehemaligeAnschrift") not in ("true", "1"):
            street = f"{one.words('strasse')} {one.words('hausnummer')}".strip()
            return {"strasse": street, "plz": one.words("postleitzahl"), "ort": one.words("ort")}
    return {}


def _documents(root: Node) -> Iterator[Node]:
    """The documents by themselves and those within files and their parts, in this order."""
    for objects in root.all("schriftgutobjekte"):
        yield from _within(objects)


def _within(node: Node) -> Iterator[Node]:
    yield from sorted(node.all("dokument"), key=_place)
    for tag in ("akte", "teilakte"):
        for one in node.all(tag):
            for content in one.all("xjustiz.fachspezifischeDaten/inhalt"):
                yield from _within(content)


def _place(document: Node) -> int:
    number = document.words("identifikation/nummerImUebergeordnetenContainer")
    return int(number) if number.isdecimal() and len(number) < 9 else 0


def _document(node: Node) -> MessageDocument:
    facts = next(node.all("xjustiz.fachspezifischeDaten"), Node(""))
    return MessageDocument(
        facts.words("anzeigename"),
        facts.words("dokumentklasse/code"),
        node.words("datumDesSchreibens"),
        tuple(filter(None, (one.words("dateiname") for one in facts.all("datei")))),
    )
