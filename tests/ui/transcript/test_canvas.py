"""The transcript's canvas, in a real (offscreen) window."""

from __future__ import annotations

import gc
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QColor, QGuiApplication, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.domain.blocks import TextBlock
from studio.domain.drafts import FileDraft, RecordDraft
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    DraftCreated,
    DraftResolved,
    Failed,
    PermissionResolved,
    ReasoningDelta,
    ReasoningEnded,
    ReplyGiven,
    StepEnded,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.domain.permissions import Question, Rule
from studio.domain.transcript import Transcript
from studio.ui.markdown.parser import parse
from studio.ui.theme.accents import blend
from studio.ui.transcript.items.answer_item import TextItem
from studio.ui.transcript.items.approval_item import GUARD, PAUSE, ApprovalItem
from studio.ui.transcript.items.reasoning_item import ReasoningItem
from studio.ui.transcript.view import FRAME
from support.languages import language
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG_MS

__all__ = ["shown"]


PYTEST = "run(pytest *)"


def question(*always: str) -> AwaitingPermission:
    rules = tuple(map(Rule.parse, always))
    return AwaitingPermission(
        Question("q1", "c1", "run", "Coder wants to run a command", "pytest -q", "To check.", rules,
                 (("folder", "~/code"), ("network", "No network")))
    )  # fmt: skip


def run(call_id: str = "c1", command: str = "pytest -q") -> ToolQueued:
    return ToolQueued(
        call_id, "run", {"command": command}, command, "act", "Running", "Ran", "terminal"
    )


LONG = "\n\n".join(f"Paragraph {n} " + "with some words " * 30 for n in range(60))


# -- streaming ---------------------------------------------------------------------


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_streamed_looks_as_if_it_came_whole(shown: TranscriptWindow, data: st.DataObject) -> None:
    source = (
        "# Title\n\nSome **bold** text with `code`.\n\n- one\n- two\n  - three\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n"
        "```python\ndef f():\n    return '''x\ny'''\n```\n\n> quote\n\nList<int> stays, <br> too. 🙂\n"
    )
    shown.transcript = Transcript()
    shown.view.set_transcript(shown.transcript)
    shown.ask()
    at = 0
    while at < len(source):
        size = data.draw(st.integers(1, 60))
        shown.tell(TextDelta(source[at : at + size]))
        at += size
    item = shown.view.canvas.items[-1]
    assert isinstance(item, TextItem)
    assert [leaf.block for leaf in item.leaves] == parse(source)
    streamed = item.height
    whole = Transcript()
    whole.apply(TurnStarted("s", "t", (Text("Hello"),), "Coder", "p", "Model", "inline"))
    whole.apply(TextDelta(source))
    shown.view.set_transcript(whole)
    other = shown.view.canvas.items[-1]
    other.show(shown.view.context, 0, 1e6)
    item.show(shown.view.context, 0, 1e6)
    assert (other.height, [leaf.height for leaf in other.leaves]) == (
        streamed, [leaf.height for leaf in item.leaves],
    )  # fmt: skip


def test_only_the_tail_is_laid_out_again(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta(LONG + "\n\n"))
    for _ in range(20):
        before = shown.view.context.layouts
        shown.tell(TextDelta("more words "))
        assert shown.view.context.layouts - before <= 2


def test_changes_in_one_frame_are_shown_at_once(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta("a "))
    before = shown.view._flushes
    for _ in range(100):
        index = shown.transcript.apply(TextDelta("word "))
        assert index is not None
        shown.view.changed(index)
    shown.view.flush()
    assert shown.view._flushes == before + 1
    assert shown.view.canvas.items[-1].name.count("word") == 100


def test_heights_stay_the_sum_of_items(shown: TranscriptWindow) -> None:
    for number in range(30):
        shown.ask(f"Question {number}")
        shown.tell(TextDelta(LONG[: 300 * number + 40]), TurnComplete("done"))
    canvas = shown.view.canvas
    for value in (0, 2000, 9000, 500, 1e9):
        shown.view.canvas_viewport.scroll_to(value)
        tops = [canvas.top(index) for index in range(len(canvas.items))]
        for index in range(1, len(tops)):
            gap = tops[index] - tops[index - 1] - canvas.items[index - 1].height
            assert gap in (10, 20)
        assert 0 <= shown.view.scroller.value <= shown.view.scroller.most


def test_long_transcripts_are_laid_out_where_they_are_seen(shown: TranscriptWindow) -> None:
    transcript = Transcript()
    for _ in range(500):
        transcript.apply(TurnStarted("s", "t", (Text("Hi"),), "Coder", "p", "M", "inline"))
        transcript.apply(TextDelta(LONG))
        transcript.apply(TurnComplete("done"))
    before = shown.view.context.layouts
    gc.collect()
    watched = len(gc.get_objects())
    gc.disable()
    shown.view.set_transcript(transcript)
    made = len(gc.get_objects()) - watched
    gc.enable()
    assert shown.view.context.layouts - before < 60
    # Each object more is looked at by the collector, which stops the window meanwhile: an item
    # that was not seen yet is itself and its span.
    assert made < 2 * len(shown.view.canvas.items) + 1000
    shown.view.canvas_viewport.scroll_to(0)
    shown.view.canvas_viewport.scroll_to_end()
    texts = [item for item in shown.view.canvas.items if isinstance(item, TextItem)]
    assert sum(any(leaf.laid for leaf in item.leaves) for item in texts) < 10
    assert texts[0].stream is None  # far away: forgotten


def test_what_is_near_is_laid_out_after_what_is_seen(shown: TranscriptWindow, qtbot) -> None:
    transcript = Transcript()
    for _ in range(100):
        transcript.apply(TurnStarted("s", "t", (Text("Hi"),), "Coder", "p", "M", "inline"))
        transcript.apply(TextDelta("A paragraph of some words.\n\n" * 30))
        transcript.apply(TurnComplete("done"))
    view = shown.view
    view.set_transcript(transcript)
    scroller, context = view.scroller, view.context
    for place in (0.2, 0.8, 0.5):
        before = context.layouts
        view.canvas_viewport.scroll_to(view.canvas.total * place)
        seen, picture = context.layouts - before, view.grab().toImage()
        top = scroller.value - view.canvas.top(view.canvas.at(scroller.value))
        enough = before + seen * 1.4
        qtbot.waitUntil(lambda enough=enough: context.layouts > enough, timeout=HANG_MS)
        assert scroller.value - view.canvas.top(view.canvas.at(scroller.value)) == top
        strip = scroller.bar.strip.toAlignedRect()
        area = QRect(0, 0, view.width() - strip.width(), view.height())
        assert view.grab().toImage().copy(area) == picture.copy(area)
        before = context.layouts
        view.canvas_viewport.scroll_by(300)
        assert context.layouts - before <= 4  # it was ready


# -- scrolling ---------------------------------------------------------------------


def test_the_end_is_followed_only_from_near_it(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta(LONG))
    scroller = shown.view.scroller
    assert scroller.value == scroller.most > 0
    shown.view.canvas_viewport.scroll_by(-300)
    stayed = scroller.value
    shown.tell(TextDelta("\n\nnew words " * 50))
    assert scroller.value == stayed
    assert (
        shown.view.canvas_viewport.pill is not None
        and shown.view.canvas_viewport.pill[0].action == "end"
    )
    QTest.mouseClick(
        shown.view.viewport(),
        Qt.MouseButton.LeftButton,
        pos=shown.view.canvas_viewport.pill[1].center().toPoint(),
    )
    assert scroller.value == scroller.most and shown.view.canvas_viewport.pill is None
    shown.view.canvas_viewport.scroll_by(-30)
    shown.tell(TextDelta("\n\nnew words " * 50))
    assert scroller.value == scroller.most


def test_keys_scroll_to_both_ends(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta(LONG))
    shown.key(Qt.Key.Key_Home)
    assert shown.view.scroller.value == 0 and not shown.view.scroller.following
    shown.key(Qt.Key.Key_End)
    assert shown.view.scroller.value == shown.view.scroller.most and shown.view.scroller.following


def test_what_is_read_stays_in_place_when_the_window_narrows(shown: TranscriptWindow) -> None:
    for _ in range(20):
        shown.ask("A question")
        shown.tell(TextDelta(LONG[:3000]), TurnComplete("done"))
    shown.view.canvas_viewport.scroll_to(4000)
    anchor = shown.view.canvas.anchor(shown.view.scroller.value)
    assert anchor is not None
    shown.view.resize(560, 600)
    after = shown.view.canvas.anchor(shown.view.scroller.value)
    assert after is not None and after[0] is anchor[0]


# -- what waits for the person ------------------------------------------------------


def test_a_question_is_a_card_and_then_a_row(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(run(), question(PYTEST))
    assert shown.kinds()[-1] == "prompt"
    card = shown.view.canvas.items[-1]
    assert "pytest -q" in card.name and "needs your answer" in card.name
    answers: list[tuple[str, str]] = []
    shown.view.item_actions.permission_answered.connect(lambda *args: answers.append(args))
    shown.click("allow_always")
    assert answers == [("q1", "folder")]
    shown.tell(
        PermissionResolved("q1", "session"), ToolStarted("c1"), ToolFinished("c1", "ok", False, 1.0)
    )
    assert shown.kinds()[-1] == "tools"


def test_keys_answer_a_question_but_not_at_once(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(run(), question(PYTEST))
    answers: list[tuple[str, str]] = []
    shown.view.item_actions.permission_answered.connect(lambda *args: answers.append(args))
    assert shown.view.focus_prompt()
    shown.view.grab()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_A, Qt.Key.Key_D):
        shown.key(key)
    assert answers == []
    shown.later()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_A, Qt.Key.Key_D):
        shown.letter(key)
    assert answers == [("q1", "once"), ("q1", "folder"), ("q1", "deny")]


@pytest.mark.parametrize("scrolled", [False, True])
def test_a_question_taller_than_the_window_is_read_from_its_beginning(
    shown: TranscriptWindow, scrolled: bool
) -> None:
    """U-1: also with the largest text; what comes after the answer is followed again."""
    shown.view.resize(500, 200)
    shown.ask()
    shown.tell(TextDelta(LONG[:3000]), run(), question(PYTEST))
    scroller, items = shown.view.scroller, shown.view.canvas.items
    shown.view.resize(500, 180)
    shown.tell()
    top = shown.view.canvas.top(len(items) - 1) - scroller.value
    assert items[-1].height > scroller.height > top >= 0
    assert shown.view.focus_prompt()
    assert shown.view.canvas.top(len(items) - 1) - scroller.value == top
    shown.later()
    if scrolled:  # down to its buttons
        shown.view.canvas_viewport.scroll_by(1000)
        shown.tell()
        assert scroller.below == 0
    shown.tell(PermissionResolved("q1", "once"), ToolStarted("c1"))
    shown.tell(ToolFinished("c1", "ok", False, 1.0), TextDelta(LONG[:2000]))
    assert scroller.below == 0


def test_tab_goes_through_the_buttons_of_a_question(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(run(), question(PYTEST))
    answers: list[tuple[str, str]] = []
    shown.view.item_actions.permission_answered.connect(lambda *args: answers.append(args))
    shown.view.focus_prompt()
    shown.later()
    for _ in range(3):  # past always, and where it counts
        shown.key(Qt.Key.Key_Tab)
    shown.key(Qt.Key.Key_Space)
    assert answers == [("q1", "deny")]


def test_a_question_that_allows_only_this_call_has_no_always(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(run(), question())
    assert [hit.action for hit in shown.view.canvas.items[-1].hits] == ["allow_once", "deny"]


def test_a_question_out_of_view_has_a_pill(shown: TranscriptWindow) -> None:
    for _ in range(4):
        shown.ask()
        shown.tell(TextDelta(LONG[:4000]), TurnComplete("done"))
    shown.ask()
    shown.tell(run(), question(PYTEST))
    shown.view.canvas_viewport.scroll_to(0)
    pill = shown.view.canvas_viewport.pill
    assert pill is not None and pill[0].text == "Coder needs your answer"
    QTest.mouseClick(
        shown.view.viewport(), Qt.MouseButton.LeftButton, pos=pill[1].center().toPoint()
    )
    item = shown.view.focus.item
    assert isinstance(item, ApprovalItem)
    index = shown.view.canvas.index(item)
    assert index is not None
    assert shown.view.viewport().rect().contains(shown.view.canvas_viewport.place_of(index))


def test_the_whole_command_is_shown(shown: TranscriptWindow) -> None:
    command = "pytest " + " ".join(f"tests/test_{n}.py::test_case_{n}" for n in range(80))
    asked = AwaitingPermission(Question("q", "c1", "run", "May I", command))
    shown.ask()
    shown.tell(run(command=command), asked)
    item = shown.view.canvas.items[-1]
    assert any(leaf.text == command for leaf in item.leaves)
    assert item.height > 300


def test_the_agents_question_has_choices(shown: TranscriptWindow) -> None:
    shown.ask()
    queued = ToolQueued("c2", "ask", {}, "", "read", "Asking", "Asked")
    shown.tell(queued, ToolStarted("c2"), AwaitingReply("c2", "Which one?", ("Red", "Blue")))
    assert shown.kinds()[-1] == "ask"
    replies: list[tuple[str, list[str]]] = []
    shown.view.item_actions.reply_given.connect(lambda *args: replies.append(args))
    left: list[bool] = []
    shown.view.item_actions.left.connect(lambda: left.append(True))
    assert shown.view.focus_prompt()
    shown.letter(Qt.Key.Key_2)
    assert not replies  # the card has only just appeared
    shown.later()
    shown.letter(Qt.Key.Key_3)
    assert left and not replies  # an answer of one's own is typed
    shown.letter(Qt.Key.Key_2)
    assert replies == [("c2", ["Blue"])]
    shown.key(Qt.Key.Key_Return)  # without a choice by arrows it is the first
    shown.key(Qt.Key.Key_Down)
    shown.key(Qt.Key.Key_Return)
    assert replies[1:] == [("c2", ["Red"]), ("c2", ["Blue"])]
    shown.tell(ReplyGiven("c2", "Blue"))
    assert shown.kinds()[-1] == "tools"


def test_a_question_without_choices_is_answered_in_words(shown: TranscriptWindow) -> None:
    shown.ask()
    queued = ToolQueued("c2", "ask", {}, "", "read", "Asking", "Asked")
    shown.tell(queued, ToolStarted("c2"), AwaitingReply("c2", "Why?"))
    assert not shown.view.focus_prompt() and not shown.view.canvas.items[-1].hits


def test_long_choices_are_read_whole(shown: TranscriptWindow) -> None:
    shown.ask()
    queued = ToolQueued("c2", "ask", {}, "", "read", "Asking", "Asked")
    choices = ("Short", "A choice that says what it means at some length. " * 4)
    shown.tell(queued, ToolStarted("c2"), AwaitingReply("c2", "Which one?", choices))
    card = shown.view.canvas.items[-1]
    short, long = card.hits[0].rect, card.hits[1].rect
    assert long.height() > short.height() + 20 and long.top() > short.bottom()
    words = next(leaf for leaf in card.leaves if leaf.text == choices[1])
    assert words.height <= long.height()


def test_keys_answer_only_what_is_in_view(shown: TranscriptWindow) -> None:
    """A key on a card out of view brings it into view, and does nothing else."""
    answers: list[tuple[str, str]] = []
    replies: list[tuple[str, list[str]]] = []
    shown.view.item_actions.permission_answered.connect(lambda *args: answers.append(args))
    shown.view.item_actions.reply_given.connect(lambda *args: replies.append(args))
    shown.ask()
    shown.tell(TextDelta(LONG), run(), question(PYTEST))
    assert shown.view.focus_prompt()
    shown.later()
    for key, answer in ((Qt.Key.Key_Return, "once"), (Qt.Key.Key_A, "folder")):
        shown.view.canvas_viewport.scroll_to(0)
        shown.letter(key)
        assert len(answers) < 2 and (not answers or answers[-1][1] != answer)
        shown.letter(key)
        assert answers[-1] == ("q1", answer)
    shown.view.canvas_viewport.scroll_to(0)
    shown.tell(PermissionResolved("q1", "once"), ToolStarted("c1"))
    queued = ToolQueued("c2", "ask", {}, "", "read", "Asking", "Asked")
    shown.tell(queued, ToolStarted("c2"), AwaitingReply("c2", "Which one?", ("Red", "Blue")))
    assert shown.view.focus_prompt()
    shown.later()
    shown.view.canvas_viewport.scroll_to(0)
    shown.letter(Qt.Key.Key_1)
    assert not replies
    shown.letter(Qt.Key.Key_1)
    assert replies == [("c2", ["Red"])]


def test_words_of_rows_stay_in_order_where_people_read_from_the_right(
    shown: TranscriptWindow,
) -> None:
    """The transcript is laid out the same everywhere: “0 entries” is not “entries 0” there."""
    shown.ask()
    shown.tell(ToolQueued("c1", "list", {}, "src", "read", "Listing", "Listed"), ToolStarted("c1"))
    shown.tell(ToolFinished("c1", "", False, 0.1, "0 entries"), TurnComplete("done"))
    before = shown.view.grab().toImage()
    QApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    try:
        after = shown.view.grab().toImage()
    finally:
        QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    assert after == before


def test_typing_does_not_answer_a_question(shown: TranscriptWindow) -> None:
    """Keys act on a card only after a second without typing, in the composer or on the card."""
    now, replies = [100.0], []
    context = shown.view.context
    context.now = lambda: now[0]
    shown.view.item_actions.reply_given.connect(lambda *args: replies.append(args))
    shown.ask()
    queued = ToolQueued("c1", "ask", {}, "", "read", "Asking", "Asked")
    context.typed_at = now[0]  # a message was just sent
    shown.tell(queued, ToolStarted("c1"), AwaitingReply("c1", "Which one?", ("Red", "Blue")))
    assert shown.view.focus_prompt()
    shown.view.grab()
    now[0] += PAUSE - 0.1
    QTest.keyClicks(shown.view, "go on 1")
    now[0] += PAUSE - 0.1
    shown.key(Qt.Key.Key_Space)
    now[0] += PAUSE + 0.1
    QTest.keyClicks(shown.view, "so")  # no keys of the card
    now[0] += GUARD + 0.1
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_2):
        shown.key(key)
    assert not replies
    now[0] += PAUSE + 0.1
    shown.letter(Qt.Key.Key_2)
    assert replies == [("c1", ["Blue"])]


def test_the_first_letter_of_a_word_is_no_key_of_a_card(shown: TranscriptWindow) -> None:
    """T-7: “and then…”, typed when a question is seen already, allows nothing for always."""
    answers, typed = [], []
    shown.view.item_actions.permission_answered.connect(lambda *args: answers.append(args))
    shown.view.item_actions.typed.connect(typed.append)
    shown.ask()
    shown.tell(run(), question(PYTEST))
    assert shown.view.focus_prompt()
    alone = shown.view._keys._alone
    before = alone.interval()
    alone.setInterval(HANG_MS)  # however long the second letter takes here
    for words in ("an", "d ", "d\r"):
        shown.later()
        for letter in words:
            QTest.keyClick(shown.view, letter)
        assert not alone.isActive()
        shown.view.canvas.items[-1].shown_at = 0.0
    assert (answers, typed) == ([], ["an", "d ", "d"])
    alone.setInterval(before)
    shown.later()
    shown.letter(Qt.Key.Key_A)
    assert answers == [("q1", "folder")]


def test_a_draft_waits_and_then_is_a_row(shown: TranscriptWindow) -> None:
    """T-5: nothing is written before the person says so, and the card says that."""
    draft = FileDraft("d1", "src/a.py", "a\nb\nc\n", "a\nB\nc\n", "x")
    shown.ask()
    shown.tell(DraftCreated("c1", draft))
    actions: list[tuple[str, str]] = []
    shown.view.item_actions.draft_action.connect(lambda *args: actions.append(args))
    tall = shown.view.canvas.items[-1].height
    for action in ("approve", "edit", "discard"):
        shown.click(action)
    shown.view.canvas_viewport.go_to_waiting()
    shown.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    shown.key(Qt.Key.Key_E)
    shown.key(Qt.Key.Key_Delete)
    assert actions == 2 * [("d1", "approve"), ("d1", "edit"), ("d1", "discard")]
    shown.tell(DraftResolved("d1", "approved"))
    item = shown.view.canvas.items[-1]
    assert item.height < tall / 2 and "written" in item.name
    shown.click("undo")
    assert actions[-1] == ("d1", "undo")
    shown.tell(DraftResolved("d1", "undone"))
    assert "undo" not in [hit.action for hit in item.hits]


@pytest.mark.parametrize("wide", [600, 420])
def test_the_tag_of_a_draft_keeps_off_its_figures(shown: TranscriptWindow, wide: int) -> None:
    """The path gives way to it, and it to the path in a chat as narrow as beside a page."""
    shown.view.resize(wide, 600)
    shown.ask()
    path = f"src/{'long/' * 30}a.py"
    shown.tell(DraftCreated("c1", FileDraft("d1", path, None, "b\nc\n", "")))
    shown.view.canvas_viewport.scroll_to(0)
    style, at = shown.view.paint_style, shown.view.canvas_viewport.place_of(2)
    with language("de"):  # its “New file” is longer
        image = shown.view.viewport().grab().toImage()
    tag, ok = style.theme.color("track"), style.color("ok")
    surface = style.color("surface")
    ground = QColor(blend(tag.rgb() & 0xFFFFFF, tag.alphaF(), surface.rgb() & 0xFFFFFF))
    rows = range(at.top() + 12, at.top() + 27)
    across = [(x, image.pixelColor(x, y)) for x in range(at.left(), at.right()) for y in rows]
    tagged = [x for x, colour in across if colour == ground]
    figures = [x for x, colour in across if colour == ok]
    if wide == 420:
        inked = [x for x, colour in across if colour == style.color("text1")]
        assert not tagged and figures and max(inked) - min(inked) > 140
        return
    assert tagged and figures and min(figures) - max(tagged) > style.px(9), (tagged[-1], figures[0])


def test_a_draft_of_a_record_is_a_card_like_a_files(shown: TranscriptWindow) -> None:
    """T-5: its fields are compared as text, and nobody edits them by hand."""
    draft = RecordDraft("d1", "contacts", "ada", {"mail": "old"}, {"mail": "new"})
    shown.ask()
    shown.tell(DraftCreated("c1", draft))
    actions: list[tuple[str, str]] = []
    shown.view.item_actions.draft_action.connect(lambda *args: actions.append(args))
    item = shown.view.canvas.items[-1]
    assert item.source() == 'contacts/ada\n {\n-  "mail": "old"\n+  "mail": "new"\n }'
    assert item.name == "Draft, contacts/ada, 1 line added, 1 removed, waiting for you"
    assert "edit" not in [hit.action for hit in item.hits]
    shown.click("approve")
    assert actions == [("d1", "approve")]
    shown.tell(DraftResolved("d1", "approved"))
    assert "written" in item.name


@pytest.mark.parametrize(
    ("end", "ways"),
    [
        (TurnComplete("step_limit"), ["go_on_background"]),
        (TurnComplete("token_limit", "The output limit is reached."), ["continue"]),
        (TurnComplete("token_limit", "Enough.", cap="turn"), ["go_on", "settings"]),
        (TurnComplete("money_limit", "Enough.", cap="session"), ["raise_cap", "settings"]),
        (TurnComplete("money_limit", "Enough.", cap="day"), ["settings", "go_on"]),
        (TurnComplete("request_limit", "Enough.", cap="hour"), ["settings", "go_on"]),
        (TurnComplete("stalled"), ["choose_model", "go_on"]),
        (TurnComplete("cancelled"), ["go_on"]),
    ],
)
def test_l14_an_end_offers_the_ways_on(
    shown: TranscriptWindow, end: TurnComplete, ways: list[str]
) -> None:
    shown.ask()
    shown.view.context.raised = lambda end: "$4.00"
    shown.tell(end)
    hits = shown.view.canvas.items[-1].hits
    assert [hit.action for hit in hits] == ways
    assert not hits or hits[0].action != "raise_cap" or hits[0].text == "Raise to $4.00"
    asked: list[str] = []
    shown.view.item_actions.recovery_wanted.connect(asked.append)
    for way in ways:
        shown.click(way)
    assert asked == ways


def test_a_failure_offers_what_helps(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(Failed("bad_key", "Anthropic rejected the API key", "The key ending in 7Q4A."))
    actions: list[str] = []
    shown.view.item_actions.recovery_wanted.connect(actions.append)
    shown.click("replace_key")
    shown.click("use_another_provider")
    assert actions == ["replace_key", "use_another_provider"]


# -- tools and thoughts ---------------------------------------------------------------


def test_rows_open_and_show_the_last_lines_while_running(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(
        run(), ToolStarted("c1"), ToolOutput("c1", "".join(f"line {n}\n" for n in range(20)))
    )
    shown.click("toggle")
    (leaf,) = shown.view.canvas.items[-1].leaves
    assert leaf.text.split("\n") == [f"line {n}" for n in range(14, 20)]
    shown.tell(ToolFinished("c1", "all of it", True, 2.0, "exit 1"))
    (leaf,) = shown.view.canvas.items[-1].leaves
    assert leaf.text == "all of it"
    assert "failed, exit 1" in shown.view.canvas.items[-1].name
    shown.click("copy_output")
    assert QGuiApplication.clipboard().text() == "all of it"


def test_a_second_of_thinking_is_counted_once_it_is_over(shown: TranscriptWindow) -> None:
    """As while it works unseen: so that the figure does not go back to 0."""
    now = [1000.0]
    shown.view.context.now = lambda: now[0]
    shown.ask()
    shown.tell(ReasoningDelta("Let me think."))
    item = shown.view.canvas.items[2]
    assert isinstance(item, ReasoningItem)
    assert item.title(shown.view.context) == "Thinking…"
    now[0] += 1.5
    assert item.title(shown.view.context) == "Thinking… 1 s"


def test_thoughts_open_by_key(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(ReasoningDelta("Let me think."), ReasoningEnded(6.0), TextDelta("Well."))
    item = shown.view.canvas.items[2]
    assert item.name == "Thought for 6 s"
    low = item.height
    shown.view.canvas_viewport.focus_on(2)
    shown.key(Qt.Key.Key_Right)
    assert item.height > low and item.leaves[0].text == "Let me think."
    shown.key(Qt.Key.Key_Left)
    assert item.height == low


# -- copying ---------------------------------------------------------------------------


def copied(shown: TranscriptWindow) -> str:
    shown.view.item_actions.copy()
    return QGuiApplication.clipboard().text()


def test_all_is_copied_as_it_was_written(shown: TranscriptWindow) -> None:
    source = "# Title\n\nSome **bold** List<int> and `code`.\n\n- one\n- two\n\n```py\nx = 1\n```"
    shown.ask("Look at `this`")
    shown.tell(TextDelta(source), StepEnded(1, "end", Usage(), 1.0), TurnComplete("done"))
    shown.view.canvas_viewport.select_all()
    assert source in copied(shown) and "Look at `this`" in copied(shown)


def test_a_dragged_selection_copies_across_blocks(shown: TranscriptWindow) -> None:
    shown.ask("First")
    shown.tell(
        TextDelta("Alpha beta **gamma**.\n\nMiddle *one*.\n\nLast words here."),
        TurnComplete("done"),
    )
    viewport, item = shown.view.viewport(), shown.view.canvas.items[-1]
    assert isinstance(item, TextItem)
    place = shown.view.canvas_viewport.place_of(len(shown.view.canvas.items) - 1)
    words = item.leaves[0].lines.rects(6, 10)[0]  # type: ignore[attr-defined]
    start = QPoint(round(place.left() + words.left()), round(place.top() + words.center().y()))
    last = item.leaves[2].lines.rects(0, 4)[0]  # type: ignore[attr-defined]
    end = QPoint(
        round(place.left() + last.right()),
        round(place.top() + item.leaf_top(2) + last.center().y()),
    )
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(viewport, end)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)
    assert copied(shown) == "beta gamma.\n\nMiddle *one*.\n\nLast"


def test_a_selection_outlives_what_is_laid_out(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta("First words.\n\n" + LONG), TurnComplete("done"))
    for _ in range(8):
        shown.ask()
        shown.tell(TextDelta(LONG), TurnComplete("done"))
    shown.view.selection.begin((2, (0, 6)))
    shown.view.selection.extend((2, (0, 11)))
    shown.view.canvas_viewport.scroll_to(0)
    shown.view.canvas_viewport.scroll_to_end()
    assert shown.view.canvas.items[2].leaves == []
    assert copied(shown) == "words"


def test_the_focused_block_is_copied_by_c(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta("Some **bold** words."), TurnComplete("done"))
    shown.view.canvas_viewport.focus_on(2)
    shown.key(Qt.Key.Key_C)
    assert QGuiApplication.clipboard().text() == "Some **bold** words."


def test_words_and_source_are_copied_and_selected_by_key(shown: TranscriptWindow) -> None:
    """Ctrl+C without markup, Ctrl+Shift+C as markdown; Shift and arrows go across messages."""
    source = "Some **bold** words.\n\n- one\n- two\n\n|a|b|\n|-|-|\n|1|2|"
    shown.ask("First")
    shown.tell(TextDelta(source), TurnComplete("done"))
    board, ctrl = QGuiApplication.clipboard(), Qt.KeyboardModifier.ControlModifier
    shift = Qt.KeyboardModifier.ShiftModifier
    shown.view.canvas_viewport.focus_on(2)
    shown.key(Qt.Key.Key_C, ctrl)
    assert board.text() == "Some bold words.\n\n• one\n• two\n\na\tb\n1\t2"
    shown.key(Qt.Key.Key_C, ctrl | shift)
    assert board.text() == source
    before = shown.view.viewport().grab().toImage()
    shown.view.canvas_viewport.focus_on(0)
    for _ in range(3):
        shown.key(Qt.Key.Key_Right, shift)
    shown.key(Qt.Key.Key_C, ctrl)
    assert board.text() == "Fir"
    shown.key(Qt.Key.Key_Down, shift)
    shown.key(Qt.Key.Key_Down, shift)
    for _ in range(2):
        shown.key(Qt.Key.Key_Left, shift)
    assert shown.view.viewport().grab().toImage() != before
    shown.key(Qt.Key.Key_C, ctrl)
    assert board.text() == "First\n\nCoder, Model\n\nSome bold word"
    for _ in range(9):
        shown.key(Qt.Key.Key_Up, shift)
    assert shown.view.selection.head == (0, (0, 0))


def test_links_are_told(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(TextDelta("[here](https://example.org)"))
    opened: list[str] = []
    shown.view.item_actions.link_activated.connect(opened.append)
    place = shown.view.canvas_viewport.place_of(len(shown.view.canvas.items) - 1)
    shown.view.grab()
    QTest.mouseClick(
        shown.view.viewport(), Qt.MouseButton.LeftButton, pos=place.topLeft() + QPoint(10, 11)
    )
    assert opened == ["https://example.org"]


def test_a_screen_reader_sees_a_list_with_states(shown: TranscriptWindow) -> None:
    shown.ask("Hi")
    shown.tell(run(), ToolStarted("c1"), ToolFinished("c1", "no", True, 2.0, "exit 1"))
    seen = QAccessible.queryAccessibleInterface(shown.view)
    assert seen.role() == QAccessible.Role.List
    names = [seen.child(n).text(QAccessible.Text.Name) for n in range(seen.childCount())]
    assert names == ["You: Hi", "Coder, Model", "Ran pytest -q, failed, exit 1, collapsed"]
    child = seen.child(2)
    assert child.rect().height() == 34 and seen.indexOfChild(child) == 2
    shown.click("toggle")
    assert child.text(QAccessible.Text.Name).endswith("expanded")


@pytest.mark.parametrize("dark", [False, True])
def test_every_kind_is_painted(shown: TranscriptWindow, dark: bool) -> None:
    """Paints all there is, at two text sizes; a fault in painting fails the test."""
    shown.view.theme.set("dark" if dark else "light", 1.4 if dark else 1.0)
    shown.ask("```py\nx\n```\nand `code`")
    shown.tell(
        ReasoningDelta("Hm."), ReasoningEnded(1.0), run("c0"), ToolStarted("c0"),
        ToolFinished("c0", "out", True, 1.0), run(), question(PYTEST),
        DraftCreated("c3", FileDraft("d", "a.py", "\tx = 1\n", "\tx = 2\n", "")),
        TextDelta("> q\n\n---\n\n| a | b |\n|--|--|\n| `1` | 2 |\n\n1. x\n\n```py\n1\n```\n- [x] y"),
        Failed("network", "You’re offline", "No network."), TurnComplete("stalled"),
    )  # fmt: skip
    for item in shown.view.canvas.items:
        for hit in item.hits:
            if hit.action == "toggle" and isinstance(hit.value, int):
                shown.view.context.opened.add(hit.value)
    shown.view.canvas_viewport.select_all()
    total = shown.view.canvas.total
    shown.view.resize(900, int(total) + 50)
    picture = shown.view.grab().toImage()
    ground = shown.view.paint_style.color("surface").rgb()
    assert picture.pixel(3, 3) == ground


def test_what_is_on_screen_is_what_a_full_repaint_shows(
    shown: TranscriptWindow, qapp: QApplication
) -> None:
    """Partial updates in several places erase what was there before (G-3)."""
    shown.ask()
    shown.view.flush()
    qapp.processEvents()
    viewport = shown.view.viewport()
    corner, rest = QRect(0, 0, 40, 40), QRect(50, 50, viewport.width() - 50, viewport.height() - 50)
    for piece in ("| a | b |", "\n|---|---|\n", "| **1** ", "| 2 |\n", "\nmore", " words"):
        shown.transcript.apply(TextDelta(piece))
        shown.view.changed(len(shown.transcript.blocks) - 1)
        shown.view.flush()
        viewport.update(QRegion(corner).united(QRegion(rest)))
        qapp.processEvents()
    on_screen = shown.view.screen().grabWindow(shown.view.winId()).toImage()
    whole = shown.view.grab().toImage().convertToFormat(on_screen.format())
    assert on_screen.size() == whole.size() and on_screen == whole


@pytest.mark.parametrize("seed", range(6))
def test_each_frame_of_a_growing_text_paints_what_changed(
    shown: TranscriptWindow, qapp: QApplication, seed: int
) -> None:
    """G-3: nothing is left of a frame before, and what is the same is not painted again."""
    dice = random.Random(seed)
    words = ("word ", "longer-word ", "**bold ", "bold** ", "`code` ", "[link](https://x.org) ",
             "\n\n", "\n\n- item ", "\n\n> quote ", "\n\n## Head\n\n", "$x^2$ ", "*a", "b* ",
             "\n\n```py\nx = 1\n", "y = \"s\"\n", "\'\'\'\n", "# z\n", "\n```\n\n", "\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n",
             "\n\n<details><summary>Sum", "</summary>\n\n", "\n\n<details open>\n\n", "\n</details>\n\n", " ![pic](a.png) ")  # fmt: skip
    shown.view.resize(900, 1600)
    shown.ask()
    shown.view.flush()
    qapp.processEvents()
    weights = [60, 12, *[3] * (len(words) - 2)]
    for _ in range(60):
        text = "".join(dice.choices(words, weights, k=dice.randrange(1, 4)))
        shown.transcript.apply(TextDelta(text))
        shown.view.changed(len(shown.transcript.blocks) - 1)
        shown.view.flush()
        qapp.processEvents()
        if shown.view.canvas.total > 1500:
            break
        on_screen = shown.view.screen().grabWindow(shown.view.winId()).toImage()
        whole = shown.view.grab().toImage().convertToFormat(on_screen.format())
        assert on_screen == whole, shown.transcript.blocks[-1].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", ["Some words of a paragraph. " * 120, "```\n" + "x = 1  # words\n" * 21 + "y = "]
)
@pytest.mark.parametrize("tall", [1600, 400])
def test_long_text_paints_its_last_lines_alone(
    shown: TranscriptWindow, qapp: QApplication, tall: int, text: str
) -> None:
    """Nor the scroll bar, where there is one: its curves cost as much as the words."""
    shown.view.resize(900, tall)
    shown.ask()
    shown.tell(TextDelta(text))
    shown.view.flush()
    qapp.processEvents()
    viewport, tops, ends = shown.view.viewport(), list[int](), list[int]()
    strip = shown.view.scroller.bar.strip.toAlignedRect()

    class Eye(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and watched is viewport:
                tops.extend(box.top() for box in event.region())  # type: ignore[attr-defined]
                ends.append(event.region().boundingRect().bottom())  # type: ignore[attr-defined]
                assert not event.region().intersects(strip)  # type: ignore[attr-defined]
            return False

    eye = Eye()
    viewport.installEventFilter(eye)
    shown.tell(TextDelta("And."))
    qapp.processEvents()
    viewport.removeEventFilter(eye)
    assert bool(shown.view.scroller.most) is (tall == 400)
    end = shown.view.canvas.total - shown.view.scroller.value
    assert tops and all(end - one < 120 for one in tops), (tops, end)
    last = shown.view.canvas.bottom - shown.view.scroller.value
    assert all(one < last + 4 for one in ends), "the room below the last line is empty"


def test_words_in_the_last_line_move_nothing(shown: TranscriptWindow) -> None:
    """G-3: of an answer that comes, five updates of six change one line and no height."""
    shown.ask()
    shown.tell(TextDelta("Some words"))
    canvas, height = shown.view.canvas, shown.view.canvas.total
    shown.tell(TextDelta(" and more"))
    assert canvas.in_line and canvas.total == height
    shown.tell(TextDelta(" of them" * 60))
    assert not canvas.in_line and canvas.total > height
    shown.tell(TextDelta("\n\nAnother"))
    assert not canvas.in_line
    shown.tell(TextDelta(" word"))
    assert canvas.in_line
    shown.tell(TextDelta(" and **a"))
    assert not canvas.in_line, "what stood there may look different now"


def test_text_is_shown_where_a_frame_is_due(shown: TranscriptWindow) -> None:
    """G-3: in the call that brings it, without another turn of the loop."""
    shown.ask()
    shown.tell(TextDelta("Some"))
    text, pause, seen = shown.transcript.blocks[-1], FRAME, False
    assert isinstance(text, TextBlock)
    while not seen:
        assert pause < HANG_MS / 1000
        time.sleep(pause)  # until a frame is due: sooner than that it waits for its time
        shown.transcript.apply(TextDelta(" word"))
        shown.view.grew(len(shown.transcript.blocks) - 1)
        seen = shown.view.canvas.items[-1].leaves[-1].text == text.text
        shown.view.flush()
        pause *= 2


def test_thoughts_that_are_not_shown_make_no_empty_box(shown: TranscriptWindow) -> None:
    """Redacted reasoning has no words: nothing to open, and nothing at all if nobody timed it."""
    shown.ask()
    shown.tell(ReasoningDelta(""), ReasoningEnded(3.0), run(), ToolStarted("c1"))
    shown.tell(ToolFinished("c1", "ok", False, 1.0), ReasoningDelta(" "), TextDelta("Well."))
    timed, untimed = shown.view.canvas.items[2], shown.view.canvas.items[4]
    assert timed.name == "Thought for 3 s" and timed.height == 24 and timed.hits == []
    assert untimed.height == 0 and untimed.hits == []
    gap = shown.view.canvas.top(5) - shown.view.canvas.top(3) - shown.view.canvas.items[3].height
    assert gap == 12
    shown.view.grab()
    shown.tell(TurnComplete("done"), StepEnded(1, "end", Usage(), 1.0))


def test_thoughts_between_calls_stay_apart(shown: TranscriptWindow) -> None:
    """Interleaved thinking: each thought stands where it was thought, and opens by itself."""
    shown.ask()
    for number in (1, 2):
        call_id = f"c{number}"
        shown.tell(ReasoningDelta(f"Thought {number}."), ReasoningEnded(number))
        shown.tell(run(call_id), ToolStarted(call_id), ToolFinished(call_id, "ok", False, 1.0))
    assert shown.kinds()[2:] == ["reasoning", "tools", "reasoning", "tools"]
    shown.view.canvas_viewport.focus_on(4)
    shown.key(Qt.Key.Key_Right)
    assert [leaf.text for leaf in shown.view.canvas.items[4].leaves] == ["Thought 2."]
    assert shown.view.canvas.items[2].leaves == []
