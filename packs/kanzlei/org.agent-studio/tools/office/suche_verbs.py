"""The command ``suche``: documents of all Akten by their words (KZ-50)."""

from __future__ import annotations

from studio.packs import Context, verb

from .akten import Akten
from .dokumente import Dokumente
from .suche import Suche


@verb
def suche(context: Context, worte: str, az: str = "") -> list[dict[str, object]]:
    """Dokumente aller Akten nach Worten suchen, die besten zuerst.

    worte: Was gesucht wird.
    az: Nur in dieser Akte.
    """
    akten, documents = context.service(Akten), context.service(Dokumente)
    inside = akten.get(context.person, az).id if az else None
    found: list[dict[str, object]] = []
    for hit in context.service(Suche).find(context.person, worte, akte=inside):
        one, akte = documents.get(context.person, hit.dokument), akten.get(context.person, hit.akte)
        found.append({"az": akte.az, "dokument": one.id, "titel": one.name, "datum": one.date})
    return found
