"""Lengths: says how long a Frist is, and on which day it ends by BGB §§ 187, 188."""

from __future__ import annotations

import calendar
import datetime
import re
from typing import Literal, TypeAlias, cast

from studio.packs import ToolFailed, dataclass

from .._patterns import lazy_pattern

Unit: TypeAlias = Literal["T", "W", "M", "J"]
_WORDS: dict[Unit, tuple[str, str]] = {
    "T": ("Tag", "Tage"),
    "W": ("Woche", "Wochen"),
    "M": ("Monat", "Monate"),
    "J": ("Jahr", "Jahre"),
}
_LENGTH = lazy_pattern(r"(\d{1,4})\s*(T|W|M|J|Tage?n?|Wochen?|Monate?n?|Jahre?n?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Length:
    """A number of days, weeks, months or years."""

    number: int
    unit: Unit

    def __str__(self) -> str:
        one, many = _WORDS[self.unit]
        return f"{self.number} {one if self.number == 1 else many}"

    @property
    def norms(self) -> str:
        """The paragraph of § 188 BGB that says where it ends."""
        return "§ 188 I BGB" if self.unit == "T" else "§ 188 II BGB"


def read_length(text: str) -> Length:
    """The length of ``2 W`` or ``1 Monat``; raises ToolFailed."""
    found = _LENGTH.fullmatch(text.strip())
    if found is None or int(found[1]) == 0:
        raise ToolFailed(
            f"„{text}“ ist keine Länge einer Frist. Geschrieben wird sie wie 10 T, 2 W, 1 M oder "
            "1 J (Tage, Wochen, Monate, Jahre)."
        )
    return Length(int(found[1]), cast("Unit", found[2][0].upper()))


def end_of(
    event: datetime.date, length: Length, *, counts_first_day: bool = False
) -> datetime.date:
    """The last day of a Frist, free or not.

    ``counts_first_day``: it begins with the day of the event itself (§ 187 II), not after it.
    Raises ToolFailed for an end beyond the calendar.
    """
    try:
        if length.unit in ("T", "W"):
            days = length.number * (7 if length.unit == "W" else 1) - counts_first_day
            return event + datetime.timedelta(days=days)
        months = length.number * (12 if length.unit == "J" else 1)
        year, month = divmod(event.year * 12 + event.month - 1 + months, 12)
        day = event.day - counts_first_day
        if day == 0:  # the day before the first
            return datetime.date(year, month + 1, 1) - datetime.timedelta(days=1)
        return datetime.date(year, month + 1, min(day, calendar.monthrange(year, month + 1)[1]))
    except (OverflowError, ValueError) as error:
        raise ToolFailed(f"Von {event} an gerechnet endet eine Frist von {length} nie.") from error


def lacks_day(event: datetime.date, length: Length, end: datetime.date) -> bool:
    """Whether the last month has no such day, so that § 188 III BGB decides."""
    return length.unit in ("M", "J") and event.day > end.day
