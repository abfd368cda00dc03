"""The command ``agent-studio mcp serve``: the studio as an MCP server on standard streams."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from studio.agent.engine import Engine
from studio.domain.errors import ConfigurationError
from studio.server.command import served_folder

from .http import import_sdk
from .studio_tools import StudioTools


async def serve(engine: Engine, options: Namespace) -> int:
    """Serve until the client closes the streams; returns the exit code.

    Raises ConfigurationError where no program is at the other end, or there is no such folder.
    """
    if sys.stdin.isatty():
        raise ConfigurationError(
            "Another program starts this command and speaks with it. Its settings take it as: "
            "agent-studio mcp serve"
        )
    folder = await served_folder(engine, options.folder)
    await asyncio.to_thread(import_sdk)
    from mcp.server.stdio import stdio_server

    from .calls import Calls

    tools = StudioTools(engine, folder)
    calls = Calls(tools)
    await tools.clear_up()
    await engine.look_for_providers()
    try:
        async with stdio_server() as (read, write):
            await calls.server.run(read, write, calls.server.create_initialization_options())
    finally:
        await calls.close()
        await tools.close()
    return 0
