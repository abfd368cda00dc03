"""Commands that stay: in the background, with their output, input and end (C-13, C-14)."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from studio.domain.errors import NothingRead, ToolFailed
from studio.processes import command_streams, shell_command
from studio.processes.jobs import MOST, Jobs
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox, find_sandbox
from studio.processes.sandbox_mounts import Launch
from studio.processes.shell_command import END, ShellCommand
from studio.tools import Context, Result, Workspace, shorten
from studio.tools.builtin.job import job
from studio.tools.builtin.run import run
from support.waiting import HANG, until

if sys.platform == "win32":
    pytest.skip("POSIX shell", allow_module_level=True)

CHAT = "c1"


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    jobs = Jobs(patience=HANG, settles=0.1)
    yield jobs
    await jobs.end()


@pytest.fixture(params=["alone", "sandboxed"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    found = find_sandbox(Keeper(), wanted=request.param == "sandboxed")
    if request.param == "sandboxed" and found.kind == "none":
        pytest.skip("no sandbox here")
    yield found
    found.close()


def context(folder: Path, jobs: Jobs, sandbox: Sandbox | None = None, chat: str = CHAT) -> Context:
    return Context(
        Workspace(folder),
        environment={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        sandbox=sandbox or NoSandbox(),
        jobs=jobs,
        session_id=chat,
        call_id=f"call {id(jobs)}",
    )


def id_in(result: Result) -> str:
    found = re.search(r"goes on as job (\w+)", result.text)
    assert found, result.text
    return found[1]


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


async def look(here: Context, id: str, until_seen: str, **more: object) -> str:
    """What is new in a job, looked at until something is seen."""
    text = ""
    while until_seen not in text:
        text += (await job.call(here, {"id": id, "wait": 0.05, **more})).text  # type: ignore[dict-item]
        more = {}
    return text


async def test_a_server_runs_on_is_looked_at_and_stopped(
    tmp_path: Path, jobs: Jobs, sandbox: Sandbox
) -> None:
    """C-13: at once in the background; what is new, state, exit code."""
    here = context(tmp_path, jobs, sandbox)
    script = "echo ready; while [ ! -e go ]; do sleep 0.02; done; echo more; exec sleep 3600"
    begun = await run.call(here, {"command": script, "background": True})
    assert not begun.is_error and "not undone" in begun.text
    id = id_in(begun)
    if "ready" not in begun.text:
        await look(here, id, "ready")
    assert begun.summary == f"goes on as job {id}" and begun.sources == (script,)
    (one,) = jobs.of(CHAT)
    quiet = await job.call(here, {"id": id, "wait": 0})
    assert quiet.text.startswith("(nothing new)\n") and f"[Job {id} runs, " in quiet.text
    again = await job.call(here, {"id": id, "wait": 0.2})
    assert again.text != quiet.text  # so that to look is no stall
    (tmp_path / "go").touch()
    assert "ready" not in await look(here, id, "more")
    stopped = await job.call(here, {"id": id, "stop": True})
    assert stopped.summary == "stopped" and not stopped.is_error
    assert not one.command.running and jobs.of(CHAT) == []
    with pytest.raises(NothingRead, match=f"no job “{id}” now.*There are: none"):
        await job.call(here, {"id": id})


async def test_a_long_command_becomes_a_job_and_tells_its_end(tmp_path: Path, jobs: Jobs) -> None:
    """C-13: after a while by itself."""
    here = context(tmp_path, jobs)
    jobs.patience = 0.1
    begun = await run.call(
        here, {"command": "echo a; while [ ! -e go ]; do sleep 0.02; done; echo b; exit 3"}
    )
    with pytest.raises(ToolFailed, match="background or terminal"):
        await job.call(here, {"id": id_in(begun), "input": "x\n"})
    (tmp_path / "go").touch()
    ended = await job.call(here, {"id": id_in(begun), "wait": 60})
    assert "b" in ended.text.splitlines() and "a" not in ended.text.splitlines()
    assert ended.summary == "exit 3" and ended.is_error
    assert jobs.of(CHAT) == []


async def test_the_person_sends_a_command_to_the_background(tmp_path: Path, jobs: Jobs) -> None:
    """C-13: the person too."""
    here = context(tmp_path, jobs)
    running = asyncio.create_task(run.call(here, {"command": "touch begun; sleep 3600"}))
    await until(lambda: (tmp_path / "begun").exists())
    assert not jobs.release(CHAT, "another call") and not jobs.release("another chat", here.call_id)
    assert not running.done()
    await until(lambda: jobs.release(CHAT, here.call_id))
    assert id_in(await running) == jobs.of(CHAT)[0].id
    assert not jobs.release(CHAT, here.call_id)


async def test_a_time_limit_counts_in_the_background_too(tmp_path: Path, jobs: Jobs) -> None:
    """C-13, L-11."""
    here = context(tmp_path, jobs)
    jobs.patience = 0.05
    begun = await run.call(here, {"command": "sleep 3600", "time_limit": 0.5})
    ended = await job.call(here, {"id": id_in(begun), "wait": 60})
    assert (ended.summary, ended.is_error) == ("stopped", True)


async def test_at_most_eight_of_a_chat(tmp_path: Path, jobs: Jobs) -> None:
    """C-13."""
    here, other = context(tmp_path, jobs), context(tmp_path, jobs, chat="c2")
    for _ in range(MOST):
        await run.call(here, {"command": "sleep 3600", "background": True})
    with pytest.raises(NothingRead, match=r"8 jobs run already: \w{4} \(sleep 3600\), "):
        await run.call(here, {"command": "sleep 3600", "background": True})
    await run.call(other, {"command": "sleep 3600", "background": True})
    jobs.patience = 0.05  # one that would be the ninth is waited for
    assert (await run.call(here, {"command": "sleep 0.3; echo done"})).text == "done"
    first = jobs.of(CHAT)[0]
    await job.call(here, {"id": first.id, "stop": True})
    await run.call(here, {"command": "sleep 3600", "background": True})


async def test_a_job_ends_when_nobody_looks_for_long(tmp_path: Path, jobs: Jobs) -> None:
    """C-13: also one that has ended and that nobody asked about."""
    assert (Jobs().patience, Jobs().idle) == (60.0, 30 * 60.0)
    jobs.idle = 0.3
    here = context(tmp_path, jobs)
    await run.call(here, {"command": "sleep 3600", "background": True})
    jobs.patience = 0.0
    await run.call(here, {"command": "sleep 0.01"})
    kept = [one.command for one in jobs.of(CHAT)]
    await until(lambda: jobs.of(CHAT) == [])
    await until(lambda: not any(one.running for one in kept))


async def test_the_end_of_a_chat_ends_its_jobs_alone(tmp_path: Path, jobs: Jobs) -> None:
    """C-13."""
    told: list[str] = []
    unsubscribe = jobs.subscribe(told.append)
    for chat in ("c1", "c2"):
        here = context(tmp_path, jobs, chat=chat)
        await run.call(here, {"command": "sleep 3600", "background": True})
    one, two = jobs.of("c1")[0].command, jobs.of("c2")[0].command
    await jobs.end("c1")
    assert not one.running and two.running and jobs.of("c1") == []
    unsubscribe()
    await jobs.end()
    assert not two.running and set(told[2:]) == {"c1"}


GRANDCHILDREN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for name in ("deaf", "daemon"):
    if not os.fork():
        if name == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
        with open(name + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(name + ".new", name)
        time.sleep(3600)
time.sleep(3600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
@pytest.mark.parametrize("terminal", [False, True])
async def test_nothing_of_a_job_is_left(tmp_path: Path, jobs: Jobs, *, terminal: bool) -> None:
    """C-13, L-11: those that ignore SIGTERM, and those in a session of their own."""
    (tmp_path / "forks.py").write_text(GRANDCHILDREN)
    here = context(tmp_path, jobs)
    how = "terminal" if terminal else "background"
    begun = await run.call(here, {"command": f"{sys.executable} forks.py", how: True})
    places = [tmp_path / name for name in ("deaf", "daemon")]
    await until(lambda: all(place.exists() for place in places))
    pids = [int(place.read_text()) for place in places]
    assert all(map(state, pids))
    await job.call(here, {"id": id_in(begun), "stop": True})
    await until(lambda: not any(state(pid).strip("ZX") for pid in pids))


async def test_a_pipe_for_a_program_that_asks(tmp_path: Path, jobs: Jobs) -> None:
    """C-13: lines, and the end of the input."""
    here = context(tmp_path, jobs)
    script = 'read name; echo "Hello $name"; cat; echo over'
    id = id_in(await run.call(here, {"command": script, "background": True}))
    assert "Hello Ada" in await look(here, id, "Hello Ada\n", input="Ada\n")
    ended = await job.call(here, {"id": id, "input": "rest\x04", "wait": 60})
    assert ended.text.startswith("restover\n[") and ended.summary == "exit 0"


async def test_who_does_not_read_is_not_waited_for(
    tmp_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-13."""
    monkeypatch.setattr(command_streams, "_TAKES", 0.1)
    here = context(tmp_path, jobs)
    id = id_in(await run.call(here, {"command": "sleep 3600", "background": True}))
    with pytest.raises(ToolFailed, match=r"it does not read, [\d,]+ bytes are left"):
        await job.call(here, {"id": id, "input": "x" * 1_000_000})
    assert (await job.call(here, {"id": id, "stop": True})).summary == "stopped"


async def test_input_that_nobody_waits_for_is_written_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-13: the number of the command's input may be that of another file by then."""
    monkeypatch.setattr(command_streams, "_TAKES", HANG)
    line = "until [ -e go ]; do sleep 0.05; done; cat >out"
    launch = Launch(line, tmp_path, {"PATH": os.environ["PATH"]})
    keeper = Keeper()
    command = await ShellCommand.start(launch, sandbox=NoSandbox(), keeper=keeper, stdin="pipe")
    typing = asyncio.create_task(command.write("x" * 1_000_000))
    await until(lambda: not command.takes_input)
    typing.cancel()
    await asyncio.wait([typing])
    await command.write(END)
    others = [os.open(tmp_path / f"other{n}", os.O_RDWR | os.O_CREAT) for n in range(20)]
    (tmp_path / "go").touch()
    await command.wait()
    assert (tmp_path / "out").stat().st_size == 1_000_000
    assert not any(os.fstat(one).st_size for one in others)
    for one in others:
        os.close(one)
    await asyncio.to_thread(keeper.close)


async def test_a_terminal_with_control_keys(tmp_path: Path, jobs: Jobs, sandbox: Sandbox) -> None:
    """C-14: 120 by 40; Ctrl+C reaches the program alone, Ctrl+D ends its input."""
    here = context(tmp_path, jobs, sandbox)
    (tmp_path / "asks.py").write_text(
        "import os, sys\n"
        "print(sys.stdin.isatty(), os.get_terminal_size())\n"
        "while True:\n"
        "    try:\n"
        "        print('got', input('> '))\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
        "    except EOFError:\n"
        "        sys.exit(7)\n"
    )
    begun = await run.call(here, {"command": f"{sys.executable} -S asks.py", "terminal": True})
    id = id_in(begun)
    seen = begun.text if "> " in begun.text else begun.text + await look(here, id, ">")
    assert "True os.terminal_size(columns=120, lines=40)" in seen
    assert "got one" in await look(here, id, "got one", input="one\n")
    assert "interrupted" in await look(here, id, "interrupted", input="\x03")
    ended = await job.call(here, {"id": id, "input": "\x04", "wait": 60})
    assert (ended.summary, ended.is_error) == ("exit 7", True)


async def test_ctrl_c_reaches_a_terminal_of_a_program_that_ignores_it(
    tmp_path: Path, jobs: Jobs
) -> None:
    """C-14: a shell starts what it sends to the background with this signal ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        here = context(tmp_path, jobs)
        jobs.patience = 0.0
        id = id_in(await run.call(here, {"command": "sleep 3600", "terminal": True}))
    finally:
        signal.signal(signal.SIGINT, before)
    ended = await job.call(here, {"id": id, "input": "\x03", "wait": 60})
    assert ended.is_error and not jobs.running()


@pytest.mark.parametrize("folder", ["", "sub", "sub/", "./sub/../sub", "LINK"])
async def test_a_command_runs_in_a_named_folder(
    tmp_path: Path, jobs: Jobs, sandbox: Sandbox, folder: str
) -> None:
    """C-13."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "LINK").symlink_to("sub")
    there = tmp_path / "sub" if folder else tmp_path
    done = await run.call(context(tmp_path, jobs, sandbox), {"command": "pwd -P", "folder": folder})
    assert done.text == str(there)


@pytest.mark.parametrize("folder", ["..", "/", "gone", "file", "~", "out"])
async def test_a_folder_that_is_none_is_refused(tmp_path: Path, jobs: Jobs, folder: str) -> None:
    """C-13, T-8."""
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to("/")
    with pytest.raises(NothingRead, match=r"outside|no folder|~ is not known"):
        await run.call(context(tmp_path, jobs), {"command": "touch ran", "folder": folder})


async def test_much_output_of_a_job_is_kept_in_bounds(tmp_path: Path, jobs: Jobs) -> None:
    """C-13, C-16: of each look the beginning and the end."""
    here = context(tmp_path, jobs)
    jobs.patience = 0.0
    script = "seq 1 400000; touch wrote; while [ ! -e go ]; do sleep 0.02; done; seq 5; echo end"
    begun = await run.call(here, {"command": script})
    await until(lambda: (tmp_path / "wrote").exists())
    first = begun.text + await look(here, id_in(begun), "399999")
    assert "characters of output are left out" in first or "\n200000\n" in first
    assert len(shorten(first, 3_000, keeps_end=True)) < 3_200
    (tmp_path / "go").touch()
    last = await job.call(here, {"id": id_in(begun), "wait": 60})
    assert last.text.startswith(("1\n2\n3\n4\n5\nend\n", "400000\n1\n2\n3\n4\n5\nend\n"))


@pytest.mark.parametrize("position", [0, 30, 50, 70, 450, 470, 500])
def test_what_is_new_is_counted_from_a_position(position: int) -> None:
    capture = shell_command.OutputCapture(lambda: None, kept=100)
    text = "".join(f"{number:04}\n" for number in range(100))
    for at in range(0, len(text), 7):
        capture.add(text[at : at + 7])
    found, after = capture.since(position)
    assert after == 500 and capture.since(after) == ("", 500)
    head, tail = text[position:50], text[max(450, position) :]
    missing = 450 - max(50, position)
    assert found.startswith(head) and found.endswith(tail)
    assert (f"{missing} characters" in found) == (missing > 0)
    assert missing > 0 or found == tail


async def test_who_watches_jobs_and_fails_hurts_no_command(tmp_path: Path, jobs: Jobs) -> None:
    """C-13: the loop reports the failure, and the others are told."""
    wrong: list[object] = []
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, one: wrong.append(one["exception"]))

    def fails(_: str) -> None:
        raise RuntimeError("no room on the screen")

    jobs.subscribe(fails)
    jobs.subscribe(told.append)
    here = context(tmp_path, jobs)
    begun = await run.call(here, {"command": "sleep 3600", "background": True})
    await until(lambda: told == [CHAT])
    ended = await job.call(here, {"id": id_in(begun), "stop": True})
    assert ended.summary == "stopped" and len(told) > 1
    assert str(wrong[0]) == "no room on the screen"
