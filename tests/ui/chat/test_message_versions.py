"""At the window: an edited message and an answer given again are versions, not other chats."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.domain.blocks import TextBlock, UserBlock
from studio.simulator import Text, Turn, stall
from studio.ui.chat.model_picker import ModelPicker
from studio.ui.transcript.items.answer_item import AgentItem
from studio.ui.transcript.items.user_item import UserItem
from support.waiting import until
from support.window import ALT, CTRL, SHIFT, Key, Person, alone, at_window, on_window_loop, row_of

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
COMPATIBLE = "openai-compatible"


def texts(person: Person) -> list[str]:
    return [block.text for block in person.blocks() if isinstance(block, UserBlock | TextBlock)]


def switch(person: Person, kind: type[UserItem | AgentItem]) -> str:
    """“2/3” beside the newest message or answer."""
    found = person.item(kind)
    return found.switch.words if found is not None and found.switch is not None else ""


def press_in_row(person: Person, index: int, name: str) -> None:
    """Move the mouse over a message, and click a button of its row."""
    viewport = person.view.canvas_viewport
    person.view.flush()
    viewport.reveal(index)
    QTest.mouseMove(person.view.viewport(), viewport.place_of(index).center())
    row = viewport.message_row
    assert row is not None, index
    hit = next(hit for hit in row.hits if hit.action == f"message_{name}")
    QTest.mouseClick(
        person.view.viewport(), Qt.MouseButton.LeftButton, pos=hit.rect.center().toPoint()
    )


@on_window_loop
async def test_windows_on_two_versions_do_not_fight_for_the_row(tmp_path: Path) -> None:
    """The row is of the version that was opened or written in last; each window keeps its own."""
    script = [
        *(Turn(Text(f"Answer {number}.")) for number in (1, 2)),
        Turn(Text("Never ends. " * 9), faults=[stall(at=6)]),
        Turn(Text("Answer 4.")),
    ]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("First")
        await person.done()
        old = person.session
        items = person.view.canvas.items
        users = [n for n, item in enumerate(items) if isinstance(item, UserItem)]
        press_in_row(person, users[0], "edit")
        person.say(" thoughts")
        await until(lambda: person.session is not old)
        await person.done()
        edited, first = person.session, person.window
        assert (old.info.behind, edited.info.behind) == (True, False)

        person.press(Key.Key_N, CTRL | SHIFT)
        second = await until(lambda: next((w for w in person.program.windows if w is not first), 0))
        await until(second.ready.done)
        second.open_session(old.info.id)
        await until(lambda: (old.info.behind, edited.info.behind) == (False, True))
        person.window.activateWindow()
        person.composer.setFocus()
        await until(person.composer.editor.hasFocus)
        person.say("Go on")
        await until(lambda: (old.info.behind, edited.info.behind) == (True, False))
        await until(lambda: edited.running and person.says("Never ends."))

        second.chat.composer.set_text("And here")
        second.chat.model.submit()
        await until(lambda: (old.info.behind, edited.info.behind) == (False, True))
        await until(lambda: not old.running and second.chat.composer.state == "idle")
        person.window.chat.model.stop()
        await until(lambda: not edited.running and person.composer.state == "idle")
        await first.refresh_chat()
        first.chat.model._chat.show(edited, reloaded=True)  # as after another program's work
        await first.chat.model._chat._tasks.settled()
        assert (old.info.behind, edited.info.behind) == (False, True)
        assert first.chat.session is edited and second.chat.session is old


@on_window_loop
async def test_edits_and_retries_are_versions_of_one_chat(tmp_path: Path) -> None:
    def setup(file: object) -> None:
        file.values.own_models[COMPATIBLE] = ["other-model"]  # type: ignore[attr-defined]

    answers = ("one", "two", "three", "four", "five")
    script = [Turn(Text(f"Answer {which}.")) for which in answers]
    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        person.say("First")
        await person.done()
        person.say("Second")
        await person.done(2)
        old, items = person.session, person.view.canvas.items
        users = [n for n, item in enumerate(items) if isinstance(item, UserItem)]
        press_in_row(person, users[1], "link")
        block = items[users[1]].span.first
        link = f"agent-studio://chat/{old.info.id}#{block}"
        assert QGuiApplication.clipboard().text() == link

        # An edit: the chat has another version, and the list still one chat.
        press_in_row(person, users[1], "edit")
        assert person.composer.text == "Second"
        assert "stay in its old version" in person.window.chat.strip.text
        person.type(" thoughts")
        person.press(Key.Key_Return)
        await until(lambda: person.session is not old)
        await person.done(2)
        await until(lambda: switch(person, UserItem) == "2/2")
        assert texts(person) == ["First", "Answer one.", "Second thoughts", "Answer three."]
        assert "Answer two." not in person.asked[-1] and not switch(person, AgentItem)
        assert not person.window.chat.header.origin.isVisible()
        await until(lambda: person.chats() == ["First"])
        chats = person.window.sidebar.chats
        await until(lambda: chats.currentIndex() == row_of(chats, "First"))
        image = person.view.viewport().grab().toImage()

        # Back by mouse, forth by key; both stay where the eye is.
        edited, scroll = person.session, person.view.scroller.value
        await person.click_hit(UserItem, "version")
        await until(lambda: person.session is old and switch(person, UserItem) == "1/2")
        assert texts(person)[-1] == "Answer two." and person.view.scroller.value == scroll
        assert not person.view.canvas_viewport.focus  # no ring after a click
        await until(lambda: chats.currentIndex() == row_of(chats, "First"))
        assert person.chats() == ["First"]
        person.view.setFocus()
        person.view.canvas_viewport.focus_on(users[1])
        person.press(Key.Key_Right, ALT)
        await until(lambda: person.session is edited and switch(person, UserItem) == "2/2")
        assert person.view.hasFocus() and person.view.canvas_viewport.focus
        person.press(Key.Key_Right, ALT)  # there is no third

        # Another model gives the answer again.
        answer = len(person.view.canvas.items) - 1
        press_in_row(person, answer, "retry")
        picker = await until(QApplication.activePopupWidget, what="the models")
        assert isinstance(picker, ModelPicker)
        QTest.keyClicks(picker.field, "other-model")
        QTest.keyClick(picker.field, Qt.Key.Key_Return)
        await until(lambda: person.session is not edited)
        await person.done(2)
        await until(lambda: switch(person, AgentItem) == "2/2")
        assert switch(person, UserItem) == "2/2"
        assert texts(person) == ["First", "Answer one.", "Second thoughts", "Answer four."]
        sent = person.exchanges[-1].json
        assert sent["model"] == "other-model" and "Answer three." not in str(sent)
        assert person.item(AgentItem).name.endswith("Version 2 of 2")
        assert person.view.viewport().grab().toImage() != image

        person.window.activateWindow()
        person.composer.setFocus()
        await until(person.composer.editor.hasFocus)
        person.say("Third")
        await person.done(3)
        assert "Answer four." in person.asked[-1] and "Answer two." not in person.asked[-1]
        assert person.chats() == ["First"]
        QTest.mouseMove(person.view.viewport(), QPoint(5, 5))
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        await person.open_chat("First")
        await until(lambda: texts(person)[-1:] == ["Answer five."])
        lines = [item for item in person.view.canvas.items if isinstance(item, AgentItem)]
        await until(lambda: lines[1].switch is not None)
