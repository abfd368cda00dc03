"""What MCP servers and skills cost beside what they do.

    python benchmarks/servers.py [rounds]

Calls of a server's tool, in turn with the same calls through the SDK's own client at a process of
its own. The start of the window with ten servers that are on and not called, beside one without.
How long the event loop stands still while the SDK is imported, in a thread or on the loop, and
while servers do what they should not, such as a result of 50 MB. How much memory a connection
takes. How long deaf servers and their children live on when the program is killed during their
calls. What 1,000 tools are told in. And the listing of 500 skills: with files that were never read,
and again.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure import HERE, Row, child, middle, quick, show
from stall import Ticker
from start import run

sys.path.append(str(HERE.parent / "tests"))

from studio.agent.context.token_count import tool_tokens
from studio.agent.servers.server_tools import ServerTools
from studio.agent.servers.tool_search import search_tools
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.extensions.finder import ExtensionFinder
from studio.mcp.catalogue import Catalogue
from studio.mcp.entries import EntriesFile, ServerEntry
from studio.mcp.lists import ServerLists, ServerTool
from studio.mcp.supervised import ServerTimes
from studio.storage.paths import Paths
from support.mcp_servers import (  # pyright: ignore[reportMissingImports]
    raw_server,
    running_servers,
    sdk_server,
)

SKILLS = 500
CALL: JsonObject = {"text": "hello"}
ON, TOOLS = 10, 10
"""Servers of the window that starts, and the tools of each."""
MANY, EACH = 20, 50
FAULTS = (
    *("junk", "odd_bytes", "half_letter", "big", "big_id_last", "wrong_result", "more"),
    *("leave", "close_output", "silent"),
)
"""What a server does in a call; see ``raw_mcp_server``."""
STARTS = ("reason", "chatty", "no_answer", "deaf_to_unknown", "wrong_tools", "pages", "deaf")
"""What servers do from their start on."""
PATIENCE = 1.0
"""Seconds that the benchmark waits for an answer that never comes."""
DEAF = 3
GONE = 30.0
"""Seconds after which what lives on counts as left."""


def slowest(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[int(len(values) * 0.95)]


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000


async def calls(folder: Path, rounds: int) -> Row:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

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


def seen_servers(home: Path, servers: int, tools: int) -> tuple[EntriesFile, Catalogue]:
    """Servers that are on, and whose lists were seen: none of them has to run."""
    paths = Paths.below(home)
    file = EntriesFile(paths.servers, paths.data / "servers.json")
    catalogue = Catalogue(paths.data / "servers")
    text = {"type": "string", "description": "What it is about, in a few words"}
    schema: dict[str, Any] = {"type": "object", "properties": {"what": text, "where": text}}
    words = "Does what it is asked to do with one thing, and says what came of it in a sentence."
    for server in range(servers):
        entry = ServerEntry(f"server{server}", sys.executable, (str(server),))
        entry = replace(entry, on=True, approved=entry.digest)
        file.put(entry)
        lists = [ServerTool(f"job_{n}", "", f"{words} Number {n}.", schema) for n in range(tools)]
        catalogue.remember(entry, ServerLists(tuple(lists)))
    return file, catalogue


def starts(rounds: int) -> list[Row]:
    found: list[list[dict[str, Any]]] = [[], []]
    with tempfile.TemporaryDirectory() as some, tempfile.TemporaryDirectory() as none:
        homes = Path(some), Path(none)
        for home in homes:
            (home / "settings.json").write_text('{"first_run_done": true}')
        seen_servers(homes[0], ON, TOOLS)
        for number in range(rounds + 1):
            for figures, home in zip(found, homes, strict=True):
                one = run("window.py", home)
                if "mcp" in one["ready_modules"]:
                    raise SystemExit("the SDK was imported, and no server was called")
                if number:
                    figures.append(one)
    rows: list[Row] = []
    for key, what, unit, goal in (
        ("cpu", "the first paint, CPU", "ms", "< 10 ms more"),
        ("ready_cpu", "everything shown, CPU", "ms", "< 10 ms more"),
        ("ready_pss", "everything shown, memory", "MB", "< 3 MB more"),
    ):
        if key in found[0][0]:
            here, base = (
                min(one[key] for one in figures) * (1000 if unit == "ms" else 1)
                for figures in found
            )
            title = f"start with {ON} servers on to {what}, least of {rounds}"
            rows.append(Row(title, here, base, unit, goal, "no servers"))
    return rows


async def first_server(*, on_loop: bool) -> None:
    """A process's first server; prints the longest gap between two ticks of the loop."""
    with tempfile.TemporaryDirectory() as folder:
        async with running_servers(Path(folder), sdk_server()) as servers:
            ticker = Ticker()
            ticking = asyncio.create_task(ticker.run())
            await asyncio.sleep(0.3)
            await ticker.enter("sdk")
            if on_loop:
                __import__("studio.mcp.connection")
                __import__("studio.mcp.stdio")
            await servers.start("simple")
            await ticker.enter("rest")
            ticking.cancel()
    print(json.dumps({"ms": max(ticker.gaps["sdk"]) * 1000}))


def stall(rounds: int) -> Row:
    ways: list[list[float]] = [[], []]
    for _ in range(rounds):
        for gaps, more in zip(ways, ([], ["--on-loop"]), strict=True):
            gaps.append(child([__file__, "--first", *more])["ms"])
    here, base = map(min, ways)
    title = f"longest gap on the loop while a first server starts, least of {rounds}"
    return Row(title, here, base, "ms", "< 50 ms", "the SDK imported on the loop")


async def faulty(folder: Path) -> None:
    """Prints the longest gap between two ticks of the loop while each fault is answered."""
    entries = [raw_server(mode, name=mode, folder=folder) for mode in STARTS]
    times = ServerTimes(start=PATIENCE, again=0.01, longest=0.02)
    async with running_servers(folder, raw_server(folder=folder), *entries, times=times) as servers:

        async def fault(server: str, tool: str) -> None:
            with suppress(ToolFailed, TimeoutError):
                await asyncio.wait_for(servers.call(server, tool, {}), 2 * PATIENCE)

        await servers.call("raw", "echo", {})  # the SDK is imported
        ticker = Ticker()
        ticking = asyncio.create_task(ticker.run())
        await asyncio.sleep(0.3)
        for one in FAULTS:
            await ticker.enter(one)
            await fault("raw", one)
            await servers.call("raw", "echo", {})  # the next one works
        for one in STARTS:
            await ticker.enter(one)
            await fault(one, "echo")
            await servers.stop(one)
        await ticker.enter("end")
        ticking.cancel()
    print(json.dumps({what: max(gaps) * 1000 for what, gaps in ticker.gaps.items()}))


def faults(rounds: int) -> Row:
    found = [child([__file__, "--faulty"]) for _ in range(rounds)]
    least = {what: min(one[what] for one in found) for what in found[0]}
    alone = least.pop("rest")
    worst = max((*FAULTS, *STARTS), key=lambda what: least[what])
    title = f"longest gap on the loop of {len(FAULTS) + len(STARTS)} faults of servers ({worst})"
    what = f"{title}, each least of {rounds}"
    return Row(what, least[worst], alone, "ms", "< 50 ms", "the loop at rest")


async def connections(folder: Path) -> None:
    """Prints how much memory of its own each of ten connections more takes, once one is there."""
    entries = [replace(sdk_server(), name=f"simple{number}") for number in range(ON + 1)]
    async with running_servers(folder, *entries) as servers:

        async def connect(name: str) -> None:
            await servers.start(name)
            await servers.call(name, "say", CALL)

        await connect(entries[0].name)
        before = own_memory()
        for one in entries[1:]:
            await connect(one.name)
        print(json.dumps({"mb": (own_memory() - before) / ON}))


def own_memory() -> float:
    """The megabytes that this process alone has."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    kept = (line.split()[1] for line in lines if line.startswith("Private_"))
    return sum(map(int, kept)) / 1024


def connection(rounds: int) -> list[Row]:
    if not Path("/proc/self/smaps_rollup").exists():
        return []
    found = [child([__file__, "--connections"])["mb"] for _ in range(rounds)]
    title = f"memory of a connection beside its server’s process, middle of {rounds}"
    return [Row(title, middle(found), None, "MB", "<= 1 MB")]


async def host(folder: Path) -> None:
    """Calls under way at servers that hear nothing; until it is killed."""
    entries = [raw_server("deaf", name=f"raw{n}", folder=folder) for n in range(DEAF)]
    async with running_servers(folder, *entries) as servers:
        await asyncio.gather(*(servers.call(one.name, "silent", {}) for one in entries))


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kills(count: int) -> list[Row]:
    """Kill the program, and see when its servers and their children have ended."""
    seconds: list[float] = []
    left = 0
    for _ in range(count):
        with tempfile.TemporaryDirectory() as made:
            started = Path(made) / "pids"
            program = subprocess.Popen([sys.executable, __file__, "--host", made])
            pids: list[str] = []
            while len(pids) < 2 * DEAF:
                assert program.poll() is None, "it ended by itself"
                time.sleep(0.01)
                pids = started.read_text().split() if started.exists() else []
            program.kill()
            began = time.perf_counter()
            program.wait()
            while any(map(alive, pids)) and time.perf_counter() < began + GONE:
                time.sleep(0.005)
            seconds.append(time.perf_counter() - began)
            left += sum(map(alive, pids))
    what = f"of {DEAF} deaf servers and their children after {count} kills"
    return [
        Row(f"{what}: the last has ended, longest", max(seconds), None, "s", "<= 2 s"),
        Row(f"{what}: left", left, None, "", "0"),
    ]


async def told(folder: Path) -> Row:
    file, catalogue = seen_servers(folder, MANY, EACH)
    async with running_servers(folder) as servers:
        tools = ServerTools(servers, file, catalogue, lambda _: folder).tools(file.read())
    specs = [tool.spec for tool in tools.values()]
    assert len(specs) == MANY * EACH
    here = sum(tool_tokens(tool.spec) for tool in search_tools(specs).values())
    title = f"{MANY * EACH:,} tools of {MANY} servers in a request"
    base = sum(map(tool_tokens, specs))
    return Row(title, here, base, "tokens", "<= 2,000", "each told")


def main() -> None:
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    rounds = numbers[0] if numbers else 40 if quick() else 200
    few = 3 if quick() else 7
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rows = [asyncio.run(calls(folder, rounds)), *starts(few), stall(few)]
        rows += [faults(few), *connection(few)]
        rows += [*kills(few), asyncio.run(told(folder / "many"))]
        show([*rows, *skills(folder, max(rounds // 20, 3))])


if __name__ == "__main__":
    if "--first" in sys.argv:
        asyncio.run(first_server(on_loop="--on-loop" in sys.argv))
    elif "--faulty" in sys.argv:
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(faulty(Path(made)))
    elif "--connections" in sys.argv:
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(connections(Path(made)))
    elif "--host" in sys.argv:
        asyncio.run(host(Path(sys.argv[sys.argv.index("--host") + 1])))
    else:
        main()
