"""Words are found in the transcript as it is shown, and the hits are marked on the canvas."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.domain.blocks import EndBlock, NoticeBlock, TextBlock
from studio.domain.drafts import FileDraft
from studio.domain.events import (
    AwaitingReply,
    DraftCreated,
    ReasoningDelta,
    ReasoningEnded,
    ReplyGiven,
    TextDelta,
    ToolFinished,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.ui.chat.find_strip import FindStrip
from studio.ui.transcript.find import Find, FoundAt, Wanted, shown_texts
from studio.ui.transcript.items.answer_item import TextItem
from support.languages import language
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG_MS

__all__ = ["shown"]


def look_for(shown: TranscriptWindow, words: str, *, case: bool = False) -> None:
    """Search, and wait for the end of a search that takes more than one slice of time."""
    finder = shown.view.finder
    finder.look_for(Wanted(words, case=case))
    while finder.find is not None and not finder.find.done:
        QTest.qWait(1)


def run(call_id: str, command: str) -> ToolQueued:
    return ToolQueued(
        call_id, "run", {"command": command}, command, "act", "Running", "Ran", "terminal"
    )


def current_rect(window: TranscriptWindow) -> QRect:
    """Where the current hit is on the viewport."""
    view = window.view
    finder, canvas = view.finder, view.canvas
    assert finder.at is not None
    index = canvas.index_of_block(finder.at.block)
    assert index is not None
    place: QRectF = finder.place(canvas.items[index], finder.at)
    left, top = view.canvas_viewport.column_left, canvas.top(index) - view.scroller.value
    return place.translated(left, top).toAlignedRect()


def colours(window: TranscriptWindow, rect: QRect) -> set[str]:
    """The colours on the viewport in a rectangle."""
    picture = window.view.viewport().grab().toImage()
    places = [
        (x, y)
        for x in range(max(0, rect.left()), min(picture.width(), rect.right() + 1))
        for y in range(max(0, rect.top()), min(picture.height(), rect.bottom() + 1))
    ]
    return {QColor(picture.pixelColor(x, y)).name() for x, y in places}


def colour(window: TranscriptWindow, token: str) -> str:
    return window.view.theme.color(token).name()


def test_a_search_opens_at_its_line_marked(shown: TranscriptWindow, qtbot: QtBot) -> None:
    """Also where the line is far up, in the middle of a long answer, in markdown."""
    far = "\n\n".join(f"Paragraph {n}. " + "some words " * 40 for n in range(80))
    shown.ask()
    shown.tell(TextDelta(f"{far}\n\nHere is **Jitter** for Zürich.\n\n{far}"), TurnComplete("done"))
    for _ in range(30):
        shown.ask("again")
        shown.tell(TextDelta(far), TurnComplete("done"))
    view = shown.view
    assert view.finder.go_to_line(
        Wanted("jitter zurich", each_word=True), "Here is **Jitter** for Zürich."
    )
    place = current_rect(shown)
    assert view.viewport().rect().contains(place), place
    assert colour(shown, "warn_soft") in colours(shown, place)
    assert colour(shown, "accent_soft") in colours(shown, place.adjusted(0, 0, 200, 0))
    qtbot.waitUntil(lambda: view.finder.find is not None and view.finder.find.done, timeout=HANG_MS)
    assert (view.finder.number, view.finder.total) == (1, 2)
    view.finder.step(1)
    assert view.finder.number == 2
    view.finder.clear()
    assert colour(shown, "warn_soft") not in colours(shown, place)


def test_a_hit_in_a_closed_row_opens_it(shown: TranscriptWindow, qtbot: QtBot) -> None:
    """Reasoning, and a line of an output that is too long to be shown whole."""
    shown.ask()
    shown.tell(ReasoningDelta("First a needle in thought."), ReasoningEnded(2.0))
    output = "\n".join(f"line {n}" for n in range(300)) + "\nthe needle is here"
    shown.tell(run("c1", "pytest -q"), ToolStarted("c1"), ToolFinished("c1", output, False, 1.0))
    shown.tell(run("c2", "echo needle"), ToolStarted("c2"), ToolFinished("c2", "ok", False, 1.0))
    shown.tell(TextDelta("The end."), TurnComplete("done"))
    finder = shown.view.finder
    finder.look_for(Wanted("NEEDLE"))
    qtbot.waitUntil(lambda: finder.total == 3, timeout=HANG_MS)
    assert finder.at == FoundAt(2)
    assert finder.folded == 1  # the reasoning is open now
    for place in (FoundAt(3), FoundAt(4)):
        finder.step(1)
        assert finder.at == place
        rect = current_rect(shown)
        assert shown.view.viewport().rect().contains(rect)
        assert colour(shown, "warn_soft") in colours(shown, rect)
    assert finder.folded == 0
    look_for(shown, "NEEDLE", case=True)
    assert finder.total == 0


def test_a_hit_in_calls_that_share_a_row_is_at_its_own_line(shown: TranscriptWindow) -> None:
    """Closed, the row hides them; what the calls returned is not shown, and does not count."""
    shown.ask()
    for n, name in enumerate(("needle.py", "other.py", "src/needle.py")):
        queued = ToolQueued(f"c{n}", "read", {}, name, "read", "Reading", "Read", "file-text")
        shown.tell(queued, ToolStarted(f"c{n}"))
        shown.tell(ToolFinished(f"c{n}", "a needle in it", False, 0.1))
    draft = FileDraft("d", "needle.md", None, "words", "")
    shown.tell(ToolQueued("w", "write", {}, "needle.md", "draft", "Writing", "Wrote", "file-pen"))
    shown.tell(ToolStarted("w"), DraftCreated("w", draft), ToolFinished("w", "ok", False, 0.1))
    shown.tell(TextDelta("The end."), TurnComplete("done"))
    finder = shown.view.finder
    finder.find = Find(shown.view.canvas.blocks, Wanted("needle"))
    assert finder.find.look(HANG_MS)
    assert (finder.total, finder.folded) == (3, 2), "the file's call is its draft"
    tops: set[int] = set()
    for _ in range(2):
        finder.step(1)
        rect = current_rect(shown)
        assert rect.height() < 32 and colour(shown, "warn_soft") in colours(shown, rect)
        tops.add(rect.top())
    assert len(tops) == 2 and finder.folded == 0
    look_for(shown, "other")
    assert finder.total == 1 and current_rect(shown).height() < 32


def test_a_question_of_the_agent_is_found_with_its_choices(shown: TranscriptWindow) -> None:
    shown.ask()
    question = "Which needle, and which Coder?"
    arguments = {"question": question}
    shown.tell(ToolQueued("q", "ask", arguments, question, "read", "Asking", "Asked", "info"))
    shown.tell(ToolStarted("q"), AwaitingReply("q", question, ("A needle", "None")))
    finder = shown.view.finder
    look_for(shown, "needle")
    assert (finder.total, finder.folded) == (2, 0)
    for _ in range(finder.total):
        rect = current_rect(shown)
        assert 0 < rect.width() < 120 and colour(shown, "warn_soft") in colours(shown, rect)
        finder.step(1)
    look_for(shown, "Coder")
    assert finder.total == 1  # not in “Coder asks”
    shown.tell(ReplyGiven("q", "None"), ToolFinished("q", "None", False, 0.1))
    look_for(shown, "needle")
    assert finder.total == 1


def test_hits_are_found_while_an_answer_grows(shown: TranscriptWindow, qtbot: QtBot) -> None:
    shown.ask()
    shown.tell(TextDelta("one word "))
    finder = shown.view.finder
    look_for(shown, "word")
    assert (finder.number, finder.total) == (1, 1)
    shown.tell(TextDelta("and a **wo"))
    shown.tell(TextDelta("rd** more"))
    qtbot.waitUntil(lambda: finder.total == 2, timeout=HANG_MS)
    assert finder.number == 1
    finder.step(1)
    assert finder.number == 2
    assert colour(shown, "warn_soft") in colours(shown, current_rect(shown))


_PIECES = st.sampled_from(
    ["one", "two", " ", " ", "\n", "\n\n", "**", "*", "`", "_", "~~", "- ", "> ", "# ", "|", "\\",
     "[", "](http://one.two)", "&amp;", "<one>", "```\n", "\n| one | two |\n|--|--|\n| 1 | 2 |\n"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(source=st.lists(_PIECES, max_size=25).map("".join), text=st.sampled_from(
    ["one", "two", "ne", "one two", "onetwo", "two one", "on", "one &", "|"]
))  # fmt: skip
def test_what_is_shown_is_found_and_nothing_else(source: str, text: str) -> None:
    """A quick look at the source never misses what the shown text has."""
    block = TextBlock(source, live=False)
    find = Find([block], Wanted(text))
    assert find.look(60)
    words = re.compile(r"\s+".join(map(re.escape, text.split())))
    assert find.total == sum(len(words.findall(shown)) for shown in shown_texts(block)), source


def test_every_hit_that_is_counted_has_its_place(shown: TranscriptWindow) -> None:
    """Lists, tables, quotes and code: the number of a hit and its mark belong together."""
    source = (
        "# needle\n\n- a needle and needle\n  - needle\n\n> needle\n\n| needle | b |\n|--|--|\n"
        "| 1 | needle |\n\n```python\nneedle = '🙂 needle'\n```\n\n🙂 **nee**dle\n"
    )
    shown.ask()
    shown.tell(TextDelta(source), TurnComplete("done"))
    finder = shown.view.finder
    look_for(shown, "needle")
    assert finder.total == 10
    rects: list[tuple[int, int]] = []
    for _ in range(finder.total):
        rect = current_rect(shown)
        assert 0 < rect.width() < 120, rect
        rects.append((rect.top(), rect.left()))
        finder.step(1)
    assert rects == sorted(rects) and len(set(rects)) == 10
    item = next(item for item in shown.view.canvas.items if isinstance(item, TextItem))
    assert all(lines.marks for leaf in item.leaves for _, lines in leaf.layouts()[:1])


def test_the_count_of_hits_is_written_as_the_person_writes_numbers(
    shown: TranscriptWindow,
) -> None:
    shown.ask()
    shown.tell(TextDelta("word " * 1200))
    strip = FindStrip(shown.view.paint_style.theme, shown.view.finder, shown.view)
    strip.show()
    strip.field.setText("word")
    with language("de"):
        strip.step(-1)
    assert strip.field.accessibleDescription() == "1.200 von 1.200"


def test_the_programs_own_words_are_found_as_they_are_shown() -> None:
    declined = "The model declined to answer."
    blocks = [NoticeBlock(declined), EndBlock("refused", declined)]
    with language("de"):
        find = Find(blocks, Wanted("nicht antworten"))
        assert find.look(HANG_MS) and find.counts == [1, 1]
