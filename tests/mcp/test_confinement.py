"""Servers that the person runs in the sandbox reach what their command names (M-18)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from studio.mcp.confinement import confinement_of
from studio.mcp.entries import HOST, PACK, EntriesFile, Sandboxing, ServerEntry
from studio.mcp.faults import ServerFailed
from studio.mcp.supervised import ServerTimes
from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox, find_sandbox
from support.mcp_servers import raw_server, running_servers
from support.waiting import FOREVER, until

QUICK = ServerTimes(start=FOREVER, again=0.01, longest=0.02)


@pytest.fixture(scope="module")
def found() -> Iterator[tuple[Keeper, Sandbox]]:
    keeper = Keeper()
    yield keeper, find_sandbox(keeper)
    keeper.close()


@pytest.fixture
def sandbox(found: tuple[Keeper, Sandbox], tmp_path: Path) -> Iterator[Sandbox]:
    """The sandbox of this computer, for a person whose home is the test's folder."""
    keeper, usual = found
    if usual.kind == "none":
        pytest.skip(usual.reason)
    one = find_sandbox(keeper, home=tmp_path)
    yield one
    one.close()


def listed(folder: Path, *names: str) -> list[Path]:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [folder / name for name in names]


def test_m18_what_a_command_names_is_what_it_reaches(tmp_path: Path) -> None:
    """M-18: folders and data to write, its own code to read, and never all of the home folder."""
    home, own = tmp_path / "home", tmp_path / "own"
    (home / "code" / "atlas").mkdir(parents=True)
    listed(home, "tools/server/package.json", "tools/server/dist/index.js", "notes.md")
    (tmp_path / "elsewhere").mkdir()
    (data,) = listed(home, "data/shop.db")
    entry = ServerEntry(
        "files",
        "node",
        (
            *(str(home / "tools/server/dist/index.js"), str(home / "code" / "atlas")),
            *(f"--db={data}", str(home / "notes.md"), "/usr/share", "/", str(tmp_path), "-y", "no"),
        ),
        {"OUT": str(tmp_path / "elsewhere"), "NEW": str(home / "nothing-here")},
    )
    may = confinement_of(entry, home, own)
    assert set(may.writes) == {
        *(home / "code" / "atlas", home / "data", home / "notes.md", tmp_path / "elsewhere")
    }
    assert may.reads == (home / "tools" / "server",)
    assert not may.network
    chat = home / "chat"
    asks = confinement_of(replace(entry, sandbox="network"), home, own, chat)
    assert asks.network and asks.writes[0] == chat
    whole = confinement_of(ServerEntry("all", "x", (str(home),)), home, own)
    assert whole.writes == (home,), "who names it wants it"


@pytest.mark.parametrize(
    ("names", "command", "reads"),
    [
        (["tools/node_modules/x/package.json", "tools/node_modules/x/i.js"],
         "tools/node_modules/x/i.js", ["tools"]),
        (["node_modules/x/package.json", "node_modules/x/i.js"],
         "node_modules/x/i.js", ["node_modules"]),
        (["venv/pyvenv.cfg", "venv/lib/x.py", "venv/bin/server.py"],
         "venv/bin/server.py", ["venv"]),
        (["scripts/server.py", "scripts/other"], "scripts/server.py", ["scripts"]),
        (["server.py"], "server.py", ["server.py"]),
    ],
)  # fmt: skip
def test_m18_a_program_has_what_it_needs_beside_it(
    tmp_path: Path, names: list[str], command: str, reads: list[str]
) -> None:
    """M-18: its project, and never the home folder around it; also where a link leads to it."""
    listed(tmp_path, *names)
    link = tmp_path / "bin" / "link"
    link.parent.mkdir()
    link.symlink_to(tmp_path / command)
    may = confinement_of(ServerEntry("x", str(tmp_path / command)), tmp_path, tmp_path / "own")
    assert may.reads == tuple(tmp_path / one for one in reads) and not may.writes
    may = confinement_of(ServerEntry("x", str(link)), tmp_path, tmp_path / "own")
    assert may.reads == (*(tmp_path / one for one in reads), link.parent)


def test_m18_one_file_of_a_folder_that_programs_share_is_that_file_alone() -> None:
    """M-18: sockets of other programs are in there."""
    with NamedTemporaryFile(dir="/tmp", suffix=".db") as data:
        may = confinement_of(ServerEntry("x", "npx", (data.name,)), Path("/h"), Path("/own"))
        assert may.writes == (Path(os.path.realpath(data.name)),)
    with NamedTemporaryFile(dir="/tmp", suffix=".py") as code:
        may = confinement_of(ServerEntry("x", "npx", (code.name,)), Path("/h"), Path("/own"))
        assert may.reads == (Path(os.path.realpath(code.name)),)


def test_m18_no_link_of_a_server_gives_it_more_at_its_next_start(tmp_path: Path) -> None:
    """M-18: it may write beside its data, so a link there leads it nowhere else."""
    home, own = tmp_path / "home", tmp_path / "own"
    data, rules, _ = listed(home, "data/shop.db", ".bashrc", "private/letter.txt")
    (home / "data" / "parts").mkdir()
    (home / "data" / "old").mkdir()
    listed(home, "data/old/x.db")
    arguments = (str(data), f"--parts={data.parent}/parts/", str(data.parent / "old" / "x.db"))
    entry = ServerEntry("shop", "x", arguments)
    before = confinement_of(entry, home, own)
    assert before.writes == (home / "data",)
    data.unlink()
    (home / "data" / "parts").rmdir()
    (home / "data" / "old" / "x.db").unlink()
    (home / "data" / "old").rmdir()
    listed(home, "private/x.db")
    (home / "data" / "hop").symlink_to("../private")
    data.symlink_to(rules)
    (home / "data" / "parts").symlink_to(home / "private")
    (home / "data" / "old").symlink_to("hop")
    after = confinement_of(replace(entry, folder=str(home / "data" / "hop")), home, own)
    assert (after.writes, after.reads) == ((), ())


def test_m18_no_server_makes_its_data_a_program(tmp_path: Path) -> None:
    """M-18: it would read the project around them, and could write them no more."""
    home, own = tmp_path / "home", tmp_path / "homes" / "shop"
    cli, code, _, memory = listed(
        home, "cli/bin/run", "cli/package.json", "work/.git/HEAD", "work/data/memory"
    )
    cli.chmod(0o755)
    late = home / "work" / "late" / "cache"
    plain = ServerEntry("shop", "x", tuple(map(str, (late, cli, memory))), sandbox="offline")
    entry = replace(plain, approved=plain.digest)
    before = confinement_of(entry, home, own)
    assert (before.writes, before.reads) == ((memory.parent,), (code.parent,))
    before.launch(("x",), home, {})
    memory.chmod(0o700)
    after = confinement_of(entry, home, own)
    assert (after.writes, after.reads) == (before.writes, before.reads)
    listed(home, "work/late/cache")
    late.chmod(0o700)
    after = confinement_of(entry, home, own)
    assert (after.writes, after.reads) == (before.writes, (late, code.parent))
    more = replace(plain, arguments=(*plain.arguments, "-v"))
    more = replace(more, approved=more.digest)  # the person saw anew what it reaches
    after = confinement_of(more, home, own)
    assert (after.writes, after.reads) == (before.writes, (home / "work", code.parent))


def test_m18_a_link_of_the_person_is_followed(tmp_path: Path) -> None:
    """M-18: one in the home folder, one in its folder, and those of a package."""
    home, own = tmp_path / "home", tmp_path / "own"
    listed(home, "tools/node_modules/x/i.js", "data/2026.db")
    (tmp_path / "disk" / "notes").mkdir(parents=True)
    (home / "disk").symlink_to(tmp_path / "disk")
    (home / "data" / "shop.db").symlink_to("2026.db")
    listed(home, "tools/node_modules/.bin/other")
    (home / "tools/node_modules/x/i.js").chmod(0o755)
    (home / "tools/node_modules/.bin/x").symlink_to("../x/i.js")
    arguments = ("tools/node_modules/.bin/x", "disk/notes", "data/shop.db")
    entry = ServerEntry("x", "node", tuple(str(home / one) for one in arguments))
    may = confinement_of(entry, home, own)
    assert set(may.writes) == {tmp_path / "disk" / "notes", home / "data"}
    assert may.reads == (home / "tools",)


def test_m18_data_beside_those_of_other_programs_are_written_alone(tmp_path: Path) -> None:
    """M-18: else it could write what the desktop begins at the next login."""
    data = listed(tmp_path, ".config/shop.json", ".local/share/shop.db", ".shop/shop.db")
    entry = ServerEntry("shop", "x", tuple(map(str, data)))
    may = confinement_of(entry, tmp_path, tmp_path / "own")
    assert set(may.writes) == {*data[:2], tmp_path / ".shop"}


@pytest.mark.parametrize("place", [PACK, HOST])
def test_m18_the_code_of_a_pack_stays_what_was_approved(tmp_path: Path, place: str) -> None:
    """M-18: its server writes the folder for its data alone."""
    code, data = tmp_path / "code", tmp_path / "data"
    (file,) = listed(code, "bin/server")
    data.mkdir()
    entry = ServerEntry(
        "office",
        str(file),
        (str(code),),
        {"PLUGIN_ROOT": str(code), "PLUGIN_DATA": str(data)},
        folder=str(data if place == HOST else code),
        place=f"{place}office",
    )
    may = confinement_of(entry, tmp_path / "home", tmp_path / "own")
    assert may.writes == (data,)
    assert code in may.reads and data not in may.reads
    kept = replace(entry, arguments=(str(code), str(tmp_path / "kept" / "records.db")))
    may = confinement_of(kept, tmp_path / "home", tmp_path / "own")
    assert may.writes == ((data, tmp_path / "kept") if place == HOST else (data,))


async def test_m18_what_is_shown_has_the_variables_that_it_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-18, M-12: a file of a folder cannot hide behind a variable what it reaches."""
    for name in ("set", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "set"))
    entry = ServerEntry(
        "x", "node", ("${PATH}", f"${{NOT_SET:-{tmp_path}/other}}", "${NOT_SET}", "${keychain:x}")
    )
    async with running_servers(tmp_path) as servers:
        may = servers.confinement(entry)
        assert may.writes == (tmp_path / "set", tmp_path / "other")
        of_pack = servers.confinement(replace(entry, place=f"{PACK}x"))
        assert not of_pack.writes and not of_pack.reads, "packs have none of the person's"


def test_m18_what_the_person_chose_is_theirs_alone(tmp_path: Path) -> None:
    """M-18, M-12: no file that is pasted or comes with a folder says it."""
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "said.json")
    file.path.write_text('{"mcpServers": {"one": {"command": "x", "sandbox": "offline"}}}')
    (entry,) = file.read().by_name.values()
    assert entry.sandbox == ""
    file.put(replace(entry, on=True, approved=entry.digest, sandbox="offline"))
    (entry,) = file.read().by_name.values()
    assert entry.sandbox == "offline" and entry.runs and entry.is_cut_off


@pytest.mark.parametrize("where", ["offline", "network"])
async def test_m18_a_confined_server_works_and_reaches_no_more(
    tmp_path: Path, sandbox: Sandbox, where: Sandboxing
) -> None:
    """M-18: the person's files are not there, and the network is theirs to give."""
    secret, beside, inside = listed(tmp_path, "secret.txt", "work/beside.txt", "named/inside.txt")
    listed(tmp_path, "named/.git/hooks/pre-commit", "named/.agents/permissions.yaml")
    plain = raw_server(str(tmp_path / "named"))
    entry = replace(plain, sandbox=where, approved=plain.digest)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        async with running_servers(tmp_path, entry, times=QUICK, sandbox=sandbox) as servers:
            later = [str(tmp_path / "named" / one) for one in (".git/hooks/x", ".agents/x")]
            written = ["$HOME/.npm-kept", str(tmp_path / "named" / "new.txt"), str(beside), *later]
            wanted = {
                "read": [str(one) for one in (secret, beside, inside)],
                "write": written,
                "port": port.getsockname()[1],
            }
            result = json.loads((await servers.call("raw", "reach", wanted)).text)
            assert [result[str(one)] for one in (secret, inside)] == [False, True]
            assert [result[one] for one in written[:2]] == [True, True]
            assert [result[one] for one in later] == [False, False], "it would run later"
            assert result["network"] == (where == "network")
            assert beside.read_text() == ""
            home = tmp_path / "server-homes" / "raw"
            assert (home / ".npm-kept").read_text() == "written"
            known = json.loads((await servers.call("raw", "environment", {})).text)
            assert known["HOME"] == str(home)
            assert known["npm_config_cache"].startswith(str(home))
            assert ("UV_OFFLINE" in known) == (where == "offline")
            with pytest.raises(ServerFailed):  # M-6: it is started again
                await servers.call("raw", "leave", {})
            await servers.call("raw", "echo", {})
            await servers.stop("raw")
            assert (home.parent / ".raw.json").exists()
            servers.remove_home("raw")
            assert not [*home.parent.iterdir()]


async def test_m18_only_a_server_that_asks_for_the_folder_of_a_chat_has_it(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """M-18, M-20: then each folder has a process that sees it alone."""
    one, other = tmp_path / "one", tmp_path / "other"
    listed(tmp_path, "one/a.txt", "other/a.txt")
    plain, asks = raw_server(name="plain"), raw_server("roots", name="asks")
    entries = [replace(each, sandbox="offline") for each in (plain, asks)]
    async with running_servers(tmp_path, *entries, times=QUICK, sandbox=sandbox) as servers:

        async def seen(name: str, folder: Path) -> list[bool]:
            files = [str(one / "a.txt"), str(other / "a.txt")]
            wanted = {"read": files, "write": [], "port": 9}
            said = json.loads((await servers.call(name, "reach", wanted, folder=folder)).text)
            return [said[file] for file in files]

        assert await seen("plain", one) == [False, False]
        both = await asyncio.gather(seen("asks", one), seen("asks", other))
        assert both == [[True, False], [False, True]]
        assert await seen("asks", one) == [True, False]


def test_m18_the_server_of_a_folder_has_its_folder(tmp_path: Path) -> None:
    """M-18: also where it does not ask."""
    entry = ServerEntry("x", "npx", place=str(tmp_path / "work"))
    assert confinement_of(entry, tmp_path, tmp_path / "own").writes == (tmp_path / "work",)


@pytest.mark.parametrize("where", ["offline", "network", ""])
async def test_m18_one_that_does_not_start_may_want_to_download(
    tmp_path: Path, sandbox: Sandbox, where: Sandboxing
) -> None:
    """M-18: its own last line comes first."""
    plain = raw_server("reason")
    entry = replace(plain, sandbox=where, approved=plain.digest)
    async with running_servers(tmp_path, entry, times=QUICK, sandbox=sandbox) as servers:
        with pytest.raises(ServerFailed, match="TOKEN is not set") as told:
            await servers.call("raw", "echo", {})
        assert ("give it a network for one start" in str(told.value)) == (where == "offline")


def processes(folder: Path) -> list[int]:
    """Processes of this computer that have the folder in their variables."""
    found: list[int] = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder).encode() in (one / "environ").read_bytes():
                found.append(int(one.name))
    return found


HOST_PROGRAM = """
    import asyncio, sys
    from dataclasses import replace
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from studio.processes.keeper import Keeper
    from studio.processes.sandbox import find_sandbox
    from support.mcp_servers import raw_server, running_servers

    async def main():
        folder = Path(sys.argv[2])
        entry = replace(raw_server("deaf", folder=folder), sandbox="offline")
        sandbox = find_sandbox(Keeper(), home=folder / "home")
        async with running_servers(folder, entry, sandbox=sandbox) as servers:
            await servers.call("raw", "silent", {})

    asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
async def test_m18_nothing_is_left_of_it_when_the_program_is_killed(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """M-4: with a call under way."""
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(tests).parent), tests))}
    (tmp_path / "home").mkdir()
    host = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", textwrap.dedent(HOST_PROGRAM), tests, str(tmp_path)),
        env=environment,
    )
    await until(lambda: (tmp_path / "pids").exists() or host.returncode is not None)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    assert (tmp_path / "pids").exists()
    await until(lambda: not processes(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
async def test_m18_nothing_is_left_of_a_confined_server(tmp_path: Path, sandbox: Sandbox) -> None:
    """M-4: deaf to the end of its input and to SIGTERM, with a grandchild in its own session."""
    plain = raw_server("deaf", str(tmp_path), folder=tmp_path / "named")
    (tmp_path / "named").mkdir()
    entry = replace(plain, sandbox="offline", approved=plain.digest)

    async with running_servers(tmp_path, entry, times=QUICK, sandbox=sandbox) as servers:
        await servers.start("raw")
        await until((tmp_path / "named" / "pids").exists)
        assert len(processes(tmp_path)) >= 2
        await servers.stop("raw")
        await until(lambda: not processes(tmp_path))


async def test_m18_where_there_is_no_sandbox_it_does_not_run(tmp_path: Path) -> None:
    """M-18: it says why; without the choice it runs as before."""
    plain = raw_server(folder=tmp_path)
    confined = replace(plain, sandbox="network", approved=plain.digest)
    async with running_servers(tmp_path, confined, times=QUICK) as servers:
        with pytest.raises(ServerFailed, match="It is not wanted here") as told:
            await servers.call("raw", "mark", {})
        assert told.value.kind == "sandbox" and servers.state("raw").kind == "failed"
        assert not (tmp_path / "calls").exists()
        servers.use([plain])
        await servers.call("raw", "echo", {})


async def test_m18_another_choice_is_another_process(tmp_path: Path, sandbox: Sandbox) -> None:
    """M-18: what ran with the person's rights does not go on with them."""
    plain = raw_server()
    async with running_servers(tmp_path, plain, times=QUICK, sandbox=sandbox) as servers:
        before = json.loads((await servers.call("raw", "environment", {})).text)
        servers.use([replace(plain, sandbox="offline")])
        after = json.loads((await servers.call("raw", "environment", {})).text)
        assert "HOME" not in before and "HOME" in after
        assert os.environ["PATH"].split(os.pathsep)[0] in after["PATH"]
        await asyncio.sleep(0)
