"""Finding in the real window: words of the chat, whatever is in all chats, and the palette."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        assert finder.total == 4
        strip.word.click()
        strip.field.setText("jit")
        assert strip.field.accessibleDescription() == "No hits"
        assert not strip.below.isEnabled()
        person.press(Key.Key_Escape)
        assert strip.isHidden() and finder.find is None and person.composer.editor.hasFocus()
        person.press(Key.Key_F3)  # begins a search
        assert strip.field.hasFocus() and strip.field.selectedText() == "jit"
        person.window.new_chat()
        await until(lambda: chat.session is None)
        assert strip.isHidden()
