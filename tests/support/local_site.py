"""A web server on this computer that answers as a test says, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

Handler = Callable[["SiteRequest", asyncio.StreamWriter], Awaitable[None]]


def free_port() -> int:
    """A port that a program may listen on in a moment.

    The system gives none of these to a connection that is made meanwhile.
    """
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


@dataclass
class SiteRequest:
    """One request, as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    """Answers by path; what nobody set is 404."""

    port: int = 0
    asked: list[SiteRequest] = field(default_factory=list)
    pages: dict[str, Handler] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def page(
        self,
        path: str,
        body: bytes | str,
        kind: str = "text/html; charset=utf-8",
        status: int = 200,
        **headers: str,
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = answer(data, kind, status, **headers)

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.pages[path] = answer(b"", "text/html", status, location=to)


def answer(body: bytes, kind: str, status: int = 200, **headers: str) -> Handler:
    async def write(asked: SiteRequest, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
        lines += [f"Content-Type: {kind}"] if kind else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()

    return write


@contextlib.asynccontextmanager
async def site(ssl=None) -> AsyncIterator[Site]:
    made = Site()

    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            named = (line.partition(": ") for line in head[1:] if line)
            headers = {name.lower(): value for name, _, value in named}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            asked = SiteRequest(method, target, headers, body)
            made.asked.append(asked)
            handler = made.pages.get(target.partition("?")[0], answer(b"no", "text/plain", 404))
            await handler(asked, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ssl)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
