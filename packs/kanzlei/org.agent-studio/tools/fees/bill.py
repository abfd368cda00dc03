"""Bill: all fees of an assignment by matter, with what is credited, costs and VAT (KZ-24, KZ-25).

A matter (Angelegenheit) is out of court, the order for payment, the first instance or the appeal:
each has its own flat rate for postage (VV 7002).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import field
from decimal import Decimal

from studio.packs import ToolFailed, dataclass

from .costs import (
    COSTS,
    FLAT_RATE,
    FREE,
    POSTAGE,
    SERVICE,
    VAT,
    amount_of,
    flat_rate,
    free_amount,
    vat,
)
from .positions import MATTERS, Matter, Position, find_position
from .tables import Table, courts_table, lawyers_table, rounded

_RAISE = Decimal("0.3")
_HIGHEST_RAISE = Decimal(2)
_HIGHEST_CREDIT = Decimal("0.75")
_LOWEST_ORDER = {"gkg34_2021": Decimal(36), "gkg34_2025": Decimal(38)}
_SMALL_DEBT = Decimal(50)
UNCHECKED = "ungeprüft"


@dataclass(frozen=True, slots=True)
class Item:
    """One position that is asked for. ``value`` replaces that of the whole assignment.

    ``count`` is that of a cost: pages, kilometres, hours, euros. ``debt``: the fee is for
    collecting a debt that nobody contests. Of a free position ``reason`` is what it is called.
    """

    number: str
    rate: Decimal | None = None
    value: Decimal | None = None
    reason: str = ""
    count: Decimal = Decimal(0)
    debt: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """What fees are computed from. ``pending`` is the day the case came to court."""

    value: Decimal
    mandate: datetime.date
    pending: datetime.date
    clients: int = 1
    pkh: bool = False
    small_business: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line: an amount with where it comes from. ``note`` is for the person to look at."""

    number: str
    words: str
    amount: Decimal
    norm: str
    value: Decimal | None = None
    rate: Decimal | None = None
    note: str = ""


@dataclass(slots=True)
class Section:
    """The rows of one matter, or of the court, and their sum."""

    name: Matter
    table: Table
    rows: list[Row] = field(default_factory=list[Row])

    @property
    def total(self) -> Decimal:
        return sum((row.amount for row in self.rows), Decimal(0))


@dataclass(frozen=True, slots=True)
class Bill:
    """Everything; ``warnings`` are for the person to look at."""

    sections: tuple[Section, ...]
    warnings: tuple[str, ...]

    @property
    def total(self) -> Decimal:
        return sum((section.total for section in self.sections), Decimal(0))


@dataclass(frozen=True, slots=True)
class _Fee:
    position: Position
    rate: Decimal
    value: Decimal
    item: Item


def compute_bill(items: Sequence[Item], assignment: Assignment) -> Bill:
    """The fees of all items. Raises ToolFailed for what the law or this pack does not have."""
    if not items:
        raise ToolFailed("Nenne mindestens eine Nummer, etwa 3100 und 3104.")
    if not 1 <= assignment.clients <= 1000:
        raise ToolFailed("Die Zahl der Auftraggeber liegt zwischen 1 und 1000.")
    costs, fees = _read(items, assignment)
    warnings: list[str] = []
    sections = [_section(matter, fees[matter], assignment) for matter in MATTERS if fees[matter]]
    _credit(sections, fees, assignment)
    free = [one for one in items if one.number in FREE]
    costs = [one for one in costs if one.number != SERVICE]
    if costs or free:
        if not sections:
            table = lawyers_table(assignment.mandate)
            sections = [Section("aussergerichtlich", table)]
        elif len(sections) > 1:
            warnings.append(
                f"Die Auslagen stehen bei der letzten Angelegenheit ({sections[-1].name})."
            )
        sections[-1].rows += [_cost_row(one) for one in costs]
        sections[-1].rows += [_free_row(one) for one in free if one.number == "frei"]
    for section in sections:
        _finish(section, assignment)
    if free:  # what has no VAT
        sections[-1].rows += [_free_row(one) for one in free if one.number != "frei"]
    if court := _court(items, fees["Gericht"], assignment):
        sections.append(court)
    if assignment.clients > 1:
        warnings.append("VV 1008 setzt denselben Gegenstand für alle Auftraggeber voraus.")
    return Bill(tuple(sections), tuple(warnings))


def instance_risk(assignment: Assignment) -> Bill:
    """What the first instance costs who loses it: both lawyers and the court (KZ-25)."""
    own = compute_bill([Item("3100"), Item("3104"), Item("KV 1210")], assignment)
    other = compute_bill([Item("3100"), Item("3104")], assignment)
    warning = (
        "Ohne Auslagen für Zeugen und Sachverständige; der Gegner ist als umsatzsteuerpflichtig "
    )
    return Bill(
        (own.sections[0], *other.sections, own.sections[1]),
        (warning + "wie hier gerechnet.",),
    )


def _read(
    items: Iterable[Item], assignment: Assignment
) -> tuple[list[Item], dict[Matter, list[_Fee]]]:
    """The costs, and the fees by their matter."""
    costs: list[Item] = []
    fees: dict[Matter, list[_Fee]] = {matter: [] for matter in (*MATTERS, "Gericht")}
    for item in items:
        if item.number in FREE:
            continue
        name = _cost_name(item.number)
        if name in COSTS:
            costs.append(Item(name, count=item.count))
        elif name == "1008":
            if assignment.clients < 2:
                raise ToolFailed("VV 1008: Die Zahl der Auftraggeber fehlt (clients).")
        elif name in (FLAT_RATE, VAT):
            continue  # each matter has them
        else:
            fee = _fee(item, assignment)
            fees[fee.position.matter].append(fee)
    _place_settlement(fees)
    for matter, found in fees.items():
        numbers = [one.position.number for one in found if one.item.value is None]
        if twice := sorted({one for one in numbers if numbers.count(one) > 1}):
            raise ToolFailed(
                f"{twice[0]} entsteht in einer Angelegenheit nur einmal (§ 15 II RVG, {matter}). "
                "Für Teile des Gegenstands nenne zu jeder den Wert (value)."
            )
    return costs, fees


def _cost_name(number: str) -> str:
    wanted = " ".join(number.replace("VV", " ").split())
    names = {one.casefold(): one for one in COSTS}
    return names.get(wanted.casefold(), wanted)


def _fee(item: Item, assignment: Assignment) -> _Fee:
    position = find_position(item.number)
    value = assignment.value if item.value is None else item.value
    if item.debt and position.number == "2300" and value <= _SMALL_DEBT:
        raise ToolFailed(
            "Für Inkasso bis 50 € gilt ein eigener Betrag (§ 13 II RVG), der nicht hinterlegt ist."
        )
    rate = position.chosen_rate(item.rate, item.reason, debt=item.debt)
    if position.raised and assignment.clients > 1:
        rate += min(_RAISE * (assignment.clients - 1), _HIGHEST_RAISE)
    return _Fee(position, rate, value, item)


def _place_settlement(fees: dict[Matter, list[_Fee]]) -> None:
    """Put VV 1000 to the court's matter where 1003 or a fee of the court stands too."""
    for fee in [one for one in fees["aussergerichtlich"] if one.position.number == "1000"]:
        others = [one for one in fees["aussergerichtlich"] if one.position.number != "1000"]
        for matter in ("Berufung", "erste Instanz"):
            if fees[matter] and not others:
                fees["aussergerichtlich"].remove(fee)
                fees[matter].append(fee)
                break


def _section(matter: Matter, fees: list[_Fee], assignment: Assignment) -> Section:
    """The fees of a matter, those for parts of the value limited together (§ 15 III RVG)."""
    pkh = assignment.pkh and matter != "aussergerichtlich"
    section = Section(matter, lawyers_table(assignment.mandate, pkh=pkh))
    table = section.table
    for group in dict.fromkeys(one.position.group for one in fees):
        found = [one for one in fees if one.position.group == group]
        rows = [_row(one, table, assignment) for one in found]
        section.rows += rows
        if len(rows) > 1:
            rate, value = max(one.rate for one in found), sum(one.value for one in found)
            limit = table.fee(rate, Decimal(value))
            if (over := sum(row.amount for row in rows) - limit) > 0:
                words = f"Begrenzung auf {rate:f} aus dem Gesamtwert".replace(".", ",")
                section.rows.append(
                    Row("§ 15 III", words, -Decimal(over), "§ 15 III RVG", Decimal(value), rate)
                )
    return section


def _row(fee: _Fee, table: Table, assignment: Assignment) -> Row:
    position = fee.position
    raised = position.raised and assignment.clients > 1
    number, norm = f"VV {position.number}", position.norm
    if raised:
        number, norm = f"{number}, 1008", f"{norm}, VV 1008 RVG"
    note = f"Grund: {fee.item.reason}" if fee.item.reason else ""
    amount = table.fee(fee.rate, fee.value)
    return Row(number, position.words, amount, norm, fee.value, fee.rate, note)


def _credit(
    sections: list[Section], fees: dict[Matter, list[_Fee]], assignment: Assignment
) -> None:
    """Credit the Geschäftsgebühr, and the fee of the order for payment, to what follows."""
    by_name = {section.name: section for section in sections}
    business = [one for one in fees["aussergerichtlich"] if one.position.group == "Geschäft"]
    order = [one for one in fees["Mahnverfahren"] if one.position.number == "3305"]
    first = [one for one in fees["erste Instanz"] if one.position.group == "Verfahren"]
    if business and order and first:
        raise ToolFailed(
            "Die Geschäftsgebühr wird auf VV 3305 und diese auf VV 3100 angerechnet; das rechnet "
            "das Paket nicht. Rechne Mahnverfahren und Klage getrennt."
        )
    if business and (order or first):
        if assignment.pkh:
            raise ToolFailed(
                "Die Anrechnung neben Prozesskostenhilfe (§ 58 II RVG) rechnet das Paket nicht."
            )
        if len(business) > 1:
            raise ToolFailed(
                "Mehrere Geschäftsgebühren werden nach § 15a II RVG angerechnet; das rechnet das "
                "Paket nicht."
            )
        (fee,) = business
        target = by_name["Mahnverfahren" if order else "erste Instanz"]
        rate, value = min(fee.rate / 2, _HIGHEST_CREDIT), min(fee.value, _value(order or first))
        _credited(target, fee, rate, value, target.table.full_fee(value) * rate)
    if order and first:
        target, value = by_name["erste Instanz"], min(_value(order), _value(first))
        amount = target.table.fee(order[0].rate, value)
        _credited(target, order[0], order[0].rate, value, amount)


def _value(fees: Sequence[_Fee]) -> Decimal:
    return sum((one.value for one in fees), Decimal(0))


def _credited(target: Section, fee: _Fee, rate: Decimal, value: Decimal, amount: Decimal) -> None:
    norm = "VV 3305 RVG, Anmerkung" if fee.position.number == "3305" else "Vorbem. 3 IV VV RVG"
    paid = sum(
        row.amount
        for row in target.rows
        if row.number.startswith(("VV 3100", "VV 3101", "VV 3305"))
    )
    credit = min(rounded(amount), Decimal(paid))
    words = f"Anrechnung von VV {fee.position.number}"
    target.rows.append(Row("Anrechnung", words, -credit, norm, value, rate))


def _finish(section: Section, assignment: Assignment) -> None:
    """Add the flat rate for postage and VAT."""
    fees = sum(
        (row.amount for row in section.rows if row.rate is not None and row.number != "Anrechnung"),
        Decimal(0),
    )
    own = any(row.number == f"VV {POSTAGE}" for row in section.rows)
    if fees and not own:
        words = "Pauschale für Post und Telekommunikation"
        section.rows.append(Row("VV 7002", words, flat_rate(fees), "VV 7002 RVG", note=UNCHECKED))
    if not assignment.small_business:
        section.rows.append(Row("VV 7008", "Umsatzsteuer, 19 %", vat(section.total), "VV 7008 RVG"))


def _cost_row(item: Item) -> Row:
    words, amount = COSTS[item.number].words, amount_of(item.number, item.count)
    note = "" if item.number == POSTAGE else UNCHECKED
    return Row(f"VV {item.number}", words, amount, f"VV {item.number[:4]} RVG", note=note)


def _free_row(item: Item) -> Row:
    amount = free_amount(item.number, item.reason, item.count)
    return Row(item.number, item.reason.strip() or FREE[item.number], amount, "")


def _court(items: Sequence[Item], fees: list[_Fee], assignment: Assignment) -> Section | None:
    """The fees of the court, KV 1100 credited to what follows it."""
    services = [one for one in items if _cost_name(one.number) == SERVICE]
    if not fees and not services:
        return None
    section = Section("Gericht", courts_table(assignment.pending))
    table, lowest = section.table, Decimal(15)
    order: _Fee | None = None
    for fee in fees:
        position = fee.position
        if position.number == "KV 1100":
            lowest, order = _LOWEST_ORDER[table.key], fee
        amount = table.fee(fee.rate, fee.value, lowest)
        lowest = Decimal(15)
        section.rows.append(
            Row(position.number, position.words, amount, position.norm, fee.value, fee.rate)
        )
    first = [one for one in fees if one.position.number in ("KV 1210", "KV 1211")]
    if order is not None and first:
        value = min(order.value, first[0].value)
        credit = table.fee(order.rate, value, _LOWEST_ORDER[table.key])
        words = "Anrechnung von KV 1100"
        norm = "KV 1210 GKG, Anmerkung"
        section.rows.append(Row("Anrechnung", words, -credit, norm, value, order.rate))
    for item in services:
        amount = amount_of(SERVICE, item.count)
        section.rows.append(Row(SERVICE, COSTS[SERVICE].words, amount, "KV 9002 GKG"))
    return section
