"""No agent uses more than it may, however many are at work (L-14)."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.budget import Account, Amount, Budget, OverBudget
from studio.agent.prompts import NEARLY_OUT
from studio.agent.request_meter import RequestRate
from studio.agent.session.session import Session
from studio.agent.session.session_state import SessionInUse
from studio.domain.agents import Caps
from studio.domain.errors import ProviderError
from studio.domain.events import (
    AwaitingPermission,
    Event,
    Exposed,
    Failed,
    Told,
    ToolFinished,
    TurnComplete,
)
from studio.domain.messages import Text
from studio.domain.permissions import Rule
from studio.providers.base import Request
from studio.simulator import Call, RequestView, Turn, Usage, stall
from studio.simulator import Text as Words
from studio.tools import Context, tool
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say
from support.waiting import within

LOOK = Call("list", {"path": "."})


def end_of(events: list[object]) -> TurnComplete:
    end = events[-1]
    assert isinstance(end, TurnComplete)
    return end


# The accounts


async def test_w20_an_answer_gets_what_is_left_and_none_is_begun_below_256_tokens() -> None:
    budget = Budget([Account("turn", Caps(1000)), Account("day", Caps(dollars=1.0))])
    first = await budget.reserve(Amount(100, 0.1), 8000, 0.0001)
    assert first.answer == 900 and first.shortened
    bounded = first.bounded(Request("m", [], output_limit=5000))
    assert (bounded.output_limit, bounded.ceiling) == (900, 900)
    first.settle(Amount(644))
    with pytest.raises(OverBudget, match="may exceed your limit of 1,000 tokens for one") as over:
        await budget.reserve(Amount(101), 8000)
    assert (over.value.cap, over.value.unit) == ("turn", "tokens")
    whole = await budget.reserve(Amount(1), 300)
    assert not whole.shortened and whole.bounded(Request("m", [])) == Request("m", [])


async def test_one_waits_for_another_that_may_use_the_rest() -> None:
    account = Account("day", Caps(1000))
    first = await Budget([account]).reserve(Amount(10), 900)
    second = asyncio.ensure_future(Budget([account]).reserve(Amount(10), 900))
    await asyncio.sleep(0)
    assert not second.done()
    first.settle(Amount(20))
    (await second).settle()
    assert account.used == Amount(20) and account.reserved == Amount() and account.open == 0


async def test_a_request_that_failed_gives_its_place_back() -> None:
    account = Account("session", Caps(dollars=1.0))
    reservation = await Budget([account]).reserve(Amount(1, 0.5), 400, 0.001)
    reservation.settle()
    reservation.settle()
    assert (account.used, account.open) == (Amount(), 0)


REQUESTS = st.lists(
    st.tuples(
        *(st.integers(1, 4000), st.integers(0, 60_000), st.integers(0, 3), st.integers(0, 2)),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=64,
)
CAPS = st.builds(Caps, st.integers(0, 200_000), st.sampled_from([0.0, 0.003, 0.05, 1.0]))
RATES = (0.0, 0.000015, 0.000075)


@given(REQUESTS, st.lists(CAPS, min_size=4, max_size=4))
async def test_w20_no_tree_of_agents_goes_beyond_one_of_its_caps(
    requests: list[tuple[int, int, int, int, int]], caps: list[Caps]
) -> None:
    """64 at a time, each on a branch of its own of a tree of accounts; what comes back is
    anything up to what was allowed, for what was likely to be sent."""
    tree = [Account("turn", one) for one in caps]

    async def one(sent: int, answer: int, branch: int, price: int, times: int) -> None:
        accounts, rate = [tree[0], tree[branch]], RATES[price]
        try:
            likely, most = (Amount(n, n * rate / 5) for n in (sent, sent * times))
            held = await Budget(accounts).reserve(most, 60_000, rate, likely=likely)
        except OverBudget:
            return
        await asyncio.sleep(0)
        answer = min(answer, held.answer)
        held.settle(Amount(sent + answer, sent * rate / 5 + answer * rate))

    await asyncio.gather(*(one(*request) for request in requests))
    for account in tree:
        used, most = account.used, account.caps
        assert not most.tokens or used.tokens <= most.tokens
        assert not most.dollars or used.dollars <= most.dollars + 1e-12
        assert account.open == 0


async def test_w20_what_may_not_fit_is_sent_alone_and_leaves_room_for_more_than_is_likely() -> None:
    account = Account("session", Caps(1000))
    small = await Budget([account]).reserve(Amount(10), 100)
    likely, most = Amount(400), Amount(1600)
    waiting = asyncio.ensure_future(Budget([account]).reserve(most, 8000, likely=likely))
    await asyncio.sleep(0)
    assert not waiting.done()
    small.settle()
    held = await waiting
    assert held.answer == 300 and held.shortened
    assert held.cut(300) and held.cut(0) and not held.cut(100)  # which ended for another reason
    other = asyncio.ensure_future(Budget([account]).reserve(Amount(10), 100))
    await asyncio.sleep(0)
    assert not other.done()
    held.settle(Amount(700))
    (await other).settle()


def test_a_rate_lets_through_so_many_an_hour_and_says_how_long() -> None:
    rate = RequestRate(lambda: 2)
    now = time.time()
    rate.known([now - 3601, now - 600])
    rate.take()
    with pytest.raises(ProviderError) as limited:
        rate.take()
    assert limited.value.fault == "rate_limited"
    assert limited.value.retry_after == pytest.approx(3000, abs=5)


# The whole house


@pytest.mark.parametrize(
    ("characters", "caps", "limit"),
    [(60_000, Caps(tokens=50_000), 10_000), (280_000, Caps(dollars=5.0), 15_000)],
)
async def test_w20_l14_a_request_that_fits_is_sent_though_nobody_counted_it(
    characters: int, caps: Caps, limit: int, tmp_path: Path
) -> None:
    """Each of its bytes might be a token, but that is no reason to refuse it."""
    limits: list[int] = []

    def script(view: RequestView) -> Turn:
        limits.append(view.limit or 0)
        return Turn(Words("Read."), usage=Usage(characters // 4, out=20))

    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session(model="claude-opus-4-1")  # 18.75 and 75 dollars a million
        await session.change(caps=caps)
        assert end_of(list(await say(session, "word " * (characters // 5)))).reason == "done"
        assert limits[0] > limit
        if caps.tokens:
            await session.change(caps=Caps(tokens=25_000))
            end = end_of(list(await say(session, "more " * 5_000)))
            assert (end.reason, end.cap) == ("token_limit", "session")
            assert (
                end.detail
                == "The next request may exceed your limit of 25,000 tokens for this chat."
            )
            assert len(home.asked) == 1


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_l14_a_chat_ends_at_its_cap_and_goes_on_when_it_is_raised(
    provider: str, tmp_path: Path
) -> None:
    script = [
        Turn(LOOK, stop="tool_use", usage=Usage(19_000, out=50)),
        Turn(LOOK, Call("glob", {"pattern": "*"}), stop="tool_use", usage=Usage(19_800, out=50)),
        Turn(Words("Done."), usage=Usage(20_200, out=20)),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        await session.change(caps=Caps(tokens=20_000))
        end = end_of(list(await say(session)))
        assert (end.reason, end.cap) == ("token_limit", "session")
        assert "20,000 tokens for this chat" in end.detail
        assert len(home.asked) == 1
        await session.change(caps=Caps(tokens=1_000_000))
        assert end_of(list(await say(session, ""))).reason == "done"
        assert len(home.asked) == 3


async def test_l14_money_and_the_day_and_month(tmp_path: Path) -> None:
    script = [
        Turn(LOOK, stop="tool_use", usage=Usage(100_000, out=1000)),
        Turn(Words("Done."), usage=Usage(100_000, out=1000)),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        values = home.engine.settings.values
        values.day_dollars = 0.5
        session = await home.session(model="claude-sonnet-4-5")  # 3 and 15 dollars a million
        end = end_of(list(await say(session)))
        assert (end.reason, end.cap) == ("money_limit", "day")
        assert "$0.50 for today" in end.detail
    async with engine_home(tmp_path, "anthropic", [Turn(Words("Hi."))]) as home:
        home.engine.settings.values.day_dollars = 0.2  # after a restart the day is known
        session = await home.session(model="claude-sonnet-4-5")
        assert end_of(list(await say(session))).cap == "day"
        home.engine.settings.values.day_dollars = 0.0
        home.engine.settings.values.month_dollars = 0.2
        end = end_of(list(await say(session)))
        assert (end.reason, end.cap) == ("money_limit", "month")
        assert not home.asked


async def test_l14_what_a_chat_used_is_known_after_a_restart_and_from_another_program(
    tmp_path: Path,
) -> None:
    script = [Turn(Words("Hi."), usage=Usage(30_000, out=10)) for _ in range(3)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        await session.change(caps=Caps(tokens=80_000))
        assert end_of(list(await say(session))).reason == "done"
        async with engine_home(tmp_path, "anthropic", script) as other:
            there = await other.engine.sessions.open(session.info.id)
            assert end_of(list(await say(there))).reason == "done"
            assert other.engine.budgets.used(session.info.id).tokens == 60_020
        again = await home.engine.sessions.open(session.info.id)
        end = end_of(list(await say(again)))
        assert (end.reason, end.cap) == ("token_limit", "session")
        assert home.engine.budgets.used(session.info.id).tokens == 60_020
        assert len(home.asked) == 1


async def test_l14_a_cap_is_raised_to_what_was_offered_and_once(tmp_path: Path) -> None:
    """Another program may have raised it meanwhile, or gone on with the chat."""
    script = [Turn(Words("Hi."), usage=Usage(30_000, out=10)) for _ in range(3)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        await session.change(caps=Caps(tokens=31_000))
        assert end_of(list(await say(session))).reason == "done"
        assert not await session.raise_cap(Caps(tokens=62_000)), "no cap ended its turn"
        assert end_of(list(await say(session))).cap == "session"
        end = session.transcript.last_end
        assert end is not None
        offered = Caps(tokens=62_000)
        assert home.engine.budgets.twice_the_cap(session.info, end) == offered
        assert not await session.raise_cap(Caps(tokens=62_001)), "nobody offered that"
        async with engine_home(tmp_path, "anthropic", script) as other:
            there = await other.engine.sessions.open(session.info.id)
            assert other.engine.budgets.twice_the_cap(there.info, end) == offered
            assert await there.raise_cap(offered)
            assert not await session.raise_cap(offered), "it was raised there"
            assert session.info.caps == offered
            assert end_of(list(await say(there, ""))).reason == "done"
            with pytest.raises(SessionInUse):
                await session.raise_cap(Caps(tokens=124_000))
        again = await home.engine.sessions.open(session.info.id)
        assert not await again.raise_cap(Caps(tokens=124_000)), "it went on"
        assert again.info.caps == offered


async def test_l14_what_a_deleted_chat_used_counts_all_the_same(tmp_path: Path) -> None:
    """The day's cap would be none for who deletes chats, nor for a server that keeps none."""
    script = [Turn(Words("Hi."), usage=Usage(30_000, out=10))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        assert end_of(list(await say(session))).reason == "done"
        await home.engine.sessions.delete(session.info.id)
        (spent,) = (await home.engine.usage_costs.spent("day")).values()
        assert (spent.requests, spent.usage.total) == (1, 30_010)
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.day_tokens = 30_000
        assert end_of(list(await say(await home.session()))).cap == "day"
        assert not home.asked


async def test_l14_a_new_day_has_all_of_its_cap(tmp_path: Path) -> None:
    script = [Turn(Words("Hi."), usage=Usage(30_000, out=10)) for _ in range(2)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.day_tokens = 33_000
        assert end_of(list(await say(await home.session()))).reason == "done"
        assert end_of(list(await say(await home.session()))).cap == "day"
        with closing(sqlite3.connect(home.engine.paths.database)) as db, db:
            db.execute("UPDATE usage SET at = at - 86400")
        home.engine.budgets._day.since -= 86_400  # all this was yesterday
        assert end_of(list(await say(await home.session()))).reason == "done"


async def test_l14_a_month_ends_at_its_cap_and_the_next_one_has_all_of_it(tmp_path: Path) -> None:
    """No request begins that would pass it, also not after a restart."""
    script = [Turn(Words("Hi."), usage=Usage(30_000, out=10)) for _ in range(2)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        values = home.engine.settings.values
        values.month_tokens = 33_000
        assert end_of(list(await say(await home.session()))).reason == "done"
        end = end_of(list(await say(await home.session())))
        assert (end.reason, end.cap) == ("token_limit", "month") and len(home.asked) == 1
        assert end.detail == "Your limit of 33,000 tokens for this month is reached."
    async with engine_home(tmp_path, "anthropic", script) as home:
        values = home.engine.settings.values
        values.month_tokens = 33_000
        assert end_of(list(await say(await home.session()))).cap == "month"
        assert not home.asked
        with closing(sqlite3.connect(home.engine.paths.database)) as db, db:
            db.execute("UPDATE usage SET at = at - 31 * 86400")
        home.engine.budgets._month.since -= 86_400  # all this was last month
        assert end_of(list(await say(await home.session()))).reason == "done"


@pytest.mark.parametrize(("cap", "times"), [(200_000, 0), (115_000, 1)])
async def test_l14_h6_the_agent_is_told_before_its_cap(
    cap: int, times: int, tmp_path: Path
) -> None:
    script = [Turn(LOOK, stop="tool_use", usage=Usage(10_000, out=90_000)), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.turn_tokens = cap
        events = await say(await home.session())
        told = [e.text for e in events if isinstance(e, Told) and e.topic == "wrap_up"]
        assert len(told) == times and str(home.asked[-1].json).count(NEARLY_OUT) == times


async def test_l14_an_hour_has_so_many_requests(tmp_path: Path) -> None:
    script = [Turn(LOOK, stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.requests_per_hour = 1
        events = await say(await home.session())
        end = end_of(list(events))
        assert (end.reason, end.cap) == ("request_limit", "hour") and end.retry_after
        assert "1 request an hour" in end.detail and "60 minutes" in end.detail
        assert not any(isinstance(e, Failed) for e in events) and len(home.asked) == 1
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.requests_per_hour = 1  # after a restart the hour is known
        events = await say(await home.session())
        assert end_of(list(events)).reason == "request_limit"
        assert not home.asked


@pytest.mark.parametrize(
    ("setting", "most", "reason", "said"),
    [
        ("requests_per_hour", 1, "request_limit", "1 request an hour is reached"),
        ("turn_tokens", 1, "token_limit", "may exceed your limit of 1 token for one turn"),
        ("session_tokens", 1, "token_limit", "may exceed your limit of 1 token for this chat"),
        ("day_tokens", 1, "token_limit", "may exceed your limit of 1 token for today"),
        ("month_tokens", 1, "token_limit", "may exceed your limit of 1 token for this month"),
        ("long_dollars", 1e-6, "money_limit", "0.00 for one turn"),
        ("long_steps", 1, "step_limit", "the one step"),
        ("long_seconds", 1, "time_limit", "its limit of 1 s"),
    ],
)
async def test_l14_every_limit_ends_a_run_as_one(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    most: float,
    reason: str,
    said: str,
) -> None:
    """L-1, L-2, L-14, S-5: exit code 3, the reason in its only end, and no error."""
    ever = [stall()] if reason == "time_limit" else []
    script = [Turn(LOOK, stop="tool_use", faults=ever)] * 2
    async with engine_home(tmp_path, "anthropic", script) as home:
        setattr(home.engine.settings.values, setting, most)
        base = ("--provider", "anthropic", "--model", "claude-sonnet-4-5", "--agent", "Coder")
        code = await home.command("run", *base, "--folder", str(home.folder), "--json", "Go")
        events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        ends = [event for event in events if event["event"] == "turn_complete"]
        assert (code, [end["reason"] for end in ends]) == (3, [reason]), events[-1]
        assert said in ends[0]["detail"] and events[-1] == ends[0]
        assert not any(event["event"] == "failed" for event in events)


async def test_l14_requests_on_their_way_count_for_the_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks what other programs did must not forget what this one does just now."""
    monkeypatch.setattr("studio.agent.turn_budgets.REFRESH_SECONDS", 0.0)
    on_their_way = asyncio.Semaphore(0)

    def play(view: RequestView) -> Turn:
        on_their_way.release()
        return Turn(Words("Hm."), faults=[stall()])

    async with engine_home(tmp_path, "anthropic", play) as home:
        home.engine.settings.values.requests_per_hour = 2
        begun = [await home.session() for _ in range(2)]
        turns = [asyncio.ensure_future(say(session)) for session in begun]
        async with within():
            for _ in begun:
                await on_their_way.acquire()
        events = await say(await home.session())
        assert end_of(list(events)).reason == "request_limit"
        for session in begun:
            session.stop()
        await asyncio.gather(*turns)
        events = await say(await home.session())
        assert end_of(list(events)).reason == "request_limit"
        assert len(home.asked) == 2


async def test_l14_each_request_counts_once_for_the_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored of this program's own is known already; another program's is not."""
    monkeypatch.setattr("studio.agent.turn_budgets.REFRESH_SECONDS", 0.0)
    script = [Turn(Words(f"Answer {n}.")) for n in range(5)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.requests_per_hour = 4
        session = await home.session()
        for _ in range(2):
            assert end_of(list(await say(session))).reason == "done"
        async with engine_home(tmp_path, "anthropic", script) as other:
            assert end_of(list(await say(await other.session()))).reason == "done"
        assert end_of(list(await say(session))).reason == "done"
        events = await say(session)
        assert end_of(list(events)).reason == "request_limit"
        assert len(home.asked) == 3


async def test_l14_a_runaway_fan_out_stops_within_one_request_of_its_cap(tmp_path: Path) -> None:
    """Every child begins more children; together they stop where their parent must."""
    used, size = Usage(900, out=100), 1000
    script = [
        Turn(Call("spread", {"into": 3, "nonce": n}), stop="tool_use", usage=used)
        for n in range(200)
    ]
    cap = 30_000
    async with engine_home(tmp_path, "anthropic", script) as home:
        begun = _spreading(home)
        home.engine.settings.values.turn_tokens = cap
        session = await home.session()
        begun.append(session)
        end = end_of(list(await say(session)))
        assert (end.reason, end.cap) == ("token_limit", "turn")
        total = len(home.asked) * size
        assert cap * 0.7 < total <= cap + size
        assert len(begun) > 10 and not any(one.running for one in begun)


def _spreading(home: EngineHome) -> list[Session]:
    """A tool that begins turns on its session's budget."""
    begun: list[Session] = []
    engine = home.engine

    @tool(effect="read", steady=False, time_limit=None)
    async def spread(context: Context, into: int, nonce: int) -> str:
        """Hand the task to others.

        into: How many.
        nonce: Makes each call another one.
        """
        parent = await engine.sessions.open(context.session_id)

        async def child() -> None:
            session = await home.session()
            begun.append(session)
            async for _ in session.turn([Text("You too")], parent=parent.as_parent):
                pass

        await asyncio.gather(*(child() for _ in range(into)))
        return "They are at work."

    engine.toolbox.tools["spread"] = spread
    agent = engine.paths.agents / "coder.md"
    agent.parent.mkdir(exist_ok=True)
    agent.write_text("---\nname: Coder\ntools: [spread, list]\n---\nSpread.\n")
    return begun


async def test_t6_a_child_may_never_do_more_and_tells_what_it_met(tmp_path: Path) -> None:
    """The parent only reads; its child's agent could write and run, and reads a file."""
    script = [
        Turn(Call("hand_over", {}), stop="tool_use"),
        Turn(
            Call("run", {"command": "echo hi"}),
            Call("write", {"path": "b.txt", "content": "x"}),
            Call("read", {"path": "a.txt"}),
            stop="tool_use",
        ),
        Turn(Words("Read it.")),
        Turn(Words("Done.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("alpha")
        engine = home.engine
        children: list[list[Event]] = []

        @tool(effect="read", time_limit=None)
        async def hand_over(context: Context) -> str:
            """Hand the task to another agent."""
            parent = await engine.sessions.open(context.session_id)
            child = await home.session()
            turn = child.turn([Text("You")], rules=[Rule.parse("run")], parent=parent.as_parent)
            children.append([envelope.event async for envelope in turn])
            return "It is done."

        engine.toolbox.tools["hand_over"] = hand_over
        agent = engine.paths.agents / "reader.md"
        agent.parent.mkdir(exist_ok=True)
        agent.write_text("---\nname: Reader\nrole: reads\n---\nRead.\n")
        session = await home.session("Reader")
        events = await say(session)
        assert end_of(list(events)).reason == "done"
        assert any(isinstance(event, Exposed) for event in events)
        done = [e.is_error for e in children[0] if isinstance(e, ToolFinished)]
        assert sorted(done) == [False, True, True]
        assert not (home.folder / "b.txt").exists()
        assert session.transcript.exposed["private"] == "a.txt"  # which the child alone has read
        assert session.as_parent is None


async def test_t7_a_child_knows_what_the_chat_that_began_it_has_met(tmp_path: Path) -> None:
    """Or it would carry out what it was told, unasked."""
    script = [
        Turn(Call("read", {"path": "a.txt"}), stop="tool_use"),
        Turn(Call("hand_over", {}), stop="tool_use"),
        Turn(Call("run", {"command": "echo hi"}), stop="tool_use"),
        Turn(Words("It was not allowed.")),
        Turn(Words("Done.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("alpha")
        engine = home.engine
        engine.settings.values.sandbox = False
        asked: list[str] = []

        @tool(effect="read", time_limit=None)
        async def hand_over(context: Context) -> str:
            """Hand the task to another agent."""
            parent = await engine.sessions.open(context.session_id)
            child = await home.session()
            async for envelope in child.turn(
                [Text("You")], rules=[Rule.parse("run")], parent=parent.as_parent
            ):
                event = envelope.event
                if isinstance(event, AwaitingPermission):
                    asked.append(event.question.why)
                    child.answer_permission(event.question.id, "deny")
            return "It is done."

        engine.toolbox.tools["hand_over"] = hand_over
        agent = engine.paths.agents / "coder.md"
        agent.parent.mkdir(exist_ok=True)
        agent.write_text("---\nname: Coder\ntools: [read, run, hand_over]\n---\nWork.\n")
        events = await say(await home.session(), rules=(Rule.parse("run"),), answer="deny")
        assert end_of(list(events)).reason == "done"
        assert len(asked) == 1 and "a.txt" in asked[0]
