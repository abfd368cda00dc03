"""Runs and steps that are paused, or have worked as long as they may (W-19, W-20)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studio.domain.agents import NO_CAPS
from studio.domain.permissions import Rule
from studio.domain.run_events import (
    CapRaised,
    CapReached,
    ItemsFound,
    RunEvent,
    RunPaused,
    RunQuestion,
    RunQueued,
    RunStarted,
    StepAnswered,
    StepAsked,
    StepFinished,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, item_keys
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.storage.runs import RunStore
from studio.workflows.cap_offers import twice_the_cap
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import engine_home
from support.waiting import until, within
from support.workflow_home import (
    asked_in,
    begin,
    by_words,
    carry_out,
    go_on,
    states,
    workflow,
    write,
)

READS = Turn(Call("read", {"path": "x.txt"}))


class Reader:
    """A model that reads a file and is done; ``meanwhile`` happens while it says that."""

    def __init__(self) -> None:
        self.runner: Runner | None = None
        self.tasks: list[asyncio.Task[None]] = []
        self.requests: list[str] = []
        self.holds = ""

    def __call__(self, view: RequestView) -> Turn:
        self.requests.append(asked := asked_in(view))
        if any(isinstance(one, Returned) for one in view.items):
            return Turn(Text("Done."))
        if self.runner is not None and (not self.holds or f"Do {self.holds}" in asked):
            work = self.runner.hold(self.holds) if self.holds else self.runner.pause()
            self.tasks.append(asyncio.ensure_future(work))
        return READS

    def count(self, words: str) -> int:
        return sum(words in one for one in self.requests)


async def test_w19_a_paused_run_ends_its_reply_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    """PRE-10."""
    script = Reader()
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "x.txt").write_text("x")
        text = workflow("  - {id: a, agent: Researcher, prompt: Do a}\n")
        script.runner = runner = await begin(home, text)
        run = await carry_out(runner)
        assert (run.state, run.step("a").state, len(script.requests)) == ("paused", "running", 1)
        worked, script.runner = run.worked, None
        session = run.step("a").session_id
        run_id = run.id
    async with engine_home(tmp_path, "anthropic", script) as home:
        runner = await go_on(home, run_id)
        await runner.resume()
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", run.end
        assert len(script.requests) == 2 and run.step("a").session_id == session
        assert run.worked >= worked
        assert not home.simulator.violations


async def test_w19_one_step_is_paused_and_the_others_go_on(tmp_path: Path) -> None:
    script = Reader()
    script.holds = "a"
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "x.txt").write_text("x")
        steps = """\
  - {id: a, agent: Researcher, prompt: Do a}
  - {id: b, agent: Researcher, prompt: Do b}
  - {id: c, agent: Researcher, needs: a, prompt: Do c}
"""
        script.runner = runner = await begin(home, workflow(steps))
        run = await carry_out(runner)
        assert (run.state, run.paused) == ("paused", None)
        assert (states(run), script.count("Do a")) == ({"a": "running", "b": "done"}, 1)
        again = await go_on(home, run.id)
        assert again.run.held == {"a"} and (await carry_out(again)).state == "paused"
        await again.hold("c")
        await again.release("a")
        run = await carry_out(again)
        assert (run.state, run.step("a").state, script.count("Do c")) == ("paused", "done", 0)
        script.holds = "nothing"
        await again.resume()  # where only paused steps are left, they go on
        run = await carry_out(again)
        assert run.end is not None and run.end.state == "done" and not run.held


async def test_w20_a_run_that_has_worked_its_minutes_is_paused_and_gets_more(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        await home.engine.services.rules.add(Rule.parse("run(*)"), None)
        steps = "  - {id: a, run: 'true'}\n  - {id: b, needs: a, set: {x: 1}}\n"
        runner = await begin(home, workflow(steps, "budget: {minutes: 0.0000001}\n"))
        told: list[RunEvent] = []
        runner.subscribe(lambda _, event: told.append(event))
        run = await carry_out(runner)
        assert (run.state, run.reason) == (
            "paused",
            "Your limit of 1e-07 minutes for this run is reached.",
        )
        assert [one.cap for one in told if isinstance(one, CapReached)] == ["minutes"]
        assert (
            run.paused_at == "minutes" and run.id in await RunStore(home.engine.database).waiting()
        )
        assert twice_the_cap(run, runner.plan.workflow) == CapRaised(NO_CAPS, minutes=0.0000002)
        assert run.step("b").state == "waiting"
        await runner.resume()
        assert (await carry_out(runner)).state == "paused"  # there are no more yet
        await runner.raise_cap(run.caps[""], minutes=60.0)
        assert run.state == "paused" and not run.paused_at, "the person knows of it"
        await runner.resume()
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done" and run.minutes == 60.0


async def test_w20_the_time_in_which_a_program_had_ended_is_no_work(tmp_path: Path) -> None:
    script = by_words({"Do a": "Done.", "Do b": "Done."})
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        steps = """\
  - {id: a, agent: Researcher, prompt: Do a}
  - {id: b, needs: a, agent: Researcher, prompt: Do b}
"""
        top = "budget: {minutes: 60}\nconcurrency: {group: x}\n"
        runner = await begin(home, workflow(steps, top))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: runner.run.step("a").state == "running")
        work.cancel()
        await asyncio.wait([work])
        runs = WorkflowRuns(home.engine)
        await runs.close(runner)
        database = home.engine.database
        await database.execute("UPDATE run_events SET at = at - 7200")
        again = await go_on(home, runner.run.id)
        await again.pause("for now")  # whatever comes first
        await again.resume()
        run = await carry_out(again)
        assert run.end is not None and run.end.state == "done", run.reason
        assert run.worked < 3600 and (await runs.read(run.id)).worked == run.worked


def test_w20_items_that_are_done_again_are_no_work_while_they_wait() -> None:
    (key,) = item_keys(["a"])
    run = Run(
        [
            (0.0, RunStarted("r", "Story", "d")),
            (0.0, StepStarted("write")),
            (1.0, StepFinished("write")),
            (1.0, ItemsFound("each", ("a",))),
            (1.0, StepStarted("each", key)),
            (1.0, StepStarted("judge")),
            (2.0, StepFinished("judge")),
            (2.0, StepsRedone("write", "judge", ("write", "judge"))),
            (2.0, StepAsked("each", key, RunQuestion("q", "reply", "Which?"))),
            (9.0, StepAnswered("each", key, "q", "this")),
            (9.0, RunQueued("It waits for Story, run 1.")),
            (20.0, RunPaused()),
        ]
    )
    assert run.worked == 2.0


async def test_w19_a_step_that_is_a_workflow_is_paused_alone(tmp_path: Path) -> None:
    script = Reader()
    script.holds = "w"
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "x.txt").write_text("x")
        write(home.folder, "inner", workflow("  - {id: i, agent: Researcher, prompt: Do w}\n"))
        steps = """\
  - {id: w, workflow: inner}
  - {id: b, agent: Researcher, prompt: Do b}
  - {id: c, needs: b, agent: Researcher, prompt: Do c}
"""
        script.runner = runner = await begin(home, workflow(steps))
        run = await carry_out(runner)
        assert (run.paused, run.held) == (None, {"w"})
        assert states(run) == {"w": "running", "b": "done", "c": "done"}
        assert script.count("Do w") == 1
        await runner.release("w")
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done" and script.count("Do w") == 2


async def test_w19_a_run_that_goes_on_leaves_a_paused_step_below_alone(tmp_path: Path) -> None:
    script = Reader()
    script.holds = "w"
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        (home.folder / "x.txt").write_text("x")
        write(home.folder, "inner", workflow("  - {id: i, agent: Researcher, prompt: Do w}\n"))
        runner = await begin(
            home, workflow("  - {id: w, workflow: inner}\n  - {id: ok, approve: Go on?}\n")
        )
        script.runner = runner
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: runner.run.held and list(runner.run.questions))
        await runner.pause()
        await work
        await runner.resume()
        below = await WorkflowRuns(home.engine).read(runner.run.step("w").run_id)
        assert below.state == "paused" and runner.run.held == {"w"}
        await runner.stop()


async def test_w19_a_step_that_is_let_go_on_waits_while_its_run_is_paused(tmp_path: Path) -> None:
    script = Reader()
    script.holds = "w"
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        (home.folder / "x.txt").write_text("x")
        write(home.folder, "inner", workflow("  - {id: i, agent: Researcher, prompt: Do w}\n"))
        script.runner = runner = await begin(home, workflow("  - {id: w, workflow: inner}\n"))
        assert (await carry_out(runner)).held == {"w"}
        await runner.pause()
        await runner.release("w")
        runs = WorkflowRuns(home.engine)
        below = await runs.read(runner.run.step("w").run_id)
        assert (below.state, runner.run.state, runner.run.held) == ("paused", "paused", set())
        script.holds = "nothing"
        await runner.resume()
        assert (await carry_out(runner)).state == "done"


async def test_w15_a_pause_is_stored_and_told_before_the_run_is_let_go_of(tmp_path: Path) -> None:
    """The run sees the pause at once, and may end before the disk has it."""
    async with engine_home(tmp_path, "anthropic", by_words({})) as home:
        runner = await begin(home, workflow("  - {id: gate, approve: Go on?}"))
        runner.attended = True
        told: list[str] = []
        runner.subscribe(lambda _, event: told.append(type(event).__name__))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: "StepAsked" in told, "the gate")
        append = runner._of.store.append

        async def append_late(run: Run, at: float, events: Sequence[RunEvent], *more: Any) -> Any:
            if any(isinstance(event, RunPaused) for event in events):
                runner.leave_to_person()  # the run looks at where it stands
                for _ in range(500):
                    await asyncio.sleep(0)
            return await append(run, at, events, *more)

        runner._of.store.append = append_late  # type: ignore[method-assign]
        pause = asyncio.create_task(runner.pause("Enough."))
        async with within():
            await work
        assert told[-1] == "RunPaused"
        await pause
