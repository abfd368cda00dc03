"""Unsure actions: what a try was in the middle of when the program ended (W-16).

A session says on the disk that a tool begins, before one that acts does, and that it ended. What
began and did not end may have happened. It is never done again by itself. This holds for the
agents, too, that a session waited for or had begun in the background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from studio.agent.engine import Engine
from studio.agent.session.session import Session, cut_off
from studio.domain.blocks import ToolBlock, UserBlock
from studio.domain.run_events import RunQuestion

MAY_HAVE_HAPPENED = "This may have happened"
REPEATED = "It may have happened, and is done again: its effects are repeatable."
ENDED = "The program ended while this ran: "
_TOLD = {
    "happened": "The person says that it happened. What it told is not known: look if you need it.",
    "again": "It may not have happened. Do it again.",
}


async def unsure_actions(session: Session, engine: Engine) -> list[ToolBlock]:
    """The calls of the last turn that began to act, and whose end nobody recorded.

    With them come those of the agents that it waited for, or that worked in the background, since
    whichever turn, and whose end it never heard of; these calls are named after their agent.
    """
    last = session.transcript.last_calls
    found = [call for call in last if cut_off(call, engine.tools())]
    for call in _calls_since_told(session):
        if (child := call.child) is None:
            continue
        waited = call.started and call.state == "cancelled" and any(call is one for one in last)
        if not waited and (not child.background or child.reason):
            continue
        if await engine.store.get(child.session_id) is None:  # killed before it was stored
            continue
        inner = await unsure_actions(await engine.sessions.open(child.session_id), engine)
        found += [replace(one, target=f"{child.agent}: {_named(one)}") for one in inner]
    return found


def _calls_since_told(session: Session) -> list[ToolBlock]:
    """The calls of all turns since the agent was told last what the program's end broke off."""
    found: list[ToolBlock] = []
    for block in session.transcript.blocks:
        if isinstance(block, UserBlock) and block.text.startswith(ENDED):
            found.clear()
        elif isinstance(block, ToolBlock):
            found.append(block)
    return found


def unsure_question(
    session: Session, calls: Sequence[ToolBlock], path: Sequence[str]
) -> RunQuestion:
    """The question about calls; it has the same id whenever it is asked in one turn.

    Some providers number the calls of each turn anew: an answer counts for one turn alone.
    """
    detail = "\n".join(_named(call) for call in calls)
    blocks = reversed(session.transcript.blocks)
    turn = next((one.turn_id for one in blocks if isinstance(one, UserBlock)), "")
    question_id = f"{session.info.id}-{turn}-{calls[0].call_id}"
    return RunQuestion(question_id, "unsure", MAY_HAVE_HAPPENED, detail, path=tuple(path))


def told_about(calls: Sequence[ToolBlock], answer: str) -> str:
    """What the agent is told of them when it goes on."""
    named = ", ".join(f"“{_named(call)}”" for call in calls)
    return f"{ENDED}{named}. {_TOLD[answer]} Then go on."


def _named(call: ToolBlock) -> str:
    return call.target or call.name
