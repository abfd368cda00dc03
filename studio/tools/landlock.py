"""Abstract sockets, closed to what a thread starts: Linux 6.12 and later.

They have no path that could be hidden, and belong to the network: who has that
reaches the display or a bus over them. Landlock scopes them. Numbers are those
of ``linux/landlock.h`` and ``linux/prctl.h``.
"""

from __future__ import annotations

import ctypes
import os
import sys

_CREATE, _RESTRICT = 444, 446
_VERSION = 1
_SCOPED = 6
"""The first version that knows scopes."""
_ABSTRACT_SOCKET = 1
_NO_NEW_PRIVS = 38


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def scope_thread() -> bool:
    """Keep this thread, and all it starts, from abstract sockets of others; for ever.

    False where the system cannot. Only for a thread that ends with its child.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if system.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION) < _SCOPED:
            return False
        wanted = _Attributes(0, 0, _ABSTRACT_SOCKET)
        size = ctypes.c_size_t(ctypes.sizeof(wanted))
        rules = system.syscall(_CREATE, ctypes.byref(wanted), size, 0)
        if rules < 0:
            return False
        try:
            nothing = ctypes.c_ulong(0)
            once = system.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), nothing, nothing, nothing)
            return once == 0 and system.syscall(_RESTRICT, rules, 0) == 0
        finally:
            os.close(rules)
    except (OSError, AttributeError):  # another C library
        return False
