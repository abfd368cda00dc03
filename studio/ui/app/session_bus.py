"""A connection to the session's D-Bus, which is where desktops on Linux offer their services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

TIMEOUT = 5.0
"""Seconds after which a service that does not answer counts as absent."""


class Service(NamedTuple):
    """An interface of an object on the bus."""

    name: str
    path: str
    interface: str


class SessionBus:
    """Connects with the first call; what cannot be reached or refuses raises OSError."""

    def __init__(self) -> None:
        self._bus: Any = None
        self._connection: Any = None
        self._listening: set[asyncio.Task[None]] = set()
        self._connecting = asyncio.Lock()

    async def call(
        self, service: Service, method: str, signature: str = "", body: tuple[Any, ...] = ()
    ) -> tuple[Any, ...]:
        """Call a method; returns what it answers. A variant is ``(signature, value)``."""
        return await self._guarded(self._call(service, method, signature, body))

    async def listen(
        self, service: Service, signal: str, heard: Callable[[tuple[Any, ...]], None]
    ) -> None:
        """Call ``heard`` with what a signal says, from now on."""
        await self._guarded(self._listen(service, signal, heard))

    async def own_name(self) -> str:
        """The unique name of this connection."""
        return await self._guarded(self._own_name())

    async def aclose(self) -> None:
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        self._listening.clear()
        if self._bus is not None:
            bus, self._bus = self._bus, None
            with suppress(Exception):  # the bus may be gone; its callers got the error
                await bus.__aexit__(None, None, None)
            await self._connection.close()

    async def _guarded(self, work: Any) -> Any:
        from jeepney import DBusErrorResponse
        from jeepney.io.common import RouterClosed

        faults = (DBusErrorResponse, RouterClosed, EOFError, KeyError, ValueError, RuntimeError)
        try:
            async with asyncio.timeout(TIMEOUT):
                return await work
        except faults as error:
            raise OSError(str(error) or type(error).__name__) from error

    async def _call(
        self, service: Service, method: str, signature: str, body: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        from jeepney import DBusAddress, new_method_call
        from jeepney.wrappers import unwrap_msg

        bus = await self._connect()
        address = DBusAddress(service.path, service.name, service.interface)
        call = new_method_call(address, method, signature or None, body)
        return unwrap_msg(await bus.send_and_get_reply(call))

    async def _listen(
        self, service: Service, signal: str, heard: Callable[[tuple[Any, ...]], None]
    ) -> None:
        from jeepney import MatchRule, message_bus
        from jeepney.io.asyncio import Proxy

        bus = await self._connect()
        wanted: dict[str, Any] = {
            "type": "signal",
            "interface": service.interface,
            "member": signal,
            "path": service.path,
        }
        await Proxy(message_bus, bus).AddMatch(MatchRule(**wanted, sender=service.name))
        # Messages name their sender by the number of its connection, not as asked for above.
        handle = bus.filter(MatchRule(**wanted), queue=asyncio.Queue())
        queue = handle.__enter__()

        async def hear() -> None:
            try:
                while True:
                    heard((await queue.get()).body)
            finally:
                handle.close()

        self._listening.add(asyncio.get_running_loop().create_task(hear()))

    async def _own_name(self) -> str:
        return (await self._connect()).unique_name

    async def _connect(self) -> Any:
        from jeepney.io.asyncio import DBusRouter, open_dbus_connection

        async with self._connecting:
            if self._bus is None:
                self._connection = await open_dbus_connection(bus="SESSION")
                self._bus = DBusRouter(self._connection)
            return self._bus
