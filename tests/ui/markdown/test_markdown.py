"""Markdown to blocks: what is written is shown, streamed or whole."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from studio.ui.markdown.parser import CODE, EMPHASIS, STRIKE, STRONG, cut, parse, plain
from studio.ui.markdown.stream import MarkdownStream

PIECES = st.sampled_from(
    [
        "word ", "**bold** ", "*em* ", "`code` ", "~~gone~~ ", "\n", "\n\n", "- item\n", "  - nested\n",
        "1. one\n", "2", ". two\n", "* star\n", "- [x] task\n", "> quote\n", "# Title\n", "===\n", "---\n",
        "```python\n", "x = 1\n", "```\n", "~~~\n", "| a | b |\n", "|---|:-:|\n", "| 1 | **2** |\n",
        "<div>\n", "List<int> ", "<br>", "[link](http://x) ", "[ref] ", "[ref]: http://r\n", "[other]: <u v> 'T'\n",
        "[ref]: http://second\n", "    indented\n", "é ", "日本 ", "🙂 ", "\\*", "&amp; ", "$x$ ", "\t", " ", "\r\n",
    ]
)  # fmt: skip


def test_inline_styles_keep_their_places() -> None:
    (block,) = parse("a **b** *c* `d` ~~e~~ [f](http://x)")
    assert block.text == "a b c d e f"
    assert [(cut(block.text, s, s + n), style, url) for s, n, style, url in block.spans] == [
        ("b", STRONG, ""),
        ("c", EMPHASIS, ""),
        ("d", CODE, ""),
        ("e", STRIKE, ""),
        ("f", 0, "http://x"),
    ]


def test_spans_count_as_qt_does() -> None:
    (block,) = parse("🙂🙂 **b** é `c`")
    assert [cut(block.text, start, start + size) for start, size, _, _ in block.spans] == ["b", "c"]


@pytest.mark.parametrize(
    "source",
    [
        "use List<int> and vec<T> here",
        "a <br> b",
        "<div>\nhello\n</div>",
        "x <!-- y --> z",
        "<script>\n1\n",
    ],
)
def test_raw_html_is_text(source: str) -> None:
    shown = " ".join(block.text for block in parse(source)).replace("\u2028", "\n")
    assert shown == source.rstrip("\n")


def test_lists_nest_and_count() -> None:
    blocks = parse("3. a\n4. b\n   - c\n\n     d\n- [ ] todo\n- [x] did\n")
    assert [(b.marker, b.text, b.nesting) for b in blocks] == [
        ("3.", "a", ("item",)),
        ("4.", "b", ("item",)),
        ("•", "c", ("item", "item")),
        ("", "d", ("item", "item")),
        ("[ ]", "todo", ("item",)),
        ("[x]", "did", ("item",)),
    ]


def test_code_and_tables_come_in_parts() -> None:
    lines = [f"line {number}" for number in range(60)]
    source = "```py\n" + "\n".join(lines) + "\n```\n"
    blocks = parse(source)
    assert [block.part for block in blocks] == [0, 1, 2]
    assert [block.final for block in blocks] == [False, False, True]
    assert "\n".join(block.text for block in blocks).split("\n") == lines
    assert {block.language for block in blocks} == {"py"}
    table = parse("| a | b |\n|:--|--:|\n" + "| 1 | 2 |\n" * 30)
    assert sum(len(block.rows) for block in table) == 31
    assert table[0].align == ("left", "right")
    assert len({id(block.sample) for block in table}) == 1


def test_source_ranges_cover_what_was_written() -> None:
    source = "# Hé\n\n- a 🙂\n- b\n\n> q\n\n```\nx\n```\nend"
    blocks = parse(source)
    assert [source[block.start : block.end].strip() for block in blocks] == [
        "# Hé", "- a 🙂", "- b", "q", "```\nx\n```", "end",
    ]  # fmt: skip


@settings(max_examples=300, deadline=None)
@example(["[ref]: http://r\n", "    indented\n", "word "], random.Random(1))
@given(st.lists(PIECES, max_size=40), st.randoms(use_true_random=False))
def test_streamed_equals_whole(pieces: list[str], chance: random.Random) -> None:
    source = "".join(pieces)
    stream, at = MarkdownStream(), 0
    before: list[object] = []
    while at < len(source):
        at = min(len(source), at + chance.randint(1, 12))
        first = stream.update(source[:at])
        assert all(a is b for a, b in zip(before[:first], stream.blocks[:first], strict=True))
        before = list(stream.blocks)
        assert stream.blocks == parse(source[:at])


def test_only_the_tail_is_parsed_again() -> None:
    stream = MarkdownStream()
    source = ""
    for number in range(200):
        source += f"Paragraph {number} with some words in it.\n\n"
        stream.update(source)
        assert stream.parsed < 200
    assert len(stream.blocks) == 200


def test_typed_text_keeps_its_looks() -> None:
    blocks = plain("# not a title\n`code` and <b>\n```py\nx\n```\nafter")
    assert [(block.kind, block.text) for block in blocks] == [
        ("paragraph", "# not a title\u2028code and <b>"),
        ("code", "x"),
        ("paragraph", "after"),
    ]
