"""The tools ``read_zeiterfassung`` and ``read_zeiterfassung_detail`` (KZ-35)."""

from __future__ import annotations

from studio.packs import Context, Result, ToolFailed, tool

from ._lists import MOST, listed
from .deadlines.reading import read_day
from .office.akten import akte_here
from .office.zeiten import Zeit, Zeiten, duration


@tool(effect="read", verb="Reading time", done="Read time")
def read_zeiterfassung(
    context: Context,
    akte: str = "",
    since: str = "",
    until: str = "",
    person: str = "",
    cursor: int = 0,
) -> Result:
    """Read the time worked on this chat's case file: sums, and the entries, the newest first.

    akte: Empty for this chat's.
    since: From this day on, as 2026-03-02.
    until: Up to this day.
    person: Only that of one person, by name.
    cursor: Where the next 20 begin, from the last answer.
    """
    here = akte_here(context, akte)
    found = context.service(Zeiten).find(
        context.person,
        here.id,
        since=read_day("since", since).isoformat() if since else "",
        until=read_day("until", until).isoformat() if until else "",
        who=person,
    )
    first = max(0, cursor)
    shown = found[first : first + MOST]
    billable = _sum([one for one in found if one.billable])
    return listed(
        [_short(one) for one in shown],
        tuple(one.address for one in shown),
        first=first,
        total=len(found),
        what="Zeiten",
        source=here.address,
        more={"summe": duration(_sum(found)), "davon_abrechenbar": duration(billable)},
    )


@tool(effect="read", target="zeit", verb="Reading time", done="Read time")
def read_zeiterfassung_detail(context: Context, zeit: int) -> Result:
    """Read one entry of time of this chat's case file.

    zeit: Its id.
    """
    here, found = akte_here(context), context.service(Zeiten).get(context.person, zeit)
    if found.akte != here.id:
        raise ToolFailed(f"In der Akte {here.az} gibt es keine Zeit {zeit}.")
    data = _short(found) | {"abgerechnet": found.billed or None, "entwurf": found.draft or None}
    value = {"data": data, "sources": [found.address], "total": 1}
    return Result(value, duration(found.minutes), (found.address,))


def _sum(found: list[Zeit]) -> int:
    return sum(one.minutes for one in found)


def _short(one: Zeit) -> dict[str, object]:
    return {
        "zeit": one.id,
        "datum": one.day,
        "person": one.person,
        "minuten": one.minutes,
        "dauer": duration(one.minutes),
        "text": one.text,
        "abrechenbar": one.billable,
    }
