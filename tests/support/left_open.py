"""Sockets and processes that are left to the garbage collector."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable


def left_open(work: Callable[[], object]) -> list[str]:
    """Do this; returns what Python says of each thing that nobody closed or waited for."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        work()
        gc.collect()
    return [str(one.message) for one in caught if issubclass(one.category, ResourceWarning)]
