"""HTTP/1.1 as far as a loopback server needs it, over asyncio streams."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .wire import Body, obj

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
