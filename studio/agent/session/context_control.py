"""Context control: compacts, summarises and pins messages when the person asks for it (L-10).

The transcript keeps everything. Only the native history begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress

from studio.agent.context.compaction import ContextUsage
from studio.agent.services import Services
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import Notice, Pinned, SummaryEdited, SummaryUndone
from studio.providers.base import Request

from .agent_setup import AgentSetup
from .native_history import NativeHistory
from .session_state import SessionState
from .turn_builder import TurnBuilder

UNASKED = (
    "The model gets the whole conversation again. It is summed up again when you ask for it, or "
    "when it no longer fits."
)


class ContextControl:
    """Changes the native history of one session while no turn runs.

    ``exclusive`` reserves the session for that time; it raises ConfigurationError
    if the session can only be read, or a turn runs, here or in another program.
    """

    def __init__(
        self,
        session: SessionState,
        services: Services,
        builder: TurnBuilder,
        exclusive: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._session = session
        self._services = services
        self._builder = builder
        self._exclusive = exclusive
        self._tasks = BackgroundTasks()
        self.stop, self.settled = self._tasks.cancel, self._tasks.settled

    async def usage(self) -> ContextUsage:
        """The tokens of each part of the model's context, as the next request would be."""
        info, history = self._session.info, self._builder.history
        facts = self._services.model(info.provider, info.model)
        window = facts.context_window
        if not history.epoch:
            history = NativeHistory(self._session.store, info.id)
            await history.load()
        with suppress(StudioError, ProviderError):  # such as a missing key: the next turn says so
            provider = await self._services.provider(info.provider)
            window = await provider.context_window(
                Request(info.model, (), facts=facts, session=info.id)
            )
        return await self._builder.compactor.usage(history, window)

    async def compact(self) -> None:
        """Begin a new native history with old results shortened.

        Raises the errors of ``TurnBuilder.setup``.
        """
        await self._reopen(self._shorten)

    async def summarise(self) -> None:
        """Have the model summarise all but the last exchanges, for itself.

        ``stop`` ends it, and nothing has changed. Raises ConfigurationError if there
        is too little to summarise, and the errors of ``TurnBuilder.setup``.
        """
        await self._reopen(self._summarise)

    async def edit_summary(self, summary_id: str, text: str) -> None:
        """Replace a summary by the person's own words; the model gets them from now on."""
        self._session.require_sound()
        if not text.strip():
            raise ConfigurationError("A summary cannot be empty. Undo it instead.")
        self._session.record(SummaryEdited(summary_id, text))
        await self._refresh()

    async def undo_summary(self, summary_id: str) -> None:
        """Give the model again what a summary replaced; it is not summarised again unasked."""
        self._session.require_sound()
        self._session.record(SummaryUndone(summary_id))
        self._session.record(Notice(UNASKED))
        await self._refresh()

    async def pin(self, block: int, on: bool = True) -> None:
        """Keep a message of the transcript whole for the model, or no longer."""
        self._session.require_sound()
        self._session.record(Pinned(block, on))
        await self._refresh()

    async def _refresh(self) -> None:
        """Begin the native history anew if the transcript says that it is out of date."""
        await self._session.flush()
        if self._session.transcript.stale:
            with suppress(StudioError, ProviderError):  # the next turn does it, and says what fails
                await self._reopen()

    async def _reopen(self, change: Callable[[AgentSetup], Awaitable[None]] | None = None) -> None:
        """Open the native history while no turn runs, and change it; ``stop`` cancels that."""
        task = self._tasks.start(self._open_and(change))
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.result()

    async def _open_and(self, change: Callable[[AgentSetup], Awaitable[None]] | None) -> None:
        async with self._exclusive():
            setup = await self._builder.setup()
            for event in await self._builder.open(setup):
                self._session.record(event)
            if change is not None:
                await change(setup)

    async def _shorten(self, _: AgentSetup) -> None:
        await self._builder.compactor.shorten(self._session.record)

    async def _summarise(self, setup: AgentSetup) -> None:
        info = self._session.info
        budget = await self._services.budgets.for_turn(info, setup.agent, None)
        last = await self._session.store.last_sent(info.id)
        access = self._builder.model_access(setup, budget, last.usage.input if last else 0)
        await self._builder.compactor.summarise(access, self._session.record)
