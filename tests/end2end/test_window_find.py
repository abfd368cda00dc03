"""Finding in the real window: words of the chat, whatever is in all chats, and the palette."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from studio.simulator import Text, Think, Turn
from support.waiting import until
from support.window import CTRL, SHIFT, Key, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_find_in_chat_by_keys(tmp_path: Path) -> None:
    """Ctrl+F, all hits with their number, Enter and F3 both ways, case, Esc; also in reasoning."""
    script = [
        Turn(Think("Jitter spreads them."), Text("Without **jitter** all come back.\n\n" * 3)),
        Turn(Text("Other words.")),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        chat = person.window.chat
        person.press(Key.Key_F, CTRL)  # there is no chat yet
        assert person.composer.editor.hasFocus()
        person.say("Why does our retry add jitter?")
        await person.done()
        person.press(Key.Key_F, CTRL)
        strip, finder = chat.find_strip, person.view.finder
        assert strip.field.hasFocus() and strip.geometry().top() == chat.header.height()
        assert person.view.geometry().top() >= strip.geometry().bottom()
        person.type("jitter")
        await until(lambda: finder.find is not None and finder.find.done and finder.total == 5)
        assert strip.field.accessibleDescription() == "1 of 5"
        assert finder.folded == 1
        person.press(Key.Key_Return)
        assert (finder.number, finder.folded) == (2, 0)  # the reasoning was opened
        person.press(Key.Key_Return, SHIFT)
        person.press(Key.Key_Return, SHIFT)
        assert finder.number == 5
        person.press(Key.Key_F3)
        assert finder.number == 1
        strip.case.click()
        await until(lambda: finder.total == 4)
        strip.word.click()
        strip.field.setText("jit")
        await until(lambda: strip.field.accessibleDescription() == "No hits")
        assert not strip.below.isEnabled()
        person.press(Key.Key_Escape)
        assert strip.isHidden() and finder.find is None and person.composer.editor.hasFocus()
        person.press(Key.Key_F3)  # begins a search
        assert strip.field.hasFocus() and strip.field.selectedText() == "jit"
        person.window.new_chat()
        await until(lambda: chat.session is None)
        assert strip.isHidden()


@on_window_loop
async def test_the_palette_leads_everywhere_by_keys(tmp_path: Path) -> None:
    """Ctrl+K: actions, chats, agents, models, folders, settings, files; prefixes; Esc; recent."""
    script = [Turn(Text("One.")), Turn(Text("Two."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        window = person.window
        (person.folder / "deep").mkdir()
        (person.folder / "deep" / "notes.md").write_text("words")
        person.say("Fix the flaky retry test")
        await person.done()
        first = person.session.info.id
        person.type("half a message")

        async def palette(text: str, title: str) -> None:
            """Open it, type, and wait until the first entry is this."""
            person.press(Key.Key_K, CTRL)
            box = window._palette
            assert box is not None and box.field.hasFocus()
            person.type(text)
            await until(lambda: box.list.currentIndex().data() and titles()[:1] == [title], title)

        def titles() -> list[str]:
            assert window._palette is not None
            rows = window._palette.results.rows
            return [row.entry.title for row in rows if not isinstance(row, str)]

        await palette("#flky", "Fix the flaky retry test")
        assert window._palette is not None
        assert not window._palette.list.verticalScrollBar().maximum(), "all of it fits"
        person.press(Key.Key_Escape)
        assert person.composer.editor.hasFocus() and person.composer.text == "half a message"
        await palette(">new ch", "New chat")
        person.press(Key.Key_Return)
        await until(lambda: window.chat.session is None)
        await palette("fftr", "Fix the flaky retry test")
        person.press(Key.Key_Return)
        await until(lambda: window.chat.session is not None)
        assert person.session.info.id == first
        await palette("@review", "Reviewer")
        person.press(Key.Key_Return)
        assert window.chat.model.options.agent == "Reviewer"
        await palette("@notes", "deep/notes.md")
        person.press(Key.Key_Return)
        await until(lambda: window.chat.model.attachments.items)
        await palette("appear", "Appearance")
        person.press(Key.Key_Return)
        dialog = await until(lambda: window.preferences.dialog)
        assert dialog.isVisible()
        dialog.close()
        window.activateWindow()
        await until(window.isActiveWindow)
        await palette(">", "New chat")  # what was chosen last stands first
        await until(lambda: any(title.startswith("Mission of") for title in titles()))
        assert "Go to…" not in titles()
        person.press(Key.Key_Down)
        person.press(Key.Key_Up)
        person.press(Key.Key_Up)
        box = window._palette
        assert box is not None and box.list.currentIndex().row() == len(box.results.rows) - 1
        QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
        assert box.isHidden()


@on_window_loop
async def test_the_palette_does_what_is_chosen_in_it(tmp_path: Path) -> None:
    """A click on a heading does nothing; what is read late moves no choice; files are the chat's."""
    script = [Turn(Text("One.")), Turn(Text("Two."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        window = person.window
        (person.folder / "notes.md").write_text("words")
        person.say("Fix the flaky retry test")
        await person.done()
        await window.chat.model.start_new(folder=str(person.folder))
        person.press(Key.Key_K, CTRL)
        box = window._palette
        assert box is not None
        await until(lambda: box.entries.find("#"), "the chats")
        heading = box.list.visualRect(box.results.index(0)).center()
        QTest.mouseClick(box.list.viewport(), Qt.MouseButton.LeftButton, pos=heading)
        assert box.isVisible() and window.chat.session is None
        person.type(">")
        person.press(Key.Key_Down)
        chosen = box.list.currentIndex().data()
        box.entries.changed.emit()
        assert box.list.currentIndex().data() == chosen
        box.field.setText("@notes.md")
        await until(lambda: box.list.currentIndex().data())
        person.press(Key.Key_Escape)
        (tmp_path / "other").mkdir()
        window.chat.model.options.choose_folder(str(tmp_path / "other"))
        person.press(Key.Key_K, CTRL)
        person.type("@notes.md")
        assert not box.results.rows
