"""Turn context: describes what a turn runs on, its state, its end, its events and its guards.

``TurnContext`` is fixed when the turn begins, ``TurnState`` changes with each
step. ``TurnEvents`` records the events in order. A ``Guard`` is called at
fixed points of the loop and may end the turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from typing import Literal

from studio.agent.budget import OverBudget
from studio.agent.context.cache_ledger import CacheLedger
from studio.agent.context.compaction import Compactor
from studio.agent.context.summarizer import ModelAccess
from studio.agent.permission.approval import WorkClock
from studio.agent.prompts import CALL_CANCELLED, CALL_OUT_OF_TIME
from studio.agent.session.native_history import NativeHistory
from studio.domain.agents import Limits
from studio.domain.events import (
    Cap,
    CompletionReason,
    Event,
    MessageQueued,
    ReasoningDelta,
    StepEnded,
    TextDelta,
    Told,
    TurnStarted,
)
from studio.domain.messages import ToolCall, ToolResult
from studio.domain.models import DEFAULT_GENERATION, Generation, Usage
from studio.domain.records import dataclass
from studio.domain.tools import Effect
from studio.providers.base import Reply
from studio.storage.exchanges import ExchangeRecorder


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended; see ``TurnComplete``."""

    reason: CompletionReason
    detail: str = ""
    cap: Cap | Literal[""] = ""
    retry_after: float | None = None
    limit: float = 0.0


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A tool call with its result, and what the description of its tool says of it."""

    call: ToolCall
    result: ToolResult
    effect: Effect
    steady: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFrame:
    """What every turn begins and ends with.

    ``opened`` are events that are emitted after ``started``. ``close`` is awaited once at the
    end of the turn; the events it returns come before ``TurnComplete``.
    """

    started: TurnStarted
    history: NativeHistory
    close: Callable[[], Awaitable[Sequence[Event]]]
    opened: Sequence[Event] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext(TurnFrame):
    """What a turn of a model runs on; fixed while it runs.

    ``access`` has the provider and the model. ``updates`` returns the notes that the model
    needs now (H-6), until a ``Told`` event records them. ``steering`` holds the person's
    messages to the running turn.
    """

    access: ModelAccess
    compactor: Compactor
    ledger: CacheLedger
    updates: Callable[[], Awaitable[Sequence[Told]]]
    generation: Generation = DEFAULT_GENERATION
    steering: deque[MessageQueued] = field(default_factory=deque[MessageQueued])
    recorder: ExchangeRecorder | None = None
    """Keeps what is exchanged with the provider; None where nobody wants that."""
    opening: Sequence[ToolCall] = ()
    """Calls that are made before the first request: what the person called asks for them."""
    resumable: bool = False
    """Whether calls have no results if the turn is stopped, so that a later turn makes them."""


@dataclass(slots=True)
class TurnState:
    """The progress of a turn, and its limits: the person may raise them meanwhile (C-1)."""

    limits: Limits
    clock: WorkClock = field(default_factory=WorkClock)
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    answer: list[str] = field(default_factory=list[str])
    """The pieces of the text of this step."""
    notes: list[Told] = field(default_factory=list[Told])
    """Notes to the model for the next request, in addition to ``TurnContext.updates``."""
    asked: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])
    """Open questions whether the turn may go on beyond a limit, by what it limits."""
    stop_reason: CompletionReason = "cancelled"
    """Why the turn's task is cancelled, if it is."""

    def apply(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.answer.append(event.text)
        elif isinstance(event, StepEnded):
            self.usage += event.usage

    @property
    def out_of_time(self) -> bool:
        return self.stop_reason == "time_limit"

    def reason_for_calls(self, error: BaseException, otherwise: str) -> str:
        """The result, for the model, of calls that ``error`` kept from running."""
        if not isinstance(error, asyncio.CancelledError):
            return otherwise
        return CALL_OUT_OF_TIME if self.out_of_time else CALL_CANCELLED


class Guard:
    """Watches one turn. A hook that returns a ``TurnEnd`` ends the turn.

    The base class does nothing: a guard overrides the hooks it needs.
    """

    def on_event(self, event: Event) -> None:
        """An event was recorded; not called for text and reasoning."""

    def files_changed(self) -> None:
        """The person changed files while the turn runs."""

    async def before_request(self, state: TurnState) -> None:
        """A request is about to be sent; it includes notes added to ``state.notes``."""

    async def over_budget(self, error: OverBudget, state: TurnState) -> bool:
        """A request would go beyond a cap; returns whether it may be tried again."""
        return False

    def before_tools(self, calls: Sequence[ToolCall]) -> TurnEnd | None:
        """The model made calls, and none has run; none runs if the turn ends here."""
        return None

    def after_tools(self, calls: Sequence[FinishedCall], state: TurnState) -> TurnEnd | None:
        """All calls of a reply have their results."""
        return None

    async def after_reply(self, reply: Reply, state: TurnState) -> TurnEnd | None:
        """A reply without calls is about to end the turn; a note in ``state`` continues it."""
        return None


class TurnEvents:
    """Records the events of one turn in order; ``record`` receives each when it happens."""

    def __init__(
        self, record: Callable[[Event], None], state: TurnState, guards: Sequence[Guard]
    ) -> None:
        self._record = record
        self._state = state
        self._guards = guards
        self._text: list[TextDelta | ReasoningDelta] = []

    def emit(self, event: Event) -> None:
        """Record an event; text that arrives together is merged into one event."""
        if isinstance(event, TextDelta | ReasoningDelta):
            if self._text and type(self._text[0]) is not type(event):
                self.flush()
            if not self._text:
                asyncio.get_running_loop().call_soon(self.flush)
            self._text.append(event)
            return
        self.flush()
        for guard in self._guards:
            guard.on_event(event)
        self._publish(event)

    def flush(self) -> None:
        """Record the merged text so far."""
        if self._text:
            first, *more = self._text
            event = replace(first, text="".join(one.text for one in self._text)) if more else first
            self._text.clear()
            self._publish(event)

    def _publish(self, event: Event) -> None:
        self._state.apply(event)
        self._record(event)
