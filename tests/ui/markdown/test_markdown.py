"""Markdown to blocks: what is written is shown, streamed or whole."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from studio.ui.markdown.blocks import CODE, EMPHASIS, MATH, RAISED, STRIKE, STRONG, Block, cut
from studio.ui.markdown.parser import MOST_FOLDS, parse, plain
from studio.ui.markdown.spoken import SpokenText
from studio.ui.markdown.stream import MarkdownStream, settled_length

PIECES = st.sampled_from(
    [
        "word ", "**bold** ", "*em* ", "`code` ", "~~gone~~ ", "\n", "\n\n", "- item\n", "  - nested\n",
        "1. one\n", "2", ". two\n", "* star\n", "- [x] task\n", "> quote\n", "# Title\n", "===\n", "---\n",
        "```python\n", "x = 1\n", "```\n", "~~~\n", "| a | b |\n", "|---|:-:|\n", "| 1 | **2** |\n",
        "<div>\n", "List<int> ", "<br>", "[link](http://x) ", "[ref] ", "[ref]: http://r\n", "[other]: <u v> 'T'\n",
        "[ref]: http://second\n", "    indented\n", "é ", "日本 ", "🙂 ", "\\*", "&amp; ", "$x$ ", "\t", " ", "\r\n",
        "\\(a_1\\) ", "\\[", "\\]", "\\(", "\\) ", "$$", "$", "\\\\", "x=1 ", "[^1] ", "[^1]: note\n", "[^", "<br>",
        "<details>\n", "<details open><summary>Sum</summary>\n\n", "</details>\n", "<summary>", "</summary>",
        "<details><summary>A **b** <i>c", "  </details>\n", "- </details>\n", "<b>", "</b>",
        "![pic](data:image/png;base64,AAAA", "BBBB", ") ", "data:",
        "<details", "https://x.org/a_b ", "www.x.org", "https://", "![pic](a.png) ", "|",
        "plain words, and more. ", "so it", " goes", "don't ", "www", ".", "http", ":", "// ", "two-", "_it_", "1", "- ",
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


def test_details_fold_what_is_in_them() -> None:
    source = (
        "<details open>\n<summary><b>Long</b> &amp; short</summary>\n\n- a **b**\n\n"
        "<details><summary>Inner</summary>plain\n</details>\n\n</details>\nafter"
    )
    blocks = parse(source)
    assert [(b.kind, b.text, b.nesting, b.level) for b in blocks] == [
        ("details", "Long & short", (), 1),
        ("paragraph", "a b", ("details", "item"), 0),
        ("details", "Inner", ("details",), 0),
        ("paragraph", "plain", ("details", "details"), 0),
        ("details_end", "", ("details", "details"), 0),
        ("details_end", "", ("details",), 0),
        ("paragraph", "after", (), 0),
    ]
    assert SpokenText(blocks).text == "Long & short, collapsed\nafter"
    opened = SpokenText(blocks, opened=frozenset({blocks[0].start}))
    assert opened.text == "Long & short, expanded\na b\nInner, collapsed\nafter"


def test_a_fold_ends_with_the_item_that_it_is_in_and_is_not_endless() -> None:
    blocks = parse("- <details>\n\n  in it\n- next\n\n</details>\n")
    assert [(b.kind, b.text, b.nesting) for b in blocks] == [
        ("details", "", ("item",)),
        ("paragraph", "in it", ("item", "details")),
        ("paragraph", "next", ("item",)),
        ("paragraph", "</details>", ()),
    ]
    deepest = max(len(block.nesting) for block in parse("<details>" * 5000))
    assert deepest == MOST_FOLDS
    starts = [b.start for b in parse("<details>" * 5 + "\n\n<details>") if b.kind == "details"]
    assert len(starts) == len({*starts}) == 6


def test_a_folds_row_keeps_its_styles() -> None:
    source = "<details><summary>A **b** `c` <i>d</i> &amp; [e](http://x) <code>f</summary>g"
    row = parse(source)[0]
    assert (row.kind, row.text) == ("details", "A b c d & e f")
    assert [(cut(row.text, s, s + n), style, url) for s, n, style, url in row.spans] == [
        ("b", STRONG, ""),
        ("c", CODE, ""),
        ("d", EMPHASIS, ""),
        ("f", CODE, ""),
    ]
    for title in ("# one", "1. two", "> three"):  # no markdown of blocks in a row
        assert parse(f"<details><summary>{title}</summary>")[0].text == title


def test_a_fold_ends_inside_of_a_list_that_goes_on() -> None:
    blocks = parse("<details>\n<summary>S</summary>\n\n- a\n\n  </details>\n- b\n\nafter")
    assert [(b.kind, b.text, b.nesting) for b in blocks] == [
        ("details", "S", ()),
        ("paragraph", "a", ("details", "item")),
        ("details_end", "", ("details",)),
        ("paragraph", "b", ("item",)),
        ("paragraph", "after", ()),
    ]


def test_the_address_of_a_picture_in_the_text_is_never_shown() -> None:
    source = (
        "See **it** ![a barn](data:image/png;base64,AAAA+/BBBB)\n\n- ![x](data:image/png;base64,C"
    )
    stream = MarkdownStream()
    for at in range(len(source)):
        stream.update(source[: at + 1])
        shown = "".join(block.text for block in stream.blocks)
        assert "base64" not in shown and "image/" not in shown, shown
    assert [block.text for block in stream.blocks] == ["See it ", "a barn", "x"]


def test_pictures_of_this_computer_stand_alone() -> None:
    blocks = parse(
        "See ![a *b*](x%20y.png) and\n![](data:image/png;base64,AAAA)\n\n# ![h](h.png)\n"
    )
    assert [(b.kind, b.text, [span[3] for span in b.spans]) for b in blocks] == [
        ("paragraph", "See ", []),
        ("image", "a b", ["x%20y.png"]),
        ("paragraph", "and ", []),
        ("image", "", ["data:image/png;base64,AAAA"]),
        ("heading", "h", ["h.png"]),
    ]
    for url in ("https://x.org/a.png", "//x.org/a.png", "file:///a.png", "C:/a.png", r"\\\\srv\a"):
        (block,) = parse(f"![pic]({url})")
        assert (block.kind, block.text) == ("paragraph", "pic"), url
    (badge,) = parse("[![pic](a.png)](https://x.org)")
    assert badge.kind == "paragraph"


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


def test_a_line_that_was_a_tables_head_for_a_moment_belongs_to_the_words_above() -> None:
    source, stream = "words above\n|word\n|---|:-:|\n go on", MarkdownStream()
    for size in range(1, len(source) + 1):
        stream.update(source[:size])
        assert stream.blocks == parse(source[:size])
    assert [block.kind for block in stream.blocks] == ["paragraph"]


def test_what_may_become_a_tables_head_is_waited_with_until_the_line_below_tells() -> None:
    """G-1: no bars flash up where a table comes."""
    source = "Words.\n\n| a | b |\n|:-|-|\n| 1 | 2 |\n\nMore, | too.\n| no head\nof one."
    stream, kinds = MarkdownStream(), set[str]()
    for size in range(len(source) + 1):
        stream.update(source[: settled_length(source[:size])])
        shown = [block.kind for block in stream.blocks]
        kinds |= {*shown[1:2]}
        assert size - settled_length(source[:size]) <= len("| a | b |\n|:-|-|")
    assert kinds == {"table"} and shown == ["paragraph", "table", "paragraph"]
    assert settled_length(source) == len(source)


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


def pieces(block: Block) -> list[tuple[str, int, str]]:
    """What is styled or linked in a block."""
    return [
        (cut(block.text, start, start + size), style, url)
        for start, size, style, url in block.spans
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("see https://example.org/a_b_(c)?x=1&y=2.", "https://example.org/a_b_(c)?x=1&y=2"),
        ("(see https://x.org/)", "https://x.org/"),
        ("“https://x.org/路径”。好", "https://x.org/路径"),
        ("见https://x.org。好", None),
        ("见 https://x.org。好", "https://x.org"),
        ("🙂 HTTP://X.org, or", "HTTP://X.org"),
        ("https://x.org/a'...", "https://x.org/a"),
        ("https:// and www. and http://)", None),
        ("file:///etc/passwd javascript://x", None),
        ("xhttps://x.org and a@www.x.org", None),
    ],
)
def test_addresses_in_text_are_links(source: str, found: str | None) -> None:
    (block,) = parse(source)
    assert pieces(block) == ([(found, 0, found)] if found else [])


def test_links_and_styles_share_their_words() -> None:
    (block,) = parse("a **see www.x.org** `https://c.org` [https://q.org](https://z.org)")
    assert pieces(block) == [
        ("see ", STRONG, ""),
        ("www.x.org", STRONG, "https://www.x.org"),
        ("https://c.org", CODE, ""),
        ("https://q.org", 0, "https://z.org"),
    ]


@pytest.mark.parametrize(
    ("source", "formulas"),
    [
        ("$x^2$ and $$y$$", ["$x^2$", "$$y$$"]),
        (r"a \(x^2 + y_1\) b", [r"\(x^2 + y_1\)"]),
        ("\\[\nx = é \\\\\n y\n\\]", [r"\[ x = é \\ y \]"]),
        ("> \\[\n> a\n> \\]", [r"\[ a \]"]),
        (r"so \[ \frac{1}{2} \] is", [r"\[ \frac{1}{2} \]"]),
        (r"see \[1\] and `\(c\)`", []),
        ("US$5-US$10, or $5 to $10", []),
        ("„$a$“ – ö, US$5-US$10", ["$a$"]),
        ("設$x$為", ["$x$"]),
        (r"\\(x\\)", []),
        ("\\[ a\n- b \\] c \\[ d=1 \\]", [r"\[ d=1 \]"]),
        ("\\( a\n\nb \\)", []),
    ],
)
def test_formulas_keep_what_was_written(source: str, formulas: list[str]) -> None:
    found = [piece for block in parse(source) for piece in pieces(block) if piece[1] & MATH]
    assert [text for text, _, _ in found] == formulas


def test_a_formula_alone_is_a_block() -> None:
    blocks = parse("$$\na\n$$\n\n\\[b\\]\n\n$c$\n\nd $$e$$")
    assert [block.kind for block in blocks] == ["math", "math", "paragraph", "paragraph"]


def test_code_keeps_its_backslashes_beside_formulas() -> None:
    blocks = parse("\\(x\\)\n\n```\n\\(y\\) é\n```\n\n    \\[z\\]\n")
    assert [block.text for block in blocks] == ["\\(x\\)", "\\(y\\) é", "\\[z\\]"]


def test_footnotes_have_their_number() -> None:
    blocks = parse("a[^1] b [^note]\n\n[^1]: first https://e.org\n\n[^note]: **more**\n")
    assert [(block.marker, block.text) for block in blocks] == [
        ("", "a1 b note"), ("1.", "first https://e.org"), ("note.", "more"),
    ]  # fmt: skip
    assert pieces(blocks[0]) == [("1", RAISED, ""), ("note", RAISED, "")]


def test_lines_break_in_tables() -> None:
    (table,) = parse("| a |\n|-|\n| x<br>y <BR/> z `<br>` |\n")
    assert table.rows[1][0][0] == "x\u2028y \u2028 z <br>"


@pytest.mark.parametrize(
    "piece",
    [
        r"\(",
        r"\[",
        r"\( \[ ",
        "(",
        "$",
        "$$ ",
        "[^1",
        "[^1]",
        "www.",
        "https://a(",
        "www.a)",
        "<br>",
        "<details>",
        "<details><summary>",
        "<details <",
    ],
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """A hundred kilobytes each: quadratic work would take minutes."""
    size = 100_000 // len(piece)
    for source in (piece * size, "www.x.org" + piece * size, f"\\({piece * size}\\)"):
        assert parse(source)
