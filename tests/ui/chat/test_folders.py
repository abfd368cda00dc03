"""Folders of chats: the program's own are neither named nor offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QFileDialog

from studio.storage.config.settings import SettingsFile
from studio.ui.chat.suggestions import SuggestionButton
from studio.ui.transcript.items.approval_item import ApprovalItem
from support.waiting import until
from support.window import Key, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_the_demos_folder_is_neither_named_nor_offered(tmp_path: Path) -> None:
    demo = str(tmp_path / "studio" / "demo")

    def used_before(settings: SettingsFile) -> None:
        """An earlier version kept the demo's folder like one that was chosen."""
        settings.values.last_folder = demo
        settings.values.recent_folders = [demo, str(tmp_path)]

    async with at_window(tmp_path, "ollama", [], first_run=True, setup=used_before) as person:
        window, options = person.window, person.window.chat.model.options
        assert person.engine.settings.values.recent_folders == [str(tmp_path)]
        person.press(Key.Key_1)
        await until(lambda: person.composer.text == "What is in this folder?")
        await until(lambda: person.composer.folder.text() == "Demo files")
        await until(person.composer.editor.hasFocus)
        person.press(Key.Key_Return)
        await person.done()
        assert person.session.info.folder == demo
        assert window.chat.header.folder.text() == "Demo files"
        rows = window.sidebar.chats.chats
        index = rows.index_of(person.session.info.id)
        tip = rows.data(index, int(Qt.ItemDataRole.ToolTipRole))
        assert "Demo files" in str(tip) and demo not in str(tip)
        person.say("Run `ls`")
        await until(lambda: person.composer.state == "waiting" and person.item(ApprovalItem))
        facts = [value for _, value, _ in person.item(ApprovalItem)._facts]
        assert "Demo files" in facts and not any("demo" in fact for fact in facts)
        person.session.answer_permission(person.session.transcript.questions[0].id, "deny")
        await person.done(2)
        values = person.engine.settings.values
        assert (values.last_folder, values.recent_folders) == ("", [str(tmp_path)])

        window.chat.menus.choose_folder()
        dialog = await until(lambda: window.findChild(QFileDialog))
        assert dialog.directory().absolutePath() == str(Path.home())
        dialog.reject()

        values.default_provider = "ollama"  # from now on chats are no demo
        window.new_chat()
        await until(lambda: person.composer.folder.text() == "No folder")
        assert options.folder == str(tmp_path / "studio" / "chats")
        await until(lambda: window.chat.suggestions.findChildren(SuggestionButton))
        said = [button.text() for button in window.findChildren(QAbstractButton)]
        assert not [text for text in said if "studio/" in text]
        window.activateWindow()
