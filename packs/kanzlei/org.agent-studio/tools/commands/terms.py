"""Commands that compute limitation, notice and default interest (KZ-22, KZ-50)."""

from __future__ import annotations

import datetime
from decimal import Decimal

from studio.packs import Context, ToolFailed, verb

from .. import _german as german
from ..deadlines.limitation import Ending, limitation, notice
from ..fees.interest import default_interest, read_rates
from ..office.forms import read_day
from ..office.settings import OfficeSettings


@verb(effect="read")
def verjaehrung(entstanden: str, bekannt: str = "", gehemmt: str = "") -> list[str]:
    """Das Ende der regelmäßigen Verjährung rechnen (§§ 195, 199 BGB).

    entstanden: Der Tag, an dem der Anspruch entstand: 04.02.2023.
    bekannt: Der Tag der Kenntnis, wenn er später war.
    gehemmt: Zeiten der Hemmung: 01.03.2024-30.06.2024; 01.09.2024-15.09.2024.
    """
    times: list[tuple[datetime.date, datetime.date]] = []
    for part in filter(None, (one.strip() for one in gehemmt.split(";"))):
        first, dash, last = part.partition("-")
        if not dash:
            raise ToolFailed(f"„{part}“: geschrieben wird 01.03.2024-30.06.2024.")
        times.append((_day("gehemmt", first), _day("gehemmt", last)))
    known = _day("bekannt", bekannt) if bekannt else None
    return _told(
        "Verjährt mit Ablauf des", limitation(_day("entstanden", entstanden), known, times)
    )


@verb(effect="read")
def kuendigung(
    zugang: str, seit: str = "", arbeitgeber: bool = False, probezeit: bool = False
) -> list[str]:
    """Rechnen, wann ein Arbeitsverhältnis durch Kündigung endet (§ 622 BGB).

    zugang: Der Tag, an dem die Kündigung zuging: 04.02.2026.
    seit: Der Tag, an dem das Arbeitsverhältnis begann.
    arbeitgeber: Der Arbeitgeber kündigt; sonst der Arbeitnehmer.
    probezeit: In der vereinbarten Probezeit.
    """
    since = _day("seit", seit) if seit else None
    found = notice(_day("zugang", zugang), employer=arbeitgeber, since=since, probation=probezeit)
    return _told("Endet mit Ablauf des", found)


@verb
def zinsen(
    context: Context, betrag: str, von: str, bis: str, unternehmer: bool = False
) -> list[dict[str, object]]:
    """Verzugszinsen rechnen (§§ 247, 288 BGB), je Halbjahr.

    betrag: Die Forderung: 10.000,00.
    von: Der erste Tag des Verzugs: 05.02.2025.
    bis: Der letzte Tag, der zählt.
    unternehmer: Entgeltforderung ohne Verbraucher, neun Prozentpunkte (§ 288 II).
    """
    own = read_rates(context.settings(OfficeSettings).basiszins)
    amount = Decimal(german.cents(betrag)) / 100
    found = default_interest(
        amount, _day("von", von), _day("bis", bis), business=unternehmer, own=own
    )
    rows: list[dict[str, object]] = [
        {
            "von": f"{one.first:%d.%m.%Y}",
            "bis": f"{one.last:%d.%m.%Y}",
            "tage": one.days,
            "satz": f"{german.number(one.percent)} %",
            "zinsen": german.euros(one.amount),
        }
        for one in found.parts
    ]
    total = {"von": "Zusammen", "zinsen": german.euros(found.total)}
    return [*rows, {**total, "hinweis": " ".join(found.warnings)}]


def _day(name: str, text: str) -> datetime.date:
    return datetime.date.fromisoformat(read_day(name, text))


def _told(what: str, ending: Ending) -> list[str]:
    return [f"{what} {german.day(ending.day)}", *ending.steps, *ending.warnings]


COMMANDS = (verjaehrung, kuendigung, zinsen)
