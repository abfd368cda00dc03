"""A test that hangs ends with its name and with where it waits; one that is slow does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.hang_guard import share_of_a_core

TEST = """
import asyncio, sys, time

import pytest
from support.hang_guard import HangGuard

def test_one():
    pass

def test_other():
    asyncio.run(waits())

async def waits():
    await asyncio.Event().wait()

if __name__ == "__main__":
    pytest.main(["-q", "-p", "no:cacheprovider", __file__], plugins=[HangGuard(1.0)])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no load to ask for")
def test_a_test_that_hangs_ends_and_says_where(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(TEST)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    ended = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert ended.returncode == 1
    said = ended.stderr
    assert "test_it.py::test_other hangs" in said
    assert "Thread" in said and "in test_other" in said  # where it is, and the task below it
    assert "await asyncio.Event().wait()" in said


def test_a_second_counts_for_less_where_many_programs_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load, counts in ((0.0, 1.0), (2.0, 1.0), (12.0, 1 / 6)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert share_of_a_core() == pytest.approx(counts)
