"""Columns of tables: measured with the fonts of their cells."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from studio.ui.markdown.parser import parse
from studio.ui.theme import Theme
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.transcript.text.table_leaf import TableLeaf, cell_widths

TABLE = """
| Wort | Meaning and **bold** | File |
| --- | ---: | --- |
| one | This is **bold** and then a good many plain words, enough for several lines | `__init__.py` |
| unbelievably | *Slanted* words and `code_in_between` | `files/__init__.py` |
"""


@pytest.mark.parametrize("scale", [1.0, 1.6])
@pytest.mark.parametrize("width", [420, 520, 680])
def test_no_word_is_broken_where_there_is_room(
    qapp: QApplication, width: int, scale: float
) -> None:
    style = PaintStyle(Theme("light", scale))
    block = parse(TABLE)[0]
    table = TableLeaf(block)
    table.lay(style, width * scale)
    assert table._edges[-1] <= width * scale + 0.5
    for (_, _, cells), row in zip(table._rows, block.rows, strict=True):
        for words, (text, _) in zip(cells, row, strict=True):
            lines = [words.layout.lineAt(n) for n in range(words.layout.lineCount())]
            pieces = [text[at.textStart() : at.textStart() + at.textLength()] for at in lines]
            assert all(piece[-1] in " /" for piece in pieces[:-1]), pieces
            assert all(at.naturalTextWidth() <= at.width() for at in lines), pieces


def test_columns_that_cannot_fit_share_the_room(qapp: QApplication) -> None:
    style = PaintStyle(Theme("light"))
    block = parse(f"| a | {'x' * 200} | {'y' * 200} |\n|--|--|--|\n| b | c | d |\n")[0]
    table = TableLeaf(block)
    table.lay(style, 400)
    low, one, two = (b - a for a, b in zip(table._edges, table._edges[1:], strict=False))
    assert low < 40 and one == two and round(low + one + two) == 400


def test_a_cell_is_measured_in_its_own_fonts(qapp: QApplication) -> None:
    """“bold” is wider in bold, code has another font and a tint around it."""
    style = PaintStyle(Theme("light"))

    def wide(cell: str) -> float:
        return cell_widths(parse(f"| a |\n|--|\n| {cell} |\n")[0].rows[1][0], False, style)[1]

    assert wide("**illumination**") > wide("illumination")
    assert wide("`illumination`") != wide("illumination")
