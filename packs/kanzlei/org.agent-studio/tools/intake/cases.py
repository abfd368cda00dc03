"""Cases: keeps Akten with who takes part, documents and dates, as another program or a message has
them (KZ-34, KZ-51). First they are a plan, which changes nothing; what was kept can be undone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import field

from studio.packs import Home, Person, ToolFailed, dataclass

from ..contacts.konflikte import Konflikte
from ..contacts.kontakte import Kontakt, Kontakte
from ..contacts.names import fold
from ..office.akten import Akte, Akten, require_may_open
from ..office.dokumente import Dokumente
from ..office.history import now
from ..office.persons import number_of
from ..office.suche import Suche
from .akten import open_akte, rubrum_of
from .calendars import CalendarEntry, CalendarIntake
from .contacts import iso_day

_UNSURE = ("iban", "geboren", "email", "telefon")
"""Facts of a contact that are left out, and told, where they cannot be right."""


class Unreachable(ToolFailed):
    """Nothing more can be had from where a plan is from."""


@dataclass(frozen=True, slots=True)
class Party:
    """Who takes part: the fields of a contact, the role, on whose side, and the other's sign."""

    fields: dict[str, str]
    role: str
    side: str = ""
    sign: str = ""

    @property
    def shown(self) -> str:
        return f"{self.fields.get('vorname', '')} {self.fields['name']}".strip()


@dataclass(frozen=True, slots=True)
class Paper:
    """A document. ``load`` brings its bytes, and raises ToolFailed; it may take a while."""

    name: str
    load: Callable[[], bytes]
    folder: str = ""
    kind: str = ""
    date: str = ""


@dataclass(slots=True)
class Case:
    """An Akte as it would be: ``row`` are its facts by the names of a table's columns, ``akte`` is
    where the rest of it goes if it is there already."""

    row: dict[str, str]
    akte: Akte | None = None
    parties: Sequence[Party] = ()
    papers: Sequence[Paper] = ()
    entries: Sequence[CalendarEntry] = ()

    @property
    def shown(self) -> str:
        title = self.akte.title if self.akte else f"{self.row.get('az', '')} {rubrum_of(self.row)}"
        counts = (
            (len(self.parties), "Beteiligte"),
            (len(self.papers), "Dokumente"),
            (len(self.entries), "Termine und Aufgaben"),
        )
        told = ", ".join(f"{count} {what}" for count, what in counts if count)
        return f"{title.strip()}: {told}" if told else title.strip()


@dataclass(slots=True)
class CasePlan:
    """What would be kept: ``new``, and contacts that take part in nothing; ``known`` is there
    already. ``told`` says what the person should know of where it is from."""

    source: str
    new: list[Case] = field(default_factory=list[Case])
    contacts: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    known: list[str] = field(default_factory=list[str])
    told: list[str] = field(default_factory=list[str])
    clashes: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    number: int = 0


class CaseIntake:
    """Keeps what a plan has. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def apply(self, person: Person, plan: CasePlan) -> CasePlan:
        """Keep what is new; a case that cannot be is told, and the rest goes on, unless its source
        is gone."""
        sql = "INSERT INTO einlesung (zeit, person, quelle) VALUES (?, ?, ?)"
        plan.number = self._records.write(sql, now(), number_of(person), plan.source)
        done: list[Case] = []
        for case in plan.new:
            try:
                with self._records.together():
                    akte = case.akte or self._open(person, plan, case)
                    self._enter_parties(person, plan, case, akte)
                    self._enter_dates(person, plan, akte, case.entries)
            except ToolFailed as error:
                plan.problems.append(f"{case.shown}: {error}")
                continue
            gone = ""
            try:
                self._enter_papers(person, plan, akte, case.papers)
            except Unreachable as error:
                gone = str(error)
            sql = (
                "UPDATE einlesung_akte SET verlauf = (SELECT max(id) FROM verlauf) "
                "WHERE einlesung = ? AND akte = ?"
            )
            self._records.write(sql, plan.number, akte.id)
            done.append(case)
            if gone:
                told = "Nimm diese Einlesung zurück und wiederhole sie."
                plan.problems.insert(0, f"Ab {akte.az} fehlt alles: {gone} {told}")
                break
        kept: list[dict[str, str]] = []
        for fields in plan.contacts:
            try:
                self.contact(person, plan, fields)
            except ToolFailed as error:
                plan.problems.append(f"{fields.get('name', '?')}: {error}")
                continue
            kept.append(fields)
        plan.new, plan.contacts = done, kept
        self._home.service(Suche).bring_up()
        return plan

    def _open(self, person: Person, plan: CasePlan, case: Case) -> Akte:
        require_may_open(person)
        problems: list[str] = []
        akte = open_akte(self._home, person, case.row, problems)
        plan.problems += [f"{akte.az}, {one}" for one in problems]
        sql = "INSERT INTO einlesung_akte VALUES (?, ?, 0)"
        self._records.write(sql, plan.number, akte.id)
        return akte

    def _enter_parties(self, person: Person, plan: CasePlan, case: Case, akte: Akte) -> None:
        kontakte, checks = self._home.service(Kontakte), self._home.service(Konflikte)
        for one in case.parties:
            try:
                who = self.contact(person, plan, one.fields)
                number = kontakte.take_part(
                    person, akte, who, one.role, side=one.side, sign=one.sign
                )
            except ToolFailed as error:
                plan.problems.append(f"{akte.az}, {one.shown}, {one.role}: {error}")
                continue
            if case.akte is not None:
                sql = "INSERT INTO einlesung_beteiligung VALUES (?, ?, ?)"
                self._records.write(sql, plan.number, akte.id, number)
            side = one.side or (one.role if one.role in ("Mandant", "Gegner") else "")
            found = checks.check(person, [who.name], side, akte=akte, contact=who)
            plan.clashes += [f"{akte.az}, {one.shown}: {hit}" for hit in found.hits if hit.clash]

    def _enter_dates(
        self, person: Person, plan: CasePlan, akte: Akte, entries: Sequence[CalendarEntry]
    ) -> None:
        for entry in entries:
            try:
                what, row = self._home.service(CalendarIntake).enter(person, akte, entry)
            except ToolFailed as error:
                plan.problems.append(f"{akte.az}, {entry.shown}: {error}")
                continue
            sql = "INSERT INTO einlesung_eintrag VALUES (?, ?, ?)"
            self._records.write(sql, plan.number, what, row)

    def contact(self, person: Person, plan: CasePlan, fields: dict[str, str]) -> Kontakt:
        """The one contact of this name that nothing speaks against, or a new one."""
        whole = fold(f"{fields.get('vorname', '')} {fields['name']}")
        words = f"{fields.get('vorname', '')} {fields['name']}"
        same = [
            one
            for one in self._home.service(Kontakte).find(person, words)
            if fold(f"{one.name.first} {one.name.name}") == whole and _fits(one, fields)
        ]
        return same[0] if len(same) == 1 else self._new_contact(person, plan, fields)

    def _new_contact(self, person: Person, plan: CasePlan, fields: dict[str, str]) -> Kontakt:
        kept = dict(fields)
        while True:
            try:
                made = self._home.service(Kontakte).add(person, **kept)
                break
            except ToolFailed:
                wrong = next((one for one in _UNSURE if kept.pop(one, "")), "")
                if not wrong:
                    raise
        if left := [one for one in fields if one not in kept]:
            plan.problems.append(f"{made.shown}: ohne {', '.join(left)} übernommen.")
        self._records.write("INSERT INTO einlesung_kontakt VALUES (?, ?)", plan.number, made.id)
        return made

    def _enter_papers(
        self, person: Person, plan: CasePlan, akte: Akte, papers: Sequence[Paper]
    ) -> None:
        service = self._home.service(Dokumente)
        seen = service.digests(akte)
        for paper in papers:
            try:
                data = paper.load()
                digest = hashlib.sha256(data).hexdigest()
                if digest in seen:
                    plan.known.append(f"{akte.az}, {paper.name}")
                    continue
                made = service.keep(person, akte, paper.name, data, folder=paper.folder,
                                    kind=paper.kind, date=paper.date)  # fmt: skip
            except Unreachable:
                raise
            except ToolFailed as error:
                plan.problems.append(f"{akte.az}, {paper.name}: {error}")
                continue
            seen.add(digest)
            self._records.write(
                "INSERT INTO einlesung_dokument VALUES (?, ?)", plan.number, made.id
            )


def _fits(known: Kontakt, fields: dict[str, str]) -> bool:
    """Whether nothing speaks against two of one name being the same."""
    pairs = (
        (known.zip, fields.get("plz", "")),
        (known.name.born, iso_day(fields.get("geboren", ""))),
    )
    return all(one == other or not one or not other for one, other in pairs)


def names_of(plan: CasePlan) -> list[str]:
    """What a plan would keep, as people read it."""
    contacts = [
        f"Kontakt {one.get('vorname', '')} {one['name']}".replace("  ", " ")
        for one in plan.contacts
    ]
    return [*(one.shown for one in plan.new), *contacts]


def take_back(home: Home, person: Person, number: int) -> tuple[int, list[str]]:
    """Let those leave whom an import brought into Akten that were there; who was changed since, or
    left, is told. Blocks."""
    records, taken, told = home.records, 0, list[str]()
    kontakte = home.service(Kontakte)
    sql = "SELECT akte, beteiligung FROM einlesung_beteiligung WHERE einlesung = ?"
    for row in records.read(sql, number):
        try:
            akte = home.service(Akten).get(person, int(str(row["akte"])))
            kontakte.leave(person, akte, int(str(row["beteiligung"])))
        except ToolFailed as error:
            told.append(str(error))
            continue
        taken += 1
    return taken, told
