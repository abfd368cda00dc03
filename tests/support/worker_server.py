"""Forks the workers of a run from one process that has imported all tests.

Each worker would import them for itself, with the window, the engine and the vendors' SDKs: seven
seconds of CPU, six times.
"""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import socket
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from _pytest.pathlib import import_path

from support import fork_server

ROOT = Path(__file__).parents[2]


def start_worker_server(tests: Sequence[Path]) -> str:
    """Start the server as a fork of this process, in which pytest is set up.

    Returns the command that takes the place of ``python`` for a worker.
    """
    folder = tempfile.mkdtemp(prefix="worker-server-")
    address = str(Path(folder) / "socket")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    until, ours = os.pipe()
    server = os.fork()
    if not server:
        os.close(ours)
        _serve(listening, until, tests)
    os.close(until)
    listening.close()

    def end() -> None:
        os.close(ours)
        os.waitpid(server, 0)
        Path(address).unlink()
        Path(folder).rmdir()

    atexit.register(end)
    return shlex.join(fork_server.forking(address))


def _serve(listening: socket.socket, until: int, tests: Sequence[Path]) -> None:
    """Serve until the other end of the pipe ``until`` is closed, and end."""
    try:
        atexit._clear()
        os.setsid()
        os.dup2(until, 0)
        os.close(until)
        _import_tests(tests)
        fork_server.serve(listening)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(1)


def _import_tests(tests: Sequence[Path]) -> None:
    """Import them as pytest does. What goes wrong here goes wrong again where it is said."""
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as pytest is told to
        for test in tests:
            try:
                import_path(test, mode="importlib", root=ROOT, consider_namespace_packages=False)
            except BaseException:  # a file that is skipped raises no Exception
                name = ".".join(test.relative_to(ROOT).with_suffix("").parts)
                sys.modules.pop(name, None)
    gc.collect()
    gc.freeze()
    gc.enable()
