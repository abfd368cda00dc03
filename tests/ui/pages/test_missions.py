"""Missions in the window: the tag, the ledger, what is said to one, and its limits (W-51)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from studio.agent.engine import Engine
from studio.domain.permissions import Rule
from studio.simulator import RequestView, Text, Turn
from studio.ui.pages.agents.page import AgentsPage
from studio.ui.pages.needs.page import NeedsPage
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.runs.lower_panes import LEDGER
from studio.ui.pages.workflows.runs.run_inspector import RUN
from support.delegation_home import agent, save
from support.waiting import until
from support.window import CTRL, Key, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

NIGHT = """\
---
name: Night shift
description: Make the check pass.
done_when: [{title: It is there, run: test -f made.txt}, {file: made.txt}]
budget: {cycles: 2, dollars: 1.00, until: "NOON"}
steps:
  - {id: try_it, agent: Writer, prompt: Try it.}
---
"""


@on_window_loop
async def test_w50_w51_a_mission_in_the_window(tmp_path: Path) -> None:
    own = tmp_path / "studio" / "workflows"
    own.mkdir(parents=True)
    now = datetime.now()  # both times are hours away, whenever this runs
    later, latest = (f"{now + timedelta(hours=more):%H:%M}" for more in (6, 12))
    (own / "night.md").write_text(NIGHT.replace("NOON", later))

    async def prepare(engine: Engine) -> None:
        await engine.services.rules.add(Rule.parse("run(*)"), None)

    def liar(view: RequestView) -> Turn:
        return Turn(Text("All done!"))

    async with at_window(tmp_path, "anthropic", liar, prepare=prepare) as person:
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), WorkflowsPage) and now
        )
        await until(lambda: page.document is not None, what="a workflow is shown")
        page.gallery.choose(own / "night.md")
        await until(lambda: page.document and page.document.path.stem == "night")
        await until(lambda: page.file.is_checked, what="it is checked")
        row = page.gallery.row
        assert row is not None and row.tag == "Mission" and "Mission" in row.spoken

        view = page.run_view
        person.click(page.run_button)
        person.press(Key.Key_Return)
        await until(lambda: view.record and view.record.run.paused, "the limit of cycles")
        record = view.record
        assert record is not None and record.run.end is None
        view.show_tab(RUN)
        tab = view.inspector.run
        await until(lambda: tab.reason.text() == "Your limit of 2 cycles is reached.")
        assert [fact.right for fact in tab.mission.facts.facts] == [
            *("2 of 2", "", "does not pass", "does not pass")
        ]
        for _ in range(LEDGER):
            person.press(Key.Key_T)
        lower = view.lower_panes
        await until(lambda: lower.ledger.isVisible() and lower.counts.text() == "2 cycles ended")
        shown = [row.text for row in record.ledger.rows]
        assert "Writer: All done!" not in shown and "try_it: All done!" in shown
        assert shown[-1] == "The run is paused: Your limit of 2 cycles is reached"
        assert {row.step for row in record.ledger.rows} == {"Cycle 1", "Cycle 2"}

        person.click(tab.mission.field)
        person.type("Make the file first.")
        person.press(Key.Key_Return)
        await until(lambda: record.run.steered == [(2, "Make the file first.")], "it is told")
        person.click(tab.raise_button)
        assert tab.cycles.isVisible() and tab.cycles.value == 2
        tab.cycles.setFocus()
        tab.cycles.selectAll()
        person.type("6")
        tab.until.setFocus()
        assert tab.until.text() == later
        tab.until.setText("25:00")
        person.click(tab.raise_now)
        assert tab.until.error and tab.until.isVisible(), "it is no time of the day"
        tab.until.setText(latest)
        person.click(tab.raise_now)
        await until(lambda: record.run.until == latest, "it may work until then")
        await until(lambda: record.run.cycle > 2, "the third cycle")
        await until(lambda: record.run.paused, "three cycles without a change")
        assert "Make the file first." in person.asked[-1]
        stalled = "Three cycles changed no check, no task and no draft."
        await until(lambda: tab.reason.text() == stalled)
        needs = person.window.sidebar._rows["needs"]
        await until(lambda: "1 waiting" in needs.accessibleName(), "it waits for the person")
        person.click(needs)
        waits = person.window.pages.currentWidget()
        assert isinstance(waits, NeedsPage)
        await until(lambda: len(waits.rows) == 1)
        assert waits.card.title.text() == tab.reason.text()
        person.press(Key.Key_1)  # it goes on
        person.press(Key.Key_Return)
        await until(lambda: record.run.cycle == 6, "the next cycle")
        await until(lambda: record.run.paused, "the limit of cycles")
        await until(lambda: [row.question.text for row in waits.rows] == [record.run.paused])
        assert [one.text() for one in waits.card.rows if one.isVisible()] == ["Stop"]
        person.click(waits.to_asker)
        await until(lambda: page.isVisible() and view.isVisible())
        person.click(tab.mission.chat)
        await until(lambda: page.isHidden(), "the chat is shown in place of the page")
        chats = await person.engine.sessions.list()
        assert any(one.title == "Night shift, cycle 6" for one in chats), "it is a chat"


@on_window_loop
async def test_w47_a_mission_of_an_agent_is_begun_in_the_window(tmp_path: Path) -> None:
    """By key, from its page and from the palette; what is missing is said in the form."""
    own = tmp_path / "studio" / "agents"
    save(own, agent("Coder", tools="read"))

    async def prepare(engine: Engine) -> None:
        await engine.services.rules.add(Rule.parse("run(*)"), None)

    def liar(view: RequestView) -> Turn:
        return Turn(Text("All done!"))

    async with at_window(tmp_path, "anthropic", liar, prepare=prepare) as person:
        person.press(Key.Key_K, CTRL)
        palette = await until(lambda: person.window._palette, "the palette")
        await until(palette.isVisible)
        person.type("Mission of Coder")
        await until(
            lambda: (row := palette.list.current) and row.entry.title == "Mission of Coder…"
        )
        person.press(Key.Key_Return)
        page = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), AgentsPage) and now
        )
        form = page.mission_form
        await until(form.isVisible, "it is asked")
        await until(lambda: person.focused() is form.goal)
        person.press(Key.Key_Escape)
        await until(form.isHidden)
        person.click(page.mission_button)
        await until(form.isVisible)
        person.press(Key.Key_Return)
        assert form.wrong.text() == "Say what it has to reach."
        person.type("Make the file.")
        person.press(Key.Key_Return)
        assert "no model says that a mission is done" in form.wrong.text()
        person.press(Key.Key_Tab)
        person.type("test -f made.txt")
        person.press(Key.Key_Return)
        assert form.wrong.text() == "Give one limit at least, for example 20 cycles."
        form.cycles.setFocus()
        person.type("2")
        form.until.setFocus()
        person.type("25:00")
        person.press(Key.Key_Return)
        assert form.wrong.text() == "Type a time of the day, for example 06:00."
        form.until.clear()
        page.editor.setPlainText(page.editor.toPlainText().replace("name: Coder", "name: Other"))
        await until(lambda: page.agent_name == "Other", "it is read")
        form.goal.setFocus()
        person.press(Key.Key_Return)
        await until(lambda: "no agent Other" in form.wrong.text(), "the file has another name")
        page.editor.setPlainText(page.editor.toPlainText().replace("name: Other", "name: Coder"))
        await until(lambda: page.agent_name == "Coder", "it is read")
        form.goal.setFocus()
        person.press(Key.Key_Return)
        person.press(Key.Key_Return)  # once is enough
        workflows = await until(
            lambda: isinstance(now := person.window.pages.currentWidget(), WorkflowsPage) and now
        )
        view = workflows.run_view
        await until(lambda: view.record and view.record.run.paused, "the limit of cycles")
        assert view.record is not None and view.record.run.started is not None
        started = view.record.run.started
        assert (started.name, started.mission) == ("Coder", "Make the file.")
        assert view.inspector.run.reason.text() == "Your limit of 2 cycles is reached."
        (check,) = view.record.run.cycles[-1].checks
        assert (check.title, check.passed) == ("test -f made.txt", False)
        rows = await person.engine.services.database.rows("SELECT count(*) FROM runs")
        assert rows == [(1,)], "one mission"
        assert "done_when" not in next(own.glob("*.md")).read_text(), "the file is as it was"
