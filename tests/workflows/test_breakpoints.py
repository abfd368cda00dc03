"""A run stops at breakpoints, is changed there, and goes on, also in another program (W-65)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.domain.run_events import (
    BreakpointCleared,
    BreakpointReached,
    BreakpointSet,
    ResultEdited,
)
from studio.domain.runs import Run
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.waiting import within
from support.workflow_home import begin, by_words, go_on, workflow

STEPS = workflow(
    """\
  - {id: plan, agent: Researcher, prompt: "Make a plan"}
  - {id: note, needs: plan, agent: Writer, prompt: "Note ${{ steps.plan.text }}"}
  - {id: test, needs: note, check: "true", redo: {from: note, when: "outputs.passed", max: 1}}
"""
)
ANSWERS = by_words({"Make a plan": "Two parts", "Note": "Noted"})


async def run_on(home: EngineHome, run_id: str, *, one: bool = False) -> Run:
    """Go on with a stored run as a program does that was started again."""
    runner = await go_on(home, run_id)
    await runner.resume(one=one)
    async with within():
        return await runner.carry_out()


def stop_of(run: Run) -> tuple[str, str]:
    assert run.stopped is not None, (run.paused, run.end)
    return run.stopped.moment, run.stopped.step


async def test_w65_a_run_stops_is_changed_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    """PRE-37."""
    async with engine_home(tmp_path, "anthropic", ANSWERS) as home:
        runner = await begin(home, STEPS)
        await runner.debug(BreakpointSet("note"))
        with pytest.raises(ConfigurationError, match="is no condition"):
            await runner.debug(BreakpointSet("note", "after", "1 +"))
        async with within():
            run = await runner.carry_out()
        assert stop_of(run) == ("before", "note") and run.state == "paused"
        assert run.reason == "Stopped before note." and not run.step("note").tries
        step = runner.plan.workflow.step("note")
        assert runner.plan.values.prompt(runner.run, step, "") == "Note Two parts"
        await runner.debug(ResultEdited("plan", "", "Three parts"))
        assert runner.plan.values.prompt(runner.run, step, "") == "Note Three parts"
        await runner.debug(BreakpointSet("test", "after", "outputs.passed"))

    async with engine_home(tmp_path, "anthropic", ANSWERS) as home:
        run = await run_on(home, run.id)
        assert "Note Three parts" in str(home.simulator.requests[-1].json)
        # The check sends the run back: it stops after it, and before the second round.
        assert stop_of(run) == ("after", "test") and run.round_of("note") == 2

        run = await run_on(home, run.id)
        assert stop_of(run) == ("before", "note")
        runner = await go_on(home, run.id)
        await runner.debug(BreakpointCleared("test", "after"))
        run = await run_on(home, run.id)
        assert run.end is not None and run.end.reason.startswith("test: It went back to note once")


async def test_w65_step_by_step(tmp_path: Path) -> None:
    """Each step begins alone, also those that could begin at once."""
    steps = workflow(
        """\
  - {id: a, set: {x: 1}}
  - {id: b, set: {x: 2}}
  - {id: c, needs: [a, b], set: {x: 3}}
"""
    )
    async with engine_home(tmp_path, "anthropic", []) as home:
        runner = await begin(home, steps)
        await runner.debug(BreakpointSet("a", when="1 > 2"))
        await runner.debug(BreakpointSet("b", when="steps.nowhere.text == 'x'"))
        async with within():
            run = await runner.carry_out()
        assert stop_of(run) == ("before", "b"), "a condition that cannot be computed stops"
        begun = [sorted(step for (step, _), one in run.steps.items() if one.tries)]
        while run.end is None:
            run = await run_on(home, run.id, one=True)
            begun.append(sorted(step for (step, _), one in run.steps.items() if one.tries))
        assert begun == [[], ["b"], ["a", "b"], ["a", "b", "c"]]
        events = await WorkflowRuns(home.engine).store.events(run.id)
        stops = [event for _, event in events if isinstance(event, BreakpointReached)]
        assert [one.step for one in stops] == ["b", "a", "c"]
