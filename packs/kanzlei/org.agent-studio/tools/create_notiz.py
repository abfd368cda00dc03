"""The tool ``create_notiz``: a note that counts once a person took it over (KZ-37)."""

from __future__ import annotations

import asyncio

from studio.packs import Context, Result, propose, tool

from .office.akten import akte_here
from .office.notiz_kind import NOTIZ, NotizFields
from .office.zeit_kind import mark_of


@tool(effect="draft", target="text", verb="Drafting note", done="Drafted note")
async def create_notiz(context: Context, text: str, akte: str = "") -> Result:
    """Propose a note about the case file; it counts once the person took it over.

    text: The note, in German.
    akte: Empty for this chat's.
    """
    here = await asyncio.to_thread(akte_here, context, akte)
    return await propose(context, NOTIZ, NotizFields(here.id, text.strip(), mark_of(text.strip())))
