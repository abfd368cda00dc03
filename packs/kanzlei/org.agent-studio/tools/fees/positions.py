"""Positions: the numbers of VV RVG and KV GKG that are computed, and why others are refused."""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, cast

from studio.packs import ToolFailed, dataclass

FILE = Path(__file__).parents[2] / "data" / "positions.csv"
Matter: TypeAlias = Literal[
    "aussergerichtlich", "Mahnverfahren", "erste Instanz", "Berufung", "Gericht"
]
MATTERS: tuple[Matter, ...] = ("aussergerichtlich", "Mahnverfahren", "erste Instanz", "Berufung")
"""Those of a lawyer, in the order in which they follow each other."""
THRESHOLD = Decimal("1.3")
DEBT_THRESHOLD = Decimal("0.9")
_LOWEST_RATE = Decimal("0.5")
_FORBIDDEN = {
    "4": "Gebühren in Strafsachen sind Rahmengebühren (§ 14 RVG); das Paket rechnet sie nicht.",
    "5": "Gebühren in Bußgeldsachen sind Rahmengebühren (§ 14 RVG); das Paket rechnet sie nicht.",
    "6": "Teil 6 des Vergütungsverzeichnisses rechnet das Paket nicht.",
}
_RANGES = "In sozialrechtlichen Sachen gelten Betragsrahmen (§ 3 RVG); das Paket rechnet sie nicht."
_BY_RANGE = {"1005", "1006", "2302", "3102", "3106", "3204", "3205", "3212", "3213"}
_ADVICE = {"2500", "2501", "2502", "2503", "2508"}


@dataclass(frozen=True, slots=True)
class Position:
    """One number. ``highest_rate`` is set where the rate is chosen; ``raised``: 1008 raises it.

    Fees of one ``group`` for parts of a value are limited together (§ 15 III RVG).
    """

    number: str
    words: str
    rate: Decimal
    highest_rate: Decimal | None
    matter: Matter
    group: str
    raised: bool
    norm: str
    rule: str
    checked: str

    def chosen_rate(self, rate: Decimal | None, reason: str, *, debt: bool) -> Decimal:
        """The rate that was asked for, if the law has it; raises ToolFailed otherwise.

        ``debt``: the collection of a debt that nobody contests, which has narrower limits.
        """
        if rate is None:
            return min(self.rate, DEBT_THRESHOLD) if debt else self.rate
        if self.highest_rate is None:
            if rate != self.rate:
                raise ToolFailed(f"{self.norm} hat den festen Satz {_words(self.rate)}.")
            return rate
        highest = THRESHOLD if debt else self.highest_rate
        if not _LOWEST_RATE <= rate <= highest:
            raise ToolFailed(f"{self.norm} reicht hier von 0,5 bis {_words(highest)}.")
        threshold = DEBT_THRESHOLD if debt else THRESHOLD
        if rate > threshold and not reason.strip():
            what = (
                "besonders umfangreich oder besonders schwierig"
                if debt
                else ("umfangreich oder schwierig")
            )
            raise ToolFailed(
                f"Ein Satz über {_words(threshold)} setzt voraus, dass die Tätigkeit {what} war "
                f"({self.norm}, Anmerkung). Gib den Grund an (reason)."
            )
        return rate


def _words(rate: Decimal) -> str:
    return f"{rate:f}".replace(".", ",")


@lru_cache(maxsize=1)
def positions() -> dict[str, Position]:
    """All positions by their numbers."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["number"]: _position(row) for row in csv.DictReader(file)}


def _position(row: dict[str, str]) -> Position:
    def rate(key: str) -> Decimal:
        return Decimal(row[key].replace(",", "."))

    return Position(
        row["number"],
        row["words"],
        rate("rate"),
        rate("highest_rate") if row["highest_rate"] else None,
        cast("Matter", row["matter"]),
        row["group"],
        row["raised"] == "ja",
        row["norm"],
        row["rule"],
        row["checked"],
    )


def find_position(number: str) -> Position:
    """The position of ``3100``, ``VV 3100`` or ``KV 1210``; raises ToolFailed with the reason."""
    wanted = " ".join(number.upper().split())
    wanted = wanted.removeprefix("VV ").removeprefix("VV").removesuffix(" RVG").removesuffix(" GKG")
    if (found := positions().get(wanted)) is not None:
        return found
    raise ToolFailed(_refusal(wanted))


def _refusal(number: str) -> str:
    if "FAMGKG" in number or "GNOTKG" in number:
        return "Gerichtsgebühren nach FamGKG und GNotKG rechnet das Paket nicht."
    if number in _BY_RANGE:
        return f"VV {number}: {_RANGES}"
    if number in _ADVICE:
        return f"VV {number}: Beratungshilfe rechnet das Paket nicht."
    if number[:1] in _FORBIDDEN and len(number) == 4:
        return f"VV {number}: {_FORBIDDEN[number[:1]]}"
    return (
        f"Die Nummer {number} ist nicht hinterlegt; hier wird nichts geschätzt. Hinterlegt sind "
        f"{', '.join(positions())} und die Auslagen 7000 bis 7008, KV 9002."
    )
