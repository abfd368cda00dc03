"""Tables: one full fee by value, for the day that decides which table holds (KZ-23).

The steps are in ``data/fees.csv``; each value there was found in two sources. Above 500,000 € each
started 50,000 € add the same amount.
"""

from __future__ import annotations

import csv
import datetime
from bisect import bisect_left
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from functools import lru_cache
from pathlib import Path

from studio.packs import ToolFailed, dataclass

FILE = Path(__file__).parents[2] / "data" / "fees.csv"
CENT = Decimal("0.01")
NEW_SINCE = datetime.date(2025, 6, 1)
OLD_SINCE = datetime.date(2021, 1, 1)
_BEYOND = {
    "rvg13_2021": Decimal(165),
    "rvg13_2025": Decimal(175),
    "rvg49_2025": Decimal(0),
    "gkg34_2021": Decimal(198),
    "gkg34_2025": Decimal(210),
}
_PART = Decimal(50_000)
_HIGHEST_VALUE = Decimal(30_000_000)
"""§ 22 II RVG, § 39 II GKG: no value counts above it (for one client)."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table: ``name`` for people, ``upto`` and ``fees`` its steps."""

    key: str
    name: str
    upto: tuple[Decimal, ...]
    fees: tuple[Decimal, ...]

    def full_fee(self, value: Decimal) -> Decimal:
        """The amount of a fee of 1.0; raises ToolFailed for no value, or one above the highest."""
        if not Decimal(0) < value <= _HIGHEST_VALUE:
            raise ToolFailed(
                "Der Wert muss über 0 € liegen und darf 30.000.000 € nicht übersteigen."
            )
        if value > self.upto[-1]:
            started = ((value - self.upto[-1]) / _PART).to_integral_value(ROUND_CEILING)
            return self.fees[-1] + started * _BEYOND[self.key]
        return self.fees[bisect_left(self.upto, value)]

    def fee(self, rate: Decimal, value: Decimal, lowest: Decimal = Decimal(15)) -> Decimal:
        """A fee, rounded half up to the cent (§ 2 II RVG), and never below the lowest."""
        return max(rounded(self.full_fee(value) * rate), lowest)


def rounded(amount: Decimal) -> Decimal:
    """To the cent, half a cent up."""
    return amount.quantize(CENT, ROUND_HALF_UP)


def lawyers_table(mandate: datetime.date, *, pkh: bool = False) -> Table:
    """The table of the RVG for the day of the unconditional mandate (§ 60 RVG).

    ``pkh``: the lower fees of § 49, which the state pays. Raises ToolFailed for a day whose
    table is not here.
    """
    if mandate >= NEW_SINCE:
        if pkh:
            return _table("rvg49_2025", "§ 49 RVG (KostBRÄG 2025, ab 01.06.2025)")
        return _table("rvg13_2025", "§ 13 RVG (KostBRÄG 2025, ab 01.06.2025)")
    if mandate < OLD_SINCE or pkh:
        what = "§ 49 RVG vor dem 01.06.2025" if pkh else "§ 13 RVG vor dem 01.01.2021"
        raise ToolFailed(f"Die Tabelle {what} ist nicht hinterlegt; hier wird nichts geschätzt.")
    return _table("rvg13_2021", "§ 13 RVG (KostRÄG 2021, bis 31.05.2025)")


def courts_table(pending: datetime.date) -> Table:
    """The table of the GKG for the day the case became pending (§ 71 GKG)."""
    if pending >= NEW_SINCE:
        return _table("gkg34_2025", "§ 34 GKG (KostBRÄG 2025, ab 01.06.2025)")
    if pending < OLD_SINCE:
        raise ToolFailed(
            "Die Tabelle § 34 GKG vor dem 01.01.2021 ist nicht hinterlegt; hier wird nichts "
            "geschätzt."
        )
    return _table("gkg34_2021", "§ 34 GKG (KostRÄG 2021, bis 31.05.2025)")


@lru_cache(maxsize=8)
def _table(key: str, name: str) -> Table:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    upto = tuple(Decimal(row["bis_euro"]) for row in rows)
    return Table(key, name, upto, tuple(Decimal(row[key]) for row in rows))
