"""What the pack brings besides its tools: services, drafts, roles, secrecy, pages, commands.

No command says ``effect="read"``, so commands of agents cannot use any: what they print would go to
whichever model the agent has, and nobody would ask the Akte's mode (KZ-42).
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from studio.packs import Context, Home, Pack, PageEntry, PaletteEntry, Source, ToolFailed, verb

from . import _german as german
from ._person_commands import COMMANDS as PERSON_COMMANDS
from ._plan_commands import COMMANDS as PLAN_COMMANDS
from ._records_commands import COMMANDS as RECORDS_COMMANDS
from ._secrecy_commands import COMMANDS as SECRECY_COMMANDS
from ._term_commands import COMMANDS as TERM_COMMANDS
from .beispiel.verbs import beispiel
from .contacts.konflikte import Konflikte
from .contacts.kontakte import Kontakte
from .intake.akten import AktenIntake
from .intake.calendars import CalendarIntake
from .intake.cases import CaseIntake
from .intake.contacts import ContactIntake
from .intake.folders import Intake
from .intake.verbs import (
    akten_einlesen,
    einlesen,
    einlesung_zurueck,
    import_any,
    jlawyer_einlesen,
    kalender_einlesen,
    kontakte_einlesen,
    nachricht_einlesen,
)
from .law.citations import cited_by
from .law.normen import Normen
from .law.urteile import Urteile
from .law.verzeichnis import Verzeichnis
from .law_verbs import (
    gesetz,
    gesetze,
    gesetze_import,
    gesetze_laden,
    urteile,
    urteile_import,
    urteile_laden,
    verzeichnis,
    verzeichnis_laden,
    zitate,
)
from .masking.mask import Masken
from .muster.filling import all_muster
from .office.agreements import Vereinbarungen
from .office.akten import ADDRESS, MODES, Akten
from .office.aufgaben import Aufgaben
from .office.dokument_kind import DOKUMENT
from .office.dokumente import Dokumente
from .office.entwuerfe import Entwuerfe
from .office.forms import day_words
from .office.frist_kind import FRIST
from .office.fristen import Frist, Fristen
from .office.index_kind import INDEX
from .office.notiz_kind import ALERT, NOTIZ
from .office.notizen import Notizen
from .office.persons import ROLES, person_here
from .office.recheck import recheck
from .office.retention import Aufbewahrung
from .office.secrecy import AktenPolicy, mode_mark
from .office.settings import OfficeSettings
from .office.sign_in import Anmeldung
from .office.suche import Suche
from .office.suche_verbs import suche
from .office.termine import Termine
from .office.zeit_kind import ZEIT
from .office.zeiten import Zeiten, duration

_JUDGMENT = re.compile(r"kanzlei:urteil/(\d{1,15})(?:#rn(\d{1,4}[a-z]?))?")
_DOCUMENT = re.compile(
    r"kanzlei:akte/(\d{1,15})/dokument/(\d{1,15})(?:#(?=[sr])(?:s(\d{1,6}))?(?:rn(\d{1,4}[a-z]?))?)?"
)


@verb
def akten(context: Context, worte: str = "") -> list[dict[str, object]]:
    """Die Akten auflisten.

    worte: Nur die mit diesen Worten in Aktenzeichen oder Rubrum.
    """
    found = context.service(Akten).find(context.person, worte)
    return [{"az": one.az, "rubrum": one.rubrum, "ki_modus": one.mode} for one in found]


@verb
def akte(context: Context, az: str) -> dict[str, object]:
    """Eine Akte mit ihren offenen Fristen zeigen.

    az: Das Aktenzeichen.
    """
    one = context.service(Akten).get(context.person, az)
    value = german.euros(Decimal(one.value) / 100) if one.value is not None else ""
    return {
        "az": one.az,
        "rubrum": one.rubrum,
        "gericht": one.court,
        "ort": one.court_place,
        "wert": value,
        "ki_modus": one.mode,
        "fristen": [_line(context, number.id) for number in _open(context, one.id)],
    }


@verb
def akte_anlegen(
    context: Context,
    rubrum: str,
    sachgebiet: str = "",
    gericht: str = "",
    ort: str = "",
) -> str:
    """Eine Akte mit dem nächsten Aktenzeichen anlegen.

    rubrum: Wer gegen wen.
    sachgebiet: Das Sachgebiet.
    gericht: Das Gericht.
    ort: Das Land des Gerichts, für Fristen: BE, BY+kath.
    """
    made = context.service(Akten).open(
        context.person, rubrum, sachgebiet=sachgebiet, gericht=gericht, gericht_ort=ort
    )
    return f"{made.az}: {made.rubrum}"


@verb
def dokumente(context: Context, az: str, worte: str = "") -> list[str]:
    """Die Dokumente einer Akte auflisten.

    az: Das Aktenzeichen.
    worte: Nur die mit diesen Worten in Name oder Text.
    """
    one = context.service(Akten).get(context.person, az)
    found = context.service(Dokumente).find(one, words=worte)
    return [f"{d.id}: {d.name}, {d.pages} S., {d.date}{_without(d.missing)}" for d in found]


def _without(missing: str) -> str:
    return f" ({missing})" if missing else ""


@verb
def dokument(context: Context, az: str, datei: str, ordner: str = "", art: str = "") -> str:
    """Eine Datei in eine Akte kopieren.

    az: Das Aktenzeichen.
    datei: Die Datei.
    ordner: Der Ordner in der Akte.
    art: Was es ist: Urteil, Schriftsatz.
    """
    one = context.service(Akten).get(context.person, az)
    path = Path(datei).expanduser()
    made = context.service(Dokumente).add(context.person, one, path, folder=ordner, kind=art)
    return f"{made.id}: {made.name}, {made.pages} S.{_without(made.missing)}"


@verb
def ki_modus(context: Context, az: str, modus: str, grundlage: str = "") -> str:
    """Sagen, welche Modelle eine Akte sehen dürfen: lokal, pseudonym, frei oder keine KI.

    az: Das Aktenzeichen.
    modus: lokal, pseudonym, frei oder keine KI.
    grundlage: Für „frei“: die Einwilligung des Mandanten oder die Vereinbarung, mit Tag.
    """
    akten = context.service(Akten)
    one = akten.get(context.person, az)
    akten.set_mode(context.person, one, modus, grundlage)
    return f"{one.az}: {modus} (vorher {one.mode}). Möglich sind: {', '.join(MODES)}."


@verb
def fristen(context: Context, az: str = "") -> list[str]:
    """Die offenen Fristen nach ihrem Ende auflisten.

    az: Nur die dieser Akte.
    """
    akte = context.service(Akten).get(context.person, az).id if az else None
    return [_line(context, one.id) for one in _open(context, akte)]


@verb
def frist(context: Context, nummer: int, tun: str, notiz: str = "") -> str:
    """Eine Frist prüfen, erledigen oder stornieren.

    nummer: Ihre Nummer in der Liste.
    tun: prüfen, erledigen oder stornieren.
    notiz: Was getan wurde, oder der Grund.
    """
    service = context.service(Fristen)
    one = service.get(context.person, nummer)
    if tun == "prüfen":
        service.check(context.person, one)
    elif tun == "erledigen":
        service.done(context.person, one, notiz)
    elif tun == "stornieren":
        service.cancel(context.person, one, notiz)
    else:
        raise ToolFailed(f"„{tun}“ geht nicht. Möglich sind prüfen, erledigen und stornieren.")
    return _line(context, nummer)


def _open(context: Context, akte: int | None) -> list[Frist]:
    recheck(context.home)
    return context.service(Fristen).find(context.person, akte=akte)


def _line(context: Context, number: int) -> str:
    one = context.service(Fristen).get(context.person, number)
    notfrist = ", Notfrist" if one.notfrist else ""
    return (
        f"{one.id}: {german.day(one.end)}  {one.kind}{notfrist}, {one.state}  {one.az} {one.rubrum}"
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


pack = Pack(
    closed=closed,
    services=(
        Akten,
        Entwuerfe,
        Dokumente,
        Fristen,
        Zeiten,
        Notizen,
        Termine,
        Aufgaben,
        Kontakte,
        Konflikte,
        Normen,
        Masken,
        Vereinbarungen,
        Suche,
        Aufbewahrung,
        Anmeldung,
        Urteile,
        Verzeichnis,
        Intake,
        AktenIntake,
        CalendarIntake,
        CaseIntake,
        ContactIntake,
    ),
    person=person_here,
    kinds=(FRIST, DOKUMENT, ZEIT, NOTIZ, ALERT, INDEX),
    policy=AktenPolicy(),
    roles=ROLES,
    source=source,
    settings=OfficeSettings,
    verbs=(
        akten,
        akte,
        akte_anlegen,
        akten_einlesen,
        beispiel,
        einlesen,
        einlesung_zurueck,
        import_any,
        jlawyer_einlesen,
        kalender_einlesen,
        kontakte_einlesen,
        nachricht_einlesen,
        dokument,
        dokumente,
        ki_modus,
        fristen,
        frist,
        gesetz,
        gesetze,
        gesetze_import,
        gesetze_laden,
        urteile,
        urteile_import,
        urteile_laden,
        verzeichnis,
        verzeichnis_laden,
        suche,
        zitate,
        *RECORDS_COMMANDS,
        *PLAN_COMMANDS,
        *SECRECY_COMMANDS,
        *PERSON_COMMANDS,
        *TERM_COMMANDS,
    ),
    pages=(
        PageEntry("heute", "Heute", "pages.today:TodayPage", "calendar-check"),
        PageEntry("akten", "Akten", "pages.akten:AktenPage", "briefcase"),
        PageEntry("kalender", "Kalender", "pages.kalender:KalenderPage", "calendar-days"),
        PageEntry("kosten", "Kosten", "pages.kosten:KostenPage", "receipt-euro"),
        PageEntry("recherche", "Recherche", "pages.recherche:RecherchePage", "library"),
        PageEntry("kontakte", "Kontakte", "pages.kontakte:KontaktePage", "contact"),
    ),
    palette=(PaletteEntry("Heute fällig", "heute"), PaletteEntry("Neue Akte", "akten", ("neu",))),
)

__all__ = ["ADDRESS", "pack"]
