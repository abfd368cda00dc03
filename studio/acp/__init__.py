"""The editors' door: the Agent Client Protocol, version 1, over standard input and output.

An editor starts ``agent-studio acp`` and works with the person's agents in it.
``lines`` takes messages and sends them, ``hearing`` reads what is said in one,
``telling`` puts what happens into the protocol's words, ``asking`` puts questions
to its person, ``door`` holds its sessions.
The protocol itself is the library's (``agent-client-protocol``).
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, TextIO, cast

from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.studio import Engine

__all__ = ["serve"]


async def serve(studio: Engine, agent: str = "") -> None:
    """Speak with the editor until it hangs up. Standard output belongs to the protocol.

    Raises ConfigurationError if no editor can be there: the streams are files, say.
    """
    from acp import Agent, run_agent, stdio_streams

    from .door import AcpAgent
    from .lines import LONGEST, StdioTransport

    if not (_speaks(sys.stdin) and _speaks(sys.stdout)):
        raise ConfigurationError(
            "An editor starts this command, and speaks with it through pipes. "
            "Its settings take it as: agent-studio acp"
        )
    door = AcpAgent(studio, agent)
    lines = StdioTransport(*await stdio_streams(limit=LONGEST))
    try:
        await run_agent(cast("Agent", door), lines)  # what is not offered has no method here
    finally:
        door.close()


def _speaks(stream: TextIO | None) -> bool:
    """Whether another program can be at the stream's other end: no file, and not nowhere."""
    if stream is None:
        return False
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty()
