"""Recording: says who gets the exchanges of a task with providers (W-27)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from studio.domain.exchanges import Exchange

RECORDER: ContextVar[Callable[[Exchange, tuple[str, ...]], None] | None] = ContextVar(
    "recorder", default=None
)
"""Gets each exchange of the task in whose context it is set, with the keys that it was sent with.

All sessions share one client, through SDKs that hand nothing on: only the task tells whose
request it is.
"""
