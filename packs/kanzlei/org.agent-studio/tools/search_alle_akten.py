"""The tool ``search_alle_akten``: which Akten fit, and why, within what this chat may know (KZ-35,
KZ-42)."""

from __future__ import annotations

from studio.packs import Context, Result, tool

from ._lists import MOST, listed
from .office.akten import Akte, Akten, akte_of
from .office.dokumente import Dokumente
from .office.secrecy import note_seen
from .office.suche import Suche

_SEEN = {
    "": ("frei",),
    "frei": ("frei",),
    "pseudonym": ("frei",),
    "lokal": ("frei", "pseudonym", "lokal"),
    "keine KI": (),
}
"""The modes of other Akten that a chat may learn of, by the mode of its own; without one, nobody
asks which provider it goes to."""
_MOST_HITS = 200


@tool(effect="read", target="query", verb="Searching Akten", done="Searched Akten", untrusted=True)
def search_alle_akten(
    context: Context,
    query: str,
    sachgebiet: str = "",
    status: str = "",
    person: str = "",
    cursor: int = 0,
) -> Result:
    """Find case files (Akten) by Rubrum, Aktenzeichen or the words of their documents, with why
    each matched. Akten that are more secret than this chat are left out.

    query: German words, or an Aktenzeichen.
    sachgebiet: Only this area of law.
    status: laufend, ruhend or abgelegt.
    person: Only those of this lawyer or clerk, by name.
    cursor: Where the next 20 begin, from the last answer.
    """
    akten, me = context.service(Akten), context.person
    number = akte_of(context.subject)
    own = akten.get(me, number) if number is not None else None
    seen = _SEEN[own.mode if own else ""]
    why: dict[int, list[str]] = {}
    found: dict[int, Akte] = {}
    for one in akten.find(me, query):
        found[one.id] = one
        why.setdefault(one.id, []).append("Rubrum oder Aktenzeichen")
    for hit in context.service(Suche).find(me, query, most=_MOST_HITS):
        if hit.akte not in found:
            found[hit.akte] = akten.get(me, hit.akte)
        if len(why.setdefault(hit.akte, [])) < 3 and found[hit.akte].mode in seen:
            why[hit.akte].append(context.service(Dokumente).get(me, hit.dokument).name)
    names = _names(context) if person else {}
    fits = [
        one
        for one in found.values()
        if (one.mode in seen or (own is not None and one.id == own.id))
        and sachgebiet.casefold() in one.area.casefold()
        and status in ("", one.state)
        and (not person or any(person.casefold() in name for name in _people(one, names)))
    ]
    first = max(0, cursor)
    shown = fits[first : first + MOST]
    if own is not None:
        note_seen(context.records, own.id, [one.id for one in shown])
    data = [{"aktenzeichen": one.az, "rubrum": one.rubrum, "treffer": why[one.id]} for one in shown]
    sources = tuple(one.address for one in shown)
    return listed(data, sources, first=first, total=len(fits), what="Akten")


def _people(akte: Akte, names: dict[int, str]) -> list[str]:
    return [names.get(who or 0, "").casefold() for who in (akte.lawyer, akte.clerk)]


def _names(context: Context) -> dict[int, str]:
    rows = context.records.read("SELECT id, name FROM person")
    return {int(str(row["id"])): str(row["name"]) for row in rows}
