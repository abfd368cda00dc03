"""Clients that go away, that do not read, and a server that is stopped: turns end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from studio.simulator import Exchange, Text, Turn, stall
from support.running_server import PROVIDER, RunningServer, events, running_server
from support.waiting import FOREVER, HANG, until, within

WAITS = Turn(Text("Some words. " * 20), faults=[stall(at=3)])
"""Begins, and then says nothing more."""
MUCH = Turn(Text(f"{'word' * 100} " * 5_000))
"""2 MB of words, in however few events they go on: more than sockets hold."""
SILENT = Turn(Text("Hello."), faults=[stall(at="headers")])


async def first(server: RunningServer) -> Exchange:
    """The provider's side of the request, once the request is there."""
    await until(lambda: server.house.asked)
    return server.house.asked[0]


async def broken_off(exchange: Exchange) -> None:
    async with within():
        await exchange.gone.wait()


async def sessions_state(server: RunningServer) -> str:
    found = await server.house.engine.sessions.list()
    return found[0].state


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reset", [True, False])
async def test_a_client_that_goes_stops_the_turn(
    tmp_path: Path, path: str, stream: bool, reset: bool
) -> None:
    """At once, and the provider's connection is closed too."""
    async with running_server(tmp_path, lambda view: WAITS) as server:
        said = server.chat()["messages"]
        body = {"model": server.chat()["model"], "stream": stream, "max_tokens": 99}
        body |= {"input": "Go"} if "responses" in path else {"messages": said}
        reader, writer = await server.raw(body, path=path)
        exchange = await first(server)
        if stream:
            await reader.readuntil(b"Some")
        else:
            await exchange.stalled.wait()
        if reset:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.close()
        await broken_off(exchange)
        await until(lambda: not server.serving.answering)
        assert await sessions_state(server) == "cancelled"


async def test_a_client_that_goes_before_the_first_word_stops_the_turn(tmp_path: Path) -> None:
    async with running_server(tmp_path, lambda view: SILENT) as server:
        _, writer = await server.raw(server.chat(stream=True))
        exchange = await first(server)
        writer.close()
        await broken_off(exchange)


async def test_a_client_that_sends_on_is_still_seen_to_go(tmp_path: Path) -> None:
    """What it sends ahead, its next request, hides nothing."""
    async with running_server(tmp_path, lambda view: WAITS) as server:
        _, writer = await server.raw(server.chat())
        exchange = await first(server)
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
        await writer.drain()
        await exchange.stalled.wait()
        writer.close()
        await broken_off(exchange)


async def test_who_does_not_read_counts_as_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a byte for a while (30 s, shorter here), while more waits than sockets hold."""
    monkeypatch.setattr("studio.server.http_server.READ_SECONDS", 0.3)
    endless = Turn(*MUCH.parts, faults=[stall(at=4_900)])
    async with running_server(tmp_path, lambda view: endless) as server:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ("127.0.0.1", server.port))
        data = server.request(server.chat(stream=True))
        await loop.sock_sendall(sock, data)
        exchange = await first(server)
        async with within():
            await exchange.gone.wait()
        await until(lambda: not server.serving.answering)
        assert not server.serving.connected
        assert await sessions_state(server) == "cancelled"
        sock.close()


async def test_a_slow_reader_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it waits here at once, and takes longer than that; but something goes."""
    for patience in (0.3, 3.0, 30.0):  # between two reads a busy computer may take as long
        monkeypatch.setattr("studio.server.http_server.READ_SECONDS", patience)
        found, seconds = await _read_slowly(tmp_path / f"{patience}", patience * 0.03)
        if len(found) > WORDS:
            break
    assert found.count(b"word") == WORDS // 2
    assert seconds > 1.5 * patience


WORDS = 2 * 2 * 250 * 1_000


async def _read_slowly(home: Path, pause: float) -> tuple[bytearray, float]:
    """A long list of models, read in some 70 parts, and the seconds that it took."""
    home.mkdir()
    async with running_server(home, lambda view: MUCH) as server:
        names = [f"{n}{'word' * 250}" for n in range(1_000)]
        server.house.engine.settings.values.own_models = {PROVIDER: names}
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
        reader, writer = await asyncio.open_connection(sock=sock)
        _, rest = server.request(b"", Connection="close").split(b"\r\n", 1)
        writer.write(b"GET /v1/models HTTP/1.1\r\n" + rest)
        found = bytearray(await reader.readuntil(b"word"))
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(30_000):
                found += chunk
                await asyncio.sleep(pause)
        writer.close()
        return found, time.monotonic() - began


async def test_a_pause_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that proxies keep the stream; clients do not see it."""
    monkeypatch.setattr("studio.server.response_stream.PAUSE", 0.1)
    seen = asyncio.Event()
    slow = Turn(Text("Hello."), faults=[stall(at=1, seconds=FOREVER)])
    async with running_server(tmp_path, lambda view: slow, sleep=lambda _: seen.wait()) as server:

        async def streamed(path: str, body: dict[str, Any], ping: str) -> str:
            seen.clear()
            text = ""
            async with server.client.stream("POST", path, json=body) as answer:
                async for part in answer.aiter_text():
                    text += part
                    if ping in text:
                        seen.set()
            return text

        chat = await streamed("/v1/chat/completions", server.chat(stream=True), ": ping\n\n")
        assert (
            "".join(e["choices"][0]["delta"].get("content") or "" for e in events(chat)) == "Hello."
        )
        body: dict[str, Any] = {**server.chat(stream=True), "max_tokens": 9}
        messages = await streamed("/v1/messages", body, 'event: ping\ndata: {"type": "ping"}\n\n')
        assert messages.count("message_stop") >= 1


async def test_stopping_the_server_ends_answers_properly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is streamed ends with an error of its own, the rest with a 503."""
    monkeypatch.setattr("studio.server.http_server.STOP_SECONDS", HANG)
    async with running_server(tmp_path, lambda view: WAITS) as server:
        streamed, one = await server.raw(server.chat(stream=True))
        whole, two = await server.raw(server.chat("Another"))
        idle, three = await server.raw(b"{}", path="/v1/nothing")
        await idle.readuntil(b"\r\n\r\n")
        await streamed.readuntil(b"Some")
        await until(lambda: len(server.house.asked) == 2)
        await server.serving.stop()
        rest = (await streamed.read()).decode()
        assert '"error"' in rest and rest.endswith("0\r\n\r\n")
        answer = (await whole.read()).decode()
        assert answer.startswith("HTTP/1.1 503 ")
        for exchange in server.house.asked:
            await broken_off(exchange)
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", server.port)
        for writer in (one, two, three):
            writer.close()


async def test_a_client_that_neither_reads_nor_goes_does_not_hold_up_the_end(
    tmp_path: Path,
) -> None:
    async with running_server(tmp_path, lambda view: MUCH) as server:
        _, writer = await server.raw(server.chat(stream=True))
        await until(lambda: server.serving.answering)
        await server.serving.stop()
        writer.transport.abort()
