"""What a crash leaves for the person to read (I-9)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from studio.storage.crash_reports import LONGEST, NAME, RUNNING, CrashReports
from support.engine_home import KEY

ROOT = Path(__file__).parents[2]
CRASH = """
import faulthandler, sys
from pathlib import Path
from studio.storage.crash_reports import CrashReports
reports = CrashReports(Path(sys.argv[1]))
print(reports.watch())
def place_of_the_crash():
    faulthandler._sigsegv()
if sys.argv[2] == "crash":
    place_of_the_crash()
reports.close()
"""


def run(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CRASH, str(folder), how],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_crash_of_the_process_is_told_with_the_next_start(tmp_path: Path) -> None:
    """I-9: once, and it stays to be read."""
    crashed = run(tmp_path, "crash")
    assert crashed.returncode != 0 and crashed.stdout in ("False\n", "")
    assert run(tmp_path, "end").stdout == "True\n"
    text = (tmp_path / NAME).read_text()
    assert text.startswith("Agent Studio ") and "place_of_the_crash" in text
    assert run(tmp_path, "end").stdout == "False\n"
    assert (tmp_path / NAME).read_text() == text
    assert not (tmp_path / RUNNING).exists()


def test_an_error_that_nobody_caught(tmp_path: Path) -> None:
    """I-9: its places and words without keys; one that comes on and on fills no disk."""
    reports = CrashReports(tmp_path)
    passed_on: list[BaseException] = []
    hook = reports.hook(lambda _kind, error, _trace: passed_on.append(error))
    assert reports.read() == ""

    def fail(words: str) -> None:
        try:
            raise ValueError(words)
        except ValueError as error:
            hook(ValueError, error, error.__traceback__)

    fail(f"Authorization: Bearer {KEY}")
    text = reports.read()
    assert "in fail" in text and "ValueError: " in text and KEY not in text
    fail("another")
    assert reports.read().startswith(text) and "another" in reports.read()
    fail("x" * LONGEST)
    assert len(reports.read()) <= LONGEST and "another" in reports.read()
    assert len(passed_on) == 3
    CrashReports(tmp_path).hook(print)(ValueError, ValueError("of a later run"), None)
    assert "another" not in reports.read() and "of a later run" in reports.read()


def test_where_nothing_can_be_written_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    reports = CrashReports(tmp_path / "file" / "logs")
    assert reports.watch() is False
    passed_on: list[object] = []
    reports.hook(lambda *told: passed_on.append(told))(ValueError, ValueError("x"), None)
    assert passed_on and reports.read() == ""
    reports.close()
