"""What a screen reader finds in the transcript, asked as Qt asks it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.domain.events import (
    TextDelta,
    ToolFinished,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.ui.markdown.blocks import utf16
from studio.ui.markdown.parser import parse
from studio.ui.markdown.spoken import SpokenText, spoken_formula
from support.transcript_window import TranscriptWindow, shown

__all__ = ["shown"]

NAME = QAccessible.Text.Name
ANSWER = """# The *result*

Some **bold** `code`, [a link](http://example.org) and $\\frac{1}{2}$ 😀.

| a | b |
|---|---|
| 1 | **2** |

- [x] one
3. three

---

```py
x = 1
```
"""
READ = """The result
Some bold code, a link and 1/2 😀.
a, b
1, 2
Done: one
3. three
x = 1"""


@pytest.fixture
def asked(qapp: QApplication) -> Iterator[None]:
    """A screen reader runs."""
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(False)


def at(words: str) -> int:
    """Where words are in ``READ``, as Qt counts."""
    return utf16(READ[: READ.index(words)])


def run(shown: TranscriptWindow, call: str = "c1") -> None:
    shown.tell(
        ToolQueued(call, "run", {}, "pytest -q", "act", "Running", "Ran", "terminal"),
        ToolStarted(call),
        ToolFinished(call, "2 failed", True, 2.0, "exit 1"),
    )


def test_what_is_read_has_no_markup() -> None:
    spoken = SpokenText(parse(ANSWER))
    assert spoken.text == READ
    formula = at("1/2")
    piece = spoken.piece(formula + 1)
    assert piece is not None and (piece.block, piece.shown) == (1, len("$\\frac{1}{2}$"))
    assert spoken.offset(1, piece.at + 4) == formula + 2  # inside the formula's source
    cell = spoken.piece(at("2\nDone"))
    assert cell is not None and (cell.block, cell.part, cell.shown_at(cell.start)) == (2, 3, (0, 1))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("$a^2$", "a^2"),
        ("$$x_{10} = \\sqrt{\\frac{a}{b}}$$", "x_(10) = √(a/b)"),
        ("\\(\\alpha \\leq \\text{all}\\)", "alpha leq all"),
        ("\\[\\left( x \\right)\\]", "(x)"),
        ("$$" + "{" * 400 + "$$", ""),
    ],
)
def test_a_formula_is_read_as_words_and_signs(written: str, said: str) -> None:
    assert spoken_formula(written) == said


def test_a_screen_reader_reads_blocks_by_their_text(shown: TranscriptWindow, asked: None) -> None:
    shown.ask("Is `x` right?")
    run(shown)
    shown.tell(TextDelta(ANSWER), TurnComplete("done"))
    shown.view.grab()
    seen = QAccessible.queryAccessibleInterface(shown.view)
    rows = [seen.child(n) for n in range(seen.childCount())]
    assert [row.text(NAME) for row in rows] == [
        "You: Is x right?",
        "Coder, Model",
        "Ran pytest -q, failed, exit 1, collapsed",
        READ,
    ]
    answer = rows[3].textInterface()
    assert answer.characterCount() == len(READ) + 1  # the picture counts as two
    assert answer.text(0, -1) == READ and answer.text(0, 10) == "The result"

    # Qt asks each part for all that it might be.
    for part in (rows[3], rows[2].child(0)):
        assert part.valueInterface() is part.selectionInterface() is None
        assert part.tableCellInterface() is part.attributesInterface() is None
        assert part.editableTextInterface() is None
    assert rows[3].actionInterface() is rows[2].child(0).textInterface() is None

    # Each letter is where it is painted, in its block, and is found there again.
    inside = rows[3].rect()
    for word in ("result", "bold", "link", "1/2", "2\nDone", "three", "x = 1"):
        place = answer.characterRect(at(word))
        assert inside.contains(place) and 2 < place.width() < 100, (word, place)
        table = word.startswith("2\n")  # rows are selected whole
        found = answer.offsetAtPoint(place.center())
        assert table or word == "1/2" or found - at(word) in (0, 1), word
    first, second = answer.characterRect(0), answer.characterRect(1)
    assert second.left() > first.left() and second.top() == first.top()

    # A row is opened by its action; its name, state and text follow, and nothing was copied.
    row = rows[2].child(0)
    assert (row.role(), row.text(NAME)) == (QAccessible.Role.Button, rows[2].text(NAME))
    assert row.state().collapsed and not rows[2].textInterface().text(0, -1).endswith("failed")
    row.actionInterface().doAction(row.actionInterface().pressAction())
    QApplication.processEvents()
    shown.view.grab()
    assert row.state().expanded and row.text(NAME).endswith("expanded")
    assert rows[2].textInterface().text(0, -1).endswith("\n2 failed")
    assert rows[2].rect().contains(row.rect()) and row.rect().height() == 34


def test_blocks_far_from_the_window_are_read_too(shown: TranscriptWindow, asked: None) -> None:
    for number in range(60):
        shown.ask(f"Question {number}")
        run(shown, f"c{number}")
        shown.tell(TextDelta(f"**Answer** {number}\n\n" * 9), TurnComplete("done"))
    shown.view.set_transcript(shown.transcript)
    seen = QAccessible.queryAccessibleInterface(shown.view)
    assert seen.childCount() == 240
    before = shown.view.scroller.value
    first = seen.child(3)
    assert first.state().offscreen and first.textInterface().text(0, 8) == "Answer 0"
    row = seen.child(2).child(0)
    assert row.text(NAME).startswith("Ran pytest") and row.rect().bottom() < 0
    assert shown.view.scroller.value - before == shown.view.scroller.below == 0, "it stays"
    first.textInterface().scrollToSubstring(0, 1)
    shown.view.grab()
    assert not first.state().offscreen
    assert shown.view.rect().contains(
        shown.view.mapFromGlobal(first.textInterface().characterRect(0).center())
    )


def test_what_is_gone_is_taken_back_from_qt(shown: TranscriptWindow, asked: None) -> None:
    """Qt keeps what it was given by a number, and asks it even after Python has freed it."""
    shown.ask()
    run(shown)
    seen = QAccessible.queryAccessibleInterface(shown.view)
    block = seen.child(2)
    numbers = [QAccessible.uniqueId(one) for one in (block, block.child(0))]
    assert all(QAccessible.accessibleInterface(number) for number in numbers)
    del block
    shown.view.set_transcript(type(shown.transcript)())
    gc.collect()
    assert not any(QAccessible.accessibleInterface(number) for number in numbers)


def test_the_focus_is_told(shown: TranscriptWindow, asked: None) -> None:
    shown.ask()
    run(shown)
    shown.view.activateWindow()
    QTest.qWaitForWindowActive(shown.view)
    shown.view.clearFocus()
    shown.view.setFocus(Qt.FocusReason.TabFocusReason)
    seen = QAccessible.queryAccessibleInterface(shown.view)

    def focused() -> QAccessibleInterface:
        found = seen.focusChild()
        assert found.state().focused
        return found

    assert focused().text(NAME).startswith("Ran pytest")
    shown.key(Qt.Key.Key_Up)
    assert focused().text(NAME) == "Coder, Model"


def test_links_code_and_actions_are_reached_by_keys_and_pressed(
    shown: TranscriptWindow, asked: None
) -> None:
    opened: list[str] = []
    shown.view.item_actions.link_activated.connect(opened.append)
    shown.ask()
    words = "| a |\n|---|\n| [cell](http://c.org) |\n\n```\ncode\n```\n\n" + "More.\n\n" * 60
    shown.tell(TextDelta(f"See [**th**is](http://a.org) [too](http://a.org).\n\n{words}"))
    shown.tell(TurnComplete("done"))
    seen = QAccessible.queryAccessibleInterface(shown.view)
    answer = seen.child(2)
    places = [answer.child(n) for n in range(answer.childCount())]
    said = [(place.role().name, place.text(NAME)) for place in places]
    assert said == [("Link", "this"), ("Link", "too"), ("Link", "cell"), ("Button", "Copy")]

    # Tab goes to them, scrolls to them and rings them; Enter opens them.
    shown.view.activateWindow()
    QTest.qWaitForWindowActive(shown.view)
    shown.view.canvas_viewport.focus_on(2)
    shown.view.setFocus()
    shown.view.canvas_viewport.scroll_to_end()
    color = shown.view.theme.color("accent_text").rgb().to_bytes(4, "little")
    for number, place in enumerate(places):
        shown.key(Qt.Key.Key_Tab)
        assert seen.focusChild() is place and place.state().focused, number
        around = place.rect().adjusted(-6, -6, 6, 6)
        corner = shown.view.mapFromGlobal(around.topLeft())
        drawn = shown.view.grab(around.translated(corner - around.topLeft())).toImage()
        assert shown.view.rect().contains(corner), number
        assert bytes(drawn.constBits()).count(color) > 40, f"no ring around {said[number]}"
        shown.key(Qt.Key.Key_Return)
    assert opened == ["http://a.org", "http://a.org", "http://c.org"]
    assert QApplication.clipboard().text() == "code"

    # What can be done with an answer hangs on the line above it.
    above = seen.child(1)
    actions = [above.child(n).text(NAME) for n in range(above.childCount())]
    assert actions == ["Copy message", "More actions"]
    shown.key(Qt.Key.Key_Tab)
    assert seen.focusChild().text(NAME) == "Copy message" and seen.focusChild().parent() is above
    assert shown.view.rect().contains(shown.view.mapFromGlobal(seen.focusChild().rect().center()))
    press = above.child(0).actionInterface()
    press.doAction(press.pressAction())
    QApplication.processEvents()
    assert QApplication.clipboard().text().startswith("See [**th**is]")
