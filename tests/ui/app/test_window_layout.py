"""The sides of a small window: opened over the page by a button, closed by what is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint

from studio.ui.sidebar.rail import Rail
from support.waiting import until
from support.window import alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_a_small_window_has_a_button_for_the_sidebar(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [], size=(1100, 700)) as person:
        window, sidebar = person.window, person.window.sidebar
        rail = window.findChild(Rail)
        assert rail is not None and not rail.isVisible() and sidebar.isVisible()
        window.resize(940, 700)
        await until(lambda: rail.isVisible() and not sidebar.isVisible())
        await until(lambda: window.chat.mapTo(window, QPoint()).x() == rail.width())

        person.click(rail.sidebar)
        await until(sidebar.isVisible)
        assert rail.sidebar.isChecked()
        assert sidebar.mapTo(window, QPoint()).x() == rail.width(), "the button stays in reach"
        person.click(rail.sidebar)
        await until(lambda: not sidebar.isVisible())
        person.click(rail.sidebar)
        person.click(sidebar._rows["agents"])
        await until(lambda: not window.pages.shows_chat)
        assert not sidebar.isVisible() and not rail.sidebar.isChecked()

        window.resize(1100, 700)
        await until(lambda: sidebar.isVisible() and not rail.isVisible())
        await until(lambda: sidebar.mapTo(window, QPoint()).x() == 0)
