"""``docs/extending/settings_page.md`` is followed, and the page is there in the real window."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.storage.paths import Paths
from studio.ui.settings import registry
from support.command import Command
from support.extending import copy_with, follow, steps
from support.window import alone, at_window, on_window_loop, until

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def test_one_new_file_and_two_lines() -> None:
    new, *lines, setting = steps("settings_page.md")
    assert (new.kind, setting.name) == ("Write", "Settings")
    assert [(line.kind, line.path, line.code.count("\n")) for line in lines] == [
        ("Add", "studio/ui/settings/registry.py", 1),
        ("Add", "studio/ui/settings/pages/__init__.py", 1),
    ]


def filed(path: Path) -> dict[str, object]:
    """What is in the settings file; nothing as long as there is none."""
    return json.loads(path.read_text()) if path.exists() else {}


def test_every_page_of_the_registry_is_found() -> None:
    from studio.ui.settings.form import SettingsPage

    for entry in registry.PAGES:
        page = entry.load()
        assert isinstance(page, type) and issubclass(page, SettingsPage), entry


@on_window_loop
async def test_the_example_is_a_page_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow("settings_page.md", tmp_path, monkeypatch)
    async with at_window(tmp_path, "anthropic", []) as person:
        settings = person.window.settings
        person.window.preferences.open("quiet")
        dialog = person.window.preferences.dialog
        assert dialog is not None and list(dialog.pages)[-1] == "quiet"
        page = dialog.pages["quiet"]
        await until(page.isVisible)
        assert dialog.list.currentIndex().data() == "Quiet"
        person.click(page.quiet)
        assert settings.values.notify is False
        await until(lambda: filed(settings.path).get("notify") is False)
    async with at_window(tmp_path, "anthropic", []) as person:  # a restart
        settings = person.window.settings
        person.window.preferences.open("quiet")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["quiet"]
        await until(page.isVisible)
        assert page.quiet.isChecked()
        settings.values.notify = True
        dialog.refresh()
        assert not page.quiet.isChecked()


async def test_a_new_setting_is_one_line(tmp_path: Path) -> None:
    terminal = Command(tmp_path, PYTHONPATH=str(copy_with("settings_page.md", tmp_path)))
    changed = await terminal("config", "set", "quiet_at_night", "true")
    assert changed.code == 0, changed.err
    file = Paths.below(terminal.home).settings
    assert filed(file)["quiet_at_night"] is True
    terminal.change(quiet_at_night="perhaps")
    read = await terminal("config", "get", "quiet_at_night", "--json")
    assert json.loads(read.out) is False
