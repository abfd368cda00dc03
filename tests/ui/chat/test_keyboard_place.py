"""What happens in a chat leaves the keyboard where the person took it (G-2, T-7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from studio.simulator import Call, Text, Turn
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, in_focus, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def palette(person: Person) -> QWidget:
    person.press(Key.Key_K, CTRL)
    assert person.window._palette is not None
    return person.window._palette.field


def chat_list(person: Person) -> QWidget:
    person.window.sidebar.chats.setFocus()
    return person.window.sidebar.chats


def find_field(person: Person) -> QWidget:
    person.press(Key.Key_F, CTRL)
    return person.window.chat.find_strip.field


PLACES = pytest.mark.parametrize("go", [palette, chat_list, find_field])


@PLACES
@on_window_loop
async def test_the_end_of_a_turn_leaves_the_keyboard(
    tmp_path: Path, go: Callable[[Person], QWidget]
) -> None:
    """Enter is for the palette or the list: it sends no message."""
    async with at_window(tmp_path, "openai", [Turn(Text("One.")), Turn(Text("Two."))]) as person:
        person.say("First")
        await person.done()
        person.say("Second")
        place = go(person)
        await person.done(2)
        assert in_focus(place) and place.isVisible()


@PLACES
@on_window_loop
async def test_a_card_leaves_the_keyboard(tmp_path: Path, go: Callable[[Person], QWidget]) -> None:
    """Enter is for the palette or the list: it allows nothing. A key leads to the card."""
    script = [Turn(Text("One.")), Turn(Call("run", {"command": "echo x"})), Turn(Text("Two."))]
    async with at_window(tmp_path, "openai", script) as person:
        person.say("First")
        await person.done()
        person.say("Second")
        place = go(person)
        await until(lambda: person.composer.state == "waiting", "the card")
        assert in_focus(place) and place.isVisible()
        person.press(Key.Key_J, CTRL)
        await until(person.view.hasFocus, "the card has the keyboard")
        person.window.chat.model.runner.stop(person.session.info.id)
        await person.done(2)
