"""Change notifier: tells other programs with the same data that something has changed.

Each program has one file in a private folder, and replaces it to notify the others. They
watch the folder, which costs nothing while nothing changes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from studio.files.folders import private_folder

NOTIFY_DELAY = 0.3
"""Seconds until ``notify_soon`` notifies: by then a chat's events are on the disk."""


class ChangeNotifier:
    """``name`` is this program's, among all that share the folder; empty as long as it has none."""

    def __init__(self, folder: Path, name: Callable[[], str]) -> None:
        self.folder = folder
        self._name = name
        self._known: dict[str, tuple[int, int]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def notify(self) -> None:
        """Notify at once. Blocks for a moment: call it in a thread. A full disk notifies nobody."""
        name = self._name()
        if not name:
            return
        with suppress(OSError):
            new = private_folder(self.folder) / f".{name}"
            os.close(os.open(new, os.O_CREAT | os.O_WRONLY, 0o600))
            new.replace(self.folder / name)

    def notify_soon(self) -> None:
        """Notify in a moment, once for all that happens until then; on the event loop's thread."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(NOTIFY_DELAY, self._due)

    def _due(self) -> None:
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self.notify)

    def poll(self) -> bool:
        """Whether another program has notified since the last call. Blocks for a moment."""
        found: dict[str, tuple[int, int]] = {}
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    found[entry.name] = (facts.st_ino, facts.st_mtime_ns)
        own = self._name()
        others = {name for name in found if name != own and not name.startswith(".")}
        rung = any(found[name] != self._known.get(name) for name in others)
        self._known = found
        return rung

    def names(self) -> set[str]:
        """The programs that have a file here, also ended ones; makes the folder. Blocks."""
        with suppress(OSError):
            found = private_folder(self.folder).iterdir()
            return {path.name.removeprefix(".") for path in found}
        return set()

    def forget(self, names: Iterable[str]) -> None:
        """Remove the files of programs that are gone. Blocks for a moment."""
        for name in names:
            for path in (self.folder / name, self.folder / f".{name}"):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """Send a notification that is still due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            await asyncio.to_thread(self.notify)
