"""A house with an MCP server whose tools a test chooses and changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studio.agent.servers.server_tools import ServerTools
from studio.domain.jsonvalue import JsonObject
from studio.mcp.entries import ServerEntry
from support.fork_server import forked_python

SCRIPT = Path(__file__).parent / "listed_server.py"
STARTED = f"import runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"


class ListedServer:
    """A server as a process of its own; ``offer`` changes what it offers from its next start on."""

    def __init__(self, folder: Path, name: str = "shop") -> None:
        self.name = name
        self.file = folder / f"{name}.json"

    @property
    def entry(self) -> ServerEntry:
        command, *arguments = forked_python("-c", STARTED, str(self.file))
        return ServerEntry(self.name, command, tuple(arguments))

    @property
    def calls(self) -> list[Any]:
        """The calls that arrived: name and arguments."""
        file = self.file.with_suffix(".calls")
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def offer(self, *tools: str | JsonObject, instructions: str = "") -> None:
        """Offer tools, by name or as a whole."""
        told = [one if isinstance(one, dict) else tool(one) for one in tools]
        self.file.write_text(json.dumps({"tools": told, "instructions": instructions}), "utf-8")


def tool(name: str, description: str = "", **properties: JsonObject) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {**properties}}
    return {"name": name, "description": description or f"Does {name}.", "schema": schema}


async def switch_on(servers: ServerTools, *listed: ListedServer) -> Sequence[ServerEntry]:
    """Add servers, switch them on as the person does, and see what they offer."""
    entries: list[ServerEntry] = []
    for one in listed:
        await servers.put(one.entry)
        entry = await servers.switch_on((await servers.refresh()).by_name[one.name])
        await servers.connect(entry)
        entries.append(entry)
    return entries


async def restart(servers: ServerTools, listed: ListedServer) -> None:
    """End a server and start it again, so that it offers what it offers now."""
    await servers.servers.stop(listed.name)
    await servers.connect((await servers.refresh()).by_name[listed.name])
