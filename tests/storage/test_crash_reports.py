"""What a crash leaves for the person to read (I-9)."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from studio.app import _LogFile
from studio.storage.crash_reports import CRASH, ERROR, LONGEST, NAME, RUNNING, CrashReports
from studio.storage.paths import Paths
from support.engine_home import KEY
from support.waiting import HANG

ROOT = Path(__file__).parents[2]
PROGRAM = """
import faulthandler, sys
from pathlib import Path
from studio.app import _LogFile
from studio.storage.crash_reports import CrashReports

def place_of_the_crash():
    faulthandler._sigsegv()

reports = CrashReports(Path(sys.argv[1]))
reports.watch()
print(reports.untold, flush=True)
for line in sys.stdin:
    match line.strip():
        case "crash":
            place_of_the_crash()
        case "crash late":
            import atexit
            atexit.register(place_of_the_crash)
        case "told":
            reports.told()
        case "error":
            try:
                raise ValueError("went on")
            except ValueError as error:
                reports.hook(print)(ValueError, error, None)
        case "end":
            sys.exit()
"""


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def run(folder: Path, *orders: str) -> str:
    """A program that does this; what it had to tell of earlier ones."""
    told, _ = started(folder).communicate("\n".join((*orders, "end")), timeout=HANG)
    return told.splitlines()[0]


def running(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir() if one.name.startswith(RUNNING)]


def test_a_crash_of_the_process_is_told_until_it_was_heard(tmp_path: Path) -> None:
    """I-9: a program that crashes with each start tells it when one of them comes so far."""
    assert run(tmp_path, "crash") == ""
    assert run(tmp_path, "crash") == CRASH
    assert run(tmp_path) == CRASH, "the one before did not come to tell it"
    text = (tmp_path / NAME).read_text()
    assert text.startswith("Agent Studio ") and text.count("in place_of_the_crash") == 2
    assert run(tmp_path, "told") == CRASH
    assert run(tmp_path) == ""
    assert (tmp_path / NAME).read_text() == text
    assert running(tmp_path) == []


def test_a_crash_at_the_very_end_is_told(tmp_path: Path) -> None:
    """I-9: while Qt's objects are destroyed, for instance."""
    assert run(tmp_path, "crash late") == ""
    assert run(tmp_path) == CRASH
    assert "in place_of_the_crash" in (tmp_path / NAME).read_text()


def test_two_programs_lose_no_crash_of_each_other(tmp_path: Path) -> None:
    """I-9: neither by the start of another one nor by its end."""
    first, second = started(tmp_path), started(tmp_path)
    for one in (first, second):
        assert one.stdout is not None and one.stdout.readline() == "\n"
    assert run(tmp_path) == "" and len(running(tmp_path)) == 2, "it takes nothing of one that runs"
    first.communicate("crash", timeout=HANG)
    second.communicate("end", timeout=HANG)
    assert run(tmp_path) == CRASH
    assert "in place_of_the_crash" in (tmp_path / NAME).read_text()
    assert running(tmp_path) == []


def test_a_program_that_is_killed_leaves_nothing_to_tell(tmp_path: Path) -> None:
    killed = started(tmp_path)
    assert killed.stdout is not None and killed.stdout.readline() == "\n"
    killed.kill()
    killed.communicate(timeout=HANG)
    assert len(running(tmp_path)) == 1
    assert run(tmp_path) == "" and running(tmp_path) == []


def test_an_error_in_a_run_that_told_of_the_last_one_is_told_later(tmp_path: Path) -> None:
    """I-9: also if it comes before the words about the last one were shown."""
    run(tmp_path, "crash")
    assert run(tmp_path, "error", "told") == CRASH
    assert run(tmp_path, "told") == ERROR
    assert run(tmp_path) == ""
    text = (tmp_path / NAME).read_text()
    assert "went on" in text and "in place_of_the_crash" in text


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
    later = CrashReports(tmp_path)
    later.watch()
    assert later.untold == ERROR
    later.told()
    later.hook(print)(ValueError, ValueError("of a later run"), None)
    assert "another" not in reports.read() and "of a later run" in reports.read()
    later.close()


def test_what_ends_the_program_stands_above_what_did_not(tmp_path: Path) -> None:
    """I-9: once, although Python gives it to the hook, too; characters of no file's name, too."""
    reports = CrashReports(tmp_path)
    hook = reports.hook(lambda *_: None)
    hook(ValueError, ValueError("first \udcff"), None)
    error = OSError("the end")
    reports.ended_by(error)
    hook(OSError, error, None)
    text = reports.read()
    assert text.count("the end") == 1 and text.index("the end") < text.index("first \\udcff")
    later = CrashReports(tmp_path)
    later.watch()
    assert later.untold == CRASH and later.last() == reports.path
    later.close()


SECRETS = {
    "https://anna:hunter2secret@example.org/x": "hunter2secret",
    "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2": "ghp_a1B2",
    "password=Sommer2026!": "Sommer2026",
    "AKIAIOSFODNN7EXAMPLE": "IOSFODNN7",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "wJalrXUtnFEMI",
    "hf_abcdefghijklmnopqrstuvwx": "abcdefgh",
    "Cookie: session=9f8e7d6c5b4a": "9f8e7d6c",
    "{'Set-Cookie': 'sid=9f8e7d6c5b4a'}": "9f8e7d6c",
    "client_secret=GOCSPX-lamp": "lamp",
}
"""What an error may say, and what of it nobody else may read."""


@pytest.mark.parametrize("said", SECRETS)
def test_a_report_and_the_log_have_no_secret(tmp_path: Path, said: str) -> None:
    """I-9, P-4: also not in the source and the words of a traceback."""
    paths = Paths.below(tmp_path)
    reports = CrashReports(paths.logs)
    reports.watch()
    handler = _LogFile(paths.logs / "studio.log")
    try:
        raise ValueError(f"while asking: {said}")
    except ValueError as error:
        reports.hook(lambda *_: None)(ValueError, error, error.__traceback__)
        log = logging.makeLogRecord(
            {"msg": f"it failed with {said}", "levelno": logging.ERROR, "exc_info": sys.exc_info()}
        )
        handler.handle(log)
    assert handler._file is not None
    handler._file.close()
    reports.close()
    for text in (reports.read(), (paths.logs / "studio.log").read_text()):
        assert "in test_a_report_and_the_log_have_no_secret" in text
        assert SECRETS[said] not in text


def test_where_nothing_can_be_written_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    reports = CrashReports(tmp_path / "file" / "logs")
    reports.watch()
    assert reports.untold == "" and reports.last() is None
    passed_on: list[object] = []
    reports.hook(lambda *told: passed_on.append(told))(ValueError, ValueError("x"), None)
    assert passed_on and reports.read() == ""
    reports.close()


def test_a_report_is_for_this_person_alone_and_told_once(tmp_path: Path) -> None:
    """I-9: whatever the text of an error is, a second one adds only itself."""
    reports = CrashReports(tmp_path)
    hook = reports.hook(lambda *_: None)
    for text in ("first \udc80", "second"):
        error = ValueError(text)
        hook(ValueError, error, None)
    assert reports.read().count("first \\udc80") == 1
    if sys.platform != "win32":
        assert reports.path.stat().st_mode & 0o777 == 0o600
