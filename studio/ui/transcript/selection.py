"""What is selected, across items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .items import END, START, Caret, Item, TextRange

TextPosition: TypeAlias = tuple[int, Caret]
"""An item's index and a place in its text."""


class Selection:
    """From where the mouse was pressed to where it is; empty at first."""

    def __init__(self) -> None:
        self.anchor: TextPosition | None = None
        self.head: TextPosition | None = None

    def __bool__(self) -> bool:
        return self.anchor is not None and self.anchor != self.head

    def clear(self) -> None:
        self.anchor = self.head = None

    def begin(self, place: TextPosition) -> None:
        self.anchor = self.head = place

    def extend(self, place: TextPosition) -> None:
        if self.anchor is not None:
            self.head = place

    def all(self, count: int) -> None:
        """Everything."""
        self.anchor, self.head = (0, START), (max(0, count - 1), END)

    @property
    def ends(self) -> tuple[TextPosition, TextPosition] | None:
        if self.anchor is None or self.head is None or not self:
            return None
        low, high = sorted((self.anchor, self.head))
        return low, high

    def of(self, index: int) -> TextRange | None:
        """What of an item is selected."""
        ends = self.ends
        if ends is None or not ends[0][0] <= index <= ends[1][0]:
            return None
        low = ends[0][1] if ends[0][0] == index else START
        high = ends[1][1] if ends[1][0] == index else END
        return (low, high) if low < high else None

    def text(self, items: Sequence[Item]) -> str:
        """The selected text; the source where blocks are selected whole."""
        ends = self.ends
        if ends is None:
            return ""
        out: list[str] = []
        for index in range(ends[0][0], min(ends[1][0], len(items) - 1) + 1):
            piece = self.of(index)
            words = items[index].words(piece) if piece is not None else ""
            if words:
                out.append(words)
        return "\n\n".join(out)
