"""Runs the server in a process beside the window, as the settings say.

It is a process of its own so that many clients at once never make the window stutter
(benchmarks/beside.py). It ends with the window.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from studio.storage.config.server_token import ENTRY
from studio.storage.config.settings import SettingsFile
from studio.ui.sidebar.sidebar import Sidebar

if TYPE_CHECKING:
    from studio.storage.config.keychain import Keychain

ServerState: TypeAlias = Literal["off", "starting", "running", "failed"]

COMMAND = (sys.executable, "-m", "studio", "serve", "--with-parent")
"""Ends when its standard input does; the first line it prints is JSON."""
FIRST, LONGEST = 1.0, 60.0
"""Seconds before a server that ended is started again: twice as long each time."""
STEADY = 60.0
"""Seconds after which one that ended is started again as if it were the first time."""
GRACE = 5.0
"""Seconds that it has to end by itself."""
_TAIL = 2_000


class ServerProcess(QObject):
    """Keeps the server running while it is wanted; ``changed`` comes with every ``state``.

    ``address`` is where it listens, as ``http://host:port``; ``token`` is what
    clients show, where no keychain keeps it. ``words`` say what is wrong while it
    has ``failed``.
    """

    changed = Signal()

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        parent: QObject | None = None,
        keys: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """``keys`` are those that no keychain has: the server gets them through its input."""
        super().__init__(parent)
        self._keys = keys
        self.state: ServerState = "off"
        self.address = self.token = ""
        self.words = ""
        self._command = command
        self._wanted = self._anew = False
        self._process: QProcess | None = None
        self._printed = self._faults = b""
        self._told = ""
        self._began = 0.0
        self._after = FIRST
        self._again = _timer(self, self._launch)
        self._grace = _timer(self, self._kill)
        self._ended: list[asyncio.Future[None]] = []

    def start(self) -> None:
        """Have it run with what the settings say now; one that runs is started anew."""
        self._wanted, self._after = True, FIRST
        if self._process is None:
            self._launch()
        else:
            self._anew = True
            self._end()

    def stop(self) -> None:
        self._wanted = self._anew = False
        self._again.stop()
        if self._process is None:
            self._set("off")
        else:
            self._end()

    def send_keys(self, keys: Mapping[str, str | None]) -> None:
        """Keys that changed: the new one, or None for one to be looked up again."""
        if self._process is not None and keys:
            line = json.dumps({"keys": dict(keys)}) + "\n"
            self._process.write(line.encode())

    async def aclose(self) -> None:
        """Stop it, and wait until it has ended."""
        self.stop()
        if self._process is not None:
            ended = asyncio.get_running_loop().create_future()
            self._ended.append(ended)
            await ended

    def _launch(self) -> None:
        self._again.stop()
        self._anew = False
        self._printed = self._faults = b""
        self._told = ""
        self._began = time.monotonic()
        process = self._process = QProcess(self)
        process.readyReadStandardOutput.connect(self._read)
        process.readyReadStandardError.connect(self._read_faults)
        process.errorOccurred.connect(self._failed_to_start)
        process.finished.connect(self._finished)
        self._set("starting")
        program, *arguments = self._command
        process.start(program, arguments)
        self.send_keys(self._keys())

    def _end(self) -> None:
        """Ask it to end: its standard input does."""
        if self._process is not None and not self._grace.isActive():
            self._process.closeWriteChannel()
            self._grace.start(int(GRACE * 1000))

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _read(self) -> None:
        if self._process is None:
            return
        printed = bytes(self._process.readAllStandardOutput().data())
        if self.state != "starting":
            return
        self._printed += printed
        line, end, _ = self._printed.partition(b"\n")
        if not end:
            return
        told = _told(line)
        self.address, self.token = told.get("address", ""), told.get("token", "")
        self._told = told.get("error", "")
        if self._told:
            self._end()
        else:
            self._set("running")

    def _read_faults(self) -> None:
        if self._process is not None:
            read = bytes(self._process.readAllStandardError().data())
            self._faults = (self._faults + read)[-_TAIL:]

    def _failed_to_start(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._told = self._process.errorString()
            self._finished(-1)

    def _finished(self, code: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.deleteLater()
        self._grace.stop()
        self.address = self.token = ""
        for ended in self._ended:
            if not ended.done():
                ended.set_result(None)
        self._ended.clear()
        if not self._wanted:
            self._set("off")
        elif self._anew:
            self._launch()
        else:
            self._try_later(code)

    def _try_later(self, code: int) -> None:
        from studio.domain.redaction import without_secrets

        if time.monotonic() - self._began > STEADY:
            self._after = FIRST
        said = self._faults.decode("utf-8", "replace").strip().splitlines()
        why = self._told or (said[-1] if said else f"The server ended (exit code {code}).")
        self.words = f"{without_secrets(why)} Next try in {self._after:g} s."
        self._again.start(int(self._after * 1000))
        self._after = min(2 * self._after, LONGEST)
        self._set("failed")

    def _set(self, state: ServerState) -> None:
        self.state = state
        self.changed.emit()


def _timer(parent: QObject, due: Callable[[], None]) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.timeout.connect(due)
    return timer


def _told(line: bytes) -> dict[str, str]:
    """What the first line says: ``address`` and perhaps ``token``, or ``error``."""
    try:
        told = json.loads(line)
        found = {str(key): str(value) for key, value in told.items()}
    except (ValueError, AttributeError, RecursionError):
        found = {}
    return found if "address" in found else {"error": "The server has no address.", **found}


class ServerController(QObject):
    """``follow`` the settings, at the start and whenever something about the server changed."""

    def __init__(self, settings: SettingsFile, sidebar: Sidebar) -> None:
        super().__init__(sidebar)
        self._settings, self._sidebar = settings, sidebar
        self._ended = False
        self._keychain: Keychain | None = None
        self._beside: ServerProcess | None = None

    def set_keychain(self, keychain: Keychain) -> None:
        """The server gets the keys of this window that no keychain has, and hears of changes."""
        self._keychain = keychain
        keychain.subscribe(self._key_changed)

    @property
    def beside(self) -> ServerProcess:
        """The server's process, made when it is first wanted."""
        if self._beside is None:
            self._beside = ServerProcess(parent=self, keys=self._keys)
            self._beside.changed.connect(self._show)
        return self._beside

    def apply_settings(self) -> None:
        """Have the server run, or not; one that runs takes the settings as they are now."""
        if self._settings.values.server_on and not self._ended:
            self.beside.start()
        elif self._beside is not None:
            self._beside.stop()

    async def aclose(self) -> None:
        """The window ends, and the server with it."""
        self._ended = True
        if self._beside is not None:
            await self._beside.aclose()

    def _keys(self) -> dict[str, str]:
        kept = self._keychain.session if self._keychain is not None else {}
        return {name: key for name, key in kept.items() if name != ENTRY}

    def _key_changed(self, name: str) -> None:
        if self._beside is not None and name != ENTRY:
            self._beside.send_keys({name: self._keys().get(name)})

    def _show(self) -> None:
        beside = self.beside
        self._sidebar.show_server(beside.state, beside.address or beside.words)
