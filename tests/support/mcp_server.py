"""An MCP server of the official SDK, with what tests need. Run as a script.

Without arguments by stdio; else with a transport and a port.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import Completion, Icon, SamplingMessage, TextContent
from pydantic import BaseModel

ICONS = (
    "https://127.0.0.1:9/icon.png",
    "data:image/svg+xml;base64,PHN2Zz4=",
    f"data:image/png;base64,{'A' * 40_000}",
    "data:image/png;base64,iVBORw0KGgo=",
)
server = MCPServer(
    "simple",
    version="1.2",
    instructions="Add numbers with add.",
    icons=[Icon(src=one) for one in ICONS],
)


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


@server.tool()
def large(megabytes: int) -> str:
    return "x" * (megabytes * 1_000_000)


@server.prompt()
def greet(whom: str) -> str:
    return f"Greet {whom}."


@server.resource("note://today")
def today() -> str:
    return "Milk"


@server.resource("note://{day}")
def note(day: str) -> str:
    return f"Nothing on {day}"


@server.prompt()
def forecast(city: str, unit: str = "C") -> str:
    """The weather of a city."""
    return f"Tell the weather of {city} in {unit}."


@server.completion()
async def complete(ref: object, argument: Any, context: Any) -> Completion:
    """Cities of a name, and days; of ``unit`` what goes with the city that is given."""
    given = context.arguments or {} if context is not None else {}
    known = {
        "city": ["Berlin", "Bern", "New York"],
        "day": ["monday", "tuesday"],
        "unit": [f"{given.get('city', 'no')} unit"],
    }
    return Completion(values=[v for v in known[argument.name] if v.startswith(argument.value)])


class Size(BaseModel):
    width: int


async def width() -> Elicit[Size]:
    return Elicit("How wide?", Size)


@server.tool()
async def ask(size: Annotated[ElicitationResult[Size], Resolve(width)]) -> str:
    """Ask the person for a number."""
    return f"accept {size.data.width}" if size.action == "accept" else size.action


@server.tool()
async def ask_back(context: Context) -> str:
    """Ask by a request of the server's, which only the era of the handshake has."""
    answer = await context.elicit("How deep?", Size)
    return f"accept {answer.data.width}" if answer.action == "accept" else answer.action


@server.tool()
async def think_back(context: Context) -> str:
    """Have a model answer by a request of the server's, as ``ask_back``."""
    words = TextContent(type="text", text="Two and two?")
    messages = [SamplingMessage(role="user", content=words)]
    answer = await context.session.create_message(messages, max_tokens=50)
    assert isinstance(answer.content, TextContent)
    return f"{answer.model}: {answer.content.text}"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run(sys.argv[1], port=int(sys.argv[2]))  # type: ignore[call-overload]
    else:
        server.run("stdio")
