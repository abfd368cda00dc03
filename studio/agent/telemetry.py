"""Telemetry: passes the events of runs and turns on to where spans are made of them (L-15, W-71).

It listens to the events of sessions as a view does, and is off while ``Settings.trace_endpoint``
is empty. What is in a span, ``trace_spans`` says. What is said in a chat is passed on only where
``Settings.trace_content`` asks for it, and never in chats about a thing of a pack, which says who
may see it (KZ-7).
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.events import (
    Event,
    Failed,
    RetryScheduled,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.sessions import Caller
from studio.storage.config.settings import Settings

from .trace_spans import Recorded, RunBegan, RunLeft, SpanWriter

if TYPE_CHECKING:
    from studio.domain.runs import Run

log = logging.getLogger(__name__)

MAX_QUEUED = 10_000
"""Events that may wait for the thread; further ones are dropped."""
SHUTDOWN_SECONDS = 2.0
"""Seconds that the end of the program waits for spans to be sent."""
_FOLLOWED = (
    TurnStarted | StepStarted | StepEnded | RetryScheduled | ToolQueued | ToolStarted
    | ToolFinished | Failed | TurnComplete
)  # fmt: skip


class Telemetry:
    """Receives the events of sessions and passes them to a thread, which does all the work.

    A turn never waits for it: importing, encoding and sending happen there,
    and what cannot be sent is dropped. ``notice`` gets one sentence if packages
    are missing or a collector does not answer, on the event loop's thread.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        notice: Callable[[str], None],
        private: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """``private`` says whether what is said in a session is in no trace."""
        self._settings, self._private = settings, private
        self._notice = notice
        self._recorded: queue.Queue[Recorded | None] = queue.Queue(MAX_QUEUED)
        self._thread: threading.Thread | None = None

    def record(self, envelope: EventEnvelope) -> None:
        """Pass an event to the thread if traces are on and include it."""
        values, event = self._settings(), envelope.event
        if not values.trace_endpoint:
            return
        content = values.trace_content and not self._private(envelope.session_id)
        if not (isinstance(event, _FOLLOWED) or (content and isinstance(event, TextDelta))):
            return
        self._record(envelope.session_id, event, envelope.caller, content=content)

    def run_began(self, run: Run) -> None:
        """Pass on that a run of a workflow is carried out from now on."""
        if self._settings().trace_endpoint and (started := run.started) is not None:
            about = RunBegan(run.id, started.name, started.parent, started.parent_step)
            self._record("", about, None)

    def run_left(self, run: Run) -> None:
        """Pass on that a run is over, or goes on another time."""
        if self._settings().trace_endpoint:
            self._record("", RunLeft(run.id, run.state), None)

    def _record(
        self,
        session_id: str,
        event: Event | RunBegan | RunLeft,
        caller: Caller | None,
        *,
        content: bool = False,
    ) -> None:
        values = self._settings()
        if self._thread is None:
            writer = SpanWriter(self._recorded, self._notify_once())
            self._thread = threading.Thread(target=writer.run, name="traces", daemon=True)
            self._thread.start()
        now, endpoint = time.time_ns(), values.trace_endpoint
        recorded = Recorded(now, session_id, event, endpoint, content, caller)
        try:
            self._recorded.put_nowait(recorded)
        except queue.Full:
            log.warning("an event is missing in the traces")

    def _notify_once(self) -> Callable[[str], None]:
        """A function that gives each notice once, from any thread."""
        loop, said = asyncio.get_running_loop(), set[str]()

        def tell(text: str) -> None:
            if text not in said and not loop.is_closed():
                said.add(text)
                loop.call_soon_threadsafe(self._notice, text)

        return tell

    async def close(self) -> None:
        """Send the remaining spans, for ``SHUTDOWN_SECONDS`` at most."""
        thread, self._thread = self._thread, None
        if thread is not None:
            try:
                self._recorded.put_nowait(None)
            except queue.Full:
                return
            await asyncio.to_thread(thread.join, SHUTDOWN_SECONDS)
