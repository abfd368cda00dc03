"""The editors' door: the Agent Client Protocol, version 1, over standard input and output.

An editor starts ``agent-studio acp`` and works with the person's agents in it.
``lines`` takes messages and sends them, ``hearing`` reads what is said in one,
``telling`` puts what happens into the protocol's words, ``asking`` puts questions
to its person, ``door`` holds its sessions.
The protocol itself is the library's (``agent-client-protocol``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from studio.agent.studio import Studio

__all__ = ["serve"]


async def serve(studio: Studio, agent: str = "") -> None:
    """Speak with the editor until it hangs up. Standard output belongs to the protocol."""
    from acp import Agent, run_agent, stdio_streams

    from .door import Door
    from .lines import LONGEST, Lines

    door = Door(studio, agent)
    lines = Lines(*await stdio_streams(limit=LONGEST))
    try:
        await run_agent(cast("Agent", door), lines)  # what is not offered has no method here
    finally:
        door.close()
