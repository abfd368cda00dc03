"""A signal for a thread, which goes on while the object that listens is destroyed.

A thread must not emit a signal of that object: where it is destroyed at the same moment, in the
window's thread, the program crashes. Qt lets go of a listener in time.
"""

from __future__ import annotations

from contextlib import suppress

from PySide6.QtCore import QObject, Signal


class ThreadSignal(QObject):
    """``emitted`` is for a listener in the window's thread; the thread holds this object."""

    emitted = Signal(object)

    def emit(self, value: object) -> None:
        with suppress(RuntimeError):  # the program ends
            self.emitted.emit(value)
