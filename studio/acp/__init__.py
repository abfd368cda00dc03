"""The server for editors: the Agent Client Protocol, version 1, over standard input and output.

- ``agent``: Creates, opens and runs the sessions of one editor.
- ``client_requests``: Asks the editor's user.
- ``prompt_blocks``: Turns what an editor sends into blocks for the model.
- ``stdio``: Carries one JSON-RPC message a line.
- ``updates``: Translates the events of a turn into the protocol's updates.

The protocol itself is the library's (``agent-client-protocol``).
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, TextIO, cast

from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine

__all__ = ["serve"]


async def serve(studio: Engine, agent_name: str = "") -> None:
    """Serve the editor until it closes the streams. Standard output belongs to the protocol.

    Raises ConfigurationError if no editor can be there: the streams are files, say.
    """
    from acp import Agent, run_agent, stdio_streams

    from .agent import AcpAgent
    from .stdio import LONGEST, StdioTransport

    if not (_speaks(sys.stdin) and _speaks(sys.stdout)):
        raise ConfigurationError(
            "An editor starts this command, and speaks with it through pipes. "
            "Its settings take it as: agent-studio acp"
        )
    agent = AcpAgent(studio, agent_name)
    transport = StdioTransport(*await stdio_streams(limit=LONGEST))
    try:
        await run_agent(cast("Agent", agent), transport)  # unsupported methods are left out
    finally:
        agent.close()


def _speaks(stream: TextIO | None) -> bool:
    """Whether another program can be at the other end: the stream is no file and not closed."""
    if stream is None:
        return False
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty()
