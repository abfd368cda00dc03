"""A key of the whole X11 desktop, through the C library of XCB, which Qt's own plugin needs."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_uint8, c_uint16, c_uint32, c_void_p
from typing import Any

CAPS, NUM = 2, 16
"""Bits of the locks that may be on."""
KEY_PRESS = 2
"""The kind of event that tells of a key."""
ASYNC = 1


class _Cookie(Structure):
    _fields_ = (("sequence", c_uint32),)


class _Screens(Structure):
    _fields_ = (("data", POINTER(c_uint32)), ("rem", c_int), ("index", c_int))


class X11Key:
    """Tells when a key is pressed, whatever program has the keyboard.

    Call ``pressed`` when ``descriptor`` can be read. ``take`` and ``close`` may block for a
    moment. The constructor raises OSError where there is no X server.
    """

    def __init__(self) -> None:
        self._xcb, self._symbols_library = _libraries()
        self._free: Any = ctypes.CDLL(None).free
        self._free.argtypes = (c_void_p,)
        self._taken: list[tuple[int, int]] = []
        """Codes of the keys that are grabbed, with what is held."""
        self._connection: int | None = self._xcb.xcb_connect(None, None)
        if self._xcb.xcb_connection_has_error(self._connection):
            self._xcb.xcb_disconnect(self._connection)
            raise OSError("there is no X server")
        setup = self._xcb.xcb_get_setup(self._connection)
        self._root = self._xcb.xcb_setup_roots_iterator(setup).data[0]
        self.descriptor: int = self._xcb.xcb_get_file_descriptor(self._connection)

    def take(self, symbol: int, held: int) -> bool:
        """Take a key, by its X symbol, and no other; whether nobody else has it."""
        self.release()
        taken = [self._grab(code, held | locks) for code in self._codes(symbol) for locks in _LOCKS]
        if not taken or not all(taken):
            self.release()
            return False
        return True

    def release(self) -> None:
        """Give the key back."""
        for code, held in self._taken:
            self._xcb.xcb_ungrab_key(self._connection, code, self._root, held)
        self._taken.clear()
        self._xcb.xcb_flush(self._connection)

    def pressed(self) -> bool:
        """Whether the key was pressed since the last call; raises OSError when X is gone."""
        found = False
        while event := self._xcb.xcb_poll_for_event(self._connection):
            found = found or ctypes.cast(event, POINTER(c_uint8))[0] & 0x7F == KEY_PRESS
            self._free(event)
        if self._xcb.xcb_connection_has_error(self._connection):
            raise OSError("the X server is gone")
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._xcb.xcb_disconnect(self._connection)
            self._connection = None

    def _grab(self, code: int, held: int) -> bool:
        cookie = self._xcb.xcb_grab_key_checked(
            self._connection, 0, self._root, held, code, ASYNC, ASYNC
        )
        if error := self._xcb.xcb_request_check(self._connection, cookie):
            self._free(error)
            return False
        self._taken.append((code, held))
        return True

    def _codes(self, symbol: int) -> list[int]:
        """The keys that have this symbol on the person's keyboard."""
        table = self._symbols_library.xcb_key_symbols_alloc(self._connection)
        found = self._symbols_library.xcb_key_symbols_get_keycode(table, symbol)
        codes: list[int] = []
        while found and found[len(codes)]:
            codes.append(found[len(codes)])
        if found:
            self._free(found)
        self._symbols_library.xcb_key_symbols_free(table)
        return codes


_LOCKS = (0, CAPS, NUM, CAPS | NUM)
"""A key is to work whatever locks are on."""


def _libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    xcb, symbols = ctypes.CDLL("libxcb.so.1"), ctypes.CDLL("libxcb-keysyms.so.1")
    for library, name, result, arguments in (
        (xcb, "xcb_connect", c_void_p, (c_char_p, POINTER(c_int))),
        (xcb, "xcb_connection_has_error", c_int, (c_void_p,)),
        (xcb, "xcb_disconnect", None, (c_void_p,)),
        (xcb, "xcb_get_setup", c_void_p, (c_void_p,)),
        (xcb, "xcb_setup_roots_iterator", _Screens, (c_void_p,)),
        (xcb, "xcb_get_file_descriptor", c_int, (c_void_p,)),
        (xcb, "xcb_flush", c_int, (c_void_p,)),
        (xcb, "xcb_poll_for_event", c_void_p, (c_void_p,)),
        (xcb, "xcb_request_check", c_void_p, (c_void_p, _Cookie)),
        (
            xcb,
            "xcb_grab_key_checked",
            _Cookie,
            (c_void_p, c_uint8, c_uint32, c_uint16, c_uint8, c_uint8, c_uint8),
        ),
        (xcb, "xcb_ungrab_key", _Cookie, (c_void_p, c_uint8, c_uint32, c_uint16)),
        (symbols, "xcb_key_symbols_alloc", c_void_p, (c_void_p,)),
        (symbols, "xcb_key_symbols_get_keycode", POINTER(c_uint8), (c_void_p, c_uint32)),
        (symbols, "xcb_key_symbols_free", None, (c_void_p,)),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return xcb, symbols
