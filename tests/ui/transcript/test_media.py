"""Pictures and files in the transcript: what was attached, what tools returned (H-2)."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QSignalSpy, QTest

from studio.domain.codec import decode_event, encode_event
from studio.domain.events import Event, TextDelta, ToolFinished, ToolQueued, TurnStarted
from studio.domain.messages import File, Image, Text
from studio.domain.transcript import Transcript
from studio.ui.transcript.find import Wanted
from studio.ui.transcript.items.answer_item import TextItem
from studio.ui.transcript.items.tool_item import ToolsItem
from studio.ui.transcript.items.user_item import UserItem
from studio.ui.transcript.text.picture_leaf import PictureLeaf
from studio.ui.transcript.view import TranscriptView
from studio.ui.widgets import thumbnails
from support.sample_files import moving, pdf, picture
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG_MS
from support.window import Key, place_of

__all__ = ["shown"]

WIDE = Image("image/png", picture(size=(640, 320)))
SMALL = Image("image/png", picture(size=(40, 40), color=(200, 0, 0)))
PDF = File("report.pdf", "application/pdf", pdf("Words"))


def said(*parts: Text | Image | File) -> list[Event]:
    """As an older chat has it on disk."""
    event = TurnStarted("s", "t", parts, "Coder", "anthropic", "m", "background")
    return [decode_event(encode_event(event))]


@pytest.fixture
def view(shown: TranscriptWindow) -> TranscriptView:
    return shown.view


def show(view: TranscriptView, events: list[Event]) -> None:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    view.set_transcript(transcript)
    view.flush()


def pixel(view: TranscriptView, at: QPoint) -> tuple[int, int, int]:
    color = view.viewport().grab().toImage().pixelColor(at)
    return color.red(), color.green(), color.blue()


def user(view: TranscriptView) -> tuple[int, UserItem]:
    found = [(n, i) for n, i in enumerate(view.canvas.items) if isinstance(i, UserItem)]
    return found[0]


def seen(view: TranscriptView, qtbot, count: int) -> None:  # type: ignore[no-untyped-def]
    """Painted, the thumbnails too."""
    view.viewport().grab()
    qtbot.waitUntil(lambda: len(view.context.thumbnails) >= count, timeout=HANG_MS)


def test_the_bubble_shows_pictures_files_and_words(view: TranscriptView, qtbot) -> None:
    show(view, said(WIDE, SMALL, PDF, Text("What is this?")))
    seen(view, qtbot, 2)
    index, item = user(view)
    wide, small, file = item.hits
    assert (wide.rect.width(), wide.rect.height()) == (240, 120)
    assert (small.rect.width(), small.rect.height()) == (40, 40)
    assert small.rect.top() == wide.rect.top() < file.rect.top() < item.places[0].y()
    right = place_of(view, index, wide.rect) + QPoint(60, 0)
    left = place_of(view, index, wide.rect) - QPoint(60, 0)
    assert pixel(view, right) == (30, 90, 200)
    assert pixel(view, left) == (10, 30, 60)
    assert item.name.startswith("You: Picture, 640 × 320, ")
    assert "report.pdf, " in item.name and item.name.endswith("What is this?")


def test_a_click_opens_and_so_does_enter(view: TranscriptView, qtbot) -> None:
    show(view, said(WIDE, PDF))
    seen(view, qtbot, 1)
    index, item = user(view)
    opened = QSignalSpy(view.item_actions.file_opened)
    QTest.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(view, index, item.hits[1].rect)
    )
    assert opened.at(0)[0] == PDF
    view.setFocus()
    view.canvas_viewport.focus_on(index)
    QTest.keyClick(view, Key.Key_Tab)
    QTest.keyClick(view, Key.Key_Return)
    assert opened.at(1)[0] == WIDE


def test_copy_copies_the_picture_and_the_words(view: TranscriptView, qtbot) -> None:
    show(view, said(WIDE, Text("Look")))
    view.canvas_viewport.focus_on(0)
    view.item_actions.copy()
    copied = QGuiApplication.clipboard().mimeData()
    assert copied.text() == "Look"
    image = copied.imageData()
    assert isinstance(image, QImage)
    assert (image.width(), image.height()) == (640, 320)


def test_thumbnails_are_freed_when_they_are_far_away(view: TranscriptView, qtbot) -> None:
    later = [
        event for n in range(120) for event in (*said(Text(f"line {n}")), TextDelta("word " * 400))
    ]
    show(view, [*said(WIDE), *later])
    view.canvas_viewport.scroll_to(0)
    seen(view, qtbot, 1)
    view.canvas_viewport.scroll_to_end()
    assert len(view.context.thumbnails) == 0
    view.canvas_viewport.scroll_to(0)
    seen(view, qtbot, 1)


def test_a_new_width_decodes_nothing_again(view: TranscriptView, qtbot) -> None:
    show(view, said(WIDE))
    seen(view, qtbot, 1)
    view.resize(700, 600)
    assert len(view.context.thumbnails) == 1


def test_no_more_than_a_few_thumbnails_are_kept(
    view: TranscriptView, qtbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "KEPT", 2)
    held = view.context.thumbnails
    for n in range(5):
        held.get(Image("image/png", picture(color=(n, 0, 0))), 20)
        qtbot.waitUntil(lambda: not held._asked, timeout=HANG_MS)
    assert len(held) == 2


def test_a_picture_that_cannot_be_decoded_keeps_its_place(view: TranscriptView, qtbot) -> None:
    broken = Image("image/heic", b"nothing")
    show(view, said(broken, Text("Hm")))
    seen(view, qtbot, 1)
    assert user(view)[1].name == "You: Picture, 7 bytes. Hm"
    assert user(view)[1].hits[0].rect.height() > 20


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "merged"])
def test_a_tools_picture_is_seen_when_its_row_is_open(
    view: TranscriptView, qtbot, others: int
) -> None:
    returned = (WIDE, Image("image/gif", moving()))
    show(
        view,
        [
            *said(Text("Look")),
            *(
                event
                for n in range(others)
                for event in (
                    ToolQueued(f"o{n}", "read", {"path": "b"}, "b", "read", "Reading", "Read"),
                    ToolFinished(f"o{n}", "words", False, 0.1),
                )
            ),
            ToolQueued("c", "read", {"path": "a.png"}, "a.png", "read", "Reading", "Read"),
            ToolFinished("c", "[a.png, a picture]", False, 0.1, "640 × 320", ("a.png",), returned),
        ],
    )
    item = next(item for item in view.canvas.items if isinstance(item, ToolsItem))
    assert len(item.rows) == 1
    closed = item.height
    assert [hit.action for hit in item.hits] == ["toggle"]
    view.canvas_viewport.focus.item = item
    view.canvas_viewport.toggle(item.rows[0].key)
    seen(view, qtbot, 2)
    opens = [hit for hit in item.hits if hit.action == "open_file"]
    assert [hit.value for hit in opens] == list(returned)
    assert item.height > closed + 120
    place = place_of(view, view.canvas.index(item), opens[0].rect)
    assert pixel(view, place + QPoint(60, 0)) == (30, 90, 200)


def test_an_answer_shows_pictures_of_the_folder(
    view: TranscriptView, qtbot, tmp_path: Path
) -> None:
    """Of nowhere else: what is elsewhere or no picture is a row with its name."""
    folder = tmp_path / "work"
    (folder / "shots").mkdir(parents=True)
    (folder / "shots" / "a b.png").write_bytes(WIDE.data)
    (tmp_path / "secret.png").write_bytes(SMALL.data)
    (folder / "out.png").symlink_to(tmp_path / "secret.png")
    (folder / "words.png").write_text("no picture")
    inline = "data:image/png;base64," + b64encode(SMALL.data).decode()
    names = [
        "shots/a%20b.png",
        inline,
        "../secret.png",
        "out.png",
        "words.png",
        "gone.png",
        "shots",
    ]
    words = "\n\n".join(f"![]({name})" for name in names)
    view.context.folder = str(folder)
    show(view, [*said(Text("Look")), TextDelta(f"{words}\n\nEnd")])
    answer = view.canvas.items[-1]
    assert isinstance(answer, TextItem)
    qtbot.waitUntil(lambda: not answer.awaits_picture, timeout=HANG_MS)
    leaves = [leaf for leaf in answer.leaves if isinstance(leaf, PictureLeaf)]
    shapes = [(leaf.title, leaf.broken) for leaf in leaves]
    assert shapes == [
        ("a b.png", False), ("Picture", False), ("secret.png", True), ("out.png", True),
        ("words.png", True), ("gone.png", True), ("shots", True),
    ]  # fmt: skip
    assert [round(leaf.height) for leaf in leaves[:2]] == [320, 40]
    assert len({leaf.height for leaf in leaves[2:]}) == 1 and leaves[2].height < 40
    index = len(view.canvas.items) - 1
    view.canvas_viewport.scroll_to(view.canvas.top(index))
    stops = answer.stops(view.context)
    assert [hit.text for hit in stops] == ["Open a b.png", "Open Picture"]
    wide = place_of(view, index, stops[0].rect)
    assert pixel(view, wide + QPoint(60, 0)) == (30, 90, 200)
    opened = QSignalSpy(view.item_actions.file_opened)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=wide)
    (shown_picture,) = opened.at(0)
    assert shown_picture.image() == WIDE
    assert answer.spoken().text.startswith("Picture: a b.png")


def test_a_picture_is_found_by_the_words_that_describe_it(
    view: TranscriptView, qtbot, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(WIDE.data)
    view.context.folder = str(tmp_path)
    text = "Words.\n\n" * 40 + "![The red barn](a.png)\n\nA barn. " + "More.\n\n" * 40
    show(view, [*said(Text("Look")), TextDelta(text)])
    answer = view.canvas.items[-1]
    assert isinstance(answer, TextItem)
    view.finder.look_for(Wanted("barn"))
    qtbot.waitUntil(lambda: view.finder.total == 2, timeout=HANG_MS)
    view.flush()
    qtbot.waitUntil(lambda: not answer.awaits_picture, timeout=HANG_MS)
    index = len(view.canvas.items) - 1
    (leaf,) = (leaf for leaf in answer.leaves if isinstance(leaf, PictureLeaf))
    view.grab()
    assert view.finder.at is not None and leaf.hit == "current"
    place = view.finder.place(answer, view.finder.at)
    top = round(view.canvas.top(index) + place.top() - view.scroller.value)
    assert 0 <= top < view.height() - 40, "it was scrolled to"
    left = round(view.canvas_viewport.column_left + place.left())
    warn = view.theme.color("warn").rgb()
    image = view.viewport().grab().toImage()
    assert image.pixel(left + 60, top + 1) == warn
    view.finder.step(1)
    view.grab()
    assert leaf.hit == "found"
    view.finder.clear()
    view.grab()
    assert leaf.hit == ""


def test_a_picture_that_is_loaded_moves_nothing_in_view(
    view: TranscriptView, qtbot, tmp_path: Path
) -> None:
    """It stands above the window: what is read stays where it is."""
    (tmp_path / "a.png").write_bytes(WIDE.data)
    view.context.folder = str(tmp_path)
    text = "![one](a.png)\n\n" + "Words of a paragraph.\n\n" * 60
    show(view, [*said(Text("Look")), TextDelta(text)])
    answer = view.canvas.items[-1]
    assert isinstance(answer, TextItem)
    view.canvas_viewport.scroll_to(0)  # only what is seen is laid out at once
    top = view.canvas.top(1) + answer.leaf_top(4)
    view.canvas_viewport.scroll_to(top)
    assert answer.awaits_picture
    assert view.scroller.value == view.canvas.top(1) + answer.leaf_top(4)
    picture = answer.leaves[0]
    qtbot.waitUntil(lambda: picture.laid and picture.complete, timeout=HANG_MS)
    view.flush()
    assert view.scroller.value == view.canvas.top(1) + answer.leaf_top(4) != top
