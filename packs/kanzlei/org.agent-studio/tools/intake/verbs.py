"""The commands that read Akten, files, contacts and calendars in, and take that back (KZ-51)."""

from __future__ import annotations

from pathlib import Path

from studio.packs import Context, ToolFailed, verb

from ..office.akten import Akte, Akten
from .folders import Intake
from .kinds import AKTEN, CALENDAR, CONTACTS, FOLDER, IntakeKind, kind_of


@verb
def einlesen(context: Context, az: str, ordner: str, probe: bool = False) -> list[str]:
    """Die Dateien eines Ordners in eine Akte kopieren, ohne die, die sie schon hat.

    az: Aktenzeichen.
    ordner: Der Ordner, mit allen darunter.
    probe: Nur sagen, was geschähe.
    """
    akte = context.service(Akten).get(context.person, az)
    return _read_in(context, FOLDER, ordner, trial=probe, akte=akte)


@verb
def kontakte_einlesen(
    context: Context, datei: str, spalten: str = "", probe: bool = False
) -> list[str]:
    """Kontakte aus einer CSV-Tabelle oder vCard-Datei übernehmen, ohne die, die es schon gibt.

    datei: Die Datei, auch in Windows-1252.
    spalten: Welche Spalte welches Feld ist: „Zuname=name; Tel. privat=telefon“. Wird gemerkt.
    probe: Nur sagen, was geschähe.
    """
    return _read_in(context, CONTACTS, datei, spalten, trial=probe)


@verb
def akten_einlesen(
    context: Context, datei: str, spalten: str = "", probe: bool = False
) -> list[str]:
    """Akten aus einer CSV-Tabelle anlegen, mit ihren Aktenzeichen, Mandanten und Gegnern.

    datei: Die Datei, auch in Windows-1252.
    spalten: Welche Spalte welches Feld ist: „Nr.=az; Kurzrubrum=rubrum“. Wird gemerkt.
    probe: Nur sagen, was geschähe.
    """
    return _read_in(context, AKTEN, datei, spalten, trial=probe)


@verb
def kalender_einlesen(context: Context, datei: str, az: str = "", probe: bool = False) -> list[str]:
    """Termine und ganze Tage einer Kalenderdatei (ics) übernehmen, ohne die, die es schon gibt.

    datei: Die Datei.
    az: Die Akte, in die alle gehören; leer: die, deren Aktenzeichen im Eintrag steht.
    probe: Nur sagen, was geschähe.
    """
    akte = context.service(Akten).get(context.person, az) if az else None
    return _read_in(context, CALENDAR, datei, trial=probe, akte=akte)


@verb(name="import")
def import_any(
    context: Context, pfad: str, az: str = "", spalten: str = "", probe: bool = False
) -> list[str]:
    """Einlesen, was der Pfad ist: ein Ordner, Kontakte (vcf, csv), Akten (csv), ein Kalender (ics).

    pfad: Die Datei oder der Ordner.
    az: Die Akte, in die es gehört; ein Ordner braucht sie.
    spalten: Welche Spalte einer Tabelle welches Feld ist: „Nr.=az; Kurzrubrum=rubrum“.
    probe: Nur sagen, was geschähe.
    """
    path = Path(pfad).expanduser()
    akte = context.service(Akten).get(context.person, az) if az else None
    if path.is_dir() and akte is None:
        raise ToolFailed("Ein Ordner wird in eine Akte eingelesen: sag mit --az, in welche.")
    kind = kind_of(path)
    return _read_in(context, kind, pfad, spalten * kind.by_columns, trial=probe, akte=akte)


@verb
def einlesung_zurueck(context: Context, nummer: int) -> list[str]:
    """Zurücknehmen, was eine Einlesung brachte; was seither geändert wurde, bleibt.

    nummer: Die Nummer, die beim Einlesen genannt wurde.
    """
    return context.service(Intake).undo(context.person, nummer)


def _read_in(
    context: Context,
    kind: IntakeKind,
    path: str,
    columns: str = "",
    *,
    trial: bool,
    akte: Akte | None = None,
) -> list[str]:
    plan = kind.plan(context.home, Path(path).expanduser(), columns, akte)
    if not trial and plan.new:
        plan = kind.apply(context.home, plan)
    first, *rest = kind.report(plan, trial=trial)
    undo = f". Zurücknehmen: agent-studio kanzlei einlesung-zurueck {plan.number}"
    return [first + undo * bool(plan.number), *rest]
