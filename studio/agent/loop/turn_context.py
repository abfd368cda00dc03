"""The context and state of one turn: what it runs on, how far it is, how it ends.

``TurnContext`` is fixed when the turn begins, ``TurnState`` changes with each
step. ``TurnEvents`` records the events in order. A ``Guard`` is called at
fixed points of the loop and may end the turn.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from studio.agent.context.cache_ledger import CacheLedger
from studio.agent.context.compaction import Compactor
from studio.agent.context.summarizer import ModelAccess
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
from studio.domain.tools import Effect
from studio.providers.base import Reply

from .prompts import CALL_CANCELLED, CALL_OUT_OF_TIME


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended; see ``TurnComplete``."""

    reason: CompletionReason
    detail: str = ""
    cap: Cap | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A tool call, its result, and what the tool does to the world."""

    call: ToolCall
    result: ToolResult
    effect: Effect


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a turn runs on. Nothing here is replaced while it runs.

    ``access`` has the provider and the model. ``updates`` returns what the
    model has to be told now (H-6); the ``Told`` event removes it from there.
    ``close`` is awaited once when the work is over, however it ended; the
    events it returns come before ``TurnComplete``. ``steering`` holds what the
    person says to the running turn.
    """

    started: TurnStarted
    limits: Limits
    access: ModelAccess
    history: NativeHistory
    compactor: Compactor
    ledger: CacheLedger
    updates: Callable[[], Sequence[Told]]
    close: Callable[[], Awaitable[Sequence[Event]]]
    generation: Generation = DEFAULT_GENERATION
    steering: deque[MessageQueued] = field(default_factory=deque[MessageQueued])
    opened: Sequence[Event] = ()
    """What happened when the history was opened; emitted after ``started``."""


class WorkClock:
    """Counts the seconds of work; it is paused while the person is asked (L-11)."""

    def __init__(self) -> None:
        self._worked = 0.0
        self._since: float | None = time.monotonic()
        self._waits = 0

    @property
    def seconds(self) -> float:
        running = 0.0 if self._since is None else time.monotonic() - self._since
        return self._worked + running

    def pause(self) -> None:
        self._waits += 1
        if self._since is not None:
            self._worked += time.monotonic() - self._since
            self._since = None

    def resume(self) -> None:
        self._waits -= 1
        if self._waits == 0:
            self._since = time.monotonic()


@dataclass(slots=True)
class TurnState:
    """How far a turn is."""

    clock: WorkClock = field(default_factory=WorkClock)
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    answer: list[str] = field(default_factory=list[str])
    """The text of this step."""
    notes: list[Told] = field(default_factory=list[Told])
    """What the next request tells the model in addition to ``TurnContext.updates``."""
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
        """What the model reads as the result of calls that ``error`` kept from running."""
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

    def before_request(self, state: TurnState) -> None:
        """A request is about to be sent; what is added to ``state.notes`` goes with it."""

    def before_tools(self, calls: Sequence[ToolCall]) -> TurnEnd | None:
        """The model made calls, and none has run; if the turn ends none of them runs."""
        return None

    def after_tools(self, calls: Sequence[FinishedCall], state: TurnState) -> TurnEnd | None:
        """All calls of a reply have their results."""
        return None

    async def after_reply(self, reply: Reply, state: TurnState) -> TurnEnd | None:
        """A reply without calls would end the turn; a note in ``state`` asks for another one."""
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
        """Text that arrives together becomes one event, once all that came is read."""
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
        """Emit the text that waits to be merged."""
        if self._text:
            whole = "".join(delta.text for delta in self._text)
            event = replace(self._text[0], text=whole)
            self._text.clear()
            self._publish(event)

    def _publish(self, event: Event) -> None:
        self._state.apply(event)
        self._record(event)
