"""Answers that are still fresh, in memory alone."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from typing import TypeAlias

from .client import WebResponse

LARGEST = 32_000_000
"""Bytes of all bodies together."""
LONGEST = 900.0
"""Seconds that an answer is kept at most."""

Key: TypeAlias = tuple[str, bool]
"""The address, and whether private places were allowed when it was asked."""

_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,9})")


class Cache:
    """The oldest answers go when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, tuple[WebResponse, float, float]] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> tuple[WebResponse, float] | None:
        """An answer and when it came, in seconds since 1970."""
        found = self._kept.get(key)
        if found is None:
            return None
        answer, came, until = found
        if time.monotonic() < until:
            return answer, came
        self._drop(key)
        return None

    def put(self, key: Key, answer: WebResponse, came: float) -> None:
        seconds = freshness(answer)
        if seconds <= 0 or len(answer.body) > LARGEST // 4:
            return
        self._drop(key)
        self._kept[key] = (answer, came, time.monotonic() + seconds)
        self._size += len(answer.body)
        while self._size > LARGEST:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        if found := self._kept.pop(key, None):
            self._size -= len(found[0].body)


def freshness(answer: WebResponse) -> float:
    """Seconds that an answer may be used again, as its server says (RFC 9111)."""
    control = answer.headers.get("cache-control", "").lower()
    if answer.status != 200 or "no-store" in control or "no-cache" in control:
        return 0.0
    said = _AGE.search(control)
    age = answer.headers.get("age", "")
    passed = float(age) if age.isdecimal() and len(age) < 10 else 0.0
    return min(float(said[1]) - passed, LONGEST) if said else LONGEST
