"""The commands that read files, contacts and calendars in, and take that back (KZ-50, KZ-51)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studio.packs import Context, verb

from ..office.akten import Akten
from .akten import AktenIntake, AktenPlan, shown
from .calendars import CalendarIntake, CalendarPlan
from .contacts import ContactIntake, ContactPlan
from .folders import FolderPlan, Intake

_FEW = 20
"""Names that a report has."""


@verb
def einlesen(context: Context, az: str, ordner: str, probe: bool = False) -> list[str]:
    """Die Dateien eines Ordners in eine Akte kopieren, ohne die, die sie schon hat.

    az: Aktenzeichen.
    ordner: Der Ordner, mit allen darunter.
    probe: Nur sagen, was geschähe.
    """
    person, intake = context.person, context.service(Intake)
    akte = context.service(Akten).get(person, az)
    plan = intake.plan(person, akte, Path(ordner).expanduser())
    if not probe and plan.new:
        plan = intake.apply(person, plan)
    done = "neu" if probe else "eingelesen"
    told = _told(plan, done)
    names = [f"{done}: {path.relative_to(plan.folder).as_posix()}" for path in plan.new]
    return [told, *names, *plan.problems]


@verb
def kontakte_einlesen(
    context: Context, datei: str, spalten: str = "", probe: bool = False
) -> list[str]:
    """Kontakte aus einer CSV-Tabelle oder vCard-Datei übernehmen, ohne die, die es schon gibt.

    datei: Die Datei, auch in Windows-1252.
    spalten: Welche Spalte welches Feld ist: „Zuname=name; Tel. privat=telefon“. Wird gemerkt.
    probe: Nur sagen, was geschähe.
    """
    person, intake = context.person, context.service(ContactIntake)
    plan = intake.plan(person, Path(datei).expanduser(), spalten)
    if not probe and plan.new:
        plan = intake.apply(person, plan)
    names = [f"{f.get('vorname', '')} {f['name']}".strip() for _, f in plan.new]
    return report(plan, "neu" if probe else "übernommen", names)


@verb
def akten_einlesen(
    context: Context, datei: str, spalten: str = "", probe: bool = False
) -> list[str]:
    """Akten aus einer CSV-Tabelle anlegen, mit ihren Aktenzeichen, Mandanten und Gegnern.

    datei: Die Datei, auch in Windows-1252.
    spalten: Welche Spalte welches Feld ist: „Nr.=az; Kurzrubrum=rubrum“. Wird gemerkt.
    probe: Nur sagen, was geschähe.
    """
    person, intake = context.person, context.service(AktenIntake)
    plan = intake.plan(person, Path(datei).expanduser(), spalten)
    if not probe and plan.new:
        plan = intake.apply(person, plan)
    return report(plan, "neu" if probe else "angelegt", shown(plan.new))


@verb
def kalender_einlesen(context: Context, datei: str, az: str = "", probe: bool = False) -> list[str]:
    """Termine und ganze Tage einer Kalenderdatei (ics) übernehmen, ohne die, die es schon gibt.

    datei: Die Datei.
    az: Die Akte, in die alle gehören; leer: die, deren Aktenzeichen im Eintrag steht.
    probe: Nur sagen, was geschähe.
    """
    person, intake = context.person, context.service(CalendarIntake)
    akte = context.service(Akten).get(person, az) if az else None
    plan = intake.plan(person, Path(datei).expanduser(), akte)
    if not probe and plan.new:
        plan = intake.apply(person, plan)
    done = "neu" if probe else "übernommen"
    told = _told(plan, done)
    return [told, *(f"{done}: {one.shown}, {akte.az}" for one, akte in plan.new), *plan.problems]


@verb
def einlesung_zurueck(context: Context, nummer: int) -> list[str]:
    """Zurücknehmen, was eine Einlesung brachte; was seither geändert wurde, bleibt.

    nummer: Die Nummer, die beim Einlesen genannt wurde.
    """
    return context.service(Intake).undo(context.person, nummer)


def report(plan: ContactPlan | AktenPlan, done: str, names: Sequence[str]) -> list[str]:
    """What a table brought, with the first names of it, and what of it could not be."""
    left = ", ".join(plan.table.left)
    more = [f"und {len(names) - _FEW} weitere"] if len(names) > _FEW else []
    unread = [f"Spalten ohne Feld: {left}"] if left else []
    clashes = plan.clashes if isinstance(plan, AktenPlan) else []
    firsts = [f"{done}: {one}" for one in names[:_FEW]]
    return [_told(plan, done), *firsts, *more, *clashes, *unread, *plan.table.problems]


def _told(plan: FolderPlan | ContactPlan | CalendarPlan | AktenPlan, done: str) -> str:
    told = f"{len(plan.new)} {done}, {len(plan.known)} schon da"
    if plan.number:
        told += f". Zurücknehmen: agent-studio kanzlei einlesung-zurueck {plan.number}"
    return told
