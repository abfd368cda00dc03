"""Colours of code: what is lexed again while it is written, and what goes on over lines."""

from __future__ import annotations

from PySide6.QtCore import QEvent
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


def test_a_view_may_close_while_languages_are_loaded(qapp: QApplication) -> None:
    """The program crashed where the thread told of one at that moment: once in a hundred times."""
    for number in range(400):
        colours, told = CodeColours(), list[None]()
        colours.loaded.connect(lambda told=told: told.append(None))
        for language in ("text", "bash", "none", "python"):
            colours.can(language)
        if number % 3 == 0:
            qapp.processEvents()
        colours.deleteLater()
        qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        before = len(told)
        qapp.processEvents()
        assert len(told) == before
