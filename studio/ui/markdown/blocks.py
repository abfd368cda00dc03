"""Blocks: a document as a flat list of parts, in reading order, each laid out by itself.

Offsets in text (``Span``) count UTF-16 units, as Qt does; offsets into the source (``start``,
``end``) count Python characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

STRONG, EMPHASIS, CODE, STRIKE, MATH, RAISED = 1, 2, 4, 8, 16, 32
LINE = "\u2028"
"""A line break inside a paragraph."""

Span: TypeAlias = tuple[int, int, int, str]
"""Start, length, styles, and the URL of a link or nothing."""
Cell: TypeAlias = tuple[str, tuple[Span, ...]]
Kind: TypeAlias = Literal[
    "paragraph", "heading", "code", "table", "rule", "math", "image", "details", "details_end"
]


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a document that is laid out by itself.

    ``nesting`` holds ``"quote"``, ``"item"`` and ``"details"`` from the outside in; ``marker``
    is the bullet or number of the list item or footnote that begins here (``[ ]``
    and ``[x]`` for tasks). A formula that stands alone is ``math``; its text has
    its delimiters, like that of all formulas. ``details`` is the row of a fold: its text is
    the summary, its ``start`` tells it from all others, and ``level`` is 1 if it is open at
    first; ``details_end`` shows nothing. An ``image`` has its words as text, and the path or
    ``data:`` address in its span. ``level`` is a heading's, too. Code has its ``language``,
    tables have ``rows`` (the first of them the head where ``part`` is 0),
    ``align`` and ``sample``, the rows that decide the widths of columns in all
    parts. ``part`` numbers the parts of one table or fence, ``final`` marks the
    last.
    """

    kind: Kind
    text: str = ""
    spans: tuple[Span, ...] = ()
    level: int = 0
    nesting: tuple[str, ...] = ()
    marker: str = ""
    tight: bool = False
    language: str = ""
    part: int = 0
    final: bool = True
    rows: tuple[tuple[Cell, ...], ...] = ()
    sample: tuple[tuple[Cell, ...], ...] = ()
    align: tuple[str, ...] = ()
    start: int = 0
    end: int = 0


def utf16(text: str) -> int:
    """The length of ``text`` in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, start: int, end: int | None = None) -> str:
    """``text[start:end]`` counted in UTF-16 units."""
    if text.isascii():
        return text[start:end]
    data = text.encode("utf-16-le", "surrogatepass")
    stop = None if end is None else 2 * end
    return data[2 * start : stop].decode("utf-16-le", "replace")


def without_markup(pieces: Iterable[tuple[Block, str]]) -> str:
    """The shown text of blocks, or of parts of them, as lines to copy."""
    out, tight = "", False
    for block, text in pieces:
        shown = f"{block.marker} {text}" if block.marker and text == shown_text(block) else text
        if shown and out:
            out += "\n" if block.part or (tight and block.tight) else "\n\n"
        out += shown.replace(LINE, "\n")
        tight = block.tight
    return out


def folds_around(before: Block | None, around: tuple[int, ...], block: Block) -> tuple[int, ...]:
    """The ``start`` of each fold that a block is in, from the outside in.

    ``before`` is the block above it, and ``around`` what this function returned for that one.
    """
    if before is not None and before.kind == "details":
        around = (*around, before.start)
    return around[: block.nesting.count("details")]


def shown_text(block: Block) -> str:
    """The text of a block without markup; a table has its cells between tabs."""
    if block.rows:
        return "\n".join("\t".join(cell for cell, _ in row) for row in block.rows)
    return block.text
