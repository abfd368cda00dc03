"""What the model keeps of a conversation, as the person wants it (L-10).

Old results are shortened, earlier messages summed up, messages kept whole. The
transcript loses nothing: only the native history begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress

from studio.agent.context import ContextUsage
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import Event, Notice, Pinned, SummaryEdited, SummaryUndone
from studio.domain.transcript import Transcript

from .agent_setup import AgentSetup
from .turn_builder import TurnBuilder

UNASKED = (
    "The model gets the whole conversation again. It is summed up again when you ask for it, or "
    "when it no longer fits."
)


async def nothing_more(_: AgentSetup) -> None:
    """What is to be done besides, where nothing is."""


class ContextControl:
    """``alone`` holds the session for what is done to its history while no turn runs.

    ``sound`` raises ConfigurationError where a session can only be read, ``alone``
    also where a turn runs, here or elsewhere. ``flush`` stores what ``record`` took.
    """

    def __init__(
        self,
        transcript: Transcript,
        preparation: TurnBuilder,
        record: Callable[[Event], None],
        alone: Callable[[], AbstractAsyncContextManager[None]],
        sound: Callable[[], None],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._transcript = transcript
        self._preparation = preparation
        self._record = record
        self._alone = alone
        self._sound = sound
        self._flush = flush
        self._work: set[asyncio.Future[None]] = set()

    async def context(self) -> ContextUsage:
        """What takes how much of the model's context."""
        return await self._preparation.context()

    async def compact(self) -> None:
        """Begin a new native history with old results shortened.

        Raises what a turn's set-up would raise.
        """
        await self._anew(self._preparation.stub)

    async def summarise(self) -> None:
        """Have the model sum up all but the last exchanges, for itself.

        ``stop`` ends it, and nothing has changed. Raises ConfigurationError
        where there is too little to sum up, and what a turn's set-up would raise.
        """
        await self._anew(self._preparation.summarise)

    async def edit_summary(self, summary_id: str, text: str) -> None:
        """Replace a summary by the person's own words; the model gets them from now on."""
        self._sound()
        if not text.strip():
            raise ConfigurationError("A summary cannot be empty. Undo it instead.")
        self._record(SummaryEdited(summary_id, text))
        await self._refreshed()

    async def undo_summary(self, summary_id: str) -> None:
        """The model gets again what a summary stood for; it is not summed up again unasked."""
        self._sound()
        self._record(SummaryUndone(summary_id))
        self._record(Notice(UNASKED))
        await self._refreshed()

    async def pin(self, block: int, on: bool = True) -> None:
        """Keep a message of the transcript whole for the model, or no longer."""
        self._sound()
        self._record(Pinned(block, on))
        await self._refreshed()

    def stop(self) -> None:
        """End what is being done."""
        for task in self._work:
            task.cancel()

    async def settled(self) -> None:
        """Return when nothing is being done any more."""
        if self._work:
            await asyncio.wait(self._work)

    async def _refreshed(self) -> None:
        """Begin the native history anew if it is not what it should be; a turn does so too."""
        await self._flush()
        if self._transcript.stale:
            with suppress(StudioError, ProviderError):  # what is wrong, the next turn will say
                await self._anew()

    async def _anew(self, work: Callable[[AgentSetup], Awaitable[None]] = nothing_more) -> None:
        """Open the native history while no turn runs, and do something to it."""
        task = asyncio.ensure_future(self._open(work))
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.result()

    async def _open(self, work: Callable[[AgentSetup], Awaitable[None]]) -> None:
        async with self._alone():
            ground = await self._preparation.ground()
            for event in await self._preparation.open(ground):
                self._record(event)
            await work(ground)
