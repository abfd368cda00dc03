"""Several windows of one program: one truth in all, each with its own place and message."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from studio.simulator import Call, Text, Turn
from studio.ui.app.main_window import MainWindow
from studio.ui.settings.pages.general import GeneralPage
from studio.ui.transcript.items.approval_item import ApprovalItem
from support.languages import language
from support.waiting import until
from support.window import (
    CTRL,
    SHIFT,
    Key,
    Person,
    alone,
    at_window,
    in_focus,
    on_window_loop,
    popup,
    row_of,
)

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


async def another(person: Person) -> MainWindow:
    """One more window, by its key."""
    before = set(person.program.windows)
    person.press(Key.Key_N, CTRL | SHIFT)
    (window,) = set(person.program.windows) - before
    await until(window.ready.done)
    await until(window.isActiveWindow)
    return window


def says(window: MainWindow, text: str) -> bool:
    window.chat.view.flush()
    return any(text in item.name or text in item.source() for item in window.chat.view.canvas.items)


@on_window_loop
async def test_two_windows_show_one_chat(tmp_path: Path) -> None:
    ask = Turn(Call("run", {"command": "true"}), stop="tool_use")
    script = [Turn(Text("First answer.")), ask, Turn(Text("Second answer."))]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        first = person.window
        person.say("Hello")
        await person.done()
        session = person.session
        second = await another(person)
        assert second.pos() != first.pos() and second.chat.session is None
        second.chat.composer.set_text("of the second")
        first.new_chat()
        await until(lambda: first.chat.session is None)
        assert first.chat.composer.text == ""
        for window in (first, second):
            window.open_session(session.info.id)
            await until(lambda window=window: window.chat.session is session)
            assert says(window, "First answer.")

        # What is written in one stands in the other, and goes with it.
        first.chat.composer.set_text("Run it")
        assert second.chat.composer.text == "Run it"
        second.chat.composer.editor.setFocus()
        QTest.keyClick(second.chat.composer.editor, Qt.Key.Key_Return)
        await until(lambda: first.chat.composer.state == second.chat.composer.state == "waiting")
        assert first.chat.composer.text == second.chat.composer.text == ""
        card = await until(
            lambda: next(
                (i for i in first.chat.view.canvas.items if isinstance(i, ApprovalItem)), 0
            )
        )
        assert any(isinstance(item, ApprovalItem) for item in second.chat.view.canvas.items)
        session.answer_permission(card.question.id, "once")
        await until(lambda: not session.running)
        assert says(first, "Second answer.") and says(second, "Second answer.")

        # A choice and a title of one are in the other.
        first.chat.model.options.choose_permission_mode("auto")
        await until(lambda: second.chat.model.options.permission_mode == "auto")
        second.sidebar.rename.emit(session.info.id, "Renamed")
        await until(lambda: person.chats() == ["Renamed"])
        await until(lambda: first.chat.header.title.accessibleName() == "Renamed")

        # Deleted in one, it is gone from both.
        first.sidebar.delete.emit([session.info.id])
        await until(lambda: first.chat.session is None and second.chat.session is None)
        assert second.chat.composer.text == "of the second"


@on_window_loop
async def test_each_closes_alone_and_comes_back_where_it_was(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        program, first = person.program, person.window
        second = await another(person)
        third = await another(person)
        assert [window.number for window in program.windows] == [0, 1, 2]
        place = QRect(120, 90, 1010, 690)
        second.setGeometry(place)
        second.chat.composer.set_text("unsent")

        second.activateWindow()
        await until(second.isActiveWindow)
        second.preferences.open("about")
        dialog = program.preferences.dialog
        assert dialog is not None and dialog.parentWidget() is second and dialog.isVisible()
        first.activateWindow()
        await until(first.isActiveWindow)
        first.preferences.open("data")  # there is one such window
        assert program.preferences.dialog is not dialog and not dialog.isVisible()
        program.preferences.dialog.close()

        assert person.engine.settings.values.other_windows == []
        second.activateWindow()
        await until(second.isActiveWindow)
        QTest.keyClick(second, Qt.Key.Key_W, CTRL)
        await until(lambda: program.windows == [first, third])
        await until(lambda: not isValid(second))
        assert not program.closed.done()
        await until(lambda: len(person.engine.settings.values.other_windows) == 1)
        program.server.changed.emit("failed", "why")  # nobody listens who is gone
        await person.engine.refresh_models("ollama")
        first.activateWindow()
        await until(first.isActiveWindow)
        again = await another(person)
        assert again.number == 1 and again.geometry() == place
        assert again.chat.composer.text == "unsent"

        first.close()  # the oldest one goes, and the others stay
        await until(lambda: program.windows == [third, again])
        again.activateWindow()
        await until(again.isActiveWindow)
        QTest.keyClick(again, Qt.Key.Key_Q, CTRL)  # one quit ends all
        await until(program.closed.done)
        assert third.isHidden() and again.isHidden()
        assert not any(window.isVisible() for window in QApplication.topLevelWidgets())


@on_window_loop
async def test_a_chat_opens_in_a_window_of_its_own(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [Turn(Text("Yes."))]) as person:
        person.say("Hello & goodbye")
        await person.done()
        session, chats = person.session, person.window.sidebar.chats
        person.window.new_chat()
        index = await until(lambda: row_of(chats, "Hello & goodbye"))
        place = chats.visualRect(index).center()
        QTest.mouseClick(chats.viewport(), Qt.MouseButton.MiddleButton, pos=place)
        await until(lambda: len(person.program.windows) == 2)
        second = person.program.windows[1]
        await until(lambda: second.chat.session is session)
        assert person.window.chat.session is None
        await until(lambda: second.windowTitle().startswith("Hello & goodbye"))

        menu = person.window.menu_actions.menus["Window"]
        menu.aboutToShow.emit()
        lines = [line for line in menu.actions() if line.isCheckable()]
        assert sorted(line.text()[3:] for line in lines) == [
            "Agent Studio",
            "Hello && goodbye – Agent Studio",
        ]
        assert [line.isChecked() for line in lines].count(True) == 1
        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        next(line for line in lines if "Hello" in line.text()).trigger()
        await until(second.isActiveWindow)

        # The palette does the same with Ctrl+Enter.
        second.close()
        await until(lambda: len(person.program.windows) == 1)
        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        person.press(Key.Key_K, CTRL)
        palette = await until(lambda: person.window._palette)
        person.type("#hello")
        await until(lambda: palette.list.current and palette.list.current.entry.group == "chats")
        person.press(Key.Key_Return, CTRL)
        await until(lambda: len(person.program.windows) == 2)
        await until(lambda: person.program.windows[1].chat.session is session)
        assert person.window.chat.session is None


@on_window_loop
async def test_windows_that_close_at_once_end_the_program(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        person.engine.settings.values.other_windows = ["é, no place"]
        second = await another(person)
        second.chat.composer.set_text("unsent")
        second.close()
        person.window.close()
        await until(person.program.closed.done)
        assert second.done  # what was written in it is saved


@on_window_loop
async def test_another_language_at_once_while_a_turn_runs(tmp_path: Path) -> None:
    """Every window is made anew with its chat, page and message; the turn goes on."""
    ask = Turn(Text("First."), Call("run", {"command": "true"}), stop="tool_use")
    script = [ask, Turn(Text("Second."))]
    with language("en"):
        async with at_window(tmp_path, "openai-compatible", script) as person:
            program, first = person.program, person.window
            person.say("Hello")
            await until(lambda: person.composer.state == "waiting")
            session = person.session
            first.chat.composer.set_text("not sent yet")
            second = await another(person)
            second.chat.composer.set_text("of the second")
            second.pages.show_page("drafts")
            places = [window.geometry() for window in program.windows]
            first.activateWindow()
            await until(first.isActiveWindow)
            first.preferences.open("general")
            dialog = first.preferences.dialog
            assert dialog is not None
            general = dialog.pages["general"]
            assert isinstance(general, GeneralPage)
            person.click(general._language)
            person.pick(await until(popup), "Deutsch")

            await until(lambda: not isValid(first) and not isValid(second))
            german, other = program.windows
            await until(lambda: program.preferences.dialog is not dialog)
            shown = await until(lambda: program.preferences.dialog)
            assert shown.parentWidget() is german and shown.windowTitle() == "Einstellungen"
            page = shown.pages["general"]
            assert isinstance(page, GeneralPage)
            await until(lambda: in_focus(page._language))
            assert [window.geometry() for window in program.windows] == places
            assert german.isVisible() and other.isVisible()
            assert german.sidebar.field.placeholderText() == "Chats suchen"
            assert german.chat.session is session and says(german, "First.")
            assert german.chat.composer.text == "not sent yet"
            assert german.chat.composer.state == "waiting"
            assert other.pages.shown == "drafts"
            assert other.chat.composer.text == "of the second"

            card = next(i for i in german.chat.view.canvas.items if isinstance(i, ApprovalItem))
            assert "will einen Befehl ausführen" in card.name
            session.answer_permission(card.question.id, "once")
            await until(lambda: not session.running)
            assert says(german, "Second.")

            person.click(page._language)
            person.pick(await until(popup), "English")  # and back
            await until(lambda: not isValid(german) and not isValid(other))
            english = program.windows[0]
            assert english.sidebar.field.placeholderText() == "Search chats"
            assert english.chat.composer.text == "not sent yet"
            await until(lambda: program.preferences.dialog is not shown)
            box = await until(lambda: program.preferences.dialog)
            assert box.windowTitle() == "Settings"
