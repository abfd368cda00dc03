"""Steps that are workflows themselves: runs in runs (W-5, W-15, W-19, W-20, W-22)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from studio.domain.agents import NO_CAPS, Caps
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Rule
from studio.domain.run_events import CapRaised, CapReached, RunEvent, StepAsked
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.storage.runs import RunInUse
from studio.workflows.cap_offers import CapOffer, twice_the_cap
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.waiting import until, within
from support.workflow_home import begin, by_words, carry_out, go_on, workflow, write

INNER = workflow(
    "  - {id: say, agent: Writer, prompt: 'Say ${{ inputs.word }}'}\n",
    "inputs: {word: {type: string, required: true}}\noutputs: {said: '${{ steps.say.text }}'}\n",
)
OUTER = workflow(
    """\
  - id: each
    for_each: [one, two]
    workflow: inner
    inputs: {word: '${{ item }}'}
  - {id: end, needs: each, set: {all: '${{ join(steps.each.text) }}'}}
"""
)


async def test_w5_a_step_is_a_run_with_inputs_and_outputs(tmp_path: Path) -> None:
    """PRE-33."""
    script = by_words({"Say one": "1.", "Say two": "2."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        write(home.folder, "inner", INNER)
        runner = await begin(home, OUTER)
        run = await carry_out(runner)
        assert run.step("end").outputs == {"all": "1., 2."}, run.end
        below = [one for one in run.steps.values() if one.run_id]
        assert len(below) == 2 and all(one.tokens > 0 for one in below)
        runs = WorkflowRuns(home.engine)
        child = await runs.read(below[0].run_id)
        assert child.started is not None and child.started.parent == run.id
        assert child.tokens == below[0].tokens and below[0].outputs == {"said": "1."}
        assert [one.id for one in await runs.store.list()] == [run.id]  # no list has the others
        await runs.close(runner)
        await runs.delete(run.id)
        assert not await runs.store.events(child.id)


@pytest.mark.parametrize(
    ("inner", "told"),
    [
        (workflow("  - {id: again, workflow: story}"), "would run itself"),
        (workflow("  - {id: again, workflow: inner}"), "would run itself"),
        (INNER, "needs the input word"),
        ("---\nsteps: 1\n---\n", "inner.md:"),
        ("", "no workflow inner"),
    ],
)
async def test_w5_what_cannot_run_fails_its_step(tmp_path: Path, inner: str, told: str) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        if inner:
            write(home.folder, "inner", inner)
        run = await carry_out(await begin(home, workflow("  - {id: a, workflow: inner}")))
        assert run.end is not None and run.end.state == "failed"
        assert told in run.end.reason, run.end


ACTS = workflow(
    "  - {id: first, agent: Coder, prompt: Go}\n  - {id: second, agent: Coder, prompt: Go}"
)


def acts(view: RequestView) -> Turn:
    """Runs a command until it has printed its word."""
    ran = any(isinstance(one, Returned) and one.text.strip() == "hi" for one in view.items)
    return Turn(Text("Done.")) if ran else Turn(Call("run", {"command": "echo hi"}))


async def test_w22_a_question_comes_once_with_its_path_and_its_answer_is_for_the_run(
    tmp_path: Path,
) -> None:
    """PRE-21."""
    async with engine_home(tmp_path, "anthropic", acts) as home:
        write(
            home.folder,
            "inner",
            ACTS.replace("prompt: Go}\n", "prompt: Go}\n", 1).replace(
                "{id: second,", "{id: second, needs: first,"
            ),
        )
        runner = await begin(home, workflow("  - {id: publish, workflow: inner}"))
        assert (await carry_out(runner)).state == "needs_you"  # nobody is there
        asked: list[StepAsked] = []
        answers: list[asyncio.Task[None]] = []

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked) and event.question.kind == "permission":
                asked.append(event)
                if event.question.id not in [one.question.id for one in asked[:-1]]:
                    answers.append(asyncio.create_task(reply(event.question.id)))

        async def reply(question: str) -> None:
            with_stale = [one.id for _, one in runner.run.questions]
            if question in with_stale:
                await runner.answer(question, "run")

        runner = await reopened(home, runner)
        run = await carry_out(runner, answer)
        assert run.end is not None and run.end.state == "done", run.end
        assert asked[-1].question.path == ("Story", "publish", "first", "Coder")
        assert len({one.question.path for one in asked}) == 1  # the second step asks nothing
        assert run.allowed


async def reopened(home: EngineHome, runner: Runner) -> Runner:
    await WorkflowRuns(home.engine).close(runner)
    return await go_on(home, runner.run.id)


async def test_w20_a_cap_of_the_run_holds_below_and_is_raised_above(tmp_path: Path) -> None:
    """PRE-10."""
    script = by_words({"Say one": "1.", "Say two": "2."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        write(home.folder, "inner", INNER)
        runner = await begin(home, OUTER.replace("steps:", "budget: {tokens: 10}\nsteps:", 1))
        reached: list[RunEvent] = []
        runner.subscribe(lambda _, event: reached.append(event))
        run = await carry_out(runner)
        assert run.state == "paused" and "for this run" in run.reason, run.reason
        assert run.tokens == 0 and not any(
            isinstance(one, CapReached) and not one.reason for one in reached
        )
        assert twice_the_cap(run, runner.plan.workflow) == CapRaised(Caps(20)), "it is its own"
        below = [await WorkflowRuns(home.engine).read(one.run_id) for one in run.busy]
        assert {one.reached.own for one in below if one.reached is not None} == {False}
        runner = await reopened(home, runner)
        await runner.raise_cap(Caps(1_000_000))
        await runner.resume()
        run = await carry_out(runner)
        assert run.step("end").outputs == {"all": "1., 2."}, (run.end, run.reason)


async def test_w20_the_cap_of_a_run_below_is_not_that_of_the_run_above(tmp_path: Path) -> None:
    """Doubling the one above, which was not reached, would lead to the same end again."""
    async with engine_home(tmp_path, "anthropic", by_words({})) as home:
        write(home.folder, "inner", INNER.replace("steps:", "budget: {tokens: 10}\nsteps:", 1))
        runner = await begin(home, OUTER.replace("steps:", "budget: {tokens: 90000}\nsteps:", 1))
        run = await carry_out(runner)
        assert (run.state, run.paused_at, run.reached) == ("paused", "run", None)
        assert twice_the_cap(run, runner.plan.workflow) is None
        offer = await WorkflowRuns(home.engine).cap_offer(run)
        assert offer is not None and offer.raised.caps == Caps(20)
        below = [await WorkflowRuns(home.engine).read(one.run_id) for one in run.busy]
        (first,) = [one.reached for one in below if one.reached is not None][:1]
        assert (first.own, first.limit, first.unit) == (True, 10.0, "tokens")


async def test_w20_the_cap_of_a_run_below_is_raised_at_the_run_above(tmp_path: Path) -> None:
    """At any depth, after a restart, and one after the other where several are at their caps."""
    script = by_words({"Say one": "1.", "Say two": "2."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        write(home.folder, "inner", INNER.replace("steps:", "budget: {tokens: 600}\nsteps:", 1))
        write(home.folder, "middle", OUTER)
        runs = WorkflowRuns(home.engine)
        runner = await begin(home, workflow("  - {id: publish, workflow: middle}"))
        run = await carry_out(runner)
        raised: list[CapOffer] = []
        while run.end is None:
            assert (run.state, run.paused_at, run.reached) == ("paused", "run", None), run.reason
            offer = await runs.cap_offer(run)
            assert offer is not None and offer not in raised
            assert offer.way in (("publish", "each", "one"), ("publish", "each", "two"))
            raised.append(offer)
            runner = await reopened(home, runner)
            await runner.grant(offer.raised)
            assert not run.caps.get("", NO_CAPS).tokens, "that of the run above stays as it was"
            await runner.resume()
            run = await carry_out(runner)
            assert await runs.cap_offer(run) != offer
        assert run.end.state == "done", run.end
        assert {offer.raised.caps for offer in raised} >= {Caps(1200)}
        assert len({offer.raised.run_id for offer in raised}) == 2, "each of the two has its own"
        (middle,) = {one.run_id for one in run.steps.values() if one.run_id}
        steps = (await runs.read(middle)).steps.values()
        ends = [await runs.read(one.run_id) for one in steps if one.run_id]
        assert all(one.tokens <= one.caps[""].tokens for one in ends), "and none was passed"


async def test_w20_more_for_a_step_raises_no_cap_of_its_run(tmp_path: Path) -> None:
    """The person raised one of the two: the other one holds as its file says."""
    async with engine_home(tmp_path, "anthropic", by_words({"Say one": "1."})) as home:
        write(home.folder, "inner", INNER.replace("steps:", "budget: {tokens: 9000}\nsteps:", 1))
        step = "{id: a, workflow: inner, inputs: {word: one}, budget: {tokens: 10}}"
        runner = await begin(home, workflow(f"  - {step}"))
        run = await carry_out(runner)
        assert run.paused_at == "step", run.reason
        offer = await WorkflowRuns(home.engine).cap_offer(run)
        assert offer is not None and offer.raised == CapRaised(Caps(20), "a")
        await runner.raise_cap(Caps(100_000), "a")
        await runner.resume()
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", run.reason
        below = await WorkflowRuns(home.engine).read(run.step("a").run_id)
        assert below.caps == {"": Caps(9000)}


async def test_w20_a_run_below_does_not_go_on_without_the_caps_above_it(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", by_words({})) as home:
        write(home.folder, "inner", INNER)
        runner = await begin(home, OUTER.replace("steps:", "budget: {tokens: 10}\nsteps:", 1))
        run = await carry_out(runner)
        await WorkflowRuns(home.engine).close(runner)
        for one in run.busy:
            with pytest.raises(ConfigurationError, match=f"a step of the run {run.id[:8]}"):
                await go_on(home, one.run_id)


async def test_w19_stop_ends_the_runs_below(tmp_path: Path) -> None:
    """PRE-9."""
    async with engine_home(
        tmp_path, "anthropic", [Turn(Call("ask", {"question": "Which?"}))]
    ) as home:
        write(home.folder, "inner", INNER)
        runner = await begin(home, workflow("  - {id: a, workflow: inner, inputs: {word: one}}"))
        runner.attended = True
        work = asyncio.create_task(runner.carry_out())
        async with within():
            await until(lambda: runner.run.state == "needs_you" or work.done())
            await runner.stop()
            run = await work
        child = await WorkflowRuns(home.engine).read(run.step("a").run_id)
        assert run.end is not None and child.end is not None
        assert (run.end.state, child.end.state, child.step("say").state) == ("stopped",) * 3


async def test_w15_a_run_below_is_stored_with_the_beginning_of_its_step(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        write(home.folder, "inner", INNER)
        runner = await begin(home, OUTER)
        database = home.engine.database
        await database.execute("UPDATE runs SET owner = 'another'")
        with pytest.raises(RunInUse):
            await runner.carry_out()
        assert await database.rows("SELECT count(*) FROM runs") == [(1,)]


async def test_w22_a_question_of_an_ended_program_takes_no_answer(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", acts) as home:
        write(home.folder, "inner", ACTS)
        runner = await begin(home, workflow("  - {id: publish, workflow: inner}"))
        run = await carry_out(runner)
        ((_, question),) = run.questions
        again = await reopened(home, runner)
        with pytest.raises(ConfigurationError, match="asked again"):
            await again.answer(question.id, "run")
        assert not again.run.allowed and not again.run.answers
        assert next(again.run.questions)[1].id == question.id


async def test_w20_more_minutes_reach_the_runs_below(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", by_words({"Inner": "Done."})) as home:
        steps = "  - {id: i, agent: Writer, prompt: Inner}\n  - {id: j, needs: i, set: {a: 1}}\n"
        write(home.folder, "inner", workflow(steps, "budget: {minutes: 0.0000001}\n"))
        write(home.folder, "middle", workflow("  - {id: m, workflow: inner}\n"))
        runner = await begin(home, workflow("  - {id: w, workflow: middle}\n"))
        run = await carry_out(runner)
        assert run.state == "paused" and "minutes" in run.reason
        await runner.raise_cap(run.caps[""], minutes=60.0)
        await runner.resume()
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", run.reason


@pytest.mark.parametrize("most", ["timeout: 1s", "budget: {minutes: 0.00001}"])
async def test_w20_a_step_that_is_a_workflow_has_no_more_time_than_others(
    tmp_path: Path, most: str
) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        await home.engine.services.rules.add(Rule.parse("run(*)"), None)
        write(home.folder, "inner", workflow("  - {id: i, run: sleep 60}\n"))
        runner = await begin(home, workflow(f"  - {{id: w, workflow: inner, {most}}}\n"))
        run = await carry_out(runner)
        last = run.step("w").last
        assert run.end is not None and run.end.state == "failed" and last is not None
        assert last.fault == "timeout" and last.reason.startswith("It was stopped after")
        assert runner.run_ids == [run.id]  # what is over is let go


async def test_w19_items_that_are_done_make_no_step_that_was_left_out(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home, within():
        each = "  - {id: each, for_each: [1, 2], approve: 'Yes ${{ item }}?'}\n"
        steps = f"{each}  - {{id: end, needs: each, set: {{a: 1}}}}\n"
        runner = await begin(home, workflow(steps))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: len(list(runner.run.questions)) == 2)
        await runner.answer(next(runner.run.questions)[1].id, True)
        await runner.stop()
        run = await work
        assert (run.step("each").state, run.step("end").state) == ("stopped", "skipped")
