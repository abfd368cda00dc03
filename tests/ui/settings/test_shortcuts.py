"""The Shortcuts page and the sheet of all keys: real keys, changed in their rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.ui.app.actions import Action, keys_in_force, menu_entries
from studio.ui.app.key_sheet import KeySheet, _Line
from studio.ui.app.shortcut_choice import portable, refusal, shortcuts, with_keys
from studio.ui.settings.pages.shortcuts import ShortcutsPage
from support.waiting import until
from support.window import CTRL, SHIFT, Key, Person, alone, at_window, message, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


async def page_of(person: Person) -> ShortcutsPage:
    person.window.preferences.open("shortcuts")
    dialog = person.window.preferences.dialog
    assert dialog is not None
    await until(dialog.isActiveWindow)
    page = dialog.pages["shortcuts"]
    assert isinstance(page, ShortcutsPage)
    return page


def key_of(person: Person, action: Action) -> str:
    return person.window.menu_actions.by_action[action].shortcut().toString()


@on_window_loop
async def test_a_key_is_recorded_replaced_and_given_back(tmp_path: Path) -> None:
    file = tmp_path / "studio" / "settings.json"
    async with at_window(tmp_path, "ollama", []) as person:
        page = await page_of(person)
        assert {*page.rows} == {one.name for one in menu_entries() if one.name} - {"running"}

        row = page.rows["inspector"]
        row.edit.click()
        assert row.recorder.hasFocus()
        QTest.keyClick(row.recorder, Key.Key_I, CTRL | SHIFT)
        assert key_of(person, Action.INSPECTOR) == "Ctrl+Shift+I"
        assert row.was.text() == "was Ctrl+I" and row.recorder.isHidden() is False
        assert row.edit.hasFocus() and not row.recorder.isVisible()
        assert "Ctrl+Shift+I" in person.window.chat.header.inspector.toolTip()

        row = page.rows["larger_text"]
        row.edit.click()
        QTest.keyClick(row.recorder, Key.Key_B, CTRL)
        assert row.said.text() == (
            "Ctrl+B is “Sidebar”. Replacing it leaves “Sidebar” without a key."
        )
        assert key_of(person, Action.LARGER_TEXT) == "Ctrl++", "nothing is replaced unasked"
        row.replace.click()
        assert key_of(person, Action.LARGER_TEXT) == "Ctrl+B"
        assert key_of(person, Action.SIDEBAR) == ""
        page.which.segment(2).click()
        assert page.rows["sidebar"].isVisible() and not row.isVisible()
        page.which.segment(1).click()
        assert row.isVisible() and not page.rows["quit"].isVisible()
        page.which.segment(0).click()

        row = page.rows["new_chat"]
        row.edit.click()
        for key, held in ((Key.Key_U, CTRL), (Key.Key_N, Qt.KeyboardModifier.NoModifier)):
            QTest.keyClick(row.recorder, key, held)
            assert row.said.text() and not row.replace.isVisible() and row.recorder.isVisible()
        QTest.keyClick(row.recorder, Key.Key_Escape)
        assert not row.recorder.isVisible() and key_of(person, Action.NEW_CHAT) == "Ctrl+N"
        row.edit.click()
        QTest.keyClick(row.recorder, Key.Key_Backspace)
        assert key_of(person, Action.NEW_CHAT) == ""

        page.search.setText("chat ab")
        assert [name for name, one in page.rows.items() if one.isVisible()] == ["chat_above"]
        page.search.setFocus()
        QTest.keyClick(page.search, Key.Key_B, CTRL)
        assert [name for name, one in page.rows.items() if one.isVisible()] == ["larger_text"]
        page.search.setText("no such action")
        assert page.nothing.isVisible()
        page.search.clear()
        stored = {
            "inspector": "Ctrl+Shift+I",
            "larger_text": "Ctrl+B",
            "sidebar": "",
            "new_chat": "",
        }
        await until(
            lambda: file.exists() and json.loads(file.read_text())["shortcuts"] == stored,
            "they are stored",
        )

    async with at_window(tmp_path, "ollama", []) as person:
        window = person.window
        shown = window.sides.sidebar_shown
        person.press(Key.Key_B, CTRL)
        assert window.theme.scale > 1.0, "after a restart the key does what it was given"
        assert window.sides.sidebar_shown is shown
        person.press(Key.Key_Slash, CTRL)
        sheet = next(one for one in QApplication.topLevelWidgets() if isinstance(one, KeySheet))
        lines = dict(sheet.lines)
        assert lines["Larger text"] == "Ctrl+B" and lines["Send"] == "Enter"
        assert "Sidebar" not in lines and "New chat" not in lines
        largest = int(sheet.screen().availableSize().width() * 0.9)
        cut = [one for one in sheet.findChildren(_Line) if one.width() < one.sizeHint().width()]
        assert not cut or sheet.width() >= largest - 1, "words of keys are cut"
        sheet.close()
        page = await page_of(person)
        page.rows["larger_text"].reset.click()
        assert key_of(person, Action.LARGER_TEXT) == "Ctrl++"
        page.reset.click()
        box = await until(message)
        next(one for one in box.buttons() if one.text() == "Reset all").click()
        assert window.settings.values.shortcuts == {} and not page.reset.isEnabled()
        assert key_of(person, Action.NEW_CHAT) == "Ctrl+N"
        assert key_of(person, Action.SIDEBAR) == "Ctrl+B"


def test_keys_that_must_not_be_global_are_refused_with_the_reason() -> None:
    for keys in (
        "Ctrl+E", "Ctrl+U", "Ctrl+.", "Ctrl+Shift+U", "A", "Shift+A", "Return", "Ctrl+Return",
        "Up", "Esc", "Tab", "Ctrl+Tab", "Ctrl+C", "Ctrl+Shift+Z", "Ctrl+Left", "Ctrl+Shift+Home",
        "Alt+F4", "Ctrl+Alt+Q", "Ctrl+K, Ctrl+B", "", "Ctrl+S", "Ctrl+D", "F8",
    ):  # fmt: skip
        assert refusal(keys), keys
    for keys in ("Ctrl+K", "F2", "Shift+F6", "Alt+Up", "Ctrl+Shift+F", "Ctrl+/", "Ctrl++", "F12"):
        assert refusal(keys) == "", keys
    for entry in menu_entries():
        assert not entry.keys or refusal(entry.keys) == "", entry


def test_no_key_is_given_twice() -> None:
    keys = [one for one in keys_in_force({}).values() if one]
    assert len(keys) == len(set(keys))
    # A key of the person's own goes before that of an action which came later with the program.
    chosen = {"quit": "Ctrl+N", "of another version": "Ctrl+B"}
    found = keys_in_force(chosen)
    assert (found["quit"], found["new_chat"]) == ("Ctrl+N", "")
    by_hand = keys_in_force({"quit": "ctrl+n", "settings": "no such key"})
    assert (by_hand["quit"], by_hand["new_chat"], by_hand["settings"]) == ("Ctrl+N", "", "")
    back = with_keys(with_keys({}, "quit", "Ctrl+N"), "new_chat", "Ctrl+N")
    assert back == {"quit": ""}, "the last one has it, and a first key is not stored"
    assert with_keys(back, "quit", "Ctrl+Q") == {}
    assert portable("ctrl+shift+f") == "Ctrl+Shift+F"
    assert not [one for one in shortcuts({}) if one.changed]
