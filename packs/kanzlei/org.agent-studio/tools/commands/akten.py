"""Commands about Akten, their documents and Fristen (KZ-50).

No command says ``effect="read"``, so commands of agents cannot use any: what they print would go to
whichever model the agent has, and nobody would ask the Akte's mode (KZ-42).
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from studio.packs import Context, ToolFailed, verb

from .. import _german as german
from ..office.akten import MODES, Akten
from ..office.dokumente import Dokumente
from ..office.fristen import Frist, Fristen
from ..office.recheck import recheck


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


COMMANDS = (akten, akte, akte_anlegen, dokumente, dokument, ki_modus, fristen, frist)
