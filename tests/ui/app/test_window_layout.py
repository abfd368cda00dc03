"""A small window: its sides open over the page, and no button is cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QWidget

from studio.simulator import Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.app.window_layout import SIDEBAR_MOST
from studio.ui.chat.suggestions import SuggestionButton
from studio.ui.pages.first_run import WIDTH, ChoiceRow
from studio.ui.sidebar.rail import Rail
from support.languages import language
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


@on_window_loop
async def test_the_sidebar_has_room_for_the_names_of_the_pages(tmp_path: Path) -> None:
    """In German, in large text, in a small window, also beside a count; until it is dragged."""

    def setup(file: SettingsFile) -> None:
        file.values.text_size = 160

    with language("de"):
        async with at_window(tmp_path, "ollama", [], size=(1000, 640), setup=setup) as person:
            window, rows = person.window, person.window.sidebar._rows
            rows["needs"].set_count(12)
            await until(lambda: rows["agents"].width() > 100)
            assert all(row.width() >= row.whole_width for row in rows.values() if row.isVisible())
            assert rows["agents"].width() >= rows["needs"].whole_width
            window.theme.set(scale=1.0)
            await until(lambda: window.sidebar.width() == 232)


def cut(row: Sequence[QWidget], owner: QWidget) -> list[str]:
    """The buttons of a row that are narrower than they want, outside, or over one another."""
    shown = [one for one in row if one.isVisible()]
    places = [QRect(one.mapTo(owner, QPoint()), one.size()) for one in shown]
    short = [
        one.accessibleName()
        for one, place in zip(shown, places, strict=True)
        if one.width() < one.sizeHint().width() or not owner.rect().contains(place)
    ]
    over = [
        f"{a.accessibleName()} over {b.accessibleName()}"
        for a, b, left, right in zip(shown, shown[1:], places, places[1:], strict=False)
        if left.right() >= right.left()
    ]
    return short + over


@pytest.mark.parametrize("spoken", ["en", "de"])
@on_window_loop
async def test_no_button_is_cut_at_any_size_of_window_and_text(tmp_path: Path, spoken: str) -> None:
    """Composer and head of the agents page: words give way to icons, which then say them."""
    with language(spoken):
        async with at_window(tmp_path, "anthropic", []) as person:
            window, composer = person.window, person.composer
            theme = window.theme
            composer.effort.show()
            composer.context.set_part(0.87)
            bar = (composer.add, composer.agent, composer.model, composer.effort, composer.mode,
                   composer.folder, composer.context, composer.send)  # fmt: skip
            composer.effort.set_face("Effort: maximum", "gauge")
            composer.model.set_face("A model with a name of some length 2026-05-01")
            window.pages.show_page("agents")
            page = await until(lambda: window.pages.currentWidget())
            await until(lambda: page.gallery.row is not None and not window._tasks)
            head = (page.list_button, page.which, page.try_it, page.save_button, page.copy_button,
                    page.panel_button)  # fmt: skip
            wrong: list[tuple[object, ...]] = []
            for size in ((1432, 860), (1000, 640), (900, 600)):
                for scale in (0.9, 1.0, 1.3, 1.6):
                    window.resize(*size)
                    theme.set(scale=scale)
                    for row, owner, shown in (
                        (head, page._head, "agents"),
                        (bar, composer, "chat"),
                    ):
                        if shown == "chat":
                            window.pages.show_chat()
                            composer.folder.setVisible(scale != 1.3)
                        else:
                            window.pages.show_page("agents")
                        QApplication.processEvents()
                        if found := cut(row, owner):
                            wrong.append((size, scale, shown, found))
            assert not wrong, wrong
            # At 900 pixels and the largest text the least important ones are icons, by name.
            assert composer.effort.folded and composer.folder.folded
            assert composer.effort.accessibleName() in composer.effort.toolTip()
            composer.effort.set_tip("<b>Granted</b>")
            assert "<b>" not in composer.effort.toolTip()
            window.resize(1432, 860)
            theme.set(scale=1.0)
            composer.model.set_face("Short")
            window.pages.show_chat()
            QApplication.processEvents()
            assert not composer.mode.folded and composer.mode.toolTip() == ""
            assert not composer.agent.folded and not composer.model.folded


@pytest.mark.parametrize("spoken", ["en", "de"])
@on_window_loop
async def test_the_first_page_leaves_the_sidebar_its_width(tmp_path: Path, spoken: str) -> None:
    """Its rows become narrower, and their lines are wrapped, not cut."""
    with language(spoken):
        async with at_window(tmp_path, "ollama", [], first_run=True) as person:
            window = person.window
            rows = window.pages.currentWidget().findChildren(ChoiceRow)
            assert len(rows) == 3
            wide = rows[0].width()
            window.theme.set(scale=1.6)
            for size in ((1000, 640), (1432, 860)):
                window.resize(*size)
                QApplication.processEvents()
                assert window.sidebar.width() >= min(
                    SIDEBAR_MOST, window.sidebar.sizeHint().width()
                )
                for row in rows:
                    assert row.geometry().right() < row.parentWidget().width()
            assert rows[0].width() == window.theme.px(WIDTH) > wide


@on_window_loop
async def test_suggestions_are_seen_whole_in_a_small_window(tmp_path: Path) -> None:
    """At the largest text the heading of a new chat stands higher for them."""
    (tmp_path / "work" / ".git").mkdir(parents=True)
    script = [Turn(Text("Done."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        await person.done()
        chat = person.window.chat
        person.window.new_chat()
        await until(lambda: len(chat.suggestions.findChildren(SuggestionButton)) == 3)
        for size, scale in (((1440, 900), 1.0), ((1000, 640), 1.6)):
            person.window.resize(*size)
            person.window.theme.set(scale=scale)
            QApplication.processEvents()
            for row in chat.suggestions.findChildren(SuggestionButton):
                assert row.mapTo(chat, row.rect().bottomLeft()).y() < chat.height(), (size, scale)
            assert chat.heading.isVisible() and chat.heading.y() >= 24
