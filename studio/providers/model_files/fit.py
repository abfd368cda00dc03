"""Fit: tells how well a model fits this computer's memory.

A model needs the size of its file and a tenth more, for its buffers and a small context. It
fits well up to three quarters of what a model may take here (``Memory.usable``: what is free,
less a reserve for the rest), and is tight up to all memory less that reserve; the system then
has to push other programs out. The engine computes on the processor, so a graphics card's
memory does not count.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from studio.providers.memory import Memory

Fit: TypeAlias = Literal["well", "tight", "not", "unknown"]

_OVERHEAD = 1.1
_COMFORT = 0.75


def needed_bytes(size: int) -> int:
    """What a model needs in memory, from the size of its file in bytes."""
    return math.ceil(size * _OVERHEAD)


def fit_of(size: int, memory: Memory | None) -> Fit:
    """``memory`` is None where it cannot be told."""
    if memory is None or not size:
        return "unknown"
    needed = needed_bytes(size)
    if needed <= memory.usable * _COMFORT:
        return "well"
    return "tight" if needed <= memory.total - memory.reserve else "not"
