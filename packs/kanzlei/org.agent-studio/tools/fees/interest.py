"""Interest: default interest by §§ 247, 288 BGB, by half-years, from a dated table (KZ-22).

A day counts as one of 365, in a leap year of 366. Days after the table's last half-year are refused
unless the office says what holds then.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path

from studio.packs import ToolFailed, dataclass

from .. import _german as german
from .tables import rounded

FILE = Path(__file__).parents[2] / "data" / "basiszins.csv"
CONSUMER, BUSINESS = Decimal(5), Decimal(9)
_BUSINESS_SINCE = datetime.date(2014, 7, 29)
"""Before it § 288 II BGB had eight points for debts that arose then."""
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """A Basiszinssatz and the day since which it holds; ``checked`` names a source."""

    since: datetime.date
    percent: Decimal
    checked: str


@dataclass(frozen=True, slots=True)
class Part:
    """Interest of days with one rate."""

    first: datetime.date
    last: datetime.date
    percent: Decimal
    amount: Decimal

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1


@dataclass(frozen=True, slots=True)
class Interest:
    parts: tuple[Part, ...]
    warnings: tuple[str, ...]

    @property
    def total(self) -> Decimal:
        return rounded(sum((one.amount for one in self.parts), Decimal(0)))


@cache
def table() -> tuple[Rate, ...]:
    """The rates that ship, by their days."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Rate(datetime.date.fromisoformat(row["ab"]), Decimal(row["satz"]), row["geprueft"])
            for row in csv.DictReader(file)
        )


def read_rates(text: str) -> tuple[Rate, ...]:
    """The office's own rates, as ``01.07.2026=1,27; 01.01.2027=1,02``; raises ToolFailed."""
    found: list[Rate] = []
    for part in filter(None, (one.strip() for one in text.split(";"))):
        day, _, percent = part.partition("=")
        try:
            since = german.read_day(day)
            found.append(Rate(since, german.read_amount(percent.replace("%", "")), "Kanzlei"))
        except ValueError as error:
            raise ToolFailed(
                f"Basiszins: „{part}“ ist nicht zu lesen. Geschrieben wird 01.07.2026=1,27."
            ) from error
        if (since.day, since.month) not in ((1, 1), (1, 7)):
            raise ToolFailed(f"Basiszins: er ändert sich am 01.01. und 01.07., nicht am {day}.")
    return tuple(found)


def default_interest(
    amount: Decimal,
    first: datetime.date,
    last: datetime.date,
    *,
    business: bool = False,
    own: Sequence[Rate] = (),
) -> Interest:
    """What an amount bears from the first day of default to the last one, both counted.

    ``business``: no consumer takes part, and it is a price (§ 288 II BGB). Raises ToolFailed.
    """
    if not 0 < amount < 10**12:
        raise ToolFailed("Der Betrag ist größer als 0.")
    if last < first:
        raise ToolFailed("Der letzte Tag liegt vor dem ersten.")
    known_rates = {one.since: one for one in (*table(), *own)}
    rates = [known_rates[since] for since in sorted(known_rates)]
    if first < rates[0].since:
        raise ToolFailed(f"Vor dem {rates[0].since:%d.%m.%Y} ist kein Basiszinssatz hinterlegt.")
    known = _half_year_after(table()[-1].since) - _DAY
    while known + _DAY in known_rates:  # of a half-year without one nobody knows that it changed
        known = _half_year_after(known + _DAY) - _DAY
    if last > known:
        raise ToolFailed(
            f"Nach dem {known:%d.%m.%Y} ist kein Basiszinssatz hinterlegt. Trage in den "
            f"Einstellungen der Kanzlei ein, was die Bundesbank bekannt gab: "
            f"{known + _DAY:%d.%m.%Y}=1,27."
        )
    above = BUSINESS if business else CONSUMER
    parts, day, unchecked = list[Part](), first, False
    while day <= last:
        rate = [one for one in rates if one.since <= day][-1]
        later = [one.since - _DAY for one in rates if one.since > day]
        end = min(last, datetime.date(day.year, 12, 31), *later[:1])
        percent = max(rate.percent + above, Decimal(0))
        year = Decimal(366 if _is_leap(day.year) else 365)
        days = (end - day).days + 1
        parts.append(Part(day, end, percent, amount * percent / 100 * days / year))
        unchecked |= rate.checked == "ungeprüft"
        day = end + _DAY
    warnings = ["Gerechnet ist nach Tagen des Jahres (365, im Schaltjahr 366)."]
    if unchecked:
        warnings.append(
            "Basiszinssätze dieser Zeit sind ungeprüft: vergleiche sie mit der Bundesbank."
        )
    if business and first < _BUSINESS_SINCE:
        warnings.append(
            "Für Forderungen aus der Zeit vor dem 29.07.2014 galten 8 statt 9 Prozentpunkte "
            "(Art. 229 § 34 EGBGB)."
        )
    return Interest(tuple(parts), tuple(warnings))


def _half_year_after(day: datetime.date) -> datetime.date:
    later = datetime.date(day.year, 7, 1)
    return later if day < later else datetime.date(day.year + 1, 1, 1)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
