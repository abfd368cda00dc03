"""Commands that are given something and answer on two streams (K-8): also hostile ones."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from studio.processes.daemon_thread import Stop, in_daemon_thread
from studio.processes.keeper import Keeper
from studio.processes.piped_command import MOST, PipedResult, run_piped
from studio.processes.sandbox import NoSandbox
from studio.processes.sandbox_mounts import Launch
from support.waiting import FOREVER, until

KEEPER = Keeper()


async def piped(
    command: str,
    folder: Path,
    given: bytes = b"",
    seconds: float = FOREVER,
    stop: Stop | None = None,
) -> PipedResult:
    launch = Launch(command, folder, {"PATH": os.environ["PATH"]})
    return await in_daemon_thread(
        lambda: run_piped(
            *(launch, given),
            sandbox=NoSandbox(),
            keeper=KEEPER,
            seconds=seconds,
            stop=stop or Stop(),
        )
    )


async def test_k8_both_streams_and_the_code_come_apart(tmp_path: Path) -> None:
    found = await piped("cat; echo why >&2; exit 2", tmp_path, b"given\0\xff")
    assert (found.code, found.output, found.errors) == (2, b"given\0\xff", b"why\n")
    assert found.cut == ""


async def test_k8_more_than_a_pipe_holds_goes_in_and_comes_out(tmp_path: Path) -> None:
    given = os.urandom(700_000)
    assert (await piped("cat", tmp_path, given)).output == given


async def test_k8_who_reads_nothing_ends_all_the_same(tmp_path: Path) -> None:
    found = await piped("exec true", tmp_path, b"x" * 10_000_000)
    assert (found.code, found.cut) == (0, "")


@pytest.mark.parametrize("stream", ["1", "2"])
async def test_k8_a_flood_is_ended(tmp_path: Path, stream: str) -> None:
    """Without the end it would go on for ever."""
    found = await piped(f"yes >&{stream}", tmp_path)
    assert found.cut == "flood"
    assert len(found.output if stream == "1" else found.errors) == MOST


async def test_k8_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    found = await piped("echo begun; sleep 1000", tmp_path, seconds=0.3)
    assert (found.cut, found.output) == ("time", b"begun\n")


async def test_k8_who_closes_its_streams_is_waited_for(tmp_path: Path) -> None:
    found = await piped("exec >&- 2>&-; sleep 0.1; exit 3", tmp_path)
    assert (found.code, found.cut) == (3, "")
    found = await piped("exec >&- 2>&-; sleep 1000", tmp_path, seconds=0.3)
    assert found.cut == "time"


async def test_k8_what_it_started_ends_with_it(tmp_path: Path) -> None:
    """It holds both streams; the answer does not wait for it."""
    found = await piped("sleep 1000 & echo $!", tmp_path)
    assert found.cut == ""
    await until(lambda: not Path(f"/proc/{int(found.output)}").exists())


async def test_k9_it_can_be_stopped(tmp_path: Path) -> None:
    """Also with what ignores SIGTERM."""
    stop = Stop()
    task = asyncio.ensure_future(
        piped("trap '' TERM; echo $$ > pid; while :; do sleep 1000; done", tmp_path, stop=stop)
    )
    pid = tmp_path / "pid"
    await until(lambda: pid.is_file() and bool(pid.read_text().strip()))
    number = int(pid.read_text())
    await asyncio.to_thread(stop.set)
    await until(lambda: not Path(f"/proc/{number}").exists())
    assert (await task).code < 0


async def test_k9_what_is_stopped_before_it_begins_does_not_run(tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(OSError, match="stopped"):
        await piped("touch ran", tmp_path, stop=stop)
    assert not (tmp_path / "ran").exists()
