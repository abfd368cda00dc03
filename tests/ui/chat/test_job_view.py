"""The window's list of commands that go on in the background (C-13)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from support.waiting import until
from support.window import alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh"),
]
__all__ = ["alone"]


@on_window_loop
async def test_what_runs_is_listed_and_stopped_by_keyboard(tmp_path: Path) -> None:
    """C-13: each with Stop, also after the turn; hidden where nothing runs."""
    script = [
        Turn(
            Call("run", {"command": "echo one; sleep 3600", "background": True}),
            Call("run", {"command": "echo two; sleep 3600", "background": True}),
        ),
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
        view._follow()
        assert view.rows[0].toolTip() == "one"
        stop = view.rows[0].stop
        assert stop.accessibleName() == "Stop: echo one; sleep 3600"
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(stop, Qt.Key.Key_Space)
        await until(lambda: len(view.rows) == 1)
        assert not jobs[0].command.running and jobs[1].command.running
        view.rows[0].stop.click()
        await until(lambda: not view.isVisible())
        assert not jobs[1].command.running
