"""Nothing of a command survives Stop or the death of the program, whatever it does (L-11)."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import studio
from studio.domain.errors import NothingRead
from studio.processes.job_object import BasicLimits, ExtendedLimits
from studio.processes.jobs import Jobs
from studio.processes.keeper import GRACE, Keeper, KeptProcess
from studio.processes.keeper_process import adopt_orphans, below, living
from studio.processes.sandbox import NoSandbox, Sandbox, find_sandbox
from studio.processes.sandbox_mounts import Launch
from studio.tools import Context, Workspace
from studio.tools.builtin.run import run
from support.left_open import left_open
from support.waiting import HANG, until

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")

_PYTHON = f"{sys.executable} -I -S"
_SUBREAPER = 36
HOSTILE = {
    "obedient": "sleep 3600 & sleep 3600",
    "no environment": "env -i setsid sleep 3600 & sleep 3600",
    "deaf": "trap '' TERM HUP INT; env -i setsid sh -c 'while :; do sleep 3600; done' & wait",
    "daemon": f"{_PYTHON} daemon.py; sleep 3600",
    "runs away": f"{_PYTHON} runs_away.py; sleep 3600",
    "more on SIGTERM": "trap 'env -i setsid sleep 3600 &' TERM; while :; do sleep 0.05; done",
    "kills its keeper": "env -i setsid sleep 3600 & kill -9 $PPID; sleep 3600",
    "stops its keeper": "env -i setsid sleep 3600 & kill -STOP $PPID; sleep 3600",
    "adopts orphans": f"{_PYTHON} adopts.py",
    "first thread over": f"env -i setsid {_PYTHON} first_thread_over.py & sleep 3600",
    "many": "for n in 1 2 3 4 5 6 7 8; do sh -c 'sleep 3600 & env -i setsid sleep 3600' & done",
}
"""Commands that do not want to end."""
SCRIPTS = {
    "daemon": """
        import os, signal, time
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if os.fork(): os._exit(0)
        os.setsid()
        if os.fork(): os._exit(0)
        os.chdir("/")
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "3600"], {})
    """,
    "runs_away": """
        import os
        if os.fork(): os._exit(0)
        os.setsid()
        while True:
            if os.fork(): os._exit(0)
    """,
    "adopts": """
        import ctypes, os, time
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                time.sleep(3600)
            os._exit(0)
        time.sleep(3600)
    """,
    "first_thread_over": """
        import ctypes, threading, time
        threading.Thread(target=time.sleep, args=(3600,)).start()
        ctypes.CDLL(None).pthread_exit(None)
    """,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    return tmp_path


@pytest.fixture
def left() -> Iterator[Callable[[], list[int]]]:
    """What is left of all that was started here: this process adopts it, so that it is seen."""
    before = set(below(os.getpid(), living()))
    system = ctypes.CDLL(None)
    assert adopt_orphans()

    def remains() -> list[int]:
        found = [pid for pid in below(os.getpid(), living()) if pid not in before]
        for pid in found:  # an adopted one stays a zombie until then
            if _name(pid) != "studio-keeper":
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        return found

    yield remains
    system.prctl(_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    keeper = Keeper()
    yield keeper
    keeper.close()


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


ROOT = Path(studio.__file__).parents[1]


def _is_alone(left: Callable[[], list[int]]) -> bool:
    """Whether nothing but the keeper itself is left."""
    return [_name(pid) for pid in left()] in ([], ["studio-keeper"])


def started(
    keeper: Keeper, argv: list[str] | str, folder: Path, grace: float = GRACE
) -> KeptProcess:
    null = os.open(os.devnull, os.O_RDWR)
    environment = {"PATH": os.environ["PATH"]}
    try:
        return keeper.start(argv, folder, environment, (null, null, null), grace=grace)
    finally:
        os.close(null)


async def ran(
    keeper: Keeper, command: str, folder: Path, sandbox: Sandbox | None = None
) -> asyncio.Task[object]:
    """A task that runs a command, which has begun."""
    task = asyncio.create_task(
        run.call(
            Context(
                Workspace(folder),
                environment={"PATH": os.environ["PATH"]},
                sandbox=sandbox or NoSandbox(),
                keeper=keeper,
                jobs=Jobs(patience=HANG),
            ),
            {"command": f"touch begun; {command}"},
        )
    )
    await until(lambda: (folder / "begun").exists() or task.done())
    return task


@linux
async def test_what_leaves_its_parents_is_known_as_a_commands(
    tmp_path: Path, keeper: Keeper
) -> None:
    """KZ-5, M-12: also without the mark, and in a session of its own.

    The command waits for the answer: at its end all that is left of it is stopped.
    """
    ask = "from studio.processes.keeper_process import begun_by_a_command as b; print(b())"
    words = ["-i", f"PYTHONPATH={ROOT}", "setsid", "-f", sys.executable, "-c", ask]
    alone = f"env {shlex.join(words)} > said 2>&1 < /dev/null; touch gone; sleep 60"
    answered = "while [ ! -s said ]; do sleep 0.01; done"
    task = await ran(keeper, f"(trap '' HUP; {alone}) & {answered}", tmp_path)
    await until(lambda: (tmp_path / "said").exists() and bool((tmp_path / "said").read_bytes()))
    assert (tmp_path / "said").read_text().strip() == "True"
    task.cancel()
    await asyncio.wait([task])


@linux
@pytest.mark.parametrize("name", HOSTILE)
async def test_nothing_survives_stop(
    folder: Path, left: Callable[[], list[int]], keeper: Keeper, name: str
) -> None:
    task = await ran(keeper, HOSTILE[name], folder)
    task.cancel()
    with suppress(asyncio.CancelledError, NothingRead):  # the keeper may be dead too early
        await task
    await until(lambda: _is_alone(left))


@linux
async def test_nothing_survives_the_command_itself(
    folder: Path, left: Callable[[], list[int]], keeper: Keeper
) -> None:
    await (await ran(keeper, f"{_PYTHON} daemon.py; {_PYTHON} runs_away.py", folder))
    await until(lambda: _is_alone(left))


PROGRAM = """
    import os, sys, time
    from contextlib import suppress
    from pathlib import Path
    from studio.processes.keeper import Keeper
    folder, *commands = sys.argv[1:]
    null = os.open(os.devnull, os.O_RDWR)
    keeper = Keeper()
    kept = []
    print(flush=True)
    for command in commands:
        argv = command.split("\\1")
        with suppress(OSError):  # one that kills its keeper may be faster than its word
            kept.append(keeper.start(argv, Path(folder), dict(os.environ), (null, null, null)))
        print(flush=True)
    time.sleep(3600)
"""


def killed(folder: Path, commands: list[list[str]], lines: int) -> None:
    """Start commands in a program, and kill it when it has written some lines."""
    script = textwrap.dedent(PROGRAM)
    words = ["\1".join(command) for command in commands]
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder), *words],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        for _ in range(lines):
            assert program.stdout.readline()
        program.kill()


@linux
@pytest.mark.parametrize("lines", [1, 2, len(HOSTILE) // 2, len(HOSTILE) + 1])
async def test_nothing_survives_the_program(
    folder: Path, left: Callable[[], list[int]], lines: int
) -> None:
    """It is killed while the keeper starts, while commands start, and when all are there."""
    killed(folder, [["/bin/sh", "-c", command] for command in HOSTILE.values()], lines)
    await until(lambda: not left())


@linux
@pytest.mark.parametrize("lines", [1, 2, 5])
async def test_nothing_survives_the_program_in_the_sandbox(
    folder: Path, left: Callable[[], list[int]], keeper: Keeper, lines: int
) -> None:
    sandbox = find_sandbox(keeper, home=folder)
    if sandbox.kind == "none":
        return
    environment = {"PATH": os.environ["PATH"]}
    names = ("deaf", "daemon", "runs away", "first thread over")
    argvs = [sandbox.argv(Launch(HOSTILE[name], folder, environment)) for name in names]
    killed(folder, [argv for argv in argvs if isinstance(argv, list)], lines)
    await until(lambda: _is_alone(left))
    sandbox.close()


@linux
async def test_a_keeper_that_was_killed_is_replaced(
    tmp_path: Path, left: Callable[[], list[int]], keeper: Keeper
) -> None:
    """With a supervisor, too: what it left is found by its mark, the rest lives on."""
    argv = ["/bin/sh", "-c", "setsid sleep 3600 & echo $PPID > supervisor; wait"]
    other = started(keeper, ["/bin/sleep", "3600"], tmp_path, grace=HANG)
    one = started(keeper, argv, tmp_path)
    file = tmp_path / "supervisor"
    await until(lambda: file.exists() and file.read_text().strip())
    here = living()  # other tests of this process have a keeper, too, which is not meant
    (first,) = [pid for pid in left() if here[pid][0] == os.getpid() and _is_keeper(pid)]
    os.kill(first, signal.SIGKILL)
    os.kill(int(file.read_text()), signal.SIGKILL)
    assert await asyncio.to_thread(one.exited.result, HANG) == -signal.SIGKILL
    one.end()
    assert not other.exited.done()
    other.end()
    assert other.exited.result() == -signal.SIGTERM
    third = started(keeper, ["/bin/sh", "-c", "exit 3"], tmp_path)
    assert third.exited.result(HANG) == 3
    await until(lambda: _is_alone(left))


def _is_keeper(pid: int) -> bool:
    return _name(pid) == "studio-keeper"


@pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh")
async def test_what_cannot_be_started_says_why(tmp_path: Path, keeper: Keeper) -> None:
    for argv, folder, why in (
        (["/nowhere/at all"], tmp_path, "No such file or directory"),
        (["/bin/sh"], tmp_path / "gone", "No such file or directory: .*gone"),
        ([str(tmp_path)], tmp_path, "Permission denied"),
        (["/bin/sh", "-c", "echo \0"], tmp_path, "null"),
        (["/bin/echo", "x" * 5_000_000], tmp_path, "Argument list too long"),
    ):
        with pytest.raises(OSError, match=why):
            started(keeper, argv, folder)
    assert started(keeper, ["/bin/sh", "-c", "exit 3"], tmp_path).exited.result(HANG) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh")
async def test_a_command_gets_what_is_its_own(tmp_path: Path, keeper: Keeper) -> None:
    """Its environment to the byte, no descriptors of others, signals as they are by default."""
    script = (
        "env > env; ls /dev/fd > fds 2>/dev/null; grep -s ^SigIgn /proc/self/status > ignored; pwd"
    )
    reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    odd = os.fsdecode(b"caf\xe9 \xff")
    environment = {"PATH": os.environ["PATH"], "ODD": odd}
    streams = (null, writing, writing)
    argv = ["/bin/sh", "-c", script]
    process = await asyncio.to_thread(keeper.start, argv, tmp_path, environment, streams)
    os.close(writing)
    os.close(null)
    assert await asyncio.to_thread(process.exited.result, HANG) == 0
    with os.fdopen(reading, "rb") as output:
        assert output.read() == os.fsencode(tmp_path) + b"\n"
    seen = (tmp_path / "env").read_bytes().splitlines()
    assert os.fsencode(f"ODD={odd}") in seen
    names = {line.partition(b"=")[0] for line in seen}
    assert names <= {b"PATH", b"ODD", b"PWD", b"OLDPWD", b"SHLVL", b"_", b"AGENT_STUDIO_RUN"}
    assert len((tmp_path / "fds").read_text().split()) <= 4  # one is that of ls itself
    if sys.platform == "linux":
        ignored = int((tmp_path / "ignored").read_text().split()[1], 16)
        own = Path("/proc/self/status").read_text().partition("SigIgn:")[2].split()[0]
        pythons = sum(1 << number - 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))
        inherited = int(own, 16) & ~pythons  # who starts tests in the background ignores some
        assert ignored & ~inherited & 0x7FFFFFFF == 0  # above are those of the C library


def test_structures_are_as_windows_has_them() -> None:
    if ctypes.sizeof(ctypes.c_void_p) == 8:
        assert (ctypes.sizeof(BasicLimits), ctypes.sizeof(ExtendedLimits)) == (64, 144)
        assert BasicLimits.flags.offset == 16


@linux
async def test_a_command_that_kills_its_keeper_is_not_started_again(
    tmp_path: Path, keeper: Keeper
) -> None:
    for number in range(5):
        ran = tmp_path / str(number)
        with suppress(OSError):
            started(keeper, ["/bin/sh", "-c", f"echo x >> {ran}; kill -9 $PPID"], tmp_path)
        await until(ran.exists)
        assert started(keeper, ["/bin/true"], tmp_path).exited.result(HANG) == 0
        assert ran.read_text() == "x\n"


@linux
async def test_a_keeper_that_outlives_its_owner_is_still_waited_for(
    folder: Path, left: Callable[[], list[int]]
) -> None:
    keeper = Keeper()
    running = started(keeper, ["/bin/sleep", "3600"], folder)
    mine = [pid for pid in left() if _name(pid) == "studio-keeper"]
    assert left_open(keeper.close) == []
    running.end()
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in mine))
