"""The editors' door: the Agent Client Protocol, version 1, over standard input and output.

An editor starts ``agent-studio acp`` and works with the person's agents in it.
``hearing`` reads what the editor sends, ``telling`` puts what happens into the
protocol's words, ``asking`` puts questions to its person, ``door`` holds its
sessions.
The protocol itself is the library's (``agent-client-protocol``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from studio.agent.studio import Studio

__all__ = ["serve"]


async def serve(studio: Studio, agent: str = "") -> None:
    """Speak with the editor until it hangs up. Standard output belongs to the protocol."""
    from acp import Agent, run_agent

    from .door import Door

    door = Door(studio, agent)
    try:
        await run_agent(cast("Agent", door))  # what is not offered has no method here
    finally:
        door.close()
