"""Signals from outside: Ctrl-C where it is one, a polite kill, a closed terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress


@contextmanager
def on_signals(actions: Mapping[str, Callable[[], object]]) -> Generator[None]:
    """Call these, by the signals' names; those that this system does not have are left out."""
    loop = asyncio.get_running_loop()
    with ExitStack() as handlers:
        # Windows has no handlers of this kind; Ctrl-C then cancels the main task.
        with suppress(NotImplementedError):
            for name, action in actions.items():
                if number := getattr(signal, name, None):
                    loop.add_signal_handler(number, action)
                    handlers.callback(loop.remove_signal_handler, number)
        yield
