"""Handoffs: offers after an answer what the file of the chat's agent says comes next (W-1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studio.domain.agents import Handoff
from studio.domain.errors import ConfigurationError

from .engine import Engine
from .permission.invisible_characters import escape_line
from .session.session import Session


async def offered_handoffs(engine: Engine, session: Session) -> Sequence[Handoff]:
    """To agents that are there; nothing before an answer."""
    if session.damage or not session.transcript.turn_id:
        return ()
    agents = await engine.agents(Path(session.info.folder))
    agent = agents.get(session.info.agent)
    return [one for one in agent.handoffs if agents.get(one.agent)] if agent is not None else ()


def handoff_offer(handoffs: Sequence[Handoff]) -> str:
    """A line that names them, and the command that takes one; empty where there are none."""
    if not handoffs:
        return ""
    named = [
        escape_line(f"{number} {one.label} ({one.agent})") for number, one in enumerate(handoffs, 1)
    ]
    return f"What may come next: {', '.join(named)}. Take one with /handoff NUMBER."


async def take_handoff(engine: Engine, session: Session, number: str) -> Handoff:
    """Give the chat to the agent of a handoff, with its model if that can be reached.

    Raises ConfigurationError if there is none of that number.
    """
    handoffs = await offered_handoffs(engine, session)
    if not handoffs:
        raise ConfigurationError(f"{session.info.agent} hands over to nobody now.")
    if not (number.isdecimal() and 0 < int(number) <= len(handoffs)):
        raise ConfigurationError(handoff_offer(handoffs))
    taken = handoffs[int(number) - 1]
    found = await engine.model_names.reachable(taken.model) if taken.model else None
    of_model = {"provider": found.provider, "model": found.model} if found is not None else {}
    await session.change(agent=taken.agent, **of_model)
    return taken
