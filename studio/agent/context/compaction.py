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
from typing import TypeVar

from studio.agent.prompts import PLAN_NOW
from studio.agent.session.native_history import NativeHistory
from studio.agent.session.session_state import SessionState
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
from studio.domain.events import FIRST_TOPICS, Event, Summarised
from studio.domain.ledger import Sent
from studio.domain.messages import Message, Text, ToolResult
from studio.domain.models import Usage
from studio.domain.records import dataclass
from studio.domain.transcript import SUMMED_UP, Conversation
from studio.providers.base import Request

from .summarizer import ModelAccess, SummaryWriter
from .token_count import BYTES_PER_TOKEN, ContextPart, RequestTokens, TokenEstimator
from .truncation import SHORTENED, TRUNCATION_LENGTHS, shorten_results, truncate_results

TRIGGER_SHARE = 0.75
"""Share of the window at which a history is shortened."""
GOAL_SHARE = 0.8
"""Share of the tokens up to that point that a shortened history may have."""
RECENT_SHARE = 0.4
"""Share of the same tokens that the last exchanges may have beside a summary."""
MIN_SAVED_SHARE = 0.05
"""Share of the window; a new history has to save at least this much."""
MIN_STUBS_SHARE = 0.15
"""The same where only results are shortened and the old history still fits: each new one costs
what the provider had cached (C-26)."""
MIN_WINDOW = 4_096
"""Tokens; a refused request never lowers the assumed window below this."""
SUMMARY_WORDS = (60, 1_500)
"""The smallest and the largest length of a summary that is requested, in words."""
MAX_SUMMARY_INPUT = 400_000
"""Characters that one summary reads at most."""

MAX_INLINE_ITEMS = 8
"""New items that are estimated on the event loop; more are estimated in a thread."""

Emit = Callable[[Event], None]
Weighed = TypeVar("Weighed")
_Weighing = Callable[[NativeHistory, Sent | None, Usage], Weighed]


@dataclass(frozen=True, slots=True)
class WindowBudget:
    """The window of a model in tokens; system prompt and tools take ``head`` of it."""

    window: int
    head: int

    @property
    def trigger(self) -> int:
        """Tokens at which the history is shortened; more if the head takes half of the window."""
        return round(max(TRIGGER_SHARE * self.window, (self.window + self.head) / 2))

    @property
    def room(self) -> int:
        """Tokens for the conversation."""
        return max(self.trigger - self.head, 0)

    @property
    def goal(self) -> int:
        return self.head + round(GOAL_SHARE * self.room)


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """The tokens of each part of the context; ``window`` is None if it is not known."""

    parts: tuple[ContextPart, ...]
    window: int | None

    @property
    def used(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def free(self) -> int | None:
        return None if self.window is None else max(self.window - self.used, 0)


class Compactor:
    """The compactor of one session. ``wanted`` says whether the person allows summaries.

    ``before_summary`` is awaited before one is written, also before one that was asked for (K-8).
    """

    def __init__(
        self,
        session: SessionState,
        history: NativeHistory,
        wanted: Callable[[], bool],
        before_summary: Callable[[str], Awaitable[None]],
    ) -> None:
        self._transcript = session.transcript
        self._history = history
        self._may_summarize = wanted
        self._before_summary = before_summary
        self._flush = session.flush
        """Awaited before a history begins that depends on emitted events."""
        self._estimator = TokenEstimator()
        self._weighing = asyncio.Lock()
        self._refused_sizes: dict[tuple[str, str], int] = {}
        """Tokens of histories that a provider refused as too long, by provider and model."""
        self._retry_above = 0
        """Tokens below which compaction is not tried again after it did not help."""

    async def fit(self, access: ModelAccess, emit: Emit, *, full: bool = False) -> bool:
        """Shorten the history before a request if it does not fit; returns whether it did.

        ``full``: the provider refused the history as too long. Raises ProviderError if the
        person's message alone is too long, and OverBudget.
        """
        if why := self._transcript.stale:  # the person changed it while the turn ran
            await self._begin_history(why, self._transcript.conversation(), emit)
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
        """Begin a history with shortened old results, even if it is not needed."""
        messages, changes = self._transcript.conversation()
        shorter = Conversation(shorten_results(messages), changes)
        await self._begin_history(SHORTENED, shorter, emit)

    async def summarise(self, access: ModelAccess, emit: Emit) -> None:
        """Summarise even if it is not needed; raises ConfigurationError if there is too little."""
        tokens = await self.tokens()
        window = await self._window(access) or round(tokens / TRIGGER_SHARE)
        budget = WindowBudget(window, self._estimator.head)
        kept = min(round(RECENT_SHARE * budget.room), (tokens - budget.head) // 2)
        if not await self._summarize(access, emit, budget, tokens, kept, "manual"):
            raise ConfigurationError("There is too little before your last message to sum up.")
        self._retry_above = 0

    async def usage(self, history: NativeHistory, window: int | None) -> ContextUsage:
        """The tokens of each part, scaled to the provider's count."""
        parts = await self._weighed(self._estimator.parts, history)
        return ContextUsage(tuple(parts), window)

    async def tokens(self) -> int:
        """Tokens of the next request: the provider's count plus an estimate of new items."""
        return await self._weighed(self._estimator.total, self._history)

    async def bounds(self) -> RequestTokens:
        """Tokens of the next request, see ``TokenEstimator.bounds``."""
        return await self._weighed(self._estimator.bounds, self._history)

    async def _weighed(self, of: _Weighing[Weighed], history: NativeHistory) -> Weighed:
        sent, usage = self._transcript.last_sent, self._transcript.last_usage
        async with self._weighing:
            if self._estimator.unweighed(history) <= MAX_INLINE_ITEMS:
                return of(history, sent, usage)
            return await asyncio.to_thread(of, history, sent, usage)

    async def _size(self, access: ModelAccess, messages: Sequence[Message]) -> int:
        """Tokens of a history built from these messages."""
        async with self._weighing:
            return await asyncio.to_thread(self._sized, access, messages)

    def _sized(self, access: ModelAccess, messages: Sequence[Message]) -> int:
        items = access.provider.rebuild(messages, access.facts)
        told, plan = self._transcript.told, self._transcript.plan
        again = [told[topic] for topic in sorted(FIRST_TOPICS) if topic in told]  # each history's
        again += [PLAN_NOW.format(lines="\n".join(plan.lines))] if plan is not None else []
        if again:
            items += access.provider.user_items([Text(text) for text in again])
        return self._estimator.of(self._history, items)

    async def _window(self, access: ModelAccess) -> int | None:
        """The model's window in tokens, limited by the size of refused requests; or None."""
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
        """Try the first stage, then a summary, then truncation; returns whether one helped."""
        room = tokens if full else budget.window
        most = tokens - max(round(MIN_SAVED_SHARE * room), 1)
        if tokens - budget.head < tokens - most:
            return False  # the conversation is not what takes the room
        overflows = full or tokens > budget.window
        may = self._may_summarize() and (overflows or not self._last_summary_undone)
        messages, changes = self._transcript.conversation()
        stubs = shorten_results(messages)
        size = await self._size(access, stubs)
        few = most if overflows else tokens - round(MIN_STUBS_SHARE * room)
        if size <= (min(budget.goal, few) if may else few):
            await self._begin_history(SHORTENED, Conversation(stubs, changes), emit)
            return True
        if may:
            kept = round(RECENT_SHARE * budget.room)
            if full:
                kept = min(kept, (tokens - budget.head) // 2)
            if await self._summarize(access, emit, budget, tokens, kept):
                return True
        if overflows:
            messages, changes = self._transcript.conversation()
            less = await self._shortened_to(access, budget.goal, messages)
            if await self._size(access, less) <= most:
                await self._begin_history(SHORTENED, Conversation(less, changes), emit)
                return True
        return False

    @property
    def _last_summary_undone(self) -> bool:
        """Whether the person undid the last summary; it is not written again without need."""
        blocks = reversed(self._transcript.blocks)
        return next((b.state == "undone" for b in blocks if isinstance(b, SummaryBlock)), False)

    async def _summarize(
        self,
        access: ModelAccess,
        emit: Emit,
        budget: WindowBudget,
        tokens: int,
        kept: int,
        trigger: str = "auto",
    ) -> bool:
        """Replace all but about ``kept`` tokens of the last exchanges by a summary."""
        transcript = self._transcript
        end = await self._find_end(access, kept + budget.head)
        if end is None:
            return False
        await self._before_summary(trigger)
        held = transcript.summary
        part = blocks_to_messages(transcript.blocks, end)
        # A character counts as a byte: of other scripts less is asked for, never too much.
        characters = round(TRIGGER_SHARE * budget.window * BYTES_PER_TOKEN / self._estimator.ratio)
        least, most = SUMMARY_WORDS
        text = await SummaryWriter(access, transcript.steps, emit).write(
            part[1:] if held else part,
            held.text if held else "",
            characters=min(characters, MAX_SUMMARY_INPUT),
            words=min(max(budget.room // 10, least), most),
        )
        summary = SummaryBlock(uuid.uuid4().hex, text, end)
        messages, changes = blocks_to_messages([*transcript.blocks, summary]), transcript.changes
        less = await self._shortened_to(access, budget.goal, messages)
        after = await self._size(access, less)
        if after >= tokens:
            return False
        emit(Summarised(summary.summary_id, text, end, tokens, after))
        await self._flush()
        await self._begin_history(SUMMED_UP, Conversation(less, changes), emit)
        return True

    async def _find_end(self, access: ModelAccess, most: int) -> int | None:
        """The earliest end of the part to summarise after which at most ``most`` tokens remain."""
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
        self, access: ModelAccess, goal: int, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """The messages with as little truncation as meets the goal, or with the most."""
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

    async def _begin_history(self, why: str, conversation: Conversation, emit: Emit) -> None:
        seen = why != SHORTENED  # a summary has its own block
        for event in await self._history.renew(why, conversation, quiet=seen):
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
    """Where the part to summarise may end: before a message, or between two steps.

    Only the last exchange is split between steps; its last step stays whole.
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
