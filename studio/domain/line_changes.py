"""Line changes: finds which lines differ between two texts, in bounded time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_EFFORT = 1_000_000
"""Old lines times new lines beyond which the middle counts as replaced whole."""
_PAIRS = 20_000
"""Pairs of equal lines, an old and a new one, that are looked at: with a few lines that are
there a thousand times the time would grow with the third power of their number."""


def opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Like ``SequenceMatcher.get_opcodes``, but quick for long texts that differ in one part.

    Of texts that differ in much, or repeat few lines often, it finds less that is the same.
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    most = min(len(old), len(new)) - start
    while end < most and old[len(old) - 1 - end] == new[len(new) - 1 - end]:
        end += 1
    if start:
        yield "equal", 0, start, 0, start
    old_end, new_end = len(old) - end, len(new) - end
    if (old_end - start) * (new_end - start) > _EFFORT:
        yield "replace", start, old_end, start, new_end
    elif old_end > start or new_end > start:
        for tag, i1, i2, j1, j2 in matcher(old[start:old_end], new[start:new_end]).get_opcodes():
            yield tag, i1 + start, i2 + start, j1 + start, j2 + start
    if end:
        yield "equal", old_end, len(old), new_end, len(new)


def matcher(old: Sequence[str], new: Sequence[str]) -> SequenceMatcher[str]:
    """A matcher of two lists; what both repeat often is matched beside other matches only."""
    in_old, in_new = Counter(old), Counter(new)
    pairs = {item: count * in_new[item] for item, count in in_old.items() if item in in_new}
    total = sum(pairs.values())
    popular: set[str] = set()
    for item in sorted(pairs, key=pairs.__getitem__, reverse=True):
        if total <= _PAIRS:
            break
        popular.add(item)
        total -= pairs[item]
    return SequenceMatcher(popular.__contains__ if popular else None, old, new, autojunk=False)


def changed_lines(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Lines added and removed, as a unified diff would count them."""
    added = removed = 0
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag != "equal":
            removed += i2 - i1
            added += j2 - j1
    return added, removed
