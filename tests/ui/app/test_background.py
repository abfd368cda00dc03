"""Closing the window while turns run: asked once, and the turns may go on without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QMessageBox

from studio.domain.blocks import EndBlock
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn, stall
from studio.ui.app.second_start import Start
from support.waiting import FOREVER, until
from support.window import CTRL, Key, Person, alone, at_window, message, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

SLOW = Turn(Text("Half of it."), faults=[stall(FOREVER)])


def button(box: QMessageBox, text: str) -> QAbstractButton:
    return next(one for one in box.buttons() if one.text().replace("&", "") == text)


async def asked(person: Person) -> QMessageBox:
    person.press(Key.Key_Q, CTRL)
    box = await until(message)
    assert "1 turn is still running." in box.text()
    return box


@on_window_loop
async def test_closing_asks_once_and_cancel_and_stop_do_as_they_say(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [SLOW]) as person:
        window = person.window
        person.say("Count")
        await until(lambda: person.at_work)
        box = await asked(person)
        assert "can call you" not in box.informativeText()
        window.close()
        assert person.program.background.question is box and not window.isHidden()
        button(box, "Cancel").click()
        await until(lambda: person.program.background.question is None)
        assert person.session.running and not person.program.closed.done()

        person.engine.settings.values.notify = False
        box = await asked(person)
        assert "Neither a tray nor a notification can call you" in box.informativeText()
        session = person.session
        button(box, "Stop and quit").click()
        await until(person.program.closed.done)
        assert not session.running and window.isHidden()
        assert isinstance(session.transcript.blocks[-1], EndBlock)


@on_window_loop
async def test_turns_go_on_in_the_background_until_they_are_done(tmp_path: Path) -> None:
    script = [Turn(Text("Half of it."), faults=[stall(FOREVER)]), Turn(Text("All of it."))]
    async with at_window(tmp_path, "ollama", script) as person:
        window = person.window
        person.say("Count")
        await until(lambda: person.at_work)
        session = person.session
        button(await asked(person), "Go on in the background").click()
        await until(window.isHidden)
        assert (
            person.program.background.active
            and session.running
            and not person.program.closed.done()
        )

        person.program.welcome_back(
            Start(str(tmp_path))
        )  # another start of the program, in a folder
        await until(window.isActiveWindow)
        assert not window.isHidden() and not person.program.background.active
        await until(lambda: window.chat.session is None)
        assert window.chat.model.options.folder == str(tmp_path)
        window.open_session(session.info.id)
        await until(lambda: window.chat.session is session)
        assert session.running

        button(await asked(person), "Go on in the background").click()
        await until(window.isHidden)
        session.stop()  # its turn comes to an end
        await until(person.program.closed.done)
        assert person.program.background.done


@on_window_loop
async def test_nothing_is_asked_at_rest(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        person.press(Key.Key_Q, CTRL)
        await until(person.program.closed.done)
        assert message() is None


@on_window_loop
async def test_closing_asks_about_commands_too_which_end_with_the_program(tmp_path: Path) -> None:
    """C-13: they need no turn that runs, and never end unasked."""
    script = [
        Turn(Call("run", {"command": "echo up; sleep 3600", "background": True})),
        Turn(Text("It runs.")),
    ]
    async with at_window(tmp_path, "ollama", script) as person:
        await person.engine.rules.add(Rule("allow", "run"), None)
        person.say("Start it")
        await person.done()
        (job,) = person.engine.services.jobs.running()
        person.press(Key.Key_Q, CTRL)
        box = await until(message)
        assert "1 command of an agent is still running." in box.text()
        assert "turn" not in box.text() and "end with the program" in box.informativeText()
        names = [one.text().replace("&", "") for one in box.buttons()]
        assert "Go on in the background" not in names
        button(box, "Cancel").click()
        await until(lambda: person.program.background.question is None)
        assert job.command.running and not person.program.closed.done()
        person.press(Key.Key_Q, CTRL)
        button(await until(message), "Stop and quit").click()
        await until(person.program.closed.done)
        assert not job.command.running
