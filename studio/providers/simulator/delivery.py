"""How a body goes out: in which pieces, and how long after one another."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from .chunking import Chunking
from .http import HttpResponse
from .script import Pace

_DRIPS = 20
"""Pieces a second of a body that comes slowly."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one write; ``delay`` before it in seconds, part of it perhaps a stall."""

    data: bytes
    delay: float = 0.0
    stalled: bool = False


def pieces(
    answer: HttpResponse, chunking: Chunking, chance: random.Random, pace: Pace | None
) -> Iterator[Piece]:
    """The writes that make up an answer's body."""
    frames = answer.frames
    data = b"".join(frame.data for frame in frames)
    ends = list(accumulate(len(frame.data) for frame in frames))
    starts = dict(zip([0, *ends], frames, strict=False))
    pauses = {start: frame.pause for start, frame in starts.items() if frame.pause}
    cuts = {*chunking(data, ends, chance), *pauses}
    step = max(1, int(answer.rate / _DRIPS))
    if answer.rate:
        cuts.update(range(step, len(data), step))
    begin = frame = 0
    for end in sorted(cuts - {0}):
        tokens = 0.0
        while frame < len(frames) and (ends[frame] <= end or pace is None):
            tokens += frames[frame].tokens
            frame += 1
        pause = pauses.get(begin, 0.0)
        delay = pause + (tokens / pace.tokens_per_s if pace else 0.0)
        if answer.rate:
            delay += (end - begin) / answer.rate
        if end > begin:
            yield Piece(data[begin:end], delay, pause > 0)
        begin = end
