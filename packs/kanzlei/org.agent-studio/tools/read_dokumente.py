"""The tools ``read_dokumente`` and ``read_dokumente_detail`` (KZ-35)."""

from __future__ import annotations

from studio.packs import Context, Result, ToolFailed, tool

from ._lists import MOST, listed
from ._patterns import lazy_pattern
from .deadlines.reading import read_day
from .office.akten import akte_here
from .office.dokumente import Dokument, Dokumente

MOST_PAGES = 10
_RANGE = lazy_pattern(r"(\d{1,5})(?:\s*[-–]\s*(\d{1,5}))?")


@tool(
    effect="read", target="query", verb="Reading documents", done="Read documents", untrusted=True
)
def read_dokumente(
    context: Context,
    akte: str = "",
    query: str = "",
    folder: str = "",
    kind: str = "",
    since: str = "",
    cursor: int = 0,
) -> Result:
    """Find documents of this chat's case file: title, kind, date, pages, the first 200 characters.

    akte: Empty for this chat's.
    query: Words that are all in its name or text.
    folder: Only those in this folder of the case file.
    kind: Only those of this kind.
    since: Only those from this day on, as 2026-03-02.
    cursor: Where the next 20 begin, from the last answer.
    """
    here = akte_here(context, akte)
    day = read_day("since", since).isoformat() if since else ""
    found = context.service(Dokumente).find(here, words=query, folder=folder, kind=kind, since=day)
    first = max(0, cursor)
    shown = found[first : first + MOST]
    return listed(
        [_short(one) for one in shown],
        tuple(one.address for one in shown),
        first=first,
        total=len(found),
        what="Dokumente",
        source=here.address,
    )


@tool(
    effect="read", target="dokument", verb="Reading document", done="Read document", untrusted=True
)
def read_dokumente_detail(
    context: Context, dokument: int, pages: str = "", version: int = 0
) -> Result:
    """Read the text of one document of this chat's case file, by page, at most 10 pages at once.

    The source of a page ends in #s3. For its paragraph with the number 21 write #s3rn21.

    dokument: Its id.
    pages: As 3 or 3-7; empty for the first ones.
    version: An older version; 0 for the last.
    """
    here = akte_here(context)
    service = context.service(Dokumente)
    found = service.get(context.person, dokument)
    if found.akte != here.id:
        raise ToolFailed(f"In der Akte {here.az} gibt es kein Dokument {dokument}.")
    found, problem = service.refresh(context.person, here, found)
    texts = service.pages(found, version)
    first, last = _pages(pages)
    shown = {number: text for number, text in texts.items() if first <= number <= last}
    if texts and not shown:
        raise ToolFailed(f"{found.name} hat {len(texts)} Seiten; Seite {first} gibt es nicht.")
    data = _short(found) | {"text": {str(number): text for number, text in shown.items()}}
    if problem:
        data["hinweis"] = problem
    sources = tuple(f"{found.address}#s{number}" for number in shown) or (found.address,)
    value = {"data": data, "sources": sources, "total": len(texts)}
    return Result(value, found.name, sources)


def _pages(text: str) -> tuple[int, int]:
    if not text.strip():
        return 1, MOST_PAGES
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ToolFailed(f"pages: „{text}“ ist keine Seite. Geschrieben wird 3 oder 3-7.")
    first = int(found[1])
    return first, min(int(found[2] or first), first + MOST_PAGES - 1)


def _short(dokument: Dokument) -> dict[str, object]:
    shown: dict[str, object] = {
        "dokument": dokument.id,
        "titel": dokument.name,
        "ordner": dokument.folder,
        "art": dokument.kind,
        "datum": dokument.date,
        "seiten": dokument.pages,
        "version": dokument.version,
        "anfang": dokument.begin,
    }
    return shown | ({"ohne_text": dokument.missing} if dokument.missing else {})
