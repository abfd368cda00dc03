"""Runs the coroutines of the settings window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from studio.domain.errors import StudioError


class Tasks:
    """Keeps running coroutines alive. ``on_problem`` gets the text of an error they end with."""

    def __init__(self, on_problem: Callable[[str], object] = lambda _text: None) -> None:
        self.on_problem = on_problem
        self._running: set[asyncio.Task[None]] = set()
        self._long: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, object], *, waits: bool = True) -> asyncio.Task[None]:
        """``waits`` is False for what is given up when the window is gone, a download say."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        for kept in (self._running, *(() if waits else (self._long,))):
            kept.add(task)
            task.add_done_callback(kept.discard)
        return task

    async def _run(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except StudioError as error:
            self.on_problem(str(error))

    async def aclose(self) -> None:
        """Wait for what runs: a save that was begun is finished."""
        for task in self._long:
            task.cancel()
        while self._running:
            await asyncio.wait(self._running)
