"""What the pack brings besides its tools: services, drafts, roles, secrecy, commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from studio.packs import Home, Pack, Source, ToolFailed, Verb

from . import _german as german
from ._patterns import lazy_pattern
from .contacts.konflikte import Konflikte
from .contacts.kontakte import Kontakte
from .law.citations import cited_by
from .law.normen import Normen
from .law.urteile import Urteile
from .masking.mask import Masken
from .muster.filling import all_muster
from .office.akten import ADDRESS, Akten
from .office.dokument_kind import DOKUMENT
from .office.dokumente import Dokumente
from .office.entwuerfe import Entwuerfe
from .office.forms import day_words
from .office.frist_kind import FRIST
from .office.fristen import Fristen
from .office.index_kind import INDEX
from .office.notiz_kind import ALERT, NOTIZ
from .office.notizen import Notizen
from .office.persons import ROLES, person_here
from .office.sealing import ENDING
from .office.secrecy import AktenPolicy, mode_mark
from .office.settings import OfficeSettings
from .office.suche import Suche
from .office.zeit_kind import ZEIT
from .office.zeiten import Zeiten, duration

_JUDGMENT = lazy_pattern(r"kanzlei:urteil/(\d{1,15})(?:#rn(\d{1,4}[a-z]?))?")
_DOCUMENT = lazy_pattern(
    r"kanzlei:akte/(\d{1,15})/dokument/(\d{1,15})(?:#(?=[sr])(?:s(\d{1,6}))?(?:rn(\d{1,4}[a-z]?))?)?"
)


def source(address: str, home: Home) -> Source | None:
    """What an address of the office leads to, for a person who may see it (KZ-8)."""
    if norm := cited_by(address):
        known = home.service(Normen).section(norm)
        title = f"{norm}: {known.title}" if known and known.title else str(norm)
        return Source(title, "recherche", (address,)) if known else Source(title)
    if address.startswith("kanzlei:muster/"):
        name = address.removeprefix("kanzlei:muster/")
        known = {one.name for one in all_muster(home.service(Dokumente).templates)}
        return Source(f"Muster {name}") if name in known else None
    if found := _JUDGMENT.fullmatch(address):
        if (known := home.service(Urteile).get(int(found[1]))) is None:
            return None
        place = f", Rn. {found[2]}" if found[2] else ""
        return Source(f"{known.name}{place}", "recherche", (address,))
    if found := _DOCUMENT.fullmatch(address):
        try:
            one = home.service(Dokumente).get(home.person, int(found[2]))
        except ToolFailed:
            return None
        page, paragraph = found[3], found[4]
        place = (f"S. {page}" if page else "", f"Rn. {paragraph}" if paragraph else "")
        same = str(one.akte) == found[1]
        what = (found[1], "dokument", found[2], page or "0", paragraph or "")
        return Source(", ".join(filter(None, (one.name, *place))), "akten", what) if same else None
    what, _, number = address.removeprefix("kanzlei:").partition("/")
    if not number.isdecimal() or len(number) > 15:
        return None
    try:
        if what == "akte":
            akte = home.service(Akten).get(home.person, int(number))
            mark = mode_mark(home.records, akte)
            return Source(f"Akte {akte.az}", "akten", (str(akte.id),), (mark,))
        if what == "frist":
            frist = home.service(Fristen).get(home.person, int(number))
            return Source(f"{frist.kind}, {german.day(frist.end)}", "heute", (str(frist.id),))
        if what == "zeit":
            zeit = home.service(Zeiten).get(home.person, int(number))
            title = f"Zeit {duration(zeit.minutes)}, {day_words(zeit.day)}"
            return Source(title, "akten", (str(zeit.akte),))
        if what == "alert":
            alert = home.service(Notizen).alert(home.person, int(number))
            title = f"Hinweis am {german.day(alert.due)}"
            return Source(title, "akten", (str(alert.akte),))
        if what == "kontakt":
            contact = home.service(Kontakte).get(home.person, int(number))
            return Source(contact.shown, "kontakte", (str(contact.id),))
    except ToolFailed:
        return None
    return None


def closed(subject: str, home: Home) -> list[Path]:
    """The folders of the Akten are closed to file tools (KZ-42); also in chats about an Akte, which
    read that one alone (KZ-48) by tools that ask whether it is the chat's."""
    return home.service(Dokumente).places()


def sealed(home: Home) -> Iterator[Path]:
    """The files of Akten that are sealed, also beside a backup that was brought back (KZ-44)."""
    for place in home.service(Dokumente).places():
        yield from sorted(place.glob(f"*{ENDING}"))


def _imported(module: str, name: str) -> Callable[[Home], Any]:
    """A service whose module is imported when the services are made: no tool needs it (KZ-9)."""

    def make(home: Home) -> Any:
        return getattr(import_module(f".{module}", __package__), name)(home)

    return make


def commands() -> Sequence[Verb]:
    """Those of the terminal, imported when it asks: no window and no agent needs them."""
    from ._commands import COMMANDS

    return COMMANDS


pack = Pack(
    closed=closed,
    sealed=sealed,
    services=(
        Akten,
        Entwuerfe,
        Dokumente,
        Fristen,
        Zeiten,
        Notizen,
        _imported("office.termine", "Termine"),
        _imported("office.aufgaben", "Aufgaben"),
        Kontakte,
        Konflikte,
        Normen,
        Masken,
        _imported("office.agreements", "Vereinbarungen"),
        Suche,
        _imported("office.retention", "Aufbewahrung"),
        _imported("office.sign_in", "Anmeldung"),
        Urteile,
        _imported("law.verzeichnis", "Verzeichnis"),
        _imported("intake.folders", "Intake"),
        _imported("intake.akten", "AktenIntake"),
        _imported("intake.calendars", "CalendarIntake"),
        _imported("intake.cases", "CaseIntake"),
        _imported("intake.contacts", "ContactIntake"),
    ),
    person=person_here,
    kinds=(FRIST, DOKUMENT, ZEIT, NOTIZ, ALERT, INDEX),
    policy=AktenPolicy(),
    roles=ROLES,
    source=source,
    settings=OfficeSettings,
    verbs=commands,
)

__all__ = ["ADDRESS", "pack"]
