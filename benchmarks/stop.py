"""How long it takes from Stop until nothing of a command runs any more.

    python benchmarks/stop.py [rounds]

A command with three child processes is cancelled: in the sandbox, without it,
and with children that do not listen. The baseline is ``killpg`` on the same
command started bare, in turn with it. Silence is when no process works in the
command's folder, which a thread looks at all the time (Linux).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import Row, middle, quick, show

from studio.processes.environment import child_environment
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox, find_sandbox
from studio.tools import Context, Workspace
from studio.tools.builtin.run import run

CHILDREN = 3
OBEDIENT = "for n in 1 2 3; do sh -c 'echo x >> up; exec sleep 60' & done; wait"
DEAF = (
    "trap '' TERM; for n in 1 2 3; do sh -c "
    "'trap \"\" TERM; echo x >> up; while :; do sleep 60; done' & done; wait"
)
GOAL = "< 300 ms"


def working_in(folder: Path) -> bool:
    for process in os.scandir("/proc"):
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if Path(process.path, "cwd").samefile(folder):
                    return True
    return False


def silence(folder: Path) -> None:
    while working_in(folder):
        time.sleep(0.001)


def up(folder: Path) -> None:
    """Wait until all children are there."""
    file = folder / "up"
    while not (file.exists() and file.stat().st_size >= 2 * CHILDREN):
        time.sleep(0.005)


async def ours(keeper: Keeper, sandbox: Sandbox, command: str, folder: Path) -> float:
    context = Context(
        Workspace(folder), environment=child_environment(), sandbox=sandbox, keeper=keeper
    )
    task = asyncio.create_task(run.call(context, {"command": command}))
    await asyncio.to_thread(up, folder)
    began = time.perf_counter()
    task.cancel()
    watching = asyncio.create_task(asyncio.to_thread(silence, folder))
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await watching
    return (time.perf_counter() - began) * 1000


def bare(command: str, folder: Path) -> float:
    child = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, start_new_session=True)
    up(folder)
    began = time.perf_counter()
    os.killpg(child.pid, signal.SIGKILL)
    silence(folder)
    taken = (time.perf_counter() - began) * 1000
    child.wait()
    return taken


async def rows(rounds: int) -> list[Row]:
    ways: dict[str, tuple[Sandbox, str]] = {"without a sandbox": (NoSandbox(), OBEDIENT)}
    keeper = Keeper()
    found = await asyncio.to_thread(find_sandbox, keeper)
    if found.kind != "none":
        ways[f"in {found.kind}"] = (found, OBEDIENT)
        ways[f"in {found.kind}, deaf children"] = (found, DEAF)
    ways["without a sandbox, deaf children"] = (NoSandbox(), DEAF)
    taken: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in ways}
    with tempfile.TemporaryDirectory() as home:
        made = 0

        def folder() -> Path:
            nonlocal made
            made += 1
            path = Path(home, str(made))
            path.mkdir()
            return path

        for _ in range(rounds):
            for name, (sandbox, command) in ways.items():
                taken[name][0].append(await ours(keeper, sandbox, command, folder()))
                taken[name][1].append(await asyncio.to_thread(bare, command, folder()))
    found.close()
    keeper.close()
    return [
        Row(f"Stop to silence, {name}", middle(own), middle(base), "ms", GOAL, "a bare killpg")
        for name, (own, base) in taken.items()
    ]


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(asyncio.run(rows(counts[0] if counts else 5 if quick() else 15)))


if __name__ == "__main__":
    main()
