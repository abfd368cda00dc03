"""The tools ``search_gesetze`` and ``search_gesetze_detail``: sections of the laws in the
store, each with its Stand (KZ-28, KZ-31, KZ-35)."""

from __future__ import annotations

import datetime

from studio.packs import Context, Result, ToolFailed, tool

from ._lists import MOST, listed
from .deadlines.reading import read_day
from .law.citations import Citation, citations, cited_by
from .law.normen import Normen, Section

_SHOWN = 400
"""Characters of a passage."""


@tool(effect="read", target="query", verb="Searching laws", done="Searched laws")
def search_gesetze(
    context: Context, query: str, law: str = "", day: str = "", cursor: int = 0
) -> Result:
    """Search German statutes by words: section, Absatz, heading, passage, and of which day (Stand).

    query: German legal terms, as Kündigung wegen Eigenbedarfs; or a citation, § 573 BGB.
    law: Only this law, as BGB.
    day: The wording of this day, as 2026-03-02; empty for the newest.
    cursor: Where the next 20 begin, from the last answer.
    """
    normen, when = context.service(Normen), _day(day)
    if law and not normen.has(law):
        raise ToolFailed(_not_there(normen, law))
    first = max(0, cursor)
    cited = [(one, normen.section(one, when)) for one in citations(query)]
    if named := [(one, section) for one, section in cited if section]:
        found = [(section, one.absatz or next(iter(section.texts))) for one, section in named]
        found, total = found[first : first + MOST], len(found)
    else:
        found, total = normen.search(query, law=law, day=when, first=first, most=MOST)
    sources = tuple(_address(section, absatz) for section, absatz in found)
    data = [_short(section, absatz) for section, absatz in found]
    what = "Normen"
    if not total and any(one["auszug"] for one in normen.laws()):
        what = f"Normen; von den Gesetzen sind Auszüge da. {_IMPORT}"
    return listed(data, sources, first=first, total=total, what=what)


@tool(effect="read", target="citation", verb="Reading norm", done="Read norm")
def search_gesetze_detail(context: Context, citation: str, day: str = "") -> Result:
    """Read the whole text of one section by its citation, with its Stand.

    citation: As § 573 Abs. 2 BGB, Art. 3 GG, or the address of a source.
    day: The wording of this day, as 2026-03-02; empty for the newest.
    """
    section, absatz = section_cited(context, citation, day)
    address = _address(section, absatz)
    value = {"data": whole(section, absatz), "sources": (address,), "total": 1}
    return Result(value, str(section.citation), (address,))


def section_cited(context: Context, words: str, day: str = "") -> tuple[Section, str]:
    """The section that words or an address name, and the Absatz; raises ToolFailed in German."""
    normen = context.service(Normen)
    named = [one] if (one := cited_by(words.strip())) else citations(words)
    if not named:
        raise ToolFailed(f"„{words}“ nennt keine Norm. Geschrieben wird § 573 Abs. 2 BGB.")
    norm = named[0]
    section = normen.section(norm, _day(day))
    if section is None:
        if not normen.has(norm.law):
            raise ToolFailed(_not_there(normen, norm.law))
        when = f" mit einem Wortlaut vom {day}" if day else ""
        excerpt = "" if normen.has(norm.law, whole=True) else f" {_ONLY_EXCERPTS} {_IMPORT}"
        raise ToolFailed(f"{norm} gibt es im Bestand nicht{when}.{excerpt}")
    if norm.absatz and norm.absatz not in section.texts:
        raise ToolFailed(f"{section.citation} hat keinen Absatz {norm.absatz}.")
    return section, norm.absatz


def whole(section: Section, absatz: str) -> dict[str, object]:
    """A section with its whole text; where one Absatz is wanted, with that."""
    texts = {absatz: section.texts[absatz]} if absatz else section.texts
    shown = {key: value for key, value in _short(section, absatz).items() if key != "passage"}
    return shown | {
        "gesetz": section.law_title,
        "gliederung": section.place,
        "text": "\n".join(f"({key}) {text}" if key else text for key, text in texts.items()),
    }


_ONLY_EXCERPTS = "Von diesem Gesetz ist nur ein Auszug da."
_IMPORT = (
    "Die Person lädt ganze Gesetze von gesetze-im-internet.de und liest sie mit „agent-studio "
    "kanzlei gesetze-import DATEI“ ein."
)


def _not_there(normen: Normen, law: str) -> str:
    known = ", ".join(str(one["kurz"]) for one in normen.laws())
    return f"{law} ist nicht im Bestand; darin sind: {known}. {_IMPORT}"


def _day(text: str) -> str:
    return read_day("day", text).isoformat() if text.strip() else ""


def _address(section: Section, absatz: str) -> str:
    return Citation(section.law, section.number, absatz).address


def _short(section: Section, absatz: str) -> dict[str, object]:
    text = section.texts.get(absatz, "")
    shown: dict[str, object] = {
        "norm": str(section.citation),
        "absatz": absatz,
        "titel": section.title,
        "passage": text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …",
        "stand": section.stand,
    }
    warning = section.warning(datetime.date.today())
    return shown | ({"hinweis": warning} if warning else {})
