"""The key for a quick question from any program, where the desktop lets programs have one.

On X11 the key is taken from the server. On Wayland the desktop's portal is asked for it
(https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.GlobalShortcuts.html),
which may ask the person, and choose another. Windows registers it. Elsewhere there is no such way.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from PySide6.QtCore import QKeyCombination, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence

from studio.storage.config.settings import SettingsFile
from studio.ui.pages.page import Run
from studio.ui.translation import tr

if TYPE_CHECKING:
    from .session_bus import SessionBus
    from .windows_key import WindowsKey
    from .x11_key import X11Key

log = logging.getLogger(__name__)
Way: TypeAlias = Literal["x11", "portal", "windows", ""]
Key, Held = Qt.Key, Qt.KeyboardModifier

PATIENCE = 300.0
"""Seconds for the person to answer the desktop's own question about the key."""
_DESKTOP = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
_NAMES = {
    Key.Key_Space: (0x20, "space"),
    Key.Key_Return: (0xFF0D, "Return"),
    Key.Key_Tab: (0xFF09, "Tab"),
    Key.Key_Escape: (0xFF1B, "Escape"),
    Key.Key_Backspace: (0xFF08, "BackSpace"),
    Key.Key_Delete: (0xFFFF, "Delete"),
    Key.Key_Insert: (0xFF63, "Insert"),
    Key.Key_Home: (0xFF50, "Home"),
    Key.Key_End: (0xFF57, "End"),
    Key.Key_PageUp: (0xFF55, "Page_Up"),
    Key.Key_PageDown: (0xFF56, "Page_Down"),
    Key.Key_Left: (0xFF51, "Left"),
    Key.Key_Up: (0xFF52, "Up"),
    Key.Key_Right: (0xFF53, "Right"),
    Key.Key_Down: (0xFF54, "Down"),
    Key.Key_Pause: (0xFF13, "Pause"),
    Key.Key_Print: (0xFF61, "Print"),
}
"""X symbols and their names, of keys that write nothing."""
_HELD = (
    (Held.ControlModifier, 4, "CTRL"),
    (Held.AltModifier, 8, "ALT"),
    (Held.ShiftModifier, 1, "SHIFT"),
    (Held.MetaModifier, 64, "LOGO"),
)


def way() -> Way:
    """How this desktop gives a key of its own to a program."""
    if sys.platform == "win32":
        return "windows"
    if not sys.platform.startswith("linux"):
        return ""
    if os.environ.get("WAYLAND_DISPLAY") or QGuiApplication.platformName() == "wayland":
        return "portal"
    return "x11" if QGuiApplication.platformName() == "xcb" else ""


def refusal(keys: str) -> str:
    """Why a key combination cannot be one of the whole desktop; empty if it can."""
    if symbol_of(keys) is None:
        return tr("Press one key, with Ctrl, Alt or the system’s key.")
    return ""


def symbol_of(keys: str) -> tuple[int, int, str] | None:
    """X symbol, bits of what is held, and the way portals write it; None for what is no such key.

    A key that types or moves has to be held with another one than Shift.
    """
    sequence = QKeySequence(keys)
    if sequence.count() != 1:
        return None
    pressed = cast("Sequence[QKeyCombination]", sequence)[0]
    key, held = pressed.key(), pressed.keyboardModifiers()
    function = Key.Key_F1 <= key <= Key.Key_F35
    if not function and not held & (Held.ControlModifier | Held.AltModifier | Held.MetaModifier):
        return None
    if function:
        number = key - Key.Key_F1
        symbol, name = 0xFFBE + number, f"F{number + 1}"
    elif key in _NAMES:
        symbol, name = _NAMES[key]
    elif 0x20 < key < 0x7F:
        symbol = ord(chr(key).lower())
        name = chr(symbol) if chr(symbol).isalnum() else f"U{symbol:04X}"
    else:
        return None
    bits = sum(bit for one, bit, _ in _HELD if held & one)
    words = [word for one, _, word in _HELD if held & one]
    return symbol, bits, "+".join((*words, name))


class GlobalKey(QObject):
    """Has the key of the settings; ``pressed`` tells that it was pressed, anywhere.

    ``problem`` is why it cannot be had, in words for the person.
    """

    pressed = Signal()
    problem = Signal(str)

    def __init__(self, settings: SettingsFile, later: Run) -> None:
        super().__init__()
        self._settings, self._later = settings, later
        self._keys = ""
        """The key that was asked for last."""
        self._asking = asyncio.Lock()
        self._x11: X11Key | None = None
        self._bus: SessionBus | None = None
        self._windows: WindowsKey | None = None

    def apply(self) -> None:
        """Take the key of the settings, in place of the one before."""
        if self._keys != self._settings.values.quick_ask_key:
            self._keys = self._settings.values.quick_ask_key
            self._later(self._take(self._keys))

    async def aclose(self) -> None:
        """Give the key back."""
        async with self._asking:
            await self._release()

    async def _take(self, keys: str) -> None:
        async with self._asking:
            await self._release()
            found = symbol_of(keys)
            if keys != self._keys or found is None:
                return
            symbol, held, trigger = found
            try:
                if way() == "x11":
                    taken = await self._take_from_x11(symbol, held)
                elif way() == "windows":
                    taken = await self._take_from_windows(symbol, held)
                else:
                    taken = way() == "portal" and await self._take_from_portal(trigger)
            except OSError as error:
                log.info("no key of the desktop: %s", error)
                taken = False
            if not taken:
                await self._release()
                name = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
                words = tr("{keys} cannot be used for quick questions: the desktop refuses it.")
                self.problem.emit(words.format(keys=name))

    async def _release(self) -> None:
        if self._x11 is not None:
            x11, self._x11 = self._x11, None
            asyncio.get_running_loop().remove_reader(x11.descriptor)
            await asyncio.to_thread(x11.close)
        if self._windows is not None:
            windows, self._windows = self._windows, None
            await asyncio.to_thread(windows.close)
        if self._bus is not None:
            bus, self._bus = self._bus, None
            await bus.aclose()  # which ends the portal's session

    async def _take_from_x11(self, symbol: int, held: int) -> bool:
        from .x11_key import X11Key

        self._x11 = await asyncio.to_thread(X11Key)
        taken = await asyncio.to_thread(self._x11.take, symbol, held)
        asyncio.get_running_loop().add_reader(self._x11.descriptor, self._read_x11)
        return taken

    def _read_x11(self) -> None:
        if self._x11 is None:
            return
        try:
            if self._x11.pressed():
                self.pressed.emit()
        except OSError:
            asyncio.get_running_loop().remove_reader(self._x11.descriptor)

    async def _take_from_windows(self, symbol: int, held: int) -> bool:
        from .windows_key import WindowsKey

        loop = asyncio.get_running_loop()
        self._windows = WindowsKey(lambda: loop.call_soon_threadsafe(self.pressed.emit))
        return await asyncio.to_thread(self._windows.take, symbol, held)

    # The portal

    async def _take_from_portal(self, trigger: str) -> bool:
        from .session_bus import Service, SessionBus

        self._bus = bus = SessionBus()
        registry = Service(*_DESKTOP, "org.freedesktop.host.portal.Registry")
        with suppress(OSError):  # portals before 1.20 know programs only by their sandbox
            await bus.call(registry, "Register", "sa{sv}", ("agent-studio", {}))
        portal = Service(*_DESKTOP, "org.freedesktop.portal.GlobalShortcuts")
        options = {"session_handle_token": ("s", _token())}
        results = await self._ask(bus, portal, "CreateSession", "a{sv}", (), options)
        session = results.get("session_handle", ("", ""))[1]
        if not session:
            return False
        await bus.listen(portal, "Activated", lambda _body: self.pressed.emit())
        shortcut = {
            "description": ("s", tr("Ask a quick question")),
            "preferred_trigger": ("s", trigger),
        }
        body = (session, [("quick-ask", shortcut)], "")
        results = await self._ask(bus, portal, "BindShortcuts", "oa(sa{sv})sa{sv}", body, {})
        return bool(results.get("shortcuts", ("", ()))[1])

    async def _ask(
        self,
        bus: SessionBus,
        portal: Any,
        method: str,
        signature: str,
        body: tuple[Any, ...],
        options: dict[str, tuple[str, Any]],
    ) -> dict[str, tuple[str, Any]]:
        """Call a method of the portal that answers later; empty if the answer is no."""
        from .session_bus import Service

        token = _token()
        sender = (await bus.own_name()).lstrip(":").replace(".", "_")
        path = f"/org/freedesktop/portal/desktop/request/{sender}/{token}"
        request = Service(portal.name, path, "org.freedesktop.portal.Request")
        answer: asyncio.Future[tuple[Any, ...]] = asyncio.get_running_loop().create_future()
        await bus.listen(
            request, "Response", lambda said: None if answer.done() else answer.set_result(said)
        )
        given = {**options, "handle_token": ("s", token)}
        await bus.call(portal, method, signature, (*body, given))
        async with asyncio.timeout(PATIENCE):
            code, results = await answer
        return results if code == 0 else {}


def _token() -> str:
    return f"studio{secrets.token_hex(8)}"
