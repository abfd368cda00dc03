"""What a screen reader reads of blocks: their words without markup, and where each stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from studio.ui.translation import tr

from .blocks import LINE, MATH, Block, Span, cut, folds_around, utf16


@dataclass(frozen=True, slots=True)
class Piece:
    """Words in what is read, and where they stand in a block. All numbers count UTF-16 units.

    ``part`` is the block's text, or the number of a table's cell. ``shown`` is how much of that
    text the words stand for: as long as they are, but for formulas.
    """

    start: int
    size: int
    block: int
    part: int
    at: int
    shown: int

    def shown_at(self, offset: int) -> tuple[int, int]:
        """The range in the block's text of a character of the words."""
        if self.shown == self.size:
            return self.at + offset - self.start, self.at + offset - self.start + 1
        return self.at, self.at + self.shown


class SpokenText:
    """The words of blocks, a line for each paragraph, line of code and row of a table.

    ``opened`` has the ``start`` of each fold that is open; what others hide is not read.
    """

    def __init__(
        self,
        blocks: Iterable[Block] = (),
        before: str = "",
        opened: frozenset[int] = frozenset(),
    ) -> None:
        self.pieces: list[Piece] = []
        """From the first to the last."""
        self._words: list[str] = []
        self.size = 0
        """In UTF-16 units."""
        if before:
            self._say(before)
        above, around = None, ()
        for number, block in enumerate(blocks):
            around = folds_around(above, around, block)
            above = block
            if block.kind in ("rule", "details_end") or not opened.issuperset(around):
                continue
            self._block(number, block)
            if block.kind == "details":
                self._say(", " + (tr("expanded") if block.start in opened else tr("collapsed")))
        self.text = "".join(self._words)
        self._starts = [piece.start for piece in self.pieces]

    def cut(self, start: int, end: int) -> str:
        return cut(self.text, max(0, start), max(0, end))

    def piece(self, offset: int) -> Piece | None:
        """The words at an offset, or the last ones before it."""
        found = bisect_right(self._starts, offset) - 1
        return self.pieces[found] if found >= 0 else None

    def offset(self, block: int, at: int) -> int:
        """Where a place in a block's text is read."""
        for piece in self.pieces:
            if piece.block == block and at < piece.at + piece.shown:
                inside = max(0, at - piece.at)
                return piece.start + min(inside, max(0, piece.size - 1))
        later = next((piece for piece in self.pieces if piece.block > block), None)
        return self.size if later is None else later.start

    def _say(self, words: str) -> None:
        self._words.append(words)
        self.size += utf16(words)

    def _line(self) -> None:
        if self._words:
            self._say("\n")

    def _block(self, number: int, block: Block) -> None:
        if block.rows:
            part = 0
            for row in block.rows:
                self._line()
                for column, (text, spans) in enumerate(row):
                    if column:
                        self._say(", ")
                    self._pieces(text, spans, number, part)
                    part += 1
            return
        self._line()
        if block.marker.startswith("["):
            self._say((tr("Done:") if block.marker == "[x]" else tr("To do:")) + " ")
        elif block.marker and block.marker != "•":
            self._say(block.marker + " ")
        if block.kind == "image":
            url = block.spans[0][3]
            inline = block.text or url.startswith("data:")
            name = "" if inline else unquote(url).rsplit("/", 1)[-1]
            self._say(tr("Picture:") + f" {name}")
        if block.kind == "details" and not block.text:
            self._say(tr("Details"))
        self._pieces(block.text, block.spans, number, 0)

    def _pieces(self, text: str, spans: Sequence[Span], block: int, part: int) -> None:
        at = 0
        for start, size, flags, _ in spans:
            if flags & MATH and start >= at:
                self._piece(cut(text, at, start), block, part, at)
                words = spoken_formula(cut(text, start, start + size))
                self._piece(words, block, part, start, size)
                at = start + size
        self._piece(cut(text, at), block, part, at)

    def _piece(self, words: str, block: int, part: int, at: int, shown: int = -1) -> None:
        size = utf16(words)
        if size:
            self.pieces.append(
                Piece(self.size, size, block, part, at, size if shown < 0 else shown)
            )
            self._say(words.replace(LINE, "\n"))


_ARGUMENT = r"\s*\{([^{}]*)\}"
_STEPS = tuple(
    (re.compile(pattern), made)
    for pattern, made in (
        (rf"\\[dt]?frac{_ARGUMENT}{_ARGUMENT}", r"(\1)/(\2)"),
        (rf"\\sqrt{_ARGUMENT}", r"√(\1)"),
        (rf"\\(?:text|mathrm|mathbf|mathit|operatorname){_ARGUMENT}", r"\1"),
        (r"([\^_])\{(\w)\}", r"\1\2"),
        (r"([\^_])\{([^{}]*)\}", r"\1(\2)"),
    )
)
_PLAIN = (
    (re.compile(r"^(?:\$\$?|\\[(\[])\s*|\s*(?:\$\$?|\\[)\]])$"), ""),
    (re.compile(r"\((\w+)\)/\((\w+)\)"), r"\1/\2"),
    (re.compile(r"\\(?:left|right)\b|\\[,;:! ]|\\\\|~"), " "),
    (re.compile(r"\\([A-Za-z]+)"), r" \1 "),
    (re.compile(r"[{}\\]"), ""),
    (re.compile(r"\s+(?=[\s)])|(?<=\()\s+"), ""),
)


def spoken_formula(written: str) -> str:
    """A formula as words and signs: ``$\\frac{a}{2}$`` is “a/2”."""
    for _ in range(8):  # from the inner groups to the outer ones
        before = written
        for pattern, made in _STEPS:
            written = pattern.sub(made, written)
        if written == before:
            break
    for pattern, made in _PLAIN:
        written = pattern.sub(made, written)
    return written.strip()
