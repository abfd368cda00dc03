"""What repaints of a part leave on the screen is what a repaint of the whole shows (G-3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.domain.drafts import FileDraft
from studio.domain.events import (
    DraftCreated,
    Event,
    Pinned,
    ReasoningDelta,
    ReasoningEnded,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.domain.messages import Image
from studio.ui.transcript.find import Wanted
from studio.ui.widgets.painting import AnimationTimer
from support.pixels import pixels
from support.sample_files import picture
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG_MS

__all__ = ["shown"]

WORDS = "Some words of a paragraph that goes on for a while, and then more of it. "
ANSWER = (
    f"# A head\n\n{WORDS * 3}**bold** `code` [link](https://x.org)",
    "\n\nשלום עולם, זה משפט בעברית עם `code` ועם $x^2 + \\frac{1}{2}$ ",
    "שממשיך לשורה שנייה ועוד.\n\nمرحبا بالعالم ",
    "\n\n> A quote\n> of two lines\n\n- one\n- two\n  - below\n",
    "\n\n```py\ndef f(x):\n    return 'a'\n",
    "x = f(1)\n" * 12 + "```\n\n",
    "| a | b |\n|--|--|\n| 1 | two words |\n",
    "| 3 | $y_1$ |\n\n![pic](a.png)\n\n",
    "<details><summary>More</summary>\n\nInside\n\n</details>\n\n",
    WORDS * 6,
)
NEAR = 8
"""Levels by which a curve may differ that the window's edge cut while it was painted."""


def run(call_id: str) -> ToolQueued:
    return ToolQueued(
        call_id, "run", {"command": "make"}, "make", "act", "Running", "Ran", "terminal"
    )


def on_screen(shown: TranscriptWindow) -> QImage:
    return shown.view.screen().grabWindow(shown.view.winId()).toImage()


def alike(one: QImage, other: QImage) -> bool:
    if one == other.convertToFormat(one.format()):
        return True
    both = zip(pixels(one), pixels(other), strict=True)
    return all(
        a == b or all(abs((a >> by & 255) - (b >> by & 255)) <= NEAR for by in (0, 8, 16))
        for a, b in both
    )


def whole(shown: TranscriptWindow, qtbot: QtBot) -> None:
    """What is on the screen is what a repaint of the whole shows, once all has come."""
    view, ahead = shown.view, shown.view.canvas_viewport._ahead
    qtbot.waitUntil(lambda: not (view._timer.isActive() or ahead.isActive()), timeout=HANG_MS)
    qtbot.waitUntil(lambda: alike(on_screen(shown), view.grab().toImage()), timeout=HANG_MS)


def grow(shown: TranscriptWindow, *events: Event) -> None:
    """As the window does, which shows it with the next frame."""
    for event in events:
        index = shown.transcript.apply(event)
        if index is not None:
            shown.view.changed(index)


def wheel(shown: TranscriptWindow, up: int) -> None:
    at, place = QPointF(300, 300), shown.view.viewport()
    turn = QWheelEvent(
        at, place.mapToGlobal(at), QPoint(0, up), QPoint(0, up), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(place, turn)


@pytest.fixture
def still(shown: TranscriptWindow, tmp_path: Path) -> TranscriptWindow:
    """Nothing moves by itself, and no second passes."""
    (tmp_path / "a.png").write_bytes(picture(size=(200, 120)))
    shown.view.context.folder = str(tmp_path)
    shown.view.context.now = lambda: 0.0
    shown.view.theme.set(still=True)
    shown.ask()
    return shown


def states(shown: TranscriptWindow) -> Iterator[Callable[[], object]]:
    """What a chat is told and what the person does with it, one after the other."""
    view, theme = shown.view, shown.view.theme
    for piece in ANSWER:
        yield lambda piece=piece: grow(shown, TextDelta(piece))
    yield lambda: grow(shown, Pinned(len(shown.transcript.blocks) - 1, True))
    yield lambda: grow(shown, TextDelta("pinned meanwhile "))
    for up in (39, 5):
        yield lambda up=up: wheel(shown, up)
        yield lambda: grow(shown, TextDelta(WORDS))
    yield lambda: grow(shown, ReasoningDelta("Hm. " * 60), ReasoningEnded(2.0))
    yield lambda: grow(shown, run("c1"), ToolStarted("c1"), ToolOutput("c1", "line\n" * 9))
    yield lambda: grow(shown, run("c2"), ToolStarted("c2"), TextDelta(WORDS * 2))
    shot = Image("image/png", picture(size=(320, 200)))
    yield lambda: grow(shown, ToolFinished("c1", "result", False, 1.0, "5 lines", images=(shot,)))
    yield lambda: grow(shown, DraftCreated("c3", FileDraft("d", "a.py", "x = 1\n", "x = 2\n", "")))
    yield lambda: grow(shown, ToolFinished("c2", "no", True, 1.0), TurnComplete("done"))
    yield lambda: view.finder.look_for(Wanted("while, and"))
    yield lambda: wheel(shown, 300)
    yield lambda: view.finder.step(1)
    yield view.finder.clear
    yield lambda: QTest.mouseMove(view.viewport(), shown.point("toggle"))
    yield lambda: QApplication.sendEvent(view.viewport(), QEvent(QEvent.Type.Leave))
    yield view.canvas_viewport.select_all
    yield lambda: shown.click("toggle")
    yield lambda: shown.click("toggle")
    for scale in (1.3, 1.0):
        yield lambda scale=scale: theme.set(scale=scale)
    yield lambda: theme.set("dark")
    yield lambda: view.resize(620, 480)
    yield lambda: wheel(shown, -9000)


def test_a_chat_looks_as_if_it_were_painted_at_once(still: TranscriptWindow, qtbot: QtBot) -> None:
    for do in states(still):
        do()
        whole(still, qtbot)


def test_a_pin_shows_beside_the_beginning_of_a_growing_answer(
    still: TranscriptWindow, qtbot: QtBot
) -> None:
    grow(still, TextDelta(WORDS * 20))
    whole(still, qtbot)
    for pinned in (True, False):
        before = on_screen(still)
        grow(still, Pinned(len(still.transcript.blocks) - 1, pinned))
        qtbot.waitUntil(lambda before=before: on_screen(still) != before, timeout=HANG_MS)
        whole(still, qtbot)


def test_a_slow_hand_leaves_the_end(still: TranscriptWindow, qtbot: QtBot) -> None:
    """Also while what is near is laid out, and while the answer grows."""
    view = still.view
    grow(still, TextDelta(WORDS * 60))
    view.flush()
    ahead = view.canvas_viewport._ahead
    for pixels_up in range(8, 56, 8):
        wheel(still, 8)
        assert view.scroller.below == pixels_up
        qtbot.waitUntil(lambda: not ahead.isActive(), timeout=HANG_MS)
        assert view.scroller.below == pixels_up, "nothing scrolls but the hand"
    view.canvas_viewport.scroll_to_end()
    for _ in range(6):
        wheel(still, 8)
        grow(still, TextDelta(WORDS))
        view.flush()
    place = view.scroller.value
    grow(still, TextDelta(WORDS * 3))
    view.flush()
    assert view.scroller.value == place and not view.scroller.following
    wheel(still, -9000)
    assert view.scroller.following


def test_a_spinner_goes_on_where_a_growing_answer_pushed_it(shown: TranscriptWindow) -> None:
    view = shown.view
    view.resize(900, 300)
    shown.ask()
    shown.tell(run("c1"), ToolStarted("c1"), TextDelta(WORDS * 8))
    view.viewport().repaint()
    before = view.scroller.value
    shown.tell(TextDelta(WORDS * 3))
    assert view.scroller.value > before
    place = view.canvas_viewport.place_of(shown.kinds().index("tools"))
    due = [rect for widget, rect in AnimationTimer.of(view.theme)._due if widget is view.viewport()]
    assert due and all(rect.top() >= place.top() for rect in due)
    assert all(rect.bottom() <= place.bottom() + 1 for rect in due), "not where it was"


def test_ticks_of_hits_come_where_they_belong_once_it_is_quiet(
    still: TranscriptWindow, qtbot: QtBot
) -> None:
    """They are made again only so often, and the last change is not left out."""
    finder, canvas, bar = still.view.finder, still.view.canvas, still.view.scroller.bar
    grow(still, TextDelta(WORDS * 60))
    finder.look_for(Wanted("while, and"))
    whole(still, qtbot)
    finder._ticks_until = time.monotonic() + 0.3
    grow(still, TextDelta(WORDS * 6))
    still.view.flush()
    qtbot.waitUntil(lambda: finder._ticks_of == (canvas.total, bar.height), timeout=HANG_MS)
    whole(still, qtbot)
