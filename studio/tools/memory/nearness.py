"""Nearness: has a child process find the notes that mean nearly what a query says (W-41).

The vectors are in the memory of the child and in the index, from which a note that is deleted takes
its own. The child begins with the first query, where the extra ``recall`` is installed; it ends
when nobody asked it for a while, and with this program. It has no network and no keys.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import studio

IDLE = 300.0
"""Seconds without a query after which the child ends."""
PATIENCE = 30.0
"""Seconds that a query may take; the first one reads the notes."""
MODULE = "studio.tools.memory.nearness_process"


class Nearness:
    """The child process. Methods block; call them in a thread.

    ``environment`` returns the child's, without keys.
    """

    def __init__(self, environment: Callable[[], Mapping[str, str]], idle: float = IDLE) -> None:
        self._environment, self._idle = environment, idle
        self._one = threading.Lock()
        self._closed = False
        self.process: subprocess.Popen[str] | None = None
        """The child, while one runs."""

    @cached_property
    def installed(self) -> bool:
        return importlib.util.find_spec("wordllama") is not None

    def nearest(
        self, index: Path, places: Sequence[str], state: str, trusts: Sequence[str], query: str
    ) -> list[int]:
        """The ids of the nearest notes in an index, best first; none where it does not work."""
        if not self.installed:
            return []
        wanted = {"index": str(index), "places": [*places], "state": state, "query": query}
        line = json.dumps({**wanted, "trusts": [*trusts]})
        with self._one:
            for _ in range(2):  # one that just ended, because it was idle, is begun again
                if self._closed:
                    break
                with suppress(OSError, ValueError):
                    if answer := self._ask(line):
                        return [int(one) for one in json.loads(answer)]
                self._end()
        return []

    def close(self) -> None:
        """End the child; no other one is begun."""
        self._closed = True
        if (process := self.process) is not None:
            process.kill()  # a query that waits for it gets no answer
        with self._one:
            self._end()

    def _ask(self, line: str) -> str:
        if self.process is None:
            self.process = self._begin()
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        try:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            return process.stdout.readline()
        finally:
            late.cancel()

    def _begin(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", MODULE, f"{self._idle:g}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=dict(self._environment()),
            # Where the package is found, whatever folder the program was started in.
            cwd=Path(studio.__file__).parents[1],
            start_new_session=True,  # Ctrl-C in a terminal is for the program alone
        )

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()
