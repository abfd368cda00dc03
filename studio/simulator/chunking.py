"""Chunking: splits a response body into writes, and says how long to wait between them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

from .http import HttpResponse
from .script import Pace

Chunking: TypeAlias = Callable[[bytes, Sequence[int], random.Random], list[int]]
"""From a body, the offsets at which its events end, and a source of chance, to
the offsets of the cuts, ascending, the body's length last."""


def _whole(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
    return [len(data)]


def _event(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
    return list(ends)


def every(n: int) -> Chunking:
    """A write for every ``n`` bytes."""

    def cuts(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
        return [*range(n, len(data), n), len(data)]

    return cuts


def scattered(most: int, seed: int = 0) -> Chunking:
    """Writes of one to ``most`` bytes, by chance."""

    def cuts(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
        own = random.Random(seed)
        found: list[int] = []
        at = 0
        while (at := at + own.randint(1, most)) < len(data):
            found.append(at)
        return [*found, len(data)]

    return cuts


_PLACES = (
    re.compile(rb"[\xc2-\xf4](?=[\x80-\xbf])"),  # inside a UTF-8 sequence
    re.compile(rb"\\u[0-9a-f]{2}(?=[0-9a-f]{2})"),  # inside an escape
    re.compile(rb"\\(?=[nrt\"\\])"),
    re.compile(rb"\r(?=\n)"),
    re.compile(rb"\n(?=\r?\n)"),  # between the line ends that end an event
    re.compile(rb"^da(?=ta:)", re.M),
    re.compile(rb"[A-Za-z0-9+/_-]{30}(?=[A-Za-z0-9+/=_-]{10})"),  # inside a signature
)


def _adversarial(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
    cuts = {match.end() for place in _PLACES for match in place.finditer(data)}
    # Half of them only, so that some writes hold several events.
    kept = {cut for cut in sorted(cuts) if chance.random() < 0.5}
    return [*sorted(kept - {len(data)}), len(data)]


NAMED: dict[str, Chunking] = {"whole": _whole, "event": _event, "adversarial": _adversarial}
Name: TypeAlias = Literal["whole", "event", "adversarial"]


def chunking(wanted: Name | Chunking) -> Chunking:
    """A way of chunking by name, or the one given."""
    return NAMED[wanted] if isinstance(wanted, str) else wanted


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
