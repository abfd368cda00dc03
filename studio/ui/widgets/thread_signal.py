"""A signal for a thread, which goes on while the object that listens is destroyed.

A thread must not emit a signal of that object: where it is destroyed at the same moment, in the
window's thread, the program crashes. Qt lets go of a listener in time.
"""

from __future__ import annotations

from contextlib import suppress

from PySide6.QtCore import QCoreApplication, QObject, Signal


class ThreadSignal(QObject):
    """``emitted`` is for a listener in the window's thread; a thread may hold this object last.

    The program owns it: an object of Qt must not end in another thread than its own, which it
    would where a thread drops the last reference to it.
    """

    emitted = Signal(object)

    def __init__(self) -> None:
        super().__init__(QCoreApplication.instance())

    def emit(self, value: object) -> None:
        with suppress(RuntimeError):  # the program ends
            self.emitted.emit(value)

    def end(self) -> None:
        """Nothing more is emitted; for any thread. The window's thread destroys it."""
        with suppress(RuntimeError):  # the program ends
            self.deleteLater()
