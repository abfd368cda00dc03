"""Connection: speaks JSON-RPC with a process, by the framing of language servers.

Written here rather than taken from a library: what is used of the protocol is ten messages.
``lsprotocol`` and what it needs take 3 MB for types that nobody reads here, and ``pygls`` on top
starts its processes itself, outside of the sandbox and of what ends them.
"""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import cast

from studio.domain.jsonvalue import Json, JsonObject
from studio.processes.command_streams import BegunCommand

LARGEST = 32_000_000
"""Bytes of one message."""
_HEADERS = 4_000
"""Bytes before a message."""
_NO_SUCH_METHOD = -32601


class ServerGone(Exception):
    """The process has ended, or what it says is no protocol."""


class Framing:
    """Takes bytes in pieces, and gives the messages in them."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> Iterator[JsonObject]:
        """Raises ValueError for what is no message."""
        self._held += data
        while True:
            if self._length is None:
                head, found, rest = self._held.partition(b"\r\n\r\n")
                if not found:
                    if len(self._held) > _HEADERS:
                        raise ValueError("headers without an end")
                    return
                self._length, self._held = _length(bytes(head)), rest
            if len(self._held) < self._length:
                return
            body, self._held = self._held[: self._length], self._held[self._length :]
            self._length = None
            message = json.loads(body)
            if not isinstance(message, dict):
                raise ValueError("a message is an object")
            yield cast("JsonObject", message)


def framed(message: JsonObject) -> bytes:
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Connection:
    """Requests and notices to a process, and what comes back; belongs to one event loop.

    ``heard`` is called with each notice of the process and, without a name, with its end;
    ``asked`` answers its requests, and raises LookupError for what it does not know. Both are
    called on the event loop.
    """

    def __init__(
        self,
        command: BegunCommand,
        heard: Callable[[str, JsonObject], object],
        asked: Callable[[str, JsonObject], Json],
    ) -> None:
        self._command = command
        self._heard, self._asked = heard, asked
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._number = 0
        self._outgoing = queue.SimpleQueue[bytes | None]()
        self._ending: asyncio.Future[None] | None = None
        self.open = True
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def tell(self, method: str, params: JsonObject) -> None:
        """Send a notice. Never waits."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: JsonObject | None) -> asyncio.Future[Json]:
        """Send a request; its answer. Fails with ServerGone, or LookupError if it is refused."""
        answer: asyncio.Future[Json] = self._loop.create_future()
        answer.add_done_callback(_seen)
        if not self.open:
            answer.set_exception(ServerGone())
            return answer
        self._number += 1
        self._waiting[self._number] = answer
        request: JsonObject = {"id": self._number, "method": method}
        self._send(request if params is None else {**request, "params": params})
        return answer

    async def end(self) -> None:
        """End the process with all that it started; returns when that is done."""
        self.open = False
        if self._ending is None:
            self._outgoing.put(None)
            self._ending = asyncio.ensure_future(asyncio.to_thread(self._command.end))
        await asyncio.shield(self._ending)
        self._command.streams.close_input()
        self._fail()

    def _send(self, message: JsonObject) -> None:
        if self.open:
            self._outgoing.put(framed({"jsonrpc": "2.0", **message}))

    def _write(self) -> None:
        """In a thread: a process that does not read holds up nobody else."""
        while (data := self._outgoing.get()) is not None:
            try:
                self._command.streams.write(data)
            except OSError:
                self._on_loop(self._lost)
                return

    def _read(self) -> None:
        framing = Framing()

        def take(data: bytes) -> None:
            for message in framing.feed(data):
                self._on_loop(self._take, message)

        with suppress(ValueError, RecursionError):
            self._command.streams.read(take)
        self._on_loop(self._lost)

    def _on_loop(self, work: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(work, *arguments)

    def _take(self, message: JsonObject) -> None:
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            answer = self._waiting.pop(number, None) if isinstance(number, int) else None
            if answer is not None and not answer.done():
                if "error" in message:
                    answer.set_exception(LookupError(str(message["error"])))
                else:
                    answer.set_result(message.get("result"))
            return
        found = message.get("params")
        params = cast("JsonObject", found) if isinstance(found, dict) else {}
        if number is None:
            self._heard(method, params)
            return
        try:
            self._send({"id": number, "result": self._asked(method, params)})
        except LookupError:
            error: JsonObject = {"code": _NO_SUCH_METHOD, "message": f"no {method} here"}
            self._send({"id": number, "error": error})

    def _lost(self) -> None:
        """The process has ended, or hears nothing, or makes no sense: it is of no use any more.

        Who hears of it ends it.
        """
        if self.open:
            self.open = False
            self._fail()
            self._heard("", {})

    def _fail(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(ServerGone())


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
            if 0 <= length <= LARGEST:
                return length
    raise ValueError("a message without its length")


def _seen(answer: asyncio.Future[Json]) -> None:
    """Nobody may wait for it any more: then its error is not reported."""
    if not answer.cancelled():
        answer.exception()
