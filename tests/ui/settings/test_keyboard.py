"""The settings by keyboard: what Tab and the arrows do, what is read aloud, the ring."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from studio.domain.permissions import Rule
from studio.storage.config.settings import SettingsFile
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.settings.registry import PAGES
from studio.ui.widgets import Field, FocusRing, PaintedButton
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
KEYS = [entry.key for entry in PAGES]


def with_rules(file: SettingsFile) -> None:
    file.values.server_rules = {"allow": ["run(make *)"]}


async def opened(person: Person) -> SettingsDialog:
    """The settings, with a rule to remove on each page that lists some."""
    await until(lambda: person.engine.catalogue.listing("ollama").state == "ready")
    await person.engine.rules.add(Rule("allow", "run", "pytest *"), None)
    person.window.preferences.open()
    dialog = person.window.preferences.dialog
    assert dialog is not None
    dialog.activateWindow()
    await until(dialog.isActiveWindow)
    dialog.list.setFocus()
    return dialog


def press(dialog: SettingsDialog, key: Qt.Key, held: Qt.KeyboardModifier | None = None) -> QWidget:
    """A key where the focus is; returns what has it then."""
    QTest.keyClick(dialog.focusWidget(), key, held or Qt.KeyboardModifier.NoModifier)
    focused = dialog.focusWidget()
    assert focused is not None
    return focused


async def show(dialog: SettingsDialog, page: str) -> QWidget:
    dialog.list.choose(page)
    await until(lambda: len(dialog._tasks) == 0, what="what is shown was looked up")
    QApplication.sendPostedEvents()
    return dialog.pages[page]


@on_window_loop
async def test_the_list_of_pages_is_one_stop_and_the_arrows_turn_to_them(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        dialog = await opened(person)
        shown = dialog._stack.currentWidget
        assert shown() is dialog.pages["general"]
        for key, page in (
            (Key.Key_Down, dialog.pages["providers"]),
            (Key.Key_Down, dialog.pages["local-models"]),
            (Key.Key_Up, dialog.pages["providers"]),
            (Key.Key_End, dialog.pages[KEYS[-1]]),
            (Key.Key_Home, dialog.pages["general"]),
            (Key.Key_W, dialog.pages["web"]),
        ):
            assert press(dialog, key) is dialog.list and shown() is page
        row = dialog.list.visualRect(dialog.list.currentIndex()).center()
        QTest.mouseClick(dialog.list.viewport(), Qt.MouseButton.LeftButton, CTRL, row)
        assert len(dialog.list.selectedIndexes()) == 1 and shown() is dialog.pages["web"]
        assert press(dialog, Key.Key_Tab) is dialog.pages["web"].engine
        assert press(dialog, Key.Key_Backtab) is dialog.list
        dialog.close()


@on_window_loop
async def test_a_screen_reader_hears_a_list_with_the_chosen_page(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        dialog = await opened(person)
        dialog.list.choose("permissions")
        listed = QAccessible.queryAccessibleInterface(dialog.list)
        assert listed.role() == QAccessible.Role.List
        assert listed.text(QAccessible.Text.Name) == "Settings pages"
        rows = [listed.child(index) for index in range(listed.childCount())]
        assert {row.role() for row in rows} == {QAccessible.Role.ListItem}
        said = [(row.text(QAccessible.Text.Name), bool(row.state().selected)) for row in rows]
        names = [dialog.pages[key].title for key in KEYS]
        assert said == [(name, name == "Permissions") for name in names]
        theme = QAccessible.queryAccessibleInterface(dialog.pages["appearance"].themes.segment(1))
        assert theme.role() == QAccessible.Role.RadioButton
        assert theme.text(QAccessible.Text.Name) == "Theme, Light"
        dialog.close()


@on_window_loop
async def test_tab_goes_down_each_page_and_every_ring_is_whole(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [], setup=with_rules) as person:
        dialog, theme = await opened(person), person.window.theme
        ring = FocusRing.of(theme)
        for scale in (1.0, 1.5):
            theme.set(scale=scale)
            if dialog.width() > dialog._largest_size.width() - theme.px(20):
                continue  # of a person whose screen holds no more; it is cut at its side
            for name in KEYS:
                page = await show(dialog, name)
                dialog.list.setFocus()
                page.verticalScrollBar().setValue(page.verticalScrollBar().maximum())
                inner, seen = page.widget(), []
                while (stop := press(dialog, Key.Key_Tab)) is not dialog.list:
                    assert page.isAncestorOf(stop) and stop not in seen, (name, stop)
                    seen.append(stop)
                    assert isinstance(stop, PaintedButton | Field), stop
                    if isinstance(stop, PaintedButton):
                        ring_is_whole(ring, stop)
                assert seen, name
                await until(partial(in_order, inner, seen), what=f"{name} is laid out")
                assert inner.width() == page.viewport().width()  # nothing is cut at the right
        theme.set(scale=1.0)
        dialog.close()


def in_order(page: QWidget, stops: list[QWidget]) -> bool:
    """Whether each stands below the one before, or beside it."""
    rows = [stop.mapTo(page, stop.rect().center()).y() for stop in stops]
    return all(after > before - 4 for before, after in pairwise(rows))


def ring_is_whole(ring: FocusRing, around: QWidget) -> None:
    """The frame lies outside its control, and nothing that it is in cuts it off."""
    frame = ring._frame
    assert ring.target is around and frame is not None and frame.isVisible()
    inside = frame.parentWidget()
    place = QRect(around.mapTo(inside, QPoint(0, 0)), around.size())
    assert frame.geometry() == place.adjusted(-4, -4, 4, 4), around
    assert frame.visibleRegion().boundingRect() == frame.rect(), around


@on_window_loop
async def test_a_fields_font_follows_the_text_size_after_an_error_too(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        dialog, theme = await opened(person), person.window.theme
        await show(dialog, "web")
        field = dialog.pages["web"].keys["brave"].entry
        theme.set(scale=1.5)
        field.set_error("Wrong")
        assert field.font().pixelSize() == theme.font("ui").pixelSize()
        theme.set(scale=1.0)
        assert field.font().pixelSize() == theme.font("ui").pixelSize()
        dialog.close()


class Windows(QObject):
    """Notes each window that appears, were it for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.seen.append(f"{type(watched).__name__} {watched.accessibleName()}")
        return False


@on_window_loop
async def test_a_page_that_is_made_shows_no_window_of_its_own(tmp_path: Path) -> None:
    """It would flash, and take the focus from where the person is."""
    async with at_window(tmp_path, "ollama", [], setup=with_rules) as person:
        dialog, app = await opened(person), QApplication.instance()
        assert app is not None
        windows = Windows()
        app.installEventFilter(windows)
        try:
            for name in KEYS:
                await show(dialog, name)
        finally:
            app.removeEventFilter(windows)
        assert windows.seen == [] and dialog.isActiveWindow()
        dialog.close()
