"""The actions below a message: where they stand, what they do, by mouse and by keys."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QMenu

from studio.domain.events import FilesChanged, TextDelta, TurnComplete, TurnStarted
from studio.domain.messages import Text
from studio.ui.transcript.items.answer_item import TextItem
from studio.ui.transcript.items.user_item import UserItem
from support.transcript_window import TranscriptWindow, shown

__all__ = ["shown"]
Key = Qt.Key


def talk(window: TranscriptWindow, *, done: bool = True) -> None:
    """One question, an answer of two texts with a change of files after it, then another."""
    for turn, answer in (("one", "The **first**."), ("two", "The second.")):
        said = (Text(f"Question {turn}"),)
        window.tell(
            TurnStarted("s", turn, said, "Coder", "p", "Model", "inline"), TextDelta(answer)
        )
        if turn == "one":
            window.tell(FilesChanged(turn, ("a.py",)))
        if turn == "one" or done:
            window.tell(TurnComplete("done"))


def move(window: TranscriptWindow, index: int) -> None:
    place = window.view.canvas_viewport.place_of(index)
    QTest.mouseMove(window.view.viewport(), place.center())


def actions(window: TranscriptWindow) -> list[str]:
    row = window.view.canvas_viewport.message_row
    return [] if row is None else [hit.action.removeprefix("message_") for hit in row.hits]


def button(window: TranscriptWindow, name: str) -> QPoint:
    row = window.view.canvas_viewport.message_row
    assert row is not None
    return next(h.rect.center() for h in row.hits if h.action.endswith(name)).toPoint()


def test_the_row_of_a_message_has_what_can_be_done_with_it(shown: TranscriptWindow) -> None:
    shown.view.context.in_chat = True
    talk(shown)
    kinds = shown.kinds()
    asked, answer = kinds.index("user"), kinds.index("text")
    before = shown.view.viewport().grab().toImage()
    move(shown, asked)
    row = shown.view.canvas_viewport.message_row
    assert actions(shown) == ["copy", "edit", "branch", "pin", "link", "more"]
    assert row is not None and row.rect.height() == 32
    column = shown.view.canvas_viewport.column_left
    assert row.rect.right() == column + shown.view.context.width
    assert shown.view.viewport().grab().toImage() != before
    turned, linked, pinned = (
        QSignalSpy(getattr(shown.view.item_actions, name))
        for name in ("turn_action", "link_wanted", "pin_wanted")
    )
    for name in ("edit", "branch", "link", "pin"):
        # On the way from the message to its row that stays, also where another message begins.
        QTest.mouseMove(shown.view.viewport(), QPoint(round(row.rect.x()) + 2, round(row.rect.y())))
        QTest.mouseClick(shown.view.viewport(), Qt.MouseButton.LeftButton, pos=button(shown, name))
    sent = [turned.at(n) for n in range(turned.count())]
    assert sent == [["one", "edit"], ["one", "branch"]]
    assert linked.at(0) == [asked] and pinned.at(0) == [asked, True]

    move(shown, answer)
    row = shown.view.canvas_viewport.message_row
    assert actions(shown) == ["copy", "retry", "branch", "pin", "link", "more"]
    assert row is not None and row.rect.left() == column - 6
    # The answer is all of its turn: the row stands below the files that it changed.
    assert row.message.last == len(kinds) - 1 - kinds[::-1].index("user")
    QTest.mouseClick(shown.view.viewport(), Qt.MouseButton.LeftButton, pos=button(shown, "copy"))
    assert QGuiApplication.clipboard().text() == "The **first**."
    QTest.mouseMove(shown.view.viewport(), QPoint(5, 5))
    shown.view._mouse.leave()
    assert shown.view.canvas_viewport.message_row is None
    assert shown.view.viewport().grab().toImage() == before


def test_the_row_goes_when_its_message_moves_away(shown: TranscriptWindow) -> None:
    """G-1: no actions stay between messages, where nobody points at the one that they are of."""
    shown.ask()
    shown.tell(TextDelta("An answer."), TurnComplete("done"))
    QTest.mouseMove(shown.view.viewport(), QPoint(450, 560))  # below all, as it rests mostly
    assert "copy" in actions(shown)
    said = (Text("And now?"),)
    shown.tell(TurnStarted("s", "two", said, "Coder", "p", "Model", "inline"))
    assert not actions(shown)
    shown.tell(TextDelta("Another answer."), TurnComplete("done"))
    assert not actions(shown)  # nor do others come to a mouse that rests
    QTest.mouseMove(shown.view.viewport(), QPoint(450, 570))
    assert "copy" in actions(shown)


def test_keys_reach_the_row_and_lead_back(shown: TranscriptWindow) -> None:
    shown.view.context.in_chat = True
    talk(shown)
    shown.view.setFocus()
    last = len(shown.kinds()) - 1
    while not isinstance(shown.view.canvas.items[last], TextItem):
        last -= 1
    shown.view.canvas_viewport.focus_on(last)
    shown.key(Key.Key_Tab)
    shown.key(Key.Key_Right)
    assert shown.view.focus.hit is not None and shown.view.focus.hit.action == "message_retry"
    plain = shown.view.viewport().grab().toImage()
    wanted, left = (QSignalSpy(s) for s in (
        shown.view.item_actions.retry_wanted, shown.view.item_actions.left))  # fmt: skip
    shown.key(Key.Key_Return)
    assert wanted.at(0)[0] == "two"
    shown.key(Key.Key_Escape)
    assert shown.view.focus.hit is None and shown.view.focus.item is not None
    assert not left.count() and shown.view.viewport().grab().toImage() != plain
    shown.key(Key.Key_R)
    assert wanted.count() == 2
    place = shown.view.canvas_viewport.place_of(last).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, QPoint(50, 50))
    QApplication.sendEvent(shown.view.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    texts = [action.text().partition("\t")[0] for action in menu.actions()]
    assert {"Copy message", "Retry with another model", "Branch from here"} <= set(texts)
    menu.close()
    shown.key(Key.Key_Escape)
    assert left.count() == 1


def test_nothing_is_offered_that_cannot_be_done(shown: TranscriptWindow) -> None:
    """Not while an answer grows, not for what was told from outside, nor beside a chat."""
    shown.view.context.in_chat = True
    talk(shown, done=False)
    end = len(shown.kinds()) - 1
    move(shown, end)
    assert actions(shown) == []
    users = [n for n, item in enumerate(shown.view.canvas.items) if isinstance(item, UserItem)]
    shown.view.context.read_only = True
    move(shown, users[0])
    assert actions(shown) == ["copy", "branch", "link", "more"]
    shown.view.context.read_only, shown.view.context.in_chat = False, False
    at = shown.view.canvas_viewport.place_of(users[1])
    QTest.mouseMove(shown.view.viewport(), QPointF(at.center()).toPoint())
    assert actions(shown) == ["copy", "more"]
