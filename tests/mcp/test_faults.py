"""What a server does wrong costs one call at most, and the next one works (M-5, M-6, M-7)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.domain.errors import ToolFailed
from studio.mcp.faults import ServerFailed
from studio.mcp.servers import Servers
from studio.mcp.supervised import ServerTimes
from support.mcp_servers import raw_server, running_servers
from support.waiting import FOREVER, until

QUICK = ServerTimes(start=FOREVER, again=0.01, longest=0.02)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    async with running_servers(tmp_path, raw_server(folder=tmp_path), times=QUICK) as servers:
        yield servers


async def works(servers: Servers, name: str = "raw") -> None:
    result = await servers.call(name, "echo", {"a": "ü"})
    assert json.loads(result.text) == {"a": "ü"}
    assert servers.state(name).kind == "running"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("junk", "after junk"),
        ("odd_bytes", "caf\N{REPLACEMENT CHARACTER}"),
        ("half_letter", "\N{REPLACEMENT CHARACTER} x"),
        ("odd_part", "good\n\n[a part of the kind smell, which is wrong]\n\n"
         "[a part of the kind unknown, which is wrong]"),
    ],
)  # fmt: skip
async def test_wrong_bytes_are_answered_all_the_same(
    servers: Servers, tool: str, text: str
) -> None:
    """M-5: junk is skipped, and what can be read is read."""
    assert (await servers.call("raw", tool, {})).text == text
    await works(servers)
    if tool == "junk":
        await servers.stop("raw")
        log = servers.log_file("raw")
        await until(lambda: "20,000 lines" in log.read_text())
        assert "no message: npm notice" in log.read_text()


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("big", "The result is over 8 MB."),
        ("big_id_last", "The result is over 8 MB."),
        ("wrong_result", "does not follow the protocol"),
        ("refuses", "Unknown unit."),
    ],
)
async def test_a_call_gets_a_clear_error(servers: Servers, tool: str, words: str) -> None:
    """M-5: another call that waits meanwhile is not answered with it."""
    await servers.start("raw")
    other = asyncio.ensure_future(servers.call("raw", "silent", {}))
    await asyncio.sleep(0)
    with pytest.raises(ToolFailed, match=words):
        await servers.call("raw", tool, {})
    await works(servers)
    assert not other.done()
    other.cancel()


async def test_an_error_of_a_tool_is_kept(servers: Servers) -> None:
    """M-11: ``isError`` is the tool's word, not a fault of the server."""
    result = await servers.call("raw", "fails", {})
    assert (result.is_error, result.text) == (True, "No such table.")


@pytest.mark.parametrize("tool", ["leave", "close_output"])
async def test_a_server_that_ends_is_started_again(servers: Servers, tool: str) -> None:
    """M-6: the waiting call is told, nothing is sent again, and the next one works."""
    with pytest.raises(ServerFailed, match=r"may have\s+acted") as told:
        await servers.call("raw", tool, {})
    assert told.value.kind == "exited"
    await works(servers)
    calls = json.loads((await servers.call("raw", "noted", {})).text)
    assert calls.count("tools/call") == 2  # the one that works, and this one
    if tool == "leave":
        assert "The disk is full." in servers.log("raw")


async def test_a_server_that_ends_again_and_again_has_failed(tmp_path: Path) -> None:
    """M-6: five times, then it is failed with its reason until the person starts it."""
    async with running_servers(tmp_path, raw_server(), times=QUICK) as servers:
        for _ in range(6):
            with pytest.raises(ServerFailed):
                await servers.call("raw", "leave", {})
        await until(lambda: servers.state("raw").kind == "failed")
        assert "The disk is full." in servers.state("raw").reason
        with pytest.raises(ServerFailed, match="exit code 7"):
            await servers.call("raw", "echo", {})
        await servers.start("raw")
        await works(servers)


@pytest.mark.parametrize(
    ("mode", "words", "code"),
    [
        ("reason", "exit code 3. It said last: TOKEN is not set", 3),
        ("chatty", "exit code 2. It wrote: Welcome to this server!", 2),
    ],
)
async def test_a_server_that_dies_says_why(
    tmp_path: Path, mode: str, words: str, code: int
) -> None:
    async with running_servers(tmp_path, raw_server(mode), times=QUICK) as servers:
        with pytest.raises(ServerFailed, match=words) as told:
            await servers.call("raw", "echo", {})
        assert (told.value.kind, told.value.code) == ("exited", code)
        state = servers.state("raw")
        assert (state.kind, state.reason) == ("failed", str(told.value))


async def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    """M-2: a start takes so long at most."""
    times = ServerTimes(start=0.3)
    async with running_servers(tmp_path, raw_server("no_answer"), times=times) as servers:
        with pytest.raises(ServerFailed, match=r"did not answer within 0\.3") as told:
            await servers.call("raw", "echo", {})
        assert told.value.kind == "silent"
        assert servers.state("raw").kind == "failed"


async def test_a_start_shows_the_last_line_and_can_be_stopped(tmp_path: Path) -> None:
    """M-2."""
    async with running_servers(tmp_path, raw_server("no_answer"), times=QUICK) as servers:
        call = asyncio.ensure_future(servers.call("raw", "echo", {}))
        await until(lambda: servers.state("raw").line == "Downloading")
        assert servers.state("raw").kind == "starting"
        await servers.stop("raw")
        with pytest.raises(ToolFailed):
            await call


async def test_a_start_that_takes_long_is_waited_for(tmp_path: Path) -> None:
    entry = raw_server("late", folder=tmp_path)
    async with running_servers(tmp_path, entry, times=QUICK) as servers:
        call = asyncio.ensure_future(servers.call("raw", "echo", {}))
        await until(lambda: servers.state("raw").kind == "starting")
        (tmp_path / "go").touch()
        await call


@pytest.mark.parametrize("mode", ["deaf_to_unknown", "dies_if_unknown", "modern", ""])
async def test_both_eras_are_spoken_and_remembered(tmp_path: Path, mode: str) -> None:
    """PRE-7, M-1: a server that cannot bear the question for its era is asked it once."""
    async with running_servers(tmp_path, raw_server(mode), times=QUICK) as servers:
        await works(servers)
        revision = (await servers.list("raw")).revision
        assert revision == ("2026-07-28" if mode == "modern" else "2025-11-25")
        await servers.stop("raw")
        calls = json.loads((await servers.call("raw", "noted", {})).text)
        assert ("server/discover" in calls) == (mode == "modern")


async def test_wrong_tools_spoil_no_others(tmp_path: Path) -> None:
    """M-8, M-10: what cannot be read is left out and told."""
    async with running_servers(tmp_path, raw_server("wrong_tools"), times=QUICK) as servers:
        lists = await servers.start("raw")
        assert [tool.name for tool in lists.tools] == ["echo", "more", "noted", "vague"]
        assert len(lists.problems) == 3
        assert any("“texts” is left out" in problem for problem in lists.problems)


async def test_endless_pages_end(tmp_path: Path) -> None:
    """M-8: 2,000 tools are read, and the rest is told."""
    async with running_servers(tmp_path, raw_server("pages"), times=QUICK) as servers:
        lists = await servers.start("raw")
        assert len(lists.tools) == 2_000
        assert any("beyond 2000" in problem for problem in lists.problems)


async def test_m8_pages_without_an_end_are_read_up_to_a_hundred(tmp_path: Path) -> None:
    """M-8: however few tools are on each; the rest is told."""
    async with running_servers(tmp_path, raw_server("pages", "small"), times=QUICK) as servers:
        lists = await servers.start("raw")
        assert len(lists.tools) == 100
        assert lists.problems == ("tools: what is beyond 100 pages is left out",)


@pytest.mark.parametrize("holds", [True, False])
async def test_m8_a_list_that_is_too_old_is_fetched_again(tmp_path: Path, holds: bool) -> None:
    """M-8: as the server says (``ttlMs``), and not where it says nothing."""
    modes = ("modern",) if holds else ("modern", "soon_old")
    async with running_servers(tmp_path, raw_server(*modes), times=QUICK) as servers:
        await servers.start("raw")
        clock = asyncio.get_running_loop().time
        old = clock() + 0.001
        await until(lambda: clock() > old)
        await servers.list("raw")
        calls = json.loads((await servers.call("raw", "noted", {})).text)
        assert calls.count("tools/list") == (1 if holds else 2)


async def test_m20_a_tool_that_needs_tasks_is_known_as_such(tmp_path: Path) -> None:
    """M-20: tasks are not offered; no other tool is lost by one."""
    async with running_servers(tmp_path, raw_server("tasks"), times=QUICK) as servers:
        tools = (await servers.start("raw")).tools
        assert [(one.name, one.only_tasks) for one in tools] == [
            *(("echo", True), ("more", False), ("noted", False))
        ]


async def test_changed_lists_are_fetched_again(servers: Servers) -> None:
    """M-8."""
    before = await servers.start("raw")
    told: list[str] = []
    servers.listen(told.append)
    await servers.call("raw", "more", {})
    await until(lambda: servers.state("raw").tools == len(before.tools) + 1)
    assert told
    assert (await servers.list("raw")).tools[-1].name == "new_3"


@pytest.mark.parametrize("tool", ["silent", "late"])
async def test_a_cancelled_call_is_told_to_the_server(servers: Servers, tool: str) -> None:
    """M-7: the turn is free at once, and a late answer belongs to nobody."""
    await servers.start("raw")
    call = asyncio.ensure_future(servers.call("raw", tool, {}))
    await works(servers)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    notes = json.loads((await servers.call("raw", "noted", {})).text)
    assert any(note.startswith("cancelled ") for note in notes)


async def test_a_call_has_its_time(servers: Servers) -> None:
    """M-7: others go on meanwhile."""
    await servers.start("raw")
    slow = asyncio.ensure_future(servers.call("raw", "silent", {}, seconds=0.2))
    await works(servers)
    with pytest.raises(ToolFailed, match=r"did not answer within 0\.2 seconds"):
        await slow
    await works(servers)
