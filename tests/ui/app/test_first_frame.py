"""The window before its engine is there: what it shows stays, and nothing is half shown (G-1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

from studio.agent.engine import Engine
from studio.ui.app.main_window import MainWindow
from studio.ui.chat.composer import Editor
from studio.ui.pages.first_run import FirstRun
from studio.ui.widgets import MenuButton
from support.window import alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


Shown: TypeAlias = tuple[bool, list[str], str]
"""Whether the chat is to be seen, what its menus say, and what has the keyboard."""


def shown_before(seen: list[Shown]) -> Callable[[Engine], Awaitable[None]]:
    """Looks at the window when the engine is made, and notes what it shows."""

    async def look(_: Engine) -> None:
        window = next(w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow))
        menus = window.chat.composer.findChildren(MenuButton)
        focus = window.focusWidget()
        words = [one.text() for one in menus if one.isVisible()]
        seen.append((window.chat.isVisible(), words, focus.accessibleName() if focus else ""))

    return look


@on_window_loop
async def test_the_first_start_shows_no_chat_before_the_ways_to_begin(tmp_path: Path) -> None:
    seen: list[Shown] = []
    look = shown_before(seen)
    async with at_window(tmp_path, "ollama", [], first_run=True, prepare=look) as person:
        assert isinstance(person.window.pages.currentWidget(), FirstRun)
        assert seen == [(False, [], "")]


@on_window_loop
async def test_menus_come_with_their_words(tmp_path: Path) -> None:
    seen: list[Shown] = []
    look = shown_before(seen)
    async with at_window(tmp_path, "anthropic", [], prepare=look) as person:
        assert seen == [(True, [], "Message")]  # a person types already
        composer = person.composer
        assert composer.editor.placeholder == "Ask, or describe a task"
        for menu in (composer.agent, composer.model, composer.mode, composer.folder):
            assert menu.isVisible() and menu.text(), menu.accessibleName()


class StyleChanges(QObject):
    """Counts how often the editor of a message is styled."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange and isinstance(watched, Editor):
            self.count += 1
        return False


@on_window_loop
async def test_the_window_is_made_from_the_outside_in(tmp_path: Path) -> None:
    """What gets another parent has all that is in it styled again, so nothing gets many."""
    app = QApplication.instance()
    assert app is not None
    changes = StyleChanges()
    app.installEventFilter(changes)
    before: list[int] = []

    async def look(_: Engine) -> None:
        before.append(changes.count)
        app.removeEventFilter(changes)

    async with at_window(tmp_path, "anthropic", [], prepare=look):
        assert 0 < before[0] < 5
