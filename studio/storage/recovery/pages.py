"""Pages: reads rows from the pages of a SQLite file and its log, without SQLite.

SQLite gives up a table at its first damaged page. Here each page is read for itself, see
https://www.sqlite.org/fileformat2.html. Nothing that is read is trusted: whatever does not fit
is left out, and ``Tree.broken`` says so.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[int, list[Value]]
"""A row's number (SQLite's rowid), and its values."""

MAGIC: Final = b"SQLite format 3\0"
FIXED: Final = b"\x40\x20\x20"
"""Bytes 21 to 23 of every database."""
PAGE_SIZE: Final = 4096
"""The size of a page, where the file does not say it."""
LOG_HEADER, FRAME_HEADER = 32, 24
LOG_MAGIC: Final = (0x377F0682, 0x377F0683)
"""Of a log with little-endian and with big-endian checksums."""
TABLE_INNER, TABLE_LEAF, INDEX_INNER, INDEX_LEAF = 5, 13, 2, 10
INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The size in bytes of each type of integer."""


class Unreadable(Exception):
    """A page or cell does not follow the format."""


def header_size(header: bytes) -> int:
    """The size of a page that the first 100 bytes of a file tell; 0 if they are no header."""
    if len(header) < 100 or not header.startswith(MAGIC) or header[21:24] != FIXED:
        return 0
    size = int.from_bytes(header[16:18], "big")
    return _page_size(65536 if size == 1 else size)


def _page_size(size: int) -> int:
    return size if 512 <= size <= 65536 and size & (size - 1) == 0 else 0


class PageFile:
    """The pages of a database as its last commit left them, from the file and the log beside it.

    Raises OSError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            header = self._file.read(100)
            self.sound_header = header_size(header) > 0
            self.size = header_size(header) or PAGE_SIZE
            self._log: dict[int, bytes] = {}
            self._read_log(path.with_name(f"{path.name}-wal"))
            length = self._file.seek(0, 2)
            self.count = max(-(-length // self.size), *self._log, 0)
            first = self.page(1) if self.count else b""
            known = header_size(first[:100]) > 0
            self.version = int.from_bytes(first[60:64], "big") if known else None
            """``PRAGMA user_version``; None where it cannot be read."""
            self.usable = self.size - (first[20] if known else 0)
            self.free = self._free_pages(first) if known else set[int]()
            """Pages that hold nothing any more."""
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> PageFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def page(self, number: int) -> bytes:
        """A page, filled up with zeros where the file is cut off."""
        if (newer := self._log.get(number)) is not None:
            return newer
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size).ljust(self.size, b"\0")

    def _read_log(self, path: Path) -> None:
        """Take the newest page of each number in the log, up to the last commit.

        A frame with a wrong checksum is left out. The next one is checked from what that one
        should have come to, so that one damaged frame does not lose those after it.
        """
        try:
            file = path.open("rb")
        except OSError:
            return
        with file:
            head = file.read(LOG_HEADER)
            if len(head) < LOG_HEADER:
                return
            magic, _, size, _, salt, salt2, *last = struct.unpack(">8I", head)
            known = magic in LOG_MAGIC and _page_size(size)
            if known and not self.sound_header:
                self.size = known
            salts = (salt, salt2) if known else None
            order = ">" if magic == LOG_MAGIC[1] else "<"
            waiting: dict[int, bytes] = {}
            while len(frame := file.read(FRAME_HEADER + self.size)) == FRAME_HEADER + self.size:
                number, commits, *rest = struct.unpack(">6I", frame[:FRAME_HEADER])
                salts = salts or (rest[0], rest[1])
                if (rest[0], rest[1]) != salts:
                    break  # left over from before the log was begun anew
                data = frame[FRAME_HEADER:]
                if _sum(frame[:8] + data, last, order) == rest[2:] and number:
                    waiting[number] = data
                last = rest[2:]
                if commits:
                    self._log |= waiting
                    waiting.clear()

    def _free_pages(self, first: bytes) -> set[int]:
        """The pages of the list of free ones, as far as it can be read."""
        found: set[int] = set()
        trunk = int.from_bytes(first[32:36], "big")
        while 2 <= trunk <= self.count and trunk not in found:
            found.add(trunk)
            page = self.page(trunk)
            trunk, many = struct.unpack(">2I", page[:8])
            if many > self.size // 4 - 2:
                break
            leaves = struct.unpack(f">{many}I", page[8 : 8 + 4 * many])
            found.update(leaf for leaf in leaves if 2 <= leaf <= self.count)
        return found


def _sum(data: bytes, last: Sequence[int], order: str) -> list[int]:
    """The checksum of a frame after the one with the checksum ``last``."""
    first, second = last
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return [first, second]


def is_log_whole(log: Path) -> bool:
    """Whether all that was committed to a log can be read. True without one.

    SQLite drops everything from the first wrong frame on, and says nothing.
    """
    written = read = number = 0
    try:
        with log.open("rb") as file:
            head = file.read(LOG_HEADER).ljust(LOG_HEADER, b"\0")
            magic, _, size, _, *salts, first, second = struct.unpack(">8I", head)
            sound = magic in LOG_MAGIC and _page_size(size) > 0
            last, order = [first, second], ">" if magic == LOG_MAGIC[1] else "<"
            size = size if sound else PAGE_SIZE
            while len(frame := file.read(FRAME_HEADER + size)) == FRAME_HEADER + size:
                _, commits, *rest = struct.unpack(">6I", frame[:FRAME_HEADER])
                salts = salts if sound or number else rest[:2]
                if rest[:2] != salts:
                    break
                number += 1
                if sound:
                    last = _sum(frame[:8] + frame[FRAME_HEADER:], last, order)
                    sound = last == rest[2:]
                if commits:
                    written = number
                    read = number if sound else read
    except OSError:
        return True
    return read == written


class Tree:
    """One table or index, as far as it can be reached from its first page.

    ``taken`` are the pages that a tree has, shared by all trees of a file. ``fits`` says
    whether a row can be one of this table: a page on which none does belongs to another.
    """

    def __init__(
        self, pages: PageFile, root: int, taken: set[int], fits: Callable[[list[Value]], bool]
    ) -> None:
        self.broken = False
        """Whether a part could not be read, once all was read that can be."""
        self._pages = pages
        self._root = root
        self._taken = taken
        self._fits = fits

    def rows(self) -> Iterator[Row]:
        """The rows of a table, in order."""
        for page, number in self._leaves(TABLE_INNER, TABLE_LEAF):
            rows, whole = read_leaf(self._pages, number, page)
            fitting = [row for row in rows if self._fits(row[1])]
            if rows and not fitting:
                self._taken.discard(number)
            if not whole or len(fitting) < len(rows):
                self.broken = True
            yield from fitting

    def entries(self) -> Iterator[list[Value]]:
        """The entries of an index: its columns, and the row's number. In no order."""
        for page, _ in self._leaves(INDEX_INNER, INDEX_LEAF, inner_too=True):
            inner = page[0] == INDEX_INNER
            try:
                places = _pointers(page, 0)
            except Unreadable:
                places = ()
                self.broken = True
            for at in places:
                try:
                    yield _record(_payload(self._pages, page, at + 4 * inner, index=True))
                except Unreadable:
                    self.broken = True

    def _leaves(
        self, inner: int, leaf: int, *, inner_too: bool = False
    ) -> Iterator[tuple[bytes, int]]:
        stack = [self._root]
        while stack:
            number = stack.pop()
            if not 1 <= number <= self._pages.count or number in self._taken:
                self.broken = True
                continue
            page = self._pages.page(number)
            start = 100 if number == 1 else 0
            if page[start] == leaf:
                self._taken.add(number)
                yield page, number
            elif page[start] == inner:
                self._taken.add(number)
                if inner_too:
                    yield page, number
                try:
                    children = [_number(page, at) for at in _pointers(page, start)]
                    stack += [_number(page, start + 8), *reversed(children)]
                except Unreadable:
                    self.broken = True
            else:
                self.broken = True


def read_leaf(pages: PageFile, number: int, page: bytes) -> tuple[list[Row], bool]:
    """The rows on one page of a table, and whether these are all that it had."""
    start = 100 if number == 1 else 0
    if page[start] != TABLE_LEAF:
        return [], False
    whole = True
    rows: list[Row] = []
    try:
        places = _pointers(page, start)
    except Unreadable:
        return [], False
    for at in places:
        try:
            row_id = _signed(_varint(page, _varint(page, at)[1])[0])
            rows.append((row_id, _record(_payload(pages, page, at, index=False))))
        except Unreadable:
            whole = False
    in_order = all(one < other for (one, _), (other, _) in pairwise(rows))
    if not in_order:  # one of them is wrong, and which is not known
        rows = [rows[i] for i in _rising([row_id for row_id, _ in rows])]
    return rows, whole and in_order


def _rising(numbers: Sequence[int]) -> list[int]:
    """The places of the numbers that are above all before and below all after them."""
    lowest: list[int | float] = [float("inf")]
    for number in reversed(numbers):
        lowest.append(min(lowest[-1], number))
    lowest.reverse()
    found: list[int] = []
    highest: int | float = float("-inf")
    for place, number in enumerate(numbers):
        if highest < number < lowest[place + 1]:
            found.append(place)
        highest = max(highest, number)
    return found


def _pointers(page: bytes, start: int) -> tuple[int, ...]:
    """Where the cells of a page begin."""
    many = int.from_bytes(page[start + 3 : start + 5], "big")
    first = start + (8 if page[start] in (TABLE_LEAF, INDEX_LEAF) else 12)
    end = first + 2 * many
    if end > len(page):
        raise Unreadable
    found = struct.unpack(f">{many}H", page[first:end])
    if any(not end <= at <= len(page) - 4 for at in found) or len(set(found)) != many:
        raise Unreadable
    return found


def _payload(pages: PageFile, page: bytes, at: int, *, index: bool) -> bytes:
    """The content of the cell at ``at``, with what is on other pages."""
    length, at = _varint(page, at)
    usable = pages.usable
    most = (usable - 12) * 64 // 255 - 23
    if not index:
        _, at = _varint(page, at)
        most = usable - 35
    if length <= most:
        if at + length > usable:
            raise Unreadable
        return page[at : at + length]
    if length > pages.count * usable:
        raise Unreadable
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    here = here if here <= most else least
    if at + here + 4 > usable:
        raise Unreadable
    parts = [page[at : at + here]]
    following = _number(page, at + here)
    left = length - here
    while left > 0:
        if not 2 <= following <= pages.count:
            raise Unreadable
        beyond = pages.page(following)
        following = _number(beyond, 0)
        parts.append(beyond[4 : 4 + min(left, usable - 4)])
        left -= usable - 4
    if following:  # the last of them names no other
        raise Unreadable
    return b"".join(parts)


def _record(payload: bytes) -> list[Value]:
    """The values of a row; every byte must be accounted for."""
    header, at = _varint(payload, 0)
    if not at <= header <= len(payload):
        raise Unreadable
    kinds: list[int] = []
    while at < header:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != header or header + sum(map(_length, kinds)) != len(payload):
        raise Unreadable
    values: list[Value] = []
    for kind in kinds:
        end = at + _length(kind)
        values.append(_value(kind, payload[at:end]))
        at = end
    return values


def _length(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind in (10, 11):
        raise Unreadable
    return INTEGERS.get(kind, 8 if kind == 7 else 0)


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data.decode("utf-8", "replace") if kind % 2 else data
    if kind == 7:
        number: float = struct.unpack(">d", data)[0]
        return None if number != number else number  # SQLite stores NULL for it
    if kind in INTEGERS:
        return int.from_bytes(data, "big", signed=True)
    return None if kind == 0 else kind - 8


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of 1 to 9 bytes, and where the next thing begins."""
    value = 0
    for place in range(at, at + 9):
        if place >= len(data):
            raise Unreadable
        byte = data[place]
        if place == at + 8:
            return value << 8 | byte, place + 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    raise Unreadable


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")
