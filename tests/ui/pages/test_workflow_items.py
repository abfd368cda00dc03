"""Many items in the window: the sample's question, the table, a second try, a file (W-54, W-55)."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.domain.boards import BoardAuthor, BoardMessage
from studio.domain.items import ItemTally
from studio.domain.run_events import ItemsCounted, RunStarted
from studio.domain.sessions import Caller
from studio.domain.workflows import Step, Workflow
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.ui.pages.needs.page import NeedsPage
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.runs.items_table import Columns
from studio.ui.pages.workflows.runs.lower_panes import TIMELINE
from studio.ui.pages.workflows.runs.pace_chart import PaceChart
from studio.ui.pages.workflows.runs.run_inspector import RUN
from studio.ui.pages.workflows.runs.run_record import RunRecord
from studio.ui.pages.workflows.runs.sample_words import SampleWords
from studio.ui.theme import Theme
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop
from support.workflow_home import asked_in, workflow

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

NUMBERS = ", ".join(map(str, range(60)))
STORY = workflow(
    f"""\
  - id: read
    agent: Reader
    for_each: [{NUMBERS}]
    outputs: {{type: object, required: [total], properties: {{total: {{type: number}}}}}}
    prompt: "Invoice ${{{{ item }}}}"
"""
)


def picture(person: Person, name: str) -> None:
    """For a look at it, where somebody wants one."""
    if folder := os.environ.get("AGENT_STUDIO_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for theme, scale in (("dark", 1.0), ("light", 1.0), ("dark", 1.6)):
            person.window.theme.set(theme, scale=scale)  # type: ignore[arg-type]
            QApplication.processEvents()
            person.window.grab().save(f"{folder}/{name}-{theme}-{scale}.png")
        person.window.theme.set(scale=1.0)


@on_window_loop
async def test_w54_w55_items_in_the_window(tmp_path: Path) -> None:
    mended = False

    def script(view: RequestView) -> Turn:
        number = int(asked_in(view).partition("Invoice ")[2].split()[0])
        broken = number == 6 and not mended
        return Turn(Text("Broken." if broken else json.dumps({"total": number})))

    own = tmp_path / "studio" / "workflows"
    own.mkdir(parents=True, exist_ok=True)
    (own / "story.md").write_text(STORY)
    agents = tmp_path / "studio" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "reader.md").write_text(
        "---\nname: Reader\ntools: []\nmodel: anthropic/claude-haiku-4-5\n---\nRead it.\n"
    )
    async with at_window(tmp_path, "anthropic", script) as person:
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(one := person.window.pages.currentWidget(), WorkflowsPage) and one
        )
        await until(lambda: page.document is not None, what="a workflow is shown")
        page.gallery.choose(own / "story.md")
        await until(
            lambda: (
                page.document and page.document.path == own / "story.md" and page.file.is_checked
            )
        )
        view = page.run_view
        person.click(page.run_button)
        person.press(Key.Key_Return)
        await until(
            lambda: view.record is not None and next(view.record.run.questions, None), "the sample"
        )
        view.show_tab(0)
        table = view.lower_panes.items
        await until(lambda: table.sample.isVisible(), "the question stands above the items")
        await until(lambda: table.list.model().rowCount() == 20, "the sample's rows")
        card, sample = view.inspector.run.card, table.sample
        picture(person, "sample")
        assert sample.title.text() == "20 of 60 items tried. Run the rest?"
        assert person.focused() is sample.rows[0], "Enter goes on"
        assert card.isHidden() and not table.figures.isVisible(), "it is asked once"
        assert view.record is not None
        words = SampleWords(next(view.record.run.questions)[1])
        assert [one.answer for one in words.ways] == ["all", "batch"]
        assert all(one.amount and one.span for one in words.ways)
        assert words.ways[1].about == "Anthropic answers within a day"
        assert words.summary.startswith("19 passed, 1 failed. The sample cost $")
        assert "The estimate is from 19 items that passed" in words.notes
        shown = [row.accessibleName() for row in sample.rows if row.isVisible()]
        assert shown == [", ".join(one[1:]) for one in words.ways]
        tab, head = view.inspector.run, view.head
        assert "Expected" in [one.left for one in tab.budget.facts]
        facts = {one.left: one.right for one in tab.state.facts}
        assert tab.state.facts[0].left == "Waits for your yes"
        assert facts["Sample"] == "19 of 20 passed" and facts["Model"] == "claude-haiku-4-5"
        rows = table.list.model()
        places = [rows.index(at, 0).data(Qt.ItemDataRole.UserRole).place for at in range(20)]
        assert places == sorted(places), "all of a sample came at once"
        assert tab.agents.facts[1].left == "Reader" and tab.agents.facts[1].middle != "0"
        assert tab.how.isVisible() and "what 20 items cost on average, times the 40" in words.how
        assert head.cancel.isVisible() and head.pause.isHidden() and head.stop.isHidden()
        view.lower_panes.show_pane(TIMELINE)
        assert card.isVisible() and not sample.isVisible(), "elsewhere it stands in the inspector"
        assert [one.text() for one in card.buttons if not one.isHidden()] == [
            "Run the rest",
            "As a batch, half price",
            "Keep only the sample",
        ]
        person.press(Key.Key_J, CTRL)
        needs = await until(
            lambda: isinstance(one := person.window.pages.currentWidget(), NeedsPage) and one
        )
        await until(lambda: needs.card.isVisible(), "it waits among all that waits")
        picture(person, "sample-needs")
        shown = [row.accessibleName() for row in needs.card.rows if row.isVisible()]
        assert shown == [*(", ".join(one[1:]) for one in words.ways), "Keep only the sample"]
        person.press(Key.Key_2)
        assert needs.card.value == "batch"
        needs.open_asker()
        await until(lambda: view.isVisible() and view.record is not None, "the run")
        view.pane.opened.emit("read")  # as Enter on its node
        await until(lambda: sample.isVisible(), "the node opens the table")
        sample.focus()
        person.press(Key.Key_Return)
        await until(lambda: view.record and view.record.run.end is not None, "the end")
        said = table.figures.accessibleName
        await until(lambda: said().startswith("Done 60 of 60 items"), "all of them")
        assert "59 passed, 1 failed" in said() and not view.pane.isVisible()
        assert table.columns == Columns(("total",), frozenset({"total"}))
        assert table.unkept.isVisible(), "nobody looks in vain for what was sent (W-53)"
        assert [
            (one.left, one.right) for one in view.inspector.run.state.facts if one.left == "Items"
        ] == [("Items", "60 of 60")]
        (kind,) = (one for one in table.kinds if one.isVisible())
        assert (kind.title.text(), kind.count.text()) == ("Answer not valid", "1")
        assert [node.items for node in view.pane.graph.nodes] == [(60, 60)]
        person.click(kind.show_them)
        await until(lambda: table.list.model().rowCount() == 1, "the failed one")
        assert (table.shown, table.fault) == ("failed", "invalid")
        picture(person, "items")
        place = tmp_path / "out.csv"
        assert view.record is not None
        await view.lower_panes.export_items(view.record.run.id, "read", place)
        assert len(place.read_text().splitlines()) == 61
        mended, before = True, view.record
        person.click(table.retry)
        await until(lambda: view.record is not before, "a new run")
        await until(lambda: view.record and view.record.run.end is not None, "its end")
        assert table.isVisible(), "a retry does not jump back to the timeline"
        assert view.record is not None and view.record.run.tallies["read"].linked == 59
        assert view.record.run.end is not None and view.record.run.end.state == "done"


def test_w56_how_many_are_worked_on_at_a_time_is_a_curve() -> None:
    record = RunRecord(Workflow("Story", (Step("read", "agent"),)), {})
    started = RunStarted("r", "Story", "")
    record.apply([(1.0, started)])
    theme = Theme("light")
    chart = PaceChart(theme)
    for at, (value, found) in enumerate([(4, 0), (8, 0), (0, 0), (3, 6)]):
        tally = ItemTally(count=60, at_a_time=value, found=found)
        record.apply([(2.0 + at, ItemsCounted("read", tally))])
        chart.show_points(record.paces.get("read", []), found)
        assert chart.isHidden() == (at < 3), "two points are no curve"
    assert [value for _, value in record.paces["read"]] == [4, 8, 3]
    assert chart.accessibleName() == "At a time, 3, limit found at 6"
    chart.resize(chart.sizeHint())
    ink, image = theme.color("accent_text").rgb(), chart.grab().toImage()
    seen = {image.pixelColor(x, y).rgb() for x in range(image.width()) for y in range(20, 60)}
    assert ink in seen
    chart.deleteLater()
    theme.deleteLater()


LONG = "\n".join(f"Line {number} about zero, which is even." for number in range(30))
ACTS = workflow(
    f"""\
  - id: act
    agent: Worker
    for_each: [{NUMBERS}]
    prompt: "Item ${{{{ item }}}}."
"""
)


def acts(view: RequestView) -> Turn:
    """Tells the others about an item on the board, and runs a command of its own."""
    number = asked_in(view).partition("Item ")[2].split(".")[0]
    made = [one for one in view.items if isinstance(one, Returned)]
    if any(one.text.strip() == number for one in made):
        return Turn(Text(number))
    if not made and number == "0":
        return Turn(
            Call("task_add", {"text": "Look at number 7"}),
            Call("board_write", {"key": "found", "text": LONG, "version": 0}),
            Call("post", {"channel": "news", "text": "I began with zero."}),
        )
    return Turn(Call("run", {"command": f"echo {number}"}))


async def begun(person: Person, file: Path) -> WorkflowsPage:
    """Begin a run of a workflow on its page."""
    person.press(Key.Key_3, CTRL)
    page = await until(
        lambda: isinstance(one := person.window.pages.currentWidget(), WorkflowsPage) and one
    )
    await until(lambda: page.document is not None, what="a workflow is shown")
    page.gallery.choose(file)
    await until(
        lambda: page.document and page.document.path == file and page.file.is_checked, "its text"
    )
    person.click(page.run_button)
    person.press(Key.Key_Return)
    return page


@on_window_loop
async def test_w22_w40_what_an_item_asks_and_the_board_of_its_run_in_the_window(
    tmp_path: Path,
) -> None:
    """W-53: one question at a time, with its item; “for this run” is the answer for all."""
    own, agents = tmp_path / "studio" / "workflows", tmp_path / "studio" / "agents"
    for folder in (own, agents):
        folder.mkdir(parents=True, exist_ok=True)
    (own / "story.md").write_text(ACTS)
    tools = "run, task_add, board_write, post"
    (agents / "worker.md").write_text(f"---\nname: Worker\ntools: [{tools}]\n---\nWork.\n")
    async with at_window(tmp_path, "anthropic", acts) as person:
        view = (await begun(person, own / "story.md")).run_view
        tab = view.inspector.run
        await until(
            lambda: tab.card.question is not None and tab.card.question.kind == "permission",
            "an item asks",
        )
        name, step, item, who = tab.card.path.text().split(", ")
        assert (name, step, who) == ("Story", "act", "Worker") and item.isdecimal()
        shown = [one.text() for one in tab.card.buttons if one.isVisible()]
        assert shown == ["Allow once", "For this run", "Deny"]
        await until(lambda: len(tab.board.facts.rows) >= 3, "what is on the board")
        assert (tab.board.facts.done, tab.board.facts.tasks) == (0, 1)
        assert [(one.fact.left, one.fact.right, one.text) for one in tab.board.facts.rows] == [
            ("Look at number 7", "", ""),
            ("found", "Worker", LONG),
            ("news", "Worker", "I began with zero."),
        ]
        shown = [box.edit.toPlainText() for box in tab.board.boxes if box.isVisible()]
        assert shown == [LONG, "I began with zero."], "whole, with its lines"
        picture(person, "board")
        first = tab.card.question
        person.click(tab.card.skip)
        await until(
            lambda: tab.card.question and first and tab.card.question.id != first.id, "another"
        )
        person.click(tab.card.buttons[1])
        sample = view.lower_panes.items.sample
        await until(lambda: sample.isVisible(), "no other item asks")
        assert view.record is not None
        assert [one.kind for _, one in view.record.run.questions] == ["sample"]
        assert not view.lower_panes.items.unkept.isVisible(), "its sessions keep what was sent"
        assert "19 of 60 items tried" in sample.title.text()
        figures = view.lower_panes.items.figures
        picture(person, "skipped")
        person.click(view.head.cancel)
        await until(lambda: view.record and view.record.run.end is not None, "its end")
        end, tally = view.record.run.end, view.record.run.tallies["act"]
        assert end is not None and (end.state, end.reason) == ("stopped", "You stopped it.")
        assert (tally.done, tally.skipped, tally.left) == (19, 1, 40)
        await until(lambda: "1 left out" in figures.accessibleName(), "the figures")
        assert view.head.cancel.isHidden()
        boards = person.engine.services.boards
        goes_on, read = asyncio.Event(), boards.last_messages
        taken: list[bool] = []

        async def late(root: Caller, most: int) -> list[BoardMessage]:
            boards.last_messages = read  # type: ignore[method-assign]
            found = await read(root, most)
            taken.append(True)
            await goes_on.wait()
            return found

        boards.last_messages = late  # type: ignore[method-assign]
        view.show_tab(RUN)
        await until(lambda: taken)
        root = await boards.root_of(Caller("run", view.record.run.id))
        await boards.write(root, "last", "It is done.", 0, BoardAuthor("other", "Worker"))
        view.show_tab(RUN)  # nothing looks at it again once a run has ended
        goes_on.set()
        await until(
            lambda: any(one.fact.left == "last" for one in tab.board.facts.rows), "the last word"
        )
