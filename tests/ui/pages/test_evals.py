"""Evals in the window: two variants side by side, in a group of the Workflows list (W-58)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from studio.agent.engine import Engine
from studio.domain.agents import NO_CAPS
from studio.domain.evals import Case, Cell, Eval, EvalReport, Grader, Variant
from studio.simulator import RequestView, Text, Turn, Usage
from studio.ui.pages.workflows.evals.case_list import columns_of
from studio.ui.pages.workflows.evals.eval_facts import (
    ALL,
    FLIPPED,
    SectionRow,
    answer_marks,
    compared_words,
    estimate_words,
    section_words,
    spoken_case,
)
from studio.ui.pages.workflows.evals.eval_inspector import CELL, HISTORY, against_facts
from studio.ui.pages.workflows.evals.variant_card import VariantCard
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.theme import Theme
from studio.ui.widgets.painting import tag_width
from studio.workflows.evals.cost_estimate import Judging, estimate_cost
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
        assert view.cards[0].interval.text() == "9% to 91%"
        assert view.cards[0].of.text().startswith("1 of 2 cases")
        against = [one.spoken for one in view.inspector.cell.against.facts]
        assert against[:4] == [
            "A against B",
            "Better, 1 case",
            "Worse, 0 cases",
            "Chance of no difference, 100.0%",
        ]
        with language("de"):
            facts = against_facts(difference(view.report, view.report, "plain", "exact"), "B")
            assert facts[3].right.endswith("100,0\u00a0%"), facts
            assert section_words(SectionRow(-1, 2))[1] == "2, A gegen B"
        # What flipped comes first, and is all that is listed if the person wants that.
        assert next(spoken_case(row) for row in view.rows).endswith("flipped to passed")
        person.click(view.kinds.segment(FLIPPED))
        assert [row.case.id for row in view.rows] == ["au"]
        view.list.setCurrentIndex(view.list.model().index(1, 0))
        first, second = view.inspector.cell.cards
        assert view.cards[2].isHidden() and second.head.text() == "B, try 1 of 1"
        assert first.text.edit.toPlainText() == "Sydney, of course."
        assert "does not contain “Canberra”" in first.verdicts.text()
        assert second.verdicts.text() == "✓ contains"
        (mark,) = second.text.edit.extraSelections()
        assert mark.cursor.selectedText() == "Canberra", "what the check looked for"
        # The other file has not run; the workflow is as it was, and nothing deletes it unseen.
        page.gallery.choose(blank)
        await until(lambda: view.report is None and "eval run later" in view.counts.text())
        # It is begun here, also after a limit that is missing was said.
        blank.write_text(CAPITALS.replace("budget: {dollars: 1}\n", ""))
        form = view.form
        person.click(view.run_button)
        await until(form.isVisible, what="how it is run is asked")
        person.click(form.start)
        assert form.wrong.text() == "Give a limit: money or tokens." and form.isVisible()
        blank.write_text(CAPITALS.replace("name: Capitals", "name: Later"))
        page.gallery.choose(path)
        await until(lambda: view.report and form.isHidden(), "another eval is shown")
        page.gallery.choose(blank)
        await until(lambda: view.report is None, "the first one again")
        before = await person.engine.services.database.rows("SELECT count(*) FROM eval_runs")
        person.click(view.run_button)
        await until(form.isVisible, what="how it is run is asked")
        form.start.click()
        form.start.click()  # once is enough
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
        assert told[0] == "Flipped to passed, 1, A to B" and told[2] == "Unchanged, 1, folded"
        assert model.rowCount() == 3
        assert told[1] == (
            "Australia, contains, A 0 of 1, B 1 of 1, flipped to passed, C 0 of 1"
        ), told
        view.list.setFocus()
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        assert str(model.index(2, 0).data()) == "Unchanged, 1, A to B"
        said = str(model.index(3, 0).data())
        assert said.endswith("B 1 of 1, C 0 of 1, flipped to failed"), said
        person.click(view.kinds.segment(FLIPPED))
        assert [row.case.id for row in view.rows] == ["au", "fr"], "also with C alone"
        view.list.setFocus()
        person.press(Key.Key_Down)  # past the heading
        cell = view.inspector.cell

        def shown() -> list[str]:
            return [one.head.text() for one in cell.cards if not one.isHidden()]

        assert shown() == ["A, try 1 of 1", "B, try 1 of 1"] and cell.title.text() == "France"
        person.press(Key.Key_Right)
        assert shown() == ["A, try 1 of 1", "C, try 1 of 1"]
        assert cell.against.facts[0].left == "A against C"
        assert "It is Paris." in cell.cards[0].text.edit.toPlainText()
        assert "Somewhere" in cell.cards[1].text.edit.toPlainText()
        for _ in range(3):  # no further than the baseline
            person.press(Key.Key_Left)
        assert shown() == ["A, try 1 of 1"] and not cell.against.facts


@on_window_loop
async def test_w58_sections_list_the_first_cases_and_unfold_the_others(tmp_path: Path) -> None:
    own = tmp_path / "studio" / "evals"
    own.mkdir(parents=True)
    path = own / "capitals.md"
    long = "Australia, of which many think that Sydney is its capital, since it is the largest city"
    head = CAPITALS.split("  - {id: fr")[0].replace("As it is", "As it is and has been since")
    same = "  - {{id: f{0}, title: France {0}, land: France, city: Paris}}\n"
    flips = "  - {{id: a{0}, title: {1}, land: Australia {0}, city: Canberra}}\n"
    path.write_text(
        head
        + "".join(same.format(one) for one in range(3))
        + "".join(flips.format(one, f"'{long}'" if not one else "Short") for one in range(12))
        + "---\n"
    )

    async def prepare(engine: Engine) -> None:
        async def drive(runner: Runner) -> None:
            runner.attended = False
            await runner.carry_out()

        evals = EvalRuns(engine, WorkflowRuns(engine))
        options = EvalOptions(NO_CAPS, "anthropic", "sim-model")
        await evals.run(read_eval(path), path, tmp_path, options, drive)

    async with at_window(tmp_path, "anthropic", answers, prepare=prepare) as person:
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), WorkflowsPage) and now
        )
        await until(lambda: page.document is not None, what="a workflow is shown")
        page.gallery.choose(path)
        view = page.eval_view
        await until(lambda: view.isVisible() and view.report, "the eval is shown")
        model, cases = view.list.model(), view.list

        def told() -> list[str]:
            return [str(model.index(at, 0).data()).split(", A ")[0] for at in range(len(rows()))]

        def rows() -> list[object]:
            return [model.index(at, 0).data(256) for at in range(model.rowCount())]

        heads = "Flipped to passed, 12, A to B", "Unchanged, 3, folded"
        assert [str(model.index(at, 0).data()) for at in (0, 9)] == [*heads]
        assert model.rowCount() == 1 + 7 + 1 + 1 and told()[8] == "5 more, Flipped to passed"
        assert cases.row is not None and cases.row.case.id == "a0"
        # By mouse: the first of the others is chosen, and by key they are folded again.
        place = cases.visualRect(model.index(8, 0)).center()
        QTest.mouseClick(cases.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert model.rowCount() == 1 + 12 + 1 and cases.row.case.id == "a7"
        cases.setFocus()
        person.press(Key.Key_Home)
        assert cases.currentIndex().row() == 0 and view.inspector.cell.cell is None
        person.press(Key.Key_Left)
        assert model.rowCount() == 10 and cases.currentIndex().row() == 0
        # What did not flip is unfolded by its heading, also with another filter in between.
        place = cases.visualRect(model.index(9, 0)).center()
        QTest.mouseClick(cases.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert told()[9:] == ["Unchanged, 3", *(f"France {at}, contains" for at in range(3))]
        person.click(view.kinds.segment(FLIPPED))
        assert told()[-1] == "5 more, Flipped to passed"
        person.click(view.kinds.segment(ALL))
        assert model.rowCount() == 13
        # A title that is cut is told in a tool tip, another one not; the verdict has an arrow.
        cases.scrollToTop()

        def tip(at: int) -> str:
            place = cases.visualRect(model.index(at, 0)).center()
            place.setX(40)
            help_ = QHelpEvent(QEvent.Type.ToolTip, place, cases.viewport().mapToGlobal(place))
            QApplication.sendEvent(cases.viewport(), help_)
            return QToolTip.text()

        assert not tip(2) and tip(1) == long
        tag = view.cards[1].tag
        assert tag.accessibleName() == "better"
        assert tag.sizeHint().width() == tag_width(view.theme, "better", "arrow-up")
        assert view.cards[0].title.minimumSizeHint().width() <= view.theme.px(60)
        assert view.cards[0].title.toolTip() == "A  As it is and has been since"


@on_window_loop
async def test_w58_what_of_an_eval_is_run_and_what_it_will_cost(tmp_path: Path) -> None:
    """Variants, cases, tries, limits, and anew or from the record, as at the terminal."""
    own = tmp_path / "studio" / "evals"
    own.mkdir(parents=True)
    path = own / "capitals.md"
    path.write_text(
        CAPITALS.replace("agent: Writer", "agent: Writer, model: anthropic/claude-sonnet-4-5")
    )
    asked: list[str] = []

    def script(view: RequestView) -> Turn:
        asked.append(asked_in(view))
        return Turn(*answers(view).parts, usage=Usage(1_000, out=1_000))

    async with at_window(tmp_path, "anthropic", script) as person:
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), WorkflowsPage) and now
        )
        await until(lambda: page.document is not None, what="a workflow is shown")
        page.gallery.choose(path)
        view = page.eval_view
        form = view.form
        await until(lambda: "eval run capitals" in view.counts.text(), "it has not run")
        # What it costs is not known before it has run.
        person.click(view.run_button)
        await until(lambda: form.cost.text() == "Asks 4 of 4 cells", "what it asks")
        price, never = form.notes.text().split(" · ")
        assert price == "What an answer costs is known once there is one"
        assert never == "Never above the budget of $1.00"
        person.type("1000000")  # in the field of the tries, which has the focus
        person.press(Key.Key_Tab)
        await until(lambda: form.notes.text() == "At most 100 tries of each case.")
        assert not form.cost.text(), "nothing is computed for so many"
        form.tries.setFocus()
        form.tries.selectAll()
        person.type("2")
        person.press(Key.Key_Return)
        await until(lambda: view.report, what="it has run")
        assert view.title.text() == "Capitals, run 1" and form.isHidden()
        first = len(asked)
        assert "2 cases, 2 tries each" in view.counts.text() and first == 8
        # The record has all of it, until a case is asked anew, by one variant and once.
        person.click(view.run_button)
        words = "The record has all answers: no agent is asked for one."
        await until(lambda: form.isVisible() and form.cost.text() == words, "nothing is asked")
        person.click(form.fresh)
        await until(lambda: form.cost.text().startswith("About $0.0720 for 4 of 4"), "all of it")
        assert "The estimate is from 4 tries" in form.notes.text()
        await person.choose(form.cases, "Flipped")
        person.click(form.variants[0])
        await until(lambda: form.cost.text() == "About $0.0180 for 1 of 1 cells", "one of them")
        form.dollars.setFocus()
        form.dollars.selectAll()
        person.type("0.5")
        person.press(Key.Key_Tab)
        await until(lambda: form.notes.text().endswith("budget of $0.50"), "the limit")
        person.click(form.variants[1])
        person.click(form.start)
        assert form.wrong.text() == "Choose one variant at least."
        person.click(form.variants[1])
        person.click(form.start)
        await until(lambda: view.title.text() == "Capitals, run 2", "it has run")
        (last,) = asked[first:]
        assert "Exactly: the capital of Australia?" in last
        assert [card.isHidden() for card in view.cards] == [False, True, True]
        # In a low window it stands in place of the cards. Escape leaves it, and nothing is run.
        person.window.resize(1200, 640)
        person.click(view.run_button)
        await until(lambda: form.isVisible() and not view.cards[0].isVisible(), "it has room")
        person.press(Key.Key_Escape)
        assert form.isHidden() and len(asked) == first + 1 and view.cards[0].isVisible()


def test_w58_an_estimate_weighs_each_variant_and_needs_the_price_of_all() -> None:
    found = estimate_cost(40, {"a": 10, "b": 20}, {"a": [0.1, 0.3], "b": [0.5] * 30})
    assert (found.asked, found.tries, found.verdicts) == (30, 32, 0)
    assert found.dollars == pytest.approx(12.0)
    assert found.least == pytest.approx(12.0 - 1.96) and found.most == pytest.approx(12.0 + 1.96)
    for costs in ({"a": [0.1]}, {"a": [0.1], "b": [0.5, None]}):
        assert estimate_cost(40, {"a": 1, "b": 1}, costs).dollars is None
    assert estimate_cost(40, {}, {}).asked == 0


def test_w58_an_estimate_says_what_the_cost_of_judging_agents_rests_on() -> None:
    asked, costs = {"a": 10}, {"a": [0.1, 0.1]}
    known = Judging(4, [0.5, 0.5, 0.5], "verdicts")
    for judging, dollars, words in (
        ([known], 3.0, "With 4 verdicts of agents at most, at what 3 earlier ones cost"),
        (
            [Judging(1, [0.1], "answers")],
            1.1,
            "With 1 verdict of agents at most, at what answers of the same model cost",
        ),
        (
            [known, Judging(1, [0.1], "answers")],
            3.1,
            "With 5 verdicts of agents at most, in part at what answers of the same model cost",
        ),
        ([Judging(4)], 1.0, "Not in it: 4 verdicts of agents at most, whose cost is not known"),
        (
            [known, Judging(1, [None], "verdicts")],
            1.0,
            "Not in it: 5 verdicts of agents at most, whose cost is not known",
        ),
        ([], 1.0, "The estimate is from 2 tries"),
    ):
        found = estimate_cost(20, asked, costs, judging)
        assert found.dollars == pytest.approx(dollars)
        assert estimate_words(found)[1][-1] == words
    alone = estimate_cost(20, {}, {}, [known])
    words, notes = estimate_words(alone)
    assert words == "The record has all answers: about $2.00 for verdicts on them"
    assert notes[-1].startswith("With 4 verdicts")


def test_w58_an_estimate_says_what_of_a_cost_is_not_known() -> None:
    """Of answers and of verdicts each by itself."""
    known, unknown = Judging(4, [0.5, 0.5], "verdicts"), Judging(6)
    few, no = (
        "4 verdicts of agents at most",
        "6 verdicts of agents at most, whose cost is not known",
    )
    asks, price = "Asks 2 of 42 cells", "The price of the model is not known"
    first = "What an answer costs is known once there is one"
    for asked, costs, judging, told in (
        ({}, {}, unknown, ("The record has all answers", [no])),
        ({"a": 2}, {"a": [None]}, known, (asks, [price, few])),
        ({"a": 2}, {"a": [None]}, unknown, (asks, [price, no])),
        ({"a": 2}, {}, known, (asks, [first, few])),
    ):
        assert estimate_words(estimate_cost(42, asked, costs, [judging])) == told
    with language("de"):
        assert estimate_words(estimate_cost(42, {}, {}, [unknown])) == (
            "Die Aufzeichnung hat alle Antworten",
            ["höchstens 6 Urteile von Agenten, deren Kosten nicht bekannt sind"],
        )


@pytest.mark.parametrize(
    ("written", "words", "compared"),
    [
        ("en", "No case has a result.", "Nothing to compare: no case has a result from both."),
        (
            "de",
            "Kein Fall hat ein Ergebnis.",
            "Es gibt nichts zu vergleichen: Kein Fall hat von beiden ein Ergebnis.",
        ),
    ],
)
def test_w58_nothing_is_compared_with_what_has_no_result(
    qapp: QApplication, written: str, words: str, compared: str
) -> None:
    """A variant that was not answered has no rate of 0%, and no verdict."""
    variants = Variant("a", agent="Writer"), Variant("b", agent="Writer")
    cells = Cell("a", "one", 1, "key", True), Cell("b", "one", 1, "key", False)
    report = EvalReport(Eval("Story", (Case("one"),), variants), cells=cells)
    found = difference(report, report, "a", "b")
    with language(written):
        theme = Theme()
        card = VariantCard(theme, "B")
        card.show_variant(report, "b", found, 1.0)
        shown = (card.rate, card.of, card.cost)
        assert qapp and [one.text() for one in shown] == ["–", words, ""]
        assert not card.tag.isVisibleTo(card) and card.bar.accessibleName() == words
        assert [one.left for one in against_facts(found, "B")][1:] == [compared]
        card.show_variant(report, "a", None, None)
        assert card.tag.isVisibleTo(card) and not card.of.text().startswith(words)
        theme.deleteLater()


def test_w58_it_is_said_with_which_variant_others_are_compared() -> None:
    first, second, third = (Variant(one, "Writer") for one in ("old", "new", "next"))
    case = Case("c", graders=(Grader("pairwise", "Judge", prompt="?"),))
    assert not compared_words(Eval("", (case,), (first, second)), first)
    assert compared_words(Eval("", (case,), (second, third)), first) == (
        "Compared with new: old is left out"
    )
    assert compared_words(Eval("", (case,), (third,)), first) == (
        "It is compared with no other: old is left out"
    )
    assert not compared_words(Eval("", (Case("c"),), (third,)), first)


@on_window_loop
async def test_w58_a_cell_is_run_again_its_chat_opened_and_results_exported(
    tmp_path: Path,
) -> None:
    """Asked by those who answered before, though these are no models of the settings."""
    own = tmp_path / "studio" / "evals"
    own.mkdir(parents=True)
    path = own / "capitals.md"
    path.write_text(CAPITALS.replace("prompt: What", "repeats: 2\nprompt: What", 1))
    asked: list[str] = []

    def script(view: RequestView) -> Turn:
        asked.append(view.model)
        return answers(view)

    async def prepare(engine: Engine) -> None:
        async def drive(runner: Runner) -> None:
            runner.attended = False
            await runner.carry_out()

        evals = EvalRuns(engine, WorkflowRuns(engine))
        options = EvalOptions(NO_CAPS, "anthropic", "sim-other")
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
        cell = view.inspector.cell
        assert cell.title.text() == "Australia", "it flipped"
        # The tries of the cell, one after the other.
        person.click(cell.after)
        assert cell.which.text() == "Try 2 of 2" and not cell.after.isEnabled()
        assert [one.head.text() for one in cell.cards] == ["A, try 2 of 2", "B, try 2 of 2"]
        # By mouse to the baseline, and by key anew: only that cell is asked.
        line = view.list.visualRect(view.list.currentIndex())
        place = columns_of(view.theme, QRectF(line), 2).tries[0].center().toPoint()
        QTest.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert view.list.variant == 0 and cell.cell is not None and cell.cell.variant == "plain"
        asked.clear()
        view.list.setFocus()
        person.press(Key.Key_R)
        await until(lambda: view.title.text() == "Capitals, run 2", "it has run again")
        assert asked == ["sim-other"] * 2
        assert "6 of 8 from the record" in view.counts.text()
        assert cell.title.text() == "Australia" and view.list.variant == 0, "it stays chosen"
        assert "from the record" not in cell.cards[0].used.text()
        # The one before is in the history.
        view.inspector.show_page(HISTORY)
        history = view.inspector.history
        told = [str(history.model().index(at, 0).data()) for at in range(2)]
        assert [one.split(", ")[1] for one in told] == ["run 2", "run 1"], told
        history.setCurrentIndex(history.model().index(1, 0))
        await until(lambda: view.title.text() == "Capitals, run 1", "the one before")
        # What is exported is what is shown.
        await view.export_to(tmp_path / "tries.csv")
        assert view.told.text() == "The results are in tries.csv."
        assert (tmp_path / "tries.csv").read_text().count("sim-other") == 8
        # Its chat is opened.
        view.inspector.show_page(CELL)
        person.click(cell.chat)
        assert cell.cell is not None
        wanted, chat = cell.cell.session_id, person.window.chat
        await until(lambda: chat.session and chat.session.info.id == wanted, "its chat is open")


def test_w58_what_another_answer_has_not_is_marked() -> None:
    case = Case("one", graders=(Grader("cost", 1.0),))
    text, other = "Close the pool in the test.", "Close the window in the test."
    assert [text[a:b] for a, b in answer_marks(text, other, case)] == ["pool"]
    assert not answer_marks("Nothing of that.", other, case), "they have too little in common"
    assert not answer_marks(text, text, case)
