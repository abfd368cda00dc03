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
from studio.ui.engine_texts import tr_engine
from studio.ui.sidebar.sidebar import Sidebar
from studio.ui.translation import tr

if TYPE_CHECKING:
    from studio.storage.config.keychain import Keychain

ServerState: TypeAlias = Literal["off", "starting", "running", "failed"]

COMMAND = (sys.executable, "-m", "studio", "serve", "--with-parent")
"""Ends when its standard input does; the first line it prints is JSON."""
FIRST, LONGEST = 1.0, 60.0
"""Seconds before a server that ended is started again: twice as long each time."""
STEADY = 60.0
"""Seconds that a server has to run for the wait to be ``FIRST`` again."""
GRACE = 5.0
"""Seconds that a server has to end by itself."""
_TAIL = 2_000
"""Bytes kept of what the server prints to its standard error."""


class ServerProcess(QObject):
    """Keeps the server running while it is wanted; ``changed`` comes with every ``state``.

    ``address`` is where it listens, as ``http://host:port``; ``token`` is what
    clients show, where no keychain keeps it. ``problem`` says what is wrong while it
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
        self.problem = ""
        self._command = command
        self._wanted = self._restart = False
        self._process: QProcess | None = None
        self._stdout = self._stderr = b""
        self._error = ""
        self._started = 0.0
        self._delay = FIRST
        self._retry_timer = _timer(self, self._launch)
        self._grace_timer = _timer(self, self._kill)
        self._ended: list[asyncio.Future[None]] = []

    def start(self) -> None:
        """Have it run with what the settings say now; one that runs is started anew."""
        self._wanted, self._delay = True, FIRST
        if self._process is None:
            self._launch()
        else:
            self._restart = True
            self._end()

    def stop(self) -> None:
        self._wanted = self._restart = False
        self._retry_timer.stop()
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
        self._retry_timer.stop()
        self._restart = False
        self._stdout = self._stderr = b""
        self._error = ""
        self._started = time.monotonic()
        process = self._process = QProcess(self)
        process.readyReadStandardOutput.connect(self._read)
        process.readyReadStandardError.connect(self._read_stderr)
        process.errorOccurred.connect(self._failed_to_start)
        process.finished.connect(self._finished)
        self._set("starting")
        program, *arguments = self._command
        process.start(program, arguments)
        self.send_keys(self._keys())

    def _end(self) -> None:
        """Ask it to end: its standard input does."""
        if self._process is not None and not self._grace_timer.isActive():
            self._process.closeWriteChannel()
            self._grace_timer.start(int(GRACE * 1000))

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _read(self) -> None:
        if self._process is None:
            return
        printed = bytes(self._process.readAllStandardOutput().data())
        if self.state != "starting":
            return
        self._stdout += printed
        line, end, _ = self._stdout.partition(b"\n")
        if not end:
            return
        greeting = _greeting(line)
        self.address, self.token = greeting.get("address", ""), greeting.get("token", "")
        self._error = greeting.get("error", "")
        if self._error:
            self._end()
        else:
            self._set("running")

    def _read_stderr(self) -> None:
        if self._process is not None:
            read = bytes(self._process.readAllStandardError().data())
            self._stderr = (self._stderr + read)[-_TAIL:]

    def _failed_to_start(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._error = self._process.errorString()
            self._finished(-1)

    def _finished(self, code: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.deleteLater()
        self._grace_timer.stop()
        self.address = self.token = ""
        for ended in self._ended:
            if not ended.done():
                ended.set_result(None)
        self._ended.clear()
        if not self._wanted:
            self._set("off")
        elif self._restart:
            self._launch()
        else:
            self._retry_later(code)

    def _retry_later(self, code: int) -> None:
        from studio.domain.redaction import without_secrets

        if time.monotonic() - self._started > STEADY:
            self._delay = FIRST
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        why = self._error or (
            lines[-1] if lines else tr("The server ended (exit code {code}).").format(code=code)
        )
        again = tr("Next try in {number} s.").format(number=f"{self._delay:g}")
        self.problem = f"{tr_engine(without_secrets(why))} {again}"
        self._retry_timer.start(int(self._delay * 1000))
        self._delay = min(2 * self._delay, LONGEST)
        self._set("failed")

    def _set(self, state: ServerState) -> None:
        self.state = state
        self.changed.emit()


def _timer(parent: QObject, due: Callable[[], None]) -> QTimer:
    timer = QTimer(parent, singleShot=True)
    timer.timeout.connect(due)
    return timer


def _greeting(line: bytes) -> dict[str, str]:
    """What the first line says: ``address`` and perhaps ``token``, or ``error``."""
    try:
        found = {str(key): str(value) for key, value in json.loads(line).items()}
    except (ValueError, AttributeError, RecursionError):
        found = {}
    return found if "address" in found else {"error": tr("The server has no address."), **found}


class ServerController(QObject):
    """Runs or stops the server as the settings say, and shows its state in each sidebar."""

    changed = Signal(str, str)
    """The state, and the address or what is wrong."""

    def __init__(self, settings: SettingsFile) -> None:
        super().__init__()
        self._settings = settings
        self._closed = False
        self._keychain: Keychain | None = None
        self._process: ServerProcess | None = None

    def show_in(self, sidebar: Sidebar) -> None:
        """Show the state in a sidebar from now on."""
        self.changed.connect(sidebar.show_server)
        if self._process is not None:
            self._show()

    def set_keychain(self, keychain: Keychain) -> None:
        """Give the server the keys of this window that no keychain has, also when they change."""
        self._keychain = keychain
        keychain.subscribe(self._key_changed)

    @property
    def process(self) -> ServerProcess:
        """The server's process, made when it is first wanted."""
        if self._process is None:
            self._process = ServerProcess(parent=self, keys=self._keys)
            self._process.changed.connect(self._show)
        return self._process

    def apply_settings(self) -> None:
        """Start or stop the server; one that runs is started anew with the present settings."""
        if self._settings.values.server_on and not self._closed:
            self.process.start()
        elif self._process is not None:
            self._process.stop()

    async def aclose(self) -> None:
        """Stop the server and wait until it has ended; it is not started again."""
        self._closed = True
        if self._process is not None:
            await self._process.aclose()

    def _keys(self) -> dict[str, str]:
        kept = self._keychain.session if self._keychain is not None else {}
        return {name: key for name, key in kept.items() if name != ENTRY}

    def _key_changed(self, name: str) -> None:
        if self._process is not None and name != ENTRY:
            self._process.send_keys({name: self._keys().get(name)})

    def _show(self) -> None:
        process = self.process
        self.changed.emit(process.state, process.address or process.problem)
