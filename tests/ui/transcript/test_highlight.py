"""Colours of code: what is lexed again while it is written, and what goes on over lines."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

from studio.ui.transcript.text.highlight import LINES, CodeColours, State, _lex

ROOT: State = ("root",)


def test_only_the_line_that_is_written_is_lexed_again(qapp: QApplication) -> None:
    colours, above = CodeColours(), "def f(x):\n    return x\n" * LINES
    colours.spans("python", above, ROOT)
    known = _lex.cache_info()
    for size in range(1, 11):
        colours.spans("python", above + "y" * size, ROOT)
    new = _lex.cache_info()
    assert new.misses - known.misses == 10, "the piece at the end"
    assert new.hits - known.hits == 20, "each time two pieces above it"


def test_what_goes_on_over_lines_keeps_its_colour(qapp: QApplication) -> None:
    colours = CodeColours()
    for above in range(2 * LINES + 2):
        text = '"""Says\n' + "words\n" * above + 'more"""\nreturn 1'
        spans, _ = colours.spans("python", text, ROOT)
        kinds = [token for start, _, token in spans if start < text.index("return")]
        assert set(kinds) == {"syntax_string"}
        assert [text[start : start + size] for start, size, _ in spans][-2:] == ["return", "1"]
