"""A client connection: reads requests and writes response bodies in pieces."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from . import http
from .chunking import Chunking, pieces
from .http import Exchange, HttpRequest, HttpResponse
from .script import Pace

Sleep = Callable[[float], Awaitable[None]]


class Connection:
    """Serves one client until either side closes."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        chunking: Chunking,
        chance: random.Random,
        sleep: Sleep,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._chunking = chunking
        self._chance = chance
        self._sleep = sleep
        self._exchanges: list[Exchange] = []

    async def serve(
        self, answer: Callable[[HttpRequest], tuple[Exchange, HttpResponse, Pace | None]]
    ) -> None:
        """Answer requests one after the other."""
        first = asyncio.ensure_future(self._first())
        try:
            while byte := await first:
                request = await http.read_request(self._reader, byte)
                # The read that waits for the next request also notices a hang-up.
                first = asyncio.ensure_future(self._first())
                exchange, reply, pace = answer(request)
                self._exchanges.append(exchange)
                sending = asyncio.ensure_future(self._send(reply, exchange, pace))
                await self._until_sent(sending, first)
                exchange.done.set()
                if not sending.cancelled() and sending.exception() is not None:
                    break
                if sending.cancelled() or reply.ending in ("cut", "reset"):
                    break
        except (http.BadRequest, ConnectionError, EOFError):
            pass  # nobody is left to tell
        finally:
            first.cancel()
            self._writer.close()
            await asyncio.wait({first})
            for exchange in self._exchanges:
                exchange.gone.set()

    async def _first(self) -> bytes:
        try:
            return await self._reader.read(1)
        except ConnectionError:
            return b""

    async def _until_sent(
        self, sending: asyncio.Future[None], first: asyncio.Future[bytes]
    ) -> None:
        try:
            await asyncio.wait({sending, first}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and not first.result():
                sending.cancel()
            await asyncio.wait({sending})
        except asyncio.CancelledError:
            sending.cancel()
            await asyncio.wait({sending})
            raise

    async def _send(self, answer: HttpResponse, exchange: Exchange, pace: Pace | None) -> None:
        if answer.ending == "silence":
            await self._stall(exchange)
        if pace and pace.ttft:
            await self._sleep(pace.ttft)
        if answer.pause:
            exchange.stalled.set()
            await self._sleep(answer.pause)
        self._writer.write(http.head(answer))
        for piece in pieces(answer, self._chunking, self._chance, pace):
            if piece.stalled:
                exchange.stalled.set()
            if piece.delay:
                await self._sleep(piece.delay)
            self._writer.write(http.chunk(piece.data))
            exchange.sent += len(piece.data)
            await self._writer.drain()
            # Let a client in this process read, so that the pieces stay apart.
            await asyncio.sleep(0)
        match answer.ending:
            case "stall":
                await self._stall(exchange)
            case "reset":
                http.reset(self._writer)
            case "cut":
                pass
            case _:
                self._writer.write(http.chunk(b""))
                await self._writer.drain()

    async def _stall(self, exchange: Exchange) -> None:
        await self._writer.drain()
        exchange.stalled.set()
        await asyncio.Event().wait()  # ends when the client hangs up
