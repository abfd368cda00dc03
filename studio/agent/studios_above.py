"""Studios above: how many studios asked for what is done here, each by an agent of the one above.

A studio that another one started is told by a variable; a call over a connection that it shares
with others brings the number itself (M-25).
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

STUDIOS = "AGENT_STUDIO_ABOVE"
"""The variable that tells a child process how many studios are above it."""
_OF_CALL: ContextVar[int] = ContextVar("studios_above", default=0)
"""As the call said that this task, and all that it starts, works for."""


def studios_above() -> int:
    """How many are above what this task works for."""
    return max(started_by_studios(), _OF_CALL.get())


def started_by_studios() -> int:
    """How many are above this program, each started by an agent of the one above."""
    told = os.environ.get(STUDIOS, "")
    return int(told) if told.isdecimal() and len(told) < 4 else 0


@contextmanager
def asked_by_studios(count: int) -> Generator[None]:
    """What is done in this block is done for a call with so many studios above."""
    token = _OF_CALL.set(count)
    try:
        yield
    finally:
        _OF_CALL.reset(token)
