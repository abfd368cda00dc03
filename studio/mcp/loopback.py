"""Loopback: takes what a browser brings back from a sign-in, on this computer alone (M-22)."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
PATH = "/callback"
_LONGEST = 16_384
"""Bytes of a request's head."""
_SECONDS = 10.0
"""Seconds that a browser has for its request."""
_DONE = "Agent Studio has the answer. You can close this page."
_OTHER = "This page belongs to no sign-in that is under way."


class Loopback:
    """A small server for one sign-in; an asynchronous context manager.

    ``open`` it first. ``state`` is what the browser must bring back: anything else is refused, and
    waited on.
    """

    def __init__(self, state: str) -> None:
        self.redirect = ""
        """The address that the browser comes back to."""
        self._state = state
        self._answer: asyncio.Future[Mapping[str, str]]
        self._server: asyncio.Server

    async def open(self, port: int) -> None:
        """Listen; 0 is any port that is free. Raises OSError where ``port`` is taken."""
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, HOST, port, limit=_LONGEST)
        port = self._server.sockets[0].getsockname()[1]
        self.redirect = f"http://{HOST}:{port}{PATH}"

    async def __aenter__(self) -> Loopback:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()

    async def answer(self) -> Mapping[str, str]:
        """What the browser brought back: a code, or why there is none."""
        return await asyncio.shield(self._answer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
            try:
                async with asyncio.timeout(_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    status, text = self._heard(head.decode("latin-1").splitlines()[0])
                    writer.write(_page(status, text))
                    await writer.drain()
            except asyncio.LimitOverrunError:
                writer.write(_page(400, _OTHER))
            finally:
                writer.close()

    def _heard(self, line: str) -> tuple[int, str]:
        method, _, rest = line.partition(" ")
        parts = urlsplit(rest.rpartition(" ")[0])
        if method != "GET" or parts.path != PATH:
            return 404, _OTHER
        values = {
            name: found[0]
            for name, found in parse_qs(parts.query, max_num_fields=20).items()
            if len(found) == 1
        }
        state = values.get("state", "")
        if self._answer.done() or not hmac.compare_digest(state.encode(), self._state.encode()):
            return 400, _OTHER
        self._answer.set_result(values)
        return 200, _DONE


def _page(status: int, text: str) -> bytes:
    body = (
        '<!doctype html><meta charset="utf-8"><title>Agent Studio</title>'
        f'<p style="font: 16px system-ui; margin: 3em">{text}</p>'
    ).encode()
    head = (
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'Refused'}\r\n"
        "content-type: text/html; charset=utf-8\r\ncache-control: no-store\r\n"
        "referrer-policy: no-referrer\r\nconnection: close\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
