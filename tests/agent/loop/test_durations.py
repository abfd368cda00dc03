"""How long a call took: the time for which it worked, without waits for the person."""

from __future__ import annotations

import time
from pathlib import Path

from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    ToolFinished,
    TurnComplete,
)
from studio.domain.messages import Text as Words
from studio.simulator import Call, Text, Turn
from support.engine_home import engine_home

WAIT = 1.0


async def test_l11_a_calls_seconds_leave_out_the_persons_thinking_time(tmp_path: Path) -> None:
    script = [
        Turn(Call("run", {"command": "true"}), stop="tool_use"),
        Turn(Call("ask", {"question": "Which one?"}), stop="tool_use"),
        Turn(Call("run", {"command": "false"}), stop="tool_use"),
        Turn(Text("Done."), stop="end"),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        began, thought = time.monotonic(), 0.0
        seen: list[Event] = []
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            seen.append(event)
            asked = time.monotonic()
            if isinstance(event, AwaitingPermission | AwaitingReply):
                time.sleep(WAIT)  # noqa: ASYNC251 (nothing else goes on meanwhile)
                thought = time.monotonic() - asked
                if isinstance(event, AwaitingReply):
                    session.answer_question(event.call_id, "Blue")
                else:
                    answer = (
                        "once" if not any(isinstance(e, ToolFinished) for e in seen) else "deny"
                    )
                    session.answer_permission(event.question.id, answer)
            elif isinstance(event, ToolFinished):
                assert event.seconds <= asked - began - thought
                began = asked
        finished = [event for event in seen if isinstance(event, ToolFinished)]
        assert len(finished) == 3 and isinstance(seen[-1], TurnComplete)
        assert finished[2].is_error and finished[2].seconds == 0.0  # it never ran
        blocks = {call.name: call for call in session.transcript.last_calls}
        assert blocks["ask"].started
        assert [call.started for call in session.transcript.last_calls] == [True, True, False]
