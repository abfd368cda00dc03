"""Background tasks: run work to its end, also when nobody waits for it any more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundTasks:
    """What a thread has written must be known to be written, whoever walks away meanwhile."""

    def __init__(self) -> None:
        self._works: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result; a caller that is cancelled leaves, and the work goes on."""
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        return await asyncio.shield(task)

    async def settled(self) -> None:
        """Return when nothing runs; ahead of closing what the work writes to."""
        while self._works:
            await asyncio.wait(self._works)
