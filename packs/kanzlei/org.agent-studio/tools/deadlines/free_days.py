"""Free days: says whether a day is a Saturday, a Sunday or a holiday at a place (KZ-17).

The holidays come from the package ``holidays``. Its category ``catholic`` has those of communes
whose people are mostly Catholic: 15 August in Bavaria, Corpus Christi in Saxony and Thuringia.
"""

from __future__ import annotations

import datetime
from dataclasses import replace
from functools import lru_cache

from studio.packs import ToolFailed, dataclass

ONE_DAY = datetime.timedelta(days=1)
AUGSBURG = "Augsburg"
DIFFERING = ("BY", "SN", "TH")
"""Länder with holidays of their Catholic communes alone."""
LAENDER = {
    "BB": "Brandenburg",
    "BE": "Berlin",
    "BW": "Baden-Württemberg",
    "BY": "Bayern",
    "HB": "Bremen",
    "HE": "Hessen",
    "HH": "Hamburg",
    "MV": "Mecklenburg-Vorpommern",
    "NI": "Niedersachsen",
    "NW": "Nordrhein-Westfalen",
    "RP": "Rheinland-Pfalz",
    "SH": "Schleswig-Holstein",
    "SL": "Saarland",
    "SN": "Sachsen",
    "ST": "Sachsen-Anhalt",
    "TH": "Thüringen",
}
EARLIEST = 1996
"""The first year: before it, Länder changed their holidays, which nobody checked here."""
LATEST = 2100


@dataclass(frozen=True, slots=True)
class Place:
    """Where a court or an office lies: a key of ``LAENDER`` or ``AUGSBURG``.

    ``catholic`` says whether the commune has the holidays of mostly Catholic ones; None if that is
    not known and would matter.
    """

    land: str
    catholic: bool | None = False

    def variants(self) -> tuple[Place, ...]:
        """The place in each way it may be."""
        if self.catholic is not None:
            return (self,)
        return replace(self, catholic=False), replace(self, catholic=True)

    def __str__(self) -> str:
        name = LAENDER.get(self.land, self.land)
        if self.catholic is None or self.land not in DIFFERING:
            return name
        kind = "mit" if self.catholic else "ohne"
        return f"{name}, Gemeinde {kind} katholischem Feiertag"


def read_place(text: str) -> Place:
    """The place of ``BE``, ``Sachsen``, ``BY+kath``, ``BY-kath`` or ``Augsburg``.

    Raises ToolFailed for any other.
    """
    land, catholic = text.strip(), None
    for ending, value in (("+kath", True), ("-kath", False)):
        if land.lower().endswith(ending):
            land, catholic = land[: -len(ending)].strip(), value
    if land.lower() == AUGSBURG.lower():
        return Place(AUGSBURG)
    for key, name in LAENDER.items():
        if land.lower() in (key.lower(), name.lower()):
            return Place(key, catholic if key in DIFFERING else False)
    raise ToolFailed(
        f"„{text}“ ist kein Ort, dessen Feiertage bekannt sind. Gefragt ist das Bundesland, in dem "
        f"das Gericht liegt ({', '.join(LAENDER)}), in BY, SN und TH mit +kath oder -kath für die "
        "Gemeinde, oder Augsburg."
    )


def free_reason(day: datetime.date, place: Place) -> str:
    """Why a day is no working day: ``Karfreitag``, ``Samstag``; empty if it is one.

    A place of which not all is known counts as it would without the Catholic holidays.
    """
    if not EARLIEST <= day.year <= LATEST:
        raise ToolFailed(
            f"Für {day.year} sind keine Feiertage geprüft, nur für {EARLIEST} bis {LATEST}."
        )
    name = _holidays(day.year, place.land, bool(place.catholic)).get(day, "")
    return name or ("", "Samstag", "Sonntag")[max(0, day.weekday() - 4)]


@lru_cache(maxsize=256)
def _holidays(year: int, land: str, catholic: bool) -> dict[datetime.date, str]:
    from holidays import CATHOLIC, PUBLIC
    from holidays.countries.germany import Germany

    categories = (PUBLIC, CATHOLIC) if catholic else (PUBLIC,)
    return dict(Germany(years=year, subdiv=land, categories=categories, language="de"))


def next_working_day(day: datetime.date, place: Place) -> tuple[datetime.date, list[str]]:
    """The day itself or the next one that is no free day, and the reasons of those between."""
    reasons: list[str] = []
    while reason := free_reason(day, place):
        reasons.append(reason)
        day += ONE_DAY
    return day, reasons


def last_working_day(day: datetime.date, place: Place) -> datetime.date:
    """The day itself or the last one before it that is free nowhere the place may be."""
    while any(free_reason(day, one) for one in place.variants()):
        day -= ONE_DAY
    return day
