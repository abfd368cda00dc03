"""Runs in the window: live, stopped at breakpoints, and as they were (W-64 to W-67)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.domain.run_events import (
    MERGE,
    ItemsFound,
    RunEvent,
    RunQuestion,
    RunQueued,
    RunStarted,
    StepAsked,
    StepFinished,
    StepInTurns,
    StepStarted,
)
from studio.domain.runs import item_keys
from studio.domain.workflows import Step, Workflow, WorkflowTrigger
from studio.storage.config.settings import SettingsFile
from studio.storage.triggers import TriggerStore
from studio.ui.formatting import dollars
from studio.ui.pages.workflows import run_graph
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.run_graph import graph_of_run
from studio.ui.pages.workflows.runs.call_pairs import CallPairs, call_pairs
from studio.ui.pages.workflows.runs.compare_facts import as_yaml
from studio.ui.pages.workflows.runs.run_inspector import HISTORY, RUN, STEP
from studio.ui.pages.workflows.runs.run_record import RunRecord
from studio.ui.pages.workflows.runs.run_view import RunView
from studio.ui.pages.workflows.runs.timeline import Timeline
from studio.ui.theme import Theme
from studio.ui.widgets.breakable import ElidedLabel
from studio.workflows.cluster import control
from studio.workflows.cluster.certificates import coordinator_identity, invite, read_invitation
from studio.workflows.cluster.coordinator import Coordinator
from studio.workflows.cluster.lines import connect, encode
from studio.workflows.cluster.messages import VERSION
from studio.workflows.trigger_clock import TriggerClock, Triggers
from studio.workflows.triggers import next_time
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.graph_twin import FOR_EYES, actions_of
from support.ready_made import ready_engine
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, message, on_window_loop
from support.workflow_home import by_words, workflow, write

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

STORY = """\
---
name: Story
inputs: {hero: {type: string, default: a fox}}
budget: {dollars: 2.00}
steps:
  - {id: tell, agent: Writer, prompt: "Tell of ${{ inputs.hero }}"}
  - {id: ok, needs: tell, approve: Keep it?}
  - {id: parts, needs: ok, for_each: [one, two], agent: Coder, prompt: "Part ${{ item }}"}
  - {id: kept, needs: parts, set: {story: "${{ steps.tell.text }}"}}
---
"""
ANSWERS = by_words({"Tell of": "A hare ran.", "Part one": "First.", "Part two": "Second."})


async def page_of(person: Person, home: Path) -> WorkflowsPage:
    """The page with the story chosen."""
    own = home / "studio" / "workflows"
    own.mkdir(parents=True, exist_ok=True)
    (own / "story.md").write_text(STORY)
    person.press(Key.Key_3, CTRL)
    page = await until(
        lambda: isinstance(found := person.window.pages.currentWidget(), WorkflowsPage) and found
    )
    await until(lambda: page.document is not None, what="a workflow is shown")
    page.gallery.choose(own / "story.md")
    await until(
        lambda: (
            page.document is not None
            and page.document.path == own / "story.md"
            and page.file.is_checked
        )
    )
    return page


async def start(person: Person, page: WorkflowsPage) -> RunView:
    view = page.run_view
    before = view.record
    person.click(page.run_button)
    person.press(Key.Key_Return)
    await until(lambda: view.record is not None and view.record is not before, "the run is shown")
    return view


def record(view: RunView) -> RunRecord:
    assert view.record is not None
    return view.record


async def asked(view: RunView) -> None:
    """Wait for a question, and show it."""
    await until(lambda: view.record and next(view.record.run.questions, None), "the question")
    view.show_tab(RUN)


async def over(view: RunView) -> None:
    await until(lambda: view.record and view.record.run.end is not None, "the end")


def states(view: RunView) -> list[str]:
    return [node.state for node in view.pane.graph.nodes]


@on_window_loop
async def test_w64_a_run_is_watched_answered_and_chosen_in(tmp_path: Path) -> None:
    """PRE-21, W-18, W-22: from the form of its inputs through the person's answer to its end."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        person.click(page.run_button)
        field = page.form.fields["hero"]
        assert field.text() == "a fox" and person.focused() is field
        field.selectAll()
        person.type("a hare")
        person.press(Key.Key_Return)
        view = page.run_view
        await until(
            lambda: states(view) == ["done", "needs_you", "waiting", "waiting"], "the question"
        )
        assert "Tell of a hare" in person.asked[0]
        assert len(await page.live.runs.store.list()) == 1, "Enter starts one run"
        assert view.head.title.text() == "Story, run 1" and view.head.inputs.text() == "a hare"
        tab = view.inspector.run
        assert view.inspector.page == RUN and tab.card.title.text() == "Keep it?"
        assert tab.card.path.text() == "Story, ok"
        assert [fact.left for fact in tab.state.facts] == ["Needs you", "Steps", "Started"]
        assert "$2.00" in tab.budget.facts[1].of and tab.agents.facts[1].left == "Writer"
        person.click(tab.card.buttons[0])
        await until(lambda: states(view) == ["done"] * 4, "the end")

        # What is chosen in one place is chosen in all.
        lanes = record(view).lanes.lanes
        assert [lane.name for lane in lanes] == ["Writer", "You", "Coder"]
        place = view.lower_panes.timeline.place_of(("tell", "")).toPoint()
        QTest.mouseClick(view.lower_panes.timeline.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert view.pane.current == "tell" and view.key == ("tell", "")
        view.lower_panes.show_pane(1)
        found = view.lower_panes.log.list.currentIndex().data(Qt.ItemDataRole.UserRole)
        assert found.text == "tell finished"
        view.pane.view.setFocus(Qt.FocusReason.TabFocusReason)
        person.press(Key.Key_Down)
        assert view.key == ("ok", "") and view.lower_panes.timeline.key == ("ok", "")
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        assert view.inspector.page == STEP
        step = view.inspector.step
        assert [row.words for row in step.shown.items] == ["item 1: one", "item 2: two"]
        assert person.focused() is step.items
        person.press(Key.Key_Down)
        item = view.key[1]
        assert item and step.shown.title == "parts, item 1: one"
        assert step.text.edit.toPlainText() == "First."
        assert view.lower_panes.log.list.currentIndex().data(Qt.ItemDataRole.UserRole).item == item
        opened = list[str]()
        view.chat_wanted.connect(opened.append)
        person.click(step.chat)
        assert opened == [record(view).run.step("parts", item).session_id]


@on_window_loop
async def test_w64_the_log_is_filtered_and_searched(tmp_path: Path) -> None:
    """PRE-37."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        view = await start(person, page)
        await asked(view)
        person.click(view.inspector.run.card.buttons[2])
        await over(view)
        view.lower_panes.show_pane(1)
        log = view.lower_panes.log
        whole = len(log._model.found)
        assert view.lower_panes.counts.text() == f"{whole} events"
        assert log.kinds.segment(2).text() == "Questions 2"
        person.click(log.kinds.segment(2))
        shown = [log._rows[at].text for at in log._model.found]
        assert shown == ["ok asks: Keep it?", "Answered, ok: Deny"]
        person.click(log.kinds.segment(0))
        log.field.setFocus()
        person.type("step:tell finished")
        assert [log._rows[at].text for at in log._model.found] == ["tell finished"]
        person.type(" nowhere")
        assert not log._model.found and log._nothing.isVisible()


@on_window_loop
async def test_w66_any_old_run_is_shown_as_it_was(tmp_path: Path) -> None:
    """Also after the file has changed, and by key. PRE-37."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        runs = WorkflowRuns(person.engine)
        path = tmp_path / "studio" / "workflows" / "story.md"
        for answer in (True, False):
            view = await start(person, page)
            await asked(view)
            person.click(view.inspector.run.card.buttons[0 if answer else 2])
            await over(view)
            person.press(Key.Key_Escape)
            await until(page.editor.isVisible)
        await until(lambda: page.history_button.text().startswith("2 runs, last one $"))
        path.write_text(STORY.replace("id: tell", "id: narrate").replace("tell", "narrate"))
        person.click(page.history_button)
        history = page.run_view.inspector.history
        view = page.run_view

        def current() -> str:
            """What is said of the run that is marked in the list."""
            return str(history.list.currentIndex().data())

        await until(lambda: current().startswith("Story, run 2, Stopped, "), "the runs")
        assert view.inspector.page == HISTORY and view.head.title.text() == "Story, run 2"
        assert states(view) == ["done", "stopped", "skipped", "skipped"]
        assert len(history.rows) == 2 and "by you, $" in current()
        history.list.setFocus()
        person.press(Key.Key_Down)
        await until(lambda: view.head.title.text() == "Story, run 1", "the run before")
        assert states(view) == ["done"] * 4 and view.pane.graph.nodes[0].id == "tell"
        history.field.setFocus()
        person.type("stopped")
        assert [row.number for row in history.rows] == [2]
        await person.choose(history.states, "Done")
        assert not history.rows
        history.field.clear()
        assert [row.number for row in history.rows] == [1]
        assert len(await runs.store.list()) == 2

        # Deleted, with its chats: the other one is shown, then none.
        await person.choose(history.states, "All states")
        for left in (1, 0):
            gone = view.head.title.text()
            person.click(history.delete)
            box = await until(message)
            assert gone in box.text()
            person.click(next(button for button in box.buttons() if button.text() == "Delete"))
            await until(lambda left=left: len(history.rows) == left)
            await until(lambda gone=gone: view.head.title.text() != gone)
            assert len(await runs.store.list()) == left
        assert view.empty.isVisible() and not history.delete.isEnabled()
        assert not await person.engine.sessions.list()


@on_window_loop
async def test_w65_a_run_stops_where_the_person_marked_it(tmp_path: Path) -> None:
    """W-67: marked in the graph, seen, changed and gone on with by keys."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        page.pane.view.setFocus(Qt.FocusReason.TabFocusReason)
        person.press(Key.Key_Down)
        person.press(Key.Key_B)
        assert [node.stops for node in page.pane.graph.nodes][1] == "Stops before this step"
        view = await start(person, page)
        await until(lambda: record(view).run.stopped, "it stops")
        step = view.inspector.step
        await until(step.go_on.isVisible)
        assert view.key == ("ok", "") and step.held_title.text() == "Stopped before ok"
        assert not step.change.isVisible(), "nobody is told anything there"

        # What came of a step can be changed, and counts for those after it.
        view.choose("tell")
        person.click(step.edit)
        step.text.edit.setPlainText("A fox slept.")
        person.click(step.edit)
        await until(lambda: record(view).run.step("tell").text[2:5] == "fox")

        # A condition that is none says so; one that is right is a breakpoint of this run.
        view.show_tab(RUN)
        tab = view.inspector.run
        person.click(tab.add_button)
        tab.step.set_current("parts")
        tab.moment.set_current("after")
        tab.when.setFocus()
        person.type("1 +")
        person.press(Key.Key_Return)
        await until(tab.wrong.isVisible, "what is wrong")
        tab.when.setText("len(outputs) == 2")
        person.press(Key.Key_Return)
        await until(lambda: len(tab.breakpoints) == 2)

        view.pane.view.setFocus()
        person.press(Key.Key_C)
        await asked(view)
        view.show_tab(RUN)
        person.click(tab.card.buttons[0])
        await until(
            lambda: (stopped := record(view).run.stopped) and stopped.moment == "after",
            "it stops after the parts",
        )
        view.pane.view.setFocus()
        person.press(Key.Key_Period)
        await over(view)
        assert record(view).run.step("kept").outputs == {"story": "A fox slept."}


@on_window_loop
async def test_w67_a_run_is_led_from_its_list(tmp_path: Path) -> None:
    """The list has the menus of the graph, and each key does there what it does in the graph."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        page.pane.choose("ok")
        page.toggle_breakpoint()
        view = await start(person, page)
        await until(lambda: record(view).run.stopped, "it stops")
        pane = view.pane
        drawn, listed = [actions_of(pane, lists=wanted) for wanted in (False, True)]
        assert listed[0] == drawn[0] and len(drawn[0]) == 4 and all(drawn[0])
        assert listed[1] == drawn[1] - FOR_EYES

        person.window.activateWindow()  # after the menus
        await until(person.window.isActiveWindow)
        pane.take_focus()
        view.choose("parts")
        person.press(Key.Key_B)
        await until(lambda: ("parts", "before") in record(view).run.breakpoints, "a breakpoint")
        person.press(Key.Key_H)
        await until(lambda: "parts" in record(view).run.held, "the step is paused")
        person.press(Key.Key_H)
        await until(lambda: not record(view).run.held, "it may go on")
        person.press(Key.Key_Period)
        await asked(view)
        person.click(view.inspector.run.card.buttons[0])
        await until(lambda: record(view).run.stopped, "the next one stops the run")
        pane.take_focus()
        view.choose("parts")
        person.press(Key.Key_B)
        await until(lambda: ("parts", "before") not in record(view).run.breakpoints, "no more")
        person.press(Key.Key_C)
        await over(view)

        # R is for the step that is chosen, whichever was shown before.
        view.choose("tell")
        view.show_tab(STEP)
        view.show_tab(RUN)
        view.choose("parts")
        pane.take_focus()
        person.press(Key.Key_R)
        words = view.inspector.step.fork_words
        await until(words.isVisible, "what would run")
        assert words.text().startswith("These run again: parts, kept.")


@on_window_loop
async def test_w30_a_run_is_repeated_from_a_step_with_another_prompt(tmp_path: Path) -> None:
    """W-65: first it says what would run; a second R begins it, and the old run stays."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        view = await start(person, page)
        await asked(view)
        person.click(view.inspector.run.card.buttons[2])
        await over(view)
        before = record(view).run.id
        view.choose("tell")
        view.show_tab(STEP)
        step = view.inspector.step
        person.click(step.change)
        step.prompt.edit.setPlainText("Tell of ${{ inputs.hero }}, shortly")
        view.pane.view.setFocus()
        person.press(Key.Key_R)
        await until(step.fork_words.isVisible, "what would run")
        run = record(view).run
        tries = [one.last for one in run.steps.values() if one.last is not None]
        cost = dollars(sum(one.dollars or 0.0 for one in tries))
        assert step.fork_words.text().startswith(
            f"These run again: tell, ok, parts, kept. Last time they cost {cost}."
        )
        assert run.id == before
        person.press(Key.Key_R)
        await until(lambda: record(view).run.id != before, "the fork")
        await asked(view)
        assert "Tell of a fox, shortly" in person.asked[-1]
        assert view.head.title.text() == "Story, run 2"
        facts = view.inspector.run.state.facts
        assert facts[2].right.endswith("by you, from a step of another run")
        person.click(view.inspector.run.card.buttons[2])
        await over(view)


@on_window_loop
async def test_w19_a_run_that_another_program_left_goes_on_here(tmp_path: Path) -> None:
    """Paused and let go of, it is opened from the history."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        view = await start(person, page)
        await asked(view)
        view.pane.view.setFocus()
        person.press(Key.Key_P)
        await until(lambda: record(view).run.paused is not None)
        run_id = record(view).run.id
        await page.live.close()
        other = WorkflowRuns(person.engine)
        runner = await other.open(run_id)
        await runner._of.record(StepFinished("nowhere", text="said elsewhere"))
        await other.close(runner)
        await until(
            lambda: ("nowhere", "") in record(view).run.steps,
            "what another program did is read",
        )
        view.pane.view.setFocus()
        person.press(Key.Key_P)
        await until(lambda: record(view).run.paused is None)
        view.show_tab(RUN)
        person.click(view.inspector.run.card.buttons[0])
        await over(view)
        assert states(view) == ["done"] * 4


@asynccontextmanager
async def other_program(person: Person) -> AsyncIterator[WorkflowRuns]:
    """The runs of a second program with the same data."""
    paths = person.engine.paths
    engine = await ready_engine(paths, SettingsFile(paths.settings))
    try:
        yield WorkflowRuns(engine)
    finally:
        await engine.close()


@on_window_loop
async def test_w19_a_paused_run_is_stopped_from_another_program(tmp_path: Path) -> None:
    """W-65: what its next step will be told is shown all the same, and a change is kept."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person, other_program(person) as other:
        page = await page_of(person, tmp_path)
        page.pane.choose("tell")
        page.toggle_breakpoint()
        view = await start(person, page)
        await until(lambda: record(view).run.stopped, "it stops")
        run_id = record(view).run.id
        await until(lambda: page.live.runner(run_id) is None, "it is let go of")
        step = view.inspector.step
        assert step.prompt.edit.toPlainText() == "Tell of a fox"
        view.toggle_breakpoint()
        await until(lambda: ("tell", "before") not in record(view).run.breakpoints)
        await until(lambda: view.head.pause.isEnabled() and view.head.pause.text() == "Go on")
        async with page.live._claims:
            pass  # it is let go of once more
        run = await other.stop(run_id)
        assert run.state == "stopped" and not person.asked
        await over(view)


@on_window_loop
async def test_w19_a_run_of_another_program_is_stopped_here(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", ANSWERS) as person, other_program(person) as other:
        page = await page_of(person, tmp_path)
        assert page.document is not None
        text = STORY.replace("  - {id: tell, agent: Writer, prompt: ", "  - {id: tell, approve: ")
        path = page.document.path
        path.write_text(text)
        runner = await other.start(path, person.folder, RunOptions({}))
        work = asyncio.ensure_future(runner.carry_out())
        await page.show_run(runner.run.id)
        view = page.run_view
        await until(lambda: states(view)[:1] == ["needs_you"], "the question")
        assert view.head.stop.isEnabled() and not view.head.pause.isEnabled()
        person.click(view.head.stop)
        await over(view)
        assert (await work).state == "stopped"
        await other.close(runner)


@on_window_loop
async def test_w62_the_run_of_a_step_is_opened_and_left_again(tmp_path: Path) -> None:
    """W-22: its question is answered there too; it is paused and changed at the run above."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        write(person.folder, "inner", workflow("  - {id: i, approve: Go on?}\n"))
        text = workflow("  - {id: w, workflow: inner}\n")
        page.editor.replace_text(text)
        page.save()
        path = tmp_path / "studio" / "workflows" / "story.md"
        await until(lambda: path.read_text() == text and page.file.is_checked)
        view = await start(person, page)  # by Enter, though there is no input
        run_id = record(view).run.id
        await until(lambda: states(view) == ["needs_you"], "the question")
        view.pane.view.setFocus(Qt.FocusReason.TabFocusReason)
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        below = view.inspector.step.below
        assert person.focused() is below
        person.press(Key.Key_Space)
        await until(lambda: record(view).run.id != run_id, "the run of the step")
        assert [node.id for node in view.pane.graph.nodes] == ["i"]
        assert not view.head.pause.isVisible() and not view.head.stop.isVisible()
        view.pane.view.setFocus()
        person.press(Key.Key_P)
        await until(lambda: "step of another" in view.notice.text)
        await asked(view)
        person.click(view.inspector.run.card.buttons[0])
        await over(view)
        assert states(view) == ["done"]
        person.press(Key.Key_Escape)
        await until(lambda: record(view).run.id == run_id, "the run above")
        await until(lambda: view.key == ("w", ""), "its step is chosen")
        assert not view.notice.text
        await over(view)


def lane_names(view: RunView) -> list[str]:
    lanes = view.lower_panes.timeline.lanes
    return [lane.name for lane in lanes.lanes] if lanes is not None else []


INNER = """\
  - {id: say, agent: Writer, prompt: Part one}
  - {id: i, needs: say, approve: Go on?}
"""


@on_window_loop
async def test_w62_the_run_of_a_step_unfolds_in_place(tmp_path: Path) -> None:
    """W-64, W-67: live inside, and chosen in graph, list, timeline, log and inspector at once."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        write(person.folder, "inner", workflow(INNER))
        text = workflow("  - {id: w, workflow: inner}\n  - {id: e, needs: w, set: {a: b}}\n")
        page.editor.replace_text(text)
        page.save()
        path = tmp_path / "studio" / "workflows" / "story.md"
        await until(lambda: path.read_text() == text and page.file.is_checked)
        view = await start(person, page)
        await until(lambda: states(view) == ["needs_you", "waiting"], "the question")
        graph, lower = view.pane.view, view.lower_panes
        await until(lambda: (node := graph.node("w")) and node.fold == "folded", "what is inside")
        node = graph.node("w")
        assert node is not None and node.aside == "2 steps"
        assert lane_names(view) == ["inner"]

        graph.setFocus(Qt.FocusReason.TabFocusReason)
        view.choose("w")
        person.press(Key.Key_F)
        await until(lambda: states(view) == ["needs_you", "done", "needs_you", "waiting"])
        assert [one.id for one in view.pane.graph.nodes] == ["w", "w/say", "w/i", "e"]
        assert lane_names(view) == ["inner", "Writer", "You"]
        person.press(Key.Key_Down)
        assert view.key == ("w/say", "") == lower.timeline.key
        assert view.pane.list.current == "w/say"
        assert lower.log.list.currentIndex().data(Qt.ItemDataRole.UserRole).step == "w/say"
        view.show_tab(STEP)
        tab = view.inspector.step
        assert (tab.shown.title, tab.shown.text) == ("say", "First.")
        assert tab.chat.isVisible() and not tab.hold.isVisible()
        person.press(Key.Key_B)
        assert "inside of another one" in view.notice.text

        rows = [row.step for row in view.below.log]
        assert rows.index("w") < rows.index("w/say") < rows.index("w/i")
        lower.log.list.setCurrentIndex(lower.log.list.model().index(rows.index("w/i"), 0))
        assert view.pane.current == "w/i", "chosen in the log"
        await asked(view)
        person.click(view.inspector.run.card.buttons[0])
        await until(lambda: states(view) == ["done"] * 4, "its end, inside too")

        graph.setFocus()
        person.press(Key.Key_F)
        await until(lambda: view.key == ("w", ""), "folded from inside")
        assert len(view.pane.graph.nodes) == 2
        assert lane_names(view) == ["inner"]
        assert not any("/" in row.step for row in view.below.log)

        mark = graph.fold_mark_of("w").center()
        QTest.mouseClick(graph, Qt.MouseButton.LeftButton, pos=mark)
        await until(lambda: len(view.pane.graph.nodes) == 4, "unfolded by the mouse")
        person.press(Key.Key_Escape)
        await until(page.run_button.isVisible)
        view = await start(person, page)
        await until(lambda: len(view.pane.graph.nodes) == 4, "still unfolded in the next run")
        await until(lambda: states(view)[2] == "needs_you", "which is live")


@on_window_loop
async def test_w62_of_a_step_for_several_items_one_run_unfolds(tmp_path: Path) -> None:
    """That of an item that moves, or the one that the person chose."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        text = workflow("  - {id: i, approve: Go on?}\n  - {id: e, needs: i, set: {a: b}}\n")
        write(person.folder, "inner", text)
        text = workflow("  - {id: w, for_each: [one, two], workflow: inner}\n")
        page.editor.replace_text(text)
        page.save()
        path = tmp_path / "studio" / "workflows" / "story.md"
        await until(lambda: path.read_text() == text and page.file.is_checked)
        await until(lambda: page.pane.graph.nodes[0].fold == "folded", "in the file, too")
        view = await start(person, page)
        await until(lambda: len(list(record(view).run.questions)) == 2, "both items ask")
        await until(lambda: (node := view.pane.view.node("w")) and node.fold == "folded")
        view.choose("w")
        view.pane.view.setFocus()
        person.press(Key.Key_F)
        await until(lambda: states(view)[1:] == ["needs_you", "waiting"], "the first item")
        assert view.pane.graph.nodes[0].aside == "Item one"
        first, second = record(view).run.items["w"]
        below = view.below.of("w/i")
        assert below is not None and below[0].run.id == record(view).run.step("w", first).run_id
        await asked(view)
        person.click(view.inspector.run.card.buttons[0])
        await until(lambda: view.pane.graph.nodes[0].aside == "Item two", "the one that moves")
        view.choose("w", first)
        await until(lambda: states(view)[1:] == ["done", "done"], "the one that is chosen")
        assert view.pane.graph.nodes[0].aside == "Item one"
        assert "w/i" in [row.step for row in view.below.log]
        person.click(view.inspector.run.card.buttons[0])
        await until(lambda: states(view) == ["done"] * 3, "its end")
        assert view.pane.graph.nodes[0].aside != "Item two" and second


@on_window_loop
async def test_w68_the_palette_runs_shows_and_goes_on(tmp_path: Path) -> None:
    """And who looks elsewhere is told that a run needs them, and of its end. PRE-39."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        told = list[tuple[str, str]]()
        page.notified.connect(lambda key, text: told.append((key, text)))
        person.press(Key.Key_1, CTRL)
        person.window.show_palette()
        entries = person.window._entries

        def entry(name: str):
            found = entries.find_in("workflows", name, 50)
            return next((one.entry for one in found if one.entry.title == name), None)

        begin = await until(lambda: entry("Run Story…"), "the workflow in the palette")
        person.press(Key.Key_Escape)
        begin.run()
        await until(page.form.isVisible, "the form")
        person.press(Key.Key_Return)
        person.window.pages.show_chat()
        view = page.run_view
        await until(lambda: told and told[-1][1], "a notification")
        run_id = record(view).run.id
        assert told[-1] == (f"run:{run_id}", "Story, run 1 needs your answer")
        person.program.show_chat(f"run:{run_id}")
        await until(view.isVisible, "the run is shown again")
        await asked(view)
        view.pane.view.setFocus()
        person.press(Key.Key_P)
        await until(lambda: record(view).run.paused is not None)
        await page.live.close()
        person.window.pages.show_chat()
        await entries.read_stored()
        resume = entry("Go on with Story, run 1")
        assert resume is not None and entry("Story, run 1") is not None
        resume.run()
        await until(lambda: view.isVisible() and record(view).run.paused is None, "it goes on")
        await asked(view)
        person.window.pages.show_chat()
        runner = page.live.runner(run_id)
        assert runner is not None
        await runner.answer(next(runner.run.questions)[1].id, True)
        await until(lambda: told[-1][1] == "Story, run 1 is done", "told of its end")


def test_w64_rows_of_bars_are_drawn_once_a_pixel() -> None:
    from studio.ui.pages.workflows.runs.lanes import FAILED, WORK, BarRow

    row = BarRow()
    for at in range(10_000):
        row.add(at, FAILED if at % 100 == 0 else WORK, at * 0.01, at * 0.01 + 0.008)
    seen = list(row.between(0.0, 100.0, 0.5))
    assert len(seen) <= 201 and seen[0][0] == 0
    assert [first for first, _, _ in seen[1:]] == [behind for _, behind, _ in seen[:-1]]
    near = list(row.between(50.0, 50.1, 0.0001))
    assert [at for at, _, _ in near] == list(range(5000, 5010))
    assert near[0][2] == pytest.approx(50.008)
    assert row.newest({17}) == 17 and row.newest({20_000}) == -1


@on_window_loop
async def test_w31_two_runs_side_by_side(tmp_path: Path) -> None:
    """The first difference is chosen; what is equal stands back; a run is the same as itself."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        for hero in ("a fox", "a hare"):
            person.click(page.run_button)
            field = page.form.fields["hero"]
            field.selectAll()
            person.type(hero)
            before = page.run_view.record
            person.press(Key.Key_Return)
            view = page.run_view
            await until(lambda: view.record is not None and view.record is not before)  # noqa: B023
            await asked(view)
            person.click(view.inspector.run.card.buttons[0])
            await over(view)
            if hero == "a fox":
                view.leave()
                await until(page.run_button.isVisible)
        view.show_tab(HISTORY)
        await until(lambda: len(view.inspector.history.rows) == 2)
        person.click(view.inspector.history.compare)
        compare = view.compare
        await until(lambda: compare.rows, "the comparison")
        faces = [combo.text() for combo in (compare.first, compare.second)]
        assert compare.isVisible() and faces[0].startswith("A   Story, run 1")
        assert faces[1].startswith("B   Story, run 2")
        files = compare.strip.measures[-1]
        assert files.first == files.second and len(files.first) == 4 and files.about == "the same"
        assert [row.title for row in compare.rows][:3] == ["Inputs", "tell", "ok"]
        assert compare.row is compare.rows[0] and compare.rows[0].is_first
        assert "First difference" in compare.rows[0].spoken
        await until(lambda: [name for name, _ in compare.texts()] == ["hero"])
        ((_, diff),) = compare.texts()
        cells = diff.rows[0].cells  # type: ignore[attr-defined]
        assert [cell and cell.text for cell in cells] == ["a fox", "a hare"]
        assert [(m.name, m.about) for m in compare.strip.measures if m.changed] == [
            ("Inputs", "changed")
        ]
        person.press(Key.Key_J)
        assert compare.row is not None and compare.row.title == "tell"
        assert compare.found is not None and compare.chats.isVisible()
        told = next(one for one in compare.found.steps if one.step == "tell")
        wanted = list[str]()
        view.chat_wanted.disconnect()  # or the chat would be shown
        view.chat_wanted.connect(wanted.append)
        await person.choose(compare.chats, "run 1")
        assert told.first is not None and wanted == [told.first.session_id]
        assert compare.chats.text() == "Open chats", "it stays a button"
        person.window.activateWindow()  # after the menu
        await until(person.window.isActiveWindow)
        compare.list.setFocus()
        await until(lambda: not compare.texts(), "nothing differs in its texts")
        compare.which.segment(1).click()
        await until(lambda: "Answer" in [name for name, _ in compare.texts()])
        before_it = ("read a.py", "write b.py", "mine x")
        after_it = ("read a.py", "write b.py (failed)", "mine x", "run make")
        pairs = [*call_pairs(before_it, after_it, person.engine.tools())]
        assert [same for _, same in pairs] == [True, False, True, False]
        (one, two), (gone, new) = pairs[1][0], pairs[3][0]
        assert one is not None and two is not None and new is not None and gone is None
        assert (one.failed, two.failed) == (False, True) and one.icon == two.icon != "wrench"
        assert (new.words, new.target) == ("Ran", "make")
        timed = call_pairs(before_it, after_it, person.engine.tools(), ((1, 2, 3), (4, 5, 6, 7)))
        took = [tuple(call.seconds for call in pair if call) for pair, _ in timed]
        assert took == [(1, 4), (2, 5), (3, 6), (7,)]
        name = CallPairs(page._theme, [*call_pairs((), ["run make"], {}, ((), (7.0,)))])
        assert name.accessibleName().endswith("B: run, make, 7.0 s")
        for step in compare.found.steps:
            for side in filter(None, (step.first, step.second)):
                assert len(side.call_seconds) == len(side.tools)
        name = CallPairs(page._theme, pairs).accessibleName()
        assert name.endswith("B: Ran, make") and "a.py" not in name
        usual = compare.size()
        compare.resize(600, 500)
        assert compare._columns[0].isHidden(), "no room for cost and time"
        await until(lambda: compare.tile.mapTo(compare, QPoint()).x() > 300, "beside the steps")
        compare.resize(usual)
        assert not compare._columns[0].isHidden()
        compare.second.set_current(compare.first.current)
        compare._compare()
        await until(lambda: compare.counts.text() == "Both runs are the same.")
        person.press(Key.Key_R)
        await until(lambda: not compare.isVisible() and view.inspector.page == STEP)
        await until(lambda: record(view).title == "Story, run 1" and view.key[0] == "tell")


@on_window_loop
async def test_w9_the_window_begins_what_is_due_and_asks(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        engine = person.engine
        own = tmp_path / "studio" / "workflows"
        own.mkdir(parents=True, exist_ok=True)
        path = own / "story.md"
        path.write_text(STORY.replace("steps:", "triggers: [{schedule: 0 9 * * *}]\nsteps:"))
        now = 1_900_000_000.0
        await Triggers(engine, lambda: now).switch_on(path, person.folder)
        clock = TriggerClock(engine, person.window.pages.begin_run, lambda: now)
        now = next_time(WorkflowTrigger("0 9 * * *"), now)
        await clock.look()
        (info,) = await WorkflowRuns(engine).store.list()
        assert info.trigger == "schedule" and info.live
        assert person.window.pages.shows_chat, "the person is not taken elsewhere"
        page = await page_of(person, tmp_path)
        await page.show_run(info.id)
        view = page.run_view
        await asked(view)
        person.click(view.inspector.run.card.buttons[0])
        await over(view)


@on_window_loop
async def test_w9_triggers_are_switched_in_the_window(tmp_path: Path) -> None:
    """Off until the person says so, off again after an edit, and what keeps them off is told."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        strip = page.triggers
        assert not strip.isVisible(), "it has no triggers"
        text = STORY.replace("steps:", "triggers: [{change: '*.txt'}]\nsteps:")
        page.editor.replace_text(text)
        await until(strip.isVisible, "the triggers")
        assert strip.lines.text() == "When *.txt change, off" and not strip.switch.isChecked()
        person.click(strip.switch)
        await until(lambda: strip.lines.text() == "When *.txt change, 0 of 24 runs today")
        assert strip.switch.isChecked()
        assert page.document is not None and page.document.path.read_text() == text
        (mark,) = await TriggerStore(person.engine.database).all()
        assert mark.folder == str(person.folder)

        # The window looks at the files itself, and begins the run.
        (person.folder / "x.txt").write_text("x")
        runs = WorkflowRuns(person.engine)
        (run_id,) = await until(lambda: list(page.live._runners), "a run")
        (found,) = await runs.store.list()
        assert found.trigger == "change" and person.window.pages.currentWidget() is page
        await page.live.stop(run_id)

        page.editor.replace_text(text.replace("a fox", "a hen"))
        await until(lambda: page.file.is_checked and strip.isVisible())
        assert strip.switch.isChecked(), "the stored file is the same"
        page.save()
        await until(lambda: not strip.switch.isChecked(), "an edit switches off")
        person.click(strip.switch)
        await until(lambda: "of 24" in strip.lines.text())
        person.click(strip.switch)
        await until(lambda: strip.lines.text() == "When *.txt change, off")
        assert await TriggerStore(person.engine.database).all() == []
        page.editor.replace_text(text.replace("default: a fox", "required: true"))
        await until(lambda: page.file.is_checked)
        person.click(strip.switch)
        await until(strip.wrong.isVisible, "why not")
        assert "needs the input hero" in strip.wrong.text()
        assert not strip.switch.isChecked()


@on_window_loop
async def test_w31_instructions_that_differ_tell_their_line_in_the_agents_file(
    tmp_path: Path,
) -> None:
    """Of the file as it is now; none where the agent is another one in both runs."""
    own = tmp_path / "studio" / "agents"
    own.mkdir(parents=True)
    file = own / "teller.md"
    head = "---\nname: Teller\n# Tell well.\ndescription: Tells\n---\n\nYou tell.\n\n"
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        runs = page.live.runs
        path = tmp_path / "studio" / "workflows" / "one.md"
        step = "{id: tell, agent: Teller, prompt: Tell of a hare}"
        text = f"---\nname: One\nbudget: {{dollars: 1}}\nsteps: [{step}]\n---\n"
        ids = list[str]()
        for words in ("Tell well.", "Tell well, and briefly."):
            file.write_text(f"{head}{words}\nStop then.\n")
            runner = await runs.start_text(text, path, tmp_path, RunOptions({}))
            await runner.carry_out()
            ids.append(runner.run.id)
        compare = page.run_view.compare
        infos = [(await runs.store.list(1, one))[0] for one in ids]
        compare.show_runs(infos, *ids)
        await until(lambda: "Instructions" in [name for name, _ in compare.texts()])

        def told() -> list[str]:
            found = [one.text() for one in compare.findChildren(ElidedLabel)]
            return [one for one in found if one.startswith("from ")]

        assert told() == ["from agents/teller.md, line 9"]
        # The first run alone has it as it is now: of what B had the file has nothing.
        file.write_text(f"{head}Tell.\nStop then.\n")
        compare.swap()
        await until(lambda: compare.counts.text() and not told(), "nothing is told")


@on_window_loop
async def test_w31_no_key_reaches_the_run_behind_a_comparison(tmp_path: Path) -> None:
    """Neither letters nor Tab; a run that is wanted from elsewhere comes in its place."""
    async with at_window(tmp_path, "anthropic", ANSWERS) as person:
        page = await page_of(person, tmp_path)
        view = await start(person, page)
        await asked(view)
        other = record(view).run.id
        view.leave()
        await until(page.run_button.isVisible)
        view = await start(person, page)
        await asked(view)
        view.show_tab(HISTORY)
        await until(lambda: len(view.inspector.history.rows) == 2)
        person.click(view.inspector.history.compare)
        compare = view.compare
        await until(lambda: compare.rows, "the comparison")
        assert person.focused() is compare.list
        before = view.lower_panes.pane
        for key in (Key.Key_P, Key.Key_T, Key.Key_B, Key.Key_Period):
            person.press(key)
        assert view.lower_panes.pane == before, "T changes what is below the graph"
        for _ in range(12):
            person.press(Key.Key_Tab)
            assert (focus := person.focused()) is not None
            assert not (view.column.isAncestorOf(focus) or view.inspector.isAncestorOf(focus))
        person.window.resize(person.window.width() - 40, person.window.height())
        assert view.inspector.isHidden() and compare.width() == view.width()
        compare.list.setFocus()
        person.press(Key.Key_Escape)
        assert compare.isHidden() and view.column.isVisible() and view.inspector.isVisible()
        assert person.focused() is view.inspector.history.list
        view.compare_runs()
        page.open("run", other)
        await until(lambda: record(view).run.id == other, "the other run")
        assert compare.isHidden() and view.column.isVisible()


def test_w62_the_merge_and_who_takes_turns_are_seen_in_graph_and_log() -> None:
    """W-26, W-24, W-6: also that a run waits for others of its group."""
    steps = (Step("a", "agent", "Coder"), Step("b", "agent", "Coder"))
    told = RunRecord(Workflow("Story", steps=steps), {})
    started = RunStarted("r", 1, "Story")  # type: ignore[arg-type]
    events: list[RunEvent] = [
        *(started, RunQueued("It waits for Story, run 7."), StepStarted("a"), StepStarted("b")),
        StepInTurns("b", "", "No sandbox here can show a copy of the folder to commands."),
    ]
    told.apply((float(at), event) for at, event in enumerate(events, 1))
    graph = graph_of_run(told.workflow, told.run, {})
    assert [(node.id, node.about) for node in graph.nodes][1] == ("b", "takes turns")
    assert len(graph.nodes) == 2
    told.apply([(9.0, StepFinished("a")), (9.0, StepFinished("b")), (10.0, StepStarted(MERGE))])
    graph = graph_of_run(told.workflow, told.run, {})
    merge = graph.nodes[-1]
    assert (merge.title, merge.state) == ("Merge", "running")
    assert graph.needs(merge.id) == ["a", "b"]
    said = [row.text for row in told.log]
    assert "The run is queued: It waits for Story, run 7" in said
    assert "Merge started" in said
    assert any(
        one.startswith("b takes turns with others in the folder: No sandbox") for one in said
    )


@on_window_loop
async def test_w59_the_workers_of_another_programs_run_are_seen(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra “cluster” is not installed")
    async with at_window(tmp_path, "anthropic", ANSWERS) as person, other_program(person) as other:
        page = await page_of(person, tmp_path)
        assert page.document is not None
        path = page.document.path
        path.write_text(
            STORY.replace('- {id: tell, agent: Writer, prompt: "', '- {id: tell, approve: "')
        )
        runner = await other.start(path, person.folder, RunOptions({}))
        work = asyncio.ensure_future(runner.carry_out())
        folder = person.engine.paths.data / "cluster"
        coordinator = Coordinator(lambda words: None)
        await coordinator.start("127.0.0.1:0", coordinator_identity(folder))
        coordinator.run_id = runner.run.id
        invite(folder, "anna", coordinator.address, tmp_path / "anna")
        anna = await connect(coordinator.address, read_invitation(tmp_path / "anna").identity)
        await anna.write(encode({"do": "join", "messages": VERSION}))
        assert (await anna.read())["do"] == "welcome"
        await anna.write(encode({"do": "beat", "load": 1.5, "cores": 4}))
        control.write_address(folder, coordinator.address)

        await page.show_run(runner.run.id)
        view = page.run_view
        view.show_tab(RUN)
        shown = view.inspector.run.workers
        await until(lambda: [one.left for one in shown.facts][:2] == ["Workers", "anna"])
        assert shown.facts[2].right == "load 1.5 of 4" and shown.isVisible()
        anna.close()
        await until(lambda: [one.left for one in shown.facts][1:] == ["No worker has joined."])
        control.remove_address(folder)
        await coordinator.close()
        await until(lambda: not shown.facts, "there is no cluster any more")
        person.click(view.head.stop)
        assert (await work).state == "stopped"


def test_w31_outputs_are_compared_a_line_for_each() -> None:
    found = as_yaml({"passed": True, "patched": ["a.py", "ü.py"]})
    assert found == 'passed: true\npatched: ["a.py", "ü.py"]'
    assert as_yaml(["a"]) == '[\n "a"\n]'


def test_w62_how_long_a_step_waits_for_the_person_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (Step("a", "agent", "Coder"), Step("ok", "approve", "Write?"))
    told = RunRecord(Workflow("Story", steps=steps), {})
    started = RunStarted("r", 1, "Story")  # type: ignore[arg-type]
    question = RunQuestion("q", "permission", "Coder wants to run a command")
    told.apply([(60.0, started), (60.0, StepStarted("a")), (100.0, StepAsked("a", "", question))])
    monkeypatch.setattr(run_graph.time, "time", lambda: 272.0)
    node = graph_of_run(told.workflow, told.run, {}).nodes[0]
    assert (node.state, node.aside, node.since) == ("needs_you", "2:52", 0.0)


def test_w64_of_a_step_only_the_newest_bar_is_ringed(qtbot: QtBot) -> None:
    """Of one with items the bars of all of them: these are side by side."""
    steps = (Step("a", "agent", "Coder"), Step("each", "agent", "Writer", for_each=("x", "y")))
    told = RunRecord(Workflow("Story", steps=steps), {})
    started = RunStarted("r", 1, "Story")  # type: ignore[arg-type]
    first, second = item_keys(("x", "y"))
    events: list[RunEvent] = [
        *(started, StepStarted("a"), StepFinished("a"), StepStarted("a", round=2)),
        *(ItemsFound("each", ("x", "y")), StepStarted("each", first), StepStarted("each", second)),
    ]
    told.apply((float(at), event) for at, event in enumerate(events, 1))
    theme = Theme("light")
    line = Timeline(theme)
    qtbot.addWidget(line)
    line.show_lanes(told.lanes)

    def ringed() -> list[tuple[str, int]]:
        return [
            (lane.name, at)
            for lane in told.lanes.lanes
            for row in lane.rows
            for at in range(len(row))
            if line._chosen(row, at)
        ]

    line.choose(("a", ""))
    assert ringed() == [("Coder", 1)]
    line.choose(("each", ""))
    assert ringed() == [("Writer", 0), ("Writer", 0)]
    line.choose(("each", first))
    assert len(ringed()) == 1
    assert told.lanes.agents == 2
    theme.deleteLater()
