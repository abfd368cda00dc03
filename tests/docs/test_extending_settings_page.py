"""``docs/extending/settings_page.md`` is followed, and the page is there in the real window."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.ui.settings import registry
from support.extending import follow, steps
from support.window import alone, at_window, on_window_loop, until

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def test_one_new_file_and_one_line() -> None:
    new, line = steps("settings_page.md")
    assert (new.kind, line.kind) == ("Write", "Add")
    assert line.path == "studio/ui/settings/registry.py" and line.code.count("\n") == 1


def test_every_page_of_the_registry_is_found() -> None:
    from studio.ui.settings.form import SettingsPage

    for entry in registry.PAGES:
        page = entry.load()
        assert isinstance(page, type) and issubclass(page, SettingsPage), entry


@on_window_loop
async def test_the_example_is_a_page_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow("settings_page.md", tmp_path / "copy", monkeypatch)
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
        await until(lambda: settings.path.exists())
        assert json.loads(settings.path.read_text())["notify"] is False
        settings.values.notify = True
        dialog.refresh()
        assert not page.quiet.isChecked()
