"""What the tests need of the system: it is installed where that is allowed, and named elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKERS = ROOT / "packaging"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of the project on a system with next to nothing; its commands are in ``bin``."""
    (tmp_path / "packaging").mkdir()
    for name in ("test.sh", "apt.sh"):
        shutil.copy(MAKERS / name, tmp_path / "packaging")
    program(tmp_path / ".venv" / "bin" / "python", 'echo "tests: $*"')
    program(tmp_path / "bin" / "uname", "echo Linux")
    program(tmp_path / "bin" / "id", "echo 1000")
    return tmp_path


def program(place: Path, does: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{does}\n")
    place.chmod(0o755)


def begin_tests(bare: Path) -> subprocess.CompletedProcess[str]:
    command = [str(shutil.which("sh")), "packaging/test.sh", "-x"]
    path = {"PATH": str(bare / "bin")}
    return subprocess.run(command, cwd=bare, env=path, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="its shell finds programs elsewhere too")
def test_what_the_tests_cannot_do_without_is_named_or_installed(bare: Path) -> None:
    """I-8: curl and xz, ahead of minutes of tests; where both are there, nothing is installed."""
    done = begin_tests(bare)
    assert done.returncode and "tests:" not in done.stdout
    assert "sudo apt-get install curl xz-utils\n" in done.stderr
    program(bare / "bin" / "apt-get", 'echo "$*" >> log')
    assert begin_tests(bare).returncode and not (bare / "log").exists()  # a person, no root
    program(bare / "bin" / "id", "echo 0")
    done = begin_tests(bare)
    assert done.stdout.splitlines()[-1].startswith("tests: -m pytest"), done.stderr
    asked = (bare / "log").read_text().splitlines()
    assert asked[-1].endswith(" curl xz-utils")
    for name in ("curl", "xz"):
        program(bare / "bin" / name, "")
    assert begin_tests(bare).returncode == 0
    assert (bare / "log").read_text().splitlines() == asked


def test_what_tests_of_the_packages_need_is_there_where_all_tests_run() -> None:
    """I-8: elsewhere it would only be skipped; and who has an older set-up gets what is new."""
    told = (ROOT / ".ci" / "run").read_text("utf-8")
    wanted = re.search(r"\$\((sed .+ packaging/system\.txt)\)", told)
    assert wanted
    done = subprocess.run(
        ["sh", "-c", wanted[1]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {"binutils", "wixl", "msitools", "xz-utils", "libgl1"} <= set(done.stdout.split())
    assert not {"wine64", "lintian"} & set(done.stdout.split())
    rule = re.search(r"^\$\(STAMP\): (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert rule and "packaging/system.txt" in rule[1].split()
