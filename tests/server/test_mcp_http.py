"""The studio as an MCP server over HTTP: the official SDK's client at the real server (M-25)."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from studio.mcp.entries import ServerEntry
from studio.server.mcp.http import import_sdk
from studio.server.mcp.studio_tools import TOO_DEEP
from studio.simulator import Call, Script, Text, Turn
from support.engine_home import is_locked, reply_requests
from support.running_server import PROVIDER, RunningServer, running_server
from support.waiting import HANG, until

ERAS = ("legacy", "auto")
TOUCH = Turn(Call("run", {"command": "touch ran"}))
HOLD = (
    "import fcntl, time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
    "print('up', flush=True); time.sleep(3600)"
)


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@asynccontextmanager
async def studio(place: Path, script: Script, **settings: object) -> AsyncIterator[RunningServer]:
    async with running_server(place, script) as server:
        values = server.house.engine.settings.values
        values.default_provider, values.default_model = PROVIDER, {PROVIDER: "sim-model"}
        values.write_titles = False
        for name, value in settings.items():
            setattr(values, name, value)
        await server.house.engine.settings.save()
        yield server


@asynccontextmanager
async def client(server: RunningServer, era: str = "auto", **more: Any) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {server.token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=HANG) as http:
        streams = streamable_http_client(f"{server.serving.address}/mcp", http_client=http)
        async with Client(streams, mode=era, read_timeout_seconds=HANG, **more) as one:
            yield one


@pytest.mark.parametrize("era", ERAS)
async def test_m25_an_agent_answers_over_http(tmp_path: Path, era: str) -> None:
    """Steps are progress, a form at the client allows one call, and the chat is gone on with."""
    script = [
        Turn(Text("I look."), Call("read", {"path": "a.txt"})),
        TOUCH,
        Turn(Text("It says one.")),
        Turn(Text("Still one.")),
    ]
    told: list[str | None] = []
    asked: list[str] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def person(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "allow"})

    async with (
        studio(tmp_path, script) as server,
        client(server, era, elicitation_callback=person) as mine,
        client(server, era) as other,
    ):
        folder = server.house.folder
        (folder / "a.txt").write_text("one\n")
        tools = (await mine.list_tools()).tools
        assert [one.name for one in tools] == ["list_agents", "ask_agent", "run_workflow"]
        question = {"message": "What is in a.txt?"}
        first = await mine.call_tool("ask_agent", question, progress_callback=heard)
        assert first.structured_content["answer"] == "It says one."  # type: ignore[index]
        assert "Reading a.txt" in told and (folder / "ran").exists()
        assert len(asked) == 1 and "touch ran" in asked[0]
        chat = first.structured_content["chat"]  # type: ignore[index]
        again = await other.call_tool("ask_agent", {"message": "Sure?", "chat": chat})
        assert again.structured_content["answer"] == "Still one."  # type: ignore[index]
        messages = str(reply_requests(server.house.simulator)[-1].json["messages"])
        assert "What is in a.txt?" in messages and "Sure?" in messages
        assert not server.house.simulator.violations


async def test_m25_who_has_no_token_is_refused(tmp_path: Path) -> None:
    """As on every path of the server; and nothing waits for what a server might say by itself."""
    async with studio(tmp_path, []) as server:
        for headers in ({}, {"authorization": "Bearer x"}, {"origin": "https://example.com"}):
            async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
                refused = await http.post(f"{server.serving.address}/mcp", json={})
                assert refused.status_code == (403 if "origin" in headers else 401)
        waits = await server.client.get("/mcp", headers={"accept": "text/event-stream"})
        assert (waits.status_code, waits.headers["allow"]) == (405, "DELETE, POST")


async def test_m25_a_cancelled_call_over_http_stops_what_it_began(tmp_path: Path) -> None:
    command = f'{sys.executable} -c "{HOLD}"'
    script = [Turn(Call("run", {"command": command})), Turn(Text("."))]
    async with (
        studio(tmp_path, script, server_rules={"allow": ["run"]}) as server,
        client(server) as mine,
    ):
        child = server.house.folder / "child"
        call = asyncio.ensure_future(mine.call_tool("ask_agent", {"message": "Go"}))
        await until(lambda: child.exists() and is_locked(child))
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: not is_locked(child))
        assert len(reply_requests(server.house.simulator)) == 1  # it did not end by itself
        assert not (await mine.call_tool("list_agents", {})).is_error


async def test_m25_a_studio_that_asks_itself_ends_two_deep(tmp_path: Path) -> None:
    """The number of studios above goes with each call: one process answers all of them."""

    def script(view: Any) -> Turn:
        said = str(view.items)
        if "I was told" in said or "as deep as it goes" in said:
            return Turn(Text("I was told."))
        return Turn(Call("inner__ask_agent", {"message": "Ask again"}))

    async with studio(tmp_path, script, server_rules={"allow": ["inner__*"]}) as server:
        servers = server.house.engine.services.servers
        headers = {"authorization": f"Bearer {server.token}"}
        address = f"{server.serving.address}/mcp"
        await servers.put(ServerEntry("inner", url=address, headers=headers, transport="http"))
        entry = await servers.switch_on((await servers.refresh()).by_name["inner"])
        await servers.connect(entry)
        async with client(server) as mine:
            result = await mine.call_tool("ask_agent", {"message": "Outer"})
        assert result.structured_content["answer"] == "I was told."  # type: ignore[index]
        asked = reply_requests(server.house.simulator)
        assert len([one for one in asked if TOO_DEEP in str(one.json)]) == 1
        assert len(asked) == 4  # the outer agent and the inner one, each twice


@asynccontextmanager
async def connection(server: RunningServer) -> AsyncIterator[httpx2.AsyncClient]:
    """A client in the era of the handshake that says nothing when it goes."""
    headers = {
        "authorization": f"Bearer {server.token}",
        "accept": "application/json, text/event-stream",
    }
    address = server.serving.address
    async with httpx2.AsyncClient(
        base_url=address, headers=headers, trust_env=False, timeout=HANG
    ) as http:
        begun = await http.post("/mcp", json=request("initialize", HELLO))
        http.headers["mcp-session-id"] = begun.headers["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post("/mcp", json=ready)).status_code == 202
        yield http


def request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def test_m25_the_call_of_a_client_that_was_killed_is_stopped(tmp_path: Path) -> None:
    """In the era of the handshake too, whose SDK would work on."""
    command = f'{sys.executable} -c "{HOLD}"'
    script = [Turn(Call("run", {"command": command, "time_limit": 3600})), Turn(Text("."))]
    async with (
        studio(tmp_path, script, server_rules={"allow": ["run"]}) as server,
        connection(server) as http,
    ):
        child = server.house.folder / "child"
        call = request("tools/call", {"name": "ask_agent", "arguments": {"message": "Go"}})
        async with http.stream("POST", "/mcp", json=call) as answer:
            assert answer.status_code == 200
            await until(lambda: child.exists() and is_locked(child))
        await until(lambda: not is_locked(child))
        assert len(reply_requests(server.house.simulator)) == 1  # it did not end by itself


async def test_m25_clients_that_stay_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-25: in the era of the handshake; those that are there stay."""
    monkeypatch.setattr("studio.server.mcp.http.MOST_CLIENTS", 1)
    async with studio(tmp_path, []) as server, connection(server) as http:
        accept = {"accept": "application/json, text/event-stream"}
        hello = request("initialize", HELLO)
        refused = await server.client.post("/mcp", json=hello, headers=accept)
        assert refused.status_code == 503
        ping = await http.post("/mcp", json=request("ping", {}))
        assert ping.status_code == 200


async def test_m25_calls_at_once_are_bounded_and_an_unanswered_form_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.server.mcp.calls.MOST_CALLS", 1)
    command = f'{sys.executable} -c "{HOLD}"'
    script = [TOUCH, Turn(Call("run", {"command": command})), Turn(Text("."))]
    shown = asyncio.Event()

    async def nobody(context: Any, params: Any) -> types.ElicitResult:
        shown.set()
        return await asyncio.get_running_loop().create_future()

    async with (
        studio(tmp_path, script, server_rules={"allow": [f"run({sys.executable} *)"]}) as server,
        client(server, elicitation_callback=nobody) as away,
        client(server) as mine,
    ):
        child = server.house.folder / "child"
        first = asyncio.ensure_future(away.call_tool("ask_agent", {"message": "Touch"}))
        await asyncio.wait_for(shown.wait(), HANG)
        second = asyncio.ensure_future(mine.call_tool("ask_agent", {"message": "Hold"}))
        await until(lambda: child.exists() and is_locked(child))
        with pytest.raises(Exception, match="1 calls are worked on already"):
            await mine.call_tool("list_agents", {})
        first.cancel()
        second.cancel()
        await asyncio.wait([first, second])
        await until(lambda: not is_locked(child))
        assert not (server.house.folder / "ran").exists()


def test_m25_what_clients_send_is_not_written_into_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """M-25: the official SDK's loggers name what they drop, and whom it came from."""
    loggers = [logging.getLogger(name) for name in ("mcp.server.runner", "mcp.shared", "client")]
    for name in ("mcp", "client"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    import_sdk()
    for logger in loggers:
        logger.error("dropped a secret")
    assert not caplog.records


async def test_m25_the_sdk_is_imported_again_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ImportError("No memory for it")

    async with studio(tmp_path, []) as server:
        with monkeypatch.context() as patch:
            patch.setattr("studio.server.mcp.http.import_sdk", broken)
            assert (await server.client.post("/mcp", json={})).status_code == 500
        async with client(server) as mine:
            assert len((await mine.list_tools()).tools) == 3
