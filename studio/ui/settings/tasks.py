"""Work of the settings window on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from studio.domain.errors import StudioError


class Tasks:
    """Keeps what runs alive, and tells ``problem`` the words of what went wrong."""

    def __init__(self, problem: Callable[[str], None]) -> None:
        self._problem = problem
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except StudioError as error:
            self._problem(str(error))

    async def aclose(self) -> None:
        """Wait for what runs: a save that was begun is finished."""
        while self._running:
            await asyncio.wait(self._running)
