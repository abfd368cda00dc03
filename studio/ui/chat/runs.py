"""The turns that run now, whichever chat is on screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.agent.session import Session
    from studio.domain.events import Event
    from studio.domain.messages import Said


class Runs:
    """Drives sessions; what they show comes through their listeners.

    ``on_event`` hears what happens in any of them, on screen or not.
    """

    def __init__(
        self,
        on_error: Callable[[BaseException], None],
        on_event: Callable[[Session, Event], None],
    ) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._since: dict[str, float] = {}
        self._on_error = on_error
        self._on_event = on_event

    def start(self, session: Session, said: Sequence[Said]) -> None:
        """Begin a turn after the one that runs in this session, if one does."""
        before = self._tasks.get(session.info.id)
        task = asyncio.get_running_loop().create_task(self._drive(session, said, before))
        self._tasks[session.info.id] = task
        task.add_done_callback(lambda done: self._done(session.info.id, done))

    def since(self, session_id: str) -> float | None:
        """When the session's last wait or silence began, by ``time.monotonic``."""
        return self._since.get(session_id)

    async def _drive(
        self, session: Session, said: Sequence[Said], before: asyncio.Task[None] | None
    ) -> None:
        from studio.domain.events import RetryScheduled, Silent

        if before is not None:
            await asyncio.wait([before])
        async for event in session.turn(said):
            if isinstance(event, RetryScheduled):
                self._since[session.info.id] = time.monotonic()
            elif isinstance(event, Silent):
                self._since[session.info.id] = time.monotonic() - event.seconds
            self._on_event(session, event)

    def _done(self, session_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(session_id) is task:
            del self._tasks[session_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)

    async def finish(self) -> None:
        """Wait for every turn; each was asked to stop before."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
