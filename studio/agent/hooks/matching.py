"""Hook matching: whether a hook is for a tool, or for a cause of its event.

A matcher of letters, digits, ``_`` and ``|`` is a list of names. Any other is a regular expression,
which others write: one that could take long is not used at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MOST_MATCHER = 300
MOST_REPEATS = 3
"""Repeats in one alternative of an expression, and groups: with more it can take without end."""
_NAMES = re.compile(r"[\w|, ]+")
_REPEAT = re.compile(r"(?<![\\(])(?:[*+?]|\{\d*,?\d*\})\??")
_LONGEST = 200
"""Characters of a name that are looked at."""


def matcher_problem(matcher: str) -> str:
    """Why a matcher cannot be used; empty if it can."""
    if len(matcher) > MOST_MATCHER:
        return f"The matcher is longer than {MOST_MATCHER} characters."
    if matcher in ("", "*") or _NAMES.fullmatch(matcher):
        return ""
    parts = [matcher] if "(" in matcher else matcher.split("|")
    repeated = re.search(r"\)[*+{]", matcher) or matcher.count("(") > MOST_REPEATS
    if repeated or any(len(_REPEAT.findall(part)) > MOST_REPEATS for part in parts):
        return "The matcher could take without end."
    try:
        re.compile(matcher)
    except (re.error, RecursionError, OverflowError):
        return "The matcher is no regular expression."
    return ""


def matches(matcher: str, names: Iterable[str]) -> bool:
    """Whether a usable matcher means one of these names."""
    if matcher in ("", "*"):
        return True
    if _NAMES.fullmatch(matcher):
        wanted = {one.strip() for one in re.split(r"[|,]", matcher)}
        return not wanted.isdisjoint(names)
    expression = _compiled(matcher)
    return any(expression.search(name[:_LONGEST]) for name in names)


@lru_cache(maxsize=256)
def _compiled(matcher: str) -> re.Pattern[str]:
    return re.compile(matcher)
