"""The call loop: a turn of one call that no model made, such as the command of a workflow's step.

It runs as every call does: with permission, in the sandbox, recorded in the session.
"""

from __future__ import annotations

from studio.agent.prompts import CALL_FAILED
from studio.domain.events import StepStarted
from studio.domain.messages import ToolCall, ToolResult

from .tool_runner import ToolRunner
from .turn_context import Guard, TurnEnd, TurnEvents, TurnFrame, TurnState


class CallLoop:
    """Makes one call; ``events`` receives what happens."""

    def __init__(
        self,
        context: TurnFrame,
        state: TurnState,
        events: TurnEvents,
        tools: ToolRunner,
        call: ToolCall,
    ) -> None:
        self.context = context
        self.state = state
        self.events = events
        self.tools = tools
        self.requests = self.recorder = None
        self.dollars = 0.0
        self.guards: tuple[Guard, ...] = ()
        self._call = call

    async def run(self) -> TurnEnd:
        """Make the call; its result is an event."""
        self.state.step = 1
        self.events.emit(StepStarted(1))
        results: list[ToolResult | None] = [None]
        await self.tools.run([self._call], results)
        return TurnEnd("done") if results[0] is not None else TurnEnd("error", CALL_FAILED)
