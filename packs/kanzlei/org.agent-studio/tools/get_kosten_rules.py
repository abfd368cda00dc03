"""The tool ``get_kosten_rules``: fees by RVG and GKG, computed to the cent (KZ-25, KZ-35)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from studio.packs import Result, ToolFailed, dataclass, tool

from . import _german as german
from .deadlines.reading import read_day
from .fees.bill import Assignment, Bill, Item, Row, compute_bill, instance_risk
from .fees.positions import find_position
from .law.citations import addresses


@dataclass(frozen=True)
class FeePosition:
    """A number of VV RVG or KV GKG."""

    number: str
    rate: str = ""
    value: str = ""
    reason: str = ""
    count: float = 0
    debt: bool = False


@tool(effect="read", verb="Computing fees", done="Computed fees", steady=True)
def get_kosten_rules(
    positions: Sequence[FeePosition] = (),
    value: str = "",
    day: str = "",
    clients: int = 1,
    pkh: bool = False,
    pending: str = "",
    small_business: bool = False,
    risk: bool = False,
) -> Result:
    """Compute a German lawyer's fees (RVG) and court fees (GKG) with their norms. Never compute
    them yourself. Flat rate 7002, VAT 7008 and credits (Anrechnung) are added by the tool.

    positions: Each number: 2300 with its rate (above 1.3 with the reason), 3100, 3104, 1003,
        KV 1210, 7000 with count pages, 7003 with km. value: of a part; debt: collecting an
        uncontested debt.
    value: The value in euros (Gegenstandswert), as 10000 or 3100.55; without it the rules of the
        positions are told.
    day: The day of the unconditional mandate, as 2025-06-01; it decides which table holds.
    clients: How many clients there are in the same matter (1008).
    pkh: Whether the state pays (§ 49 RVG).
    pending: The day the case came to court, if not the day of the mandate; for GKG.
    small_business: Whether the lawyer charges no VAT (§ 19 UStG).
    risk: Compute what the first instance costs who loses it, without positions.
    """
    if not value:
        return _rules(positions)
    if not day:
        raise ToolFailed("Der Tag des Auftrags fehlt (day); nach ihm richtet sich die Tabelle.")
    mandate = read_day("day", day)
    assignment = Assignment(
        _amount("value", value),
        mandate,
        read_day("pending", pending) if pending else mandate,
        clients,
        pkh,
        small_business,
    )
    if risk:
        bill = instance_risk(assignment)
    else:
        bill = compute_bill([_item(one) for one in positions], assignment)
    return Result(_shown(bill), german.euros(bill.total), _sources(bill))


def _rules(asked: Sequence[FeePosition]) -> Result:
    if not asked:
        raise ToolFailed("Nenne den Wert (value) und den Tag (day), oder Nummern (positions).")
    found = [find_position(one.number) for one in asked]
    rules = [
        {
            "nummer": one.norm,
            "bezeichnung": one.words,
            "satz": german.number(one.rate),
            "regel": one.rule,
            "geprüft": one.checked,
        }
        for one in found
    ]
    return Result(rules, german.many(len(found), "Regeln"), addresses(one.norm for one in found))


def _item(asked: FeePosition) -> Item:
    return Item(
        asked.number,
        _amount("rate", asked.rate) if asked.rate else None,
        _amount("value", asked.value) if asked.value else None,
        asked.reason,
        Decimal(str(asked.count)),
        asked.debt,
    )


def _shown(bill: Bill) -> dict[str, object]:
    return {
        "angelegenheiten": [
            {
                "name": section.name,
                "tabelle": section.table.name,
                "positionen": [_line(row) for row in section.rows],
                "summe": german.euros(section.total),
            }
            for section in bill.sections
        ],
        "gesamt": german.euros(bill.total),
        "hinweise": list(bill.warnings),
    }


def _line(row: Row) -> dict[str, str]:
    line = {"nummer": row.number, "bezeichnung": row.words}
    if row.value is not None:
        line["wert"] = german.euros(row.value)
    if row.rate is not None:
        line["satz"] = german.number(row.rate)
    line |= {"betrag": german.euros(row.amount), "norm": row.norm}
    return line | ({"hinweis": row.note} if row.note else {})


def _sources(bill: Bill) -> tuple[str, ...]:
    tables = addresses(section.table.name for section in bill.sections)
    rows = addresses(row.norm for section in bill.sections for row in section.rows)
    return tuple(dict.fromkeys((*tables, *rows)))


def _amount(name: str, text: str) -> Decimal:
    """The number of a parameter; raises ToolFailed."""
    try:
        return german.read_amount(text)
    except ValueError as error:
        raise ToolFailed(f"{name}: {error} Geschrieben wird sie 3100.55.") from error
