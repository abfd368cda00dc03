"""Runs of one group, and runs that another program stops (W-6, W-19)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from studio.domain.runs import Run
from studio.storage.runs import RunInUse
from studio.workflows import workflow_runs
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.waiting import until, within
from support.workflow_home import begin, workflow, write

WAITS = "  - {id: ok, approve: Go on?}\n"


async def begun(home: EngineHome, busy: str, group: str = "g-${{ inputs.x }}") -> Runner:
    top = f"inputs: {{x: {{default: a}}}}\nconcurrency: {{group: '{group}', busy: {busy}}}\n"
    return await begin(home, workflow(WAITS, top))


def started(runner: Runner) -> asyncio.Task[Run]:
    return asyncio.create_task(runner.carry_out())


async def asks(runner: Runner) -> str:
    await until(lambda: list(runner.run.questions))
    return next(runner.run.questions)[1].id


async def test_w6_runs_of_a_group_wait_are_left_out_or_take_the_place(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home, within():
        first, other = await begun(home, "queue"), await begun(home, "queue", "another")
        work, beside = started(first), started(other)
        await asks(first)
        await asks(other)  # of another group
        second = await begun(home, "queue")
        waits = started(second)
        await until(lambda: second.run.queued)
        assert second.run.reason == "It waits for Story, run 1." and not second.run.steps
        third = await begun(home, "skip")
        end = (await started(third)).end
        assert end is not None and end.state == "stopped"
        assert end.reason == "It was left out, because Story, run 1, Story, run 3 are not over."
        await first.answer(await asks(first), True)
        assert (await work).state == "done"
        await asks(second)  # it is its turn
        fourth = await begun(home, "cancel")
        last = started(fourth)
        stopped = (await waits).end
        assert stopped is not None
        assert (stopped.state, stopped.reason) == ("stopped", "Story, run 5, took its place.")
        await fourth.answer(await asks(fourth), True)
        assert (await last).state == "done"
        assert other.run.end is None
        await other.stop()
        await beside


async def test_w6_a_paused_run_and_one_of_a_dead_program_hold_up_nobody(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home, within():
        first = await begun(home, "queue")
        work = started(first)
        await asks(first)
        second = await begun(home, "queue")
        waits = started(second)
        await until(lambda: second.run.queued)
        work.cancel()
        await asyncio.wait([work])
        await second.answer(await asks(second), True)
        assert (await waits).state == "done"
        await home.engine.database.execute(
            "UPDATE runs SET in_group = 'g-a', ticket = 1, owner = 'gone' WHERE id = ?",
            first.run.id,
        )
        third = await begun(home, "queue")
        last = started(third)
        await third.answer(await asks(third), True)
        assert (await last).state == "done"


async def test_w19_a_run_is_stopped_that_another_program_carries_out(tmp_path: Path) -> None:
    async with (
        engine_home(tmp_path, "anthropic", []) as home,
        engine_home(tmp_path, "anthropic", []) as other,
        within(),
    ):
        runner = await begin(home, workflow(WAITS))
        work = started(runner)
        await asks(runner)
        run = await WorkflowRuns(other.engine).stop(runner.run.id)
        assert run.end is not None and run.end.reason == "You stopped it."
        assert (await work).end == run.end


@pytest.mark.parametrize("busy", ["skip", "cancel"])
async def test_w6_a_run_that_did_something_waits_when_it_goes_on(tmp_path: Path, busy: str) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home, within():
        first = await begun(home, busy)
        work = started(first)
        await asks(first)
        await first.pause()
        await work
        second = await begun(home, busy)
        beside = started(second)
        await asks(second)
        await first.resume()
        work = started(first)
        await until(lambda: first.run.queued or first.run.end)
        assert first.run.reason == "It waits for Story, run 2." and second.run.end is None
        await second.answer(await asks(second), True)
        assert (await beside).state == "done"
        await first.answer(await asks(first), True)
        assert (await work).state == "done"


async def test_w6_a_run_waits_for_none_that_it_is_below(tmp_path: Path) -> None:
    top = "concurrency: {group: x}\n"
    async with engine_home(tmp_path, "anthropic", []) as home, within():
        write(home.folder, "middle", workflow("  - {id: m, workflow: leaf}\n"))
        write(home.folder, "leaf", workflow("  - {id: l, set: {a: 1}}\n", top))
        runner = await begin(home, workflow("  - {id: t, workflow: middle}\n", top))
        assert (await started(runner)).state == "done"


async def test_w19_a_wish_to_stop_ends_with_who_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow_runs, "PATIENCE", 1)
    async with (
        engine_home(tmp_path, "anthropic", []) as home,
        engine_home(tmp_path, "anthropic", []) as other,
        within(),
    ):
        runner = await begin(home, workflow(WAITS))
        mine, others = WorkflowRuns(home.engine), WorkflowRuns(other.engine)
        with pytest.raises(RunInUse):  # nobody carries it out, and it is claimed
            await others.stop(runner.run.id)
        assert not await mine.store.stop_wanted(runner.run.id)
        await mine.store.want_stop(runner.run.id, "In vain.")
        await mine.close(runner)
        await others.store.claim(runner.run.id)
        assert not await mine.store.stop_wanted(runner.run.id)
