"""A session bus of the test's own, and a desktop on it: notifications, and the portals."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import pytest

from studio.ui.app.notifications import NAME, PATH

T = TypeVar("T", "Desktop", "Portal")


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
    async with _served(NAME, Desktop) as made:
        yield made


@contextlib.asynccontextmanager
async def _served(name: str, kind: type[T]) -> AsyncIterator[T]:
    """Something that answers on the bus under a name."""
    from jeepney import message_bus
    from jeepney.io.asyncio import DBusRouter, Proxy, open_dbus_connection

    connection = await open_dbus_connection()
    async with DBusRouter(connection) as router:
        await Proxy(message_bus, router).RequestName(name)
    made = kind(connection)
    serving = asyncio.get_running_loop().create_task(made.serve())
    try:
        yield made
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await connection.close()


PORTAL = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")


class Portal:
    """The desktop's portals: keys of the whole desktop, and what it wishes of programs.

    ``settings`` has signature and value by namespace and key. ``refuses`` says no to keys.
    """

    def __init__(self, connection: Any) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.settings: dict[tuple[str, str], tuple[str, Any]] = {}
        self.refuses = False
        self._connection = connection

    async def serve(self) -> None:
        from jeepney import HeaderFields, MessageType, new_error, new_method_return

        while True:
            message = await self._connection.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            fields = message.header.fields
            member, sender = fields[HeaderFields.member], fields[HeaderFields.sender]
            self.calls.append((member, message.body))
            if member == "Read":
                found = self.settings.get(message.body)
                absent = new_error(message, "org.freedesktop.portal.Error.NotFound")
                answer = (
                    absent if found is None else new_method_return(message, "v", (("v", found),))
                )
                await self._connection.send(answer)
            elif member in ("CreateSession", "BindShortcuts"):
                token = message.body[-1]["handle_token"][1]
                request = f"{PORTAL[1]}/request/{sender[1:].replace('.', '_')}/{token}"
                await self._connection.send(new_method_return(message, "o", (request,)))
                results = {"session_handle": ("s", "/session")}
                if member == "BindShortcuts":
                    results = {"shortcuts": ("a(sa{sv})", message.body[1])}
                said = (1, {}) if self.refuses else (0, results)
                await self._say(
                    "org.freedesktop.portal.Request", "Response", "ua{sv}", said, request
                )
            else:
                await self._connection.send(
                    new_error(message, "org.freedesktop.DBus.Error.UnknownMethod")
                )

    async def press(self) -> None:
        """The person presses the key."""
        said = ("/session", "quick-ask", 0, {})
        await self._say("org.freedesktop.portal.GlobalShortcuts", "Activated", "osta{sv}", said)

    async def wish(self, namespace: str, key: str, signature: str, value: Any) -> None:
        """The person changes the desktop's settings."""
        said = (namespace, key, (signature, value))
        await self._say("org.freedesktop.portal.Settings", "SettingChanged", "ssv", said)

    async def _say(
        self, interface: str, name: str, signature: str, said: Any, path: str = PORTAL[1]
    ) -> None:
        from jeepney import DBusAddress, new_signal

        emitter = DBusAddress(path, interface=interface)
        await self._connection.send(new_signal(emitter, name, signature, said))


@contextlib.asynccontextmanager
async def portal() -> AsyncIterator[Portal]:
    async with _served(PORTAL[0], Portal) as made:
        yield made
