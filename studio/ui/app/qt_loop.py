"""asyncio on Qt's event loop: qasync with its measured faults repaired.

qasync 0.28 starts one Qt timer for every callback and never kills those of
cancelled handles, wakes timers early, loses wake-ups while a dialog runs
inside a task, drops ``context`` of calls from other threads, and makes a new
notifier each time that a socket is read again, and goes on with tasks once more
when the loop has stopped, where none may run. Here every callback goes through
one queue drained by one posted event, all timers share one Qt timer, and each
socket keeps its notifier. Each repair can go when a release of qasync has it.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import os
import select
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from threading import get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSocketNotifier, Qt, QThread, QTimer
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

if TYPE_CHECKING:
    from _typeshed import HasFileno

BUDGET = 0.004
"""Seconds of callbacks in a row before Qt gets to paint and to read input."""

_DRAIN = QEvent.Type(QEvent.registerEventType())


class StudioLoop(QEventLoop):
    """The window's event loop. Make it after the ``QApplication``."""

    def __init__(self, app: QApplication) -> None:
        self._queue: deque[asyncio.Handle] = deque()
        self._posted = self._shut = False
        self._thread, self._loops = get_ident(), QThread.currentThread()
        self._level = -1
        """How deep Qt's loops were nested when the drain began that goes on; -1 if none does."""
        self._heap: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self._dead = 0
        self._armed = math.inf
        """When ``_wake`` fires."""
        self._first_gone = False
        self._drainer = _Drainer(self)
        self._wake = QTimer(singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._wake.timeout.connect(self._due)
        self._again = QTimer(singleShot=True, interval=0)
        self._again.timeout.connect(self._drain)
        self._readers: dict[int, _Reader] = {}
        super().__init__(app)
        self.set_default_executor(ThreadPoolExecutor(8, thread_name_prefix="studio"))
        if os.name == "nt":  # Ctrl-C is seen only when Python runs; elsewhere a socket wakes it
            self._signals = QTimer()
            self._signals.timeout.connect(lambda: None)
            self._signals.start(50)

    time = staticmethod(monotonic)  # type: ignore[assignment]
    """As in the base class, without a call of Python: each callback asks for it."""

    get_debug = staticmethod(bool)  # type: ignore[assignment]
    """False without a call of Python: each handle and each future asks for it."""

    def set_debug(self, enabled: bool) -> None:
        super().set_debug(enabled)
        self.get_debug = (lambda: True) if enabled else bool

    def run_forever(self) -> int:
        if self._queue and not self._posted:  # what came while the loop did not run
            self._posted = True
            QCoreApplication.postEvent(self._drainer, QEvent(_DRAIN))
        return super().run_forever()

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        if self._shut:
            self._raise_if_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._queue.append(handle)
        # As in ``_add_callback``: nearly every callback of the loop comes this way.
        if not self._posted and not (
            self._level >= 0
            and get_ident() == self._thread
            and self._loops.loopLevel() == self._level
        ):
            self._posted = True
            QCoreApplication.postEvent(self._drainer, QEvent(_DRAIN))
        return handle

    def _raise_if_closed(self) -> None:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")

    def call_soon_threadsafe(
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        if self._shut:
            self._raise_if_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, handle))
        handle._scheduled = True  # asyncio then reports its cancellation below
        if when < self._armed:
            self._arm()
        return handle

    if os.name != "nt":  # there the sockets are read by another loop's ports

        def _add_reader(self, fd: int | HasFileno, callback: Any, *args: Any) -> None:
            if self._shut:
                self._raise_if_closed()
            number = fd if isinstance(fd, int) else fd.fileno()
            reader = self._readers.get(number)
            if reader is None:
                reader = self._readers[number] = _Reader(number, self)
            reader.listen(asyncio.Handle(callback, args, self))

        def _remove_reader(self, fd: int | HasFileno) -> bool:
            reader = self._readers.get(fd if isinstance(fd, int) else fd.fileno())
            return reader is not None and reader.stop()

    def close(self) -> None:
        for reader in self._readers.values():
            reader.stop()
        self._readers.clear()
        super().close()
        self._shut = self.is_closed()
        self._queue.clear()
        self._heap.clear()
        self._wake.stop()
        self._again.stop()

    def _add_callback(self, handle: asyncio.Handle, delay: float = 0) -> asyncio.Handle:
        """Queue a callback, from any thread.

        The queue is filled before the flag is read, and the flag cleared before
        the queue is drained, so a wake-up cannot be lost between threads.
        """
        self._queue.append(handle)
        if not self._posted and not self._drains_here():
            self._posted = True
            QCoreApplication.postEvent(self._drainer, QEvent(_DRAIN))
        return handle

    def _drains_here(self) -> bool:
        """Whether a callback asks that the drain which runs it will be followed by.

        In a Qt loop that the callback has opened, nothing would follow.
        """
        return (
            self._level >= 0
            and get_ident() == self._thread
            and self._loops.loopLevel() == self._level
        )

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if self._heap and self._heap[0][2] is handle:  # at rest no timer waits for nothing
            heapq.heappop(self._heap)
            handle._scheduled = False
            while self._heap and self._heap[0][2].cancelled():
                heapq.heappop(self._heap)
                self._dead -= 1
            if self._drains_here():  # most are asked for anew in the same moment
                self._first_gone = True
            else:
                self._arm()
            return
        self._dead += 1
        if self._dead > 100 and self._dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].cancelled()]
            heapq.heapify(self._heap)
            self._dead = 0
            self._arm()

    def _arm(self) -> None:
        self._first_gone = False
        if self._heap:
            self._armed = self._heap[0][0]
            left = self._armed - self.time()
            self._wake.start(max(0, min(int(left * 1000) + 1, 2**30)))
        else:
            self._armed = math.inf
            self._wake.stop()

    def _due(self) -> None:
        now = self.time()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].cancelled()):
            handle = heapq.heappop(self._heap)[2]
            handle._scheduled = False
            if handle.cancelled():
                self._dead -= 1
            else:
                self._queue.append(handle)
        self._arm()
        self._drain()  # here, as to post an event for it takes as long as a short callback

    def run_now(self, callback: Any, *args: Any) -> None:
        """Run a callback from one of Qt's events, after those that wait."""
        self._queue.append(asyncio.Handle(callback, args, self))
        self._drain()

    def _drain(self) -> None:
        self._posted = False
        if asyncio.current_task(self) is not None:
            # A task opened a nested Qt loop: its step is not over, so no other
            # task may be entered. The outer drain goes on afterwards.
            return
        if asyncio._get_running_loop() is not self:
            return  # it has stopped; the next run goes on
        queue = self._queue
        outer, self._level = self._level, self._loops.loopLevel()
        try:
            self._run_callbacks(queue)
        finally:
            self._level = outer
            if self._first_gone:
                self._arm()
            if queue and not self._posted:
                # A timer, not an event: Qt sends all posted events before it paints.
                self._posted = True
                self._again.start()

    def _run_callbacks(self, queue: deque[asyncio.Handle]) -> None:
        until = self.time() + BUDGET
        while queue:
            for _ in range(len(queue)):
                handle = queue.popleft()
                if not handle._cancelled:
                    handle._run()
                if self._shut:
                    return
            if self.time() >= until:
                return


class _Drainer(QObject):
    def __init__(self, loop: StudioLoop) -> None:
        super().__init__()
        self._loop = loop

    def customEvent(self, event: QEvent) -> None:
        """Wake up; no event of another type is posted here."""
        self._loop._drain()


class _Reader:
    """Calls back when a descriptor can be read.

    Kept when nobody listens: an answer that is streamed is read, and left, fifty times a second.
    A later socket with the same number finds it silent.
    """

    def __init__(self, fd: int, loop: StudioLoop) -> None:
        self._loop = loop
        self._handle: asyncio.Handle | None = None
        self._notifier = QSocketNotifier(fd, QSocketNotifier.Type.Read)
        self._notifier.activated.connect(self._ready)
        self._waiting = select.poll()
        self._waiting.register(fd, select.POLLIN)

    def listen(self, handle: asyncio.Handle) -> None:
        self._handle = handle
        if self._waiting.poll(0):  # there already: no need to hear of it from Qt
            self._loop.call_soon(self._run, handle)
        else:
            self._notifier.setEnabled(True)

    def stop(self) -> bool:
        """Returns whether somebody listened."""
        handle, self._handle = self._handle, None
        if handle is None:
            return False
        self._notifier.setEnabled(False)
        handle.cancel()
        return True

    def _ready(self) -> None:
        """Silent until the callback ran, as what is there would be told again and again."""
        self._notifier.setEnabled(False)
        self._loop.run_now(self._run, self._handle)

    def _run(self, handle: asyncio.Handle | None) -> None:
        if handle is None or handle is not self._handle:
            return  # the callback was removed, or another one has come
        handle._run()
        if handle is self._handle:
            self._notifier.setEnabled(True)
