"""Step tasks: the work on steps of one run that is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import suppress

from studio.domain.aio import settled
from studio.domain.runs import StepKey


class StepTasks:
    """Tasks by step and item. What one of them raises ends the wait for the next change."""

    def __init__(self) -> None:
        self._tasks: dict[StepKey, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None

    def __contains__(self, key: StepKey) -> bool:
        return key in self._tasks

    def __iter__(self) -> Iterator[StepKey]:
        return iter(tuple(self._tasks))

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, key: StepKey, work: Coroutine[object, object, None]) -> None:
        self._tasks[key] = task = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._done(key, done))

    def leave(self, key: StepKey) -> None:
        """Count a task as ended that goes on for its last words."""
        self._tasks.pop(key, None)

    async def end(self, keys: Iterable[StepKey]) -> None:
        """Cancel the work on steps, and return when it has ended."""
        own = asyncio.current_task()
        tasks = [self._tasks.pop(key) for key in keys if key in self._tasks]
        tasks = [task for task in tasks if task is not own]
        for task in tasks:
            task.cancel()
        if tasks:
            await settled(*tasks)

    async def settled(self) -> None:
        """Return when all that is under way has ended by itself."""
        if tasks := tuple(self._tasks.values()):
            await asyncio.wait(tasks)

    def fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._changed.set()

    def note_change(self) -> None:
        self._changed.set()

    def begin_look(self) -> None:
        """What changes from now on ends the next ``change``; raises what a task has raised."""
        self._changed.clear()
        if self._failure is not None:
            raise self._failure

    async def change(self, seconds: float | None) -> None:
        """Return when something has changed since ``begin_look``, or after these seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _done(self, key: StepKey, task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
        self._changed.set()
