"""Our client as the conformance suite of the protocol starts it: calls every tool there is.

Run as a script with the address of the suite's server.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from studio.domain.jsonvalue import JsonObject
from studio.domain.questions import ServerAnswer, ServerQuestion
from studio.mcp.entries import ServerEntry
from support.mcp_servers import approved, running_servers

ARGUMENTS: dict[str, JsonObject] = {"add_numbers": {"a": 5, "b": 3}}


async def accept(question: ServerQuestion) -> ServerAnswer:
    """A person who leaves every field of the form as it is."""
    return ServerAnswer("accept", {})


async def main(address: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        entry = approved(ServerEntry("suite", url=address, transport="http"))
        async with running_servers(Path(place), entry) as servers:
            lists = await servers.start("suite")
            for tool in lists.tools:
                arguments = ARGUMENTS.get(tool.name, {})
                result = await servers.call("suite", tool.name, arguments, ask=accept)
                assert not result.is_error, result.text


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
