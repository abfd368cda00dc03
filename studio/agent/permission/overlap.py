"""Whether a pattern may fit a text of which stretches are not known yet."""

from __future__ import annotations

from functools import lru_cache

from .words import DYNAMIC

_LONGEST = 2_000


@lru_cache(maxsize=4096)
def may_fit(pattern: str, text: str) -> bool:
    """True if some text in the place of each ``DYNAMIC`` would make the pattern fit.

    Never falsely False: ``?`` and ``[…]`` count as any character, and a very
    long text may always fit.
    """
    if DYNAMIC not in text:
        return False
    if len(pattern) > _LONGEST or len(text) > _LONGEST:
        return True
    if pattern.endswith(" *"):
        return _overlap(pattern, text) or _overlap(pattern[:-2], text)
    return _overlap(pattern, text)


def _overlap(pattern: str, text: str) -> bool:
    """Two texts with stretches that can be anything: row by row, what has been fitted so far."""
    tokens = _tokens(pattern)
    row = [True] + [False] * len(text)
    for j, char in enumerate(text, 1):
        row[j] = row[j - 1] and char == DYNAMIC
    for token in tokens:
        before = row
        star = token == "*"
        row = [before[0] and star] + [False] * len(text)
        for j, char in enumerate(text, 1):
            if star:
                row[j] = before[j] or row[j - 1]
            elif char == DYNAMIC:
                row[j] = before[j] or row[j - 1] or before[j - 1]
            else:
                row[j] = before[j - 1] and token.casefold() in ("?", char.casefold())
    return row[-1]


def _tokens(pattern: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        close = pattern.find("]", at + 2)
        if pattern[at] == "[" and close > 0:
            tokens.append("?")
            at = close + 1
        else:
            tokens.append(pattern[at])
            at += 1
    return tokens
