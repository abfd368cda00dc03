"""How the cost of some work grows, measured in shares of itself rather than in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

TRIES = 20
"""Measurements: one without another program's noise is enough."""
STEP = 8
MOST = 24
"""Times the cost at ``STEP`` times the size; work that grows with the square costs 64 times."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Processor time of one call, also in other threads of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def grows_linearly(make: Callable[[int], T], work: Callable[[T], object], size: int) -> bool:
    """Whether ``work`` on ``make(size)`` costs about ``STEP`` times what an eighth of it costs."""
    small, large = make(size // STEP), make(size)
    return is_at_most(MOST, lambda: work(large), lambda: work(small))


def is_at_most(times: float, work: Callable[[], object], measure: Callable[[], object]) -> bool:
    """Whether ``work`` costs at most so many times as much as ``measure``."""
    return any(most <= times * least for most, least in _costs(work, measure))


def _costs(*works: Callable[[], object]) -> Iterator[tuple[float, ...]]:
    best = [float("inf")] * len(works)
    for _ in range(TRIES):
        best = [min(old, cpu_seconds(work)) for old, work in zip(best, works, strict=True)]
        yield tuple(best)
