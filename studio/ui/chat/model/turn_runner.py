"""Turn runner: runs the turns of all sessions, whichever chat is on screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from studio.domain.records import dataclass
from studio.ui.formatting import clock
from studio.ui.translation import tr

if TYPE_CHECKING:
    from studio.agent.session.session import Session
    from studio.domain.agents import Mode
    from studio.domain.events import Event, MessageQueued
    from studio.domain.messages import Said


FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
"""Seconds between two looks whether a provider can be reached again; doubled each time."""


@dataclass(slots=True)
class _Run:
    """The turns that run in a session, one after the other; times by ``time.monotonic``."""

    session: Session
    begun: float
    """When the present turn began, later by the time that the person took for answers."""
    task: asyncio.Task[None] | None = None
    """The last task that was started; it waits for the one before."""
    quiet_since: float = 0.0
    """When its last event came."""
    waiting_since: float | None = None
    """When its last wait or silence began."""
    asked_at: float | None = None
    """When the person was asked something that is not answered yet."""
    said: bool = False
    """Whether the chat has the message that was sent last: its turn has begun."""
    failed_at: str = ""
    """The provider whose connection failed in the last turn; empty if it did not."""
    offline: bool = False
    """Whether its message waits until the provider can be reached."""
    look: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to look at once whether the provider can be reached, or to wait no longer."""


class TurnRunner:
    """Runs turns and the queued messages that follow; sessions call their listeners themselves.

    ``on_event`` gets what happens in any session, on screen or not, but more text. ``modes``
    are those that the person chose for the next turns, by session. ``reachable`` finds out
    whether a provider can be reached: a message waits while it cannot.
    """

    def __init__(
        self,
        on_error: Callable[[BaseException], None],
        on_event: Callable[[Session, Event], None],
    ) -> None:
        self.modes: dict[str, Mode] = {}
        self.reachable: Callable[[str], Awaitable[bool]] | None = None
        self.offline_listeners: list[Callable[[str], None]] = []
        """Called with the id of a session that begins to wait for its provider, or ends that."""
        self._runs: dict[str, _Run] = {}
        self._closing = False
        self._on_error = on_error
        self._on_event = on_event

    def start(
        self,
        session: Session,
        message: Sequence[Said] | MessageQueued,
        mode: Mode | None = None,
        *,
        unsaid: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin a turn after the one that runs in this session, if one does.

        When it is done, the messages queued meanwhile follow, one by one. ``unsaid`` is called
        if an error kept the turn from beginning: the chat does not have the message.
        """
        session_id = session.info.id
        run = self._runs.setdefault(session_id, _Run(session, time.monotonic()))
        run.session = session  # it may have been opened again since
        turns = self._run_turns(run, message, mode, run.task, unsaid)
        run.task = task = asyncio.get_running_loop().create_task(turns)
        task.add_done_callback(lambda task: self._ended(session_id, task))

    @property
    def running(self) -> list[Session]:
        """The sessions in which a turn runs, in the order of their beginning."""
        return [run.session for run in self._runs.values() if run.session.running]

    def stop(self, session_id: str) -> None:
        """End the turn that runs in a session, or its wait for the network."""
        if (run := self._runs.get(session_id)) is not None:
            run.session.stop()
            self._set_offline(run, offline=False)

    def works_on(self, session_id: str) -> bool:
        """Whether a turn runs in a session, or one of its messages waits."""
        return session_id in self._runs

    def is_offline(self, session_id: str) -> bool:
        """Whether a session's message waits until its provider can be reached."""
        run = self._runs.get(session_id)
        return run is not None and run.offline

    def look_again(self, session_id: str) -> None:
        """Look at once whether the provider of a session that waits can be reached."""
        if (run := self._runs.get(session_id)) is not None:
            run.look.set()

    def stop_all(self) -> None:
        for session in self.running:
            session.stop()

    def waiting_since(self, session_id: str) -> float | None:
        """When the last wait or silence of a running turn began, by ``time.monotonic``."""
        run = self._runs.get(session_id)
        return None if run is None else run.waiting_since

    def quiet_since(self, session_id: str) -> float | None:
        """When the last event of a running turn came, texts left out, by ``time.monotonic``."""
        run = self._runs.get(session_id)
        return None if run is None else run.quiet_since

    def progress(self, session_id: str) -> str:
        """“Step 3, 1:12” of a turn that runs; empty for a session at rest."""
        run = self._runs.get(session_id)
        if run is None or not run.session.running:
            return ""
        steps = max(1, run.session.transcript.steps)
        time_so_far = clock(self.worked(session_id) or 0.0)
        return tr("Step {step}, {time}").format(step=steps, time=time_so_far)

    def worked(self, session_id: str) -> float | None:
        """Seconds for which a turn has run, without those in which it waited for an answer."""
        run = self._runs.get(session_id)
        if run is None or not run.session.running:
            return None
        return (run.asked_at or time.monotonic()) - run.begun

    async def _run_turns(
        self,
        run: _Run,
        message: Sequence[Said] | MessageQueued,
        mode: Mode | None,
        before: asyncio.Task[None] | None,
        unsaid: Callable[[], None],
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        run.said = False
        try:
            done = await self._run_until_sent(run, message, mode)
        except Exception:  # whatever it was, what the person wrote is kept
            if not run.said:
                unsaid()
            raise
        while done and not self._closing and (queued := run.session.queue.next):
            done = await self._run_until_sent(run, queued)

    async def _run_until_sent(
        self, run: _Run, message: Sequence[Said] | MessageQueued, mode: Mode | None = None
    ) -> bool:
        """Run a turn, and again each time its provider can be reached after it could not be.

        Returns whether it came to its own end.
        """
        done = await self._run_turn(run, message, mode)
        while run.failed_at and await self._wait_for_network(run):
            done = await self._run_turn(run, (), mode)
        return done

    async def _wait_for_network(self, run: _Run) -> bool:
        """Wait until the session's provider can be reached; False if it could be all the time.

        False also if the person does not want to wait, or the window closes.
        """
        if self.reachable is None or await self.reachable(run.session.info.provider):
            return False
        run.look.clear()
        self._set_offline(run, offline=not self._closing)
        pause = FIRST_PAUSE
        while run.offline:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await run.look.wait()
            run.look.clear()
            pause = min(2 * pause, LONGEST_PAUSE)
            if run.offline and await self.reachable(run.session.info.provider):
                break
        back = run.offline  # else the person, or the end of the program, ended the wait
        self._set_offline(run, offline=False)
        return back

    def _set_offline(self, run: _Run, *, offline: bool) -> None:
        if run.offline != offline:
            run.offline = offline
            run.look.set()
            for listener in tuple(self.offline_listeners):
                listener(run.session.info.id)

    async def _run_turn(
        self, run: _Run, message: Sequence[Said] | MessageQueued, mode: Mode | None = None
    ) -> bool:
        """Whether the turn came to its own end."""
        from studio.domain.events import (
            AwaitingPermission,
            AwaitingReply,
            Failed,
            PermissionResolved,
            ReplyGiven,
            RetryScheduled,
            Silent,
            TurnComplete,
            TurnStarted,
        )

        done, session = False, run.session
        run.begun, run.waiting_since, run.asked_at = time.monotonic(), None, None
        run.failed_at, run.quiet_since = "", time.monotonic()
        mode = mode or self.modes.get(session.info.id)
        async for envelope in session.turn(message, mode=mode, mentions=True, texts=False):
            event = envelope.event
            run.quiet_since = time.monotonic()
            if isinstance(event, TurnStarted):
                run.said = True
            if isinstance(event, RetryScheduled):
                run.waiting_since = time.monotonic()
            elif isinstance(event, Silent):
                run.waiting_since = time.monotonic() - event.seconds
            elif isinstance(event, AwaitingPermission | AwaitingReply):
                run.asked_at = time.monotonic()
            elif isinstance(event, PermissionResolved | ReplyGiven) and run.asked_at is not None:
                run.begun += time.monotonic() - run.asked_at
                run.asked_at = None
            elif isinstance(event, Failed):
                run.failed_at = event.provider if event.fault == "network" else ""
            elif isinstance(event, TurnComplete):
                done = event.reason == "done"
            self._on_event(session, event)
        return done

    def _ended(self, session_id: str, task: asyncio.Task[None]) -> None:
        if (run := self._runs.get(session_id)) is not None and run.task is task:
            del self._runs[session_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)

    def close(self) -> None:
        """Begin no more turns; what is queued waits for the program's next start."""
        self._closing = True
        for run in list(self._runs.values()):
            self._set_offline(run, offline=False)

    async def finish(self) -> None:
        """Wait for every turn; each was asked to stop before."""
        while self._runs:
            await asyncio.wait([run.task for run in self._runs.values() if run.task])
