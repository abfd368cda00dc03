"""The tool ``create_draft_frist``: a Frist that counts once a person approved it (KZ-37, KZ-38)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from studio.packs import Context, Result, ToolFailed, propose, tool

from .office.akten import akte_here
from .office.frist_kind import FRIST, FristFields, stands_already


@tool(effect="draft", target="kind", verb="Drafting Frist", done="Drafted Frist")
async def create_draft_frist(
    context: Context,
    kind: str,
    event: str = "",
    place: str = "",
    reason: str = "",
    extensions: Sequence[str] = (),
    length: str = "",
    pronounced: str = "",
    posted: bool = False,
    named: str = "",
) -> Result:
    """Draft a deadline (Frist) for this chat's case file. Its end is computed here, never given; it
    counts once the person approved it.

    kind: Its German name, as for compute_frist.
    event: The day that starts it, usually service (Zustellung), as 2026-02-04.
    place: The Land of the court, as for compute_frist; empty for that of the case file.
    reason: What it comes from: the document, its passage.
    extensions: As for compute_frist.
    length: As for compute_frist.
    pronounced: As for compute_frist.
    posted: As for compute_frist.
    named: The end that the document itself names, if it names one; both are shown.
    """
    akte = await asyncio.to_thread(akte_here, context)
    fields = FristFields(
        akte.id,
        kind,
        place or akte.court_place,
        event,
        tuple(extensions),
        length,
        pronounced,
        posted,
        reason,
        named,
    )
    stands = await asyncio.to_thread(stands_already, fields, context.home)
    if stands:
        raise ToolFailed(stands)
    return await propose(context, FRIST, fields)
