"""Folds in answers: ``<details>`` is a row that opens, by mouse, by keys and by a search."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.domain.events import TextDelta, TurnComplete
from studio.ui.transcript.find import Wanted
from studio.ui.transcript.items.answer_item import TextItem
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG_MS

__all__ = ["shown"]

ANSWER = """Before.

<details>
<summary>The <b>log</b></summary>

A **needle** in it, and [a link](https://x.org).

<details open><summary>Inner</summary>

- deep pin

</details>
</details>

After.
"""


def item(window: TranscriptWindow) -> TextItem:
    made = window.view.canvas.items[-1]
    assert isinstance(made, TextItem)
    return made


def seen(window: TranscriptWindow) -> list[str]:
    made = item(window)
    return [leaf.text for n, leaf in enumerate(made.leaves) if leaf.laid and made.is_shown(n)]


def test_a_fold_opens_and_closes(shown: TranscriptWindow, qtbot: QtBot) -> None:
    """A-1: by a click, by keys; it is named with its state, and copied with what it hides."""
    view = shown.view
    shown.ask()
    shown.tell(TextDelta(ANSWER[:60]))
    heights = list[float]()
    for at in range(60, ANSWER.index("</details>\n\nAfter")):
        shown.tell(TextDelta(ANSWER[at]))
        heights.append(item(shown).height)
    assert len({*heights[5:]}) == 1, "a closed fold is calm while it grows"
    shown.tell(TextDelta(ANSWER[60 + len(heights) :]), TurnComplete("done"))
    closed = ["Before.", "The log", "After."]
    opened = ["Before.", "The log", "A needle in it, and a link.", "Inner", "deep pin", "After."]
    assert seen(shown) == closed
    assert [hit.text for hit in item(shown).hits] == ["The log, collapsed"]
    assert [hit.action for hit in item(shown).stops(view.context)] == ["toggle"]

    shown.click("toggle")
    assert seen(shown) == opened
    view.resize(700, 600)
    assert seen(shown) == opened and item(shown).hits[1].text == "Inner, expanded"
    shown.click("toggle")
    assert seen(shown) == closed

    view.setFocus()
    for key, after in ((Qt.Key.Key_Right, opened), (Qt.Key.Key_Right, opened),
                       (Qt.Key.Key_Left, closed), (Qt.Key.Key_Return, opened),
                       (Qt.Key.Key_Return, closed)):  # fmt: skip
        if view.focus.hit is None:
            view.canvas_viewport.focus_on(0)
            while view.focus.hit is None:
                shown.key(Qt.Key.Key_Down)
        shown.key(key)
        assert seen(shown) == after, key

    read = view.accessible.child(len(view.canvas.items) - 1)
    assert read is not None
    row = read.child(0)
    assert row is not None and row.text(QAccessible.Text.Name) == "The log, collapsed"
    assert row.state().collapsed and not row.state().expanded
    assert item(shown).spoken().text == "Before.\nThe log, collapsed\nAfter."
    view.canvas_viewport.focus_on(len(view.canvas.items) - 1)
    view.item_actions.copy(markup=False)
    assert "A needle in it" in QGuiApplication.clipboard().text()
    top = view.canvas_viewport.place_of(len(view.canvas.items) - 1).topLeft()
    below = top + QPoint(500, round(item(shown).height) - 4)
    QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=top + QPoint(2, 4))
    QTest.mouseMove(view.viewport(), below)
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=below)
    view.item_actions.copy()
    assert QGuiApplication.clipboard().text() == ANSWER.strip()

    view.finder.look_for(Wanted("pin"))
    qtbot.waitUntil(lambda: view.finder.total == 1, timeout=HANG_MS)
    assert seen(shown) == opened
    assert view.finder.at is not None and not view.finder.folded
    view.canvas_viewport.toggle((id(item(shown).block), ANSWER.index("<details>")))
    view.focus.item = item(shown)
    view.canvas_viewport.lay_out_again(item(shown))
    assert view.finder.folded == 1
