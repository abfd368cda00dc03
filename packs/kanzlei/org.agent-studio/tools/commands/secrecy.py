"""Commands for secrecy, audit, backup and retention. None is for commands of agents (KZ-42)."""

from __future__ import annotations

import datetime
from pathlib import Path

from studio.packs import Context, ToolFailed, verb

from .. import _german as german
from ..office import access_request, audit, backup
from ..office.agreements import Vereinbarungen
from ..office.akten import Akten
from ..office.dokumente import Dokumente
from ..office.export import write_akte
from ..office.persons import ADMIN, ANWALT
from ..office.retention import Aufbewahrung
from ..office.sealing import is_sealed
from ..office.secrecy import forget_chats


@verb
def vereinbarung(
    context: Context,
    anbieter: str,
    tag: str,
    land: str,
    fundstelle: str,
    unterauftragnehmer: str = "keine",
) -> str:
    """Eine Vereinbarung nach § 43e BRAO erfassen; ohne sie sendet „pseudonym“ nichts.

    anbieter: Der Anbieter, wie ihn das Studio nennt: anthropic.
    tag: Ihr Tag: 2026-03-02.
    land: Das Land, in dem die Daten verarbeitet werden.
    fundstelle: Wo ihr Text liegt.
    unterauftragnehmer: Die Unterauftragnehmer, die sie nennt.
    """
    day = _day("tag", tag).isoformat()
    agreements = context.service(Vereinbarungen)
    agreements.record(context.person, anbieter, day, unterauftragnehmer, land, fundstelle)
    return f"Vereinbarung mit {anbieter} vom {day} erfasst."


@verb
def vereinbarungen(context: Context, beenden: int = 0) -> list[str]:
    """Die Vereinbarungen mit Anbietern auflisten.

    beenden: Die Nummer einer, die jetzt endet.
    """
    agreements = context.service(Vereinbarungen)
    if beenden:
        agreements.end(context.person, beenden)
    return [
        f"{one.id}: {one.provider}, {one.day}, {one.country}, Unterauftragnehmer: "
        f"{one.subcontractors}, {one.place}{f', beendet {one.ended}' if one.ended else ''}"
        for one in agreements.all()
    ]


@verb
def protokoll(context: Context, az: str, datei: str) -> str:
    """Das Protokoll einer Akte als CSV schreiben.

    az: Das Aktenzeichen.
    datei: Die neue Datei.
    """
    akte = context.service(Akten).get(context.person, az)
    text = audit.as_csv(context.records, akte.id)
    path = Path(datei).expanduser()
    try:
        with open(path, "x", encoding="utf-8-sig", newline="", opener=audit.private) as file:
            file.write(text)
    except OSError as error:
        raise ToolFailed(f"{path} kann nicht geschrieben werden: {error.strerror}.") from error
    _, end, _ = audit.verify(context.records)
    return f"{german.many(text.count(chr(10)) - 1, 'Zeilen')} in {path}. Ende der Kette: {end}"


@verb
def verify(context: Context) -> str:
    """Prüfen, ob das Protokoll geändert wurde."""
    count, end, problem = audit.verify(context.records)
    if problem:
        raise ToolFailed(f"{problem} Bis Zeile {count} stimmt die Kette.")
    return f"{german.many(count, 'Zeilen')}, unverändert. Ende der Kette: {end}"


@verb(name="backup")
def save(context: Context, datei: str) -> str:
    """Die ganze Kanzlei in eine Datei sichern, auch während sie benutzt wird.

    datei: Die Datei, etwa /media/stick/kanzlei.zip; sie ist nicht verschlüsselt.
    """
    if context.person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Gesichert wird von einem Anwalt, nicht {context.person.role}.")
    done = backup.save(context.home, Path(datei).expanduser())
    documents = german.many(done.documents, "Dokumente")
    return "\n".join((f"{documents} und alle Daten in {datei}.", *done.problems))


@verb(name="restore")
def bring_back(context: Context, datei: str, ersetzen: bool = False) -> str:
    """Eine Sicherung zurückspielen; vorher wird sie ganz geprüft.

    datei: Die Sicherung.
    ersetzen: Auch wenn hier schon Akten sind; sie werden daneben aufgehoben.
    """
    path = Path(datei).expanduser()
    done = backup.restore(context.home, context.person, path, replacing=ersetzen)
    kept = f" Die Dokumente von vorher liegen in {done.kept}." if done.kept else ""
    return f"{german.many(done.documents, 'Dokumente')} und alle Daten sind zurück.{kept}"


@verb
def ablegen(context: Context, az: str, tag: str = "") -> str:
    """Ein Mandat beenden und seine Akte ablegen.

    az: Das Aktenzeichen.
    tag: Der Tag des Endes; ohne ihn heute.
    """
    akte = context.service(Akten).get(context.person, az)
    day = _day("tag", tag) if tag else datetime.date.today()
    context.service(Aufbewahrung).close_akte(context.person, akte, day)
    return f"{akte.az} ist zum {german.day(day)} abgelegt."


@verb
def verschliessen(context: Context, az: str, pruefen: bool = False) -> str:
    """Die Dateien einer Akte, die ruht, verschlüsselt in eine einzige legen.

    az: Das Aktenzeichen.
    pruefen: Nur sagen, ob sie verschlossen sind.
    """
    akte = context.service(Akten).get(context.person, az)
    sealed = is_sealed(context.service(Dokumente).folder_of(akte))
    if pruefen or sealed:
        return f"Die Dateien der Akte {akte.az} sind {'verschlossen' if sealed else 'offen'}."
    count = context.service(Aufbewahrung).seal(context.person, akte)
    told = german.counted(count, "Datei ist", "Dateien sind")
    return f"{told} in der Akte {akte.az} verschlossen. „oeffnen {akte.az}“ öffnet sie wieder."


@verb
def oeffnen(context: Context, az: str) -> str:
    """Die Dateien einer verschlossenen Akte wieder in ihren Ordner legen.

    az: Das Aktenzeichen.
    """
    akte = context.service(Akten).get(context.person, az)
    count = context.service(Aufbewahrung).unseal(context.person, akte)
    told = german.counted(count, "Datei liegt", "Dateien liegen")
    return f"{told} wieder im Ordner der Akte {akte.az}."


@verb
def aufbewahrung(context: Context, alle: bool = False) -> list[str]:
    """Abgelegte Akten auflisten, deren Jahre vorbei sind (§ 50 BRAO).

    alle: Auch die anderen.
    """
    found = context.service(Aufbewahrung).all(context.person)
    return [
        f"{one.akte.az}: {one.akte.rubrum}, beendet {one.ended}, aufzubewahren bis "
        f"{one.until:%d.%m.%Y}{f', festgehalten: {one.held}' if one.held else ''}"
        for one in found
        if alle or one.due
    ]


@verb
def festhalten(context: Context, az: str, grund: str = "") -> str:
    """Eine Akte über ihre Jahre hinaus aufbewahren.

    az: Das Aktenzeichen.
    grund: Warum; ohne ihn wird sie wieder frei.
    """
    akte = context.service(Akten).get(context.person, az)
    context.service(Aufbewahrung).hold(context.person, akte, grund)
    return f"{akte.az} wird {f'festgehalten: {grund}' if grund else 'nicht mehr festgehalten'}."


@verb
def loeschen(context: Context, az: str, nochmals: str, grund: str = "") -> str:
    """Eine abgelegte Akte endgültig löschen: Daten, Ordner, Gespräche, Entwürfe.

    az: Das Aktenzeichen.
    nochmals: Dasselbe Aktenzeichen noch einmal.
    grund: Warum vor dem Ende der Aufbewahrung.
    """
    if nochmals.strip() != az.strip():
        raise ToolFailed("Die beiden Aktenzeichen sind verschieden. Nichts wurde gelöscht.")
    akte = context.service(Akten).get(context.person, az)
    gone = context.service(Aufbewahrung).delete(context.person, akte, reason=grund)
    return f"Gelöscht: {akte.az}; {gone}. In Sicherungen ist sie noch."


@verb
def vergessen(context: Context, az: str, nochmals: str) -> str:
    """Die Gespräche zu einer Akte löschen, mit ihren offenen Entwürfen; die Akte bleibt.

    az: Das Aktenzeichen.
    nochmals: Dasselbe Aktenzeichen noch einmal.
    """
    if nochmals.strip() != az.strip():
        raise ToolFailed("Die beiden Aktenzeichen sind verschieden. Nichts wurde gelöscht.")
    akte = context.service(Akten).get(context.person, az)
    chats = forget_chats(context.home, context.person, akte)
    told = german.counted(chats, "Gespräch", "Gespräche")
    return f"{told} zur Akte {akte.az} {'ist' if chats == 1 else 'sind'} gelöscht."


@verb
def auskunft(context: Context, name: str, datei: str) -> str:
    """Alles, was die Kanzlei von einer Person hat, in eine zip-Datei schreiben.

    name: Vor- und Nachname.
    datei: Die neue Datei.
    """
    path = Path(datei).expanduser()
    akten, documents = access_request.collect(context.home, context.person, name, path)
    return (
        f"{german.many(akten, 'Akten')}, {german.many(documents, 'Dokumente')} in {path}. Sieh sie "
        "durch, bevor Du sie herausgibst: es stehen auch andere darin."
    )


@verb(name="export")
def give_out(context: Context, az: str, datei: str) -> str:
    """Eine ganze Akte in eine zip-Datei schreiben: Daten, Dokumente, Kalender und Protokoll.

    az: Das Aktenzeichen.
    datei: Die neue Datei; sie ist nicht verschlüsselt.
    """
    akte = context.service(Akten).get(context.person, az)
    path = Path(datei).expanduser()
    count = write_akte(context.home, context.person, akte, path)
    return f"{german.many(count, 'Dokumente')} und alle Daten der Akte {akte.az} in {path}."


def _day(name: str, text: str) -> datetime.date:
    try:
        return german.read_day(text)
    except ValueError as error:
        raise ToolFailed(f"{name}: „{text}“ ist kein Tag. Geschrieben wird 2026-03-02.") from error


COMMANDS = (
    *(vereinbarung, vereinbarungen, protokoll, verify, save, bring_back),
    *(verschliessen, oeffnen),
    *(ablegen, aufbewahrung, festhalten, loeschen, vergessen, auskunft, give_out),
)
