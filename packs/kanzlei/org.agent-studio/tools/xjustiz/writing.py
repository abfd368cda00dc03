"""Writing: the XJustiz message of a Versandmappe, “Übermittlung Schriftgutobjekte” (KZ-34).

It names the documents in their order, the Aktenzeichen, the court and the parties with name and
address: no birthdays, telephones or accounts, which a court does not need to sort them.
"""

from __future__ import annotations

import datetime
import json
import unicodedata
import uuid
import xml.etree.ElementTree as tree
from collections.abc import Sequence
from pathlib import Path, PurePath

from studio.packs import Home, ToolFailed, dataclass

from .._patterns import lazy_pattern
from ..contacts.kontakte import SIDES, Kontakt, Kontakte
from ..office.akten import Akte
from ..office.settings import OfficeSettings
from .codes import Codes, Role
from .reading import NAMESPACE

_ROOT = "nachricht.gds.uebermittlungSchriftgutobjekte.0005005"
_ORIGINAL = "001"
_PACK = Path(__file__).parents[3] / "plugin.json"
_PLAIN = str.maketrans("„“”‚‘’–—", '"' * 3 + "'" * 3 + "--")
_HOUSE = lazy_pattern(r"(.+?)\s+(\d+\s?[a-zA-Z]?(?:\s?[-/]\s?\d+\s?[a-zA-Z]?)?)")


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A file of a Versandmappe, with its name there, what it is called and its kind."""

    file: str
    title: str
    kind: str


def write_message(
    home: Home, akte: Akte, documents: Sequence[SentDocument], stands: str = ""
) -> bytes:
    """The message for documents of an Akte; ``stands`` is what the client is there: Kläger.

    Raises ToolFailed for a part that nobody has in a lawsuit.
    """
    codes = Codes()
    roles = _roles(codes, stands)
    root = tree.Element(f"tns:{_ROOT}", {"xmlns:tns": NAMESPACE})
    head = _into(root, "nachrichtenkopf")
    head.set("xjustizVersion", codes.version)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    _into(head, "erstellungszeitpunkt", now)
    sender = _into(head, "absender")
    office = home.settings(OfficeSettings).kanzlei or home.person.name
    _into(sender, "informationen/auswahl_kommunikationspartner/sonstige", office)
    _into(sender, "aktenzeichen", akte.az)
    _into(sender, "eigeneNachrichtenID", str(uuid.uuid4()))
    recipient = _into(head, "empfaenger")
    court = akte.court or "unbekannt"
    _into(recipient, "informationen/auswahl_kommunikationspartner/sonstige", court)
    if akte.court_az:
        _into(recipient, "auswahl_aktenzeichen/aktenzeichen.freitext", akte.court_az)
    else:
        _into(recipient, "auswahl_aktenzeichen/aktenzeichen.unbekannt", "true")
    maker = _into(head, "herstellerinformation")
    _into(maker, "nameDesProdukts", "Kanzlei")
    _into(maker, "herstellerDesProdukts", "Agent Studio")
    _into(maker, "version", json.loads(_PACK.read_text("utf-8"))["version"])

    case = _into(root, "grunddaten/verfahrensdaten")
    instance = _into(case, "instanzdaten")
    _into(instance, "auswahl_instanzbehoerde/sonstige", court)
    if akte.court_az:
        _into(instance, "aktenzeichen/auswahl_aktenzeichen/aktenzeichen.freitext", akte.court_az)
    _into(instance, "kurzrubrum", akte.rubrum)
    parties = [one for one in home.service(Kontakte).of_akte(akte) if one.role in SIDES[1:]]
    for number, one in enumerate(parties, 1):
        part = _into(case, "beteiligung")
        role = _into(part, "rolle")
        _into(role, "rollennummer", str(number))
        if known := roles.get(one.role):
            code = _into(role, "rollenbezeichnung")
            code.set("listVersionID", codes.role_version)
            tree.SubElement(code, "code").text = known.code
        who = _into(part, "beteiligter")
        _into(who, "beteiligtennummer", str(number))
        _enter_contact(_into(who, "auswahl_beteiligter"), one.contact)

    objects = _into(root, "schriftgutobjekte")
    for number, one in enumerate(documents, 1):
        document = _into(objects, "dokument")
        identity = _into(document, "identifikation")
        _into(identity, "id", str(uuid.uuid4()))
        _into(identity, "nummerImUebergeordnetenContainer", str(number))
        facts = _into(document, "xjustiz.fachspezifischeDaten")
        kind = _into(facts, "dokumentklasse")
        kind.set("listVersionID", codes.class_version)
        tree.SubElement(kind, "code").text = codes.class_of(one.kind, PurePath(one.title).stem)
        _into(facts, "anzeigename", PurePath(one.title).stem)
        file = _into(facts, "datei")
        _into(file, "dateiname", one.file)
        tree.SubElement(_into(file, "bestandteil"), "code").text = _ORIGINAL
    tree.indent(root)
    return tree.tostring(root, "utf-8", xml_declaration=True)


def _roles(codes: Codes, stands: str) -> dict[str, Role]:
    """What client and opponent are in the lawsuit; empty where nobody said it."""
    if not stands.strip():
        return {}
    own = codes.role_named(stands)
    if own is None or not own.party or own.role:
        names = ", ".join(one.name for one in codes.roles.values() if one.party and not one.role)
        raise ToolFailed(f"„{stands}“ ist keine Partei. Es gibt: {names}.")
    pairs = [one for one in codes.roles.values() if one.party and not one.role]
    at = pairs.index(own)
    return {"Mandant": own, "Gegner": pairs[at + 1 if own.party == "1" else at - 1]}


def _enter_contact(place: tree.Element, contact: Kontakt) -> None:
    if contact.name.kind == "Person":
        who = _into(place, "natuerlichePerson")
        name = _into(who, "vollerName")
        for tag, value in (
            ("vorname", contact.name.first),
            ("titel", contact.title),
            ("nachname", contact.name.name),
        ):
            if value:
                _into(name, tag, value, bare=tag != "titel")
    else:
        who = _into(place, "organisation")
        _into(who, "bezeichnung/bezeichnung.aktuell", contact.name.name)
    if not (contact.street or contact.city):
        return
    at = _into(who, "anschrift")
    found = _HOUSE.fullmatch(contact.street)
    street, house = (found[1], found[2]) if found else (contact.street, "")
    for tag, value in (("strasse", street), ("hausnummer", house), ("postleitzahl", contact.zip),
                       ("ort", contact.city)):  # fmt: skip
        if value:
            _into(at, tag, value)


def _into(parent: tree.Element, path: str, text: str = "", *, bare: bool = False) -> tree.Element:
    """Put elements of a path into another one, the last with a text; ``bare``: a person's name."""
    for tag in path.split("/"):
        parent = tree.SubElement(parent, f"tns:{tag}")
    if text:
        parent.text = _letters(text, bare=bare)
    return parent


def _letters(text: str, *, bare: bool) -> str:
    """A text in the letters that the standard takes (DIN 91379); others as near as may be."""
    found: list[str] = []
    for one in unicodedata.normalize("NFC", " ".join(text.split())).translate(_PLAIN):
        known = "À" <= one <= "ž" or one in "șțȘȚ" or "Ạ" <= one <= "ỹ"
        if bare:
            plain = one.isascii() and (one.isalpha() or one in " '-.,")
            known = plain or (known and one not in "×÷")
        else:
            known = known or " " <= one <= "~" or one in "§°²³€"
        found.append(one if known else _nearest(one, bare=bare))
    return "".join(found).strip() or "-"


def _nearest(letter: str, *, bare: bool) -> str:
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    kept = "".join(one for one in plain if one.isalpha() or (one.isprintable() and not bare))
    return kept or ("" if bare else "_")
