"""Limitation and notice: when a claim is barred, and when employment can end (KZ-22).

Both are no Fristen of a procedure, and nothing of them is entered: a person reads them.
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Sequence

from studio.packs import ToolFailed, dataclass

from .. import _german as german
from .lengths import Length, end_of

_DAY = datetime.timedelta(days=1)
_BY_YEARS = ((20, 7), (15, 6), (12, 5), (10, 4), (8, 3), (5, 2), (2, 1))
"""Years of employment, and the months of notice that the employer keeps from then on."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A day with the steps to it, and what a person has to look at."""

    day: datetime.date
    steps: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def limitation(
    arose: datetime.date,
    known: datetime.date | None = None,
    suspended: Sequence[tuple[datetime.date, datetime.date]] = (),
) -> Ending:
    """When the regular limitation ends (§§ 195, 199 BGB).

    ``known``: when the creditor learned of it, or ought to have; None if when it arose.
    ``suspended`` are times from the first to the last day that do not count (§ 209 BGB).
    """
    known = known or arose
    if known < arose:
        raise ToolFailed("Kenntnis gibt es nicht, bevor der Anspruch entstanden ist.")
    begin = datetime.date(known.year, 12, 31)
    usual, latest = end_of(begin, Length(3, "J")), end_of(arose, Length(10, "J"))
    steps = [
        f"§ 199 I BGB: entstanden {german.day(arose)}, bekannt {german.day(known)}; "
        f"die Frist beginnt mit dem Schluss des Jahres {known.year}",
        f"§ 195 BGB, drei Jahre → {german.day(usual)}",
    ]
    usual, told = _suspended(usual, begin + _DAY, suspended)
    latest, told_latest = _suspended(latest, arose + _DAY, suspended)
    if latest < usual:
        steps.append(f"§ 199 IV BGB, auch ohne Kenntnis zehn Jahre → {german.day(latest)}")
        told = told_latest
    steps += told
    end = min(usual, latest)
    warnings = [
        "Es gelten oft andere Fristen: § 196 bis § 197, § 438, § 548, § 634a BGB; Schadensersatz "
        "wegen Leben, Körper, Gesundheit und Freiheit 30 Jahre (§ 199 II).",
        "Nach Verhandlungen endet die Frist frühestens drei Monate danach (§ 203 S. 2); das und "
        "§ 193 BGB sind nicht gerechnet.",
    ]
    return Ending(end, tuple(steps), tuple(warnings))


def _suspended(
    end: datetime.date,
    begin: datetime.date,
    times: Sequence[tuple[datetime.date, datetime.date]],
) -> tuple[datetime.date, list[str]]:
    """The end of what runs from ``begin`` on, after times that do not count (§ 209 BGB).

    A day that is in two of them counts once.
    """
    steps: list[str] = []
    for first, last in sorted(times):
        if last < first:
            raise ToolFailed("Eine Hemmung endet nicht, bevor sie beginnt.")
        if first > end:
            steps.append(f"Die Hemmung ab {german.day(first)} kommt zu spät.")
        elif (days := (last - max(first, begin)).days + 1) > 0:
            end += datetime.timedelta(days=days)
            steps.append(f"§ 209 BGB, gehemmt {german.many(days, 'Tage')} → {german.day(end)}")
            begin = last + _DAY
    return end, steps


def notice(
    arrived: datetime.date,
    *,
    employer: bool,
    since: datetime.date | None = None,
    probation: bool = False,
) -> Ending:
    """When employment ends by a notice that arrived on this day (§ 622 BGB).

    ``employer``: whose notice it is. ``since``: when the employment began.
    """
    if since is not None and since > arrived:
        raise ToolFailed("Das Arbeitsverhältnis begann nicht nach der Kündigung.")
    steps = [f"§ 187 I BGB: zugegangen {german.day(arrived)}"]
    warnings = [
        "Vertrag und Tarifvertrag können anderes sagen (§ 622 IV bis VI BGB). Der Tag des Endes "
        "wird nicht nach § 193 BGB verschoben.",
        "Gegen eine Kündigung klagt man binnen drei Wochen (§ 4 KSchG): rechne diese Frist mit.",
    ]
    if probation:
        if since is not None and end_of(since, Length(6, "M"), counts_first_day=True) < arrived:
            raise ToolFailed("Eine Probezeit dauert höchstens sechs Monate (§ 622 III BGB).")
        end = arrived + datetime.timedelta(weeks=2)
        return Ending(
            end, (*steps, f"§ 622 III BGB, zwei Wochen → {german.day(end)}"), tuple(warnings)
        )
    months = 0
    if employer:
        if since is None:
            raise ToolFailed("Seit wann besteht das Arbeitsverhältnis? Das bestimmt die Frist.")
        months = next(
            (m for years, m in _BY_YEARS if end_of(since, Length(years, "J")) <= arrived), 0
        )
    if not months:
        earliest = arrived + datetime.timedelta(weeks=4)
        end = _fifteenth_or_last(earliest)
        steps.append(f"§ 622 I BGB, vier Wochen → {german.day(earliest)}")
        steps.append(f"zum Fünfzehnten oder zum Ende des Monats → {german.day(end)}")
        return Ending(end, tuple(steps), tuple(warnings))
    earliest = end_of(arrived, Length(months, "M"))
    end = _last_of(earliest)
    assert since is not None
    unit = "ein Monat" if months == 1 else f"{months} Monate"
    steps.append(f"§ 622 II BGB: beschäftigt seit {german.day(since)}, also {unit}")
    steps.append(f"zum Ende eines Kalendermonats → {german.day(end)}")
    return Ending(end, tuple(steps), tuple(warnings))


def _fifteenth_or_last(day: datetime.date) -> datetime.date:
    return day.replace(day=15) if day.day <= 15 else _last_of(day)


def _last_of(day: datetime.date) -> datetime.date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])
