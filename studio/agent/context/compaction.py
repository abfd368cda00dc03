"""Compaction: shortens the history when a conversation gets too long for its model (L-10).

There are two stages. First old results are cut to a line; if that is not enough, a
summary replaces all but the last exchanges. Each stage begins a new epoch of the
native history, built from the transcript (H-9). Nothing is changed in place, and
the transcript keeps everything.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from studio.agent.session.native_history import NativeHistory
from studio.domain.blocks import (
    ReasoningBlock,
    SummaryBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
    blocks_to_messages,
)
from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.events import Event, Summarised
from studio.domain.ledger import Sent
from studio.domain.messages import Message, ToolResult
from studio.domain.models import Usage
from studio.domain.transcript import SUMMED_UP, Transcript
from studio.providers.base import Request

from .summarizer import ModelAccess, SummaryWriter
from .token_count import BYTES_PER_TOKEN, ContextPart, TokenEstimator
from .truncation import SHORTENED, TRUNCATION_LENGTHS, shorten_results, truncate_results

TRIGGER_SHARE = 0.75
"""Of the window, from where on room is made."""
GOAL_SHARE = 0.8
"""Of what there is until then: more than that is not enough, the next step would fill it."""
RECENT_SHARE = 0.4
"""Of the same, what the last exchanges may have beside a summary."""
MIN_SAVED_SHARE = 0.05
"""Of the window; for less no history is begun anew."""
MIN_WINDOW = 4_096
"""Tokens: that a model has less is not believed because one request was refused."""
SUMMARY_WORDS = (60, 1_500)
"""Of a summary, the fewest and the most that are asked for."""
MAX_SUMMARY_INPUT = 400_000
"""Characters that are summed up at once where nobody knows the window."""

MAX_INLINE_ITEMS = 8
"""Items that are weighed at once; more are a thread's work."""

Emit = Callable[[Event], None]
Weighed = TypeVar("Weighed")
_Weighing = Callable[[NativeHistory, Sent | None, Usage], Weighed]


@dataclass(frozen=True, slots=True)
class WindowBudget:
    """Of a model's context, in tokens: system prompt and tools take ``head`` of the window."""

    window: int
    head: int

    @property
    def trigger(self) -> int:
        """From where on room is made; later where the head alone takes half of it."""
        return round(max(TRIGGER_SHARE * self.window, (self.window + self.head) / 2))

    @property
    def room(self) -> int:
        """For the conversation."""
        return max(self.trigger - self.head, 0)

    @property
    def goal(self) -> int:
        return self.head + round(GOAL_SHARE * self.room)


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """What takes how much of the context; ``window`` is None where nobody knows it."""

    parts: tuple[ContextPart, ...]
    window: int | None

    @property
    def used(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def free(self) -> int | None:
        return None if self.window is None else max(self.window - self.used, 0)


class Compactor:
    """Of one session. ``wanted`` says whether the person lets conversations be summed up.

    ``flush`` is awaited before a history that goes by what was emitted is begun.
    """

    def __init__(
        self,
        transcript: Transcript,
        history: NativeHistory,
        wanted: Callable[[], bool],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._transcript = transcript
        self._history = history
        self._may_summarize = wanted
        self._flush = flush
        self._estimator = TokenEstimator()
        self._weighing = asyncio.Lock()
        self._refused_sizes: dict[tuple[str, str], int] = {}
        """Tokens that a provider said were too many, by provider and model."""
        self._retry_above = 0
        """Tokens below which nothing is tried again: it was, and did not help."""

    async def fit(self, access: ModelAccess, emit: Emit, *, full: bool = False) -> bool:
        """Have a history that fits, ahead of a request; returns whether it is shorter now.

        ``full``: the provider said that it is too long. Raises ProviderError
        where the person's message alone is, and OverBudget.
        """
        if why := self._transcript.stale:  # changed by the person while the turn runs
            await self._begin_history(why, self._transcript.messages(), emit)
        tokens = await self.tokens()
        if full:
            self._refused_sizes[access.provider.name, access.model] = max(tokens, MIN_WINDOW)
        window = await self._window(access)
        if window is None:
            return False
        budget = WindowBudget(window, self._estimator.head)
        if not full and tokens <= max(budget.trigger, self._retry_above):
            return False
        if await self._shorten(access, emit, budget, tokens, full=full):
            self._retry_above = 0
            return True
        self._retry_above = tokens + window // 10
        if full:
            await self._check_last_message(access, window)
        return False

    async def shorten(self, emit: Emit) -> None:
        """Begin a history with old results shortened, needed or not."""
        await self._begin_history(SHORTENED, shorten_results(self._transcript.messages()), emit)

    async def summarise(self, access: ModelAccess, emit: Emit) -> None:
        """Sum up, needed or not. Raises ConfigurationError where there is nothing yet."""
        tokens = await self.tokens()
        window = await self._window(access) or round(tokens / TRIGGER_SHARE)
        budget = WindowBudget(window, self._estimator.head)
        kept = min(round(RECENT_SHARE * budget.room), (tokens - budget.head) // 2)
        if not await self._summarize(access, emit, budget, tokens, kept):
            raise ConfigurationError("There is too little before your last message to sum up.")
        self._retry_above = 0

    async def usage(self, history: NativeHistory, window: int | None) -> ContextUsage:
        """The tokens of each part, scaled to the provider's own figure."""
        parts = await self._weighed(self._estimator.parts, history)
        return ContextUsage(tuple(parts), window)

    async def tokens(self) -> int:
        """Of the next request: what the provider counted, and an estimate of the rest."""
        return await self._weighed(self._estimator.total, self._history)

    async def _weighed(self, of: _Weighing[Weighed], history: NativeHistory) -> Weighed:
        sent, usage = self._transcript.last_sent, self._transcript.last_usage
        async with self._weighing:
            if self._estimator.unweighed(history) <= MAX_INLINE_ITEMS:
                return of(history, sent, usage)
            return await asyncio.to_thread(of, history, sent, usage)

    async def _size(self, access: ModelAccess, messages: Sequence[Message]) -> int:
        """Tokens of a history built of these."""
        async with self._weighing:
            return await asyncio.to_thread(self._sized, access, messages)

    def _sized(self, access: ModelAccess, messages: Sequence[Message]) -> int:
        items = access.provider.rebuild(messages, access.facts)
        return self._estimator.of(self._history, items)

    async def _window(self, access: ModelAccess) -> int | None:
        """The model's, or what a refused request taught of it."""
        request = Request(access.model, (), facts=access.facts, session=access.session_id)
        try:
            known = await access.provider.context_window(request)
        except ProviderError:  # the request itself will say what is wrong
            known = access.facts.context_window if access.facts else None
        refused = self._refused_sizes.get((access.provider.name, access.model))
        if refused is None or known is None:
            return known or refused
        # A refusal far below what is known has other reasons.
        return min(known, max(refused, known // 4))

    async def _shorten(
        self, access: ModelAccess, emit: Emit, budget: WindowBudget, tokens: int, *, full: bool
    ) -> bool:
        """The first stage, or else the second; then what is left to do."""
        most = tokens - max(round(MIN_SAVED_SHARE * (tokens if full else budget.window)), 1)
        if tokens - budget.head < tokens - most:
            return False  # the conversation is not what takes the room
        overflows = full or tokens > budget.window
        may = self._may_summarize() and (overflows or not self._last_summary_undone)
        stubs = shorten_results(self._transcript.messages())
        size = await self._size(access, stubs)
        if size <= (min(budget.goal, most) if may else most):
            await self._begin_history(SHORTENED, stubs, emit)
            return True
        if may:
            kept = round(RECENT_SHARE * budget.room)
            if full:
                kept = min(kept, (tokens - budget.head) // 2)
            if await self._summarize(access, emit, budget, tokens, kept):
                return True
        if overflows:
            less = await self._shortened_to(access, budget.goal, self._transcript.messages())
            if await self._size(access, less) <= most:
                await self._begin_history(SHORTENED, less, emit)
                return True
        return False

    @property
    def _last_summary_undone(self) -> bool:
        """Whether the person undid the last summary: it is not written again unasked."""
        for block in reversed(self._transcript.blocks):
            if isinstance(block, SummaryBlock):
                return block.state == "undone"
        return False

    async def _summarize(
        self, access: ModelAccess, emit: Emit, budget: WindowBudget, tokens: int, kept: int
    ) -> bool:
        """The second stage, with about ``kept`` tokens left of the last exchanges."""
        transcript = self._transcript
        end = await self._find_end(access, kept + budget.head)
        if end is None:
            return False
        held = transcript.summary
        part = blocks_to_messages(transcript.blocks, end)
        characters = round(TRIGGER_SHARE * budget.window * BYTES_PER_TOKEN / self._estimator.ratio)
        least, most = SUMMARY_WORDS
        text = await SummaryWriter(access, transcript.steps, emit).write(
            part[1:] if held else part,
            held.text if held else "",
            characters=min(characters, MAX_SUMMARY_INPUT),
            words=min(max(budget.room // 10, least), most),
        )
        summary = SummaryBlock(uuid.uuid4().hex, text, end)
        messages = blocks_to_messages([*transcript.blocks, summary])
        less = await self._shortened_to(access, budget.goal, messages)
        after = await self._size(access, less)
        if after >= tokens:
            return False
        emit(Summarised(summary.summary_id, text, end, tokens, after))
        await self._flush()
        await self._begin_history(SUMMED_UP, less, emit)
        return True

    async def _find_end(self, access: ModelAccess, most: int) -> int | None:
        """Where the part to be summed up ends: as early as what follows is no more than that."""
        blocks = list(self._transcript.blocks)
        held = self._transcript.summary
        ends = [end for end in _possible_ends(blocks) if end > (held.blocks if held else 0)]
        if not ends:
            return None

        def fits(end: int) -> bool:
            summary = SummaryBlock("", "", end)
            return self._sized(access, blocks_to_messages([*blocks, summary])) <= most

        def earliest() -> int:
            low, high = 0, len(ends) - 1  # the last one is taken whether it fits or not
            while low < high:
                middle = (low + high) // 2
                if fits(ends[middle]):
                    high = middle
                else:
                    low = middle + 1
            return ends[low]

        async with self._weighing:
            return await asyncio.to_thread(earliest)

    async def _shortened_to(
        self, access: ModelAccess, goal: int, messages: list[Message]
    ) -> list[Message]:
        """The first of these that is no more than the goal, or else the last."""
        stubs = shorten_results(messages)
        less = messages
        for less in (
            messages,
            stubs,
            *(truncate_results(stubs, most) for most in TRUNCATION_LENGTHS),
        ):
            if await self._size(access, less) <= goal:
                break
        return less

    async def _begin_history(self, why: str, messages: Sequence[Message], emit: Emit) -> None:
        seen = why != SHORTENED  # a summary is seen by itself
        for event in await self._history.renew(why, lambda: messages, quiet=seen):
            emit(event)

    async def _check_last_message(self, access: ModelAccess, window: int) -> None:
        said = [message for message in self._transcript.messages() if _is_said(message)]
        alone = await self._size(access, said[-1:])
        if alone > window * 0.9:
            raise ProviderError(
                "too_long",
                f"Your message, with the instructions, is about {alone:,} tokens, and "
                f"{access.model} reads {window:,} at once. Shorten it, attach less, or choose a "
                "model that reads more.",
                provider=access.provider.name,
            )


def _is_said(message: Message) -> bool:
    return message.role == "user" and not any(isinstance(b, ToolResult) for b in message.blocks)


def _possible_ends(blocks: Sequence[TranscriptBlock]) -> list[int]:
    """Where a part to be summed up may end: before a message, or between two steps.

    Only the last exchange is taken apart: its last step stays whole.
    """
    messages = [n for n, b in enumerate(blocks) if isinstance(b, UserBlock) and not b.steered]
    ends = messages[1:]
    step: ToolBlock | None = None
    start = messages[-1] if messages else 0
    for index in range(start, len(blocks)):
        block = blocks[index]
        if isinstance(block, ToolBlock):
            if step is not None and block.step != step.step:
                ends.append(index)
            step = block
        elif isinstance(block, TextBlock | ReasoningBlock | UserBlock) and step is not None:
            ends.append(index)
            step = None
    return ends
