"""An answer on its way to the client, for as long as the client is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.types import Receive, Send

from studio.domain.jsonvalue import JsonObject

from .faults import ApiError
from .running import ResponseStream
from .wire import Outcome, ResponseWriter

PAUSE = 15.0
"""Seconds without a word after which something is sent, so that proxies keep the stream open."""

_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)


class HttpResponse:
    """Sends one answer, streamed or whole, and stops when the client goes away.

    ``speak`` makes the dialect's words once the answer has begun, ``ping`` is
    what fills a pause.
    """

    def __init__(self, run: ResponseStream, speak: Callable[[], ResponseWriter], *, stream: bool, ping: bytes) -> None:
        self._run = run
        self._speak = speak
        self._stream = stream
        self._ping = ping

    async def __call__(self, receive: Receive, send: Send) -> ApiError | None:
        """Returns the error that kept the answer from beginning; then nothing was sent."""
        with self._run.read():
            work = self._streamed(send) if self._stream else self._whole(send)
            return await _while_there(receive, work)

    async def _streamed(self, send: Send) -> ApiError | None:
        """The status goes out with the first part, or after a pause."""
        taken, parts = 0, await self._run.after(0, PAUSE)
        if parts and isinstance(parts[0], Outcome) and self._run.fault is not None:
            return self._run.fault
        await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM]})
        spoken: ResponseWriter | None = None
        while True:
            if parts and spoken is None:
                spoken = self._speak()
            data = b"".join(spoken.frames(part) for part in parts) if spoken else b""
            taken += len(parts)
            ended = bool(parts) and isinstance(parts[-1], Outcome)
            if data or ended or not parts:
                body = data or (b"" if ended else self._ping)
                await send({"type": "http.response.body", "body": body, "more_body": not ended})
            if ended:
                return None
            parts = await self._run.after(taken, PAUSE)

    async def _whole(self, send: Send) -> ApiError | None:
        taken = 0
        spoken: ResponseWriter | None = None
        while True:
            parts = await self._run.after(taken)
            if isinstance(parts[-1], Outcome) and self._run.fault is not None:
                return self._run.fault
            spoken = spoken or self._speak()
            for part in parts:
                spoken.frames(part)
            taken += len(parts)
            if isinstance(parts[-1], Outcome):
                await _send(send, spoken.body())
                return None


async def _send(send: Send, body: JsonObject) -> None:
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": data})


async def _while_there(receive: Receive, work: Coroutine[Any, Any, ApiError | None]) -> ApiError | None:
    """Do the work until it is done or the client has gone; then nobody is told anything."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_leaves(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait({working, leaving})
    return None if working.cancelled() else working.result()


async def _leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
