"""Fit: tells how well a model fits this computer's memory.

A model needs the size of its file and a tenth more, for its buffers and a small context. It
fits well up to three quarters of what a model may take here (``Memory.usable``: what is free,
less a reserve for the rest), and is tight up to all memory less that reserve; the system then
has to push other programs out. The engine computes on the processor, so a graphics card's
memory does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias

from studio.providers.computer_memory import Memory

Fit: TypeAlias = Literal["well", "tight", "not", "unknown"]

_OVERHEAD = 1.1
_COMFORT = 0.75
_BYTES_A_SECOND = 20e9
"""What a usual computer reads from memory."""


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


def estimated_speed(active_bytes: int, measured: Iterable[tuple[float, int]] = ()) -> float:
    """Tokens a second that a model may write here.

    For each token all weights that take part in it, ``active_bytes``, are read from memory, so that
    speed times bytes is much the same for all models. ``measured`` are the speeds and bytes of
    others.
    """
    rates = [speed * size for speed, size in measured if size]
    return max(rates, default=_BYTES_A_SECOND) / max(1, active_bytes)
