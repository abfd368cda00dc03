"""HTTP/1.1 on loopback: reads requests and writes responses over asyncio streams.

An ``Exchange`` records one request and its answer.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .json_read import Body, obj
from .request_view import SurfaceName

HEAD_LIMIT = 1 << 20


class BadRequest(Exception):
    """What came is not HTTP that this server reads."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; header names are lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Body:
        """The body as a JSON object; ValueError if it is none."""
        value: Any = json.loads(self.body or b"{}")
        if not isinstance(value, dict):
            raise ValueError("the body is not a JSON object")
        return obj(value)


@dataclass(slots=True)
class Frame:
    """One event of a body: its bytes, and how many tokens it stands for.

    ``pause`` is how long nothing comes before it, in seconds.
    """

    data: bytes
    tokens: float = 0.0
    pause: float = 0.0


@dataclass(slots=True)
class HttpResponse:
    """A response: a body in frames, and what happens where it ends."""

    frames: list[Frame]
    content_type: str = "application/json"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    ending: str = "clean"
    """``clean``, ``cut``, ``reset``, ``stall``, or ``silence`` (a stall before the headers)."""
    pause: float = 0.0
    """How long nothing comes before the headers, in seconds."""
    rate: float = 0.0
    """Bytes a second; 0 is no limit."""


async def read_request(reader: asyncio.StreamReader, first: bytes) -> HttpRequest:
    """The next request, whose first byte was read already. BadRequest, or EOF errors."""
    try:
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the head is too long") from error
    line, *rest = head.split("\r\n")
    try:
        method, target, _ = line.split(" ")
    except ValueError as error:
        raise BadRequest(f"not a request line: {line[:80]!r}") from error
    headers: dict[str, str] = {}
    for row in rest:
        name, _, value = row.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = headers.get("content-length") or "0"
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    elif length.isdecimal():
        body = await reader.readexactly(int(length))
    else:
        raise BadRequest(f"not a length: {length[:80]!r}")
    url = urlsplit(target)
    return HttpRequest(method, unquote(url.path), dict(parse_qsl(url.query)), headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        row = await reader.readuntil(b"\r\n")
        try:
            size = int(row.split(b";")[0], 16)
        except ValueError:
            raise BadRequest(f"not a chunk's size: {row[:80]!r}") from None
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
        if size == 0:
            return body


def head(answer: HttpResponse) -> bytes:
    """Status line and headers; the body follows in chunks."""
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Overloaded"
    rows = [
        f"HTTP/1.1 {answer.status} {phrase}",
        f"content-type: {answer.content_type}",
        "transfer-encoding: chunked",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
    ]
    return ("\r\n".join(rows) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One piece of a body in HTTP's chunked form; the empty piece ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection so that the peer sees a reset, not an end."""
    sock: socket.socket | None = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that broke a rule, and the provider's words about it.

    ``rule`` is a kind of rules, ``name`` the one rule of its surface's table.
    """

    rule: str
    message: str
    surface: SurfaceName
    path: str
    name: str = ""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer. Headers and query are kept without keys.

    ``sent`` counts the bytes of the body written so far. The events tell: the
    answer reached a ``stall`` fault; it was sent to its end or broken off;
    the client closed the connection.
    """

    number: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    surface: SurfaceName
    json: Body = field(default_factory=dict[str, object])
    violation: Violation | None = None
    status: int = 0
    sent: int = 0
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
