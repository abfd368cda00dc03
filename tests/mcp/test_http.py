"""Servers at an address: both transports, limits, and what refuses (M-1, M-5)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.domain.errors import ToolFailed
from studio.mcp.entries import ServerEntry, Transport
from studio.mcp.faults import ServerFailed
from studio.mcp.supervised import ServerTimes
from support.hostile_server import HostileServer
from support.mcp_servers import approved, running_servers, served
from support.waiting import HANG, until


def at(url: str, transport: Transport = "http", **headers: str) -> ServerEntry:
    return approved(ServerEntry("web", url=url, transport=transport, headers=headers))


@pytest.mark.parametrize("kind", ["streamable-http", "sse"])
async def test_a_server_at_an_address_is_called(tmp_path: Path, kind: str) -> None:
    """M-1: the older transport is found by itself. M-7: a cancelled call is told."""
    async with (
        served(kind) as address,
        running_servers(tmp_path, at(address)) as servers,
    ):
        assert (await servers.call("web", "add", {"a": 2, "b": 3})).text == "5"
        lists = await servers.list("web")
        assert "add" in [tool.name for tool in lists.tools]
        call = asyncio.ensure_future(servers.call("web", "slow", {"folder": str(tmp_path)}))
        await until((tmp_path / "begun").exists)
        assert (await servers.call("web", "say", {"text": "meanwhile"})).text == "meanwhile"
        call.cancel()
        await asyncio.wait([call])
        await until((tmp_path / "cancelled").exists)
        if kind == "sse":
            return
        with pytest.raises(ToolFailed, match=r"over 8 MB"):
            await servers.call("web", "large", {"megabytes": 9})
        assert len((await servers.call("web", "large", {"megabytes": 3})).text) == 3_000_000


async def test_a_refusal_of_the_question_for_the_era_leads_to_the_handshake(tmp_path: Path) -> None:
    """M-1: servers refuse it by the code that the SDK has for a connection that ended."""

    def answer(number: int, body: Any) -> tuple[int, str, bytes]:
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
        }
        found: dict[str, Any] = {"jsonrpc": "2.0", "id": body.get("id")}
        if body.get("method") in results:
            found["result"] = results[body["method"]]
            return 200, "application/json", json.dumps(found).encode()
        if body.get("method") != "server/discover":
            return 202, "application/json", b""
        error = {"code": -32000, "message": "Bad Request: Unsupported protocol version"}
        found |= {"id": None, "error": error}
        return 400, "application/json", json.dumps(found).encode()

    async with HostileServer(answer) as web:
        entry = at(f"http://127.0.0.1:{web.port}/mcp")
        async with running_servers(tmp_path, entry) as servers:
            lists = await servers.start("web")
            assert [tool.name for tool in lists.tools] == ["add"] and lists.server == "old"


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, "sign_in", "wants you to sign in"),
        (403, "forbidden", "does not allow this"),
        (404, "address", "has nothing at this address"),
        (503, "network", r"cannot answer \(status 503\)"),
    ],
)
async def test_a_refusal_says_why(tmp_path: Path, status: int, kind: str, words: str) -> None:
    page = (status, "text/html", b"<html>the key is hunter2-hunter2</html>")
    async with HostileServer(lambda number, body: page) as web:
        url = f"http://127.0.0.1:{web.port}/mcp?token=tok-4711-abcdef"
        async with running_servers(tmp_path, at(url)) as servers:
            with pytest.raises(ServerFailed, match=words) as told:
                await servers.start("web")
            assert told.value.kind == kind
            state = servers.state("web").kind
            assert state == ("sign_in" if status == 401 else "failed")
            assert "hunter2" not in str(told.value) and "4711" not in str(told.value)


async def test_nobody_there_is_said(tmp_path: Path) -> None:
    async with running_servers(tmp_path, at("http://127.0.0.1:9/mcp")) as servers:
        with pytest.raises(ServerFailed, match=r"127\.0\.0\.1:9 cannot be reached") as told:
            await servers.start("web")
        assert told.value.kind == "network"
        assert str(told.value).endswith("cannot be reached: nothing answers there.")


async def test_a_body_has_a_limit_and_headers_stay(tmp_path: Path) -> None:
    """M-5: also of plain JSON. No header follows a redirect to another origin."""
    heard: list[str] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.close()

    other = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
    place = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/mcp"

    def answer(number: int, body: Any) -> Any:
        method, name = body.get("method"), (body.get("params") or {}).get("name")
        if method == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            result: Any = {**about, "serverInfo": {"name": "web", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": []}
        elif name == "big":
            result = {"content": [{"type": "text", "text": "x" * 9_000_000}]}
        elif name == "away":

            async def redirect(writer: asyncio.StreamWriter) -> None:
                writer.write(
                    f"HTTP/1.1 307 X\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n".encode()
                )
                await writer.drain()

            return redirect
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": "fine"}]}
        elif "id" not in body:
            return (202, "text/plain", b"")
        else:
            error = {"code": -32601, "message": "No such method."}
            wrong = {"jsonrpc": "2.0", "id": body["id"], "error": error}
            return (200, "application/json", json.dumps(wrong).encode())
        good = {"jsonrpc": "2.0", "id": body["id"], "result": result}
        return (200, "application/json", json.dumps(good).encode())

    async with (
        other,
        HostileServer(answer) as web,
        running_servers(
            tmp_path, at(f"http://127.0.0.1:{web.port}/mcp", Authorization="Bearer secret-1234")
        ) as servers,
    ):
        with pytest.raises(ToolFailed, match="over 8 MB"):
            await servers.call("web", "big", {})
        assert (await servers.call("web", "fine", {})).text == "fine"
        with pytest.raises(ToolFailed):
            await servers.call("web", "away", {})
        assert (await servers.call("web", "fine", {})).text == "fine"
        assert not heard


async def test_a_server_that_was_started_anew_is_connected_again(tmp_path: Path) -> None:
    """M-6: a call that it refused unread is sent again, once."""
    calls: list[str] = []

    def answer(number: int, body: Any) -> Any:
        method = body.get("method")
        if "id" not in body or method is None:
            return (405 if method is None else 202, "text/plain", b"")
        calls.append(method)
        good: dict[str, Any] = {"jsonrpc": "2.0", "id": body["id"]}
        if method == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {}}
            good["result"] = {**about, "serverInfo": {"name": "web", "version": "1"}}
            kind = f"application/json\r\nmcp-session-id: session-{number}"
            return (200, kind, json.dumps(good).encode())
        if method == "tools/call" and calls.count("tools/call") == 2:
            return (404, "text/plain", b"")
        if method != "tools/call":
            return (400, "text/plain", b"")
        good["result"] = {"content": [{"type": "text", "text": "fine"}]}
        return (200, "application/json", json.dumps(good).encode())

    async with (
        HostileServer(answer) as web,
        running_servers(
            tmp_path, at(f"http://127.0.0.1:{web.port}/mcp"), times=ServerTimes(again=0.01)
        ) as servers,
    ):
        for _ in range(2):
            assert (await servers.call("web", "look", {})).text == "fine"
        assert calls.count("tools/call") == 3 and calls.count("initialize") == 2


async def test_lists_that_never_come_hold_no_call(tmp_path: Path) -> None:
    """M-7: lists that hold no more are fetched before a call, in the time of a call."""
    listed: list[int] = []

    async def never(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    def answer(number: int, body: Any) -> Any:
        method = body.get("method")
        if "id" not in body or method is None:
            return (405 if method is None else 202, "text/plain", b"")
        if method == "server/discover":
            result: Any = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"prompts": {}, "tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }
        elif method == "tools/list":
            listed.append(number)
            if len(listed) > 1:
                return never
            result = {"tools": [], "ttlMs": 1}
        elif method == "prompts/list":
            result = {"prompts": [{"name": f"p{one}"} for one in range(2_100)]}
        else:
            return (400, "text/plain", b"")
        result = {"ttlMs": 0, "cacheScope": "private", **result, "resultType": "complete"}
        good = {"jsonrpc": "2.0", "id": body["id"], "result": result}
        return (200, "application/json", json.dumps(good).encode())

    async with HostileServer(answer) as web:
        entry = replace(at(f"http://127.0.0.1:{web.port}/mcp"), seconds=0.5)
        async with running_servers(tmp_path, entry) as servers:
            lists = await servers.start("web")
            assert len(lists.prompts) == 2_000
            assert lists.problems == ("prompts: 100 beyond 2000 are left out",)
            with pytest.raises(ServerFailed, match=r"did not answer within 0\.5 seconds"):
                await asyncio.wait_for(servers.list("web"), HANG)
            assert len(listed) == 2


async def test_the_older_transport_has_a_limit(tmp_path: Path) -> None:
    """M-5: also of what answers a message and says that it is events."""
    sent: list[int] = []
    head = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n"

    async def events(writer: asyncio.StreamWriter) -> None:
        writer.write(head + b"event: endpoint\ndata: /messages\n\n")
        await writer.drain()
        await asyncio.Event().wait()

    async def flood(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for number in range(60):
            writer.write(b": " + b"x" * 1_000_000 + b"\n\n")
            await writer.drain()
            sent.append(number)

    def answer(number: int, body: Any) -> Any:
        return flood if body else events

    async with HostileServer(answer) as web:
        entry = at(f"http://127.0.0.1:{web.port}/sse", "sse")
        async with running_servers(tmp_path, entry, times=ServerTimes(start=3)) as servers:
            with pytest.raises(ServerFailed):
                await servers.start("web")
            await until(lambda: web.hung_up)
        assert len(sent) < 40
