"""What requests used and cost, each one and added up, on every protocol (P-5, H-9)."""

from __future__ import annotations

import functools
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.context.cache_ledger import CacheLedger
from studio.agent.retry_policy import RetryPolicy
from studio.agent.session.native_history import NativeHistory
from studio.agent.session.session import Session
from studio.agent.usage_costs import UsageTotal, format_dollars, request_total, total, totals_by_key
from studio.domain.ledger import LedgerEntry, Sent, UsageRow
from studio.domain.messages import Text as Said
from studio.domain.models import Generation, ModelInfo
from studio.domain.models import Usage as Used
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Request
from studio.providers.pricing import request_cost, tier_sizes
from studio.simulator import Call, Text, Turn, Usage, cut
from studio.storage.connection import migrate
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.usage import UsageKey, ledger, usage_by
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say

KEYS: tuple[UsageKey, ...] = get_args(UsageKey)
MODELS = {
    "anthropic": "claude-opus-5-5",
    "openai": "gpt-5.5",
    "gemini": "gemini-3.5-flash",
    "openai-compatible": "gpt-5.5",
    "ollama": "sim-model",
}
CACHED = ("anthropic", "openai", "gemini")
"""Those of whose cache something is known."""


def told(provider: str, usage: Usage) -> Used:
    """What of a request's figures a provider's answer has room for."""
    ollama = provider == "ollama"
    return Used(
        usage.inp,
        0 if ollama else usage.cache_read,
        usage.cache_write if provider in ("anthropic", "openai") else 0,
        usage.out,
        0 if ollama else usage.reasoning,
    )


async def spoken(home: EngineHome, *models: str, agent: str = "Coder") -> Session:
    """A session with one turn for each model."""
    session = await home.session(agent, models[0])
    for model in models:
        await session.change(model=model)
        await say(session)
    return session


def days_back(home: EngineHome, session: Session, days: int) -> str:
    """Have a session's requests made on an earlier day; returns that day."""
    at = time.time() - days * 86_400
    with closing(sqlite3.connect(home.engine.paths.database)) as db, db:
        db.execute("UPDATE usage SET at = ? WHERE session_id = ?", (at, session.info.id))
    return time.strftime("%Y-%m-%d", time.localtime(at))


# --- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_p5_every_request_turn_session_agent_and_day(tmp_path: Path, provider: str) -> None:
    figures = [
        Usage(6000, 0, 5000, 100, 40),
        Usage(7000, 6000, 1000, 200, 0),
        Usage(9000, 7000, 100, 300, 20),
        Usage(500, 0, 0, 7, 3),
    ]
    parts = [Call("list", {}), Text("One."), Text("Two."), Text("Three.")]
    script = [Turn(part, usage=usage) for part, usage in zip(parts, figures, strict=True)]
    one, two, three, four = [told(provider, usage) for usage in figures]
    model = MODELS[provider]
    async with engine_home(tmp_path, provider, script) as home:
        engine = home.engine
        first = await spoken(home, model, model)
        second = await spoken(home, model, agent="Writer")
        entries = await engine.store.ledger(first.info.id)
        assert [(entry.step, entry.usage) for entry in entries] == [(1, one), (2, two), (1, three)]
        assert {(e.provider, e.model, e.agent, e.cost) for e in entries} == {
            (provider, model, "Coder", None)
        }
        prices = [
            request_cost(provider, model, used, engine.model(provider, model))
            for used in (one, two, three, four)
        ]
        assert None not in prices
        assert all(prices) == (provider != "ollama")
        assert await engine.usage_costs.costs(entries) == prices[:3]

        earlier = days_back(home, second, 3)
        today = days_back(home, first, 0)  # all of it on one day, also at midnight
        turns = [entries[0].turn_id, entries[2].turn_id]
        expected: dict[UsageKey, dict[str, tuple[int, ...]]] = {
            "turn": {turns[0]: (0, 1), turns[1]: (2,)},
            "session": {first.info.id: (0, 1, 2), second.info.id: (3,)},
            "agent": {"Coder": (0, 1, 2), "Writer": (3,)},
            "day": {today: (0, 1, 2), earlier: (3,)},
            "model": {model: (0, 1, 2, 3)},
        }
        used = (one, two, three, four)
        for by, keys in expected.items():
            found = await engine.usage_costs.spent(by, first.info.id if by == "turn" else "")
            assert list(found) == list(keys)
            for key, which in keys.items():
                spent = found[key]
                assert spent.usage == sum((used[n] for n in which), Used())
                assert (spent.requests, spent.own, spent.unpriced) == (len(which), 0.0, 0)
                assert spent.estimate == pytest.approx(sum(prices[n] or 0 for n in which))
        assert list(await engine.usage_costs.spent("day", since=time.time() - 86_400)) == [today]
        assert not home.simulator.violations


async def test_p5_one_s_own_price_comes_before_the_tables_and_a_figure_before_both(
    tmp_path: Path,
) -> None:
    """Chat Completions is where a provider says what a request cost, as OpenRouter does."""
    script = [Turn(Text("A."), usage=Usage(1_000_000, out=0, cost=figure)) for figure in
              (None, None, 0.125, 0.0, None)]  # fmt: skip
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        engine = home.engine
        engine.settings.values.long_dollars = 0.0  # no cap: this is about prices
        session = await spoken(home, "gpt-4o")
        assert (await engine.usage_costs.spent("model"))["gpt-4o"].estimate == pytest.approx(2.5)
        entry = {"input_price": 7.0, "output_price": 1.0}
        engine.settings.values.models["openai-compatible/gpt-4o"] = entry
        assert (await engine.usage_costs.spent("model"))["gpt-4o"].estimate == pytest.approx(7.0)
        for _ in range(3):
            await say(session)
        entries = await engine.store.ledger(session.info.id)
        assert await engine.usage_costs.costs(entries) == pytest.approx([7.0, 7.0, 0.125, 0.0])
        spent = (await engine.usage_costs.spent("model"))["gpt-4o"]
        assert (spent.own, spent.estimate) == (0.125, pytest.approx(14.0))
        assert (spent.requests, spent.source) == (4, "Partly an estimate")
        # What nobody has a price for is counted, and is no request for nothing.
        await session.change(model="nobody-knows")
        await say(session)
        spent = (await engine.usage_costs.spent("model"))["nobody-knows"]
        assert (spent.requests, spent.unpriced, spent.cost, spent.source) == (1, 1, 0.0, "")
        assert (await engine.usage_costs.spent("session"))[session.info.id].unpriced == 1


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai-compatible"])
async def test_l12_an_attempt_that_failed_is_counted_too(tmp_path: Path, provider: str) -> None:
    """Where usage was told before the stream broke; the others tell it in the last event."""
    usage = Usage(6000, 1000, 500, 100, 20, cost=0.25 if provider == "openai-compatible" else None)
    broken = Turn(Text("Half an answer"), usage=usage, faults=[cut(-1)])
    script = [broken, Turn(Text("The rest."), usage=Usage(7000, out=10))]
    async with engine_home(tmp_path, provider, script, patience=RetryPolicy(base=0.0)) as home:
        session = await spoken(home, MODELS[provider])
        failed, whole = await home.engine.store.ledger(session.info.id)
        assert failed.usage.input > 0 and failed.usage.cache_read == 1000 and failed.step == 1
        assert whole.usage == Used(7000, output=10) and whole.step == 1
        (spent,) = (await home.engine.usage_costs.spent("turn")).values()
        assert spent.requests == 2 and spent.usage == failed.usage + whole.usage
        assert spent.own == (0.25 if provider == "openai-compatible" else 0.0)


# --- caches -----------------------------------------------------------------------------------


def big(read: int = 0) -> Turn:
    return Turn(Text("Yes."), usage=Usage(20_000, cache_read=read, out=10))


async def last(home: EngineHome, session: Session) -> Sent:
    sent = (await home.engine.store.ledger(session.info.id))[-1].sent
    assert sent is not None
    return sent


OTHER = {"anthropic": "claude-sonnet-5", "openai": "gpt-5.2", "gemini": "gemini-2.5-flash"}


async def test_h9_another_form_of_answer_may_break_a_cache(tmp_path: Path) -> None:
    """Anthropic keeps the messages of a conversation for one form and one choice of tools."""
    script = [big(), big(20_000), big(), big(20_000)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await spoken(home, MODELS["anthropic"], MODELS["anthropic"])
        broke: list[str] = []
        for wish in (Generation(choice="none"), Generation(choice="none")):
            async for _ in session.turn([Said("Go")], generation=wish):
                pass
            broke.append((await last(home, session)).broke)
        assert broke == ["Another form of answer was asked for, or other calls.", ""]


@pytest.mark.parametrize("provider", CACHED)
async def test_h9_a_broken_cache_says_which_part_changed_and_what_it_cost(
    tmp_path: Path, provider: str
) -> None:
    script = [big(), big(20_000), *(big() for _ in range(5))]
    async with engine_home(tmp_path, provider, script) as home:
        session = await spoken(home, MODELS[provider], MODELS[provider])
        sent = await last(home, session)
        assert (sent.expected, sent.broke, sent.lost) == (20_000, "", 0.0)

        await say(session)
        dropped = await last(home, session)
        assert dropped.broke == "Nothing changed here. The provider had dropped it."

        await session.change(effort="high")
        await say(session)
        thinking = await last(home, session)
        assert thinking.broke == "The thinking setting changed."

        await session.context.compact()
        await say(session)
        anew = await last(home, session)
        assert "shorten" in anew.broke.lower()

        await session.change(model=OTHER[provider])
        await say(session)
        model = await last(home, session)
        assert model.broke == "The model changed."
        identifier = session.info.id
        days_back(home, session, 1)
        assert not home.simulator.violations
    async with engine_home(tmp_path, provider, [big()]) as home:
        session = await home.engine.sessions.open(identifier)
        await say(session)
        pause = await last(home, session)
        assert pause.broke.startswith("The pause of 24 h was longer than the ")

        broken = [dropped, thinking, anew, model, pause]
        assert all(one.expected == 20_000 and one.lost > 0 for one in broken)
        (spent,) = (await home.engine.usage_costs.spent("session")).values()
        assert spent.lost == pytest.approx(sum(one.lost for one in broken))
        assert 0 < spent.lost < spent.cost


@pytest.mark.parametrize("provider", [name for name in PROTOCOLS if name not in CACHED])
async def test_h9_nothing_is_expected_of_a_cache_nobody_knows(
    tmp_path: Path, provider: str
) -> None:
    script = [Turn(Text("Yes."), usage=Usage(2_000, out=10))] * 3
    async with engine_home(tmp_path, provider, script) as home:
        session = await spoken(home, MODELS[provider], MODELS[provider], "another")
        for entry in await home.engine.store.ledger(session.info.id):
            assert entry.sent is not None
            assert (entry.sent.expected, entry.sent.broke, entry.sent.lost) == (0, "", 0.0)


@pytest.mark.parametrize("provider", CACHED)
async def test_h9_histories_that_grow_are_read_from_a_real_cache(
    tmp_path: Path, provider: str
) -> None:
    """The simulator remembers what it was sent: only what changed is paid for again."""
    steps = [Turn(Call("list", {})), Turn(Text("Done."))]
    long = "A long message, to be found in the cache. " * 1000
    async with engine_home(tmp_path, provider, [*steps, *steps, *steps]) as home:
        session = await home.session(model=MODELS[provider])
        await say(session, long)
        await say(session, "And?")
        entries = await home.engine.store.ledger(session.info.id)
        assert [entry.usage.cache_read > 0 for entry in entries] == [False, True, True, True]
        for entry in entries[1:]:
            assert entry.sent is not None and not entry.sent.broke
            assert entry.sent.expected > 9000
        await session.change(model=OTHER[provider])
        await say(session, "Well?")
        fresh, after = [entry.sent for entry in await home.engine.store.ledger(session.info.id)][4:]
        assert fresh and after
        assert fresh.broke == "The model changed." and fresh.lost > 0 and not after.broke
        assert not home.simulator.violations


def history(*chain: str) -> NativeHistory:
    made = NativeHistory(None, "s")  # type: ignore[arg-type]  # nothing is stored
    made.epoch, made.chain = 1, [*chain]
    return made


async def test_h9_an_older_part_that_changed_is_told() -> None:
    """Which cannot be brought about from outside: a history only grows."""
    provider = AnthropicProvider("sk-test", "http://127.0.0.1:9", None)  # type: ignore[arg-type]  # never asked
    request = Request("claude-opus-5-5", [], "", [])
    ledger = CacheLedger()
    used = Used(input=20_000, output=5)
    sent = await ledger.settle(ledger.expect(provider, request, history("a", "b")), used)
    assert (sent.items, sent.prefix, sent.expected) == (1, "b", 0)
    sent = await ledger.settle(ledger.expect(provider, request, history("a", "c", "d")), used)
    assert sent.broke == "An earlier part of the conversation changed." and sent.lost > 0
    less = Used(input=2_000, output=5)
    short = await ledger.settle(ledger.expect(provider, request, history("a", "e")), less)
    assert 0 < short.lost < sent.lost / 5  # no more than what was sent this time
    kept = Used(input=2_000, cache_read=1_800, output=5)
    short = await ledger.settle(ledger.expect(provider, request, history("a", "e")), kept)
    assert (short.broke, short.lost) == ("", 0.0)


# --- the sums themselves ----------------------------------------------------------------------

few = st.integers(0, 3)
counts = st.integers(0, 500_000)


@st.composite
def entries(draw: st.DrawFn) -> tuple[str, LedgerEntry]:
    """A request and its session."""
    whole, read, written = draw(counts), draw(st.floats(0, 1)), draw(st.floats(0, 1))
    cached = int(whole * read)
    used = Used(whole, cached, int((whole - cached) * written), draw(counts), draw(few))
    provider = draw(st.sampled_from(sorted(MODELS)))
    sent = Sent(1, 2, "abc", 5, "", draw(few) / 4)
    entry = LedgerEntry(
        at=1_700_000_000.0 + draw(st.integers(0, 9)) * 40_000,
        turn_id=f"t{draw(few)}",
        step=1,
        agent=draw(st.sampled_from(("Coder", "Writer", ""))),
        provider=provider,
        model=draw(st.sampled_from((MODELS[provider], "gpt-6.1-sol", "nobody-knows"))),
        usage=used,
        seconds=0.5,
        sent=draw(st.sampled_from((sent, None))),
        cost=draw(st.sampled_from((None, None, 0.0, 0.25))),
    )
    return f"s{draw(few)}", entry


def stored(requests: list[tuple[str, LedgerEntry]]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, MIGRATIONS)
    for session_id, one in requests:
        used = one.usage
        sent = (one.sent.epoch, one.sent.lost) if one.sent else (None, None)
        if one.sent:
            more = (one.sent.items, one.sent.prefix, one.sent.expected, one.sent.broke)
        else:
            more = (None,) * 4
        values = (session_id, one.turn_id, one.step, one.at, one.agent, one.provider, one.model,
                  one.seconds, one.cost, used.input, used.cache_read, used.cache_write,
                  used.output, used.reasoning, *sent, *more)  # fmt: skip
        db.execute(
            f"""INSERT INTO usage (session_id, turn_id, step, at, agent, provider, model, seconds,
            cost, input, cache_read, cache_write, output, reasoning, epoch, lost, items, prefix,
            expected, broke) VALUES ({", ".join("?" * len(values))})""",
            values,
        )
    return db


tiers = functools.cache(tier_sizes)


def summed(db: sqlite3.Connection, by: UsageKey, session: str = "") -> dict[str, UsageTotal]:
    apart = tiers()
    return totals_by_key(((row, None) for row in usage_by(db, by, session, 0.0, apart)), apart)


def amounts(spent: UsageTotal) -> tuple[float, ...]:
    return (spent.own, spent.estimate, spent.lost)


@given(st.lists(entries(), max_size=12))
def test_sums_of_any_kind_are_the_sum_of_all(requests: list[tuple[str, LedgerEntry]]) -> None:
    with closing(stored(requests)) as db:
        known = ledger(db, "", 0.0)
        assert known == [entry for _, entry in requests]
        every = total(
            request_total(
                one, request_cost(one.provider, one.model, one.usage) if one.cost is None else None
            )
            for one in known
        )
        for by in KEYS:
            found = total(summed(db, by).values())
            assert amounts(found) == pytest.approx(amounts(every))
            assert (found.requests, found.usage, found.unpriced) == (
                every.requests, every.usage, every.unpriced,
            )  # fmt: skip
            parts = [total(summed(db, by, session).values()) for session in dict(requests)]
            whole = total(parts)
            assert amounts(whole) == pytest.approx(amounts(every))
            assert (whole.requests, whole.usage) == (every.requests, every.usage)


def test_p5_large_requests_are_priced_as_such_however_they_are_added_up() -> None:
    """Prices of gpt-6.1-sol double above 272,000 tokens."""
    model = "gpt-6.1-sol"
    asked = [10_000, 272_000, 272_001, 500_000]
    requests = [
        ("s", LedgerEntry(1e9, "t", 1, "Coder", "openai", model, Used(size), 1.0)) for size in asked
    ]
    exact = sum(request_cost("openai", model, Used(size)) or 0.0 for size in asked)
    with closing(stored(requests)) as db:
        assert [spent.estimate for spent in summed(db, "model").values()] == pytest.approx([exact])
        mixed = totals_by_key(((row, None) for row in usage_by(db, "model", "", 0.0, ())), ())
        assert mixed[model].estimate != pytest.approx(exact, rel=1e-2)


def test_counts_that_cannot_be_are_counted_without_a_price() -> None:
    odd = UsageRow("k", "openai", "gpt-5.5", Used(10, 20), 1, 0.0, 1, Used(10, 20), 0.0)
    assert totals_by_key([(odd, None)], [])["k"] == UsageTotal(1, Used(10, 20), unpriced=1)
    mine = ModelInfo("x", input_price=1.0, output_price=1.0)
    row = UsageRow("k", "openai", "x", Used(3_000_000), 3, 0.5, 2, Used(2_000_000), 0.25)
    assert totals_by_key([(row, mine), (row, mine)], [])["k"] == UsageTotal(
        6, Used(6_000_000), own=1.0, estimate=4.0, lost=0.5
    )


def test_amounts_in_words() -> None:
    words = [format_dollars(amount) for amount in (0.0, 12.345, 0.314, 0.0421, 0.00421)]
    assert words == ["", "$12.35", "$0.31", "$0.042", "$0.0042"]
    assert [UsageTotal(unpriced=count).gap for count in (0, 1, 2000)] == [
        "", "1 request has no known price", "2,000 requests have no known price",
    ]  # fmt: skip
    kinds = [
        UsageTotal(own=1.0),
        UsageTotal(estimate=1.0),
        UsageTotal(own=1.0, estimate=1.0),
        UsageTotal(unpriced=1),
    ]
    assert [kind.source for kind in kinds] == [
        "The provider’s figure", "Estimate", "Partly an estimate", "",
    ]  # fmt: skip
