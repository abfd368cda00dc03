"""Everything that waits for the person stands at one place (W-22, W-38)."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.agent.session.session import Session
from studio.domain.agents import Caps
from studio.domain.blocks import NoticeBlock, TextBlock
from studio.domain.messages import Text as Said
from studio.domain.permissions import Rule
from studio.domain.run_events import ItemsFound, RunQuestion, RunStarted, StepAsked, StepStarted
from studio.domain.runs import Run, item_keys
from studio.domain.sessions import SessionInfo
from studio.domain.workflows import Step
from studio.simulator import Call, RequestView, Text, Turn, Usage
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.ui.pages.needs.asker import going_on, who_asks
from studio.ui.pages.needs.choice_card import ChoiceCard
from studio.ui.pages.needs.page import NeedsPage
from studio.ui.pages.needs.waiting import Known, Waiting, count_waiting, find_waiting
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.runs import question_card
from studio.ui.pages.workflows.runs.changes_list import ChangesList
from studio.ui.pages.workflows.runs.question_card import parted
from studio.ui.theme import Theme
from studio.ui.transcript.items.turn_items import EndItem
from studio.workflows.passed_drafts import PassedDrafts
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.delegation_home import agent, cast, delegate, results, save, says
from support.engine_home import engine_home
from support.waiting import until, within
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop
from support.workflow_home import asked_in, begin, carry_out, write

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

COMPATIBLE = "openai-compatible"
GATE = """\
---
name: Gate
steps:
  - {id: ok, approve: Write the drafts?}
---
"""


def helper(view: RequestView) -> Turn:
    if results(view):
        return says("So be it.")
    return Turn(Call("ask", {"question": "Which branch?", "choices": ["main", "release"]}))


def led(settings: SettingsFile) -> None:
    settings.values.default_agent = "Lead"


@on_window_loop
async def test_w22_what_waits_is_listed_with_its_path_and_answered(tmp_path: Path) -> None:
    """A run at a gate, and an agent in the background that asks when its chat is at rest."""
    script = cast(
        Lead=[Turn(delegate("Helper", "look", background=True)), says("Later.")], Helper=[helper]
    )
    lead = agent("Lead", "agents: [Helper]\npermissions: {allow: [delegate]}")
    save(Paths.below(tmp_path / "studio").agents, lead, agent("Helper"))
    (tmp_path / "gate.md").write_text(GATE)
    async with at_window(tmp_path, "anthropic", script, setup=led) as person:
        window = person.window
        row = window.sidebar._rows["needs"]
        assert row.isHidden()
        runs = WorkflowRuns(person.engine)
        runner = await runs.start(tmp_path / "gate.md", person.folder, RunOptions({}))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: runner.run.state == "needs_you", "the gate")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await runs.close(runner)
        person.say("Go")
        await person.done()
        child = person.engine.delegation.of(person.session.info.id)[0]
        await until(lambda: child.session.info.state == "waiting", "the question")
        await until(lambda: "2 waiting" in row.accessibleName(), "the row in the sidebar")
        person.click(row)
        page = window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 2, "both questions")
        assert [(one.group, one.path) for one in page.rows] == [
            ("Gate, run 1", ("Gate", "ok")),
            ("Chats", ("Go", "Helper")),
        ]
        assert page.card.title.text() == "Write the drafts?"
        assert person.focused() is page.list
        person.press(Key.Key_J)
        assert page.card.title.text() == "Helper asks: Which branch?"
        shown = [row.text() for row in page.card.rows if row.isVisible()]
        assert shown == ["main", "release", "Something else…"]
        person.press(Key.Key_2)
        assert len(page.rows) == 2, "it is chosen, not given"
        person.press(Key.Key_Return)
        await until(lambda: len(page.rows) == 1, "the answer is given")
        await until(lambda: person.blocks(NoticeBlock), "its end")
        assert results_of(child) == ["release"]
        await until(lambda: "1 waiting" in row.accessibleName())
        person.press(Key.Key_Escape)
        person.press(Key.Key_J, CTRL)  # no chat waits, but a run does
        await until(lambda: window.pages.currentWidget() is page)
        person.press(Key.Key_Return)
        workflows = window.pages.currentWidget()
        assert isinstance(workflows, WorkflowsPage)
        await until(lambda: workflows.run_view.record is not None, "the run")


@on_window_loop
async def test_w22_an_answer_is_given_though_the_page_looks_again(tmp_path: Path) -> None:
    script = cast(Helper=[Turn(Call("ask", {"question": "Which branch?", "choices": ["a", "b"]}))])
    save(Paths.below(tmp_path / "studio").agents, agent("Helper"))

    def helped(settings: SettingsFile) -> None:
        settings.values.default_agent = "Helper"

    async with at_window(tmp_path, "anthropic", script, setup=helped) as person:
        person.say("Go")
        await until(lambda: person.view.canvas.waiting(), "the question")
        window = person.window
        row = window.sidebar._rows["needs"]
        await until(row.isVisible)
        person.click(row)
        page = window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 1)
        person.press(Key.Key_2)
        person.press(Key.Key_Return)
        page._again.timeout.emit()
        await until(lambda: results_in(person.session)[:1] == ["b"], "the answer")


@on_window_loop
async def test_w22_an_answer_counts_for_no_question_that_nobody_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-22: another program answers the chosen one, and the next takes its place under the keys."""
    (tmp_path / "gate.md").write_text(GATE)
    async with at_window(tmp_path, "anthropic", []) as person:
        runs = WorkflowRuns(person.engine)
        for _ in range(2):
            runner = await runs.start(tmp_path / "gate.md", person.folder, RunOptions({}))
            work = asyncio.create_task(runner.carry_out())
            await until(lambda runner=runner: runner.run.state == "needs_you", "the gate")
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await runs.close(runner)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 2, "both questions")
        first, second = page.rows
        given = list[str]()
        page.answered.disconnect()
        page.answered.connect(lambda run, *_: given.append(run))
        assert page.chosen is first
        opened = await runs.open(first.run_id)
        await opened.answer(first.question.id, True)
        await runs.close(opened)
        monkeypatch.setattr(question_card, "READ", 3_600_000)
        page._again.timeout.emit()
        await until(lambda: len(page.rows) == 1, "it was answered elsewhere")
        assert page.chosen is not None and page.chosen.run_id == second.run_id
        person.press(Key.Key_Return)
        for _ in range(2):
            person.press(Key.Key_1)
            page.card.rows[1].click()
            assert page.card.chosen is None and not page.card.send.isEnabled()
            person.press(Key.Key_Return)
        assert given == [] and len(page.rows) == 1
        assert person.window.pages.currentWidget() is page, "who asks was not wanted either"
        monkeypatch.setattr(question_card, "READ", 0)
        person.press(Key.Key_1)
        person.press(Key.Key_Return)
        await until(lambda: given == [second.run_id], "the answer that was meant for it")


def reader(view: RequestView) -> Turn:
    match len(results(view)):
        case 0:
            return Turn(Call("read", {"path": "notes.txt"}))
        case 1:
            choices = ["one", "two", "three", "four", "five"]
            return Turn(Call("ask", {"question": "Which part?", "choices": choices}))
        case _:
            return says("So be it.")


@on_window_loop
async def test_w22_the_oldest_comes_first_and_what_came_before_is_seen(tmp_path: Path) -> None:
    """Up to eight choices are rows with their numbers."""
    save(Paths.below(tmp_path / "studio").agents, agent("Helper", tools="read, ask"))
    (tmp_path / "gate.md").write_text(GATE)

    def helped(settings: SettingsFile) -> None:
        settings.values.default_agent = "Helper"

    script = cast(Helper=[reader] * 3)
    async with at_window(tmp_path, "anthropic", script, setup=helped) as person:
        (person.folder / "notes.txt").write_text("a\nb\n")
        person.say("Go")
        await until(lambda: person.view.canvas.waiting(), "the question of the chat")
        runs = WorkflowRuns(person.engine)
        runner = await runs.start(tmp_path / "gate.md", person.folder, RunOptions({}))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: runner.run.state == "needs_you", "the gate, which asks later")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await runs.close(runner)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 2, "both questions")
        assert [one.group for one in page.rows] == ["Gate, run 1", "Chats"]
        assert page._model.heads(1) and page.card.title.text() == "Write the drafts?"
        assert page.before.isHidden(), "nobody did anything before the gate"
        person.click(page.order.segment(1))
        assert [one.group for one in page.rows] == ["Chats", "Gate, run 1"]
        assert not page._model.heads(0), "no runs stand above them"
        assert page.card.title.text() == "Write the drafts?", "it stays chosen"
        page.list.setFocus()
        person.press(Key.Key_K)
        await until(page.before.isVisible, "what the agent did")
        (call,) = (one for one in page.before.rows if one.isVisible())
        assert call.text().startswith("Read, notes.txt"), call.text()
        asker = page.asker.facts[-1]
        assert (asker.left, asker.state, asker.hue != "") == ("Helper", "needs_you", True)
        seen = list[str]()
        page.open_wanted.disconnect()
        page.open_wanted.connect(seen.append)
        person.click(call)
        assert seen == [person.session.info.id], "a call is seen in its chat"
        shown = [one.text() for one in page.card.rows if one.isVisible()]
        assert shown == ["one", "two", "three", "four", "five", "Something else…"]
        person.press(Key.Key_4)
        person.press(Key.Key_Return)
        await until(lambda: results_in(person.session)[-1:] == ["four"], "the answer")
        person.click(page.order.segment(0))
        await until(lambda: [one.group for one in page.rows] == ["Gate, run 1"])


def test_w22_how_many_steps_of_a_run_go_on() -> None:
    events = [(1.0, RunStarted("r", "Story", ""))]
    steps = {id: Step(id, "agent", "Coder") for id in "abcdefg"}
    known = Known(Run([*events, (2.0, StepStarted("a")), (3.0, StepStarted("b", "x"))]), steps)
    assert going_on(known) == "2 of 7 steps go on"
    assert going_on(Known(Run(events), steps)) == ""


OUTER = """\
---
name: Outer
steps:
  - {id: below, workflow: gate}
  - {id: more, approve: And this?}
---
"""


async def test_w22_a_question_below_counts_once_and_a_run_is_read_once(tmp_path: Path) -> None:
    """The run above asks it; what was read of a run is not read again."""
    async with engine_home(tmp_path, "anthropic", []) as home, within():
        write(home.folder, "gate", GATE)
        runner = await begin(home, OUTER)
        assert (await carry_out(runner)).state == "needs_you"
        below = runner.run.step("below").run_id
        store = WorkflowRuns(home.engine).store
        assert next(Run(await store.events(below)).questions), "the run below asks too"
        assert await store.waiting() == [runner.run.id]
        assert await count_waiting(home.engine, {}) == 2, "each of its questions counts"
        known: dict[str, Known] = {}
        found = await find_waiting(home.engine, known)
        assert sorted(one.path[1:] for one in found) == [("below", "ok"), ("more",)]
        one = known[runner.run.id]
        first, count = one.run, one.count
        await runner.answer(
            next(one.question.id for one in found if one.path[1:] == ("more",)), True
        )
        (left,) = await find_waiting(home.engine, known)
        assert left.path[1:] == ("below", "ok")
        assert known[runner.run.id].run is first and one.count > count
        await runner.stop()
        assert not await find_waiting(home.engine, known) and not known


def results_in(session: Session) -> list[str]:
    return [one.reply for one in session.transcript.last_calls]


@on_window_loop
async def test_w22_a_question_of_a_run_is_answered_where_all_of_them_are(tmp_path: Path) -> None:
    """The run goes on, though the page of workflows was never shown."""
    (tmp_path / "gate.md").write_text(GATE)
    async with at_window(tmp_path, "anthropic", []) as person:
        runs = WorkflowRuns(person.engine)
        runner = await runs.start(tmp_path / "gate.md", person.folder, RunOptions({}))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: runner.run.state == "needs_you", "the gate")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await runs.close(runner)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 1, "the question")
        assert page.card.rows[0].isEnabled() and not page.card.send.isEnabled()
        person.press(Key.Key_1)
        person.click(page.card.send)
        await until(lambda: not page.rows, "it is answered")
        async with within():
            while [info.state for info in await runs.store.list(2)] != ["done"]:  # noqa: ASYNC110 (a table tells nobody)
                await asyncio.sleep(0.01)
        workflows = person.window.pages._made["workflows"]
        assert isinstance(workflows, WorkflowsPage)
        run_id = runner.run.id
        await until(lambda: workflows.live.runner(run_id) is None, "it is let go of")
        assert person.window.pages.currentWidget() is page


EACH = """\
---
name: Each
steps:
  - {id: ok, for_each: [a, b], approve: "Take ${{ item }}?"}
---
"""


@on_window_loop
async def test_w22_an_item_is_skipped_where_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once: the second click of two is no wish to skip the next item, which nobody has read."""
    (tmp_path / "each.md").write_text(EACH)
    async with at_window(tmp_path, "anthropic", []) as person:
        runs = WorkflowRuns(person.engine)
        runner = await runs.start(tmp_path / "each.md", person.folder, RunOptions({}))
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: len([*runner.run.questions]) == 2, "the questions")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await runs.close(runner)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 2, "both items")
        assert page.card.title.text() == "Take a?" and page.card.skip.isVisible()
        monkeypatch.setattr(question_card, "READ", 3_600_000)
        for _ in range(2):
            person.click(page.card.skip)
        await until(lambda: page.card.title.text() == "Take b?", "the other one")
        monkeypatch.setattr(question_card, "READ", 0)
        person.press(Key.Key_1)
        person.press(Key.Key_Return)
        await until(lambda: not page.rows, "all is answered")

        workflows = await until(lambda: person.window.pages._made.get("workflows"))
        assert isinstance(workflows, WorkflowsPage)
        ended = list[str]()
        workflows.live.told.connect(ended.append)
        await until(lambda: ended and workflows.live.runner(ended[-1]) is None, "its end")
        run = Run(await runs.store.events(runner.run.id))
        assert run.state == "done"
        assert [run.step("ok", key).state for key in run.items["ok"]] == ["skipped", "done"]


WRITERS = """\
---
name: Writers
steps:
  - {id: one, agent: Writes, desk: own, prompt: Do A.}
  - {id: two, agent: Writes, desk: own, prompt: Do B.}
  - {id: ok, needs: [one, two], approve: Is it right?}
---
"""


def writing(view: RequestView) -> Turn:
    if results(view):
        return says("Written.")
    name = "a" if "Do A." in asked_in(view) else "b"
    calls = [("write", {"path": f"{name}.txt", "content": "new\n"})]
    calls += [("edit", {"path": "c.txt", "old": "old\n", "new": "now\n"})] if name == "b" else []
    return Turn(*(Call(tool, arguments) for tool, arguments in calls))


@on_window_loop
async def test_w26_what_a_run_changed_stands_by_step_and_is_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside its question while it waits at a gate, in the run when it is over."""
    save(Paths.below(tmp_path / "studio").agents, agent("Writes", tools="write, edit, read"))
    (tmp_path / "gate.md").write_text(WRITERS)
    async with at_window(tmp_path, "anthropic", cast(Writes=[writing] * 8)) as person:
        (person.folder / "c.txt").write_text("old\n")
        runs = WorkflowRuns(person.engine)
        options = RunOptions({}, provider="anthropic", model="sim-model")
        runner = await runs.start(tmp_path / "gate.md", person.folder, options)
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: runner.run.state == "needs_you", "the gate")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await runs.close(runner)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.changes.groups, "what the steps changed")
        found = {group.path: group.files for group in page.changes.groups}
        assert [[one.path for one in files] for files in found.values()] == [
            ["a.txt"],
            ["b.txt", "c.txt"],
        ]
        assert [one.lines for one in found[("two",)]] == [(1, 0), (1, 1)]
        assert page.changes.approve.text() == "Approve all 3", "at the gate they can be approved"
        (a,) = page.changes.checks[found[("one",)][0].draft or ("", "")]
        for checks in page.changes.checks.values():
            checks[0].setChecked(checks[0] is a)
        approvals = list[object]()
        with monkeypatch.context() as patched:  # drafts of another run stood there just now
            patched.setattr(question_card, "READ", 3_600_000)
            patched.setattr(page, "_run", approvals.append)
            page.card.begin_reading()
            page.changes.approve.click()
            assert not approvals and page.changes.approve.isEnabled()
        page.changes.approve.click()
        await until((person.folder / "a.txt").exists, "one is written while the run waits")
        await until(lambda: len(page.changes.checks) == 2, "the others go on waiting")
        assert [(one.left, one.about, one.depth) for one in page.asker.facts[1:]] == [
            ("Writers", "run 1", 0),
            ("ok", "", 1),
        ]
        window = person.window
        window.resize(1440, 900)
        await until(lambda: page.aside.height() == page.height(), "what waits has its column")
        assert page.changes.heading.text() == "Drafts of run 1"
        window.resize(1000, 640)
        window.theme.set("dark", scale=1.6)
        await until(lambda: page._left.width() < page.width() / 2, "the question keeps its room")
        await until(lambda: page.aside.y() > 0, "it stands below the question")
        ink = page.changes.heading.palette().windowText().color()
        assert ink == window.theme.color("text1"), "it follows the theme where it is moved"
        window.theme.set("light", scale=1.0)
        page.list.setFocus()
        person.press(Key.Key_1)
        person.press(Key.Key_Return)
        workflows = await until(lambda: person.window.pages._made.get("workflows"))
        assert isinstance(workflows, WorkflowsPage)
        ended = list[str]()
        workflows.live.told.connect(ended.append)
        await until(lambda: ended and workflows.live.runner(ended[-1]) is None, "its end")
        await until(lambda: not page.changes.isVisible(), "nothing waits any more")
        person.window.pages.show_page("workflows", "run", runner.run.id)
        changes = workflows.run_view.inspector.run.changes
        await until(lambda: len(changes.checks) == 2, "the drafts")
        owners = {one.draft[0] for group in changes.groups for one in group.files if one.draft}
        assert owners and not owners & {*person.engine.sessions._open}, "read and put away"
        assert changes.approve.text() == "Approve all 2"
        (b,) = [check for checks in changes.checks.values() for check in checks][:1]
        assert b.text() == "b.txt"
        b.click()
        assert changes.approve.text() == "Approve 1 of 2"
        changes.approve.click()
        await until(lambda: len(changes.checks) == 1, "another one is written")
        assert (person.folder / "a.txt").read_text() == "new\n"
        assert (person.folder / "c.txt").read_text() == "now\n"
        assert not (person.folder / "b.txt").exists()
        (person.folder / "b.txt").write_text("the person's\n")
        changes.checks[next(iter(changes.checks))][0].click()
        changes.approve.click()
        await until(changes.approve.isEnabled, "what could not be approved can be tried again")
        changes.review.click()
        await until(lambda: person.window.pages.currentWidget() is not workflows, "the drafts")


async def passed_run(person: Person, home: Path) -> Run:
    """A run that waits at its gate, and whose step before it passed with all its drafts."""
    save(Paths.below(home / "studio").agents, agent("Writes", tools="write, edit, read"))
    tests = "  - {id: test, title: Test, needs: [one, two], run: 'cat a.txt b.txt'}\n"
    text = WRITERS.replace("  - {id: ok", f"{tests}  - {{id: ok").replace(
        "needs: [one, two], approve", "needs: test, approve"
    )
    assert tests in text and "needs: test, approve" in text
    (home / "gate.md").write_text(text)
    (person.folder / "c.txt").write_text("old\n")
    await person.engine.services.rules.add(Rule.parse("run(*)"), None)
    runs = WorkflowRuns(person.engine)
    options = RunOptions({}, provider="anthropic", model="sim-model")
    runner = await runs.start(home / "gate.md", person.folder, options)
    run = await carry_out(runner)
    assert run.state == "needs_you", (run.state, run.reason)
    await runs.close(runner)
    return run


@on_window_loop
async def test_w26_a_step_that_passed_with_all_drafts_stands_above_their_approval(
    tmp_path: Path,
) -> None:
    """As picture 34 has it; what the folder became meanwhile is told while it is seen."""
    async with at_window(tmp_path, "anthropic", cast(Writes=[writing] * 8)) as person:
        run = await passed_run(person, tmp_path)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        passed = "Test passed on the desk with all 3 files."
        words = page.changes.words
        await until(page.changes.box.isVisible, "what passed")
        assert words.text() == f"{passed} No conflict with your folder."
        tested = page.changes.tested
        assert tested is not None
        person.window.resize(1000, 1400)
        await until(lambda: page.aside.minimumHeight() > 0, "it stands below the question")
        page.changes.box.hide()
        page._place()
        without = page.aside.minimumHeight()
        await page._look_since(tested)
        assert page.aside.minimumHeight() > without, "the box takes no room from the buttons"
        assert page.changes.box.geometry().bottom() < page.changes.approve.mapTo(
            page.changes, page.changes.approve.rect().topLeft()
        ).y()  # fmt: skip
        (person.folder / "a.txt").write_text("the person's\n")
        changed = f"{passed} 1 of them has changed in your folder since."
        await until(lambda: words.text() == changed, "what changed meanwhile")
        page.changes.checks[next(iter(page.changes.checks))][0].click()
        page.changes.approve.click()
        await until(lambda: len(page.changes.checks) == 1, "two are approved")
        await until(page.changes.box.isHidden, "it was all of them that passed")
        workflows = person.window.pages._page("workflows", person.engine)
        person.window.pages.show_page("workflows", "run", run.id)
        changes = workflows.run_view.inspector.run.changes
        await until(lambda: len(changes.checks) == 1, "the draft")
        assert changes.box.isHidden()


def test_w26_one_look_at_the_folder_is_over_before_the_next_begins(qapp: QApplication) -> None:
    """Large files take longer to read than the time between two looks."""
    changes, looks = ChangesList(Theme()), list[object]()
    changes.look_wanted.connect(looks.append)
    first = PassedDrafts("Test", "", 1, True, "work", (("a.txt", ""),))
    changes.show()
    changes.show_tested(first)
    changes._again.timeout.emit()
    changes.hide()
    changes.show()
    assert looks == [first] and not changes._again.isActive(), "it is still looked"
    changes.show_since(first, 0)
    assert changes._again.isActive()
    changes._again.timeout.emit()
    assert looks == [first, first]
    second = PassedDrafts("Test", "", 2, True, "work", (("a.txt", ""), ("b.txt", "")))
    changes.show_tested(second)
    changes.show_since(first, 0)
    assert looks == [first, first, second] and not changes._again.isActive()
    changes.show_since(second, 0)
    assert changes._again.isActive()
    changes.hide()
    assert not changes._again.isActive()


@on_window_loop
async def test_w26_what_passed_is_said_of_no_draft_that_was_edited_since(tmp_path: Path) -> None:
    """A run has no event of what is done with its drafts elsewhere."""
    async with at_window(tmp_path, "anthropic", cast(Writes=[writing] * 8)) as person:
        run = await passed_run(person, tmp_path)
        pages = person.window.pages
        pages.show_page("workflows", "run", run.id)
        workflows = pages.currentWidget()
        assert isinstance(workflows, WorkflowsPage)
        changes = workflows.run_view.inspector.run.changes
        await until(changes.box.isVisible, "what passed, at the run")
        pages.show_page("needs")
        page = pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(page.changes.box.isVisible, "what passed")
        pages.show_page("drafts")
        session = await person.engine.sessions.open(run.drafts)
        _, draft = next(iter(page.changes.checks))
        await session.review.edit(draft, "other\n")
        pages.show_page("needs")
        await until(page.changes.box.isHidden, "another one has passed")
        pages.show_page("workflows")
        await until(changes.box.isHidden, "at the run, too")


def results_of(child: object) -> list[str]:
    from studio.agent.delegation.child import Child

    assert isinstance(child, Child)
    return results_in(child.session)


def test_w22_a_tick_lets_an_answer_count_for_the_run(qapp: QApplication) -> None:
    """Nothing is chosen at first, and Enter gives only what is; other words can be typed."""
    card, given = ChoiceCard(Theme()), list[object]()
    wholly = list[bool]()
    card.answered.connect(lambda _, value, whole: (given.append(value), wholly.append(whole)))
    card.show_question(RunQuestion("a", "permission", "Run it?", "make"), ("Story", "ok"))
    card.show()
    card.give()
    assert not given and card.chosen is None and not card.send.isEnabled()
    card.choose(1)
    card.widely.click()
    card.give()
    card.choose(2)
    assert not card.widely.isEnabled(), "a refusal counts once"
    card.give()
    card.show_question(
        RunQuestion("b", "permission", "Run it?", "make"), ("A chat",), for_chat=True
    )
    assert card.chosen is None and not card.widely.isChecked(), "each question begins anew"
    card.choose(1)
    card.give()
    card.widely.click()
    card.give()
    assert given == ["run", "deny", "once", "session"]
    choices = RunQuestion("c", "reply", "Which?", choices=("a", "b"), abouts=("old", "new"))
    card.show_question(choices, ("Story", "ok"))
    assert [one.accessibleName() for one in card.rows[:2]] == ["a, old", "b, new"]
    card.choose(3)
    assert card.field.isVisible() and not card.send.isEnabled()
    card.field.setText("c")
    card.give()
    assert given[-1] == "c"
    card.set_open(False)
    card.give()
    assert given[-1:] == ["c"] and len(given) == 5, "another program has to take it"
    assert not any(wholly), "the rules of a permission say how far it goes"
    card.set_open(True)
    card.choose(1)
    card.widely.click()
    card.give()
    assert (given[-1], wholly[-1]) == ("a", True)
    card.show_question(
        RunQuestion("d", "reply", "Which?", choices=("a",)), ("Chat",), for_chat=True
    )
    assert card.widely.isHidden(), "a chat asks each question"
    card.show_question(RunQuestion("e", "approve", "Write?"), ("Story", "ok"))
    assert card.widely.isHidden(), "a gate is one"
    card.show_question(RunQuestion("f", "approve", "Is it right?\n\n# A\n\nB"), ("Story", "ok"))
    assert (card.title.text(), card.about.text()) == ("Is it right?", "# A\n\nB"), (
        "what it is about"
    )
    assert card.about.isVisible() and "# A" in card.accessibleName()
    card.show_question(RunQuestion("g", "approve", "Write?"), ("Story", "ok"))
    assert card.about.isHidden()
    card.close()


ITEMS = """\
---
name: Items
steps:
  - {id: each, agent: Helper, for_each: [a, b], max_parallel: 2, prompt: "Look at ${{ item }}."}
---
"""


@on_window_loop
@pytest.mark.parametrize("at", ["needs", "workflows"])
async def test_w22_one_answer_for_the_run_ends_all_questions_alike(tmp_path: Path, at: str) -> None:
    """On the page of all questions, and on the page of the run."""
    save(Paths.below(tmp_path / "studio").agents, agent("Helper"))
    (tmp_path / "items.md").write_text(ITEMS)
    async with at_window(tmp_path, "anthropic", helper) as person:
        person.press(Key.Key_3, CTRL)
        workflows = await until(lambda: person.window.pages._made.get("workflows"))
        assert isinstance(workflows, WorkflowsPage)
        options = RunOptions({}, provider="anthropic", model="claude-sonnet-5-5")
        run_id = await workflows.live.start(tmp_path / "items.md", person.folder, options)
        runner = workflows.live.runner(run_id)
        assert runner is not None
        await until(lambda: len([*runner.run.questions]) == 2, "both items ask")
        if at == "needs":
            person.window.pages.show_page("needs")
            page = person.window.pages.currentWidget()
            assert isinstance(page, NeedsPage)
            await until(lambda: len(page.rows) == 2, "both questions")
            card = page.card
            person.press(Key.Key_2)
        else:
            person.window.pages.show_page("workflows", "run", run_id)
            card = workflows.run_view.inspector.run.card
            await until(card.isVisible, "the question")
        person.click(card.widely)
        person.click(card.send if at == "needs" else card.buttons[2])
        await until(lambda: runner.run.end is not None, "the end")
        assert runner.run.state == "done", runner.run.reason
        answers = [runner.run.step("each", key).text for key in runner.run.items["each"]]
        assert answers == ["So be it."] * 2
        assert list(runner.run.answers.values()) == ["release"] * 2


def test_w22_the_item_stands_beside_who_works_on_it() -> None:
    """As a part of the path of its own, and as no node of the tree."""
    steps = {"each": Step("each", "agent", "Critic", for_each=("a", "b"))}
    run = Run([(1.0, RunStarted("r", "Story", "", "", "/"))])
    _, key = item_keys(("a", "b"))
    path = ("Story", "each", "b", "Critic")
    question = RunQuestion("q", "reply", "Which branch?", session_id="s", path=path)
    for event in (
        *(ItemsFound("each", ("a", "b")), StepStarted("each", key)),
        StepAsked("each", key, question),
    ):
        run.apply(2.0, event)
    row = Waiting("Story", path, question, 2.0, run_id="r", item=True)
    facts = who_asks(row, Known(run, steps), {})
    assert [(one.left, one.about) for one in facts[1:]] == [
        ("Story", "run 1"),
        ("each", "0 of 2 items"),
        ("Critic", "item 2, b"),
    ]


def test_w22_what_is_half_typed_stays_while_another_question_is_chosen(qapp: QApplication) -> None:
    """It stands behind "Something else…", which takes the keyboard only when it is chosen."""
    card = ChoiceCard(Theme("light"))
    choices = RunQuestion("a", "reply", "Which?", choices=("v1", "v2"))
    card.show_question(choices, ("Story", "Critic"))
    card.choose(3)
    card.field.setText("neither")
    card.show_question(RunQuestion("b", "reply", "Why?"), ("Story", "Critic"), wanted=True)
    assert card.value == ""
    card.show_question(choices, ("Story", "Critic"), wanted=True)
    assert card.chosen is None and card.value == ""
    card.choose(3)
    assert qapp and card.value == "neither"


def test_w22_a_card_is_as_narrow_as_its_column(qapp: QApplication) -> None:
    """Its last line wraps: no word of the question is beside the screen."""
    theme = Theme("light", 1.6)
    card = ChoiceCard(theme)
    question = RunQuestion("q", "reply", "Which?", choices=("a", "b"))
    card.show_question(question, ("Story", "each", "b", "Critic"), item=True)
    assert qapp and card.title.text() == "Critic asks: Which?"
    assert card.minimumSizeHint().width() <= theme.px(240)
    theme.deleteLater()


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        (("release-2.4", "main"), ["release-2.4", "main"]),
        (("src/a.py", "`git push --all`"), ["src/a.py", "git push --all"]),
        (("do_it", "doIt"), ["do_it", "doIt"]),
        (("release", "main"), None),
        (("Yes.", "No, e.g. later"), None),
        (("v2.4", "the one before"), None),
    ],
)
def test_w22_a_question_has_its_reason_below_it_and_names_in_the_code_font(
    qapp: QApplication, choices: tuple[str, ...], shown: list[str] | None
) -> None:
    theme = Theme("light")
    card = ChoiceCard(theme)
    text = "Which branch do the notes describe? Retry-After differs."
    question = RunQuestion("q", "reply", text, choices=choices)
    card.show_question(question, ("Story", "Critic"))
    assert qapp and card.title.text() == "Critic asks: Which branch do the notes describe?"
    assert card.about.text() == "Retry-After differs."
    rows = [(one.text(), one.role) for one in card.rows if not one.isHidden()]
    role = "code" if shown else "ui_medium"
    assert rows == [*((one, role) for one in shown or choices), ("Something else…", "ui_medium")]
    card.choose(2)
    assert card.value == choices[1], "it is answered as it was asked"
    theme.deleteLater()


@pytest.mark.parametrize(
    ("text", "title", "more"),
    [
        ("Which one?", "Which one?", ""),
        ("Is it right?\n\n# A\n\nB? C", "Is it right?", "# A\n\nB? C"),
        ("Choose a branch.\nBoth have the tag.", "Choose a branch.", "Both have the tag."),
        ("There are two. Which one?", "There are two. Which one?", ""),
    ],
)
def test_w22_a_question_ends_with_its_line_or_its_mark(text: str, title: str, more: str) -> None:
    assert parted(text) == (title, more)


SPENT = """\
---
name: Spent
{run}
steps:
  - {{id: only, agent: Writer, prompt: Write.{step}}}
---
"""


@on_window_loop
@pytest.mark.parametrize(
    ("cap", "run", "step"),
    [
        ("run", "budget: {tokens: 1000}", ""),
        ("step", "budget: {dollars: 9}", ", budget: {tokens: 1000}"),
    ],
)
async def test_w20_a_run_at_a_cap_waits_and_the_cap_is_raised_there(
    tmp_path: Path, cap: str, run: str, step: str
) -> None:
    """One that the person paused does not stand there."""
    save(Paths.below(tmp_path / "studio").agents, agent("Writer"))
    (tmp_path / "spent.md").write_text(SPENT.format(run=run, step=step))
    async with at_window(tmp_path, "anthropic", lambda _: says("Words.")) as person:
        runs = WorkflowRuns(person.engine)
        options = RunOptions({}, provider="anthropic", model="sim-model")
        runner = await runs.start(tmp_path / "spent.md", person.folder, options)
        await runner.pause()
        assert await find_waiting(person.engine, {}) == [], "the person knows of it"
        await runner.resume()
        paused = await carry_out(runner)
        await runs.close(runner)
        assert (paused.state, paused.paused_at) == ("paused", cap), (paused.paused, paused.end)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.rows, "the run")
        assert page.card.title.text() == paused.paused
        answers = [one.text() for one in page.card.rows if one.isVisible()]
        assert answers == ["Raise to 2,000 tokens", "Stop"]
        while (await runs.read(paused.id)).end is None:
            first = page.card.rows[0]
            if page.rows and first.isEnabled() and first.text().startswith("Raise to"):
                person.press(Key.Key_1)
                person.press(Key.Key_Return)
            await asyncio.sleep(0.02)
        done = await runs.read(paused.id)
        assert done.end is not None and done.end.state == "done", done.end
        await until(lambda: not page.rows, "nothing waits")


@on_window_loop
@pytest.mark.parametrize("place", ["needs", "run"])
async def test_w20_the_cap_of_a_run_below_is_raised_where_the_run_is(
    tmp_path: Path, place: str
) -> None:
    """On Needs you and on the run's page, though no cap of the run itself is reached."""
    save(Paths.below(tmp_path / "studio").agents, agent("Writer"))
    below = SPENT.format(run="budget: {tokens: 2000}", step="").replace("Spent", "Inner")
    (tmp_path / "inner.md").write_text(below)
    above = SPENT.format(run="budget: {tokens: 90000}", step="")
    above = above.replace("agent: Writer, prompt: Write.", f"workflow: {tmp_path / 'inner.md'}")
    (tmp_path / "spent.md").write_text(above)
    async with at_window(tmp_path, "anthropic", lambda _: says("Words.")) as person:
        runs = WorkflowRuns(person.engine)
        options = RunOptions({}, provider="anthropic", model="sim-model")
        runner = await runs.start(tmp_path / "spent.md", person.folder, options)
        paused = await carry_out(runner)
        await runs.close(runner)
        assert (paused.state, paused.reached) == ("paused", None), (paused.paused, paused.end)
        moved = asyncio.Event()
        live = person.window.pages._page("workflows", person.engine).live
        live.told.connect(lambda _: moved.set())
        (found,) = await find_waiting(person.engine, {})
        assert found.path == ("Spent", "only") and found.question.choices == ("raise", "stop")
        if place == "needs":
            person.window.pages.show_page("needs")
            page = person.window.pages.currentWidget()
            assert isinstance(page, NeedsPage)
            await until(lambda: page.rows, "the run")
            answers = [one.text() for one in page.card.rows if one.isVisible()]
            assert answers == ["Raise to 4,000 tokens", "Stop"]
            person.press(Key.Key_1)
            person.press(Key.Key_Return)
        else:
            person.window.pages.show_page("workflows", "run", paused.id)
            tab = person.window.pages._page("workflows", person.engine).run_view.inspector.run
            card = tab.card
            await until(card.isVisible, "the question")
            view = person.window.pages._page("workflows", person.engine).run_view
            await view.show_run(paused.id)
            assert card.isVisible(), "it is asked whenever the run is opened"
            assert (card.title.text(), card.path.text()) == (paused.paused, "Spent, only")
            assert tab.reason.isHidden(), "the card says it"
            first, last = (one for one in card.buttons if one.isVisible())
            assert (first.text(), last.text()) == ("Raise to 4,000 tokens", "Stop")
            person.click(first)
        async with within():
            while (done := await runs.read(paused.id)).end is None:
                await moved.wait()
                moved.clear()
        assert done.end.state == "done", done.end
        (step,) = [one for one in done.steps.values() if one.run_id]
        assert (await runs.read(step.run_id)).caps == {"": Caps(4000)}
        assert done.caps == {"": Caps(90_000)}, "that of the run stays as it was"


@on_window_loop
async def test_w20_a_cap_that_was_raised_and_reached_again_is_another_question(
    tmp_path: Path,
) -> None:
    """The page says what an answer raises the cap to now, and what was chosen before is not."""
    save(Paths.below(tmp_path / "studio").agents, agent("Writer"))
    (tmp_path / "spent.md").write_text(SPENT.format(run="budget: {tokens: 500}", step=""))
    async with at_window(tmp_path, "anthropic", lambda _: says("Words.")) as person:
        runs = WorkflowRuns(person.engine)
        options = RunOptions({}, provider="anthropic", model="sim-model")
        runner = await runs.start(tmp_path / "spent.md", person.folder, options)
        await carry_out(runner)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.rows, "the run")
        assert page.card.rows[0].text() == "Raise to 1,000 tokens"
        person.press(Key.Key_1)
        assert page.card.chosen is page.card.rows[0]

        await runner.raise_cap(Caps(tokens=600))
        await runner.resume()
        again = await carry_out(runner)
        await runs.close(runner)
        assert again.paused_at == "run", (again.paused, again.end)
        page._look()
        await until(lambda: page.card.rows[0].text() == "Raise to 1,200 tokens", "what it is now")
        assert page.card.chosen is None and not page.card.send.isEnabled()

        live = person.window.pages._page("workflows", person.engine).live
        offered = page.rows[0].offered
        assert offered is not None
        await live.raise_reached(again.id, replace(offered, caps=Caps(tokens=1000)))
        still = await runs.read(again.id)
        assert (still.paused_at, still.caps) == ("run", again.caps), "what was offered before"


FULL = Turn(Call("search", {"pattern": "a"}), stop="tool_use", usage=Usage(inp=19_000, out=500))


def capped(settings: SettingsFile) -> None:
    settings.values.session_tokens = 20_000


async def reach_cap(person: Person, title: str) -> Session:
    """Let a chat that is not on screen reach its cap."""
    session = await person.engine.sessions.create(
        folder=str(person.folder), agent="Coder", provider=COMPATIBLE, model="sim-model",
        title=title,
    )  # fmt: skip
    person.window.runner.start(session, [Said("Count.")], "background")  # nobody is asked
    await until(lambda: person.status(title) == "unread", "the chat")
    assert session.info.state == "token_limit"
    return session


async def gone_on(person: Person, session_id: str) -> SessionInfo:
    """The chat, once the turn that was gone on with has ended. A chat that nobody looks at may have
    been put away meanwhile, so it is opened each time."""
    async with within():
        while True:
            session = await person.engine.sessions.open(session_id)
            said = [one.text for one in session.transcript.blocks if isinstance(one, TextBlock)]
            if said == ["Counted."] and not session.running:
                return session.info
            await asyncio.sleep(0.02)


@on_window_loop
async def test_l14_a_chat_that_reached_its_cap_unseen_stands_there_until_it_is_opened(
    tmp_path: Path,
) -> None:
    async with at_window(tmp_path, COMPATIBLE, [FULL], setup=capped) as person:
        session = await reach_cap(person, "Numbers")
        row = person.window.sidebar._rows["needs"]
        await until(lambda: "1 waiting" in row.accessibleName(), "the row in the sidebar")
        person.click(row)
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.rows, "the chat")
        reached = "Your limit of 20,000 tokens for this chat is reached."
        read = page.list.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
        assert all(words in read for words in (reached, "Chats", "Numbers")), read
        assert page.card.title.text() == reached and not page.card.send.isEnabled()
        assert answers_on(page) == ["Raise to 40,000 tokens"]
        assert page.to_asker.accessibleName() == "Open the chat"
        person.press(Key.Key_Return)
        await until(lambda: person.hit(EndItem, "raise_cap"), "the answers in its chat")
        assert person.session.info.id == session.info.id
        await until(row.isHidden, "it was seen")
        assert await find_waiting(person.engine, {}) == []


def answers_on(page: NeedsPage) -> list[str]:
    return [one.text() for one in page.card.rows if one.isVisible()]


@on_window_loop
async def test_l14_the_cap_of_a_chat_is_raised_there_to_what_was_offered(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, [FULL, says("Counted.")], setup=capped) as person:
        session = await reach_cap(person, "Numbers")
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.rows, "the chat")
        assert answers_on(page) == ["Raise to 40,000 tokens"]
        person.press(Key.Key_1)
        person.press(Key.Key_Return)
        info = await gone_on(person, session.info.id)
        await until(lambda: not page.rows, "it waits no longer")
        assert info.caps == Caps(tokens=40_000)
        assert person.window.pages.currentWidget() is page


@on_window_loop
async def test_l14_a_run_and_a_chat_at_the_cap_of_a_day_lead_to_its_setting(
    tmp_path: Path,
) -> None:
    """It counts for all that is done in a day. The run goes on once there is more."""
    save(Paths.below(tmp_path / "studio").agents, agent("Writer"))
    (tmp_path / "spent.md").write_text(SPENT.format(run="", step=""))

    def in_a_day(settings: SettingsFile) -> None:
        settings.values.day_tokens = 20_000

    script = [FULL, says("Words.")]
    async with at_window(tmp_path, COMPATIBLE, script, setup=in_a_day) as person:
        await reach_cap(person, "Numbers")
        runs = WorkflowRuns(person.engine)
        options = RunOptions({}, provider=COMPATIBLE, model="sim-model")
        runner = await runs.start(tmp_path / "spent.md", person.folder, options)
        paused = await carry_out(runner)
        await runs.close(runner)
        assert paused.paused_at == "day", (paused.paused, paused.end)
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) == 2, "the run and the chat")
        assert answers_on(page) == ["Settings…", "Stop"]
        person.press(Key.Key_J)
        assert answers_on(page) == ["Settings…"]
        person.press(Key.Key_1)
        person.press(Key.Key_Return)
        dialog = await until(lambda: person.window.preferences.dialog, "the settings")
        await until(lambda: dialog.pages["budgets"].isVisible())
        dialog.close()

        person.engine.settings.values.day_tokens = 90_000
        page._look()
        await until(lambda: len(page.rows) == 1 and answers_on(page) == ["Go on", "Stop"])
        page.card.rows[0].click()
        page.card.send.click()
        async with within():
            while (end := (await runs.read(paused.id)).end) is None:  # noqa: ASYNC110 (a table tells nobody)
                await asyncio.sleep(0.02)
        assert end.state == "done", end


@on_window_loop
async def test_l14_a_chat_at_the_cap_of_a_turn_goes_on_with_another_one(tmp_path: Path) -> None:
    def in_a_turn(settings: SettingsFile) -> None:
        settings.values.turn_tokens = 20_000

    script = [FULL, says("Counted.")]
    async with at_window(tmp_path, COMPATIBLE, script, setup=in_a_turn) as person:
        session = await reach_cap(person, "Numbers")
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.rows, "the chat")
        assert answers_on(page) == ["Go on"]
        person.press(Key.Key_1)
        person.press(Key.Key_Return)
        info = await gone_on(person, session.info.id)
        await until(lambda: not page.rows, "it waits no longer")
        assert info.caps == Caps()


@on_window_loop
async def test_l14_an_end_of_an_earlier_version_has_its_answers_in_its_chat(
    tmp_path: Path,
) -> None:
    """It does not say how much the cap allowed."""
    async with at_window(tmp_path, COMPATIBLE, [FULL], setup=capped) as person:
        session = await reach_cap(person, "Numbers")
        await session.flush()
        with closing(sqlite3.connect(person.engine.paths.database)) as db, db:
            db.execute("UPDATE transcript SET body = json_remove(body, '$.limit')")
        person.window.pages.show_page("needs")
        page = person.window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: page.rows, "the chat")
        assert answers_on(page) == [] and not page.card.send.isVisible()
        assert page.to_asker.accessibleName() == "Open the chat"


@on_window_loop
async def test_l14_a_chat_whose_cap_is_lifted_or_that_went_on_waits_no_more(
    tmp_path: Path,
) -> None:
    """Nor does one that the model's own limit ended, and one in the archive."""
    script = [FULL, Turn(Text("Cut"), stop="max_tokens")]
    async with at_window(tmp_path, COMPATIBLE, script, setup=capped) as person:
        values = person.engine.settings.values
        session = await reach_cap(person, "Numbers")

        async def listed() -> list[tuple[str, ...]]:
            found = await find_waiting(person.engine, {})
            assert await count_waiting(person.engine, {}) == len(found)
            return [one.path for one in found]

        assert await listed() == [("Numbers", "Coder")]
        await session.change(caps=Caps(tokens=19_999))
        assert await listed(), "there is less than there was"
        await session.change(caps=Caps(tokens=20_001))
        assert not await listed(), "it may use more"
        await session.change(caps=Caps())
        assert await listed()
        values.session_tokens = 30_000
        assert not await listed(), "each chat may use more"
        values.session_tokens = 0
        assert not await listed(), "there is no cap"
        values.session_tokens = 20_000
        await session.change(archived=True)
        assert not await listed()
        await session.change(archived=False)
        assert await listed()

        values.session_tokens = 100_000
        async for _ in session.turn([Said("Go on.")], mode="background"):
            pass
        values.session_tokens = 20_000
        await session.change(unread=True)
        assert session.info.state == "token_limit" and not await listed()
