"""The commands that read Akten, files, contacts and calendars in, and take that back (KZ-51)."""

from __future__ import annotations

from pathlib import Path

from studio.packs import Context, ToolFailed, verb

from .._secret import ask_secret
from ..office.akten import Akte, Akten
from .folders import Intake
from .jlawyer import plan_jlawyer
from .jlawyer_server import JLawyerServer
from .kinds import (
    AKTEN,
    CALENDAR,
    CONTACTS,
    FOLDER,
    JLAWYER,
    MESSAGE,
    FileKind,
    IntakeKind,
    Plan,
    has_new,
    kind_of,
)


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


@verb
def nachricht_einlesen(
    context: Context, pfad: str, az: str = "", mandant: str = "", probe: bool = False
) -> list[str]:
    """Eine Nachricht aus dem beA (zip) oder mit XJustiz übernehmen, mit Dokumenten und Beteiligten.

    pfad: Die zip-Datei, der Ordner oder die xjustiz_nachricht.xml neben ihren Dateien.
    az: Die Akte, in die sie gehört; leer: die mit dem Aktenzeichen, sonst eine neue.
    mandant: Wer davon der Mandant ist, für eine neue Akte.
    probe: Nur sagen, was geschähe.
    """
    akte = context.service(Akten).get(context.person, az) if az else None
    return _read_in(context, MESSAGE, pfad, mandant, trial=probe, akte=akte)


@verb(name="import")
def import_any(
    context: Context,
    pfad: str,
    az: str = "",
    spalten: str = "",
    mandant: str = "",
    probe: bool = False,
) -> list[str]:
    """Einlesen, was der Pfad ist: ein Ordner, Kontakte (vcf, csv), Akten (csv), ein Kalender (ics)
    oder eine Nachricht aus dem beA (zip, xml).

    pfad: Die Datei oder der Ordner.
    az: Die Akte, in die es gehört; ein Ordner braucht sie.
    spalten: Welche Spalte einer Tabelle welches Feld ist: „Nr.=az; Kurzrubrum=rubrum“.
    mandant: Wer in einer Nachricht der Mandant ist, für eine neue Akte.
    probe: Nur sagen, was geschähe.
    """
    path = Path(pfad).expanduser()
    akte = context.service(Akten).get(context.person, az) if az else None
    kind = kind_of(path)
    if kind is FOLDER and akte is None:
        raise ToolFailed("Ein Ordner wird in eine Akte eingelesen: sag mit --az, in welche.")
    more = mandant if kind is MESSAGE else spalten if kind.asked[0] else ""
    return _read_in(context, kind, pfad, more, trial=probe, akte=akte)


@verb
def einlesung_zurueck(context: Context, nummer: int) -> list[str]:
    """Zurücknehmen, was eine Einlesung brachte; was seither geändert wurde, bleibt.

    nummer: Die Nummer, die beim Einlesen genannt wurde.
    """
    return context.service(Intake).undo(context.person, nummer)


@verb
def jlawyer_einlesen(
    context: Context, adresse: str, benutzer: str, probe: bool = False
) -> list[str]:
    """Akten, Kontakte, Dokumente und Termine von einem Server von j-lawyer.org übernehmen.

    Nach dem Passwort wird gefragt; es wird nicht gespeichert. Dort wird nichts geändert.

    adresse: Der Server, wie http://server:8080.
    benutzer: Dein Benutzername dort.
    probe: Nur sagen, was geschähe.
    """
    server = JLawyerServer(adresse, benutzer, ask_secret("Passwort: "))
    plan = plan_jlawyer(context.home, context.person, server)
    return _keep(context, JLAWYER, plan, trial=probe)


def _read_in(
    context: Context,
    kind: FileKind,
    path: str,
    columns: str = "",
    *,
    trial: bool,
    akte: Akte | None = None,
) -> list[str]:
    plan = kind.plan(context.home, Path(path).expanduser(), columns, akte)
    return _keep(context, kind, plan, trial=trial)


def _keep(context: Context, kind: IntakeKind, plan: Plan, *, trial: bool) -> list[str]:
    if not trial and has_new(plan):
        plan = kind.apply(context.home, plan)
    first, *rest = kind.report(plan, trial=trial)
    undo = f". Zurücknehmen: agent-studio kanzlei einlesung-zurueck {plan.number}"
    return [first + undo * bool(plan.number), *rest]


COMMANDS = (
    einlesen,
    kontakte_einlesen,
    akten_einlesen,
    kalender_einlesen,
    nachricht_einlesen,
    import_any,
    einlesung_zurueck,
    jlawyer_einlesen,
)
