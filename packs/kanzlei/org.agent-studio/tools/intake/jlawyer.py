"""j-lawyer.org: brings Akten, participants, documents and dates from there (KZ-51).

What is read is named in its REST interface, versions 1 to 4, as of its server 3.6. A Frist becomes
an Aufgabe that says so: this office computes Fristen, and takes none over. What is done there, and
in its trash, stays there.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import cast
from zoneinfo import ZoneInfo

from studio.packs import Home, Person, ToolFailed

from ..contacts.kontakte import Kontakte
from ..office.akten import require_may_open
from ..office.persons import named
from ..office.termine import LONGEST
from ..office.texts import MOST_BYTES
from .calendars import CalendarEntry, until
from .cases import Case, CasePlan, Paper, Party, Unreachable
from .contacts import iso_day, same_keys
from .jlawyer_server import JLawyerServer, Row, text

MOST = 20_000
"""Akten of one server."""
_HERE = ZoneInfo("Europe/Berlin")
_MOST_KNOWN = 1_000_000
_ROLES = (
    ("gegnervertreter", "Anwalt", "Gegner"),
    ("vertreter gegner", "Anwalt", "Gegner"),
    ("gegneranwalt", "Anwalt", "Gegner"),
    ("rechtsschutz", "Versicherung", ""),
    ("versicherung", "Versicherung", ""),
    ("sachverständig", "Sachverständiger", ""),
    ("gutachter", "Sachverständiger", ""),
    ("zeug", "Zeuge", ""),
    ("gericht", "Gericht", ""),
    ("mandant", "Mandant", ""),
    ("gegner", "Gegner", ""),
    ("anwalt", "Anwalt", ""),
    ("vertreter", "Vertreter", ""),
)
"""What is in the name of a kind of participant there, which each office chooses; the first counts.
It ships with Mandant, Gegner and Dritte."""


def plan_jlawyer(home: Home, person: Person, server: JLawyerServer) -> CasePlan:
    """Look at all that a server has; nothing is changed here or there. Slow; raises ToolFailed
    where the server is not to be had."""
    require_may_open(person)
    plan = CasePlan(f"j-lawyer.org auf {server.host}")
    reading = _Reading(home, server, plan)
    known = {str(row["az"]) for row in home.records.read("SELECT az FROM akte")}
    rows = server.rows("/v1/cases/list")
    if len(rows) > MOST:
        plan.problems.append(f"Dort sind {len(rows)} Akten, gelesen wurden {MOST}.")
    for one in rows[:MOST]:
        az, number = text(one, "fileNumber"), text(one, "id")
        if not number:
            continue
        if az in known:
            plan.known.append(f"{az} {text(one, 'name')}".strip())
            continue
        known |= {az} - {""}
        try:
            plan.new.append(reading.case(number))
        except Unreachable:
            raise
        except ToolFailed as error:
            plan.problems.append(f"{az}: {error}")
    plan.contacts = [*reading.others(person)]
    reading.tell()
    return plan


class _Reading:
    """What is read of one server; each contact is asked for once."""

    def __init__(self, home: Home, server: JLawyerServer, plan: CasePlan) -> None:
        self._home, self._server, self._plan = home, server, plan
        self._contacts: dict[str, dict[str, str]] = {}
        self._terms = self._done = self._others = 0

    def case(self, number: str) -> Case:
        row = self._server.row("/v2/cases/{}", number)
        name, reason = text(row, "name"), text(row, "reason")
        facts = {
            "az": text(row, "fileNumber"),
            "rubrum": f"{name} wegen {reason}"[:LONGEST] if name and reason else name or reason,
            "sachgebiet": text(row, "subjectField"),
            "wert": _amount(text(row, "claimValue")),
            "status": "abgelegt" if text(row, "archived") == "1" else "laufend",
        }
        if created := moment(row.get("dateCreated")):
            facts["mandat_seit"] = f"{created:%d.%m.%Y}"
        for field, there in (("anwalt", "lawyer"), ("sachbearbeiter", "assistant")):
            who = text(row, there)
            if who and named(self._home.records, who) is not None:
                facts[field] = who
        return Case(
            {key: value for key, value in facts.items() if value},
            parties=[*self._parties(number)],
            papers=[*self._papers(number, facts["az"])],
            entries=[*self._entries(number, facts["az"])],
        )

    def others(self, person: Person) -> Iterator[dict[str, str]]:
        """The contacts that take part in nothing that is new, without those that are here."""
        seen = {
            key
            for one in self._home.service(Kontakte).find(person, most=_MOST_KNOWN)
            for key in same_keys(one.name.name, one.name.first, one.zip, one.name.born)
        }
        for row in self._server.rows("/v1/contacts/list"):
            number = text(row, "id")
            if not number or number in self._contacts:
                continue
            if not (fields := self._contact(number)):
                continue
            born = iso_day(fields.get("geboren", ""))
            keys = same_keys(fields["name"], fields.get("vorname", ""), fields.get("plz", ""), born)
            if not seen & keys:
                seen |= keys
                yield fields

    def tell(self) -> None:
        told = self._plan.told
        if self._plan.new:
            told.append("Als Mandat seit gilt der Tag, an dem die Akte dort angelegt wurde.")
        if self._terms:
            told.append(
                f"Fristen, die Aufgaben werden: {self._terms}. Rechne jede nach und trage sie als "
                "Frist ein."
            )
        if self._done:
            told.append(f"Erledigtes, das dort bleibt: {self._done}.")
        if self._others:
            told.append(f"Beteiligte ohne bekannte Art, hier „Dritter“: {self._others}.")

    def _parties(self, number: str) -> Iterator[Party]:
        for row in self._server.rows("/v1/cases/{}/parties", number):
            contact = text(row, "addressId") or text(row, "contactId")
            fields = self._contact(contact) if contact else {}
            if not fields:
                continue
            kind = text(row, "involvementType").casefold()
            found = ((role, side) for word, role, side in _ROLES if word in kind)
            role, side = next(found, ("Dritter", ""))
            self._others += role == "Dritter" and not kind.startswith("dritt")
            yield Party(fields, role, side, text(row, "reference")[:LONGEST])

    def _contact(self, number: str) -> dict[str, str]:
        if number not in self._contacts:
            try:
                row = self._server.row("/v2/contacts/{}", number)
            except Unreachable:
                raise
            except ToolFailed as error:
                self._plan.problems.append(f"Kontakt {number}: {error}")
                row = Row()
            self._contacts[number] = contact_of(row)
        return self._contacts[number]

    def _papers(self, number: str, az: str) -> Iterator[Paper]:
        folders = dict(_folders(self._server.row("/v3/cases/{}/folders", number)))
        for row in self._server.rows("/v1/cases/{}/documents", number):
            document, name = text(row, "id"), text(row, "name")
            size = row.get("size")
            if not document or not name:
                continue
            if isinstance(size, int) and size > MOST_BYTES:
                self._plan.problems.append(f"{az}, {name} ist größer als 50 MB und bleibt dort.")
                continue
            made = moment(row.get("creationDate"))
            yield Paper(
                name,
                lambda document=document: self._server.content(document),
                folders.get(text(row, "folderId"), ""),
                date=f"{made:%Y-%m-%d}" if made else "",
            )

    def _entries(self, number: str, az: str) -> Iterator[CalendarEntry]:
        for row in self._server.rows("/v4/cases/{}/duedates", number):
            title, begin = text(row, "summary") or "Termin", moment(row.get("beginDate"))
            if row.get("done") is True:
                self._done += 1
                continue
            if begin is None:
                self._plan.problems.append(f"{az}, {title}: ohne Tag, der gelesen werden kann.")
                continue
            place, words = text(row, "location")[:LONGEST], text(row, "description")
            if text(row, "type") != "EVENT":
                if text(row, "type") == "RESPITE":
                    self._terms += 1
                    title = f"Frist laut j-lawyer.org: {title}"
                yield CalendarEntry(0, begin.date(), title[:LONGEST], place, words)
                continue
            end = moment(row.get("endDate"))
            last = end if end and end > begin else None
            if last is not None and last.date() != begin.date():
                title, last = until(title, f"{last:%d.%m.%Y %H:%M}"), None
            yield CalendarEntry(0, begin.date(), title[:LONGEST], place, words, begin, last)


def contact_of(row: Row) -> dict[str, str]:
    """The fields of a contact as they are kept here; empty for one without a name."""
    company, last = text(row, "company"), text(row, "name")
    street = f"{text(row, 'street')} {text(row, 'streetNumber')}".strip()
    phones = [text(row, "phone"), text(row, "mobile")]
    fields = {
        "name": company or last or text(row, "firstName"),
        "strasse": street,
        "plz": text(row, "zipCode"),
        "ort": text(row, "city"),
        "land": text(row, "country"),
        "telefon": "; ".join(filter(None, phones)),
        "email": text(row, "email"),
        "iban": text(row, "bankAccount"),
    }
    if company:
        fields["art"] = "Firma"
    else:
        salutation = re.search(
            r"\b(Herrn?|Frau)\b", f"{text(row, 'title')} {text(row, 'salutation')}"
        )
        fields |= {
            "anrede": salutation[1].removesuffix("n") if salutation else "",
            "titel": text(row, "degreePrefix"),
            "vorname": text(row, "firstName") if last else "",
            "fruehere_namen": text(row, "birthName"),
            "geboren": text(row, "birthDate"),
        }
    kept = {name: value[:LONGEST] for name, value in fields.items() if value}
    return kept if kept.get("name") else {}


def moment(value: object) -> datetime.datetime | None:
    """The hour here of a time there: milliseconds, or ``2026-02-04T09:00:00Z[UTC]``."""
    try:
        if isinstance(value, (int, float)):
            found = datetime.datetime.fromtimestamp(value / 1000, datetime.UTC)
        elif isinstance(value, str) and value:
            found = datetime.datetime.fromisoformat(value.partition("[")[0])
        else:
            return None
        if found.tzinfo is None:
            return found
        return found.astimezone(_HERE).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def _folders(root: Row, above: str = "", deep: int = 0) -> Iterator[tuple[str, str]]:
    """The folders within the first one, by their ids."""
    children = root.get("children")
    for one in cast("list[object]", children) if isinstance(children, list) and deep < 20 else ():
        if isinstance(one, dict):
            row = cast("Row", one)
            place = "/".join(filter(None, (above, text(row, "name").replace("/", "_"))))
            yield text(row, "id"), place
            yield from _folders(row, place, deep + 1)


def _amount(value: str) -> str:
    try:
        amount = Decimal(value)
    except InvalidOperation:
        return ""
    return f"{amount:.2f}" if amount.is_finite() and amount > 0 else ""
