"""Costs: paper, travel and postage of VV RVG part 7, and service by the court (KV 9002).

All rates are those of the law text of 2022; that 2025 changed none is not checked.
"""

from __future__ import annotations

from decimal import Decimal

from studio.packs import ToolFailed, dataclass

from .tables import rounded

POSTAGE = "7001"
FLAT_RATE = "7002"
VAT = "7008"
SERVICE = "KV 9002"
_D = Decimal


@dataclass(frozen=True, slots=True)
class Cost:
    """What a cost is called, and what ``count`` of it are."""

    number: str
    words: str
    unit: str


COSTS = {
    one.number: one
    for one in (
        Cost("7000", "Dokumentenpauschale", "Seiten"),
        Cost("7000 Farbe", "Dokumentenpauschale, Farbe", "Seiten"),
        Cost("7000 Dateien", "Dokumentenpauschale, Dateien", "Dateien"),
        Cost(POSTAGE, "Entgelte für Post und Telekommunikation", "Euro"),
        Cost("7003", "Fahrtkosten, eigener Pkw", "km"),
        Cost("7005", "Tage- und Abwesenheitsgeld", "Stunden"),
        Cost("7005 Ausland", "Tage- und Abwesenheitsgeld, Ausland", "Stunden"),
        Cost(SERVICE, "Zustellungen, ab der elften", "Zustellungen"),
    )
}


FREE = {
    "frei": "Freie Position",
    "durchlaufend": "Durchlaufender Posten, ohne Umsatzsteuer",
    "Vorschuss": "Gezahlter Vorschuss, brutto",
}
"""Positions that no table knows, with words and an amount of the person's."""


def free_amount(number: str, words: str, amount: Decimal) -> Decimal:
    """The amount of a free position, below zero for what was paid already; raises ToolFailed."""
    if not words.strip() and number != "Vorschuss":
        raise ToolFailed(f"{FREE[number]}: Die Bezeichnung fehlt.")
    if not 0 < amount < 10**9:
        raise ToolFailed(f"{FREE[number]} {words}: Der Betrag fehlt.".replace(" :", ":"))
    return -rounded(amount) if number == "Vorschuss" else rounded(amount)


def amount_of(number: str, count: Decimal) -> Decimal:
    """The amount of a cost; raises ToolFailed without a sensible count."""
    cost = COSTS[number]
    if count <= 0:
        raise ToolFailed(f"{number} ({cost.words}): Die Zahl fehlt (count, in {cost.unit}).")
    if cost.unit in ("Seiten", "Dateien", "Zustellungen") and count != int(count):
        raise ToolFailed(f"{number} ({cost.words}): {cost.unit} werden ganz gezählt.")
    if number == "7000":
        return rounded(_first_fifty(count, _D("0.50"), _D("0.15")))
    if number == "7000 Farbe":
        return rounded(_first_fifty(count, _D("1.00"), _D("0.30")))
    if number == "7000 Dateien":
        return min(count * _D("1.50"), _D("5.00"))
    if number == "7003":
        return rounded(count * _D("0.42"))
    if number == SERVICE:
        return max(count - 10, _D(0)) * _D("3.50")
    if number == POSTAGE:
        return rounded(count)
    if count > 24:
        raise ToolFailed(
            f"{number} ({cost.words}): Gezählt wird je Tag, also höchstens 24 Stunden."
        )
    daily = _D(30) if count <= 4 else _D(50) if count <= 8 else _D(80)
    return daily * _D("1.5") if number.endswith("Ausland") else daily


def _first_fifty(count: Decimal, first: Decimal, further: Decimal) -> Decimal:
    return min(count, _D(50)) * first + max(count - 50, _D(0)) * further


def flat_rate(fees: Decimal) -> Decimal:
    """VV 7002: a fifth of the fees of a matter before anything is credited, at most 20 €."""
    return min(rounded(fees / 5), _D("20.00"))


def vat(net: Decimal) -> Decimal:
    """VV 7008: 19 %."""
    return rounded(net * _D("0.19"))
