"""asyncio on Qt's event loop: qasync with its measured faults repaired.

qasync 0.28 starts one Qt timer for every callback and never kills those of
cancelled handles, wakes timers early, loses wake-ups while a dialog runs
inside a task, and drops ``context`` of calls from other threads. Here every
callback goes through one queue drained by one posted event, and all timers
share one Qt timer. Each repair can go when a release of qasync has it.
"""

from __future__ import annotations

import asyncio
import heapq
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

BUDGET = 0.004
"""Seconds of callbacks in a row before Qt gets to paint and to read input."""

_DRAIN = QEvent.Type(QEvent.registerEventType())


class StudioLoop(QEventLoop):
    """The window's event loop. Make it after the ``QApplication``."""

    def __init__(self, app: QApplication) -> None:
        self._queue: deque[asyncio.Handle] = deque()
        self._posted = False
        self._heap: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self._dead = 0
        self._drainer = _Drainer(self)
        self._wake = QTimer(singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._wake.timeout.connect(self._due)
        self._again = QTimer(singleShot=True, interval=0)
        self._again.timeout.connect(self._drain)
        super().__init__(app)
        self.set_default_executor(ThreadPoolExecutor(8, thread_name_prefix="studio"))
        if os.name == "nt":  # Ctrl-C is seen only when Python runs; elsewhere a socket wakes it
            self._signals = QTimer()
            self._signals.timeout.connect(lambda: None)
            self._signals.start(50)

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        self._raise_if_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._add_callback(handle)
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
        self._raise_if_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, handle))
        handle._scheduled = True  # asyncio then reports its cancellation below
        if self._heap[0][2] is handle:
            self._arm()
        return handle

    def close(self) -> None:
        super().close()
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
        if not self._posted:
            self._posted = True
            QCoreApplication.postEvent(self._drainer, QEvent(_DRAIN))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._dead += 1
        if self._dead > 100 and self._dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].cancelled()]
            heapq.heapify(self._heap)
            self._dead = 0
            self._arm()

    def _arm(self) -> None:
        if self._heap:
            left = self._heap[0][0] - self.time()
            self._wake.start(max(0, min(int(left * 1000) + 1, 2**30)))
        else:
            self._wake.stop()

    def _due(self) -> None:
        now = self.time()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].cancelled()):
            handle = heapq.heappop(self._heap)[2]
            handle._scheduled = False
            if handle.cancelled():
                self._dead -= 1
            else:
                self._add_callback(handle)
        self._arm()

    def _drain(self) -> None:
        self._posted = False
        if asyncio.current_task(self) is not None:
            # A task opened a nested Qt loop: its step is not over, so no other
            # task may be entered. The outer drain goes on afterwards.
            return
        until = self.time() + BUDGET
        queue = self._queue
        while queue:
            for _ in range(len(queue)):
                handle = queue.popleft()
                if not handle.cancelled():
                    handle._run()
                if self.is_closed():
                    return
            if self.time() >= until:
                break
        if queue and not self._posted:
            # A timer, not an event: Qt sends all posted events before it paints.
            self._posted = True
            self._again.start()


class _Drainer(QObject):
    def __init__(self, loop: StudioLoop) -> None:
        super().__init__()
        self._loop = loop

    def event(self, event: QEvent) -> bool:
        if event.type() == _DRAIN:
            self._loop._drain()
            return True
        return super().event(event)
