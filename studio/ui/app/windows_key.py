"""A key of the whole desktop on Windows, by RegisterHotKey in a thread that hears of it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from ctypes import wintypes
from typing import Any

_HOT_KEY, _QUIT = 0x0312, 0x0012
_ONCE = 0x4000
"""A key that is held tells once."""
_HELD = ((8, 1), (4, 2), (1, 4), (64, 8))
"""Bits of X and of Windows: Alt, Ctrl, Shift, the system's key."""
_F1, _LAST = 0xFFBE, 24
_KEYS = {
    0x20: 0x20,  # Space
    0xFF0D: 0x0D,  # Return
    0xFF09: 0x09,  # Tab
    0xFF1B: 0x1B,  # Escape
    0xFF08: 0x08,  # Backspace
    0xFFFF: 0x2E,  # Delete
    0xFF63: 0x2D,  # Insert
    0xFF50: 0x24,  # Home
    0xFF57: 0x23,  # End
    0xFF55: 0x21,  # Page up
    0xFF56: 0x22,  # Page down
    0xFF51: 0x25,  # Left
    0xFF52: 0x26,  # Up
    0xFF53: 0x27,  # Right
    0xFF54: 0x28,  # Down
    0xFF13: 0x13,  # Pause
    0xFF61: 0x2C,  # Print
}
"""Windows' codes of keys that write nothing, by their X symbols."""


def windows_key(symbol: int, held: int, typed: Callable[[str], int]) -> tuple[int, int] | None:
    """Windows' code of a key and of what is held, from X symbol and bits; None for no such key.

    ``typed`` is the code of the key that writes a character on the person's keyboard, or -1.
    """
    modifiers = sum(windows for x11, windows in _HELD if held & x11)
    if symbol in _KEYS:
        return _KEYS[symbol], modifiers
    if _F1 <= symbol < _F1 + _LAST:
        return 0x70 + symbol - _F1, modifiers
    if chr(symbol).isascii() and chr(symbol).isalnum():
        return ord(chr(symbol).upper()), modifiers
    code = typed(chr(symbol))
    return (code & 0xFF, modifiers) if code != -1 else None


class WindowsKey:
    """Calls ``pressed`` in a thread of its own when the key is pressed in any program.

    ``take`` and ``close`` block for a moment.
    """

    def __init__(self, pressed: Callable[[], object]) -> None:
        self._pressed = pressed
        libraries: Any = getattr(ctypes, "windll")  # noqa: B009 - exists on Windows only
        self._user, self._kernel = libraries.user32, libraries.kernel32
        self._user.VkKeyScanW.argtypes = (wintypes.WCHAR,)
        self._user.VkKeyScanW.restype = ctypes.c_short
        self._thread: threading.Thread | None = None
        self._number = 0

    def take(self, symbol: int, held: int) -> bool:
        """Take a key, by its X symbol and bits; whether nobody else has it."""
        found = windows_key(symbol, held, self._user.VkKeyScanW)
        if found is None:
            return False
        answer: list[bool] = []
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._listen, args=(*found, answer, ready), daemon=True, name="global key"
        )
        self._thread.start()
        ready.wait()
        return answer == [True]

    def close(self) -> None:
        """Give the key back."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._user.PostThreadMessageW(self._number, _QUIT, 0, 0)
            thread.join()

    def _listen(self, key: int, modifiers: int, answer: list[bool], ready: threading.Event) -> None:
        """The messages of a key go to the thread that took it."""
        message = wintypes.MSG()
        self._number = self._kernel.GetCurrentThreadId()
        self._user.PeekMessageW(ctypes.byref(message), None, 0, 0, 0)  # makes the thread's queue
        answer.append(bool(self._user.RegisterHotKey(None, 1, modifiers | _ONCE, key)))
        ready.set()
        if not answer[0]:
            return
        while self._user.GetMessageW(ctypes.byref(message), None, 0, 0) > 0:
            if message.message == _HOT_KEY:
                self._pressed()
        self._user.UnregisterHotKey(None, 1)
