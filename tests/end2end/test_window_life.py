"""Starts that meet, starts that fail and ends that fail, each in a real process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.storage.crash_reports import CRASH, ERROR, MARK, NAME
from support.waiting import HANG

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no signals of this kind")

PROBE = r"""
import asyncio, gc, json, sys
import studio.app
from studio.ui.app.qt_import import import_qt

how, limit = sys.argv[1], float(sys.argv[2])
import_qt()
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from studio.ui.app import application, second_start
from studio.ui.app.program import Program

second_start.TIMEOUT = second_start.PATIENCE = limit  # a busy computer is no hanging window
build = studio.app.build

def tell(**what):
    print(json.dumps(what), flush=True)

class Application(application.StudioApplication):
    "Tells what a box says, and reads it."

    def __init__(self, arguments):
        super().__init__(arguments)
        self.look = QTimer(interval=20, timeout=self.read_box)
        self.look.start()

    def read_box(self):
        for box in QApplication.topLevelWidgets():
            if isinstance(box, QMessageBox) and box.isVisible():
                tell(box=[box.text(), box.informativeText()])
                box.button(QMessageBox.StandardButton.Ok).click()

application.StudioApplication = Application

async def line():
    return await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)

async def held():
    "A task that ends when the test says so."
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        tell(closing=True)
        await line()
        raise

async def fail():
    raise RuntimeError("no end, password=Sommer2026!")

async def probed(*arguments):
    program = next(one for one in gc.get_objects() if isinstance(one, Program))
    if how == "slow":
        tell(building=True)
        await line()
    if how == "broken":
        raise RuntimeError("no start, password=Sommer2026!")
    if how == "held":
        program.later(held())
    if how == "bad end":
        program.preferences.aclose = fail
    program.ready.add_done_callback(
        lambda _: tell(ready=True, banner=program.current.banner.text)
    )
    return await build(*arguments)

studio.app.build = probed
if how == "together":
    tell(here=True)
    sys.stdin.readline()
sys.exit(studio.app.main(None))
"""


class Started:
    """A program, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def hear(self) -> dict[str, Any]:
        """What it tells next; nothing once it has ended."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline() or "{}")

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ended(self) -> tuple[int, str]:
        """Its exit code, and what it complained about."""
        _, errors = self.process.communicate(timeout=HANG)
        return self.process.returncode, errors

    def end(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        return self.ended()


def environment(home: Path) -> dict[str, str]:
    return {
        **{k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))},
        "AGENT_STUDIO_HOME": str(home),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PYTHONWARNINGS": "default,ignore:Binding:DeprecationWarning",  # see pyproject.toml
        "LANG": "en_GB.UTF-8",
        "LANGUAGE": "en_GB",
    }


@contextmanager
def started(home: Path, how: str = "", **more: str) -> Iterator[Started]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROBE, how, str(HANG)],
        env=environment(home) | more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(HANG, process.kill)  # whoever waits for its words then hears the end
    limit.start()
    try:
        yield Started(process)
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def test_a_start_while_the_window_closes_opens_one_of_its_own(tmp_path: Path) -> None:
    """I-13: it is not lost, and the first leaves it its place and its settings."""
    with started(tmp_path, "held") as first:
        assert first.hear()["ready"]
        first.process.send_signal(signal.SIGTERM)
        assert first.hear() == {"closing": True}
        with started(tmp_path) as second:
            assert second.hear() == {"ready": True, "banner": ""}
            first.go_on()
            assert first.ended() == (0, "")
            with started(tmp_path) as third:
                assert third.hear() == {} and third.ended() == (0, "")
            assert second.process.poll() is None
            assert second.end()[0] == 0
    assert json.loads((tmp_path / "settings.json").read_text())["window_geometry"]


def test_a_start_is_heard_before_everything_is_loaded(tmp_path: Path) -> None:
    """I-13"""
    with started(tmp_path, "slow") as first:
        assert first.hear() == {"building": True}
        with started(tmp_path) as second:
            assert second.hear() == {} and second.ended() == (0, "")
        first.go_on()
        assert first.hear()["ready"]
        assert first.end()[0] == 0


def test_of_two_starts_at_the_same_moment_one_opens_a_window(tmp_path: Path) -> None:
    """I-13"""
    with started(tmp_path, "together") as one, started(tmp_path, "together") as another:
        assert one.hear() == another.hear() == {"here": True}
        one.go_on()
        another.go_on()
        told = {id(each): each.hear() for each in (one, another)}
        assert sorted(map(len, told.values())) == [0, 2], told
        here, gone = (one, another) if told[id(one)] else (another, one)
        assert gone.ended() == (0, "")
        assert here.end()[0] == 0


def test_an_end_before_the_engine_is_there_closes_it(tmp_path: Path) -> None:
    """G-1: nothing of the database is left open."""
    with started(tmp_path, "slow") as running:
        assert running.hear() == {"building": True}
        running.process.send_signal(signal.SIGTERM)
        running.go_on()
        assert running.ended() == (0, "")
    assert not list(tmp_path.glob("studio.db-*"))


def test_an_error_that_ends_the_program_is_told(tmp_path: Path) -> None:
    """I-9: in a box at once, and with the next start that comes so far."""
    for _ in range(2):
        with started(tmp_path, "broken") as broken:
            title, where = broken.hear()["box"]
            assert "because of an error" in title
            assert str(tmp_path / "logs" / NAME) in where
            code, errors = broken.ended()
            assert code == 1 and "RuntimeError: no start" in errors
    report = (tmp_path / "logs" / NAME).read_text()
    assert report.count("RuntimeError: no start") == 2 and "Sommer2026" not in report
    assert (tmp_path / "logs" / MARK).read_text().startswith(CRASH)
    for words in ("crashed the last time", ""):
        with started(tmp_path) as running:
            told = running.hear()
            assert words in told["banner"] and bool(words) == bool(told["banner"])
            assert running.end() == (0, "")


def test_an_error_in_the_end_is_told_and_the_rest_is_saved(tmp_path: Path) -> None:
    """I-9, G-1: every other step of the end is done."""
    with started(tmp_path, "bad end") as running:
        assert running.hear()["ready"]
        code, errors = running.end()
        assert code == 1 and "RuntimeError: no end" in errors
    assert json.loads((tmp_path / "settings.json").read_text())["window_geometry"]
    assert not list(tmp_path.glob("studio.db-*")), "the database was closed"
    report = (tmp_path / "logs" / NAME).read_text()
    assert "RuntimeError: no end" in report and "Sommer2026" not in report
    assert (tmp_path / "logs" / MARK).read_text().startswith(ERROR)
    with started(tmp_path) as running:
        assert "an error in the program the last time" in running.hear()["banner"]
        running.end()


@pytest.mark.parametrize("language", ["en_GB", "de_DE"])
def test_settings_that_cannot_be_read_are_told_in_a_box(tmp_path: Path, language: str) -> None:
    """I-9: whoever started it from a menu has no terminal; it is no crash."""
    (tmp_path / "settings.json").mkdir()
    named = {"LANG": f"{language}.UTF-8", "LANGUAGE": language, "LC_ALL": f"{language}.UTF-8"}
    with started(tmp_path, **named) as running:
        title, more = running.hear()["box"]
        assert (
            title
            == {
                "en_GB": "Agent Studio cannot start.",
                "de_DE": "Agent Studio kann nicht starten.",
            }[language]
        )
        assert str(tmp_path / "settings.json") in more
        code, errors = running.ended()
        assert code == 1 and "settings.json cannot be read" in errors
        assert "Traceback" not in errors
    assert not (tmp_path / "logs" / NAME).exists()


def test_an_error_before_there_is_a_window_leaves_a_report(tmp_path: Path) -> None:
    """I-9: libraries that Qt needs may be missing."""
    qt = tmp_path / "fake" / "PySide6"
    qt.mkdir(parents=True)
    (qt / "__init__.py").touch()
    (qt / "QtCore.py").write_text("raise ImportError('libEGL.so.1: cannot open, token=a1b2c3d4')")
    python = f"{qt.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    ended = subprocess.run(
        [sys.executable, "-m", "studio"],
        env=environment(tmp_path) | {"PYTHONPATH": python},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    assert ended.returncode == 1 and "libEGL" in ended.stderr
    report = (tmp_path / "logs" / NAME).read_text()
    assert "libEGL.so.1: cannot open" in report and "a1b2c3d4" not in report
    with started(tmp_path) as running:
        assert "crashed the last time" in running.hear()["banner"]
        running.end()
