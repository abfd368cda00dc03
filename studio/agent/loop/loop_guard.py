"""A guard against loops: notices that an agent repeats itself, and asks for its answer (L-8)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from studio.domain.events import Event, HistoryBegun, Steered, Told
from studio.domain.messages import Image, ToolCall, ToolResult

from .prompts import LOOPING
from .turn_context import FinishedCall, Guard, TurnEnd, TurnState

FRUITLESS = 3
"""Steps in a row without anything new after which an agent is stalled."""


class LoopGuard(Guard):
    """Compares each step of a turn with the steps before it.

    A step goes in circles if each of its calls was made in an earlier step with
    the same result and nothing has changed in between but by that call itself.
    So does the third step in a row whose calls and results were all seen
    before, whatever changed. A call with other arguments is always new.
    """

    def __init__(self) -> None:
        self.warned = False
        """Whether the agent was asked for its final answer; it is asked once."""
        self._last: dict[str, tuple[int, str]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._changes = 0
        self._own: dict[str, int] = {}
        self._fruitless = 0

    def on_event(self, event: Event) -> None:
        if isinstance(event, HistoryBegun | Steered):  # it may need to read again
            self.changed()

    def files_changed(self) -> None:
        self.changed()

    def before_tools(self, calls: Sequence[ToolCall]) -> TurnEnd | None:
        return _stalled(calls) if self.warned and self.repeats(calls) else None

    def after_tools(self, calls: Sequence[FinishedCall], state: TurnState) -> TurnEnd | None:
        if not self.circles(calls):
            return None
        if self.warned:
            return _stalled([finished.call for finished in calls])
        self.warned = True
        state.notes.append(Told("stall", LOOPING))
        return None

    def changed(self) -> None:
        """The world is not what it was: the person did something, or the history is shorter."""
        self._changes += 1
        self._fruitless = 0

    def repeats(self, calls: Sequence[ToolCall]) -> bool:
        """Whether these calls, not made yet, were all made before and nothing changed since."""
        keys = [call_key(call) for call in calls]
        return all(key in self._last and self._last[key][0] == self._others(key) for key in keys)

    def circles(self, step: Sequence[FinishedCall]) -> bool:
        """Add a finished step; True if it goes in circles."""
        for made in step:
            if made.effect == "act" or (made.effect == "draft" and not made.result.is_error):
                key = call_key(made.call)
                self._changes += 1
                self._own[key] = self._own.get(key, 0) + 1
        outcomes = [(call_key(made.call), _digest(made.result)) for made in step]
        again = all(self._last.get(key) == (self._others(key), digest) for key, digest in outcomes)
        new = not self._seen.issuperset(outcomes)
        self._fruitless = 0 if new else self._fruitless + 1
        for key, digest in outcomes:
            self._last[key] = (self._others(key), digest)
            self._seen.add((key, digest))
        return again or self._fruitless >= FRUITLESS

    def _others(self, key: str) -> int:
        """Changes by anything but this very call."""
        return self._changes - self._own.get(key, 0)


def call_key(call: ToolCall) -> str:
    """Equal for two calls that are the same, whatever the order of their arguments."""
    arguments = call.raw if call.arguments is None else call.arguments
    return f"{call.name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False)}"


def _stalled(calls: Sequence[ToolCall]) -> TurnEnd:
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    return TurnEnd("stalled", f"The agent repeated itself ({names}) and nothing new came of it.")


def _digest(result: ToolResult) -> str:
    digest = hashlib.sha256(result.text.encode("utf-8", "surrogatepass"))
    for part in result.content:
        if isinstance(part, Image):
            digest.update(part.data)
    return digest.hexdigest()
