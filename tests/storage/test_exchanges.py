"""What went to providers and came back is kept small, without keys, and not for ever (W-27)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.agent.session.session import Session
from studio.domain.events import TurnComplete
from studio.domain.exchanges import Exchange
from studio.simulator import Call, Text, Turn, status
from studio.storage.exchanges import ExchangeStore, StoredExchange, shared
from support.engine_home import KEY, PROTOCOLS, EngineHome, engine_home, say

DAY = 24 * 3600.0


def script(*turns: Turn) -> object:
    left = list(turns)
    return lambda _: left.pop(0) if left else Turn(Text("Done."))


async def recorded(home: EngineHome, session: Session) -> list[StoredExchange]:
    await session.flush()
    return await home.engine.services.exchanges.of(session.info.id)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_w27_an_exchange_is_kept_byte_for_byte_without_the_key(
    tmp_path: Path, provider: str
) -> None:
    turns = script(Turn(Text("Look."), Call("read", {"path": "a.txt"})), Turn(Text("It says hi.")))
    async with engine_home(tmp_path, provider, turns) as home:  # type: ignore[arg-type]
        (home.folder / "a.txt").write_text("hi\n")
        session = await home.session()
        assert isinstance((await say(session))[-1], TurnComplete)
        kept = await recorded(home, session)
        asked = home.simulator.requests
        sent = [one for one in kept if one.exchange.method == "POST"]
        replies = [one for one in asked if one.method == "POST"]
        assert len(sent) >= 2
        assert [json.loads(one.exchange.request) for one in sent] == [
            one.json for one in replies[-len(sent) :]
        ]
        assert [one.exchange.status for one in sent] == [
            one.status for one in replies[-len(sent) :]
        ]
        assert sent[-1].exchange.status == 200
        assert kept[-1].exchange.body.endswith(b"\n")
        assert kept[-1].setting["effort"] is None and kept[-1].chain
        assert sent[0].chain != sent[-1].chain
    everything = b"".join(
        one.read_bytes() for one in home.engine.paths.data.rglob("*") if one.is_file()
    )
    assert KEY.encode() not in everything
    assert KEY not in repr(kept)


async def test_w27_a_key_that_an_answer_repeats_is_hidden(tmp_path: Path) -> None:
    turns = script(Turn(Text(f"Your key is {KEY}.")))
    async with engine_home(tmp_path, "anthropic", turns) as home:  # type: ignore[arg-type]
        session = await home.session()
        await say(session)
        (one,) = await recorded(home, session)
        assert b"[key]" in one.exchange.body
        assert KEY.encode() not in one.exchange.body


async def test_w27_refusals_and_broken_connections_are_kept_too(tmp_path: Path) -> None:
    turns = script(Turn(faults=[status(529)]))
    async with engine_home(tmp_path, "openai-compatible", turns) as home:  # type: ignore[arg-type]
        session = await home.session()
        await say(session)
        (refused,) = await recorded(home, session)
        assert refused.exchange.status == 529 and refused.exchange.end == ""
        await home.simulator.stop()
        await say(session)
        broken = (await recorded(home, session))[-1].exchange
        assert (broken.status, broken.end) == (0, "ConnectError")


async def test_w27_nothing_is_kept_where_the_person_wants_that(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", script()) as home:  # type: ignore[arg-type]
        home.engine.settings.values.record_exchanges = False
        session = await home.session()
        await say(session)
        assert await recorded(home, session) == []


async def test_w27_what_was_recorded_goes_with_its_chat(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", script()) as home:  # type: ignore[arg-type]
        session = await home.session()
        await say(session)
        assert await recorded(home, session)
        await home.engine.sessions.delete(session.info.id)
        assert await home.engine.services.exchanges.size() == 0


async def test_w27_a_turn_of_a_hundred_steps_is_kept_in_little_space(tmp_path: Path) -> None:
    """The sum of its requests grows with the square of its steps, what is stored does not."""
    words = "some words of a file that the model reads, number "
    turns = [Turn(Call("read", {"path": f"{n}.txt"})) for n in range(100)]
    async with engine_home(tmp_path, "anthropic", script(*turns)) as home:  # type: ignore[arg-type]
        home.engine.settings.values.background_steps = 200
        for n in range(100):
            text = "".join(f"{words} {n * 1000 + line}\n" for line in range(30))
            (home.folder / f"{n}.txt").write_text(text)
        session = await home.session()
        await say(session)
        kept = await recorded(home, session)
        assert len(kept) == 101
        sent = sum(len(one.exchange.request) for one in kept)
        longest = max(len(one.exchange.request) for one in kept)
        size = await home.engine.services.exchanges.size()
        print(f"{sent=} {longest=} {size=}")
        assert size < longest < sent / 20


async def test_w27_the_old_goes_and_the_rest_stays_whole(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "gemini", script()) as home:  # type: ignore[arg-type]
        first, second = await home.session(), await home.session()
        for session in (first, second, first):
            await say(session, "Tell me more of it.")
        store = home.engine.services.exchanges
        before = [await recorded(home, one) for one in (first, second)]
        assert [len(one) for one in before] == [2, 1]
        await home.engine.database.execute(
            "UPDATE exchanges SET at = at - ? WHERE session_id = ? AND number = 1",
            31 * DAY,
            first.info.id,
        )
        await home.engine.purge_bin()
        left = await recorded(home, first)
        assert [one.exchange for one in left] == [one.exchange for one in before[0][1:]]
        assert await recorded(home, second) == before[1]
        await say(first, "And on.")  # goes on from what is left
        assert len(await recorded(home, first)) == 2
        home.engine.settings.values.exchange_megabytes = 0
        await store.purge(0.0, await store.size() - 1)
        assert await recorded(home, second) == []
        assert len(await recorded(home, first)) == 2
        await home.engine.purge_bin()
        assert await store.size() == 0


async def test_w27_a_recorder_goes_on_after_another_program_purged(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", script()) as home:  # type: ignore[arg-type]
        session = await home.session()
        store: ExchangeStore = home.engine.services.exchanges
        await say(session)
        recorder = store.recorder(session.info.id)
        made = [Exchange("POST", "http://x/y", b"abc" * 100 + b"%d" % n) for n in range(3)]
        recorder.take(made[0], ())
        while len(await store.of(session.info.id)) < 2:  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(0)
        await store.delete(session.info.id)
        recorder.take(made[1], ())
        recorder.take(made[2], ())
        await recorder.settled()
        assert [one.exchange for one in await store.of(session.info.id)] == made[1:]


@given(st.lists(st.binary(max_size=60), min_size=2, max_size=2), st.binary(), st.binary())
@settings(max_examples=300)
def test_w27_a_request_is_made_of_the_one_before_and_what_differs(
    middles: list[bytes], head: bytes, tail: bytes
) -> None:
    before, after = (head + middle + tail for middle in middles)
    first, last = shared(before, after)
    assert first + last <= min(len(before), len(after))
    assert first + last >= min(len(head) + len(tail), len(before), len(after))
    middle = after[first : len(after) - last]
    assert before[:first] + middle + before[len(before) - last :] == after
