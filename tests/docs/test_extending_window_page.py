"""``docs/extending/window_page.md`` is followed, and the page is there in the real window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from studio.simulator import Text, Turn
from studio.ui.pages import registry
from support.extending import follow, steps
from support.window import CTRL, Key, alone, at_window, on_window_loop, until

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def test_one_new_file_and_two_lines() -> None:
    new, *lines = steps("window_page.md")
    assert new.kind == "Write"
    assert [(line.kind, line.path, line.code.count("\n")) for line in lines] == [
        ("Add", "studio/ui/pages/registry.py", 1),
        ("Add", "studio/ui/pages/__init__.py", 1),
    ]


def test_every_page_of_the_registry_is_found() -> None:
    from studio.ui.pages.page import Page

    for entry in registry.PAGES:
        page = entry.load()
        assert isinstance(page, type) and issubclass(page, Page), entry


@on_window_loop
async def test_the_example_is_a_page_of_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow("window_page.md", tmp_path, monkeypatch)
    async with at_window(tmp_path, "anthropic", [Turn(Text("Hello."))]) as person:
        person.say("Hello")
        await person.done()
        row = person.window.sidebar._rows["chat_counts"]
        assert row.text() == "Chat counts"
        person.press(Key.Key_6, CTRL)

        def texts() -> list[str]:
            page = person.window.pages.currentWidget()
            return [label.text() for label in page.findChildren(QLabel)]

        await until(lambda: "1 chats" in texts())
        assert "Chat counts" in texts() and "Coder" in texts()
        person.press(Key.Key_1, CTRL)
        await until(lambda: person.window.pages.shows_chat)
        person.click(row)
        await until(lambda: not person.window.pages.shows_chat)
        menu = person.window.menu_actions.by_page["chat_counts"]
        assert menu.shortcut().toString() == "Ctrl+6"
