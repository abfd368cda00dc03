"""Ends a test that hangs, with its name and with where each thread and task of it waits.

How fast the computer is decides nothing: time passes here as a program gets on. Where twelve want
to run on two cores, a second counts as a sixth of one. The slowest tests, which take ten such
seconds, are far from the limit.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import threading
import time
from collections.abc import Generator

import pytest

PATIENCE = 120.0
"""Seconds of a test on a computer that does nothing else."""
TICK = 1.0


def share_of_a_core() -> float:
    """What a program gets of one, beside all others that want to run."""
    return min(1.0, (os.cpu_count() or 1) / max(os.getloadavg()[0], 1.0))


class HangGuard:
    """A plugin of pytest. Where workers run tests, another worker takes the place of the ended."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._errors = os.dup(2)  # pytest puts a file of its own there while a test runs
        self._test = ""
        self._passed = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if not self._test:
            threading.Thread(target=self._watch, name="hang guard", daemon=True).start()
        self._test, self._passed = item.nodeid, 0.0
        try:
            return (yield)
        finally:
            self._passed = float("-inf")  # a worker may wait for its next test

    def pytest_enter_pdb(self) -> None:
        self._patience = float("inf")

    def _watch(self) -> None:
        while self._passed < self._patience:
            time.sleep(TICK)
            self._passed += TICK * share_of_a_core()
        with os.fdopen(self._errors, "w") as out:
            print(f"\n{self._test} hangs. Its threads and tasks:\n", file=out, flush=True)
            faulthandler.dump_traceback(out)
            for one in gc.get_objects():
                if isinstance(one, asyncio.Task) and not one.done():
                    one.print_stack(file=out)
        os._exit(1)
