"""The tool ``create_draft_zeiterfassung``: time that counts once a person approved it (KZ-37)."""

from __future__ import annotations

import asyncio
import datetime

from studio.packs import Context, Result, propose, tool

from .office.akten import akte_here
from .office.zeit_kind import ZEIT, ZeitFields, mark_of


@tool(effect="draft", target="text", verb="Drafting time", done="Drafted time")
async def create_draft_zeiterfassung(
    context: Context, minutes: int, text: str, date: str = "", billable: bool = True, akte: str = ""
) -> Result:
    """Draft time worked on the case file, for the person who approves it.

    minutes: How long.
    text: What was done, in German.
    date: The day, as 2026-02-04; empty for today.
    billable: Whether the client pays for it.
    akte: Empty for this chat's.
    """
    here = await asyncio.to_thread(akte_here, context, akte)
    day = date or datetime.date.today().isoformat()
    fields = ZeitFields(here.id, day, minutes, text.strip(), billable, mark_of(day, minutes, text))
    return await propose(context, ZEIT, fields)
