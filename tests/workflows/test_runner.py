"""Runs of workflows, with real sessions and the simulator as their model (W-13 to W-22)."""

from __future__ import annotations

from pathlib import Path

from studio.agent.session.session import Session
from studio.domain.run_events import RunFinished
from studio.domain.workflows import Step
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.delegation_home import agent, save
from support.engine_home import KEY, engine_home
from support.workflow_home import begin, by_words, carry_out, go_on, states, workflow, write

PARTS = "{type: object, properties: {parts: {type: array, items: {type: string}}}}"
THREE = (
    workflow(
        f"""\
  - {{id: plan, agent: Planner, outputs: {PARTS}}}
  - {{id: many, set: {{count: '${{{{ len(steps.plan.outputs.parts) }}}}'}}}}
  - {{id: enough, check: steps.many.outputs.count > 1}}
  - id: write
    needs: enough
    agent: Writer
    prompt: "Write about ${{{{ join(steps.plan.outputs.parts) }}}} for ${{{{ inputs.who }}}}."
""",
        "inputs: {who: {type: string, default: you}}\noutputs: {notes: '${{ steps.write.text }}'}\n",
        "## plan\nMake a plan.\n",
    )
    .replace("Planner", "Researcher")
    .replace("Writer", "Reviewer")
)


async def test_w14_three_steps_hand_on_what_they_found(tmp_path: Path) -> None:
    script = by_words({"Make a plan": '{"parts": ["a", "b"]}', "Write about a, b for me": "Notes."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        runner = await begin(home, THREE, who="me")
        run = await carry_out(runner)
        assert run.end == RunFinished("done", "", {"notes": "Notes."}), (run.end, states(run))
        assert run.step("many").outputs == {"count": 2}
        assert [one.state for one in run.steps.values()] == ["done"] * 4
        used = await home.engine.store.usage(run.step("plan").session_id)
        assert run.step("plan").tokens == used.total > 0
        again = (await go_on(home, run.id)).run
        assert again.steps == run.steps and again.end == run.end
        assert not home.simulator.violations


async def test_w1_agents_of_one_run_answer_by_different_providers(tmp_path: Path) -> None:
    """PRE-8: each by the model that its file names, and one hears what the other said."""
    steps = """\
  - {id: one, agent: One, prompt: Say one}
  - {id: two, agent: Two, prompt: "Say two after ${{ steps.one.text }}"}
"""
    script = by_words({"Say one": "It is one.", "Say two after It is one.": "It is two."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.base_urls["openai"] = home.simulator.url("responses")
        home.engine.keychain.keep_for_session("openai", KEY)
        save(
            home.engine.paths.agents,
            agent("One", "model: anthropic/sim-model"),
            agent("Two", "model: openai/sim-model"),
        )
        path = write(home.folder, "two", workflow(steps))
        runs = WorkflowRuns(home.engine)
        run = await carry_out(await runs.start(path, home.folder, RunOptions({})))
        assert (run.state, run.step("two").text) == ("done", "It is two."), (run.end, states(run))
        assert [one.path.rpartition("/")[2] for one in home.asked] == ["messages", "responses"]
        assert not home.simulator.violations


async def test_w14_steps_that_begin_at_once_are_made_ready_side_by_side(tmp_path: Path) -> None:
    """Each waits for files that a thread reads: after one another the last one would wait long."""
    lines = "\n".join(f"  - {{id: s{at}, agent: Researcher, prompt: Look.}}" for at in range(4))
    async with engine_home(tmp_path, "anthropic", by_words({"Look.": "Seen."})) as home:
        runner = await begin(home, workflow(lines))
        sessions, now, most = runner._of.sessions, 0, 0
        begin_one = sessions.begin

        async def counted(step: Step, item: str) -> Session:
            nonlocal now, most
            now += 1
            most = max(most, now)
            try:
                return await begin_one(step, item)
            finally:
                now -= 1

        sessions.begin = counted  # type: ignore[method-assign]
        run = await carry_out(runner)
        assert (run.state, most) == ("done", 4), run.reason
