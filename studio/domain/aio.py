"""Background tasks: kept alive until they end, waited for before what they use is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundTasks:
    """A set of running tasks; the event loop alone would forget them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run ``work`` as a task; whoever started it looks after its exception."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, which runs to its end also if the caller is cancelled."""
        return await asyncio.shield(self.start(work))

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def aclose(self) -> None:
        """Cancel what runs, and return when it has ended."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def settled(self) -> None:
        """Return when nothing runs any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)


async def settled(*futures: asyncio.Future[Any]) -> None:
    """Return when all are done, also if the caller is cancelled meanwhile, even twice."""
    cancelled: asyncio.CancelledError | None = None
    while left := [future for future in futures if not future.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
