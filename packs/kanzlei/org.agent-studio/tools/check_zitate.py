"""The tool ``check_zitate``: whether what a text cites exists and is quoted right (KZ-30)."""

from __future__ import annotations

import datetime
from collections import Counter

from studio.packs import Context, Result, ToolFailed, tool

from .law.check import Finding, check
from .law.normen import Normen
from .law.urteile import Urteile
from .office.akten import akte_here


@tool(effect="read", verb="Checking citations", done="Checked citations")
def check_zitate(context: Context, text: str = "", draft: str = "") -> Result:
    """Check each norm and decision that a German legal text cites against the laws in the store:
    found, not found, or not in the store; and whether quoted wording is right.

    text: The whole text.
    draft: The id of a draft of this chat's case file, instead of a text.
    """
    if draft.strip():
        text = _drafted(context, draft.strip())
    if not text.strip():
        raise ToolFailed("text: Gib den ganzen Text, dessen Zitate geprüft werden.")
    found = check(context.service(Normen), context.service(Urteile), text)
    counts = Counter(one.state for one in found)
    told = ", ".join(f"{number} {state}" for state, number in counts.items())
    sources = tuple(dict.fromkeys(one.address for one in found if one.address))
    value = {"data": [_shown(one) for one in found], "sources": sources, "total": len(found)}
    return Result(value, told or "Keine Zitate", sources)


def _drafted(context: Context, draft: str) -> str:
    akte = akte_here(context)
    rows = context.records.read(
        "SELECT text FROM entwurf WHERE akte = ? AND substr(id, 1, ?) = ?",
        *(akte.id, len(draft), draft),
    )
    if len(rows) != 1:
        raise ToolFailed(f"In der Akte {akte.az} gibt es den Entwurf {draft} nicht.")
    return str(rows[0]["text"])


def _shown(one: Finding) -> dict[str, object]:
    shown: dict[str, object] = {"zitat": one.cited, "befund": one.state}
    hints = [one.reason]
    if one.section:
        shown |= {"titel": one.title, "stand": one.section.stand}
        hints.append(one.section.warning(datetime.date.today()))
    return shown | ({"hinweis": " ".join(filter(None, hints))} if any(hints) else {})
