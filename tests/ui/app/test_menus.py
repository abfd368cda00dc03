"""The menus: letters without a clash, editing where the keyboard is, a bar that can be hidden."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QMessageBox

from studio.simulator import Text, Turn
from studio.ui import translation
from studio.ui.app.actions import Action, install
from studio.ui.app.menus import EditMenu, with_letters
from studio.ui.translation import LANGUAGES
from studio.ui.widgets import message_box
from support.languages import language
from support.waiting import until
from support.window import ALT, Key, alone, at_window, on_window_loop

__all__ = ["alone"]


def letter(text: str) -> str:
    return text.replace("&&", "").partition("&")[2][:1].lower()


def test_letters_are_the_first_of_a_word_where_they_can_be() -> None:
    assert with_letters(["Cut", "Copy", "A & B"]) == ["&Cut", "C&opy", "&A && B"]
    assert sum("&" in line for line in with_letters(["ab", "a", "b", "Open…"])) == 3
    assert with_letters(["ab", "a"]) == ["a&b", "&a"]
    assert with_letters(["A", "A", "…"]) == ["&A", "A", "…"]


@pytest.mark.parametrize("name", ["en", "de"])
def test_no_two_lines_of_a_menu_have_one_letter(alone: object, name: str) -> None:
    with language(name):
        window = QMainWindow()
        handlers = dict.fromkeys(Action, lambda: None)
        made = install(window, handlers, lambda _: None)
        bars = [line.text() for line in window.menuBar().actions()]
        menus = [[a.text() for a in m.actions() if a.text()] for m in made.menus.values()]
        for lines in (bars, *menus):
            letters = [letter(line) for line in lines]
            assert all(letters) and len(set(letters)) == len(letters), lines
        window.deleteLater()


@on_window_loop
async def test_editing_acts_where_the_keyboard_is(alone: object, tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [Turn(Text("Answer."))]) as person:
        window, clipboard = person.window, QGuiApplication.clipboard()
        edit = window.findChild(EditMenu)
        lines: dict[str, QAction] = {one.text: line for one, line in edit.lines}
        menu = window.menu_actions.menus["Edit"]

        def enabled() -> set[str]:
            menu.aboutToShow.emit()
            return {text for text, line in lines.items() if line.isEnabled()}

        clipboard.clear()
        assert enabled() == set()
        person.type("some words")
        assert enabled() == {"Undo", "Select all"}
        window.menuBar().setFocus()  # as with Alt: the text that had the keyboard counts
        lines["Select all"].trigger()
        assert enabled() == {"Undo", "Cut", "Copy", "Select all"}
        lines["Cut"].trigger()
        assert person.composer.text == "" and clipboard.text() == "some words"
        assert {"Paste", "Paste without formatting"} < enabled()
        lines["Paste without formatting"].trigger()
        lines["Paste"].trigger()
        assert person.composer.text == "some words" * 2
        lines["Undo"].trigger()
        assert person.composer.text == "some words" and "Redo" in enabled()

        person.composer.setFocus()
        person.press(Key.Key_Return)
        await person.done()
        person.view.setFocus()
        person.view.canvas_viewport.focus_on(1)
        assert enabled() == {"Copy", "Select all"}
        lines["Select all"].trigger()
        lines["Copy"].trigger()
        assert "some words" in clipboard.text() and "Answer." in clipboard.text()


@on_window_loop
async def test_a_hidden_menu_bar_is_shown_by_alt(alone: object, tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        window, bar = person.window, person.window.menuBar()
        switch = window.menu_actions.by_action[Action.MENU_BAR]
        assert bar.isVisible() and switch.isChecked()
        switch.trigger()
        assert not bar.isVisible() and not switch.isChecked()
        assert not person.engine.settings.values.menu_bar
        editor = person.composer.editor
        editor.setFocus()
        for between in (Key.Key_Up, None):
            QTest.keyPress(editor, Key.Key_Alt)
            if between is not None:
                QTest.keyClick(editor, between)
            QTest.keyRelease(editor, Key.Key_Alt)
            assert bar.isVisible() is (between is None)
        menu = await until(QApplication.activePopupWidget)
        assert isinstance(menu, QMenu)
        menu.close()
        await until(lambda: not bar.isVisible())
        assert window.focusWidget() is editor  # what is typed next goes on where it was
        switch.trigger()
        assert bar.isVisible()


@on_window_loop
async def test_letters_are_underlined_only_for_who_uses_the_keyboard(
    alone: object, tmp_path: Path
) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        window, bar = person.window, person.window.menuBar()
        editor = person.composer.editor
        file = window.menu_actions.menus["File"]
        for theme in ("light", "dark"):  # another style sheet wraps the styles anew
            window.theme.set(theme)
            plain = bar.grab().toImage()
            QTest.keyPress(editor, Key.Key_Alt)
            assert bar.grab().toImage() != plain
            QTest.keyClick(editor, Key.Key_Up, ALT)
            release = QKeyEvent(QEvent.Type.KeyRelease, Key.Key_Alt, ALT)  # X11 says it is held yet
            QApplication.sendEvent(editor, release)
            await until(lambda plain=plain: bar.grab().toImage() == plain)

        file.popup(window.rect().center())  # by the mouse
        by_mouse = file.grab().toImage()
        file.close()
        QTest.keyPress(editor, Key.Key_Alt)
        file.popup(window.rect().center())  # by Alt and its letter
        QTest.keyRelease(file, Key.Key_Alt)
        await until(lambda: not QApplication.keyboardModifiers())
        assert file.grab().toImage() != by_mouse, "the letters are there to be read"
        file.close()
        await until(lambda: bar.grab().toImage() == plain)


@on_window_loop
@pytest.mark.parametrize("name", LANGUAGES)
async def test_all_lines_of_a_text_menu_have_letters(
    alone: object, tmp_path: Path, name: str
) -> None:
    """Issue 12, 2.9: Qt leaves two of its own without one; no two have the same."""
    async with at_window(tmp_path, "ollama", []) as person:
        translation.use(name, QApplication.instance())
        person.type("word")
        for field in (person.window.sidebar.field, person.composer.editor):
            menu = field.createStandardContextMenu()
            letters = [letter(one.text()) for one in menu.actions() if not one.isSeparator()]
            assert len(letters) >= 7 and all(letters)
            assert len(set(letters)) == len(letters), letters
        menu.popup(person.window.rect().center())
        QTest.keyClick(menu, Qt.Key(ord(letters[-1].upper())))
        await until(lambda: not menu.isVisible())
        assert person.composer.editor.textCursor().selectedText() == "word"
        translation.use("en", QApplication.instance())


@on_window_loop
async def test_letters_of_a_box_are_underlined_while_alt_is_held(
    alone: object, tmp_path: Path
) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        box = message_box(person.window, "Remove", "Remove it?")
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        cancel.setText("&Cancel")  # as some desktops write it
        box.addButton("Remove", QMessageBox.ButtonRole.AcceptRole)
        box.open()
        await until(box.isVisible)
        assert cancel.icon().isNull() and box.iconPixmap().isNull()
        plain = cancel.grab().toImage()
        QTest.keyPress(cancel, Key.Key_Alt)
        held = cancel.grab().toImage()
        assert held != plain
        QTest.keyRelease(cancel, Key.Key_Alt)
        assert cancel.grab().toImage() == plain
        box.close()


@pytest.mark.skipif(sys.platform == "darwin", reason="the system's own menu bar")
@on_window_loop
async def test_an_event_of_the_window_asks_no_style_in_python(
    alone: object, tmp_path: Path
) -> None:
    """G-3: a menu bar looks at each event of its window, of which a growing answer makes many."""
    asked: list[str] = []

    def seen(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "styleHint":
            asked.append(frame.f_code.co_filename)

    async with at_window(tmp_path, "ollama", [Turn(Text("Answer."))]) as person:
        sys.setprofile(seen)
        try:
            QApplication.sendEvent(person.window, QEvent(QEvent.Type.User))
        finally:
            sys.setprofile(None)
    assert not asked
