"""What MCP servers and skills cost beside what they do.

    python benchmarks/servers.py [rounds]

Calls of a server's tool, in turn with the same calls through the SDK's own client at a process of
its own. And the listing of 500 skills: with files that were never read, and again.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from measure import HERE, Row, middle, quick, show

sys.path.append(str(HERE.parent / "tests"))

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from studio.domain.jsonvalue import JsonObject
from studio.extensions.finder import ExtensionFinder
from studio.storage.paths import Paths
from support.mcp_servers import (  # pyright: ignore[reportMissingImports]
    running_servers,
    sdk_server,
)

SKILLS = 500
CALL: JsonObject = {"text": "hello"}


def slowest(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[int(len(values) * 0.95)]


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000


async def calls(folder: Path, rounds: int) -> Row:
    entry = sdk_server()
    bare = StdioServerParameters(command=entry.command, args=list(entry.arguments))
    ours: list[float] = []
    raw: list[float] = []
    async with running_servers(folder, entry) as servers, Client(bare) as client:
        for number in range(rounds + 5):
            own = await timed(lambda: servers.call("simple", "say", CALL))
            beside = await timed(lambda: client.call_tool("say", CALL))
            if number >= 5:
                ours.append(own)
                raw.append(beside)
    against = "the SDK’s own client"
    return Row("a call of a server, p95", slowest(ours), slowest(raw), "ms", "< 1 ms more", against)


def skills(folder: Path, rounds: int) -> list[Row]:
    paths = Paths.below(folder / "home")
    for number in range(SKILLS):
        place = paths.config / "skills" / f"skill-{number}"
        place.mkdir(parents=True)
        text = f"---\nname: skill-{number}\ndescription: Does the thing {number}.\n---\n# Do it\n"
        (place / "SKILL.md").write_text(text)
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(rounds):
        finder = ExtensionFinder(paths)
        for times in (cold, warm):
            began = time.perf_counter()
            found = finder.read()
            times.append((time.perf_counter() - began) * 1000)
            assert len(found.skills) == SKILLS
    return [
        Row("500 skills, read for the first time", middle(cold), None, "ms", "<= 150 ms"),
        Row("500 skills, read again", middle(warm), middle(cold), "ms", "<= 10 ms", "the first"),
    ]


def main() -> None:
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    rounds = numbers[0] if numbers else 40 if quick() else 200
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        show([asyncio.run(calls(folder, rounds)), *skills(folder, max(rounds // 20, 3))])


if __name__ == "__main__":
    main()
