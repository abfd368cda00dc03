"""A run is repeated from any step or item on, and compared with another (W-30, W-31)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.domain.run_events import MERGE, StepEdited
from studio.domain.runs import Run
from studio.domain.workflows import Workflow
from studio.simulator import RequestView, Turn
from studio.simulator import Text as Says
from studio.ui.pages.workflows.runs.compare_facts import rows_of
from studio.workflows.compare import FILES, INPUTS, StepComparison, compare_runs
from studio.workflows.fork import ForkRequest
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.workflow_home import asked_in, begin, carry_out, states, workflow

TEXTS = "{type: object, properties: {parts: {type: array, items: {type: string}}}}"
TEAM = workflow(
    f"""\
  - {{id: plan, agent: Researcher, prompt: Plan it., outputs: {TEXTS}}}
  - {{id: aside, agent: Researcher, prompt: Look aside.}}
  - id: each
    for_each: steps.plan.outputs.parts
    agent: Writer
    prompt: "Write about ${{{{ item }}}}."
  - {{id: good, check: len(steps.each.text) == 2}}
  - {{id: sum, agent: Reviewer, needs: good, prompt: "Sum up: ${{{{ join(steps.each.text) }}}}"}}
""",
    "inputs: {who: {type: string, default: you}}\noutputs: {all: '${{ steps.sum.text }}'}\n",
)


class Model:
    """Answers by the last words that a session was asked with, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = {
            "Plan it.": '{"parts": ["tea", "milk"]}',
            "Look aside.": "Nothing there.",
            "Write about tea.": "Tea is hot.",
            "Write about milk.": "Milk is white.",
        }

    def __call__(self, view: RequestView) -> Turn:
        said = asked_in(view).strip()
        last = said.splitlines()[-1].removeprefix("</orientation>")
        asked = next((words for words in self.answers if words in said), last)
        self.asked.append(asked)
        return Turn(Says(self.answers.get(asked, f"[{asked}]")))


async def ran(home: EngineHome, model: Model) -> Run:
    run = await carry_out(await begin(home, TEAM))
    assert run.state == "done", states(run)
    model.asked.clear()
    return run


async def fork(home: EngineHome, request: ForkRequest) -> Run:
    runs = WorkflowRuns(home.engine)
    return await carry_out(await runs.fork(await runs.plan_fork(request)))


async def test_w30_what_is_not_downstream_is_linked_and_not_run(tmp_path: Path) -> None:
    """PRE-37."""
    model = Model()
    async with engine_home(tmp_path, "anthropic", model) as home:
        old = await ran(home, model)
        runs = WorkflowRuns(home.engine)
        before = await runs.store.events(old.id)
        plan = await runs.plan_fork(ForkRequest(old.id, "sum"))
        assert [one.step.id for one in plan.to_run] == ["sum"]
        assert plan.tokens == old.step("sum").tokens > 0
        run = await carry_out(await runs.fork(plan))
        assert model.asked == ["Sum up: Tea is hot., Milk is white."]
        assert run.end == old.end and states(run) == states(old)
        aside = run.step("aside")
        assert (aside.linked, aside.text, aside.tokens) == (old.id, "Nothing there.", 0)
        assert aside.last is not None and aside.last.tokens == old.step("aside").tokens
        assert aside.last.exposed == (old.step("aside").last or aside.last).exposed
        assert run.tokens == run.step("sum").tokens < old.tokens
        assert run.started is not None and run.started.forked_from == old.id
        assert await runs.store.events(old.id) == before
        # It is stored whole, and a fork of it links to where the work was done.
        assert (await runs.read(run.id)).steps == run.steps
        further = await runs.plan_fork(ForkRequest(run.id, "sum"))
        assert {one.run_id for one in further.linked} == {old.id}
        assert not home.simulator.violations


async def test_w30_one_item_runs_again_with_another_prompt_and_its_dependents(
    tmp_path: Path,
) -> None:
    model = Model()
    model.answers["Praise milk."] = "Milk is great."
    async with engine_home(tmp_path, "openai", model) as home:
        old = await ran(home, model)
        edit = StepEdited("each", prompt="Praise ${{ item }}.")
        run = await fork(home, ForkRequest(old.id, "each", "milk", (edit,)))
        assert model.asked == ["Praise milk.", "Sum up: Tea is hot., Milk is great."]
        assert run.state == "done"
        tea, milk = run.items["each"]
        assert run.step("each", tea).linked == old.id and not run.step("each", milk).linked
        found = await compare_runs(WorkflowRuns(home.engine), old.id, run.id)
        assert found.first_difference == FILES
        assert any("Praise ${{ item }}." in line for line in found.files)
        differing = {(one.step, one.item): one.differs for one in found.steps if one.differs}
        assert differing == {("each", milk): ("text",), ("sum", ""): ("text",)}


async def test_w30_outputs_can_be_given_and_agents_and_models_changed(tmp_path: Path) -> None:
    model = Model()
    async with engine_home(tmp_path, "gemini", model) as home:
        old = await ran(home, model)
        given = ForkRequest(old.id, "plan", outputs={"plan": {"parts": ["rum", "tea"]}})
        run = await fork(home, given)
        assert set(model.asked[:2]) == {"Write about rum.", "Write about tea."}
        assert (run.step("plan").outputs, run.step("plan").tokens) == ({"parts": ["rum", "tea"]}, 0)
        assert run.step("aside").linked == old.id
        edit = StepEdited("sum", agent="Writer", model="sim-small")
        home.engine.settings.values.own_models[home.provider] = ["sim-small"]
        other = await fork(home, ForkRequest(old.id, "sum", edits=(edit,)))
        session = await home.engine.store.get(other.step("sum").session_id)
        assert session is not None, other.reason
        assert (session.agent, session.model) == ("Writer", "sim-small")
        again = await fork(home, ForkRequest(other.id, "sum"))  # what was edited stays so
        assert again.edits == {"sum": edit}


async def test_w30_what_failed_runs_again_and_what_is_done_does_not(tmp_path: Path) -> None:
    model = Model()
    model.answers["Plan it."] = "no JSON"
    async with engine_home(tmp_path, "ollama", model) as home:
        old = await carry_out(await begin(home, TEAM))
        assert states(old)["plan"] == "failed"
        model.asked.clear()
        model.answers["Plan it."] = '{"parts": ["tea", "milk"]}'
        run = await fork(home, ForkRequest(old.id, "each"))
        assert run.state == "done" and "Plan it." in model.asked[:2]  # two begin at once
        aside_was_done = states(old)["aside"] == "done"  # else it was stopped by the failure
        assert ("Look aside." in model.asked) is not aside_was_done


async def test_w13_a_fork_can_take_the_files_as_they_are_now(tmp_path: Path) -> None:
    model = Model()
    async with engine_home(tmp_path, "anthropic", model) as home:
        old = await ran(home, model)
        file = home.folder / ".agents" / "workflows" / "story.md"
        file.write_text(file.read_text().replace("Sum up:", "In one word:"))
        run = await fork(home, ForkRequest(old.id, "sum", new_files=True))
        assert model.asked == ["In one word: Tea is hot., Milk is white."]
        assert run.started is not None and old.started is not None
        assert run.started.digest != old.started.digest


async def test_w30_wrong_places_and_edits_are_said(tmp_path: Path) -> None:
    model = Model()
    async with engine_home(tmp_path, "anthropic", model) as home:
        old = await ran(home, model)
        runs = WorkflowRuns(home.engine)
        wrong = {
            "has no step tale. It has plan, aside": ForkRequest(old.id, "tale"),
            "no item rum. Its items are": ForkRequest(old.id, "each", "rum"),
            "had no items": ForkRequest(old.id, "sum", "x"),
            "refers to a step tale": ForkRequest(
                old.id, "sum", edits=(StepEdited("sum", "${{ steps.tale.text }}"),)
            ),
            "has no agent": ForkRequest(old.id, "good", edits=(StepEdited("good", "x"),)),
            "There is no run": ForkRequest("0" * 32, "sum"),
        }
        for words, request in wrong.items():
            with pytest.raises(ConfigurationError, match=words):
                await runs.plan_fork(request)
        assert len(await runs.store.list()) == 1


async def test_w31_equal_runs_have_no_difference_and_others_a_first_one(tmp_path: Path) -> None:
    model = Model()
    async with engine_home(tmp_path, "openai-compatible", model) as home:
        old = await ran(home, model)
        same = await carry_out(await begin(home, TEAM))
        runs = WorkflowRuns(home.engine)
        found = await compare_runs(runs, old.id, same.id)
        assert (found.first_difference, found.inputs, found.files) == (None, {}, ())
        assert [one.step for one in found.steps if not one.item][-2:] == ["good", "sum"]
        model.answers["Look aside."] = "Something."
        other = await carry_out(await begin(home, TEAM, who="me"))
        found = await compare_runs(runs, old.id, other.id)
        assert found.first_difference == INPUTS and found.inputs == {"who": ("you", "me")}
        (aside,) = [one for one in found.steps if one.differs]
        assert aside.step == "aside" and aside.first is not None and aside.second is not None
        assert (aside.first.text, aside.second.text) == ("Nothing there.", "Something.")


SIDE_BY_SIDE = workflow(
    """\
  - {id: each, agent: Writer, for_each: [tea, milk], max_parallel: 1, prompt: "About ${{ item }}."}
  - {id: other, agent: Writer, prompt: Something else., desk: own}
"""
)


async def test_w31_items_stand_below_their_step_whatever_began_between(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "openai-compatible", Model()) as home:
        run = await carry_out(await begin(home, SIDE_BY_SIDE))
        assert run.state == "done", run.reason
        found = await compare_runs(WorkflowRuns(home.engine), run.id, run.id)
        items = [("each", key) for key in run.items["each"]]
        order = [(one.step, one.item) for one in found.steps]
        assert order[:4] == [("each", ""), *items, ("other", "")]
        rows = rows_of(
            replace(found, steps=(*found.steps, StepComparison(MERGE, "", None, None))),
            *(Workflow("Story", ()), {}, run),
        )
        assert (rows[-1].title, rows[-1].icon) == ("Merge", "git-branch")


async def test_w27_what_a_run_recorded_goes_with_it(tmp_path: Path) -> None:
    model = Model()
    async with engine_home(tmp_path, "anthropic", model) as home:
        old = await ran(home, model)
        exchanges, runs = home.engine.services.exchanges, WorkflowRuns(home.engine)
        assert await exchanges.size() > 0
        await runs.delete(old.id)
        assert await exchanges.size() == 0 and await runs.store.list() == []
