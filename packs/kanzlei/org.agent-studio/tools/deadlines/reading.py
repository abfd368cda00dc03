"""Reading: what a model or a person says of a Frist, as words, into what is computed from."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from studio.packs import ToolFailed

from .. import _german as german
from .calculation import VORFRIST_DAYS, Asked, Deadline, compute
from .free_days import read_place
from .kinds import find_kind
from .lengths import Length, read_length


def compute_from_words(
    kind: str,
    place: str,
    event: str = "",
    extensions: Sequence[str] = (),
    length: str = "",
    pronounced: str = "",
    *,
    posted: bool = False,
    vorfrist_days: int = VORFRIST_DAYS,
) -> Deadline:
    """The Frist of these words; raises ToolFailed for wrong ones, and says what to give instead."""
    return compute(
        find_kind(kind),
        Asked(
            event=read_day("event", event) if event else None,
            place=read_place(place),
            length=_length_or_day(length) if length else None,
            posted=posted,
            pronounced=read_day("pronounced", pronounced) if pronounced else None,
            extensions=[_length_or_day(one) for one in extensions],
            vorfrist_days=vorfrist_days,
        ),
    )


def read_day(name: str, text: str) -> datetime.date:
    """The day of a parameter; raises ToolFailed."""
    try:
        return german.read_day(text)
    except ValueError as error:
        words = f"{name}: „{text}“ ist kein Tag. Geschrieben wird er 2026-02-04."
        raise ToolFailed(words) from error


def _length_or_day(text: str) -> Length | datetime.date:
    try:
        return german.read_day(text)
    except ValueError:
        return read_length(text)
