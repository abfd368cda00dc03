"""What the pack brings besides its tools: services, drafts, roles, secrecy, pages, commands.

No command says ``effect="read"``, so commands of agents cannot use any: what they print would go to
whichever model the agent has, and nobody would ask the Akte's mode (KZ-42).
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path

from studio.packs import Context, Home, Pack, PageEntry, PaletteEntry, Source, ToolFailed, verb

from . import _german as german
from ._secrecy_commands import COMMANDS as SECRECY_COMMANDS
from .beispiel.verbs import beispiel
from .law.citations import cited_by
from .law.normen import Normen
from .law.urteile import Urteile
from .law_verbs import gesetz, gesetze, gesetze_import, urteile, urteile_import, zitate
from .masking.mask import Masken
from .office.agreements import Vereinbarungen
from .office.akten import ADDRESS, MODES, Akten
from .office.dokument_kind import DOKUMENT
from .office.dokumente import Dokumente
from .office.entwuerfe import OPEN, PROPOSAL, STATES, Entwuerfe
from .office.forms import day_words
from .office.frist_kind import FRIST
from .office.fristen import Frist, Fristen
from .office.history import changes_of
from .office.index_kind import INDEX
from .office.kalender import calendar, of_fristen
from .office.notiz_kind import ALERT, NOTIZ
from .office.notizen import Notizen
from .office.persons import ROLES, person_here
from .office.retention import Aufbewahrung
from .office.secrecy import AktenPolicy
from .office.settings import OfficeSettings
from .office.suche import Suche
from .office.suche_verbs import suche
from .office.zeit_kind import ZEIT
from .office.zeiten import Zeiten, duration

_JUDGMENT = re.compile(r"kanzlei:urteil/(\d{1,15})(?:#rn(\d{1,4}[a-z]?))?")
_DOCUMENT = re.compile(r"kanzlei:akte/(\d{1,15})/dokument/(\d{1,15})(?:#s(\d{1,6}))?")


@verb
def akten(context: Context, words: str = "") -> list[dict[str, object]]:
    """List the Akten.

    words: Only those whose Aktenzeichen or Rubrum has these words.
    """
    found = context.service(Akten).find(context.person, words)
    return [{"az": one.az, "rubrum": one.rubrum, "ki_modus": one.mode} for one in found]


@verb
def akte(context: Context, az: str) -> dict[str, object]:
    """Show one Akte with its open Fristen.

    az: Its Aktenzeichen.
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
    """Open a new Akte with the next Aktenzeichen.

    rubrum: Wer gegen wen.
    sachgebiet: Das Sachgebiet.
    gericht: Das Gericht.
    ort: The Land of the court, for Fristen: BE, BY+kath.
    """
    made = context.service(Akten).open(
        context.person, rubrum, sachgebiet=sachgebiet, gericht=gericht, gericht_ort=ort
    )
    return f"{made.az}: {made.rubrum}"


@verb
def dokumente(context: Context, az: str, words: str = "") -> list[str]:
    """List the documents of an Akte.

    az: Its Aktenzeichen.
    words: Only those with these words in name or text.
    """
    one = context.service(Akten).get(context.person, az)
    found = context.service(Dokumente).find(one, words=words)
    return [f"{d.id}: {d.name}, {d.pages} S., {d.date}{_without(d.missing)}" for d in found]


def _without(missing: str) -> str:
    return f" ({missing})" if missing else ""


@verb
def dokument(context: Context, az: str, datei: str, ordner: str = "", art: str = "") -> str:
    """Copy a file into an Akte.

    az: Its Aktenzeichen.
    datei: The file.
    ordner: The folder in the Akte.
    art: What it is: Urteil, Schriftsatz.
    """
    one = context.service(Akten).get(context.person, az)
    path = Path(datei).expanduser()
    made = context.service(Dokumente).add(context.person, one, path, folder=ordner, kind=art)
    return f"{made.id}: {made.name}, {made.pages} S.{_without(made.missing)}"


@verb
def ki_modus(context: Context, az: str, modus: str, grundlage: str = "") -> str:
    """Say which models may see an Akte: lokal, pseudonym, frei or keine KI.

    az: Its Aktenzeichen.
    modus: lokal, pseudonym, frei or keine KI.
    grundlage: For frei: the consent of the client or the agreement, with its day.
    """
    akten = context.service(Akten)
    one = akten.get(context.person, az)
    akten.set_mode(context.person, one, modus, grundlage)
    return f"{one.az}: {modus} (vorher {one.mode}). Möglich sind: {', '.join(MODES)}."


@verb
def fristen(context: Context, az: str = "") -> list[str]:
    """List the open Fristen by their end.

    az: Only those of this Akte.
    """
    akte = context.service(Akten).get(context.person, az).id if az else None
    return [_line(context, one.id) for one in _open(context, akte)]


@verb
def frist(context: Context, nummer: int, tun: str, notiz: str = "") -> str:
    """Check, close or cancel a Frist.

    nummer: Its number in the list.
    tun: prüfen, erledigen or stornieren.
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


@verb
def zeiten(context: Context, az: str) -> list[dict[str, object]]:
    """List the time worked on an Akte.

    az: Aktenzeichen.
    """
    one = context.service(Akten).get(context.person, az)
    return [
        {
            "datum": day_words(zeit.day),
            "dauer": duration(zeit.minutes),
            "person": zeit.person,
            "text": zeit.text,
            "abrechenbar": "abrechenbar" if zeit.billable else "nicht abrechenbar",
        }
        for zeit in context.service(Zeiten).find(context.person, one.id)
    ]


@verb
def notizen(context: Context, az: str) -> list[str]:
    """List the notes and open alerts of an Akte, and what Helena proposes.

    az: Aktenzeichen.
    """
    one, person = context.service(Akten).get(context.person, az), context.person
    service = context.service(Notizen)
    alerts = [
        f"{german.day(a.due)}, {a.level}, für {a.who}: {a.text}"
        for a in service.alerts(person, akte=one.id)
    ]
    proposed = context.service(Entwuerfe).find(person, akte=one.id, kinds=("notiz", "alert"))
    return [
        *alerts,
        *(f"{n.made[:10]}, {n.person}: {n.text}" for n in service.find(person, one.id)),
        *(f"{PROPOSAL}: {e.title}" for e in proposed),
    ]


@verb
def verlauf(context: Context, az: str) -> list[str]:
    """Show what was changed in an Akte, and by whom.

    az: Aktenzeichen.
    """
    one = context.service(Akten).get(context.person, az)
    return [str(change) for change in changes_of(context.records, one.id)]


@verb
def entwuerfe(context: Context, az: str = "", alle: bool = False) -> list[str]:
    """List what Helena drafted and waits for you. Decide with: agent-studio drafts.

    az: Nur die dieser Akte.
    alle: Auch die entschiedenen.
    """
    akte = context.service(Akten).get(context.person, az).id if az else None
    found = context.service(Entwuerfe).find(
        context.person, akte=akte, states=tuple(STATES.values()) if alle else OPEN
    )
    return [
        f"{one.id[:8]}: {one.state}  {one.title}{_without(one.reason)}"
        + (f"\n{one.change}" if one.change else "")
        for one in found
    ]


@verb
def kalender(context: Context, datei: str, az: str = "") -> str:
    """Write the open Fristen and their Vorfristen to a calendar file (ics).

    datei: Die Datei, die geschrieben wird: fristen.ics.
    az: Nur die dieser Akte.
    """
    akte = context.service(Akten).get(context.person, az).id if az else None
    entries = of_fristen(_open(context, akte))
    path = Path(datei).expanduser()
    text = calendar(entries, datetime.datetime.now(datetime.UTC))
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        raise ToolFailed(f"{path} kann nicht geschrieben werden: {error.strerror}.") from error
    return f"{len(entries)} Tage stehen in {path}."


def _open(context: Context, akte: int | None) -> list[Frist]:
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
        return Source(f"{norm}: {known.title}" if known and known.title else str(norm))
    if found := _JUDGMENT.fullmatch(address):
        known = home.service(Urteile).get(int(found[1]))
        return Source(f"{known.name}{f', Rn. {found[2]}' if found[2] else ''}") if known else None
    if found := _DOCUMENT.fullmatch(address):
        try:
            one = home.service(Dokumente).get(home.person, int(found[2]))
        except ToolFailed:
            return None
        page = f", S. {found[3]}" if found[3] else ""
        same = str(one.akte) == found[1]
        what = (found[1], "dokument", found[2], found[3] or "")
        return Source(f"{one.name}{page}", "akten", what) if same else None
    what, _, number = address.removeprefix("kanzlei:").partition("/")
    if not number.isdecimal() or len(number) > 15:
        return None
    try:
        if what == "akte":
            akte = home.service(Akten).get(home.person, int(number))
            return Source(f"Akte {akte.az}", "akten", (str(akte.id),))
        if what == "frist":
            frist = home.service(Fristen).get(home.person, int(number))
            return Source(f"{frist.kind}, {german.day(frist.end)}", "heute", (str(frist.id),))
    except ToolFailed:
        return None
    return None


pack = Pack(
    services=(
        Akten,
        Entwuerfe,
        Dokumente,
        Fristen,
        Zeiten,
        Notizen,
        Normen,
        Masken,
        Vereinbarungen,
        Suche,
        Aufbewahrung,
        Urteile,
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
        beispiel,
        dokument,
        dokumente,
        ki_modus,
        fristen,
        frist,
        gesetz,
        gesetze,
        gesetze_import,
        urteile,
        urteile_import,
        suche,
        zitate,
        zeiten,
        notizen,
        verlauf,
        entwuerfe,
        kalender,
        *SECRECY_COMMANDS,
    ),
    pages=(
        PageEntry("heute", "Heute", "pages.today:TodayPage", "calendar-check"),
        PageEntry("akten", "Akten", "pages.akten:AktenPage", "briefcase"),
    ),
    palette=(PaletteEntry("Heute fällig", "heute"), PaletteEntry("Neue Akte", "akten", ("neu",))),
)

__all__ = ["ADDRESS", "pack"]
