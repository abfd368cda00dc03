"""A session bus of the test's own, and a desktop on it that shows notifications."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from studio.ui.app.notifications import NAME, PATH


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bus of the test's own."""
    daemon = shutil.which("dbus-daemon")
    assert daemon, "dbus-daemon is needed (Debian: dbus-daemon)"
    command = [daemon, "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address
        running.terminate()


class Desktop:
    """What a desktop shows, by number."""

    def __init__(self, connection: Any) -> None:
        self.shown: dict[int, str] = {}
        self.bodies: list[tuple[Any, ...]] = []
        self._connection = connection

    async def serve(self) -> None:
        from jeepney import HeaderFields, MessageType, new_method_return

        while True:
            message = await self._connection.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            member = message.header.fields[HeaderFields.member]
            if member == "Notify":
                self.bodies.append(message.body)
                number = len(self.bodies)
                self.shown[number] = message.body[3]
                await self._connection.send(new_method_return(message, "u", (number,)))
            elif member == "CloseNotification":
                self.shown.pop(message.body[0], None)
                await self._connection.send(new_method_return(message))

    async def press(self, number: int) -> None:
        from jeepney import DBusAddress, new_signal

        emitter = DBusAddress(PATH, interface=NAME)
        await self._connection.send(new_signal(emitter, "ActionInvoked", "us", (number, "default")))


@contextlib.asynccontextmanager
async def desktop() -> AsyncIterator[Desktop]:
    from jeepney import message_bus
    from jeepney.io.asyncio import DBusRouter, Proxy, open_dbus_connection

    connection = await open_dbus_connection()
    async with DBusRouter(connection) as router:
        await Proxy(message_bus, router).RequestName(NAME)
    made = Desktop(connection)
    serving = asyncio.get_running_loop().create_task(made.serve())
    try:
        yield made
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await connection.close()
