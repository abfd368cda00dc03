"""The tools ``search_urteile`` and ``search_urteile_detail``: decisions of courts in the store
(KZ-27, KZ-35)."""

from __future__ import annotations

from studio.packs import Context, Result, ToolFailed, tool

from . import _german as german
from ._lists import MOST, listed
from .deadlines.reading import read_day
from .law.urteile import Urteil, Urteile

_SHOWN = 600
"""Characters of a Leitsatz in a list."""
_MOST_TEXT = 40_000
"""Characters of one answer."""
_NONE = (
    "Es sind keine Entscheidungen eingelesen. Die Person lädt sie von "
    "rechtsprechung-im-internet.de und liest sie mit „agent-studio kanzlei "
    "urteile-import DATEI“ ein."
)


@tool(effect="read", target="query", verb="Searching judgments", done="Searched judgments")
def search_urteile(
    context: Context,
    query: str = "",
    court: str = "",
    since: str = "",
    norm: str = "",
    cursor: int = 0,
) -> Result:
    """Search decisions of German courts in the store: court, date, Aktenzeichen, Leitsatz.

    query: German legal terms, or an Aktenzeichen as IX ZR 125/17.
    court: Only this court, as BGH.
    since: Only from this day on, as 2024-01-01.
    norm: Only those about this norm, as § 573 BGB.
    cursor: Where the next 20 begin, from the last answer.
    """
    urteile, first = context.service(Urteile), max(0, cursor)
    day = read_day("since", since).isoformat() if since.strip() else ""
    if query.strip() and (named := urteile.cited(query)):
        found, total = named, len(named)
    else:
        found, total = urteile.find(
            query, court=court, since=day, norm=norm, first=first, most=MOST
        )
    if not total and not urteile.find("", most=1)[1]:
        raise ToolFailed(_NONE)
    sources = tuple(one.address for one in found)
    return listed([_short(one) for one in found], sources, first=first, total=total,
                  what="Entscheidungen")  # fmt: skip


@tool(effect="read", target="id", verb="Reading judgment", done="Read judgment")
def search_urteile_detail(context: Context, id: int, rn: str = "") -> Result:
    """Read one decision with its Randnummern.

    id: Its id.
    rn: From this Randnummer on, as 12; empty from the beginning.
    """
    urteile = context.service(Urteile)
    found = urteile.get(id)
    if found is None:
        raise ToolFailed(f"Es gibt keine Entscheidung {id} im Bestand.")
    all_of_it = urteile.paragraphs(found)
    begins = [at for at, (_, number, _) in enumerate(all_of_it) if number == rn.strip()]
    if rn.strip() and not begins:
        raise ToolFailed(f"{found.name} hat keine Randnummer {rn}.")
    text: dict[str, list[str]] = {}
    left, sources, more = _MOST_TEXT, [found.address], ""
    for part, number, words in all_of_it[begins[0] if rn.strip() else 0 :]:
        left -= len(words)
        if left < 0:
            more = f"Weiter mit rn={number}." if number else "Das Ende wurde nicht gezeigt."
            break
        text.setdefault(part, []).append(f"[Rn. {number}] {words}" if number else words)
        if number:
            sources.append(f"{found.address}#rn{number}")
    data = _short(found, whole=True) | {"text": text} | ({"hinweis": more} if more else {})
    value = {"data": data, "sources": sources, "total": 1}
    return Result(value, found.name, tuple(sources))


def _short(one: Urteil, *, whole: bool = False) -> dict[str, object]:
    headnote = one.headnote or one.title
    shown: dict[str, object] = {
        "id": one.id,
        "gericht": one.court,
        "spruchkoerper": one.chamber,
        "datum": german.day(one.day),
        "aktenzeichen": one.az,
        "art": one.kind,
        "leitsatz": headnote if whole or len(headnote) <= _SHOWN else f"{headnote[:_SHOWN]} …",
    }
    shown |= {"quelle": one.note} if one.note else {}
    return shown | ({"ecli": one.ecli, "normen": one.norms} if whole else {})
