"""What a search finds, however much: read a part at a time, made as it comes into sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtWidgets import QWidget

from studio.packs.ui import Label, Page

from ._row_list import RowList
from ._rows import ScrolledColumn, section

T = TypeVar("T")
R = TypeVar("R", bound=QWidget)
_PART = 100
"""How many are read at a time."""
_AHEAD = 30
"""How many rows before they come into sight they are read."""


class FoundList(ScrolledColumn, Generic[T, R]):
    """The rows of what is found, under a heading with its number.

    ``find`` takes words, how many at most and how many to skip, and ``count`` says how many there
    are; both block and are called in a thread. ``reuse`` shows something else in a row that has
    left the sight, and says whether it can. ``sample`` makes the row that tells how tall a row is.
    ``nothing`` is said where there is none at all, and where none fits.
    """

    def __init__(
        self,
        page: Page,
        title: str,
        nothing: tuple[str, str],
        find: Callable[[str, int, int], list[T]],
        count: Callable[[str], int],
        make: Callable[[T], R],
        reuse: Callable[[R, T], bool],
        sample: Callable[[T], R],
    ) -> None:
        super().__init__(page.theme)
        self._page, self._title, self._nothing = page, title, nothing
        self._find, self._counted, self._make, self._sample = find, count, make, sample
        self._reuse = reuse
        self.rows: list[R] = []
        """Those that are made; another list each time that all is shown anew."""
        self._list: RowList[R] | None = None
        self._words, self._count = "", 0
        """What was looked for, and how many it found."""
        self._found: dict[int, T] = {}
        """Those that are read, by their places."""
        self._reading: object | None = None
        """What is being read; what ends later than another is not shown."""

    async def load(self, words: str, *, top: bool = False) -> bool:
        """Read and show all anew, from the ``top`` or where one was.

        Returns whether nothing newer was asked for meanwhile.
        """
        self._reading = reading = object()
        same = self._list is not None and words == self._words and not top
        first = self._list.first if self._list is not None and same else 0

        def work() -> tuple[int, int, list[T]]:
            count = self._counted(words)
            start = max(0, min(first - _AHEAD, count - _PART))
            return count, start, self._find(words, _PART, start)

        count, start, found = await self._page.in_thread(work)
        if reading is not self._reading:
            return False
        if not same:
            self.verticalScrollBar().setValue(0)
        self._reading, self._words, self._count = None, words, count
        self._found = dict(enumerate(found, start))
        if not found:
            self.rows, self._list = [], None
            what = self._nothing[1 if words.strip() else 0]
            self.show_parts([Label(self._theme, what, "ui", "text2")])
            return True
        self._list = RowList(
            self._theme,
            self,
            self._has,
            lambda index: self._make(self._found[index]),
            lambda row, index: self._reuse(row, self._found[index]),
            lambda: self._sample(next(iter(self._found.values()))),
            count,
        )
        self.rows = self._list.rows
        title = "Gefunden" if words.strip() else self._title
        self.show_parts([section(self._theme, title, [self._list], count=count)])
        return True

    @property
    def first(self) -> T | None:
        """The first of what was found, where the list is at its top."""
        return self._found.get(0)

    def bring(self, wanted: Callable[[T], bool]) -> R | None:
        """The row of what is wanted, which comes into sight; None where it is not read."""
        for index, one in self._found.items():
            if self._list is not None and wanted(one):
                return self._list.show_row(index)
        return None

    def _has(self, rows: range) -> bool:
        """Whether these rows are read; reads them and those beside them."""
        beside = range(max(0, rows.start - _AHEAD), min(self._count, rows.stop + _AHEAD))
        missing = [one for one in beside if one not in self._found]
        if missing and self._reading is None:
            self._reading = object()
            self._page.run(self._read_more(self._reading, missing[0] // _PART * _PART))
        return not any(one in rows for one in missing)

    async def _read_more(self, reading: object, start: int) -> None:
        words = self._words
        try:
            found = await self._page.in_thread(lambda: self._find(words, _PART, start))
        finally:
            current = reading is self._reading
            if current:
                self._reading = None
        if current and len(found) < min(_PART, self._count - start):  # some were deleted
            await self.load(words)
        elif current and self._list is not None:
            self._found.update(enumerate(found, start))
            self._list.fill()
