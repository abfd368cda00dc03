"""Another program changes the settings while the window is open: the command line, an editor."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from studio.storage.config.settings import SettingsFile
from studio.ui.settings.dialog import SettingsDialog
from support.command import Command
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def filed(person: Person) -> dict[str, object]:
    return json.loads(person.window.settings.path.read_text())


async def watched(person: Person) -> None:
    """The settings are on disk as they are, and the file is watched."""
    await person.window.settings.save()
    watcher = person.window.preferences._watcher
    await until(lambda: str(person.window.settings.path) in watcher.files())


async def opened(person: Person, page: str) -> SettingsDialog:
    await until(lambda: person.engine.catalogue.listing("ollama").state == "ready")
    person.window.preferences.open(page)
    dialog = person.window.preferences.dialog
    assert dialog is not None
    dialog.activateWindow()
    await until(dialog.isActiveWindow)
    await until(lambda: len(dialog._tasks) == 0)
    return dialog


@on_window_loop
async def test_what_the_command_line_sets_counts_at_once(tmp_path: Path) -> None:
    """T-7: how agents may act; how it looks; what a new chat runs on; the server."""
    async with at_window(tmp_path, "ollama", []) as person:
        window, choices = person.window, person.window.chat.model.options
        await watched(person)
        dialog = await opened(person, "permissions")
        assert not window.theme.dark and dialog.pages["permissions"].mode.current == "ask"
        terminal = Command(tmp_path, AGENT_STUDIO_HOME=str(window.settings.path.parent))
        ended = await terminal("config", "set", "default_permission_mode", "plan")
        assert ended.code == 0, ended.err
        page = dialog.pages["permissions"]
        await until(lambda: page.mode.current == choices.permission_mode == "plan")
        other = SettingsFile(window.settings.path)
        await other.load()
        other.values.theme, other.values.server_port = "dark", 8901
        other.values.default_model["ollama"] = "other"
        await other.save()
        await until(lambda: window.theme.dark and choices.model_id == "other")
        dialog.open_page("server")
        assert dialog.pages["server"].port.text() == "8901"
        dialog.close()


@on_window_loop
async def test_what_is_typed_here_and_what_is_set_there_both_stay(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        file = person.window.settings
        await watched(person)
        dialog = await opened(person, "server")
        await until(lambda: dialog.pages["server"].port.isVisible())
        port, host = dialog.pages["server"].port, dialog.pages["server"].host
        port.setFocus()
        port.selectAll()
        QTest.keyClicks(port, "9000")
        other = SettingsFile(file.path)
        await other.load()
        other.values.server_port, other.values.server_host = 7000, "127.0.0.2"
        other.values.base_urls["anthropic"] = "http://127.0.0.1:9"
        await other.save()
        await until(lambda: host.text() == "127.0.0.2")
        assert port.text() == "9000"  # not taken out of the person's hands
        QTest.keyClick(port, Key.Key_Return)
        await until(lambda: filed(person)["server_port"] == 9000)
        assert filed(person)["server_host"] == "127.0.0.2"
        assert file.values.base_urls.keys() == {"ollama", "anthropic"}
        dialog.close()


@on_window_loop
async def test_an_editor_that_writes_the_file_in_place_is_heard(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        window, path = person.window, person.window.settings.path
        await watched(person)
        for theme, dark in (("dark", True), ("light", False), ("dark", True)):
            data = {**filed(person), "theme": theme}
            await asyncio.to_thread(path.write_text, json.dumps(data))
            await until(lambda dark=dark: window.theme.dark is dark)
        await asyncio.to_thread(path.write_text, '{"theme": ')
        await window.preferences._refresh()  # whether or not the watcher was quicker
        assert window.theme.dark


@on_window_loop
async def test_a_new_chat_begins_in_the_mode_that_is_set(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        choices = person.window.chat.model.options
        await person.choose(person.composer.mode, "Plan")
        assert choices.permission_mode == "plan"
        person.window.settings.values.text_size = 110
        await person.window.preferences._apply()
        assert choices.permission_mode == "plan"  # what was chosen for this chat stays
        person.window.new_chat()
        assert choices.permission_mode == "ask"
