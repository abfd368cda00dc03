"""The one channel of events: envelopes, subscriptions, the stream of a turn."""

from __future__ import annotations

from pathlib import Path

from studio.agent.session.event_channel import EventChannel, EventEnvelope
from studio.domain.events import MessageQueued, Notice, TextDelta, TurnComplete, TurnStarted
from studio.domain.messages import Text as Said
from studio.simulator import Call, Text, Turn
from support.engine_home import engine_home


def envelope(session_id: str, text: str = "") -> EventEnvelope:
    return EventEnvelope(session_id, "t", "Coder", 1, Notice(text))


def test_a_subscriber_gets_one_session_or_all_and_each_envelope_once() -> None:
    channel = EventChannel()
    every: list[EventEnvelope] = []
    one: list[EventEnvelope] = []
    channel.subscribe(every.append)
    unsubscribe = channel.subscribe(one.append, "a")
    assert channel.has_subscribers("a") and not channel.has_subscribers("b")
    first, second = envelope("a"), envelope("b")
    channel.publish(first)
    channel.publish(second)
    assert every == [first, second] and one == [first]
    unsubscribe()
    unsubscribe()
    channel.publish(first)
    assert len(one) == 1 and not channel.has_subscribers("a")


def test_subscribers_may_fail_and_leave_while_an_envelope_is_delivered() -> None:
    channel = EventChannel()
    order: list[str] = []

    def leave(_: EventEnvelope) -> None:
        order.append("first")
        unsubscribe()

    def fail(_: EventEnvelope) -> None:
        raise RuntimeError("a view that is gone")

    unsubscribe = channel.subscribe(leave)
    channel.subscribe(fail)
    channel.subscribe(lambda _: order.append("last"))
    channel.publish(envelope("a"))
    channel.publish(envelope("a"))
    assert order == ["first", "last", "last"]


async def test_the_stream_of_a_turn_and_every_subscriber_get_the_same_envelopes(
    tmp_path: Path,
) -> None:
    script = [
        Turn(Text("Look."), Call("list", {"path": "."}), stop="tool_use"),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        everywhere: list[EventEnvelope] = []
        here: list[EventEnvelope] = []
        home.engine.sessions.events.subscribe(everywhere.append)
        session.subscribe(here.append)
        read: list[EventEnvelope] = []
        async for one in session.turn([Said("Go")]):
            if isinstance(one.event, TurnStarted):
                session.queue.add([Said("And then?")])
            read.append(one)
    assert read == here == everywhere
    assert isinstance(read[0].event, TurnStarted) and isinstance(read[-1].event, TurnComplete)
    assert any(isinstance(one.event, MessageQueued) for one in read), "what the person does too"
    assert {one.session_id for one in read} == {session.info.id}
    assert {one.run_id for one in read} == {read[0].event.turn_id}
    assert {one.agent for one in read} == {session.info.agent}
    assert sorted({one.step for one in read}) == [0, 1, 2]
    blocks = session.transcript.blocks
    assert all(one.block is None or one.block < len(blocks) for one in read)


async def test_who_asks_for_no_texts_is_not_woken_for_them(tmp_path: Path) -> None:
    """G-3: the window shows them from the channel."""
    async with engine_home(tmp_path, "anthropic", [Turn(Text("Look."))]) as home:
        session = await home.session()
        here: list[EventEnvelope] = []
        session.subscribe(here.append)
        read = [one async for one in session.turn([Said("Go")], texts=False)]
    assert any(isinstance(one.event, TextDelta) for one in here)
    assert read == [one for one in here if not isinstance(one.event, TextDelta)]
    assert isinstance(read[-1].event, TurnComplete)
