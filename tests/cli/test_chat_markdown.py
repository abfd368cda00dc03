"""Markdown on a terminal: nothing is lost, nothing is obeyed, and the work stays small (S-5)."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from studio.cli.chat.markdown import CHUNK, LONG, AnsiPainter, MarkdownStream
from studio.cli.console import visible
from support.cpu_cost import grows_linearly

OURS = re.compile(r"\x1b\[[\d;]*m")
"""Colours and weight: the only codes that we make."""
MARKDOWN = st.text(alphabet="ab1 \n\n-#>|*_`[](). ", max_size=300)


def streamed(text: str, size: int) -> list[str]:
    stream = MarkdownStream()
    blocks: list[str] = []
    for at in range(0, len(text), size):
        blocks += stream.add(text[at : at + size])
    return blocks + stream.end()


@given(MARKDOWN, st.integers(1, 50))
@settings(max_examples=150, deadline=None)
def test_no_word_is_lost(text: str, size: int) -> None:
    """Cut into blocks, wherever the pieces were cut, it is the same text."""
    assert "".join("".join(streamed(text, size)).split()) == "".join(text.split())


@given(st.text(max_size=200) | MARKDOWN, st.integers(1, 120))
@settings(max_examples=150, deadline=None)
def test_nothing_is_obeyed(text: str, width: int) -> None:
    """T-7: whatever a model writes, what reaches the terminal moves no cursor."""
    for colours in (True, False):
        rest = OURS.sub("", AnsiPainter(colours=colours).markdown(text, width))
        assert visible(rest) == rest
        assert not any(line != line.rstrip(" ") for line in rest.splitlines())


def test_blocks_come_as_soon_as_they_are_whole() -> None:
    stream = MarkdownStream()
    assert stream.add("One *two*\nthree") == []
    assert stream.add("\n\nFour") == ["One *two*\nthree\n"]
    assert stream.rest == "Four"
    assert stream.add("\n\n- a\n- b\n\nEnd") == ["Four\n", "- a\n- b\n"] or stream.end()


def test_a_long_code_block_comes_in_parts_that_read_as_one() -> None:
    code = [f"x{number} = {number}" for number in range(CHUNK * 4 + 7)]
    blocks = streamed("Look:\n\n~~~python\n" + "\n".join(code) + "\n~~~\n\nDone.", 11)
    painted = "".join(AnsiPainter(colours=False).markdown(block, 80) for block in blocks)
    lines = [line.strip() for line in OURS.sub("", painted).splitlines() if line.strip()]
    assert lines == ["Look:", *code, "Done."]
    assert max(block.count("\n") for block in blocks) <= CHUNK * 1.5


def test_long_lists_and_tables_come_in_parts_that_read_as_one() -> None:
    items = [f"{number}. item {number}\n   more of it" for number in range(1, 400)]
    blocks = streamed("\n".join(items), 50)
    plain = OURS.sub("", "".join(AnsiPainter(colours=False).markdown(one, 80) for one in blocks))
    rows = [" ".join(row.split()) for row in plain.splitlines() if row.strip()]
    assert len(blocks) > 2 and rows == [f"{n} item {n} more of it" for n in range(1, 400)]
    table = "| name | size |\n|---|---|\n" + "".join(f"| n{n} | {n} |\n" for n in range(900))
    blocks = streamed(table, 50)
    assert len(blocks) > 1 and all(one.startswith("| name | size |\n|---") for one in blocks)
    assert sum(one.count("| n") for one in blocks) == 900 + len(blocks)


def test_the_work_grows_with_the_answer_and_no_faster() -> None:
    """A paragraph, a list and a code block without end are taken in their stride."""
    for start, line in (
        ("word " * 9 + "\n", "- item\n"),
        ("", "- item\n"),
        ("```\n", "line\n"),
        ("", "> x\n"),
        ("| a | b |\n|---|---|\n", "| 1 | 2 |\n"),
    ):

        def text(size: int, start: str = start, line: str = line) -> str:
            return start + line * (size // len(line))

        blocks = streamed(text(20_000), 40)
        assert max(len(block) for block in blocks[:-1] or [""]) <= LONG
        assert grows_linearly(text, lambda text: streamed(text, 40), 20_000), line


def test_what_it_looks_like() -> None:
    text = "# Title\n\nSome **bold** and `code`, [a link](https://example.com).\n\n1. one\n2. two"
    plain = OURS.sub("", AnsiPainter(colours=True).markdown(text, 60))
    assert plain.splitlines() == [
        "Title",
        "",
        "Some bold and code, a link (https://example.com).",
        "",
        " 1 one",
        " 2 two",
    ]
    assert "\x1b[1mbold" in AnsiPainter(colours=False).markdown(text, 60)
    assert not re.search(r"\x1b\[[\d;]*(3|4|9|10)\d", AnsiPainter(colours=False).markdown(text, 60))
