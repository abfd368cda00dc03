"""The sidebar's search: keys step through what was found, and a chat opens at the hit."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from support.waiting import until
from support.window import CTRL, Key, alone, at_window, in_focus, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_a_search_is_done_by_keys_and_opens_at_the_hit(tmp_path: Path) -> None:
    long = "\n\n".join(f"Line {n} of a long answer." for n in range(200))
    script = [Turn(Text(f"The zebra is first.\n\n{long}")), Turn(Text("Nothing of note."))]
    async with at_window(tmp_path, "ollama", script) as person:
        window, chats = person.window, person.window.sidebar.chats
        for words in ("About animals", "About plants"):
            person.say(words)
            await person.done()
            person.press(Key.Key_N, CTRL)
            await until(lambda: window.chat.session is None and person.composer.editor.hasFocus())
        await until(lambda: person.chats() == ["About plants", "About animals"])

        window.sidebar.field.setFocus()
        person.press(Key.Key_Down)
        person.press(Key.Key_Down)
        assert chats.currentIndex().data() == "About animals" and chats.keyboard_focus
        person.press(Key.Key_Return)
        await until(lambda: window.chat.session is not None)
        assert person.session.info.title == "About animals"
        assert person.view.finder.find is None

        window.sidebar.field.setFocus()
        person.type("zebra")
        await until(lambda: [row.hit for row in chats.chats.rows] and chats.chats.rows[0].hit)
        person.press(Key.Key_Return)
        await until(lambda: person.view.finder.find is not None)
        person.view.flush()
        assert person.view.scroller.below > 1000, "the hit is far above the end"
        assert person.view.finder.at is not None
        assert window.sidebar.field.text() == "zebra", "the other hits stay listed"

        person.press(Key.Key_N, CTRL)
        await until(lambda: window.chat.session is None)
        assert window.sidebar.field.text() == ""
        assert person.chats() == ["About plants", "About animals"]
        window.sidebar.field.setFocus()
        person.type("no such words")
        person.press(Key.Key_Escape)
        assert window.sidebar.field.text() == "" and window.sidebar.field.hasFocus()
        person.press(Key.Key_Escape)
        assert person.composer.editor.hasFocus()


@on_window_loop
async def test_the_end_of_a_turn_leaves_the_keyboard_where_somebody_types(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [Turn(Text("Hello.")), Turn(Text("Yes."))]) as person:
        person.say("Hello")
        await person.done()
        person.say("And now?")
        field = person.window.sidebar.field
        field.setFocus()
        person.type("zebra")
        await person.done(2)
        assert in_focus(field)
