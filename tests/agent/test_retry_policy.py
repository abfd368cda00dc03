"""Failed requests are made again, visibly, and nothing that was shown is lost (L-12)."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.loop.user_messages import describe_error
from studio.agent.prompts import RESUME
from studio.agent.retry_policy import RetryPolicy
from studio.domain.blocks import RetryBlock, TextBlock
from studio.domain.errors import RETRYABLE, ProviderError
from studio.domain.events import (
    Event,
    Failed,
    Retried,
    RetryScheduled,
    Silent,
    TextDelta,
    TurnComplete,
)
from studio.domain.messages import Text as Words
from studio.simulator import Call, Raw, RequestView, Text, Turn, eof, error_event, stall, status
from support.engine_home import PROTOCOLS, engine_home
from support.waiting import FOREVER, within

AT_ONCE = RetryPolicy(base=0.0)


async def events_of(session, *, on=None) -> list[Event]:
    events: list[Event] = []
    async with within():
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            events.append(event)
            if on:
                on(event)
    return events


def strings(value: object) -> list[str]:
    """Every string in a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in strings(one)]


def reason(events: list[Event]) -> str:
    assert isinstance(events[-1], TurnComplete)
    return events[-1].reason


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_failed_request_is_made_again(tmp_path: Path, provider: str, code: int) -> None:
    """L-12: on every protocol, and each wait is an event."""
    turn = Turn(Text("Here."), faults=[status(code, times=2)])
    async with engine_home(tmp_path, provider, [turn], patience=AT_ONCE) as home:
        session = await home.session()
        events = await events_of(session)
        waits = [event for event in events if isinstance(event, RetryScheduled)]
        assert [(wait.attempt, wait.attempts) for wait in waits] == [(2, 5), (3, 5)]
        assert len([event for event in events if isinstance(event, Retried)]) == 2
        assert reason(events) == "done"
        assert len(home.asked) == 3 and not home.simulator.violations


async def test_attempts_are_counted_for_each_step(tmp_path: Path) -> None:
    """L-12: what failed before a good reply does not count against the next request."""
    script = [
        Turn(Call("read", {"path": "a.txt"}), faults=[status(500, times=2)]),
        Turn(Text("Done."), faults=[status(500, times=2)]),
    ]
    policy = RetryPolicy(attempts=3, base=0.0)
    async with engine_home(tmp_path, "openai", script, patience=policy) as home:
        events = await events_of(await home.session())
    waits = [event.attempt for event in events if isinstance(event, RetryScheduled)]
    assert waits == [2, 3, 2, 3] and reason(events) == "done"


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_attempts_come_to_an_end(tmp_path: Path, provider: str) -> None:
    turn = Turn(Text("Never."), faults=[status(500, times=9)])
    async with engine_home(tmp_path, provider, [turn], patience=RetryPolicy(3, base=0.0)) as home:
        events = await events_of(await home.session())
        assert len(home.asked) == 3
        assert isinstance(events[-2], Failed) and reason(events) == "error"


async def test_what_no_retry_helps_is_not_retried(tmp_path: Path) -> None:
    """L-12: an empty account is not asked again."""
    empty = status(429, times=9, variant="insufficient_quota")
    async with engine_home(tmp_path, "openai", [Turn(faults=[empty])], patience=AT_ONCE) as home:
        events = await events_of(await home.session())
        assert len(home.asked) == 1
        failure = events[-2]
        assert isinstance(failure, Failed) and failure.fault == "no_credit"


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
async def test_the_servers_wait_is_kept_and_can_be_skipped(tmp_path: Path, provider: str) -> None:
    """L-12: the wait is the server's, in a header or in Gemini's body; the person may skip it."""
    turn = Turn(Text("Here."), faults=[status(429, times=1, retry_after=50)])
    async with engine_home(tmp_path, provider, [turn], patience=AT_ONCE) as home:
        session = await home.session()

        def skip(event: Event) -> None:
            if isinstance(event, RetryScheduled):
                assert event.seconds >= 50
                session.try_now()

        events = await events_of(session, on=skip)
        assert reason(events) == "done"
        block = next(b for b in session.transcript.blocks if isinstance(b, RetryBlock))
        assert block.state == "resumed"


async def test_a_wait_can_be_stopped(tmp_path: Path) -> None:
    """L-11, L-12."""
    turn = Turn(Text("Here."), faults=[status(429, times=1, retry_after=FOREVER)])
    patience = replace(AT_ONCE, longest=2.0 * FOREVER)
    async with engine_home(tmp_path, "anthropic", [turn], patience=patience) as home:
        session = await home.session()
        events = await events_of(
            session, on=lambda event: isinstance(event, RetryScheduled) and session.stop()
        )
        assert reason(events) == "cancelled"
        block = next(b for b in session.transcript.blocks if isinstance(b, RetryBlock))
        assert block.state == "stopped"
        assert reason(await events_of(session)) == "done"


async def test_a_wait_that_is_too_long_is_left_to_the_person(tmp_path: Path) -> None:
    turn = Turn(Text("Here."), faults=[status(429, times=1, retry_after=3600)])
    async with engine_home(tmp_path, "anthropic", [turn], patience=AT_ONCE) as home:
        events = await events_of(await home.session())
        assert reason(events) == "error"
        assert not any(isinstance(event, RetryScheduled) for event in events)


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("fault", [eof, error_event])
async def test_a_broken_stream_goes_on_where_it_stopped(tmp_path: Path, provider, fault) -> None:
    """L-12, H-5: what was shown stays shown, and reaches the model again."""
    half = Turn(Text("The first half of what I have to say."), faults=[fault(at=5)])
    script = [half, Turn(Text("The second half."))]
    async with engine_home(tmp_path, provider, script, patience=AT_ONCE) as home:
        session = await home.session()
        events = await events_of(session)
        assert reason(events) == "done" and not home.simulator.violations
        shown = [block.text for block in session.transcript.blocks if isinstance(block, TextBlock)]
        assert len(shown) == 2 and shown[1] == "The second half."
        words = "".join(strings(home.asked[1].json))
        assert shown[0] in words and RESUME in words


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_calls_before_the_break_are_closed_and_asked_again(tmp_path: Path, provider) -> None:
    """H-3, H-5, L-12."""
    script = [
        Turn(Call("list", {}), Call("list", {}), faults=[eof(at=-1)]),
        Turn(Call("list", {})),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, provider, script, patience=AT_ONCE) as home:
        events = await events_of(await home.session())
        assert reason(events) == "done" and not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_silence_is_said_and_then_given_up(tmp_path: Path, provider: str) -> None:
    """L-12: a provider that says nothing is noticed; in the end the request is made again."""
    halves = iter([Turn(Text("Half an answer"), faults=[stall(at=2)])])

    def script(view: RequestView) -> Turn:
        return next(halves, Turn(Text("Done.")))

    # A request that is only slow is given up too, and made again.
    patience = RetryPolicy(attempts=1_000, base=0.0, silence=0.1, limit=0.3)
    async with engine_home(tmp_path, provider, script, patience=patience) as home:
        session = await home.session()
        events = await events_of(session)
        silent = [event for event in events if isinstance(event, Silent)]
        assert silent and silent[0].seconds >= 0.1
        waits = [event for event in events if isinstance(event, RetryScheduled)]
        assert {wait.fault for wait in waits} == {"network"}
        assert reason(events) == "done" and session.transcript.silent == 0
        assert not home.simulator.violations


async def test_a_silent_request_can_be_made_again_at_once(tmp_path: Path) -> None:
    script = [Turn(Text("Half an answer"), faults=[stall(at=4)]), Turn(Text("Done."))]
    patience = RetryPolicy(2, silence=0.1, limit=FOREVER)
    async with engine_home(tmp_path, "anthropic", script, patience=patience) as home:
        session = await home.session()
        said: list[Event] = []
        silent: list[Event] = []

        def again(event: Event) -> None:
            if isinstance(event, TextDelta):
                said.append(event)
            # A silence before the first words, or in the next attempt, may only be slowness.
            if isinstance(event, Silent) and said and not silent:
                silent.append(event)
                session.try_now()

        events = await events_of(session, on=again)
        assert reason(events) == "done"
        assert [e.seconds for e in events if isinstance(e, RetryScheduled)] == [0.0]


REJECTIONS = {
    "anthropic": b'{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \\"drop_block\\"."}}',
    "openai": b'{"error":{"message":"No tool output found for function call call_X.","type":"invalid_request_error","param":"input","code":null}}',
    "gemini": b'{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}',
    "openai-compatible": b'{"error":{"message":"An assistant message with \'tool_calls\' must be followed by tool messages responding to each \'tool_call_id\'. The following tool_call_ids did not have response messages: X","type":"invalid_request_error","param":"messages.[1].role","code":null}}',
}


@pytest.mark.parametrize("provider", REJECTIONS)
async def test_a_rejected_history_is_built_anew_once(tmp_path: Path, provider: str) -> None:
    """H-5, H-9: no session answers 400 for ever; the words of the conversation survive."""
    refusal = Raw(PROTOCOLS[provider], REJECTIONS[provider], "application/json", 400)  # type: ignore[arg-type]
    script = [Turn(Text("Alpha.")), refusal, Turn(Text("Beta.")), refusal, refusal]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        assert reason(await events_of(session)) == "done"
        assert reason(await events_of(session)) == "done"
        epochs = await home.engine.store.epochs(session.info.id)
        assert [epoch.number for epoch in epochs] == [1, 2] and epochs[1].why
        body = str(home.asked[2].json)
        assert "Alpha." in body and body.count("'Go'") == 2
        events = await events_of(session)  # and never more than once in a turn
        assert reason(events) == "error" and len(home.asked) == 5


@given(
    st.integers(1, 20),
    st.sampled_from(sorted(RETRYABLE)),
    st.none() | st.floats(0, 1e6),
    st.integers(),
)
def test_waits_are_bounded(failed: int, fault, asked: float | None, seed: int) -> None:
    """L-12: full jitter below a cap, and never before the server wants it."""
    patience = RetryPolicy()
    error = ProviderError(fault, "Busy.", retry_after=asked)
    wait = patience.wait(error, failed, random.Random(seed).random)
    if failed >= patience.attempts or (asked or 0) > patience.longest:
        assert wait is None
    else:
        assert wait is not None
        assert (asked or 0) <= wait <= (asked or 0) + min(patience.cap, 2.0 ** (failed - 1))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (None, ""),
        (23.0, ""),
        (600.0, "It asks for a wait of 10 minutes. "),
        (7300.0, "It asks for a wait of 3 hours. "),
    ],
)
def test_a_wait_too_long_to_sit_out_is_told(asked: float | None, told: str) -> None:
    """L-12: the person decides, so the person is told what is asked."""
    error = ProviderError("rate_limited", "Slow down.", retry_after=asked)
    assert describe_error(error).detail == f"{told}Your message is kept."
