"""Reports: makes the result of a child: its answer and how it ended (W-37)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from studio.agent.loop.structured_output import parse_answer
from studio.agent.loop.user_messages import describe_end
from studio.agent.prompts import (
    CHILD_DRAFTS_APART,
    CHILD_END,
    CHILD_LEFT,
    CHILD_MISFIT,
    CHILD_SAID_NOTHING,
)
from studio.agent.usage_costs import UsageTotal
from studio.domain.blocks import ToolBlock, TranscriptBlock
from studio.domain.events import (
    Event,
    StepStarted,
    TextDelta,
    ToolQueued,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.tools import RUN
from studio.tools import Result, shorten

LONGEST = 8_000
"""Characters of an answer that reach the caller; the whole is kept in a file."""
NOTE = 300
"""Characters for the note on what was left out."""
NAMED = 20


def answer_of(events: Iterable[Event], *, one_reply: bool) -> str:
    """What an agent said last, after its last call; with ``one_reply`` in its last reply alone."""
    parts: list[str] = []
    for event in events:
        match event:
            case ToolQueued():
                parts.clear()
            case TurnStarted() if event.said:
                parts.clear()
            case StepStarted() if one_reply:
                parts.clear()
            case TextDelta():
                parts.append(event.text)
            case _:
                pass
    return "".join(parts).strip()


def ended_as(end: TurnComplete) -> str:
    """How a child ended, in words."""
    if end.reason == "done":
        return "is done"
    return f"has ended. {describe_end(end.reason, end.detail)}".rstrip(".")


def drafted(blocks: Iterable[TranscriptBlock]) -> list[str]:
    """What the calls of a child drafted."""
    calls = (one for one in blocks if isinstance(one, ToolBlock) and one.effect == "draft")
    return list(dict.fromkeys(one.target for one in calls if one.state == "done" and one.target))


def cost_text(used: UsageTotal) -> str:
    """“1,200 tokens, $0.0031”; without a price it says so."""
    gap = f" ({used.gap})" if used.gap else ""
    return f"{used.usage.total:,} tokens, ${used.cost:,.4f}{gap}"


async def report(
    name: str,
    answer: str,
    end: TurnComplete,
    blocks: Iterable[TranscriptBlock],
    used: UsageTotal,
    spill: Path,
    *,
    schema: JsonObject | None = None,
    apart: bool = False,
    more: Sequence[str] = (),
    left: Sequence[str] = (),
) -> Result:
    """The result of a child for its caller: its answer, or an error, and a line about its work.

    ``name`` says who it was. ``apart``: its drafts wait in its own session.
    ``more`` are drafts that no call tells of, ``left`` what it did and no draft can hold.
    """
    blocks = list(blocks)
    failed = end.reason != "done"
    if schema is not None and not failed:
        try:
            answer = json.dumps(await asyncio.to_thread(parse_answer, answer, schema))
        except ValueError as error:
            failed, answer = True, CHILD_MISFIT.format(wrong=error, answer=answer)
    if len(answer) > LONGEST:
        answer = await asyncio.to_thread(shorten, answer, LONGEST - NOTE, spill)
    drafts = list(dict.fromkeys([*drafted(blocks), *more]))
    named = ", ".join(drafts[:NAMED]) + (f" and {len(drafts) - NAMED} more" * (len(drafts) > NAMED))
    runs = sum(isinstance(one, ToolBlock) and one.name == RUN and one.started for one in blocks)
    tail = CHILD_END.format(
        name=name,
        how=ended_as(end),
        drafts=named or "none",
        apart=CHILD_DRAFTS_APART if apart and drafts else "",
        commands=runs,
        used=cost_text(used),
    )
    if left:
        more_left = f" and {len(left) - NAMED} more" * (len(left) > NAMED)
        tail = f"{tail}\n{CHILD_LEFT.format(names=', '.join(left[:NAMED]) + more_left)}"
    summary = "done" if not failed else end.reason.replace("_", " ")
    return Result(
        f"{answer or CHILD_SAID_NOTHING}\n{tail}",
        f"{summary}, {cost_text(used)}",
        ("the agent",),
        failed,
        keeps_end=True,
    )
