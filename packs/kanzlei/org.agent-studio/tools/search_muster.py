"""The tools ``search_muster`` and ``search_muster_detail``: templates of letters and briefs
(KZ-33, KZ-35)."""

from __future__ import annotations

from studio.packs import Context, Result, ToolFailed, tool

from ._lists import MOST, listed
from .law.words import stem, words
from .muster.fields import known_fields
from .muster.filling import Muster, all_muster, fields_of, text_of
from .office.akten import akte_here, akte_of
from .office.dokumente import Dokumente


@tool(effect="read", target="query", verb="Searching templates", done="Searched templates")
def search_muster(context: Context, query: str = "", kind: str = "", cursor: int = 0) -> Result:
    """Find templates (Muster) of letters and briefs: name, and the fields that each has.

    query: German words; empty for all.
    kind: eigene for those of the office, Beispiel for those that ship.
    cursor: Where the next 20 begin, from the last answer.
    """
    asked = {stem(word) for word in words(query)}
    found = [
        one
        for one in all_muster(context.service(Dokumente).templates)
        if kind.strip().casefold() in ("", _kind(one).casefold())
        and (not asked or asked & {stem(word) for word in words(f"{one.name}\n{text_of(one)}")})
    ]
    found.sort(key=lambda one: not any(word in one.name.casefold() for word in words(query)))
    first = max(0, cursor)
    shown = found[first : first + MOST]
    data = [{"muster": one.name, "art": _kind(one), "felder": fields_of(one)} for one in shown]
    sources = tuple(one.address for one in shown)
    return listed(data, sources, first=first, total=len(found), what="Muster")


@tool(effect="read", target="muster", verb="Reading template", done="Read template")
def search_muster_detail(context: Context, muster: str) -> Result:
    """Read a template with its fields, and which of them this chat's case file does not have.

    muster: Its name.
    """
    found = muster_named(context, muster)
    names = fields_of(found)
    known: dict[str, str] = {}
    if akte_of(context.subject) is not None:
        known = known_fields(context.home, context.person, akte_here(context))
    data = {
        "muster": found.name,
        "art": _kind(found),
        "text": text_of(found),
        "bekannt": {name: known[name] for name in names if name in known},
        "fehlt": [name for name in names if name not in known],
    }
    value = {"data": data, "sources": (found.address,), "total": 1}
    return Result(value, found.name, (found.address,))


def muster_named(context: Context, name: str) -> Muster:
    """The template of a name; raises ToolFailed that names those there are."""
    found = all_muster(context.service(Dokumente).templates)
    for one in found:
        if one.name.casefold() == name.strip().removesuffix(".docx").casefold():
            return one
    raise ToolFailed(f"Es gibt kein Muster „{name}“. Es gibt: {', '.join(m.name for m in found)}.")


def _kind(muster: Muster) -> str:
    return "eigene" if muster.own else "Beispiel"
