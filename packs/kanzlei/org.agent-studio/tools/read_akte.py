"""The tools ``read_akte`` and ``read_akte_detail`` (KZ-35)."""

from __future__ import annotations

from decimal import Decimal

from studio.packs import Context, Result, tool

from . import _german as german
from .contacts.kontakte import Kontakte
from .office.akten import Akte, akte_here
from .office.entwuerfe import Entwuerfe
from .office.fristen import Fristen


@tool(effect="read", verb="Reading Akte", done="Read Akte")
def read_akte(context: Context, akte: str = "") -> Result:
    """Read the case file (Akte) of this chat: Aktenzeichen, Rubrum, court, value, next Frist.

    akte: The Aktenzeichen; empty for the one of this chat, the only one that may be read here.
    """
    found = akte_here(context, akte)
    return Result({"data": _shown(context, found), "sources": [found.address], "total": 1},
                  found.title, (found.address,))  # fmt: skip


@tool(effect="read", verb="Reading Akte", done="Read Akte")
def read_akte_detail(context: Context, akte: str = "") -> Result:
    """Read the case file (Akte) of this chat with what was changed in it, and by whom.

    akte: The Aktenzeichen; empty for the one of this chat, the only one that may be read here.
    """
    found = akte_here(context, akte)
    sql = (
        "SELECT verlauf.zeit, person.name AS person, was, feld, alt, neu FROM verlauf "
        "JOIN person ON person.id = verlauf.person WHERE akte = ? ORDER BY verlauf.id DESC LIMIT 50"
    )
    data = _shown(context, found) | {"verlauf": context.records.read(sql, found.id)}
    return Result({"data": data, "sources": [found.address], "total": 1},
                  found.title, (found.address,))  # fmt: skip


def _shown(context: Context, akte: Akte) -> dict[str, object]:
    fristen = context.service(Fristen).find(context.person, akte=akte.id)
    value = german.euros(Decimal(akte.value) / 100) if akte.value is not None else None
    return {
        "aktenzeichen": akte.az,
        "rubrum": akte.rubrum,
        "sachgebiet": akte.area,
        "status": akte.state,
        "wert": value,
        "mandat_seit": akte.mandate,
        "gericht": akte.court,
        "ort_der_fristen": akte.court_place,
        "aktenzeichen_des_gerichts": akte.court_az,
        "ki_modus": akte.mode,
        "beteiligte": [
            {"rolle": one.role, "name": one.contact.shown} | ({"durch": one.by} if one.by else {})
            for one in context.service(Kontakte).of_akte(akte)
        ],
        "dokumente": _count(context, "dokument", akte),
        "notizen": _count(context, "notiz", akte),
        "entwuerfe_offen": len(context.service(Entwuerfe).find(context.person, akte=akte.id)),
        "offene_fristen": len(fristen),
        "naechste_frist": f"{fristen[0].kind}, {german.day(fristen[0].end)}" if fristen else None,
    }


def _count(context: Context, table: str, akte: Akte) -> int:
    """How many rows of a table are the Akte's; proposals are in none of them."""
    rows = context.records.read(f"SELECT COUNT(*) AS number FROM {table} WHERE akte = ?", akte.id)
    return int(str(rows[0]["number"]))
