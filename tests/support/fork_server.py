"""Starts ``python -m studio`` in milliseconds: forks a process that has imported everything.

Importing the command line, the engine and the vendors' SDKs takes a second or two of CPU, and
hundreds of tests start a command. The server is a Python process that imports once and forks
for each start. The child gets its own arguments, environment, folder, standard streams and
session, runs the module as ``__main__`` and ends as Python ends. With other locales or other
``PYTHON…`` variables a new interpreter is started; what depends on closed streams or on what
is imported has to start one itself.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from asyncio import base_subprocess
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 1 << 17
"""Bytes of a request, most of them the environment."""
EXPECTED = {"LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"}
"""What the server was started with, as far as Python reads it at its start."""
SHARED = "AGENT_STUDIO_TESTS_FORK_SERVER"
"""In the environment of workers: the address of the server that they share."""
_SHARED = os.environ.pop(SHARED, "")
PRELOADED = (
    "acp",
    "anthropic",
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "encodings.ascii",
    "encodings.idna",
    "encodings.unicode_escape",
    "encodings.utf_8_sig",
    "fastjsonschema.draft2019",
    "genai_prices.data",
    "google.genai",
    "httpcore2",
    "markdown_it",
    "mcp.server.lowlevel.server",
    "mcp.server.stdio",
    "openai",
    "prompt_toolkit.input.vt100",
    "prompt_toolkit.shortcuts",
    "pygments.lexers",
    "rich.console",
    "rich.markdown",
    "starlette.routing",
    "truststore",
    "uvicorn.lifespan.off",
    "yaml",
)


async def start_python(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: Path = ROOT,
    stdin: int = DEVNULL,
    stdout: int = PIPE,
    stderr: int | None = PIPE,
    terminal: bool = False,
) -> Process:
    """Start ``python`` with ``-m module …`` or ``-c code …``, in a session of its own.

    ``environment``: without it, that of the tests. ``terminal``: the streams are a terminal,
    which controls the process. In a new interpreter where the fork server does not run or fit.
    """
    environment = inherited() if environment is None else environment
    # Python started anew would have read the same from the environment.
    read = {name: environment[name] for name in environment if _is_read(name)}
    first, *_ = read.get("PYTHONPATH", "").split(os.pathsep)
    if read | {"PYTHONPATH": first} == EXPECTED and sys.platform == "linux":
        loop = asyncio.get_running_loop()
        protocol = SubprocessStreamProtocol(limit=1 << 24, loop=loop)
        started = loop.create_future()
        transport = _ForkTransport(
            loop, protocol, arguments, False, stdin, stdout, stderr, 0, started,
            environment=dict(environment), folder=str(folder), terminal=terminal,
        )  # fmt: skip
        await started
        return Process(transport, protocol, loop)
    command = [sys.executable, *arguments]
    if terminal:
        login = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", login, *command]
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        cwd=folder,
        start_new_session=not terminal,
        limit=1 << 24,
    )


def forking(address: str) -> list[str]:
    """The command that has what ``python`` would run forked by the server at this address."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("forked_python.py")), address]


def forked_python(*arguments: str) -> list[str]:
    """``python`` with these arguments as a fork, for a program that starts others itself.

    Whoever kills it has to close its input, too: the fork goes on for as long as that is open.
    """
    if sys.platform != "linux":
        return [sys.executable, *arguments]
    return [*forking(_server()), *arguments]


def inherited(**changes: str) -> dict[str, str]:
    """The environment of the tests with these changes, such that the fork server fits."""
    return {n: v for n, v in os.environ.items() if not _is_read(n)} | EXPECTED | changes


def forkable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the tests' own environment what lets a child that inherits it be forked."""
    for name in filter(_is_read, [*os.environ]):
        monkeypatch.delenv(name)
    for name, value in EXPECTED.items():
        monkeypatch.setenv(name, value)


def _is_read(name: str) -> bool:
    """Whether Python reads this variable at its start; keyring's is read later."""
    python = name.startswith("PYTHON") and name != "PYTHON_KEYRING_BACKEND"
    return python or name.startswith("LC_") or name in ("LANG", "LANGUAGE")


class _Forked:
    """What asyncio expects of ``subprocess.Popen``, of a process that the server forked."""

    def __init__(self, request: dict[str, Any], files: list[int]) -> None:
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self.returncode: int | None = None
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.connect(_server())
        socket.send_fds(self.connection, [json.dumps(request).encode()], files)
        self.pid = int(self.connection.recv(32))

    def poll(self) -> int | None:
        return self.returncode

    def ended(self) -> int:
        """Read the exit code, which the server has sent."""
        self.returncode = int(self.connection.recv(32) or -signal.SIGKILL)
        self.connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _ForkTransport(base_subprocess.BaseSubprocessTransport):
    """asyncio's transport of a child process, whose child is forked by the server."""

    _proc: _Forked

    def _start(
        self,
        args: tuple[str, ...],
        shell: bool,
        stdin: int,
        stdout: int,
        stderr: int | None,
        bufsize: int,
        *,
        environment: dict[str, str],
        folder: str,
        terminal: bool,
    ) -> None:
        ours: list[int | None] = []
        theirs: list[int] = []
        opened: list[int] = []
        for number, stream in enumerate((stdin, stdout, stderr)):
            mine: int | None = None
            if stream == PIPE:
                read, write = os.pipe()
                mine, other = (write, read) if number == 0 else (read, write)
            elif stream == DEVNULL:
                other = os.open(os.devnull, os.O_RDWR)
            elif stream is None:  # ours
                other = number
            else:
                other = theirs[1] if stream == subprocess.STDOUT else stream
            if stream in (PIPE, DEVNULL):
                opened.append(other)
            ours.append(mine)
            theirs.append(other)
        request = {
            "arguments": args, "environment": environment, "folder": folder, "terminal": terminal
        }  # fmt: skip
        self._proc = _Forked(request, theirs)
        for file in opened:
            os.close(file)
        for name, mine, mode in zip(
            ("stdin", "stdout", "stderr"), ours, ("wb", "rb", "rb"), strict=True
        ):
            if mine is not None:
                setattr(self._proc, name, os.fdopen(mine, mode, buffering=0))
        connection = self._proc.connection
        self._loop.add_reader(connection, self._ended)

    def _ended(self) -> None:
        self._loop.remove_reader(self._proc.connection)
        self._process_exited(self._proc.ended())


def share() -> None:
    """Start a server for this process and for all that it will start."""
    os.environ[SHARED] = _server()


@functools.cache
def _server() -> str:
    """Start the server, unless one is shared; the address of its socket."""
    if _SHARED:
        return _SHARED
    folder = tempfile.mkdtemp(prefix="fork-server-")
    address = str(Path(folder) / "socket")
    environment = {"PATH": os.environ["PATH"], "HOME": folder, **EXPECTED}
    process = subprocess.Popen(
        [sys.executable, __file__, address],
        env=environment,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.wait()  # it went on as nobody's child: tests look at the children that are left

    def end() -> None:
        process.communicate()
        with contextlib.suppress(OSError):
            Path(address).unlink()
            Path(folder).rmdir()

    atexit.register(end)
    assert process.stdout.readline() == b"ready\n"
    return address


# From here on: the server's side.


def main(address: str) -> None:
    if os.fork():
        os._exit(0)
    sys.path[0] = ""  # not this folder
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    os.write(1, b"ready\n")  # who asks before all is imported is answered later
    _import_all()
    serve(listening)


def serve(listening: socket.socket) -> None:
    """Answer requests for processes until standard input ends, and do in each what is asked."""
    request = _forked(listening)
    import runpy
    import time
    import types

    time.tzset()
    how, what, *rest = request["arguments"]
    sys.argv[:] = [how, *rest]
    sys.path[0] = str(Path.cwd()) if how == "-m" else ""
    try:
        if how == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = module = types.ModuleType("__main__")
            exec(compile(what, "<string>", "exec"), vars(module))
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        _end(end.code)
    else:
        _end(0)


def _end(code: int) -> None:
    """End as Python does, but leave the thousands of modules as they are: clearing takes 0.2 s."""
    import gc
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


def _import_all() -> None:
    import gc
    import importlib
    import threading

    gc.disable()
    for file in sorted((ROOT / "studio").rglob("*.py")):
        path = file.relative_to(ROOT)
        if "ui" not in path.parts and file.stem not in ("__init__", "__main__"):
            importlib.import_module(".".join(path.with_suffix("").parts))
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.enable()
    assert "keyring" not in sys.modules  # it reads the environment when it is imported
    assert threading.active_count() == 1, threading.enumerate()


def _forked(listening: socket.socket) -> dict[str, Any]:
    """Fork for each request; returns the request in the child."""
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, socket.socket] = {}
    selector = selectors.DefaultSelector()
    for source in (0, listening, woken):
        selector.register(source, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj == 0:  # the tests are over
                for pid in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                os._exit(0)
            elif key.fileobj is woken:
                with contextlib.suppress(BlockingIOError):
                    woken.recv(4096)
                _report(children)
            else:
                connection, _ = listening.accept()
                message, files, *_ = socket.recv_fds(connection, LARGEST, 3)
                request = json.loads(message)
                if pid := os.fork():
                    for file in files:
                        os.close(file)
                    children[pid] = connection
                    with contextlib.suppress(OSError):
                        connection.send(str(pid).encode())
                    continue
                signal.set_wakeup_fd(-1)
                selector.close()
                for end in (listening, woken, wakes, connection, *children.values()):
                    end.close()
                _become(request, files)
                return request


def _report(children: dict[int, socket.socket]) -> None:
    for pid in list(children):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            with children.pop(pid) as connection, contextlib.suppress(OSError):
                connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Take over the standard streams, the folder and the environment of the request."""
    global _SHARED
    import faulthandler
    import fcntl
    import io
    import termios

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in set(files):
        os.close(file)
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _SHARED = os.environ.pop(SHARED, "")  # a worker is forked with this module imported
    if "PYTHONPATH" in os.environ:
        sys.path[1:2] = os.environ["PYTHONPATH"].split(os.pathsep)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        raw = io.FileIO(number, "rb" if number == 0 else "wb", closefd=False)
        buffer = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
        text = io.TextIOWrapper(
            buffer,
            encoding="utf-8",
            errors="backslashreplace" if number == 2 else "surrogateescape",
            newline=None if number == 0 else "\n",
            line_buffering=number == 2 or raw.isatty(),
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    faulthandler.enable()


if __name__ == "__main__":
    main(sys.argv[1])
