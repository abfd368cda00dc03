"""The tools ``read_fristen`` and ``read_fristen_detail`` (KZ-35)."""

from __future__ import annotations

from studio.packs import Context, Result, ToolFailed, tool

from . import _german as german
from ._lists import MOST, listed
from .deadlines.reading import read_day
from .office.akten import akte_here
from .office.fristen import OPEN, STATES, Frist, Fristen
from .office.recheck import recheck


@tool(effect="read", verb="Reading Fristen", done="Read Fristen")
def read_fristen(
    context: Context, akte: str = "", state: str = "", until: str = "", cursor: int = 0
) -> Result:
    """Read the deadlines (Fristen) of this chat's case file: kind, end, Vorfrist, state.

    akte: Empty for this chat's.
    state: berechnet, geprüft, erledigt or storniert; empty for those that are open.
    until: Only those that end by this day, as 2026-03-02.
    cursor: Where the next 20 begin, from the last answer.
    """
    here = akte_here(context, akte)
    if state and state not in STATES:
        raise ToolFailed(f"„{state}“ ist kein Zustand. Es gibt: {', '.join(STATES)}.")
    recheck(context.home)
    found = context.service(Fristen).find(
        context.person,
        akte=here.id,
        states=(state,) if state else OPEN,
        until=read_day("until", until) if until else None,
    )
    first = max(0, cursor)
    shown = found[first : first + MOST]
    return listed(
        [_short(one) for one in shown],
        tuple(one.address for one in shown),
        first=first,
        total=len(found),
        what="Fristen",
        source=here.address,
    )


@tool(effect="read", target="frist", verb="Reading Frist", done="Read Frist")
def read_fristen_detail(context: Context, frist: int) -> Result:
    """Read one deadline (Frist) of this chat's case file with the steps of its calculation.

    frist: Its id.
    """
    here = akte_here(context)
    found = context.service(Fristen).get(context.person, frist)
    if found.akte != here.id:
        raise ToolFailed(f"In der Akte {here.az} gibt es keine Frist {frist}.")
    data = _short(found) | {
        "norm": found.norm,
        "schritte": found.steps,
        "hinweise": found.hints,
        "grund": found.reason,
        "im_dokument_genannt": found.named or None,
        "notiz": found.note,
    }
    value = {"data": data, "sources": [found.address], "total": 1}
    return Result(value, f"{found.kind}, {german.day(found.end)}", (found.address,))


def _short(frist: Frist) -> dict[str, object]:
    return {
        "frist": frist.id,
        "art": frist.kind,
        "ende": frist.end.isoformat(),
        "ende_lesbar": german.day(frist.end),
        "vorfrist": frist.vorfrist.isoformat() if frist.vorfrist else None,
        "notfrist": frist.notfrist,
        "zustand": frist.state,
    }
