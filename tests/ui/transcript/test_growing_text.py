"""Lines of a text that grows: only the last ones are laid out again, and all are as if it were new."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QFont, QImage, QPainter, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QApplication

from studio.ui.markdown.blocks import Block, utf16
from studio.ui.theme import Theme
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.transcript.text import text_layout
from studio.ui.transcript.text.code_leaf import CodeLeaf
from studio.ui.transcript.text.highlight import CodeColours
from studio.ui.transcript.text.text_layout import LineLayout, TextFormat, span_format
from support.waiting import until

WORDS = ["word", "a", "longer-word", "größer", "W" * 40, "fi", "so,", "end.", "AV", "don't"]
NO_CLIP = QRectF()


def strong(start: int, size: int) -> list[object]:
    form = QTextCharFormat()
    form.setFontWeight(QFont.Weight.DemiBold)
    return [span_format(start, size, form)]


def picture(lines: LineLayout, style: PaintStyle, top: int = 0, tall: int = 900) -> QImage:
    """What is painted where only a strip is to be painted."""
    image = QImage(320, tall, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    painter.translate(0, -top)
    painter.setClipRect(QRectF(0, top, 320, tall))
    lines.paint(painter, 4, 4, style, None)
    painter.end()
    return image


@pytest.mark.parametrize("seed", range(12))
def test_grown_lines_are_those_of_the_whole_text(qapp: QApplication, seed: int) -> None:
    """G-3."""
    theme = Theme("light")
    theme.apply(qapp)
    style, dice = PaintStyle(theme), random.Random(seed)
    text = " ".join(dice.choices(WORDS, k=dice.randint(1, 30)))
    font, chips = style.font("body"), [(dice.randrange(len(text)), 3)]
    bold = strong(dice.randrange(len(text)), 9)

    def laid(text: str) -> LineLayout:
        made = LineLayout(text, font, 22, TextFormat(bold, chips))  # type: ignore[arg-type]
        made.lay(300)
        return made

    lines, before = laid(text), laid(text)
    for _ in range(40):
        text += dice.choice(["", " "]) + dice.choice(WORDS)[: dice.randint(1, 8)]
        changed = lines.grow(text)
        whole = laid(text)
        assert changed is not None
        assert (lines.starts, lines.height, lines.width) == (
            whole.starts, whole.height, pytest.approx(whole.width),
        )  # fmt: skip
        assert (lines.end(), lines.last_top()) == (whole.end(), whole.last_top())
        above = [line for line in before.starts if line[1] < changed]
        assert whole.starts[: len(above)] == above
        assert picture(lines, style) == picture(whole, style), text
        if dice.random() < 0.1:  # what asks for places has the whole text laid out
            assert lines.rects(0, utf16(text)) == whole.rects(0, utf16(text))
        before = whole


@pytest.mark.parametrize("tall", [1, 22])
@pytest.mark.parametrize("line", [22, 22.6])
def test_each_strip_of_grown_lines_is_that_of_the_whole_text(
    qapp: QApplication, line: float, tall: int
) -> None:
    """G-3: also where the strip begins or ends between two lines that were laid out apart."""
    theme = Theme("light")
    theme.apply(qapp)
    style, dice = PaintStyle(theme), random.Random(0)
    lines = LineLayout("Some", style.font("body"), line)
    lines.lay(300)
    while len(lines.starts) < 12:
        assert lines.grow(f"{lines.text} {dice.choice(WORDS)}") is not None
    whole = LineLayout(lines.text, style.font("body"), line)
    whole.lay(300)
    for top in range(int(whole.height) + 8):
        strip = picture(lines, style, top, tall)
        assert strip == picture(whole, style, top, tall), top


def test_a_strip_of_a_long_paragraph_is_painted_without_what_is_below_it(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-3: scrolled up in a growing paragraph, a frame draws the lines in the window."""
    theme = Theme("light")
    theme.apply(qapp)
    style, drawn = PaintStyle(theme), list[QTextLayout]()

    class Counted(QTextLayout):
        def draw(
            self,
            p: QPainter,
            pos: QPointF | QPoint,
            /,
            selections: Sequence[QTextLayout.FormatRange] = (),
            clip: QRectF | QRect = NO_CLIP,
        ) -> None:
            drawn.append(self)
            super().draw(p, pos, selections, clip)

    monkeypatch.setattr(text_layout, "QTextLayout", Counted)
    lines = LineLayout("Some", style.font("body"), 22)
    lines.lay(300)
    for number in range(200):
        assert lines.grow(lines.text + f" word {number}") is not None
    assert len(lines.starts) > 30
    for line in (0, 10, 20):
        drawn.clear()
        picture(lines, style, line * 22, 44)
        assert 0 < len(drawn) <= 4


def test_a_long_paragraph_is_not_laid_out_again_for_each_line(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-3: what a token costs does not grow with its paragraph."""
    theme = Theme("light")
    theme.apply(qapp)
    style, laid_out = PaintStyle(theme), list[int]()

    class Counted(QTextLayout):
        def __init__(self, text: str, font: QFont) -> None:
            super().__init__(text, font)
            laid_out.append(len(text))

    monkeypatch.setattr(text_layout, "QTextLayout", Counted)
    lines = LineLayout("Some", style.font("body"), 22)
    lines.lay(300)
    for number in range(200):
        assert lines.grow(lines.text + f" word {number}") is not None
    assert len(lines.starts) > 30
    line = len(lines.text) / len(lines.starts)
    assert max(laid_out) < 4 * line
    theirs = LineLayout(lines.text, style.font("body"), 22)
    theirs.lay(300)
    assert picture(lines, style) == picture(theirs, style)


PIECES = [
    "def f(x):\n",
    "    return x * 12",
    "\t# words that go on ",
    "\n",
    '"""',
    "'größer'",
    " = ",
    "W" * 50,
    "日",
]


@pytest.mark.parametrize("seed", range(8))
async def test_grown_code_is_that_of_the_whole_text(qapp: QApplication, seed: int) -> None:
    """G-3."""
    theme = Theme("light")
    theme.apply(qapp)
    style, dice, colours = PaintStyle(theme), random.Random(seed), CodeColours()
    await until(lambda: colours.can("python"))

    def laid(text: str) -> CodeLeaf:
        made = CodeLeaf(Block("code", text, language="python"), colours)
        made.lay(style, 320)
        return made

    def picture(leaf: CodeLeaf) -> QImage:
        image = QImage(330, 1400, QImage.Format.Format_RGB32)
        image.fill(0xFFFFFFFF)
        painter = QPainter(image)
        painter.setClipRect(QRectF(0, 0, 330, 1400))
        leaf.paint(painter, 4, style, None)
        painter.end()
        return image

    text, grown = 'x = "' + "W" * 60, 0
    leaf = laid(text)
    for number in range(60):  # at first a string ends, which began in the line above
        text += dice.choice(PIECES)[: dice.randint(1, 60)] if number else '"'
        before = picture(leaf)
        changed = leaf.grow(Block("code", text, language="python"), style)
        whole = laid(text)
        if changed is None:
            leaf = whole
            continue
        grown += 1
        assert (leaf.lines.starts, leaf.height) == (whole.lines.starts, whole.height)
        assert (leaf.cursor(), leaf.complete) == (whole.cursor(), whole.complete)
        after = picture(leaf)
        assert after == picture(whole), text
        above = QRect(0, 0, 330, int(4 + changed))
        assert after.copy(above) == before.copy(above), "told to have changed further below"
    assert grown > 15


@pytest.mark.parametrize(
    "head",
    ["مرحبا بالعالم " * 9, "שלום עולם " * 9, "Words مرحبا بالعالم "],
    ids=["Arabic", "Hebrew", "mixed"],
)
@pytest.mark.parametrize("tail", ["12-34 ", "12 (34), ", "a 5% "])
def test_digits_are_ordered_by_the_letters_above_them(
    qapp: QApplication, head: str, tail: str
) -> None:
    """G-3: what runs from right to left in one line turns the plain text of those below it."""
    theme = Theme("light")
    theme.apply(qapp)
    style = PaintStyle(theme)

    def laid(text: str) -> LineLayout:
        made = LineLayout(text, style.font("body"), 22)
        made.lay(300)
        return made

    text = head
    lines = laid(text)
    for letter in tail * 20:
        text += letter
        if lines.grow(text) is None:
            lines = laid(text)
        assert picture(lines, style) == picture(laid(text), style), text


def test_other_scripts_are_laid_out_whole(qapp: QApplication) -> None:
    """Their lines may break by what follows."""
    lines = LineLayout("日本", QFont(), 22)
    lines.lay(300)
    assert lines.grow("日本語") is None
    assert (lines.text, lines.end()) == ("日本", lines.end())
    mixed = LineLayout("words", QFont(), 22)
    mixed.lay(300)
    assert mixed.grow("words שלום") is None
    assert mixed.position(0, QPointF(0, 0).y()) == 0
