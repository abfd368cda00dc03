"""Servers are shared, limited, ended when nobody needs them, and leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from studio.domain.errors import ToolFailed
from studio.domain.questions import DECLINED, ServerAnswer, ServerQuestion, nobody_fills_in
from studio.mcp.entries import ServerEntry
from studio.mcp.faults import ServerFailed
from studio.mcp.lists import ServerLists
from studio.mcp.open_call import LONGEST, ROUNDS, OpenCall
from studio.mcp.server_log import ServerLog
from studio.mcp.supervised import ServerTimes, SupervisedServer
from support import nightly
from support.mcp_servers import approved, raw_server, running_servers
from support.waiting import FOREVER, until

KILLS = 100 if os.environ.get("HYPOTHESIS_PROFILE") == nightly.PROFILE else 1
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it may end between opening and reading
        return False
    return state != "Z"


def pids(folder: Path) -> list[int]:
    """The processes of ``deaf`` servers that were started here, and their grandchildren."""
    file = folder / "pids"
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


@posix
@pytest.mark.parametrize("tool", ["echo", "mark", "leave"])
async def test_nothing_is_left_of_a_server(tmp_path: Path, tool: str) -> None:
    """M-4: deaf to EOF and SIGTERM, with a grandchild that left its group."""
    entry = raw_server("deaf", folder=tmp_path)
    async with running_servers(tmp_path, entry) as servers:
        await servers.start("raw")
        call = asyncio.ensure_future(servers.call("raw", tool, {}))
        if tool == "mark":
            await until((tmp_path / "calls").exists)
        else:
            await asyncio.wait([call])
        assert len(pids(tmp_path)) == 2
        if tool == "leave":  # its grandchild would live on
            await until(lambda: not any(map(alive, pids(tmp_path)[:2])))
        await servers.stop("raw")
        assert not any(map(alive, pids(tmp_path)))
        if tool != "echo":
            with pytest.raises(ServerFailed):
                await call


HOST = """
    import asyncio, os, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from support.mcp_servers import raw_server, running_servers

    async def main():
        folder = Path(sys.argv[2])
        entries = [raw_server("deaf", name=f"raw{n}", folder=folder) for n in range(3)]
        async with running_servers(folder, *entries) as servers:
            calls = [servers.call(one.name, "silent", {}) for one in entries]
            await asyncio.gather(*calls)

    asyncio.run(main())
"""


@posix
@pytest.mark.parametrize("kill", range(KILLS))
async def test_nothing_is_left_when_the_program_is_killed(tmp_path: Path, kill: int) -> None:
    """M-4: with calls under way."""
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(tests).parent), tests))}
    host = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", textwrap.dedent(HOST), tests, str(tmp_path)), env=environment
    )
    await until(lambda: len(pids(tmp_path)) == 6 or host.returncode is not None)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    assert len(pids(tmp_path)) == 6
    await until(lambda: not any(map(alive, pids(tmp_path))))


async def test_one_process_serves_all_chats(tmp_path: Path) -> None:
    """M-6: and one each folder where the server asks for it, or its entry says so."""
    one, other = tmp_path / "one", tmp_path / "other"
    entries = [
        raw_server(name="shared"),
        raw_server("roots", name="asks"),
        replace(raw_server(name="split"), by_folder=True),
    ]
    async with running_servers(tmp_path, *entries) as servers:

        async def pid(name: str, folder: Path) -> str:
            result = await servers.call(name, "environment", {}, folder=folder)
            return json.loads(result.text)["AGENT_STUDIO_RUN"]

        assert await pid("shared", one) == await pid("shared", other)
        assert await pid("split", one) != await pid("split", other)
        for folder in (one, other, one):
            result = await servers.call("asks", "folder", {}, folder=folder)
            assert json.loads(result.text)["roots"] == [
                {"uri": folder.as_uri(), "name": folder.name}
            ]
        assert await pid("asks", one) != await pid("asks", other)
        assert await pid("asks", one) == await pid("asks", one)


@pytest.mark.parametrize(("alone", "most"), [(False, 5), (True, 1)])
async def test_calls_wait_for_each_other(tmp_path: Path, alone: bool, most: int) -> None:
    """M-7: five at a time, or one."""
    entry = replace(raw_server(folder=tmp_path), alone=alone)
    async with running_servers(tmp_path, entry) as servers:

        def begun() -> int:
            file = tmp_path / "calls"
            return len(file.read_text().split()) if file.exists() else 0

        await servers.start("raw")
        calls = [
            asyncio.ensure_future(servers.call("raw", "mark", {}, seconds=FOREVER))
            for _ in range(most + 2)
        ]
        await until(lambda: begun() >= most)
        assert begun() == most
        calls[0].cancel()
        await until(lambda: begun() > most)
        assert begun() == most + 1
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)


async def test_an_idle_server_is_ended(tmp_path: Path) -> None:
    """M-6: but not one that starts with the program."""
    stays = replace(raw_server(name="stays"), starts="program")
    times = ServerTimes(idle=0.01)
    async with running_servers(tmp_path, raw_server(), stays, times=times) as servers:
        await servers.call("stays", "echo", {})
        await servers.call("raw", "echo", {})
        await until(lambda: servers.state("raw").kind == "idle")
        await servers.call("raw", "echo", {})
        assert servers.state("stays").kind == "running"


async def test_m6_each_wait_before_a_restart_is_twice_the_last() -> None:
    """M-6: from one second on, five times; then it has failed with its reason."""
    fault = ServerFailed("exited", "The disk is full.")
    tries: list[Any] = [SimpleNamespace(lists=ServerLists())]
    waits: list[int] = []

    async def connect(_server: SupervisedServer) -> Any:
        if tries:
            return tries.pop()
        raise fault

    def tell() -> None:
        if server.state.kind == "waiting":
            waits.append(ceil(server._not_before - asyncio.get_running_loop().time()))

    def has_failed() -> bool:
        server._hurry.set()  # nothing is waited for here
        return server.state.kind == "failed"

    server = SupervisedServer(raw_server(), None, ServerLog(), connect, tell, ServerTimes())
    ended = (await server.connection()).on_end
    ended(fault)
    await until(has_failed)
    assert [*dict.fromkeys(waits)] == [1, 2, 4, 8, 16] and "disk is full" in server.state.reason
    assert ServerTimes().longest == 60.0
    await server.close()


async def test_a_changed_entry_ends_the_server(tmp_path: Path) -> None:
    """M-12: what runs is what the person approved."""
    entry = raw_server()
    async with running_servers(tmp_path, entry) as servers:
        await servers.call("raw", "echo", {})
        servers.use([replace(entry, reads=frozenset(("echo",)))])
        assert servers.state("raw").kind == "running"
        servers.use([replace(entry, arguments=("-V",))])
        assert servers.state("raw").kind == "withheld"
        with pytest.raises(ServerFailed, match="changed since it was approved"):
            await servers.call("raw", "echo", {})
        servers.use([replace(entry, on=False)])
        assert servers.state("raw").kind == "off"
        with pytest.raises(ServerFailed, match="switched off"):
            await servers.call("raw", "echo", {})


async def test_secrets_reach_the_server_alone(tmp_path: Path) -> None:
    """M-18, M-5: neither the log nor an error has them."""
    key = "kQ7-violet-harbour-9931"
    entry = approved(replace(raw_server(), environment={"KEY": "${keychain:raw}"}))
    async with running_servers(tmp_path, entry, secrets={"raw": key}) as servers:
        known = json.loads((await servers.call("raw", "environment", {})).text)
        assert known["KEY"] == key
        assert known.keys() <= {"KEY", "PATH", "AGENT_STUDIO_RUN", "LC_CTYPE"}
        with pytest.raises(ToolFailed, match="Wrong key") as told:
            await servers.call("raw", "tell_key", {})
        await until(lambda: "My key is" in servers.log("raw"))
        kept = [servers.log("raw"), str(told.value), servers.log_file("raw").read_text()]
        assert not [text for text in kept if key in text]


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        (ServerEntry("x", "no-such-program"), "not_found", "looked for in .*/usr/bin"),
        (ServerEntry("x", "/no/such"), "not_found", "no program /no/such"),
        (ServerEntry("x", sys.executable, folder="/no/such"), "not_found", "no folder /no/such"),
        (ServerEntry("x", "sh", ("${NOT_SET}",)), "variable", "NOT_SET"),
        (ServerEntry("x", "sh", environment={"K": "${keychain:k}"}), "variable", "has no k"),
    ],
)
async def test_what_cannot_start_says_why(
    tmp_path: Path, entry: ServerEntry, kind: str, words: str
) -> None:
    """M-3."""
    async with running_servers(tmp_path, approved(entry)) as servers:
        with pytest.raises(ServerFailed, match=words) as told:
            await servers.call("x", "echo", {})
        assert (told.value.kind, servers.state("x").kind) == (kind, "failed")


async def test_progress_extends_the_time_of_a_call() -> None:
    """M-7: to ten minutes; a question to the person stops it."""
    call = OpenCall(60.0, nobody_fills_in)
    async with call.limit() as limit:
        began = limit.when() or 0.0
        await asyncio.sleep(0.01)
        call.extend()
        assert began < (limit.when() or 0.0) < began + LONGEST
        call.pause()
        call.pause()
        call.extend()  # progress meanwhile
        call.resume()
        assert limit.when() is None, "another question is open"
        call.resume()
        assert limit.when() is not None
    call.extend()  # a late word about a call that ended
    long = OpenCall(2 * LONGEST, nobody_fills_in)
    async with long.limit() as limit:
        before = limit.when() or 0.0
        await asyncio.sleep(0.01)
        long.extend()
        assert before <= (limit.when() or 0.0) < before + 1.0


async def test_who_listens_is_told(tmp_path: Path) -> None:
    async with running_servers(tmp_path, raw_server()) as servers:
        seen: list[str] = []
        forget: Callable[[], None] = servers.listen(
            lambda name: seen.append(servers.state(name).kind)
        )
        await servers.call("raw", "echo", {})
        await servers.stop("raw")
        forget()
        await servers.call("raw", "echo", {})
        assert list(dict.fromkeys(seen)) == ["starting", "running", "idle"]


async def test_m19_of_a_flood_of_questions_most_are_declined() -> None:
    """M-19: those that nobody has answered yet are bounded; once one is, the next is asked."""
    answers: list[asyncio.Future[ServerAnswer]] = []

    async def ask(question: ServerQuestion) -> ServerAnswer:
        answers.append(asyncio.get_running_loop().create_future())
        return await answers[-1]

    call = OpenCall(60.0, ask)
    question = ServerQuestion("shop", "Again?")
    asked = [asyncio.ensure_future(call.answer(question)) for _ in range(50)]
    await until(lambda: sum(one.done() for one in asked) == 50 - ROUNDS)
    await until(lambda: len(answers) == ROUNDS)
    assert all(one.result() == DECLINED for one in asked if one.done())
    call.end()
    assert (await asyncio.gather(*asked))[0].action == "cancel"
    again = asyncio.ensure_future(call.answer(question))
    await until(lambda: len(answers) == ROUNDS + 1)
    answers[-1].set_result(ServerAnswer("accept"))
    assert (await again).action == "accept"
