"""Daemon threads: runs code that may never end, and signals it to stop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Stop:
    """Signals work in a thread to stop: ``set`` it, and the work finds ``stop()`` True."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._actions: list[Callable[[], object]] = []

    def __call__(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def then(self, action: Callable[[], object]) -> None:
        """Call ``action`` once this is set, at once if it is set already."""
        with self._lock:
            if not self._event.is_set():
                self._actions.append(action)
                return
        action()


async def stoppable(work: Callable[[Stop], T]) -> T:
    """Run ``work`` in a thread; it is told to stop when the caller is cancelled."""
    stop = Stop()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


async def in_daemon_thread(function: Callable[[], T]) -> T:
    """Run ``function`` in a new daemon thread; returns or raises what it does.

    For code that may never end: unlike ``asyncio.to_thread`` it occupies no thread of the
    shared pool, and neither the end of the loop nor of the program waits for it. The thread has
    the name of the task that waits for it.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # it goes on when the caller is cancelled

    def work() -> None:
        try:
            future.set_result(function())
        except (StopIteration, SystemExit) as error:  # not fit for a future
            future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
        except BaseException as error:
            future.set_exception(error)

    context = contextvars.copy_context()
    task = asyncio.current_task()
    name = task.get_name() if task is not None else None
    threading.Thread(target=context.run, args=(work,), name=name, daemon=True).start()
    return await asyncio.wrap_future(future)
