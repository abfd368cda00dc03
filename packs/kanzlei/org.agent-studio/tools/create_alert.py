"""The tool ``create_alert``: a hint on a day that counts once a person took it over (KZ-37)."""

from __future__ import annotations

import asyncio
from typing import Literal

from studio.packs import Context, Result, propose, tool

from .office.akten import akte_here
from .office.notiz_kind import ALERT, AlertFields
from .office.zeit_kind import mark_of


@tool(effect="draft", target="text", verb="Drafting alert", done="Drafted alert")
async def create_alert(
    context: Context,
    text: str,
    due: str,
    person: str = "",
    level: Literal["Hinweis", "wichtig", "dringend"] = "Hinweis",
    akte: str = "",
) -> Result:
    """Propose an alert (Wiedervorlage) on a day. No Frist: those are drafted with
    create_draft_frist.

    text: What is to be done, in German.
    due: The day, as 2026-02-04.
    person: Whom it calls, by name; empty for who works here.
    level: How urgent it is.
    akte: Empty for this chat's.
    """
    here = await asyncio.to_thread(akte_here, context, akte)
    who = person or context.person.name
    mark = mark_of(text.strip(), due, who)
    return await propose(context, ALERT, AlertFields(here.id, text.strip(), who, due, level, mark))
