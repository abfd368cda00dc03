"""Sockets that nobody closed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable


def unclosed_sockets(work: Callable[[], object]) -> list[str]:
    """Do this; returns what Python says of each socket that was left to the garbage collector."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        work()
        gc.collect()
    return [str(one.message) for one in caught if issubclass(one.category, ResourceWarning)]
