"""What the transcript shows of retries, of ends that can be passed, of a full chat."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.domain.blocks import EndBlock, RetryBlock
from studio.domain.events import (
    Failed,
    Retried,
    RetryScheduled,
    Silent,
    TextDelta,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text
from studio.domain.sessions import Versions
from studio.domain.transcript import Transcript
from studio.ui.transcript import model
from studio.ui.transcript.items.turn_items import RetryItem
from studio.ui.widgets.painting import AnimationTimer
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG_MS

__all__ = ["shown"]

SCHEDULED = RetryScheduled(2, 5, 30.0, "overloaded", "Anthropic is overloaded.", "anthropic")


def retry(shown: TranscriptWindow) -> RetryItem:
    item = shown.view.canvas.items[-1]
    assert isinstance(item, RetryItem)
    return item


def clock(shown: TranscriptWindow) -> list[float]:
    """The view's clock, to be set by hand."""
    now = [1000.0]
    shown.view.context.now = lambda: now[0]
    return now


def test_a_wait_is_a_card_that_counts_down_and_then_a_line(shown: TranscriptWindow) -> None:
    """L-12: visible countdown, “try now”, “stop”; nothing shown before it is lost."""
    now = clock(shown)
    shown.ask()
    shown.tell(TextDelta("Half an answer"), SCHEDULED)
    card = retry(shown)
    assert [hit.text for hit in card.hits] == ["Try now", "Switch to…", "Stop"]
    assert card.animated
    tall = card.height
    now[0] += 7.2
    assert model.countdown(card.block, 22.8) == "Trying again in 0:23. Attempt 2 of 5."
    first = shown.view.grab().toImage()
    now[0] += 10
    assert shown.view.grab().toImage() != first
    wanted: list[str] = []
    shown.view.item_actions.recovery_wanted.connect(wanted.append)
    for name in ("try_now", "switch_model", "stop"):
        shown.click(name)
    shown.view.canvas_viewport.focus_on(len(shown.view.canvas.items) - 1)
    shown.key(Qt.Key.Key_R)
    assert wanted == ["try_now", "switch_model", "stop", "try_now"]
    shown.tell(Retried(2.4))
    assert card.height == tall and [hit.text for hit in card.hits] == ["Stop"]
    assert not card.animated
    shown.tell(TextDelta(" goes on."))
    line = shown.view.canvas.items[-2]
    assert line is card and line.height < tall / 3 and not line.hits and not line.animated
    assert line.name == "Anthropic was overloaded. Tried again after 2.4 s."
    assert [i.name for i in shown.view.canvas.items][2:] == [
        "Half an answer", line.name, "goes on.",
    ]  # fmt: skip


def test_nothing_moves_while_attempt_after_attempt_fails(shown: TranscriptWindow) -> None:
    """L-12: a card stays one until something comes of the attempt, or the turn is over."""
    shown.ask()
    shown.tell(TextDelta("Words.\n\n" * 30), SCHEDULED)
    first, place = retry(shown), shown.view.scroller.value
    shown.tell(Retried(1.0))
    assert shown.view.scroller.value == place
    shown.tell(SCHEDULED)
    assert shown.view.scroller.value == place and retry(shown) is first and first.hits
    tall = first.height
    shown.tell(Retried(1.5))
    assert first.hits and first.height == tall
    shown.tell(TurnComplete("done"))
    assert not first.hits and first.height < tall / 3


def test_many_attempts_leave_one_line(shown: TranscriptWindow) -> None:
    shown.ask()
    for seconds in (1.0, 2.0, 4.0):
        shown.tell(SCHEDULED, Retried(seconds))
    shown.tell(TextDelta("At last."))
    assert shown.kinds() == ["user", "agent", "retry", "text"]
    line = shown.view.canvas.items[2].name
    assert line == "Anthropic was overloaded. Tried again 3 times in 7.0 s."
    shown.ask()
    shown.tell(SCHEDULED, Retried(1.0), SCHEDULED, TurnComplete("cancelled"))
    line = shown.view.canvas.items[-2].name
    assert line == "Anthropic was overloaded. Tried again once, then stopped."


def test_a_wait_that_was_stopped_says_so(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(SCHEDULED, TurnComplete("cancelled"))
    item = shown.view.canvas.items[-2]
    assert item.name == "Anthropic was overloaded. Stopped before trying again."
    assert not item.hits


def test_a_wait_from_disk_never_counts_down(shown: TranscriptWindow) -> None:
    transcript = Transcript([TurnStarted("s", "t", (Text("Hi"),), "Coder", "p", "M", "inline")])
    transcript.apply(SCHEDULED)
    assert isinstance(transcript.blocks[-1], RetryBlock)
    shown.view.set_transcript(transcript)
    shown.view.grab()
    item = retry(shown)
    assert not item.hits and not item.animated
    assert item.name == "Anthropic is overloaded. Waiting to try again. Attempt 2 of 5."
    now = clock(shown)
    shown.view.set_transcript(transcript, now[0] - 12)
    shown.view.flush()
    item = retry(shown)
    assert item.animated and item._begun(shown.view.context) == now[0] - 12


def test_less_motion_moves_the_bar_once_a_second(shown: TranscriptWindow) -> None:
    shown.view.theme.set(still=True)
    now = clock(shown)
    shown.ask()
    shown.tell(SCHEDULED)
    now[0] += 5.1
    before = shown.view.grab().toImage()
    now[0] += 0.7
    assert shown.view.grab().toImage() == before
    now[0] += 0.3
    assert shown.view.grab().toImage() != before


def test_the_countdown_stops_when_it_is_not_seen(shown: TranscriptWindow, qtbot: QtBot) -> None:
    """The shared timer has nothing to do for what is hidden."""
    shown.ask()
    shown.tell(SCHEDULED)
    shown.view.grab()
    ticker = AnimationTimer.of(shown.view.theme)
    assert ticker.running
    shown.view.hide()
    qtbot.waitUntil(lambda: not ticker.running, timeout=HANG_MS)


@pytest.mark.parametrize(
    ("reason", "detail", "offered"),
    [
        ("step_limit", "", ["go_on_background"]),
        ("token_limit", "The answer reached the model's output limit.", ["continue"]),
        ("token_limit", "This turn used its 50,000 tokens.", []),
        (
            "token_limit",
            "The conversation no longer fits the model's context.",
            ["compact", "choose_model", "new_chat_from_here"],
        ),
        ("refused", "The model declined to answer.", []),
    ],
)
def test_ends_offer_a_way_on(
    shown: TranscriptWindow, reason: str, detail: str, offered: list[str]
) -> None:
    """L-7: the output limit is offered to continue; a full context has three ways out."""
    shown.ask()
    shown.tell(TurnComplete(reason, detail))  # type: ignore[arg-type]
    item = shown.view.canvas.items[-1]
    assert [hit.action for hit in item.hits] == offered
    shown.view.set_transcript(shown.transcript, read_only=True)
    shown.view.flush()
    assert not shown.view.canvas.items[-1].hits
    shown.view.set_transcript(shown.transcript)
    shown.view.flush()
    item = shown.view.canvas.items[-1]
    assert [hit.action for hit in item.hits] == offered
    assert detail in item.name or not detail
    shown.ask()
    assert item.hits == []


def test_a_conversation_that_is_too_long_is_a_full_chat(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(Failed("too_long", "It needs 212k tokens. Sonnet takes 200k.", "", "anthropic"))
    item = shown.view.canvas.items[-1]
    assert item.name == "This chat is full. It needs 212k tokens. Sonnet takes 200k."
    assert item.hits[0].text == "Compact and continue" and item.hits[0].style == "primary"
    assert model.context_full(EndBlock("token_limit", "It fills the model's context."))


def test_large_text_in_a_small_window_cuts_nothing_off(shown: TranscriptWindow) -> None:
    """Buttons break the line, and the switch of versions keeps its place beside the bubble."""
    shown.view.context.versions = lambda turn, kind: Versions(("a", "b"), 1)
    shown.view.theme.set(scale=1.6)
    shown.view.resize(520, 600)
    shown.ask("Why does our retry add random jitter? Show me the maths for five tries.")
    shown.tell(Failed("too_long", "It needs 212k tokens. Sonnet takes 200k.", "", "anthropic"))
    card, message = shown.view.canvas.items[-1], shown.view.canvas.items[0]
    shown.view.theme.set(scale=1.0)
    width = 520.0
    rows = {hit.rect.top() for hit in card.hits}
    assert len(card.hits) == 3 and len(rows) > 1
    assert all(hit.rect.right() < width and hit.rect.bottom() < card.height for hit in card.hits)
    assert message.hits and all(hit.rect.left() >= 0 for hit in message.hits)


def test_what_was_said_can_be_edited_and_branched_from(
    shown: TranscriptWindow, qapp: QApplication
) -> None:
    shown.view.context.in_chat = True
    shown.ask("First")
    shown.tell(TextDelta("Yes."), TurnComplete("done"))
    wanted: list[tuple[str, str]] = []
    shown.view.item_actions.turn_action.connect(lambda *args: wanted.append(args))
    shown.view.canvas_viewport.focus_on(0)
    shown.key(Qt.Key.Key_E)
    shown.key(Qt.Key.Key_B)
    assert wanted == [("t", "edit"), ("t", "branch")]
    shown.view.canvas_viewport.focus_on(2)  # the answer: its menu names the key
    shown.key(Qt.Key.Key_B)
    shown.key(Qt.Key.Key_E)
    assert wanted[2:] == [("t", "branch")]
    place = shown.view.canvas_viewport.place_of(0).center()
    for index in (0, 1):
        spot = place if index == 0 else shown.view.canvas_viewport.place_of(2).center()
        where = shown.view.viewport().mapToGlobal(spot)
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, spot, where)
        shown.view.contextMenuEvent(event)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        texts = [action.text().split("\t")[0] for action in menu.actions() if action.text()]
        again = "Edit and send again" if index == 0 else "Retry with another model"
        assert texts == [
            "Copy message",
            again,
            "Branch from here",
            "Pin for the model",
            "Copy link",
            "Copy",
            "Copy as markdown",
            "Select all",
        ]
        if index == 0:
            menu.actions()[2].trigger()
        menu.close()
        qapp.processEvents()
    assert wanted[3:] == [("t", "branch")]


def test_a_screen_reader_hears_of_waits_and_silence() -> None:
    said = model.spoken_outcome(SCHEDULED, "Coder")
    assert said == "Anthropic is overloaded. Trying again in 30 s."
    assert model.spoken_outcome(Silent(60.0), "Coder") == "Nothing has come for 1 m 0 s."
