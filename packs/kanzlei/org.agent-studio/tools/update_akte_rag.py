"""The tool ``update_akte_rag``: which documents would be read anew; a person decides (KZ-37)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from studio.packs import Context, Result, propose, tool

from .office.akten import akte_here
from .office.dokumente import Dokumente
from .office.index_kind import INDEX, IndexFields


@tool(effect="draft", verb="Drafting index", done="Drafted index")
async def update_akte_rag(
    context: Context, dokumente: Sequence[int] = (), akte: str = ""
) -> Result:
    """Propose to read documents of the case file anew: files that changed or are new in its folder.

    dokumente: Their ids; empty for all.
    akte: Empty for this chat's.
    """
    here = await asyncio.to_thread(akte_here, context, akte)
    found = await asyncio.to_thread(context.service(Dokumente).anew, here, dokumente)
    if not found:
        return Result("Alle Dokumente sind gelesen, wie sie jetzt sind.", "0", (here.address,))
    return await propose(context, INDEX, IndexFields(here.id, tuple(dokumente)))
