"""Evals in the window: two variants side by side, in a group of the Workflows list (W-58)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.agent.engine import Engine
from studio.domain.agents import NO_CAPS
from studio.simulator import RequestView, Text, Turn
from studio.ui.pages.workflows.evals.eval_facts import (
    FLIPPED,
    SectionRow,
    difference_words,
    section_words,
    spoken_case,
)
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.workflows.evals.eval_file import read_eval
from studio.workflows.evals.eval_runs import EvalOptions, EvalRuns
from studio.workflows.evals.figures import difference
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.languages import language
from support.waiting import until
from support.window import CTRL, Key, alone, at_window, on_window_loop
from support.workflow_home import asked_in

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

CAPITALS = """\
---
name: Capitals
budget: {dollars: 1}
prompt: What is the capital of ${{ item.land }}?
variants:
  - {id: plain, title: As it is, agent: Writer}
  - {id: exact, title: Be exact, agent: Writer, prompt: "Exactly: the capital of ${{ item.land }}?"}
graders: [{contains: "${{ item.city }}"}]
cases:
  - {id: fr, title: France, land: France, city: Paris}
  - {id: au, title: Australia, land: Australia, city: Canberra}
---
"""


def answers(view: RequestView) -> Turn:
    words = asked_in(view)
    if "France" in words:
        return Turn(Text("It is Paris."))
    return Turn(Text("Canberra." if "Exactly" in words else "Sydney, of course."))


@on_window_loop
async def test_w58_two_variants_side_by_side(tmp_path: Path) -> None:
    own = tmp_path / "studio" / "evals"
    own.mkdir(parents=True)
    path, blank = own / "capitals.md", own / "later.md"
    path.write_text(CAPITALS)
    blank.write_text(CAPITALS)

    async def prepare(engine: Engine) -> None:
        async def drive(runner: Runner) -> None:
            runner.attended = False
            await runner.carry_out()

        evals = EvalRuns(engine, WorkflowRuns(engine))
        options = EvalOptions(NO_CAPS, "anthropic", "sim-model")
        row, _ = await evals.run(read_eval(path), path, tmp_path, options, drive)
        assert row.state == "done"

    async with at_window(tmp_path, "anthropic", answers, prepare=prepare) as person:
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), WorkflowsPage) and now
        )
        await until(lambda: page.document is not None, what="a workflow is shown")
        workflow = page.document
        assert [row.name for row in page.gallery.files.rows][-3:] == ["Evals", "capitals", "later"]
        page.gallery.choose(path)
        view = page.eval_view
        await until(lambda: view.isVisible() and view.report, "the eval is shown")
        assert view.title.text() == "Capitals, run 1"
        assert "2 cases, 1 try each, 0 of 4 from the record" in view.counts.text()
        assert (view.cards[0].rate.text(), view.cards[1].rate.text()) == ("50%", "100%")
        assert view.cards[0].interval.text() == "9% to 91%, 1 of 2 cases"
        assert "1 better, 0 worse" in view.words.text()
        with language("de"):
            words = difference_words(difference(view.report, view.report, "plain", "exact"))
            assert words.endswith("100,0\u00a0%"), words
            assert section_words(SectionRow(-1, 2))[1] == "2, A gegen B"
        # What flipped comes first, and is all that is listed if the person wants that.
        assert next(spoken_case(row) for row in view.rows).endswith("flipped to passed")
        person.click(view.kinds.segment(FLIPPED))
        assert [row.case.id for row in view.rows] == ["au"]
        view.list.setCurrentIndex(view.list.model().index(1, 0))
        first, second, third = (one.text() for one in view.answers)
        assert not third and view.cards[2].isHidden()
        assert "Sydney, of course." in first and "does not contain “Canberra”" in first
        assert second.startswith("B, try 1 of 1: Passed")
        # The other file has not run; the workflow is as it was, and nothing deletes it unseen.
        page.gallery.choose(blank)
        await until(lambda: view.report is None and "eval run later" in view.counts.text())
        # It is begun here, also after a limit that is missing was said.
        blank.write_text(CAPITALS.replace("budget: {dollars: 1}\n", ""))
        person.click(view.run_button)
        await until(lambda: "has no cap" in view.wrong.text(), what="why it is not run")
        blank.write_text(CAPITALS.replace("name: Capitals", "name: Later"))
        page.gallery.choose(path)
        page.gallery.choose(blank)
        await until(lambda: view.report is None and view.wrong.isHidden())
        before = await person.engine.services.database.rows("SELECT count(*) FROM eval_runs")
        view.run_button.click()
        view.run_button.click()  # once is enough
        await until(lambda: view.report, what="it has run")
        assert view.title.text() == "Later, run 1" and view.run_button.isEnabled()
        after = await person.engine.services.database.rows("SELECT count(*) FROM eval_runs")
        assert after[0][0] == before[0][0] + 1, "one eval"
        assert (view.cards[0].rate.text(), view.cards[1].rate.text()) == ("50%", "100%")
        page.discard()
        assert workflow is not None
        page.gallery.choose(workflow.path)
        await until(lambda: not view.isVisible(), "the workflow is shown again")
        assert page.document is not None and page.document.path == workflow.path


@on_window_loop
async def test_w58_a_third_variant_beside_two_and_sections_of_what_flipped(tmp_path: Path) -> None:
    own = tmp_path / "studio" / "evals"
    own.mkdir(parents=True)
    path = own / "capitals.md"
    more = '  - {id: wrong, title: Be vague, agent: Writer, prompt: "Vaguely: ${{ item.land }}?"}\n'
    path.write_text(CAPITALS.replace("graders:", more + "graders:"))

    def script(view: RequestView) -> Turn:
        return Turn(Text("Somewhere.")) if "Vaguely" in asked_in(view) else answers(view)

    async def prepare(engine: Engine) -> None:
        async def drive(runner: Runner) -> None:
            runner.attended = False
            await runner.carry_out()

        evals = EvalRuns(engine, WorkflowRuns(engine))
        options = EvalOptions(NO_CAPS, "anthropic", "sim-model")
        await evals.run(read_eval(path), path, tmp_path, options, drive)

    async with at_window(tmp_path, "anthropic", script, prepare=prepare) as person:
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), WorkflowsPage) and now
        )
        await until(lambda: page.document is not None, what="a workflow is shown")
        page.gallery.choose(path)
        view = page.eval_view
        await until(lambda: view.isVisible() and view.report, "the eval is shown")
        assert [one.rate.text() for one in view.cards] == ["50%", "100%", "0%"]
        assert view.cards[2].isVisible() and view.against.isHidden(), "all of them are shown"
        model = view.list.model()
        told = [str(model.index(at, 0).data()) for at in range(model.rowCount())]
        assert told[0] == "Flipped to passed, 1, A to B" and told[2] == "Unchanged, 1, A to B"
        assert told[1] == (
            "Australia, contains, A 0 of 1, B 1 of 1, flipped to passed, C 0 of 1"
        ), told
        assert told[3].endswith("B 1 of 1, C 0 of 1, flipped to failed"), told
        person.click(view.kinds.segment(FLIPPED))
        assert [row.case.id for row in view.rows] == ["au", "fr"], "also with C alone"
        view.list.setFocus()
        person.press(Key.Key_Down)  # past the heading
        assert [one.text().split(":")[0] for one in view.answers] == [
            f"{letter}, try 1 of 1" for letter in "ABC"
        ]
        assert "It is Paris." in view.answers[0].text() and "Somewhere" in view.answers[2].text()
