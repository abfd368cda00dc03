"""Background tasks: keeps tasks alive until they end, and waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundTasks:
    """A set of running tasks; the event loop itself keeps only weak references to them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self,
        work: Coroutine[Any, Any, T],
        failed: Callable[[BaseException], object] | None = None,
    ) -> asyncio.Task[T]:
        """Run ``work`` as a task; ``failed`` gets its exception, or the caller handles it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if failed is not None:
            task.add_done_callback(partial(_tell, failed))
        return task

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of ``work``; it runs to its end even if the caller is cancelled."""
        return await asyncio.shield(self.start(work))

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def aclose(self) -> None:
        """Cancel all tasks, and return when they have ended."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def settled(self) -> None:
        """Return when no task is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)


def _tell(failed: Callable[[BaseException], object], task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        failed(error)


async def ended(future: asyncio.Future[Any]) -> None:
    """Return when it is done; it goes on if the caller is cancelled.

    What ``asyncio.wait`` does for one, in a third of its time.
    """
    if future.done():
        return
    woken = future.get_loop().create_future()

    def wake(_: object) -> None:
        if not woken.done():
            woken.set_result(None)

    future.add_done_callback(wake)
    try:
        await woken
    finally:
        future.remove_done_callback(wake)


async def settled(*futures: asyncio.Future[Any]) -> None:
    """Return when all are done, even if the caller is cancelled meanwhile, also repeatedly."""
    cancelled: asyncio.CancelledError | None = None
    while left := [future for future in futures if not future.done()]:
        try:
            await (ended(left[0]) if len(left) == 1 else asyncio.wait(left))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
