"""Pictures 18 to 20 of workflows, with what the design shows in them: for ``make pictures``."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from studio.agent.engine import Engine
from studio.domain.agents import Caps
from studio.domain.ledger import digest
from studio.domain.run_events import (
    BreakpointSet,
    ItemsFound,
    RunFinished,
    RunQuestion,
    RunStarted,
    StepAsked,
    StepFinished,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, item_keys
from studio.simulator import Call, RequestView, Text, Turn, Usage
from studio.storage.runs import NewRun, RunStore
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.runs.run_inspector import RUN
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.delegation_home import results
from support.photographer import LARGE, SMALL, USED, Photographer, at_atlas, atlas, language, read
from support.waiting import until
from support.window import CTRL, Key, alone, on_window_loop
from support.workflow_home import asked_in

pytestmark = [
    pytest.mark.usefixtures("alone", "language"),
    pytest.mark.skipif(
        "AGENT_STUDIO_SCREENSHOTS" not in os.environ, reason="nobody wants the pictures"
    ),
]
__all__ = ["alone", "atlas", "language"]

UPDATES = """\
---
name: Updates
inputs:
  limit: {type: integer, default: 12}
budget: {dollars: 2.00, minutes: 30}
steps:
  - id: plan
    agent: Planner
  - id: update
    needs: plan
    for_each: ${{ steps.plan.outputs.found }}
    max_parallel: 3
    agent: Coder
  - id: notes  # what breaks, for whom
    needs: plan
    agent: Researcher
  - id: test
    needs: update
    agent: Tester
    timeout: 5m
    redo:
      from: update
      when: not outputs.passed
      max: 3
  - id: ok
    needs: [test, notes]
    aprove: Write the drafts?
---

## plan
List at most ${{ inputs.limit }} packages.

## test
Run the whole suite. If it fails, say
which test and why.

## update
Update ${{ item }}.

## notes
Say what breaks, and for whom.
"""
TRIAGE = """\
---
name: Triage
triggers: [{schedule: "0 8 * * 1-5"}]
steps:
  - {id: sort, agent: Researcher, prompt: Sort the new issues}
---
"""


RELEASE = """\
---
name: Release notes
inputs: {tag: {type: string, default: v2.4}}
budget: {dollars: 2.00, tokens: 800000, minutes: 30}
steps:
  - {id: plan, title: Plan, agent: Planner, prompt: Split the changes into parts}
  - id: research
    title: Research
    needs: plan
    for_each: [a, b, c, d, e, f, g, h, i, j, k, l]
    max_parallel: 3
    agent: Researcher
    prompt: "Look at ${{ item }}"
  - {id: code, title: Code, needs: plan, agent: Coder, prompt: Fix the tests that fail}
  - {id: guide, title: Guide, needs: plan, agent: Writer, prompt: Write the guide}
  - id: test
    title: Test
    needs: code
    agent: Tester
    prompt: Run the suite
    outputs: {type: object, properties: {passed: {type: boolean}}}
    redo: {from: code, when: not outputs.passed, max: 2}
  - {id: review, title: Review, needs: [research, test, guide], workflow: review}
  - {id: ok, needs: review, approve: Write the drafts?}
---
"""


async def run_that_waits(engine: Engine, folder: Path) -> str:
    """The twelfth run of a workflow, 4:12 after it began: one step needs the person."""
    store, now = RunStore(engine.database), time.time() - 252
    source = str(folder / ".agents" / "workflows" / "release.md")
    for number in range(12):
        text = digest(RELEASE)
        begun = RunStarted(
            *(f"run{number}", "Release notes", text, source, str(folder), {"tag": "v2.4"}),
            caps=Caps(dollars=2.0, tokens=800_000),
            provider="anthropic",
            model="claude-sonnet-5-5",
        )
        run = Run([(now, await store.create(NewRun(begun, RELEASE), now))])
        end = RunFinished("done")
        if number < 11:
            run.apply(now, end)
            await store.append(run, now, [end])
            await store.release(run.id)
    keys = [*item_keys("abcdefghijkl")]
    told = [
        (0.0, StepStarted("plan")),
        (14.0, StepFinished("plan", text="Split v2.4 into 12 parts", tokens=18_000, dollars=0.06)),
        (14.0, ItemsFound("research", tuple("abcdefghijkl"))),
        (14.0, StepStarted("code")),
        (14.0, StepStarted("guide")),
    ]
    for first, ends in (
        (0, (48, 104, 170, 252)),
        (4, (60, 118, 176, 252)),
        (8, (92, 146, 198, 252)),
    ):
        begins = 14.0
        for at, end in enumerate(ends):
            key = keys[first + at]
            told.append((begins, StepStarted("research", key)))
            if end < 252:
                told.append((end, StepFinished("research", key, tokens=13_000, dollars=0.0244)))
            begins = float(end)
    test = {"passed": False}
    question = RunQuestion(
        *("q", "permission", "Writer wants to open a page"),
        "docs.python.org/3/library/asyncio-queue.html",
        path=("Release notes", "guide", "Writer"),
    )
    told += [
        (80.0, StepAsked("guide", "", question)),
        (126.0, StepFinished("code", text="Removed a call", tokens=60_000, dollars=0.17)),
        (126.0, StepStarted("test")),
        (164.0, StepFinished("test", outputs=test, tokens=14_000, dollars=0.02)),
        (164.0, StepsRedone("code", "test", ("code", "test"))),
        (164.0, StepStarted("code", round=2)),
        (220.0, StepFinished("code", text="Fixed test_pool.py", tokens=49_000, dollars=0.14)),
        (220.0, StepStarted("test", round=2)),
        (221.0, BreakpointSet("review")),
    ]
    for at, event in sorted(told, key=lambda one: one[0]):
        run.apply(now + at, event)
        await store.append(run, now + at, [event])
    return run.id


@on_window_loop
async def test_a_run_is_watched(tmp_path: Path, atlas: Path) -> None:
    """19, 19b: a run with items, a step that waits, one tried again, a breakpoint."""
    own = atlas / ".agents" / "workflows"
    own.mkdir(parents=True)
    (own / "release.md").write_text(RELEASE)
    async with at_atlas(tmp_path, atlas, []) as person:
        pictures, window = Photographer(person), person.window
        run_id = await run_that_waits(person.engine, atlas)
        window.pages.show_page("workflows", "run", run_id)
        page = window.pages.currentWidget()
        assert isinstance(page, WorkflowsPage)
        view = page.run_view
        await until(lambda: view.record is not None)
        view.choose("guide")
        view.show_tab(RUN)
        await pictures.show("19-workflow-run", (LARGE, SMALL))
        view.lower_panes.show_pane(1)
        await pictures.show("19b-workflow-log")
        view.lower_panes.show_pane(0)


CODER = "---\nname: Fixer\ntools: [read, write, edit, run]\nicon: code-xml\nhue: blue\n---\n{}\n"
FIX = """\
---
name: Release notes
inputs: {tag: {type: string, default: v2.4}}
steps:
  - {id: plan, agent: Planner, prompt: Split the changes into parts}
  - {id: research, needs: plan, for_each: [a, b, c], agent: Researcher, prompt: "Look at ${{ item }}"}
  - id: code
    needs: plan
    agent: Fixer
    prompt: Fix the tests that fail
    outputs: {type: object, properties: {passed: {type: boolean}, patched: {type: array}}}
  - id: test
    needs: [code, research]
    agent: Tester
    prompt: Run the suite
    outputs: {type: object, properties: {passed: {type: boolean}}}
  - {id: guide, needs: test, if: steps.test.outputs.passed, agent: Writer, prompt: Write the guide}
---
"""


def fixes(view: RequestView) -> Turn:
    """Does better where its instructions say more."""
    asked, better, done = asked_in(view), "Say why they fail." in view.system, len(results(view))
    if "Fix the tests" in asked:
        if not done:
            calls = [read("src/atlas/pool.py"), Call("search", {"pattern": "retry_after"})]
            calls.append(Call("write", {"path": "src/atlas/pool.py", "content": "a = 1\n" * 3}))
            if better:
                new = {"path": "tests/test_pool.py", "content": "def test_pool(): ...\n" * 9}
                calls.append(Call("write", new))
            return Turn(*calls, usage=Usage(inp=52_000, out=2_000))
        patched = ["pool.py", "test_pool.py"] if better else ["pool.py"]
        return Turn(Text(json.dumps({"passed": True, "patched": patched})), usage=USED)
    if "Run the suite" in asked:
        return Turn(Text(json.dumps({"passed": known["better"]})), usage=USED)
    return Turn(Text("The pool closed twice, so I removed the second call."), usage=USED)


known = {"better": False}


@on_window_loop
async def test_two_runs_are_compared(tmp_path: Path, atlas: Path) -> None:
    """20: a run that failed its test, and one with better instructions."""
    own, agents = atlas / ".agents" / "workflows", tmp_path / "studio" / "agents"
    for place in (own, agents):
        place.mkdir(parents=True)
    (own / "release.md").write_text(FIX)
    async with at_atlas(tmp_path, atlas, fixes) as person:
        pictures, window = Photographer(person), person.window
        runs = WorkflowRuns(person.engine)
        options = RunOptions({"tag": "v2.4"}, provider="anthropic", model="claude-sonnet-5-5")
        for better in (False, True):
            known["better"] = better
            more = " Say why they fail." if better else ""
            (agents / "fixer.md").write_text(
                CODER.format(f"Fix the tests that fail.{more}\nKeep patches small.")
            )
            runner = await runs.start(own / "release.md", atlas, options)
            runner.attended = False
            await runner.carry_out()
            assert runner.run.end is not None, (runner.run.reason, [*runner.run.questions])
            await runs.close(runner)
        window.pages.show_page("workflows", "run", runner.run.id)
        page = window.pages.currentWidget()
        assert isinstance(page, WorkflowsPage)
        await until(lambda: page.run_view.record is not None and len(page.run_view._infos) == 2)
        page.run_view.compare_runs()
        await until(lambda: page.run_view.compare._model.rows)
        await pictures.show("20-workflow-compare", (LARGE, SMALL))


@on_window_loop
async def test_a_workflow_is_edited(tmp_path: Path, atlas: Path) -> None:
    """18: text and canvas with a mistake, and the properties of a step."""
    own = atlas / ".agents" / "workflows"
    own.mkdir(parents=True)
    (own / "updates.md").write_text(UPDATES)
    (own / "triage.md").write_text(TRIAGE)
    async with at_atlas(tmp_path, atlas, []) as person:
        pictures, window = Photographer(person), person.window
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(one := window.pages.currentWidget(), WorkflowsPage) and one
        )
        await until(lambda: page.document is not None)
        page.gallery.choose(own / "updates.md")
        await until(
            lambda: (
                page.document is not None
                and page.document.path == own / "updates.md"
                and page.file.is_checked
            )
        )
        page.editor.go_to(page.editor.text().index("max: 3\n") + 6)
        page.editor.setFocus()
        await pictures.show("18-workflow-edit", (LARGE, SMALL))
