"""The window by keyboard: Tab reaches all there is, F6 goes from pane to pane, all has a name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from studio.domain.sessions import SessionInfo
from studio.simulator import Call, Text, Turn
from studio.ui.app.key_sheet import KeySheet
from studio.ui.chat.dialogs import edit_text, trust_box
from studio.ui.pages.first_run import FirstRun
from studio.ui.settings.chats_dialog import ChatsDialog
from studio.ui.settings.font_dialog import FontDialog
from studio.ui.settings.registry import PAGES as SETTINGS
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Field, FocusRing
from studio.ui.widgets.text_dialog import TextDialog
from support.languages import language
from support.waiting import until
from support.window import CTRL, SHIFT, Key, alone, at_window, on_window_loop

D = TypeVar("D", bound=QDialog)
pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

LOOKED_AT = ("new chat", "chat", "inspector 1")
"""Where the ring is looked for on the screen. Elsewhere it is the same ring."""
Role = QAccessible.Role
NO_ROLES = {Role.NoRole, Role.Client, Role.Pane, Role.Whitespace, Role.Grouping, Role.LayeredPane}
SCRIPT = [
    Turn(Text("Look **here**.")),
    Turn(Call("edit", {"path": "a.txt", "old": "two", "new": "2"})),
    Turn(Text("A change waits.")),
]


def focused() -> QWidget:
    found = QApplication.focusWidget()
    assert found is not None
    return found


def press(key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> QWidget:
    QTest.keyClick(focused(), key, held)
    return focused()


def controls(window: QWidget) -> list[QWidget]:
    """What a person can use now."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.window() is window
        and widget.isVisible()
        and widget.isEnabled()
        and not isinstance(widget, QScrollBar)
        and (isinstance(widget, QAbstractButton) or widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    ]


def inked(widget: QWidget, theme: Theme) -> int:
    """How many pixels in and around a widget have the colour of the focus ring."""
    window = widget.window()
    place = QRect(widget.mapTo(window, QPoint()), widget.size()).adjusted(-6, -6, 6, 6)
    picture = window.grab(place & window.rect()).toImage()
    color = theme.color("accent_text").rgb().to_bytes(4, "little")
    return bytes(picture.constBits()).count(color)


def stops(window: QWidget, theme: Theme, where: str) -> list[QWidget]:
    """What Tab reaches, in its order, until it is back where it began; each shows that it has it.

    The blocks and buttons of a transcript are one after the other in one widget.
    """
    if controls(window) == [focused()]:
        return [focused()]
    first = press(Key.Key_Tab)
    found, inside = [first], 0
    while inside < 60:
        here = focused()
        rings = where not in LOOKED_AT and FocusRing.of(theme).target is here
        shown = 0 if rings else inked(here, theme)
        press(Key.Key_Tab)
        if focused() is here:
            inside += 1
            continue
        inside = 0
        edited = isinstance(here, QPlainTextEdit | QTextEdit) and not here.isReadOnly()
        has_caret = edited or bool(here.property("plain"))
        if not has_caret and not rings and shown <= inked(here, theme):
            # Perhaps the next ring reaches into it.
            press(Key.Key_Tab)
            assert shown > inked(here, theme), ("no ring", where, here)
            press(Key.Key_Backtab)
        if focused() is first:
            return found
        assert focused() not in found, (where, found[-3:], focused())
        found.append(focused())
    raise AssertionError(f"{where}: Tab is caught at {focused()}")


def check(window: QWidget, theme: Theme, where: str) -> list[QWidget]:
    """Each control is reached, and says in the person's language what it is."""
    found = stops(window, theme, where)
    for control in controls(window):
        seen = QAccessible.queryAccessibleInterface(control)
        name, role = seen.text(QAccessible.Text.Name), seen.role()
        about = (where, control, name, role.name)
        group = role == Role.RadioButton and any(  # the arrows go on from there
            one.parentWidget() is control.parentWidget() for one in found
        )
        assert control in found or group, ("not reached", *about)
        assert role not in NO_ROLES or isinstance(control, QScrollArea), ("no role", *about)
        assert "⟦" in name, ("not looked up", *about)
    return found


@on_window_loop
async def test_everything_is_reached_by_tab_and_has_a_name(tmp_path: Path) -> None:
    """U-1: every page, with what stands on it, in a language that marks what was looked up."""
    with language("marked"):
        async with at_window(tmp_path, "anthropic", SCRIPT) as person:
            (person.folder / "a.txt").write_text("one\ntwo\n")
            window, chat, theme = person.window, person.window.chat, person.window.theme
            check(window, theme, "new chat")
            for number, words in enumerate(("One", "Two"), 1):
                person.composer.setFocus()
                person.say(words)
                await person.done(number)
            theme.set("dark")
            person.click(chat.composer.model)
            picker = await until(QApplication.activePopupWidget)
            check(picker, theme, "models")
            picker.close()
            window.activateWindow()
            await until(window.isActiveWindow)
            chat.composer.setFocus()
            found = check(window, theme, "chat")
            order = [window.sidebar.field, chat.header.inspector, chat.view, chat.composer.editor]
            begin = found.index(order[0])
            turned = found[begin:] + found[:begin]
            assert sorted(order, key=turned.index) == order

            press(Key.Key_F2)
            title = focused()
            seen = QAccessible.queryAccessibleInterface(title)
            assert isinstance(title, Field) and "⟦" in seen.text(QAccessible.Text.Name)
            press(Key.Key_Escape)

            # From pane to pane, and back to what one writes.
            panes = [window.sidebar, chat.header, chat.view, chat.composer]
            chat.composer.setFocus()
            for step, keys in ((1, (Key.Key_F6,)), (-1, (Key.Key_F6, SHIFT))):
                for n in range(len(panes)):
                    press(*keys)
                    pane = panes[(n * step + (0 if step > 0 else -2)) % len(panes)]
                    assert pane is focused() or pane.isAncestorOf(focused()), (step, n, focused())
            for pane in panes[:3]:
                while not (pane is focused() or pane.isAncestorOf(focused())):
                    press(Key.Key_F6)
                press(Key.Key_Escape)
                assert focused() is chat.composer.editor

            press(Key.Key_I, CTRL)
            inspector = await until(lambda: window.inspector)
            await until(inspector.isVisible)
            for page in range(3):
                inspector.show_page(page)
                await until(lambda: not window._tasks)
                check(window, theme, f"inspector {page}")
            press(Key.Key_I, CTRL)
            press(Key.Key_F, CTRL)
            check(window, theme, "find")

            theme.set("light")
            for name in ("agents", "drafts", "audit", "search"):
                window.pages.show_page(name)
                await until(lambda: not window._tasks, what="the page has read its things")
                check(window, theme, name)
                press(Key.Key_F6)
                press(Key.Key_F6)
                assert window.pages.isAncestorOf(focused()) or window.sidebar.isAncestorOf(
                    focused()
                )
                press(Key.Key_Escape)
                assert window.pages.shows_chat and focused() is chat.composer.editor, name

            press(Key.Key_Slash, CTRL)
            sheet = next(w for w in QApplication.topLevelWidgets() if isinstance(w, KeySheet))
            sheet.activateWindow()
            await until(sheet.isActiveWindow)
            check(sheet, theme, "keys")
            sheet.close()

            window.preferences.open()
            dialog = await until(lambda: window.preferences.dialog)
            dialog.activateWindow()
            await until(dialog.isActiveWindow)
            for entry in SETTINGS:
                dialog.list.choose(entry.key)
                await until(lambda: not dialog._tasks)
                QApplication.sendPostedEvents()
                dialog.list.setFocus()
                check(dialog, theme, f"settings {entry.key}")
            dialog.close()


@on_window_loop
async def test_small_windows_are_reached_by_tab_and_have_names(tmp_path: Path) -> None:
    """U-1: the first start, the palette, lists over the window, dialogs and questions."""
    with language("marked"):
        async with at_window(tmp_path, "anthropic", SCRIPT[:1], first_run=True) as person:
            window, theme = person.window, person.window.theme

            async def active(dialog: QWidget, where: str) -> None:
                dialog.activateWindow()
                await until(dialog.isActiveWindow)
                check(dialog, theme, where)
                assert dialog.windowTitle(), where
                dialog.close()
                await until(lambda: not isValid(dialog) or not dialog.isVisible())
                window.activateWindow()
                await until(window.isActiveWindow)

            first = window.findChild(FirstRun)
            assert first is not None
            check(window, theme, "first run")
            first.show_key_page()
            first._page.field.setText("a-key-of-nobody")
            check(window, theme, "first run, key")
            first.show_start()
            first._start.demo.click()
            await until(lambda: not first.isVisible())

            window.show_palette()
            palette = window._palette
            assert palette is not None
            seen = QAccessible.queryAccessibleInterface(palette.list)
            assert seen.role() == Role.List and "⟦" in seen.text(QAccessible.Text.Name)
            rows = [seen.child(at).text(QAccessible.Text.Name) for at in range(seen.childCount())]
            assert len(rows) > 2 and all(rows), rows
            assert press(Key.Key_Tab) is palette.field, "Tab stays in the box"
            palette.close_palette()

            program = person.program
            program.ask_quickly()
            assert program.quick_ask is not None
            await active(program.quick_ask, "quick question")
            info = SessionInfo("s", "One", "/", "Coder", "p", "m", "ask", 0.0, 0.0)
            await active(
                shown(ChatsDialog(theme, tr("Export"), [info], str, window)), "list of chats"
            )
            await active(shown(FontDialog(theme, "", window, code=True)), "fonts")
            box = shown(trust_box(window, "/work", ["Effects."]))
            box.activateWindow()
            await until(box.isActiveWindow)
            for one in box.buttons():  # they are the system's own, and show it in their way
                here, marked = focused(), focused().grab().toImage()
                press(Key.Key_Tab)
                assert here in box.buttons() and here is not focused(), one
                assert here.grab().toImage() != marked and here.text().replace("&", "")
            box.close()
            window.activateWindow()
            await until(window.isActiveWindow)
            edit = asyncio.ensure_future(
                edit_text(
                    theme, "a", window, title="t", name=tr("Draft"), keep=tr("Keep"), code=True
                )
            )
            dialog = await until(lambda: window.findChild(QPlainTextEdit, "edited"))
            await active(dialog.window(), "edit")
            assert await edit is None

            window.preferences.open("about")
            settings = await until(lambda: window.preferences.dialog)
            for widget, role in ((window.pages, Role.Client), (settings, Role.Window)):
                assert QAccessible.queryAccessibleInterface(widget).role() == role
            page = settings.pages["about"]
            next(iter(page.licences.values())).click()
            await active(await until(lambda: settings.findChild(TextDialog)), "licence")
            settings.close()


def shown(dialog: D) -> D:
    dialog.open()
    return dialog
