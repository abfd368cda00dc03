"""The demo's workflow shows in its folder, without a key, what workflows can do (W-72)."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from studio.domain.runs import RunEvent, StepAsked
from studio.simulator import demo_script
from studio.workflows.fork import ForkRequest
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.workflow_home import carry_out, states


async def done(runner: Runner) -> list[str]:
    """Carry a run out, say yes, and take the first side of what was changed differently."""
    asked: list[str] = []
    answers: list[asyncio.Task[None]] = []

    def answer(event: RunEvent) -> None:
        if isinstance(event, StepAsked):
            question = event.question
            asked.append(question.kind)
            given = question.choices[0] if question.kind == "conflict" else True
            answers.append(asyncio.ensure_future(runner.answer(question.id, given)))

    run = await carry_out(runner, answer)
    await asyncio.gather(*answers)
    assert run.end is not None and run.end.state == "done", (run.end, states(run))
    return asked


async def demo_runs(home: EngineHome) -> tuple[WorkflowRuns, Runner]:
    resources = home.engine.paths.resources / "demo"
    shutil.copytree(resources, home.folder, dirs_exist_ok=True)
    runs = WorkflowRuns(home.engine)
    path = await runs.files.locate("leaflet", home.folder)
    options = RunOptions({}, provider=home.provider, model="demo-quick")
    return runs, await runs.start(path, home.folder, options)


async def test_w72_four_agents_a_gate_a_failed_try_a_conflict_and_a_fork(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "openai-compatible", demo_script) as home:
        runs, runner = await demo_runs(home)
        agents = {one.target for one in runner.plan.workflow.steps if one.kind == "agent"}
        assert len(agents) == 4
        assert await done(runner) == ["approve", "conflict"]
        run = runner.run
        assert run.redone == {"check": 1} and len(run.step("leaflet").tries) == 2
        assert "README.md" in run.step("leaflet").text
        before = (home.folder / "todo.txt").read_text("utf-8")
        drafts = (await home.engine.sessions.open(run.drafts)).drafts.waiting_files()
        assert [one.path for one in drafts] == ["todo.txt"]
        assert (home.folder / "todo.txt").read_text("utf-8") == before, "nothing before a yes"
        await runs.close(runner)

        plan = await runs.plan_fork(ForkRequest(run.id, "leaflet"))
        assert {one.step for one in plan.linked} == {"look", "plan"}
        again = await runs.fork(plan)
        assert await done(again) == ["approve", "conflict"]
        assert not home.simulator.violations
