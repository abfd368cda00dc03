"""The window's start, rest and end, in a real process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.ui.app.qt_import import LATE, PACKAGE
from studio.ui.app.second_start import NAME
from support.waiting import HANG

LATER = {
    "PIL",
    "anthropic",
    "genai_prices",
    "google.genai",
    "httpx2",
    "keyring",
    "mcp",
    "openai",
    "pygments",
    "pypdf",
    "pyromark",
    "sqlite3",
    "studio.agent.usage_costs",
    "studio.agent.engine",
    "studio.domain.events",
    "studio.domain.ledger",
    "studio.extensions",
    "studio.mcp",
    "studio.ui.transcript",
    "xllamacpp",
    "yaml",
}
"""What nobody needs to see a window and to type into it."""

PACKAGES = {"PySide6", "platformdirs", "qasync", "shiboken6", "shibokensupport", "studio"}
"""All that the first window is made of, beside the standard library."""

MODULES_OF_QT = {"QtCore", "QtGui", "QtSvg", "QtWidgets"}

ROOMS = {"domain", "files", "processes", "storage", "ui"}
"""The rooms of the program that the first window comes from."""

HEAVY = {
    *("concurrent.futures.process", "csv", "ctypes", "decimal", "difflib", "doctest", "email"),
    *("fractions", "http", "logging.handlers", "multiprocessing", "pdb", "pydoc", "statistics"),
    *("tomllib", "unittest", "urllib.request", "xml", "zoneinfo"),
}
"""Parts of the standard library that take a millisecond or more each, and that it does without."""

PROBE = r"""
import asyncio, gc, json, linecache, sys, threading, time
import studio.app

build = studio.app.build

def tell(**what):
    print(json.dumps(what), flush=True)

async def probed(*arguments):
    from PySide6.QtCore import QEvent, Qt
    from PySide6.QtGui import QKeyEvent
    from PySide6 import QtWidgets
    from PySide6.QtWidgets import QApplication

    modules = sorted(sys.modules)
    window = next(w for w in QApplication.topLevelWidgets() if w.isVisible())
    for letter in "hi":
        key = QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, letter)
        QApplication.sendEvent(window.focusWidget(), key)
    typed = window.chat.composer.editor.toPlainText()
    tell(
        modules=modules,
        typed=typed,
        with_typing=sorted(sys.modules),
        compiled=[name for name in modules if "__file__" in vars(sys.modules[name])],
        widgets=[name for name, one in vars(QtWidgets).items() if isinstance(one, type)],
    )
    thread = threading.Thread(target=rest, args=[window, asyncio.get_running_loop()], daemon=True)
    window.ready.add_done_callback(lambda _: thread.start())
    return await build(*arguments)

def rest(window, loop):
    tell(modules=sorted(sys.modules), read=[name for name in linecache.cache if "<" not in name])
    while True:
        began = time.process_time()
        time.sleep(1)
        used = time.process_time() - began
        if used < 0.01:
            break
    loop.call_soon_threadsafe(timers, window, used)

def timers(window, used):
    from PySide6.QtCore import QAbstractEventDispatcher, QObject
    from PySide6.QtWidgets import QApplication
    import shiboken6

    gc.unfreeze()
    here = QAbstractEventDispatcher.instance()
    known = [o for o in gc.get_objects() if isinstance(o, QObject) and shiboken6.isValid(o)]
    for root in [QApplication.instance(), *QApplication.topLevelWidgets()]:
        known += root.findChildren(QObject)
    caret = window.chat.composer.editor
    running = {
        repr(one): [timer.interval for timer in here.registeredTimers(one)]
        for one in known
        if here.registeredTimers(one) and one.parent() is not caret and one is not caret
    }
    tell(used=used, timers=running)

studio.app.build = probed
sys.exit(studio.app.main(None))
"""


class Program:
    """The running program, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended: {self.process.wait(HANG)}"
        return json.loads(line)

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """Exit code, and everything it had to complain about."""
        self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=HANG)
        return self.process.returncode, errors


def environment(home: Path) -> dict[str, str]:
    return {
        **{k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))},
        "AGENT_STUDIO_HOME": str(home),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONWARNINGS": "default,ignore:Binding:DeprecationWarning",  # see pyproject.toml
    }


@contextmanager
def program(home: Path) -> Iterator[Program]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROBE],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(HANG, process.kill)  # whoever waits for its words then hears the end
    limit.start()
    try:
        yield Program(process)
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


@pytest.fixture(params=["first run", "later"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    if request.param == "later":
        (tmp_path / "settings.json").write_text('{"first_run_done": true}')
    return tmp_path


def test_the_window_is_shown_before_any_sdk_is_imported(home: Path) -> None:
    """PRE-23, G-1."""
    with program(home) as running:
        painted = running.hear()
        early = LATER & set(painted["modules"])
        assert not early
        takes_keys = (home / "settings.json").exists()  # no chat is to be seen at the first start
        assert painted["typed"] == ("hi" if takes_keys else ""), "before the pieces are there"
        late = LATER & set(painted["with_typing"])
        assert not late, f"{late} are imported while the first key waits"
        ready = running.hear()
        assert not {"anthropic", "openai", "google.genai"} & set(ready["modules"])
        read = len(ready["read"])  # a few before its import is taken back
        assert read < 20, "Qt for Python reads the source of every module"


def test_the_first_window_imports_nothing_else(home: Path) -> None:
    """I-12, G-1: imports are most of what a start takes, so a new heavy one has to be wanted."""
    with program(home) as running:
        imported = set(running.hear()["modules"])
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG,
    )
    imported -= {"__main__", *bare.stdout.split()}  # a `.pth` file may import what it likes
    first = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert first - {"__feature__", "signature_bootstrap"} == PACKAGES  # made by shiboken
    within = {tuple(name.split(".")[:2]) for name in imported if "." in name}
    qt = {name for package, name in within if package == "PySide6" and name.startswith("Qt")}
    assert qt <= MODULES_OF_QT
    rooms = {name for package, name in within if package == "studio"}
    assert rooms <= ROOMS | {"app"}
    assert imported & HEAVY == set()


def test_of_qt_only_what_the_window_needs_is_made(home: Path) -> None:
    """G-1: Qt for Python compiles its signatures, and makes each class, when it is first asked."""
    with program(home) as running:
        painted = running.hear()
    support = {name for name in painted["compiled"] if name.startswith(PACKAGE)}
    assert f"{PACKAGE}.mapping" in support, "it tells of a compiled module by its file"
    assert support & {f"{PACKAGE}.{name}" for name in LATE} == set()
    assert "QMenuBar" in painted["widgets"]
    assert "QCalendarWidget" not in painted["widgets"], "Python got a widget from Qt"


WRONG = """
import sys
from studio.ui.app.qt_import import import_qt
import_qt()
from PySide6.QtCore import QPoint
try:
    QPoint("a")
except TypeError as error:
    print(error)
from PySide6.support.signature.lib.enum_sig import ExactEnumerator
"""


def test_an_error_of_qt_still_tells_what_a_method_takes() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WRONG], capture_output=True, text=True, check=True, timeout=HANG
    )
    assert "QPoint.__init__(xpos: int, ypos: int, /)" in told.stdout


def test_at_rest_it_uses_no_cpu_and_no_timer(home: Path) -> None:
    with program(home) as running:
        told = running.hear()
        while "used" not in told:
            told = running.hear()
        assert told["used"] < 0.01, "less than 1 % of a core over one second"
        assert told["timers"] == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals of this kind")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("when", ["painted", "ready"])
def test_it_ends_cleanly_when_asked(tmp_path: Path, how: signal.Signals, when: str) -> None:
    with program(tmp_path) as running:
        running.hear()
        if when == "ready":
            running.hear()
        code, errors = running.end(how)
        assert (code, errors) == (0, "")
    if when == "ready":
        assert json.loads((tmp_path / "settings.json").read_text())["window_geometry"]


@pytest.mark.skipif(sys.platform == "win32", reason="no sockets of this kind in Python")
def test_a_second_start_ends_when_the_first_window_took_it(tmp_path: Path) -> None:
    with program(tmp_path) as running:
        running.hear()
        running.hear()
        end = time.monotonic() + HANG
        while not (tmp_path / NAME).is_socket():
            assert time.monotonic() < end, "nobody listens"
            time.sleep(0.01)
        command = [sys.executable, "-m", "studio", str(tmp_path)]
        second = subprocess.run(
            command, env=environment(tmp_path), timeout=HANG, capture_output=True, text=True
        )
        assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
        assert running.process.poll() is None
        running.end(signal.SIGTERM)
    assert not (tmp_path / NAME).exists()
