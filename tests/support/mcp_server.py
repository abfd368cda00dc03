"""An MCP server of the official SDK, with what tests need. Run as a script.

The arguments say what else it does: ``handshake`` alone, ``roots``, ``http PORT`` and so on.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("simple", version="1.2", instructions="Add numbers with add.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def say(text: str) -> str:
    return text


@server.tool()
def pid() -> str:
    return str(os.getpid())


@server.tool()
def leave(code: int = 3) -> str:
    """End at once."""
    print("leaving for a reason", file=sys.stderr, flush=True)
    os._exit(code)


@server.tool()
async def slow(folder: str, steps: int = 0) -> str:
    """Wait until there is a file ``go``; note the beginning and a cancellation in files."""
    place = Path(folder)
    (place / "begun").touch()
    try:
        while not (place / "go").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        (place / "cancelled").touch()
        raise
    return "done"


@server.tool()
async def steps(context: Context, count: int, seconds: float) -> str:
    """Tell the progress."""
    for step in range(count):
        await asyncio.sleep(seconds)
        await context.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


if __name__ == "__main__":
    if "late" in sys.argv:
        time.sleep(1.0)
    server.run("stdio")
