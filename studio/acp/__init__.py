"""The editors' door: the Agent Client Protocol, version 1, over standard input and output.

- ``agent``: The editor's sessions.
- ``client_requests``: What the editor's person is asked.
- ``prompt_blocks``: What an editor sends with a message, as blocks that go to the model.
- ``stdio``: One JSON-RPC message a line, over standard input and output.
- ``updates``: What happens in a turn, in the protocol's words.
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
    """Speak with the editor until it hangs up. Standard output belongs to the protocol.

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
    door = AcpAgent(studio, agent_name)
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
