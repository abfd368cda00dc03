"""The server for editors: the Agent Client Protocol, version 1, over standard input and output.

- ``agent``: Creates, opens and runs the sessions of one editor.
- ``client_requests``: Asks the editor's user for permission, answers and decisions about drafts.
- ``editor_servers``: The MCP servers that the editor brings to a session.
- ``session_editor``: Reads and writes files through the editor, and runs commands there.
- ``session_options``: What can be chosen for a session: agent, model, mode, effort.
- ``slash_commands``: What can be typed after a slash instead of a message.
- ``prompt_blocks``: Turns what an editor sends into blocks for the model.
- ``updates``: Translates the events of a turn into the protocol's updates.

The protocol itself is the library's (``agent-client-protocol``).
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard, cast

from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine

__all__ = ["serve"]

MAX_LINE_BYTES = 50_000_000
"""The longest line: pictures come within one."""
_UNROUTED = ("session/delete",)
"""Methods that the library does not know yet: they reach the agent as an extension's."""
_BROKEN, _NO_REQUEST = -32700, -32600


async def serve(engine: Engine, agent_name: str = "") -> None:
    """Serve the editor until it closes the streams. Standard output belongs to the protocol.

    Raises ConfigurationError if no editor can be there: the streams are files, say.
    """
    from acp import Agent, run_agent, stdio_streams

    from .agent import AcpAgent

    if not (_is_connected(sys.stdin) and _is_connected(sys.stdout)):
        raise ConfigurationError(
            "An editor starts this command, and speaks with it through pipes. "
            "Its settings take it as: agent-studio acp"
        )
    agent = AcpAgent(engine, agent_name)
    transport = StdioTransport(*await stdio_streams(limit=MAX_LINE_BYTES))
    try:
        # Unsupported methods are left out. The library calls some stable ones unstable.
        await run_agent(cast("Agent", agent), transport, use_unstable_protocol=True)
    finally:
        agent.close()


def _is_connected(stream: TextIO | None) -> bool:
    """Whether another program can be at the other end: the stream is no file and not closed."""
    if stream is None:
        return False
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty()


class StdioTransport:
    """Receives and sends messages (the library's ``Transport``).

    A line that is no message is answered with an error, and the connection goes on.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """``reader`` has ``MAX_LINE_BYTES`` as its limit."""
        self._reader, self._writer = reader, writer
        self._sending = asyncio.Lock()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when the editor has hung up."""
        while True:
            try:
                line = await self._reader.readline()
                if not line:
                    return None
                if not line.strip():
                    continue
                message = json.loads(line)
            except (ValueError, RecursionError):  # also of a line that is too long
                await self._refuse(_BROKEN, "This line is not JSON.")
                continue
            if _is_message(message):
                if message.get("method") in _UNROUTED:
                    message["method"] = f"_{message['method']}"
                return message
            await self._refuse(_NO_REQUEST, "This is not a message of JSON-RPC 2.0.")

    async def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode()
        async with self._sending:
            self._writer.write(data + b"\n")
            await self._writer.drain()

    async def close(self) -> None:
        """Nothing is held back, so there is nothing to do."""

    async def _refuse(self, code: int, why: str) -> None:
        error = {"code": code, "message": why}
        await self.send({"jsonrpc": "2.0", "id": None, "error": error})


def _is_message(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is a message that the library can handle; it does not check all of it."""
    if not isinstance(value, dict):
        return False
    found = cast("dict[str, Any]", value)
    return (
        isinstance(found.get("id"), str | int | None)
        and isinstance(found.get("method"), str | None)
        and isinstance(found.get("params"), dict | None)
        and isinstance(found.get("error"), dict | None)
    )
