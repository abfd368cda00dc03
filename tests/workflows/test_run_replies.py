"""An answer for the whole run is that of all who ask the same in it (W-22)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from studio.domain.run_events import RunEvent, StepAnswered, StepAsked
from studio.domain.runs import Run
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.workflows.run_questions import FOR_RUN
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import engine_home
from support.waiting import until
from support.workflow_home import begin, carry_out, go_on, states, workflow, write

EACH = workflow(
    """\
  - {id: each, agent: Asker, for_each: [a, b], prompt: "Item ${{ item }}."}
  - {id: later, needs: each, agent: Asker, for_each: [c], prompt: "Item ${{ item }}."}
  - {id: below, needs: later, workflow: inner}
"""
)
ONE_BY_ONE = workflow(
    """\
  - {id: each, agent: Asker, for_each: [a, b, c], max_parallel: 1, prompt: "Item ${{ item }}."}
"""
)
INNER = "---\nname: Inner\nsteps:\n  - {id: last, agent: Asker, prompt: Item d.}\n---\n"


def asks(view: RequestView) -> Turn:
    """Asks which branch it is, and tells the answer."""
    told = [one.text for one in view.items if isinstance(one, Returned)]
    if told:
        return Turn(Text(told[-1]))
    return Turn(Call("ask", {"question": "Which branch?", "choices": ["main", "next"]}))


def write_asker(folder: Path) -> None:
    place = folder / ".agents" / "agents"
    place.mkdir(parents=True, exist_ok=True)
    (place / "asker.md").write_text("---\nname: Asker\ntools: [ask]\n---\nAsk.\n")


def answers_of(run: Run) -> list[str]:
    return [one.last.text for (step, item), one in run.steps.items() if item and one.last]


async def test_w22_an_answer_for_the_run_is_that_of_all_who_ask_the_same(tmp_path: Path) -> None:
    """Those that wait have it, those that come later, and those of runs below."""
    async with engine_home(tmp_path, "anthropic", asks) as home:
        write_asker(home.folder)
        write(home.folder, "inner", INNER)
        runner, heard = await begin(home, EACH), list[RunEvent]()
        runner.subscribe(lambda _, event: heard.append(event))
        work = asyncio.create_task(runner.carry_out())
        open_ = await until(lambda: (found := [*runner.run.questions])[1:] and found, "two ask")
        await runner.answer(open_[0][1].id, "next", whole=True)
        run = await asyncio.wait_for(work, 60)
        assert run.state == "done", run.reason
        names = ("each/a", "each/b", "each", "later/c", "later", "below")
        assert states(run) == dict.fromkeys(names, "done")
        assert answers_of(run) == ["next"] * 3
        below = Run(await WorkflowRuns(home.engine).store.events(run.step("below").run_id))
        assert below.step("last").last is not None and below.step("last").text == "next"
        given = [one for one in heard if isinstance(one, StepAnswered)]
        assert sum(one.whole for one in given) == 1
        asked = [one for one in heard if isinstance(one, StepAsked)]
        assert "later" in {one.step for one in given if one.by == FOR_RUN}
        assert len({one.question.id for one in asked}) == len({one.question_id for one in given})


async def test_w22_an_answer_that_counts_once_is_asked_for_again(tmp_path: Path) -> None:
    """What counts for the run is known after a restart too."""
    async with engine_home(tmp_path, "anthropic", asks) as home:
        write_asker(home.folder)
        runner = await begin(home, ONE_BY_ONE)

        async def answer(runner: Runner, *, whole: bool) -> None:
            (_, question), *_ = await until(lambda: [*runner.run.questions], "it asks")
            await runner.answer(question.id, "main" if whole else "next", whole=whole)
            await until(lambda: question.id not in [one.id for _, one in runner.run.questions])

        work = asyncio.create_task(runner.carry_out())
        await answer(runner, whole=False)
        await answer(runner, whole=True)
        await until(lambda: runner.run.step("each").over or runner.run.replies)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await WorkflowRuns(home.engine).close(runner)
        again = await go_on(home, runner.run.id)
        assert again.run.replies == {("Which branch?", ("main", "next")): "main"}
        run = await carry_out(again)
        assert run.state == "done", run.reason
        assert answers_of(run) == ["next", "main", "main"]
