"""No tree of agents passes a cap by a cent (W-20)."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from studio.domain.agents import Caps
from studio.domain.jsonvalue import Json
from studio.domain.models import Usage
from studio.domain.run_events import (
    CapRaised,
    CapReached,
    ItemsFound,
    RunEvent,
    RunPaused,
    RunStarted,
    StepStarted,
)
from studio.domain.runs import Run, item_keys
from studio.domain.workflows import Step, Workflow
from studio.providers.pricing import request_cost
from studio.simulator import Call, Pace, RequestView, Returned, Text, Turn
from studio.simulator.script import Usage as Spent
from studio.workflows.cap_offers import LONGEST_ITEM, _named, twice_the_cap
from studio.workflows.reader import read_workflow_text
from support.delegation_home import agent, save
from support.engine_home import EngineHome, engine_home
from support.waiting import within
from support.workflow_home import asked_in, begin, carry_out, workflow

MODEL = "claude-sonnet-4-5"
SLOW = Pace(0.1, 10_000)
STEPS = f"""\
  - id: each
    for_each: [{", ".join(map(str, range(24)))}]
    max_parallel: 64
    fail_fast: false
    agent: Lead
    model: anthropic/{MODEL}
    prompt: "Item ${{{{ item }}}}"
"""


class Provider:
    """Bills what it likes within the limits of a request, and counts it.

    A request has a token to three bytes, whoever asks. Some agents start others, two deep.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.billed = Usage()
        self.dollars = 0.0
        self.home: EngineHome | None = None
        self._came = 0
        self._many = asyncio.Event()

    def __call__(self, view: RequestView) -> Turn:
        assert self.home is not None
        chance = self._chance
        self._came += 1
        if self._came > 3:
            self._many.set()
        sent, limit = len(json.dumps(view.body)) // 3, view.limit or 0
        out = min(chance.choice([40, 900, 5000, 10**9]), limit, 20_000)
        written = chance.choice([0, sent])
        usage = Usage(sent, cache_write=written, output=out)
        self.billed += usage
        self.dollars += request_cost("anthropic", MODEL, usage, None) or 0.0
        spent = Spent(sent, cache_write=written, out=out)
        if out == limit:
            return Turn(Text("And so on"), stop="max_tokens", usage=spent, pace=SLOW)
        started = any(isinstance(one, Returned) for one in view.items)
        if "delegate" in view.tool_names and not started and chance.random() < 0.7:
            tasks = [{"agent": "Lead", "task": f"{asked_in(view)[-40:]}.{n}"} for n in range(2)]
            return Turn(*(Call("delegate", task) for task in tasks), usage=spent, pace=SLOW)
        return Turn(Text("Done."), usage=spent, pace=SLOW)

    async def sleep(self, seconds: float) -> None:
        """No answer begins before four requests are on their way at once."""
        async with within():
            await self._many.wait()
        await asyncio.sleep(seconds)


async def test_w20_a_long_answer_goes_on_while_its_run_has_room(tmp_path: Path) -> None:
    """It is shortened for others that may work for the run; that alone is no end of the run."""
    whole, pieces = "".join(f"{n:04}" for n in range(10_000)) * 2, list[int]()

    def script(view: RequestView) -> Turn:
        """A token has four characters."""
        assert view.limit is not None
        done = sum(pieces)
        pieces.append(min(view.limit, 20_000 - done))
        text = whole[4 * done : 4 * sum(pieces)]
        stop = "end" if text and sum(pieces) == 20_000 else "max_tokens"
        return Turn(Text(text), stop=stop, usage=Spent(2_000 + done, out=pieces[-1]))

    step = '  - {id: say, agent: Lead, model: anthropic/claude-opus-5, prompt: "Much"}\n'
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead"))
        run = await carry_out(await begin(home, workflow(step, "budget: {dollars: 1}\n")))
        assert run.end is not None and run.end.state == "done", run.paused
        assert run.step("say").text == whole and run.dollars < 1
        assert len(pieces) > 1 and pieces[0] < 10_000, pieces


@pytest.mark.parametrize(
    ("seed", "budget", "step"),
    [(1, "dollars: 1", "tokens: 150000"), (2, "tokens: 300000", "dollars: 0.7")],
)
async def test_w20_no_tree_of_agents_passes_a_cap_by_a_cent(
    tmp_path: Path, seed: int, budget: str, step: str
) -> None:
    """Four and more at a time, delegation included; a raised cap lets the run go on to its end."""
    script = Provider(seed)
    own = f"    budget: {{{step}}}\n" if step else ""
    async with engine_home(tmp_path, "anthropic", script, pace=True, sleep=script.sleep) as home:
        script.home = home
        home.engine.settings.values.turn_dollars = home.engine.settings.values.day_dollars = 0.0
        save(home.engine.paths.agents, agent("Lead", "agents: [Lead]\nchildren: 8"))
        runner = await begin(home, workflow(STEPS + own, f"budget: {{{budget}}}\n"))
        run = await carry_out(runner)
        assert run.state == "paused", run.end
        within_cap(script, run.caps[""])
        within_cap(script, runner.plan.workflow.step("each").budget.caps)
        await runner.raise_cap(Caps(), "each")
        await runner.raise_cap(Caps())
        await runner.resume()
        ended: Run = await carry_out(runner)
        assert ended.end is not None, ended.paused
        assert not home.simulator.violations


def within_cap(script: Provider, caps: Caps) -> None:
    if caps.dollars:
        assert script.dollars <= caps.dollars + 1e-9, script.dollars
    if caps.tokens:
        assert script.billed.total <= caps.tokens, script.billed


def test_w20_the_cap_that_a_run_is_paused_at_is_the_one_that_is_doubled() -> None:
    """W-20: not one that another step reached while the run was already paused."""
    text = workflow(
        "  - {id: a, agent: Coder, prompt: A}\n"
        "  - {id: b, agent: Coder, prompt: B, budget: {tokens: 10}}\n"
    )
    found, run = read_workflow_text(text, "w", "").workflow, Run()
    assert found is not None
    run.caps[""] = Caps(1000)
    for event in (
        CapReached("run", "a", "", "The run's."),
        RunPaused("The run's.", "run"),
        CapReached("step", "b", "", "The step's."),
    ):
        run.apply(1.0, event)
    assert twice_the_cap(run, found) == CapRaised(Caps(2000))


def test_w20_an_item_whose_run_is_at_its_cap_hides_nothing_in_its_name() -> None:
    """It may be a model's or a file's value."""
    items: tuple[Json, ...] = (f"a\u202e\nb{'c' * 90}",)
    began: list[RunEvent] = [RunStarted("r", "Story", ""), ItemsFound("each", items)]
    began.append(StepStarted("each", item_keys(items)[0]))
    run = Run([(float(at), event) for at, event in enumerate(began, 1)])
    workflow = Workflow("Story", (Step("each", "workflow", "inner"),))
    label, name = _named(next(run.busy), run, workflow)
    assert label == workflow.step("each").label
    assert len(name) == LONGEST_ITEM and name.isprintable() and name.endswith("…")
