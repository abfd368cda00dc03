"""Ctrl with + and −: only what depends on the text size is made anew, and once."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QMenu

from studio.domain.blocks import AgentBlock, TextBlock, UserBlock
from studio.domain.messages import Text
from studio.domain.transcript import Transcript
from studio.ui.transcript.canvas import Canvas
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


class Polishes(QObject):
    """Counts how often a widget was dressed in another style sheet."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.StyleChange
        return False


def show_chat(person: Person, messages: int) -> None:
    transcript = Transcript()
    for number in range(messages):
        transcript.blocks += [
            UserBlock(f"t{number}", (Text(f"Question {number}"),)),
            AgentBlock(f"t{number}", "Coder", "ollama", "m"),
            TextBlock("An *answer*.\n\n- with\n- points", live=False),
        ]
    person.window.chat.view.set_transcript(transcript)
    person.window.chat._layout.show(new=False)
    person.window.chat.view.show()


def calls(function: Callable[..., object], work: Callable[[], object]) -> int:
    """How often a function is called while something is done."""
    profile = cProfile.Profile()
    profile.runcall(work)
    entries = [one for one in profile.getstats() if one.code is function.__code__]  # type: ignore[attr-defined]
    return sum(one.callcount for one in entries)


@on_window_loop
async def test_zoom_dresses_nothing_anew_and_lays_the_chat_out_once(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        show_chat(person, 50)
        window, theme = person.window, person.window.theme
        person.composer.set_text("lines\n" * 8)  # it grows with the text, and the chat makes room
        person.press(Key.Key_I, CTRL)
        polishes = Polishes()
        window.sidebar.installEventFilter(polishes)
        menu = window.menuBar().findChild(QMenu)
        assert menu is not None
        lines, before = window.chat.view.canvas.total, menu.actionGeometry(menu.actions()[0])
        field = window.sidebar.field.height()
        laid = calls(Canvas.restyle, lambda: [person.press(Key.Key_Plus, CTRL) for _ in range(6)])
        assert (theme.scale, laid, polishes.count) == (1.6, 6, 0)
        assert window.chat.view.canvas.total > 1.3 * lines
        assert menu.actionGeometry(menu.actions()[0]).height() > 1.4 * before.height()
        await until(lambda: window.sidebar.field.height() > 1.4 * field)
        assert window.inspector is not None
        tops = window.inspector._head.height(), window.chat.header.sizeHint().height() - 1
        assert tops[0] == tops[1] == theme.px(48)
        banner = window.banner
        banner.say("A file could not be read.")
        await until(lambda: banner._label.x() >= theme.px(18 + 16), what="no sign on the words")
        person.press(Key.Key_0, CTRL)
        await until(lambda: window.sidebar.field.height() == field)
        assert menu.actionGeometry(menu.actions()[0]).height() == before.height()
