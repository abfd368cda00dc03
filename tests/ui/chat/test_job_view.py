"""The window's list of commands that go on in the background (C-13)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.ui.transcript.items.tool_item import ToolsItem
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh"),
]
__all__ = ["alone"]


@on_window_loop
async def test_what_runs_is_listed_and_stopped_by_keyboard(tmp_path: Path) -> None:
    """C-13: each with Stop, also after the turn; hidden where nothing runs."""
    script = [
        Turn(Call("run", {"command": "echo one; sleep 3600", "background": True})),
        Turn(Call("run", {"command": "echo two; sleep 3600", "background": True})),
        Turn(Text("They run.")),
    ]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        await person.engine.rules.add(Rule("allow", "run"), None)
        view = person.window.chat.jobs
        assert not view.isVisible()
        person.say("Go")
        await person.done(1)
        assert [row.accessibleName() for row in view.rows] == [
            "echo one; sleep 3600",
            "echo two; sleep 3600",
        ]
        assert view.isVisible() and view.geometry().bottom() < person.composer.y()
        jobs = person.session.jobs.of(person.session.info.id)
        await until(lambda: "one" in jobs[0].output)
        row = view.rows[0]
        row.line.setFocus(Qt.FocusReason.TabFocusReason)
        assert row.line.accessibleName() == "Output: echo one; sleep 3600"
        assert not row.output.isVisible()
        QTest.keyClick(row.line, Qt.Key.Key_Space)
        assert row.output.isVisible() and row.output.toPlainText() == "one"
        assert view.geometry().bottom() < person.composer.y() and view.geometry().y() > 0
        line = row.output.fontMetrics().lineSpacing()
        assert row.output.height() < 3 * line, "little output leaves the chat its room"
        QTest.keyClick(row.line, Qt.Key.Key_Tab)
        stop = view.rows[0].stop
        assert stop.hasFocus()
        QTest.keyClick(stop, Qt.Key.Key_Tab)
        assert row.output.hasFocus(), "what it printed can be scrolled and copied by keys"
        view.rows[1].line.click()
        assert view.rows[1].output.isVisible() and not row.output.isVisible()
        assert stop.accessibleName() == "Stop: echo one; sleep 3600"
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(stop, Qt.Key.Key_Space)
        await until(lambda: len(view.rows) == 1)
        assert view.rows[0].output.isVisible(), "what is open stays so"
        assert view.rows[0].stop.hasFocus(), "the keyboard goes on to the next"
        assert not jobs[0].command.running and jobs[1].command.running
        QTest.keyClick(view.rows[0].stop, Qt.Key.Key_Space)
        await until(lambda: not view.isVisible())
        assert not jobs[1].command.running
        assert person.focused() is person.composer.editor


@on_window_loop
async def test_eight_commands_leave_the_chat_its_room(tmp_path: Path) -> None:
    """C-13: in a small window with large text, too; the rest is scrolled to, also by keys."""
    command = "echo up; sleep 3600"
    calls = [Call("run", {"command": command, "background": True}) for _ in range(8)]
    async with at_window(
        tmp_path, "openai-compatible", [Turn(*calls), Turn(Text("They run."))], size=(1000, 640)
    ) as person:
        await person.engine.rules.add(Rule("allow", "run"), None)
        person.say("Go")
        await person.done()
        chat = person.window.chat
        view, rows = chat.jobs, chat.jobs.rows
        assert len(rows) == 8

        def seen(widget: QWidget) -> bool:
            return widget.visibleRegion().boundingRect().height() == widget.height()

        person.window.theme.set(scale=1.6)
        try:
            await until(lambda: view.height() <= chat.height() * 0.4)
            assert person.view.height() > view.height() / 2 and view.y() > person.view.y()
            assert seen(rows[0].line) and not seen(rows[7].line)
            rows[6].stop.setFocus(Qt.FocusReason.TabFocusReason)
            QTest.keyClick(rows[6].stop, Qt.Key.Key_Tab)
            assert rows[7].line.hasFocus() and seen(rows[7].line)
            QTest.keyClick(rows[7].line, Qt.Key.Key_Space)
            await until(lambda: seen(rows[7].output) and rows[7].output.isVisible())
            assert person.view.height() > view.height() / 2
        finally:
            person.window.theme.set(scale=1.0)


@on_window_loop
async def test_rows_are_whole_in_another_text_size(tmp_path: Path) -> None:
    """C-13: what the window shows of a command and its Stop is not cut off."""
    call = Call("run", {"command": "echo up; sleep 3600", "background": True})
    async with at_window(
        tmp_path, "openai-compatible", [Turn(call), Turn(Text("It runs."))]
    ) as person:
        await person.engine.rules.add(Rule("allow", "run"), None)
        person.say("Go")
        await person.done()
        view = person.window.chat.jobs
        tall = view.height()
        try:
            for scale in (1.6, 1.0):
                person.window.theme.set(scale=scale)
                await until(lambda: view.height() == view.rows[0].sizeHint().height())
                assert view.rows[0].stop.visibleRegion().boundingRect() == view.rows[0].stop.rect()
        finally:
            person.window.theme.set(scale=1.0)
        assert view.height() == tall


@on_window_loop
async def test_a_command_that_runs_is_sent_to_the_background_or_stopped(tmp_path: Path) -> None:
    """C-13, C-25: by a button of its card, and the turn goes on with its output until then."""
    script = [
        Turn(Call("run", {"command": "echo first; sleep 3600"})),
        Turn(Call("run", {"command": "echo second; sleep 3600"})),
        Turn(Text("Good.")),
    ]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        await person.engine.rules.add(Rule("allow", "run"), None)
        person.say("Go")
        for action, expected in (("release_call", "goes on as job"), ("stop_call", "stopped by")):
            await until(
                lambda: person.item(ToolsItem) and person.session.jobs.awaited(chat(person))
            )
            item = person.item(ToolsItem)
            call = item.calls[-1]
            await until(lambda call=call: call.output)
            person.view.canvas_viewport.focus.item = item
            person.view.canvas_viewport.toggle(item.rows[-1].key)
            await person.click_hit(ToolsItem, action)
            await until(lambda call=call: call.finished)
            assert expected in call.summary
        await person.done()
        (job,) = person.session.jobs.running(chat(person))
        assert "first" in job.line
        assert "first" in person.asked[1] and "second" in person.asked[2]
        assert "The person stopped this call" in person.asked[2]
        person.view.item_actions.call_action.emit(job.call_id, "release_call")
        assert "cannot go on in the background" in person.window.banner.text


def chat(person: Person) -> str:
    return person.session.info.id
