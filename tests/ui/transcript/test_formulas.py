"""Formulas are drawn in a process of their own; what cannot be drawn stays as it was written."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont
from pytestqt.qtbot import QtBot

from studio.domain.events import TextDelta
from studio.ui.transcript.items.answer_item import TextItem
from studio.ui.transcript.text.block_types import ParagraphLeaf
from studio.ui.transcript.text.code_leaf import CodeLeaf
from studio.ui.transcript.text.formulas import LONGEST, Formulas
from studio.ui.transcript.text.table_leaf import TableLeaf
from studio.ui.transcript.text.text_layout import LineLayout
from support.languages import language
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG

__all__ = ["shown"]

AT_RIGHT = Qt.AlignmentFlag.AlignRight
SHOWN = (
    "Energy $E = mc^2$ and $\\frac{1$.\n\n"
    "\\[ \\int_0^1 \\frac{x^2}{1+x} dx \\]\n\n"
    "| $n^2$ |\n|-|\n| $\\frac{4}{1}$ |\n"
)


def answer(shown: TranscriptWindow, text: str) -> TextItem:
    shown.ask()
    shown.tell(TextDelta(text))
    item = shown.view.canvas.items[-1]
    assert isinstance(item, TextItem)
    return item


def wait(qtbot: QtBot, shown: TranscriptWindow, done: Callable[[], object]) -> None:
    qtbot.waitUntil(lambda: bool(done()), timeout=int(HANG * 1000))
    shown.view.grab()  # what was dropped is laid out when it is painted


def formulas_of(shown: TranscriptWindow) -> Formulas:
    assert shown.view.context.formulas is not None
    return shown.view.context.formulas


def test_formulas_take_the_place_of_their_text(qtbot: QtBot, shown: TranscriptWindow) -> None:
    item = answer(shown, SHOWN)
    line, alone, table = item.leaves
    assert isinstance(line, ParagraphLeaf) and isinstance(alone, ParagraphLeaf)
    assert isinstance(table, TableLeaf)
    written = alone.height
    wait(
        qtbot,
        shown,
        lambda: line.complete and alone.complete and table.complete and alone.lines.boxes,
    )
    wait(qtbot, shown, lambda: all(leaf.laid for leaf in item.leaves))
    ((_, head), (_, cell)) = table.layouts()
    assert head.boxes and cell.boxes and cell.height > head.height, "a fraction is tall"
    assert table._edges[-1] - table._edges[0] < shown.view.paint_style.width(
        "code", "$\\frac{4}{1}$"
    )
    assert [box.start for box in line.lines.boxes] == [7], "half a formula stays as it is written"
    assert alone.height > written and item.leaf_top(2) >= item.leaf_top(1) + alone.height
    assert line.text == "Energy $E = mc^2$ and $\\frac{1$."
    assert "$E = mc^2$" in item.source(), "what is copied is what was written"
    box = line.lines.rects(7, 17)[0]
    assert abs(box.width() - line.lines.boxes[0].width) < 1.5
    picture = shown.view.viewport().grab().toImage()
    place = shown.view.canvas_viewport.place_of(len(shown.view.canvas.items) - 1)
    top = place.top() + item.leaf_top(1)
    ink = QColor(shown.view.theme.color("text1")).lightness()
    inked = [
        (x, y)
        for x in range(place.left(), place.right())
        for y in range(int(top), int(top + alone.height))
        if abs(picture.pixelColor(x, y).lightness() - ink) < 60
    ]
    middle = sum(x for x, _ in inked) / len(inked)
    assert abs(middle - place.center().x()) < 8, "a formula alone stands in the middle"


def test_a_formula_that_is_too_long_is_left_as_it_is(shown: TranscriptWindow) -> None:
    item = answer(shown, f"$x{'+x' * LONGEST}$")
    assert item.leaves[0].complete and not formulas_of(shown)._asked


def test_a_formula_that_would_fill_the_memory_is_left_as_it_is(
    qtbot: QtBot, shown: TranscriptWindow
) -> None:
    formulas = formulas_of(shown)
    written = ["$\\rule{1em}{100000em}$", "$\\rule{100000em}{1em}$", "$\\phantom{}$"]
    item = answer(shown, " ".join(written))
    wait(qtbot, shown, lambda: not any(map(formulas.waits_for, written)))
    assert not any(map(formulas.find, written)) and item.leaves[0].height < 200


def test_a_formula_after_one_that_ended_the_process(qtbot: QtBot, shown: TranscriptWindow) -> None:
    formulas = formulas_of(shown)
    item = answer(shown, "$a$")
    wait(qtbot, shown, lambda: formulas.find("$a$"))
    assert formulas.child is not None
    formulas.child.kill()
    formulas.child.wait()
    shown.tell(TextDelta(" and $b$"))
    wait(qtbot, shown, lambda: formulas.find("$b$"))
    assert item.source() == "$a$ and $b$"


def test_formulas_are_drawn_again_once_the_process_can_be_started(
    qtbot: QtBot, shown: TranscriptWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    formulas = formulas_of(shown)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    answer(shown, "$a$")
    wait(qtbot, shown, lambda: not formulas.waits_for("$a$"))
    assert formulas.find("$a$") is None
    monkeypatch.undo()
    shown.tell(TextDelta(" and $b$"))
    wait(qtbot, shown, lambda: formulas.find("$b$"))


def test_right_to_left_text_begins_at_the_right(shown: TranscriptWindow) -> None:
    item = answer(shown, "שלום `code` עולם.\n\nHello שלום\n")
    hebrew, english = item.leaves
    assert isinstance(hebrew, ParagraphLeaf) and isinstance(english, ParagraphLeaf)
    width = shown.view.context.width
    assert hebrew.lines.rects(0, 1)[0].right() > width - 30 > 300
    assert all(rect.width() > 0 for rect in hebrew.lines.rects(5, 9))
    assert english.lines.rects(0, 1)[0].left() == 0
    with language("marked"):  # that a letter goes from right to left is no text on screen
        assert LineLayout("שלום", QFont(), 20).layout.textOption().alignment() & AT_RIGHT


def test_a_formula_in_right_to_left_text_is_drawn_where_its_room_is(
    qtbot: QtBot, shown: TranscriptWindow
) -> None:
    item = answer(shown, "שלום $E = mc^2$ עולם.\n\nword $E = mc^2$ שלום\n")
    wait(qtbot, shown, lambda: all(leaf.complete for leaf in item.leaves))
    wait(qtbot, shown, lambda: all(leaf.laid for leaf in item.leaves))
    picture = shown.view.viewport().grab().toImage()
    place = shown.view.canvas_viewport.place_of(len(shown.view.canvas.items) - 1)
    ground = QColor(shown.view.theme.color("surface")).lightness()
    for number, leaf in enumerate(item.leaves):
        assert isinstance(leaf, ParagraphLeaf)
        (box,) = leaf.lines.boxes
        (room,) = leaf.lines.rects(box.start, box.start + box.size)
        room = room.translated(place.left(), place.top() + item.leaf_top(number)).toRect()
        inked = {
            x
            for x in range(room.left(), room.right() + 1)
            for y in range(room.top(), room.bottom())
            if abs(picture.pixelColor(x, y).lightness() - ground) > 60
        }
        assert len(inked) > room.width() / 2


def test_lines_of_a_diff_have_their_tint(shown: TranscriptWindow) -> None:
    item = answer(shown, "```diff\n--- a\n+++ b\n- old\n+ new\n same\n```\n")
    leaf = item.leaves[0]
    assert isinstance(leaf, CodeLeaf)
    picture = shown.view.viewport().grab().toImage()
    place = shown.view.canvas_viewport.place_of(len(shown.view.canvas.items) - 1)
    style = shown.view.paint_style
    colors = [
        picture.pixelColor(
            place.right() - 40,
            int(
                place.top() + item.leaf_top(0) + style.px(32) + (row + 0.5) * style.code_block_line
            ),
        ).name()
        for row in range(5)
    ]
    names = ["sunken", "sunken", "del_bg", "add_bg", "sunken"]
    assert colors == [style.color(name).name() for name in names]
