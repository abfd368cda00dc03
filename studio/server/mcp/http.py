"""HTTP: the studio as an MCP server at a path of the server, for all its clients (M-25).

Who may ask is checked before (``auth``). What is done is the same as on standard streams.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from studio.agent.engine import Engine
from studio.domain.aio import settled

from .studio_tools import StudioTools

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from .calls import Calls

PATH = "/mcp"
METHODS = ("POST", "DELETE")
"""No ``GET``: nothing is told to a client that has no call under way."""
MOST_CLIENTS = 200
"""Clients in the era of the handshake, whose sessions last."""
IDLE_SECONDS = 1800.0
"""Such a client's session ends when it has asked nothing for so long."""


class McpPath:
    """Answers the requests of MCP clients (ASGI). The SDK is imported with the first of them."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._tools = StudioTools(engine, folder)
        self._ready: asyncio.Future[tuple[StreamableHTTPSessionManager, Calls]] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._ready))
        manager, calls = await asyncio.shield(self._ready)
        try:
            await manager.handle_request(scope, receive, send)
        finally:
            # The SDK works on for a client that has gone; there is no way to hand it the answer.
            calls.end_request(scope)

    async def close(self) -> None:
        """Stop all calls, and return when they have ended."""
        self._over.set()
        if self._serving is not None:
            await settled(self._serving)
        await self._tools.close()

    async def _serve(
        self, ready: asyncio.Future[tuple[StreamableHTTPSessionManager, Calls]]
    ) -> None:
        """Serve until ``close``: the SDK begins and ends in one task."""
        try:
            await asyncio.to_thread(import_sdk)
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            from .calls import Calls

            calls = Calls(self._tools)
            manager = StreamableHTTPSessionManager(
                calls.server, session_idle_timeout=IDLE_SECONDS, max_sessions=MOST_CLIENTS
            )
            async with manager.run():
                ready.set_result((manager, calls))
                try:
                    await self._over.wait()
                finally:
                    await calls.close()
        except Exception as error:
            if ready.done():
                raise
            self._ready = None  # the next request tries again
            ready.set_exception(error)


def import_sdk() -> None:
    """Import the official SDK, which takes most of a second: call it in a thread."""
    import_module("studio.server.mcp.calls")
    import_module("mcp.server.streamable_http_manager")
    for name in ("mcp", "client"):  # the SDK would write into the log what clients send
        logging.getLogger(name).setLevel(logging.CRITICAL)
