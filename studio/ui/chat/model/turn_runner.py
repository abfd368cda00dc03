"""Turn runner: runs the turns of all sessions, whichever chat is on screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from studio.ui.formatting import clock

if TYPE_CHECKING:
    from studio.agent.session.session import Session
    from studio.domain.agents import Mode
    from studio.domain.events import Event
    from studio.domain.messages import Said


class TurnRunner:
    """Runs turns and the queued messages that follow; sessions tell their listeners themselves.

    ``on_event`` gets what happens in any session, on screen or not. ``modes``
    are those that the person chose for the next turns, by session.
    """

    def __init__(
        self,
        on_error: Callable[[BaseException], None],
        on_event: Callable[[Session, Event], None],
    ) -> None:
        self.modes: dict[str, Mode] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sessions: dict[str, Session] = {}
        self._since: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._leaving = False
        self._on_error = on_error
        self._on_event = on_event

    def start(self, session: Session, said: Sequence[Said], mode: Mode | None = None) -> None:
        """Begin a turn after the one that runs in this session, if one does.

        When it is done, the messages queued meanwhile follow, one by one.
        """
        before = self._tasks.get(session.info.id)
        task = asyncio.get_running_loop().create_task(self._drive(session, said, mode, before))
        self._tasks[session.info.id] = task
        self._sessions[session.info.id] = session
        task.add_done_callback(lambda done: self._done(session.info.id, done))

    @property
    def running(self) -> list[Session]:
        """The sessions in which a turn runs, that which began first first."""
        return [session for session in self._sessions.values() if session.running]

    def stop(self, session_id: str) -> None:
        """End the turn that runs in a session, if one does."""
        if (session := self._sessions.get(session_id)) is not None:
            session.stop()

    def stop_all(self) -> None:
        for session in self.running:
            session.stop()

    def since(self, session_id: str) -> float | None:
        """When the session's last wait or silence began, by ``time.monotonic``."""
        return self._since.get(session_id)

    def progress(self, session_id: str) -> str:
        """“Step 3, 1:12” of a turn that runs; empty for a session at rest."""
        session, begun = self._sessions.get(session_id), self._begun.get(session_id)
        if session is None or begun is None or not session.running:
            return ""
        return f"Step {max(1, session.transcript.steps)}, {clock(time.monotonic() - begun)}"

    async def _drive(
        self,
        session: Session,
        said: Sequence[Said],
        mode: Mode | None,
        before: asyncio.Task[None] | None,
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        done = await self._turn(session, said, mode or self.modes.get(session.info.id))
        while done and not self._leaving and (said := session.queue.take_next()):
            done = await self._turn(session, said, self.modes.get(session.info.id))

    async def _turn(self, session: Session, said: Sequence[Said], mode: Mode | None) -> bool:
        """Whether the turn came to its own end."""
        from studio.domain.events import RetryScheduled, Silent, TurnComplete

        done, session_id = False, session.info.id
        self._begun[session_id] = time.monotonic()
        async for envelope in session.turn(said, mode=mode):
            event = envelope.event
            if isinstance(event, RetryScheduled):
                self._since[session_id] = time.monotonic()
            elif isinstance(event, Silent):
                self._since[session_id] = time.monotonic() - event.seconds
            elif isinstance(event, TurnComplete):
                done = event.reason == "done"
            self._on_event(session, event)
        return done

    def _done(self, session_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(session_id) is task:
            del self._tasks[session_id], self._sessions[session_id]
            self._begun.pop(session_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)

    def leave(self) -> None:
        """Begin no more turns: the program ends, and what is queued waits for its next start."""
        self._leaving = True

    async def finish(self) -> None:
        """Wait for every turn; each was asked to stop before."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
