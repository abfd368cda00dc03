"""Commands about Termine and Aufgaben (KZ-50)."""

from __future__ import annotations

import datetime

from studio.packs import Context, ToolFailed, verb

from .. import _german as german
from ..office.akten import Akten
from ..office.aufgaben import Aufgaben
from ..office.persons import named
from ..office.termine import Termin, Termine


@verb
def termin(
    context: Context,
    az: str,
    tag: str,
    beginn: str,
    text: str = "",
    ende: str = "",
    art: str = "Termin",
    ort: str = "",
) -> str:
    """Einen Termin in eine Akte eintragen.

    az: Das Aktenzeichen.
    tag: Der Tag, 04.02.2026.
    beginn: Die Uhrzeit, 10:30.
    text: Worum es geht.
    ende: Bis wann, 11:15.
    art: Verhandlung, Besprechung, Telefonat, Ortstermin oder Termin.
    ort: Wo: AG Rosenheim, Saal 12.
    """
    service, akte = context.service(Termine), context.service(Akten).get(context.person, az)
    number = service.add(
        context.person, akte, day=tag, begin=beginn, end=ende, kind=art, place=ort, text=text
    )
    return _line(service.get(context.person, number))


@verb
def termine(context: Context, az: str = "") -> list[str]:
    """Die Termine von heute an auflisten.

    az: Nur die dieser Akte.
    """
    akte = context.service(Akten).get(context.person, az).id if az else None
    found = context.service(Termine).find(context.person, akte=akte, since=datetime.date.today())
    return [_line(one) for one in found]


@verb
def termin_absagen(context: Context, nummer: int) -> str:
    """Einen Termin absagen; er bleibt im Verlauf stehen.

    nummer: Seine Nummer in der Liste „termine“.
    """
    service = context.service(Termine)
    one = service.get(context.person, nummer)
    service.cancel(context.person, one)
    return f"Abgesagt: {_line(one)}"


@verb
def aufgabe(context: Context, az: str, text: str, faellig: str = "", person: str = "") -> str:
    """Eine Aufgabe zu einer Akte anlegen.

    az: Das Aktenzeichen.
    text: Was zu tun ist.
    faellig: Der Tag, 04.02.2026; leer ohne Tag.
    person: Für wen; leer für Dich.
    """
    who = named(context.records, person) if person else context.person
    if who is None:
        raise ToolFailed(f"Hier arbeitet niemand, der {person} heißt.")
    akte = context.service(Akten).get(context.person, az)
    number = context.service(Aufgaben).add(context.person, akte, text, due=faellig, who=who)
    return f"{number}: Aufgabe für {who.name} in {akte.az}"


@verb
def aufgaben(context: Context, az: str = "") -> list[str]:
    """Die offenen Aufgaben auflisten.

    az: Nur die dieser Akte.
    """
    akte = context.service(Akten).get(context.person, az).id if az else None
    return [
        f"{one.id}: {german.day(one.due) if one.due else 'ohne Tag'}, für {one.who}: {one.text}"
        f"  {one.az} {one.rubrum}"
        for one in context.service(Aufgaben).find(context.person, akte=akte)
    ]


@verb
def aufgabe_erledigen(context: Context, nummer: int, notiz: str = "") -> str:
    """Eine Aufgabe erledigen.

    nummer: Ihre Nummer in der Liste „aufgaben“.
    notiz: Was getan wurde.
    """
    service = context.service(Aufgaben)
    one = service.get(context.person, nummer)
    service.finish(context.person, one, notiz)
    return f"Erledigt: {one.text}"


def _line(one: Termin) -> str:
    place = f", {one.place}" if one.place else ""
    return f"{one.id}: {german.day(one.day)} {one.hours}  {one.title}{place}  {one.az} {one.rubrum}"


COMMANDS = (termin, termine, termin_absagen, aufgabe, aufgaben, aufgabe_erledigen)
