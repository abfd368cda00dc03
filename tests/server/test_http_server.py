"""The server's sockets are closed, however its start and its serving end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from studio.server.http_server import HttpServer, WritesTogether
from studio.simulator import Text, Turn
from support.engine_home import engine_home
from support.left_open import left_open
from support.running_server import PROVIDER


def served(home: Path, work: Callable[[HttpServer], Awaitable[Any]]) -> list[str]:
    """Do this with a server in an event loop of its own; returns the sockets it left open."""

    async def run() -> None:
        async with engine_home(home, PROVIDER, lambda view: Turn(Text("Hi"))) as opened:
            await work(HttpServer(opened.engine, host="127.0.0.1", port=0, folder=opened.folder))

    return left_open(lambda: asyncio.run(run()))


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


def test_a_server_that_nobody_stops_closes_its_socket(tmp_path: Path) -> None:
    """The end of the event loop cancels it."""
    assert not served(tmp_path, HttpServer.start)


def test_a_start_that_is_cancelled_while_the_host_is_looked_up_opens_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()
    looked_up = socket.getaddrinfo

    def slow(*args: Any, **more: Any) -> Any:
        if more.get("flags") == socket.AI_PASSIVE or socket.AI_PASSIVE in args:
            asked.set()
            answer.wait()
        return looked_up(*args, **more)

    async def work(server: HttpServer) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", slow)
        start = asyncio.create_task(server.start())
        await asyncio.to_thread(asked.wait)
        await cancelled(start)
        answer.set()

    assert not served(tmp_path, work)


@pytest.mark.parametrize("rounds", range(4))
def test_a_start_that_is_cancelled_closes_its_socket(tmp_path: Path, rounds: int) -> None:
    async def work(server: HttpServer) -> None:
        start = asyncio.create_task(server.start())
        while not server.address:  # noqa: ASYNC110 (each round of the loop counts)
            await asyncio.sleep(0)
        for _ in range(rounds):
            await asyncio.sleep(0)
        if start.done():
            await server.stop()
        await cancelled(start)
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", int(server.address.rpartition(":")[2]))
        await server.stop()  # nothing is left to stop

    assert not served(tmp_path, work)


def test_a_server_that_cannot_serve_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no room")

    async def work(server: HttpServer) -> None:
        with pytest.raises(RuntimeError, match="no room"):
            await server.start()

    monkeypatch.setattr(uvicorn.Server, "startup", fail)
    assert not served(tmp_path, work)


class Wire(asyncio.Transport):
    """Keeps what is sent, packet by packet."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self.closed
        self.packets.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return 7

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def test_a_head_and_its_body_are_one_packet_and_none_is_lost() -> None:
    """S-1: the first byte waits for nothing but the rest of the same turn of the loop."""
    wire = Wire()
    together = WritesTogether(wire, asyncio.get_running_loop())
    for piece in (b"head", b"", b"body", b"end"):
        together.write(piece)
    assert wire.packets == [] and together.get_write_buffer_size() == 18
    await asyncio.sleep(0)
    assert wire.packets == [b"headbodyend"] and together.get_write_buffer_size() == 7
    together.write(b"more")
    together.close()
    assert wire.packets[1:] == [b"more"] and together.is_closing()
    together.write(b"too late")
    await asyncio.sleep(0)
    assert len(wire.packets) == 2
