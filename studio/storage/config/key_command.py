"""Key commands: programs of the person's that print a key, such as ``pass show anthropic``.

A command is a list of words and goes through no shell. It gets the person's whole environment,
because a password manager may need what agents' commands do not get, and no input of ours. What
it prints is the key and appears nowhere else, also not in an error.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from studio.processes.daemon_thread import in_daemon_thread

SECONDS = 60.0
"""Time for a command: the person may have to unlock something."""
LONGEST = 65_536
"""Bytes that a command may print."""
PAUSE = 60.0  # s until a command that failed is run again
Words: TypeAlias = tuple[str, ...]


class KeyCommands:
    """Runs the commands of ``key_command``, each once; a key stays in memory."""

    def __init__(
        self, commands: Callable[[], Mapping[str, Sequence[str]]], seconds: float = SECONDS
    ) -> None:
        self._commands = commands
        self._seconds = seconds
        self._keys: dict[str, tuple[Words, str]] = {}
        self._failed: dict[str, tuple[Words, float, str]] = {}
        self._lock = asyncio.Lock()

    def known(self, name: str) -> str:
        """The key that the command printed; empty if it did not run, or is another one now."""
        words, key = self._keys.get(name, ((), ""))
        return key if words == self._words(name) else ""

    def every(self) -> list[str]:
        """Every key that a command printed since the program began."""
        return [key for _, key in self._keys.values()]

    def problem(self, name: str) -> str:
        """Why the command has no key, for the person; empty if nothing is wrong."""
        words, _, problem = self._failed.get(name, ((), 0.0, ""))
        return problem if words == self._words(name) else ""

    async def get(self, name: str) -> str:
        """The key; empty where there is no command or it failed, see ``problem``."""
        if not self._words(name) or self.known(name):  # and no wait for another's command
            return self.known(name)
        async with self._lock:  # two at once would ask the person twice
            words, failed = self._words(name), self._failed.get(name)
            if not words or self.known(name):
                return self.known(name)
            if failed and failed[0] == words and time.monotonic() - failed[1] < PAUSE:
                return ""
            self._failed.pop(name, None)
            key, problem = await _run(words, self._seconds)
            if problem:
                text = f"The command in key_command.{name} {problem}."
                self._failed[name] = (words, time.monotonic(), text)
            else:
                self._keys[name] = (words, key)
            return key

    def forget(self, name: str) -> None:
        """Run the command again when the key is needed."""
        self._keys.pop(name, None)
        self._failed.pop(name, None)

    def _words(self, name: str) -> Words:
        return tuple(self._commands().get(name, ()))


async def _run(words: Words, seconds: float) -> tuple[str, str]:
    """The first line that a command prints, else what is wrong."""
    started: list[subprocess.Popen[bytes]] = []
    given_up = False

    def work() -> tuple[bytes, int]:
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            started.append(process)
            if given_up:
                process.kill()
            assert process.stdout is not None
            said = process.stdout.read(LONGEST + 1)
            if len(said) > LONGEST:
                process.kill()
        return said, process.returncode

    try:
        said, code = await asyncio.wait_for(in_daemon_thread(work), seconds)
    except TimeoutError:
        return "", f"did not end within {seconds:.0f} s"
    except (OSError, ValueError):  # of its name alone: the words may hold what is nobody's business
        return "", f"cannot be run: there is no program {words[0]}"
    finally:
        given_up = True
        for process in started:
            process.kill()  # nothing happens to one that has ended
    if len(said) > LONGEST:
        return "", "prints more than a key"
    if code:
        return "", f"ended with {code}"
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return (lines[0].strip(), "") if lines else ("", "printed nothing")
