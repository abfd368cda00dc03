"""Waiting for what another task, thread or process does.

No verdict depends on how fast the computer is: a test waits for what happens,
not for a time, and a limit only ends a test that hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

HANG = 900.0
"""Seconds after which what is waited for counts as stuck."""
HANG_MS = int(HANG * 1000)
FOREVER = 3600
"""Seconds of what has to be stopped, and of a limit that no turn reaches: more than ``HANG``."""


def within() -> asyncio.Timeout:
    """The limit of a block that waits."""
    return asyncio.timeout(HANG)


async def until(condition: Callable[[], Any], what: str = "") -> Any:
    """Wait until a condition holds, for which there is no event; returns what it said."""
    loop = asyncio.get_running_loop()
    end = loop.time() + HANG
    while not (found := condition()):
        if loop.time() > end:
            raise AssertionError(f"never: {what or condition.__qualname__}")
        await asyncio.sleep(0.005)
    return found
