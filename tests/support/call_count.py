"""How many Python functions some work calls: the same on a busy computer as on a quiet one."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


async def calls_while(work: Awaitable[T]) -> tuple[T, int]:
    """What comes of some work, and the Python functions called in this thread meanwhile."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        done = await work
    finally:
        sys.setprofile(before)
    return done, count
