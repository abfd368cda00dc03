"""The simulator without a socket: a transport for ``httpx2``, for tests within one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from .http import HttpRequest, HttpResponse, pieces

if TYPE_CHECKING:
    import httpx2

    from .http import Exchange
    from .script import Pace
    from .simulator import Simulator


def transport(simulator: Simulator) -> httpx2.AsyncBaseTransport:
    """Give it to ``httpx2.AsyncClient(transport=...)``; any host reaches the simulator.

    It need not be started. Stalls last until the request is given up or its
    time is over; bytes are cut as on a socket, and a broken connection is the
    error that a socket's would be.
    """
    import httpx2

    @dataclass(eq=False)
    class Body(httpx2.AsyncByteStream):
        request: httpx2.Request
        exchange: Exchange
        answer: HttpResponse
        pace: Pace | None

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in pieces(self.answer, simulator.chunking, simulator.chance, self.pace):
                await piece.due(self.exchange, simulator.sleep)
                yield piece.data
            match self.answer.ending:
                case "stall":
                    await never(self.request, self.exchange)
                case "cut":
                    raise httpx2.RemoteProtocolError(
                        "peer closed connection without sending complete message body "
                        "(incomplete chunked read)"
                    )
                case "reset":
                    raise httpx2.ReadError("")
                case _:
                    self.exchange.done.set()

        async def aclose(self) -> None:
            self.exchange.done.set()
            self.exchange.gone.set()

    async def never(request: httpx2.Request, exchange: Exchange) -> None:
        exchange.stalled.set()
        seconds = request.extensions.get("timeout", {}).get("read")
        try:
            await asyncio.wait_for(asyncio.Event().wait(), seconds)
        except TimeoutError:
            raise httpx2.ReadTimeout("nothing came", request=request) from None

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            path, _, query = request.url.raw_path.decode("ascii").partition("?")
            exchange, answer, pace = simulator.answer(
                HttpRequest(
                    request.method,
                    unquote(path),
                    dict(parse_qsl(query)),
                    {name.lower(): value for name, value in request.headers.items()},
                    await request.aread(),
                )
            )
            try:
                if answer.ending == "silence":
                    await never(request, exchange)
                if answer.pause:
                    exchange.stalled.set()
                    await simulator.sleep(answer.pause)
                if pace and pace.ttft:
                    await simulator.sleep(pace.ttft)
            except (asyncio.CancelledError, httpx2.ReadTimeout):
                exchange.gone.set()
                raise
            headers = {"content-type": answer.content_type, **answer.headers}
            return httpx2.Response(
                answer.status, headers=headers, stream=Body(request, exchange, answer, pace)
            )

    return Transport()
