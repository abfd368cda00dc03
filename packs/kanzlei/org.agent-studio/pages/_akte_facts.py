"""What the page of an Akte shows, read at once."""

from __future__ import annotations

from studio.packs import Home, dataclass

from ..tools.contacts.konflikte import Check, Konflikte
from ..tools.contacts.kontakte import Beteiligung, Kontakte
from ..tools.office.akten import Akte, Akten
from ..tools.office.aufgaben import Aufgabe, Aufgaben
from ..tools.office.dokumente import Dokument, Dokumente
from ..tools.office.entwuerfe import STATES as DRAFT_STATES
from ..tools.office.entwuerfe import Entwuerfe, Entwurf
from ..tools.office.fristen import OPEN, STATES, Frist, Fristen
from ..tools.office.history import Change, changes_of
from ..tools.office.notizen import Alert, Notiz, Notizen
from ..tools.office.persons import person_name
from ..tools.office.termine import OFF, Termin, Termine
from ..tools.office.termine import OPEN as TERMIN_OPEN
from ..tools.office.zeiten import Stopwatch, Zeit, Zeiten

PROPOSED = ("notiz", "alert")
"""Kinds of drafts that stand among the notes."""


@dataclass(frozen=True, slots=True)
class AkteFacts:
    """One Akte. ``watch`` is the person's stopwatch, on whichever Akte it runs."""

    akte: Akte
    lawyer: str
    fristen: tuple[Frist, ...]
    documents: tuple[Dokument, ...]
    changes: tuple[Change, ...]
    termine: tuple[Termin, ...]
    aufgaben: tuple[Aufgabe, ...]
    zeiten: tuple[Zeit, ...]
    notizen: tuple[Notiz, ...]
    alerts: tuple[Alert, ...]
    drafts: tuple[Entwurf, ...]
    parts: tuple[Beteiligung, ...]
    checks: tuple[Check, ...]
    watch: Stopwatch | None

    @property
    def open_fristen(self) -> list[Frist]:
        return [one for one in self.fristen if one.state in OPEN]

    @property
    def open_drafts(self) -> list[Entwurf]:
        return [one for one in self.drafts if one.open]

    @property
    def proposals(self) -> list[Entwurf]:
        return [one for one in self.open_drafts if one.kind in PROPOSED]

    @property
    def planned(self) -> int:
        """How many Termine and Aufgaben are open."""
        termine = [one for one in self.termine if one.state == TERMIN_OPEN]
        return len(termine) + len([one for one in self.aufgaben if not one.done])


def read_facts(home: Home, number: int) -> AkteFacts:
    """Blocks; raises ToolFailed where there is no such Akte to see."""
    person = home.person
    akte = home.service(Akten).get(person, number)
    fristen = home.service(Fristen).find(person, akte=akte.id, states=STATES)
    termine = home.service(Termine).find(person, akte=akte.id, states=(TERMIN_OPEN, OFF))
    return AkteFacts(
        akte=akte,
        lawyer=person_name(home.records, akte.lawyer),
        fristen=tuple(sorted(fristen, key=lambda one: (one.state not in OPEN, one.end))),
        documents=tuple(home.service(Dokumente).find(akte)),
        changes=tuple(changes_of(home.records, akte.id)),
        termine=tuple(termine),
        aufgaben=tuple(home.service(Aufgaben).find(person, akte=akte.id, closed=True)),
        zeiten=tuple(home.service(Zeiten).find(person, akte.id)),
        notizen=tuple(home.service(Notizen).find(person, akte.id)),
        alerts=tuple(home.service(Notizen).alerts(person, akte=akte.id)),
        drafts=tuple(
            home.service(Entwuerfe).find(person, akte=akte.id, states=tuple(DRAFT_STATES.values()))
        ),
        parts=tuple(home.service(Kontakte).of_akte(akte)),
        checks=tuple(home.service(Konflikte).kept(akte)),
        watch=home.service(Zeiten).stopwatch(person),
    )
