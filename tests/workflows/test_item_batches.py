"""Items through the batches of three providers: half the price, never sent twice (W-57)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from studio.domain.agents import Caps
from studio.domain.models import Usage as ModelUsage
from studio.providers.anthropic.batch import AnthropicBatches
from studio.providers.gemini.batch import GeminiBatches
from studio.providers.openai.batch import OpenAIBatches
from studio.providers.pricing import request_cost
from studio.simulator import BatchPlan, RequestView, Text, Turn, Usage
from studio.simulator.anthropic import batches as anthropic_desk
from studio.simulator.gemini import batches as gemini_desk
from studio.simulator.openai import batches as openai_desk
from studio.storage.run_items import ItemStore
from support.engine_home import PROTOCOLS, EngineHome, engine_home
from support.waiting import until, within
from support.workflow_home import asked_in, begin, carry_out, go_on, workflow

PROVIDERS = ("anthropic", "openai", "gemini")
BATCH = workflow(
    """\
  - id: read
    agent: Reader
    via: batch
    for_each: ${{ rows("invoices.jsonl") }}
    outputs: {type: object, required: [total], properties: {total: {type: number}}}
    on_error: continue
    prompt: "Invoice ${{ item.number }}"
"""
)


def prepare(home: EngineHome, count: int) -> None:
    rows = [json.dumps({"number": number}) for number in range(count)]
    (home.folder / "invoices.jsonl").write_text("\n".join(rows))
    agents = home.engine.paths.agent_places[0]
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "reader.md").write_text("---\nname: Reader\ntools: []\n---\nRead it.\n")


class Model:
    """Answers invoices; counts how often each was worked on."""

    def __init__(self) -> None:
        self.worked = Counter[int]()

    def __call__(self, view: RequestView) -> Turn:
        number = int(asked_in(view).partition("Invoice ")[2].split()[0])
        self.worked[number] += 1
        said = "Broken." if number % 100 == 7 else json.dumps({"total": number})
        return Turn(Text(said), usage=Usage(inp=100, out=20))


async def results(home: EngineHome, run_id: str) -> dict[int, tuple[str, object]]:
    store = ItemStore(home.engine.database)
    queue = await store.queue(run_id, "read")
    assert queue is not None
    rows = await store.rows(queue, most=100_000)
    return {row.value["number"]: (row.state, row.outputs) for row in rows}  # type: ignore[index]


def desk(home: EngineHome):
    return home.simulator.batches[PROTOCOLS[home.provider]]  # type: ignore[index]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_w57_a_batch_that_partly_fails_and_expires(tmp_path: Path, provider: str) -> None:
    model, late = Model(), set[str]()

    def expires(id: str) -> bool:
        """The first three hundred are late once."""
        place = id.rpartition("-")[2]
        first = place not in late and int(place) < 30
        late.add(place)
        return first

    plan = BatchPlan(polls=1, expires=expires, most_requests=100)
    async with engine_home(tmp_path, provider, model, batches=plan) as home:
        prepare(home, 120)
        runner = await begin(home, BATCH)
        runner.yes = True
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", run.end
        found = await results(home, run.id)
        assert {n for n, (state, _) in found.items() if state == "failed"} == {7, 107}
        assert all(made == {"total": n} for n, (state, made) in found.items() if state == "done")
        assert model.worked.total() - 20 == 100 and max(model.worked.values()) <= 3
        assert run.tallies["read"].tried_again["expired"] > 0
        assert len(desk(home).batches) >= 2
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_w57_a_killed_program_finds_its_batch_again_and_sends_none_twice(
    tmp_path: Path, provider: str
) -> None:
    model = Model()
    async with engine_home(tmp_path, provider, model, batches=BatchPlan(polls=1, lost=1)) as home:
        prepare(home, 60)
        runner = await begin(home, BATCH)
        runner.yes = True
        carrying = asyncio.create_task(runner.carry_out())
        async with within():
            await until(lambda: bool(desk(home).batches))
        carrying.cancel()
        await asyncio.wait([carrying])
        run_id, database = runner.run.id, home.engine.database
        assert await database.rows("SELECT remote FROM batch_jobs") == [("",)]
        (key,) = (await database.rows("SELECT key FROM batch_jobs"))[0]
        await database.execute("UPDATE runs SET owner = '' WHERE id = ?", run_id)
        run = await carry_out(await go_on(home, run_id))
        assert run.end is not None and run.end.state == "done", run.end
        assert len(desk(home).batches) == 1
        assert Counter(state for state, _ in (await results(home, run_id)).values()) == {
            "done": 59,
            "failed": 1,
        }
        assert all(many == 1 for number, many in model.worked.items() if number != 7)
        assert await database.rows("SELECT key FROM batch_jobs") == []
        # One that was never sent: it is in no list, so its items go out now.
        again = await begin(home, BATCH.replace("Invoice", "Again, Invoice"))
        again.yes = True
        with_job = asyncio.create_task(again.carry_out())
        async with within():
            await until(lambda: len(desk(home).batches) == 2)
        with_job.cancel()
        await asyncio.wait([with_job])
        desk(home).batches.popitem()
        await database.execute("UPDATE batch_jobs SET remote = '', began = began - 3600")
        await database.execute("UPDATE runs SET owner = '' WHERE id = ?", again.run.id)
        run = await carry_out(await go_on(home, again.run.id))
        assert run.end is not None and len(desk(home).batches) == 2
        assert len(await results(home, run.id)) == 60
        assert key not in {one.id for one in desk(home).batches.values()}
        assert not home.simulator.violations


def test_w57_batches_are_as_large_as_their_providers_take_them() -> None:
    """The simulator refuses what is larger, see the test of one in parts below."""
    for ours, theirs, requests, size in (
        (AnthropicBatches, anthropic_desk, 100_000, 256_000_000),
        (OpenAIBatches, openai_desk, 50_000, 200_000_000),
    ):
        assert (ours.most_requests, ours.most_bytes) == (requests, size)
        assert (requests, size) == (theirs.MOST_REQUESTS, theirs.MOST_BYTES)
    assert gemini_desk.MOST_INLINE == 20_000_000 >= GeminiBatches.most_inline
    assert GeminiBatches.most_bytes <= gemini_desk.MOST_BYTES


async def test_w57_a_stopped_run_cancels_its_batch(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", Model(), batches=BatchPlan(polls=10_000)) as home:
        prepare(home, 60)
        runner = await begin(home, BATCH)
        runner.yes = True
        carrying = asyncio.create_task(runner.carry_out())
        async with within():
            made = desk(home).batches
            await until(lambda: any(one.polls < 10_000 for one in made.values()), "it is known")
            await runner.stop()
            run = await carrying
        assert run.end is not None and run.end.state == "stopped"
        assert [one.state for one in desk(home).batches.values()] == ["cancelling"]


async def test_w57_an_agent_with_tools_is_told_that_it_has_no_batches(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", Model()) as home:
        prepare(home, 3)
        runner = await begin(home, BATCH.replace("agent: Reader", "agent: Researcher"))
        run = await carry_out(runner)
        assert (
            "Researcher has tools, and batches take agents without any" in run.step("read").reason
        )


@pytest.mark.parametrize(
    ("provider", "model", "dollars"),
    [
        ("anthropic", "claude-opus-5", 1.0),
        ("openai", "gpt-5", 0.4),
        ("gemini", "gemini-2.5-pro", 0.4),
    ],
)
async def test_w57_w20_half_the_price_and_never_above_the_cap(
    tmp_path: Path, provider: str, model: str, dollars: float
) -> None:
    each = request_cost(provider, model, ModelUsage(100, output=20), None)
    assert each
    text = BATCH.replace("agent: Reader", f"agent: Reader\n    model: {provider}/{model}")
    async with engine_home(tmp_path, provider, Model()) as home:
        prepare(home, 60)
        (home.folder / "invoices.jsonl").write_text(
            "\n".join(json.dumps({"number": number}) for number in range(1_000, 1_060))
        )
        runner = await begin(home, text)
        runner.yes = True
        await runner.raise_cap(Caps(dollars=dollars))  # room for some items at a time alone
        run = await carry_out(runner)
        assert run.end is not None, run.paused
        twice = 2 * each  # number 1007 was asked thrice, where it is one of the sample
        assert 40 * each - 1e-9 <= run.dollars <= 40 * each + twice
        assert len(desk(home).batches) > 1
        spent = await home.engine.usage_costs.spent("session", run.id)
        assert abs(sum(one.cost for one in spent.values()) - run.dollars) < 1e-9
        assert not home.simulator.violations


@pytest.mark.parametrize(
    ("provider", "letters", "most"),
    [
        ("anthropic", 1_000, 20_000),
        ("openai", 1_000, 20_000),
        ("gemini", 200_000, 0),
        ("gemini", 800_000, 21_500_000),
    ],
)
async def test_w57_a_batch_that_its_provider_finds_too_large_goes_out_in_parts(
    tmp_path: Path, provider: str, letters: int, most: int
) -> None:
    """One that Gemini takes no more inline is a file, which is uploaded first."""
    model, plan = Model(), BatchPlan(polls=1, most_bytes=most)
    text = BATCH.replace('"Invoice', '"${{ item.text }} Invoice')
    rows = [json.dumps({"number": number, "text": "x" * letters}) for number in range(30)]
    async with engine_home(tmp_path, provider, model, batches=plan) as home:
        prepare(home, 30)
        (home.folder / "invoices.jsonl").write_text("\n".join(rows))
        run = await carry_out(await begin(home, text))
        assert run.end is not None and run.end.state == "done", run.end
        parts = [len(one.requests) for one in desk(home).batches.values()]
        assert bool(most) == (len(parts) > 1)
        assert sum(parts) == 30 and set(model.worked.values()) == {1}
        if provider == "gemini":
            uploaded = [one.about["file"] for one in desk(home).batches.values()]
            assert uploaded[0] and len(set(uploaded)) == len(uploaded)
        states = Counter(state for state, _ in (await results(home, run.id)).values())
        assert states == {"done": 29, "failed": 1}
        refused = {one.rule for one in home.simulator.violations}
        assert refused == ({"size"} if most else set())
