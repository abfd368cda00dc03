"""A server of the official SDK in both eras: forms, progress, and a loop that is free meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.questions import ServerAnswer, ServerQuestion
from studio.mcp.entries import described, parse_entry
from studio.mcp.faults import ServerFailed
from studio.mcp.servers import Servers
from support.mcp_servers import running_servers, sdk_server

ICON = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_server_of_the_sdk_asks_and_tells(tmp_path: Path, era: str) -> None:
    """M-1, M-7, M-19: in either era a form reaches the person, and progress is told."""
    asked: list[ServerQuestion] = []

    async def ask(question: ServerQuestion) -> ServerAnswer:
        asked.append(question)
        return answers.pop(0)

    answers = [ServerAnswer("accept", {"width": 7}), ServerAnswer("decline")]
    entry = sdk_server()
    if era == "handshake":
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "eras.json").write_text(f'{{"{entry.digest}": "handshake"}}')
    async with running_servers(tmp_path, entry) as servers:
        assert (await servers.call("simple", "ask", {}, ask=ask)).text == "accept 7"
        assert (await servers.call("simple", "ask", {}, ask=ask)).text == "decline"
        assert (asked[0].server, asked[0].message) == ("simple", "How wide?")
        assert asked[0].schema is not None and "width" in str(asked[0].schema["properties"])
        told: list[tuple[float, float | None, str]] = []
        steps = {"count": 2, "seconds": 0.0}
        result = await servers.call(
            "simple", "steps", steps, progress=lambda *how: told.append(how)
        )
        assert result.text == "done"
        assert (2.0, 2.0, "step 2") in told
        lists = await servers.list("simple")
        assert lists.revision == ("2026-07-28" if era == "modern" else "2025-11-25")
        assert lists.instructions == "Add numbers with add."
        assert (lists.server, lists.version) == ("simple", "1.2")
        assert lists.icon == ICON, "M-20: no address, no SVG, none that is large"
        (add,) = [tool for tool in lists.tools if tool.name == "add"]
        assert add.description == "Add two numbers."
        await check_resources(servers)


async def check_resources(servers: Servers) -> None:
    """M-8: all that a server offers is listed."""
    lists = await servers.list("simple")
    assert [one.name for one in lists.prompts] == ["greet", "forecast"]
    assert [argument["name"] for argument in lists.prompts[0].arguments] == ["whom"]
    assert [str(one.uri) for one in lists.resources] == ["note://today"]
    assert [one.uri for one in lists.templates] == ["note://{day}"]


IMPORTS = """
import asyncio, sys, threading
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
import studio.app
assert "mcp" not in sys.modules and "pydantic" not in sys.modules
from support.mcp_servers import raw_server, running_servers
assert "mcp" not in sys.modules
on_loop = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        main = threading.current_thread() is threading.main_thread()
        if main and name.partition(".")[0] in ("mcp", "mcp_types", "pydantic", "httpx2"):
            on_loop.append(name)

async def main():
    async with running_servers(Path(sys.argv[3]), raw_server()) as servers:
        sys.meta_path.insert(0, Watch())
        await servers.call("raw", "echo", {})
        await servers.stop("raw")

asyncio.run(main())
assert not on_loop, on_loop
"""


async def test_the_sdk_is_imported_in_a_thread_with_the_first_server(tmp_path: Path) -> None:
    """The program's start does not import it, and the window does not stand still for it."""
    tests = Path(__file__).parents[1]
    arguments = [sys.executable, "-c", IMPORTS, str(tests.parent), str(tests), str(tmp_path)]
    done = await asyncio.to_thread(subprocess.run, arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_nothing_starts_after_the_end(tmp_path: Path) -> None:
    entry = sdk_server()
    async with running_servers(tmp_path, entry) as servers:
        await servers.close()
        with pytest.raises(ServerFailed, match="no MCP server"):
            await servers.call("simple", "add", {"a": 1, "b": 1})


async def test_m1_an_entry_may_ask_for_the_handshake(tmp_path: Path) -> None:
    """M-19: for a server that asks by a request of its own, which the newer era does not have."""

    async def ask(question: ServerQuestion) -> ServerAnswer:
        return ServerAnswer("accept", {"width": 3})

    plain = sdk_server()
    entry = parse_entry("simple", {**described(plain), "handshake": True})
    entry = replace(entry, on=True, approved=plain.digest)  # it runs the same
    async with running_servers(tmp_path, plain) as servers:
        with pytest.raises(ToolFailed, match=r'no back-channel.*"handshake": true'):
            await servers.call("simple", "ask_back", {}, ask=ask)
        servers.use([entry])
        assert (await servers.call("simple", "ask_back", {}, ask=ask)).text == "accept 3"
        servers.use([plain])
        lists = await servers.start("simple")
        assert lists.revision == "2026-07-28"  # what it speaks was not forgotten


@pytest.mark.parametrize("may", [True, False])
async def test_m20_a_server_asks_for_an_answer_by_a_request_of_its_own(
    tmp_path: Path, may: bool
) -> None:
    """M-20: in the era of the handshake, where the server is told whether it may."""
    asked: list[ServerQuestion] = []

    async def ask(question: ServerQuestion) -> ServerAnswer:
        asked.append(question)
        content: JsonObject = {"text": "Four.", "model": "sim", "stop": "end"}
        return ServerAnswer("accept", content) if len(asked) == 1 else ServerAnswer("decline")

    plain = sdk_server()
    entry = parse_entry("simple", {**described(plain), "handshake": True})
    entry = replace(entry, on=True, approved=plain.digest, sampling=may)
    async with running_servers(tmp_path, entry) as servers:
        if may:
            first = await servers.call("simple", "think_back", {}, ask=ask)
            assert first.text == "sim: Four."
            assert (asked[0].message, asked[0].prompt is not None) == ("Two and two?", True)
        why = "rejected" if may else "(?i)sampling.*not supported"
        with pytest.raises(ToolFailed, match=why):
            await servers.call("simple", "think_back", {}, ask=ask)
        assert len(asked) == 2 * may
