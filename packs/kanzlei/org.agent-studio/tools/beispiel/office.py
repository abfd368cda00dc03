"""Office: fills an empty office with invented Akten to read and try (KZ-52)."""

from __future__ import annotations

import datetime
import json
import random
import tempfile
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

from studio.packs import Home, Person, ToolFailed, dataclass

from .. import _german as german
from ..contacts.konflikte import Konflikte
from ..contacts.kontakte import Kontakt, Kontakte, name_and_heads
from ..deadlines.reading import compute_from_words
from ..office.akten import Akte, Akten
from ..office.dokumente import Dokumente
from ..office.frist_kind import FristFields
from ..office.fristen import Fristen
from ..office.suche import Suche
from ..office.zeiten import Zeiten
from .names import Names, Party
from .stories import Story, filled, stories

AKTEN = 40


@dataclass(slots=True)
class Made:
    """How much was made."""

    akten: int = 0
    documents: int = 0
    fristen: int = 0
    times: int = 0
    contacts: int = 0


def require_empty(home: Home) -> None:
    """Raise ToolFailed where there are Akten: nothing invented gets among real ones."""
    if home.records.read("SELECT 1 FROM akte LIMIT 1"):
        raise ToolFailed(
            "Es gibt schon Akten. Das Beispiel wird nur in eine leere Kanzlei geschrieben, damit "
            "sich Erfundenes nicht unter Echtes mischt. Zum Probieren: AGENT_STUDIO_HOME auf einen "
            "leeren Ordner setzen."
        )


def make_office(home: Home, person: Person, akten: int = AKTEN, seed: int = 1) -> Made:
    """Make the Akten with their documents, Fristen and times. Slow."""
    require_empty(home)
    maker = _Maker(home, person, seed)
    known = stories()
    for number in range(akten):
        maker.add(known[number % len(known)])
    home.service(Suche).bring_up()
    return maker.made


class _Maker:
    """Makes one Akte after the other from a seed."""

    def __init__(self, home: Home, person: Person, seed: int) -> None:
        self._home, self._person = home, person
        self._chance = random.Random(seed)
        self._names = Names(self._chance)
        self._courts: dict[str, Kontakt] = {}
        self._today = datetime.date.today()
        self.made = Made()

    def add(self, story: Story) -> None:
        names, chance = self._names, self._chance
        town, land, _ = names.place()
        parties = {
            "mandant": names.person(),
            "gegner": names.person(),
            "mandant_firma": names.firm(),
            "gegner_firma": names.firm(),
            "versicherung": names.insurer(),
            "zeuge": names.person(),
        }
        value = chance.randrange(story.least, story.most, 50)
        values = {
            **{name: one.full for name, one in parties.items()},
            "mandant_anschrift": parties["mandant"].address,
            "gegner_anschrift": parties["gegner"].address,
            "gegner_name": parties["gegner"].name,
            "gegner_anwalt": names.lawyer(),
            "ort": town,
            "betrag": german.euros(Decimal(value)),
            "gericht_az": f"{chance.randint(1, 40)} O {chance.randint(10, 9999)}/25",
        }
        longest = max((one.days for one in story.documents), default=0)
        akte = self._home.service(Akten).open(
            self._person,
            filled(story.rubrum, values),
            sachgebiet=story.area,
            gericht=filled(story.court, values),
            gericht_ort=land,
            gericht_az=values["gericht_az"],
            wert_cent=value * 100,
            mandat_seit=self._day(longest).isoformat(),
        )
        self.made.akten += 1
        self._add_parties(akte, story, parties, values["gegner_anwalt"])
        moved = chance.randint(0, 5)
        self._add_documents(akte, story, values, moved)
        for frist in story.fristen:
            self._add_frist(akte, frist.kind, frist.days + moved, frist.length, frist.event)
        for minutes, words in story.times:
            day = self._day(chance.randint(1, 30)).isoformat()
            self._home.service(Zeiten).add(
                *(self._person, akte.id),
                day=day,
                minutes=minutes,
                text=filled(words, values),
                billable=True,
            )
            self.made.times += 1

    def _day(self, days: int) -> datetime.date:
        return self._today - datetime.timedelta(days=days)

    def _add_parties(
        self, akte: Akte, story: Story, parties: dict[str, Party], lawyer: str
    ) -> None:
        """Let those take part whom the story names, each checked for conflicts, and the court."""
        kontakte, person = self._home.service(Kontakte), self._person
        told = "".join(one.text for one in story.documents)
        by = None
        if "{gegner_anwalt}" in told:
            by = self._kept(art="Firma", name=f"{lawyer} Rechtsanwälte")
        for name, party in parties.items():
            slot = f"{{{name}}}"
            side = "Mandant" if name.startswith("mandant") else "Gegner"
            if name == "zeuge" and slot in told:
                kontakte.take_part(person, akte, self._party(party), "Zeuge")
            if name == "zeuge" or slot not in story.rubrum:
                continue
            contact = self._party(party)
            head = by if side == "Gegner" else None
            self._home.service(Konflikte).check(
                person, name_and_heads(contact, head), side, akte=akte, contact=contact
            )
            role = "Versicherung" if name == "versicherung" else side
            kontakte.take_part(person, akte, contact, role, side=side, by=head)
        if akte.court not in self._courts:
            self._courts[akte.court] = self._kept(art="Gericht", name=akte.court)
        court = self._courts[akte.court]
        kontakte.take_part(person, akte, court, "Gericht", sign=akte.court_az)

    def _party(self, party: Party) -> Kontakt:
        return self._kept(
            art="Person" if party.first else "Firma",
            anrede=party.salutation,
            vorname=party.first,
            name=party.name,
            geboren=party.born,
            strasse=party.street,
            plz=party.code,
            ort=party.town,
            telefon=party.phone,
            email=party.mail,
            iban=party.iban,
        )

    def _kept(self, **fields: str) -> Kontakt:
        self.made.contacts += 1
        return self._home.service(Kontakte).add(self._person, **fields)

    def _add_documents(self, akte: Akte, story: Story, values: dict[str, str], moved: int) -> None:
        service = self._home.service(Dokumente)
        with tempfile.TemporaryDirectory() as place:
            for one in sorted(story.documents, key=lambda one: -one.days):
                day = self._day(one.days + moved)
                text = filled(one.text, values | {"tag": f"{day:%d.%m.%Y}"})
                path = Path(place) / f"{one.name}.txt"
                path.write_text(f"{text}\n", "utf-8")
                made = service.add(self._person, akte, path, folder=one.folder, kind=one.kind)
                sql = "UPDATE dokument SET datum = ? WHERE id = ?"
                self._home.records.write(sql, day.isoformat(), made.id)
                self.made.documents += 1

    def _add_frist(self, akte: Akte, kind: str, days: int, length: str, reason: str) -> None:
        event = self._day(days).isoformat()
        found = compute_from_words(kind, akte.court_place, event, length=length)
        fields = FristFields(akte.id, kind, akte.court_place, event, length=length, reason=reason)
        self.made.fristen += 1
        self._home.service(Fristen).add(
            self._person,
            f"beispiel-{self.made.fristen}",
            akte.id,
            {
                "art": found.kind.name,
                "norm": found.kind.norm,
                "eingaben": json.dumps(asdict(fields), ensure_ascii=False),
                "ende": found.end.isoformat(),
                "vorfrist": found.vorfrist.isoformat() if found.vorfrist else None,
                "notfrist": int(found.kind.notfrist),
                "schritte": json.dumps([str(one) for one in found.steps], ensure_ascii=False),
                "hinweise": json.dumps(list(found.warnings), ensure_ascii=False),
                "grund": reason,
                "genannt": None,
            },
        )
