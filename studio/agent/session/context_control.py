"""Context control: compacts, summarises and pins messages when the person asks for it (L-10).

The transcript loses nothing: only the native history begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress

from studio.agent.context import ContextUsage
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import Notice, Pinned, SummaryEdited, SummaryUndone

from .agent_setup import AgentSetup
from .session_state import SessionState
from .turn_builder import TurnBuilder

UNASKED = (
    "The model gets the whole conversation again. It is summed up again when you ask for it, or "
    "when it no longer fits."
)


async def nothing_more(_: AgentSetup) -> None:
    """What is to be done besides, where nothing is."""


class ContextControl:
    """Changes the native history of one session while no turn runs.

    ``exclusive`` holds the session for that time; it raises ConfigurationError
    where a session can only be read, or a turn runs, here or elsewhere.
    """

    def __init__(
        self,
        session: SessionState,
        builder: TurnBuilder,
        exclusive: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._session = session
        self._builder = builder
        self._exclusive = exclusive
        self._tasks = BackgroundTasks()

    async def context(self) -> ContextUsage:
        """What takes how much of the model's context."""
        return await self._builder.context()

    async def compact(self) -> None:
        """Begin a new native history with old results shortened.

        Raises what a turn's set-up would raise.
        """
        await self._anew(self._builder.stub)

    async def summarise(self) -> None:
        """Have the model sum up all but the last exchanges, for itself.

        ``stop`` ends it, and nothing has changed. Raises ConfigurationError
        where there is too little to sum up, and what a turn's set-up would raise.
        """
        await self._anew(self._builder.summarise)

    async def edit_summary(self, summary_id: str, text: str) -> None:
        """Replace a summary by the person's own words; the model gets them from now on."""
        self._session.require_sound()
        if not text.strip():
            raise ConfigurationError("A summary cannot be empty. Undo it instead.")
        self._session.record(SummaryEdited(summary_id, text))
        await self._refreshed()

    async def undo_summary(self, summary_id: str) -> None:
        """The model gets again what a summary stood for; it is not summed up again unasked."""
        self._session.require_sound()
        self._session.record(SummaryUndone(summary_id))
        self._session.record(Notice(UNASKED))
        await self._refreshed()

    async def pin(self, block: int, on: bool = True) -> None:
        """Keep a message of the transcript whole for the model, or no longer."""
        self._session.require_sound()
        self._session.record(Pinned(block, on))
        await self._refreshed()

    def stop(self) -> None:
        """End what is being done."""
        self._tasks.cancel()

    async def settled(self) -> None:
        """Return when nothing is being done any more."""
        await self._tasks.settled()

    async def _refreshed(self) -> None:
        """Begin the native history anew if it is not what it should be; a turn does so too."""
        await self._session.flush()
        if self._session.transcript.stale:
            with suppress(StudioError, ProviderError):  # what is wrong, the next turn will say
                await self._anew()

    async def _anew(self, work: Callable[[AgentSetup], Awaitable[None]] = nothing_more) -> None:
        """Open the native history while no turn runs, and do something to it."""
        task = self._tasks.start(self._open(work))
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.result()

    async def _open(self, work: Callable[[AgentSetup], Awaitable[None]]) -> None:
        async with self._exclusive():
            setup = await self._builder.setup()
            for event in await self._builder.open(setup):
                self._session.record(event)
            await work(setup)
