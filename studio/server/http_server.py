"""The HTTP server opens its sockets, starts, and stops within a bounded time.

It runs inside an event loop that it does not own: the command's, or that of a
program which embeds it. It handles no signals.

Uvicorn closes a connection that is idle between two requests, but it waits for ever for
the rest of a request and for a client that does not read. ``Connection`` adds time
limits for both.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from studio.agent.engine import Engine
from studio.domain.aio import settled
from studio.domain.errors import ConfigurationError
from studio.storage.config.server_token import ServerToken
from studio.storage.sessions.idempotency import IdempotencyStore

from .auth import AccessGuard
from .idempotency import IdempotentResponses
from .mcp.http import McpPath
from .responder import Responder
from .routes import Routes
from .stored_responses import StoredResponses

HEADER_SECONDS = 10.0
"""Seconds for a request's line and headers."""
READ_SECONDS = 30.0
"""Seconds within which a client has to read something of what waits for it."""
MAX_CONNECTIONS = 256
"""Connections at once."""
_READ_AHEAD_BYTES = 65_536
"""Bytes read beyond a request while it is answered, so that a client's leaving is seen."""


class Connection(H11Protocol):
    """One connection, aborted where a client is too slow."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        together = WritesTogether(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", together))
        if len(self.connections) > MAX_CONNECTIONS:
            self.transport.abort()
            return
        self.transport.set_write_buffer_limits(high=0)  # whatever waits is noticed
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._busy:
            self._late = _cancelled(self._late)
            ahead = not self.cycle.more_body and self.flow.read_paused
            if ahead and len(self.conn.trailing_data[0]) < _READ_AHEAD_BYTES:
                self.flow.resume_reading()
        elif self._late is None:
            self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stuck = _cancelled(self._stuck)

    def connection_lost(self, exc: Exception | None) -> None:
        self._late, self._stuck = _cancelled(self._late), _cancelled(self._stuck)
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        """Whether a request has come whose response is not complete."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _expect(self) -> None:
        self._late = self.loop.call_later(HEADER_SECONDS, self._too_late)

    def _too_late(self) -> None:
        self._late = None
        if not self._busy:
            self.transport.abort()

    def _watch(self, waiting: int) -> None:
        """Abort the connection if the client has read nothing after a while."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left >= waiting:
                self.transport.abort()
            else:
                self._watch(left)

        self._stuck = _cancelled(self._stuck)
        self._stuck = self.loop.call_later(READ_SECONDS, look)


class WritesTogether:
    """A transport that sends in one packet what is written to it in one turn of the event loop.

    Uvicorn writes a head, a body and the body's end one by one, and each call of the system takes
    as long as all that is written in it.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._send)
        self._waiting.append(data)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + sum(map(len, self._waiting))

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


IDLE_SECONDS = 30
"""Seconds for which a connection is kept for the client's next request."""
STOP_SECONDS = 3.0
"""Seconds in which the server is stopped, whatever its clients do."""
MAX_HEAD_BYTES = 65_536
"""Bytes of a request's line and headers."""
SEND_BUFFER_BYTES = 131_072
"""The system's send buffer; a larger one hides for longer that a client does not read."""
_ANY_ADDRESS = ("0.0.0.0", "::")


class HttpServer:
    """Listens from ``start`` to ``stop``.

    ``host`` may be a name or an address, ``port`` 0 for a free one. ``folder``
    is where agents work for clients. ``token_file`` keeps the token, in place of the keychain.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        host: str,
        port: int,
        folder: Path,
        token_file: Path | None = None,
    ) -> None:
        self.token = ServerToken(engine.keychain, engine.paths.data, file=token_file)
        self.address = ""
        """Once it listens: ``http://127.0.0.1:8765``."""
        self.local = True
        """Whether only this computer can reach it."""
        self._engine = engine
        self._host = host
        self._port = port
        self.folder = folder
        self._responder = Responder(engine, folder)
        self._responses = IdempotentResponses(self._responder, IdempotencyStore(engine.database))
        self._mcp = McpPath(engine, folder)
        self._server: _Server | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen; returns when clients can connect.

        Raises ConfigurationError that says what to do: a port that is taken, an
        address that is not this computer's.
        """
        app = self._app()
        await self._responder.lookup.clear_up()
        await self._engine.look_for_providers()
        await self._engine.refresh_lists()
        sockets = await _listen(self._host, self._port)
        server = self._server = _Server(_configured(app))
        running = self._running = asyncio.create_task(server.serve(sockets))
        running.add_done_callback(lambda _: server.close(sockets))
        addresses = [one.getsockname()[0] for one in sockets]
        self.local = all(ipaddress.ip_address(one).is_loopback for one in addresses)
        self._port = sockets[0].getsockname()[1]
        self.address = f"http://{_client_host(self._host, addresses)}:{self._port}"
        try:
            await server.ready.wait()
            if running.done():  # it could not serve
                running.result()
        except BaseException:
            self._server = self._running = None
            running.cancel()
            await settled(running)
            raise

    @property
    def needs_token(self) -> bool:
        """Beyond this computer always, whatever the setting says."""
        return self._engine.settings.values.server_token or not self.local

    @property
    def answering(self) -> int:
        """Answers that are being made."""
        return self._responses.running

    @property
    def connected(self) -> int:
        """Connections of clients."""
        return 0 if self._server is None else len(self._server.server_state.connections)

    async def stop(self) -> None:
        """End every answer, then every connection; within ``STOP_SECONDS``."""
        if self._server is None or self._running is None:
            return
        self._server.should_exit = True
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.gather(
                    self._responder.runs.close(), self._responses.close(), self._mcp.close()
                )
                await asyncio.wait([self._running])
        except TimeoutError:
            self._server.force_exit = True
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()
        await asyncio.wait([self._running])
        self._running.result()

    def _app(self) -> ASGIApp:
        engine = self._engine
        runs = self._responder.runs
        stored = StoredResponses(engine, self._responder.lookup, runs)
        routes = Routes(engine, self._responses, stored, runs, self.folder, self._mcp)
        names = {"localhost", "127.0.0.1", "::1", self._host} - {*_ANY_ADDRESS}
        return AccessGuard(
            routes,
            settings=engine.settings,
            token=self._needed,
            names=names,
            refuse=routes.refuse,
        )

    async def _needed(self) -> str:
        return await self.token.get() if self.needs_token else ""


class _Server(uvicorn.Server):
    """Leaves signals to the program that it runs in, and sets ``ready`` when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    def close(self, sockets: Sequence[socket.socket]) -> None:
        """Close what is still open, however serving ended: uvicorn does not if it is cancelled."""
        self.ready.set()
        for one in sockets:
            with suppress(NotImplementedError, ValueError):  # Windows; it is closed already
                asyncio.get_running_loop().remove_reader(one)
            one.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _configured(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        log_level="error",  # what strangers send is not worth a warning each
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=int(STOP_SECONDS),
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )


async def _listen(host: str, port: int) -> list[socket.socket]:
    """Open sockets for every address of a host, all on one port.

    Nothing is awaited once a socket is open: the caller gets all of them, even if cancelled.
    """
    if not 0 <= port <= 65_535:
        raise ConfigurationError(
            f"There is no port {port}. Choose one from 1 to 65535 in the settings or with --port."
        )
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"The host {host} is not known here.") from error
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            sockets.append(one)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            if sys.platform == "win32":  # there the other option lets two programs share a port
                one.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit it.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            one.bind((address[0], port, *address[2:]))
            one.listen(128)
            one.setblocking(False)
            port = one.getsockname()[1]
    except BaseException as error:
        for one in sockets:
            one.close()
        if not isinstance(error, OSError):
            raise
        raise ConfigurationError(_listen_error(error, host, port)) from error
    return sockets


def _listen_error(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"Port {port} is taken, by another server of Agent Studio or another program. "
                "Stop that one, or choose another port with --port."
            )
        case errno.EACCES | errno.EPERM:
            return f"Port {port} may not be used. Choose one above 1023 with --port."
        case errno.EADDRNOTAVAIL:
            return f"{host} is no address of this computer."
        case _:
            return f"The server cannot listen at {host}, port {port}: {error.strerror}."


def _client_host(host: str, addresses: Sequence[str]) -> str:
    """A host as a client on this computer writes it."""
    if host in _ANY_ADDRESS or not host:
        host = "127.0.0.1" if ":" not in addresses[0] else "::1"
    return f"[{host}]" if ":" in host else host
