"""Glob patterns: match relative paths, in time that grows with the path and no faster.

A model writes the pattern, and a stranger may have chosen the names that it meets. So it is no
regular expression, which may try every way to share a name among the stars: every position
that the pattern may have reached is kept instead, and one character moves them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from studio.domain.errors import NothingRead

LONGEST = 1_000
"""Characters of a pattern."""
_MOST_KNOWN = 5_000
"""Steps from one set of positions to the next that are remembered."""

_Fits = Callable[[str], object]


@lru_cache(maxsize=256)
def glob_matcher(pattern: str) -> Callable[[str], bool]:
    """``*`` and ``?`` stay inside one name, ``**`` crosses folders, ``{a,b}`` is either.

    A pattern without a slash matches names at any depth; one with a slash matches
    the whole path. Raises NothingRead for a pattern that cannot be parsed.
    """
    text = pattern.strip().replace("\\", "/").removeprefix("./")
    if not text:
        raise NothingRead("The glob pattern is empty.")
    if len(text) > LONGEST:
        raise NothingRead(f"The glob pattern is longer than {LONGEST} characters.")
    anywhere = "/" not in text
    try:
        return _Glob(f"**/{text}" if anywhere else text.lstrip("/")).matches
    except (ValueError, RecursionError) as error:
        raise NothingRead(f"“{pattern}” is not a glob pattern: {error}.") from error


def _any(char: str) -> bool:
    return True


def _in_name(char: str) -> bool:
    return char != "/"


class _Glob:
    """The positions of a pattern, and the way from each to the next.

    A set of positions is a number with a bit for each.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._takes: list[tuple[_Fits, int] | None] = []
        """For each position the characters that it takes, and the position after them."""
        self._skips: list[list[int]] = []
        """For each position those that are reached from it without a character."""
        self._known: dict[tuple[int, str], int] = {}
        self._reached: dict[int, int] = {}
        start = self._position()
        self._end = self._parsed(start, 0)
        self._start = self._reach(start)

    def matches(self, path: str) -> bool:
        """Whether the pattern matches the whole path."""
        known, here = self._known, self._start
        for char in path:
            after = known.get((here, char))
            here = self._step(here, char) if after is None else after
            if not here:
                return False
        return bool(here >> self._end & 1)

    def _step(self, here: int, char: str) -> int:
        found, left = 0, here
        while left:
            take = self._takes[(left & -left).bit_length() - 1]
            left &= left - 1
            if take is not None and take[0](char):
                found |= self._reach(take[1])
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[here, char] = found
        return found

    def _reach(self, position: int) -> int:
        """The position, and all that are reached from it without a character."""
        if position not in self._reached:
            found, waiting = 0, [position]
            while waiting:
                one = waiting.pop()
                if not found >> one & 1:
                    found |= 1 << one
                    waiting += self._skips[one]
            self._reached[position] = found
        return self._reached[position]

    # The pattern as it is read: each takes a position, and returns the one after it

    def _position(self) -> int:
        self._takes.append(None)
        self._skips.append([])
        return len(self._takes) - 1

    def _taking(self, before: int, fits: _Fits) -> int:
        after = self._position()
        self._takes[before] = (fits, after)
        return after

    def _any_number(self, before: int, fits: _Fits) -> int:
        again = self._position()
        after = self._position()
        self._skips[before] += [again]
        self._skips[again] += [after]
        self._takes[again] = (fits, again)
        return after

    def _folders(self, before: int) -> int:
        """``**/``: nothing, or anything up to a slash."""
        after = self._taking(self._any_number(before, _any), "/".__eq__)
        self._skips[before] += [after]
        return after

    def _parsed(self, here: int, depth: int) -> int:
        """Read up to the end, or to the brace that ends a choice."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if depth and char in ",}":
                return here
            self._at += 1
            if char == "*":
                here = self._star(here)
            elif char == "?":
                here = self._taking(here, _in_name)
            elif char == "[" and (end := self._text.find("]", self._at + 1)) > 0:
                here = self._taking(here, _one_of(self._text[self._at : end]))
                self._at = end + 1
            elif char == "{" and "}" in self._text[self._at :]:
                here = self._choice(here, depth + 1)
            else:
                here = self._taking(here, char.__eq__)
        if depth:
            raise ValueError("a brace is not closed")
        return here

    def _star(self, here: int) -> int:
        stars = self._at
        while self._text.startswith("*", self._at):
            self._at += 1
        if self._at == stars:
            return self._any_number(here, _in_name)
        if self._text.startswith("/", self._at):
            self._at += 1
            return self._folders(here)
        return self._any_number(here, _any)

    def _choice(self, before: int, depth: int) -> int:
        after = self._position()
        while True:
            branch = self._position()
            self._skips[before] += [branch]
            self._skips[self._parsed(branch, depth)] += [after]
            self._at += 1
            if self._text[self._at - 1] == "}":
                return after


def _one_of(inside: str) -> _Fits:
    """``a-z``, or with ``!`` all others in a name."""
    others = inside[0] in "!^"
    ranges: list[tuple[str, str]] = []
    left = inside[1:] if others else inside
    while left:
        size = 3 if left[1:2] == "-" and len(left) > 2 else 1
        low, high = left[0], left[size - 1]
        if low > high:
            raise ValueError(f"there is nothing from {low} to {high}")
        ranges.append((low, high))
        left = left[size:]

    def fits(char: str) -> bool:
        listed = any(low <= char <= high for low, high in ranges)
        return listed != others and not (others and char == "/")

    return fits
