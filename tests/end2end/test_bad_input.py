"""Everything that can be wrong from outside: a clear message, the right code, nothing lost."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import socket
import sqlite3
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.agent.agent_files.parser import parse_agent
from studio.simulator import Call, RequestView, Text, Turn, html
from studio.storage.migrations import LATEST
from support.command import KEY_VARIABLES, Command, at_provider, finish, screen, session_of
from support.engine_home import PROTOCOLS, is_locked
from support.waiting import until, within

DEMO = ("run", "--provider", "simulator")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this computer that nobody listens on, and nobody else can take."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def holding(folder: Path, text: bytes) -> list[Path]:
    """The files below a folder that hold this text."""
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def webpage_or_answer(view: RequestView) -> Turn:
    return Turn(Text("Well."), faults=[html()] if "page" in view.last_user else [])


@pytest.mark.parametrize("provider", list(PROTOCOLS))
async def test_a_provider_that_cannot_answer(
    tmp_path: Path, provider: str, closed_port: int
) -> None:
    """A wrong key (P-4: not written anywhere), no network, a web page, an unknown model."""
    key = "bad-4711-wrong-key-8529"
    async with at_provider(tmp_path, provider, webpage_or_answer) as (terminal, simulator):
        base = ("run", "--provider", provider, "--model")
        if provider in KEY_VARIABLES:
            right = terminal.environment[KEY_VARIABLES[provider]]
            terminal.environment[KEY_VARIABLES[provider]] = key
            ended = await terminal(*base, "sim-model", "Remember this")
            assert ended.code == 2 and "rejected the API key" in ended.err
            assert "Your message is kept" in ended.err
            assert key not in ended.out + ended.err and not holding(terminal.home, key.encode())
            terminal.environment[KEY_VARIABLES[provider]] = right
            assert not holding(terminal.home, right.encode())
        else:
            ended = await terminal(*base, "missing-one", "Remember this")
        session = session_of(ended.err)
        going_on = ("run", "--session", session, "--model")

        ended = await terminal(*going_on, f"{provider}/missing-one", "Which?")
        assert ended.code == 2 and "has no model called missing-one" in ended.err
        ended = await terminal(*going_on, f"{provider}/sim-model", "A page")
        assert ended.code == 2 and "did not answer like" in ended.err
        assert "Check the base URL" in ended.err and "<" not in ended.err

        url = simulator.url(PROTOCOLS[provider])  # type: ignore[arg-type]
        away = url.replace(str(simulator.port), str(closed_port))
        terminal.provider(provider, away)
        ended = await terminal(*going_on, f"{provider}/sim-model", "Anybody?")
        assert ended.code == 2 and "Can't reach" in ended.err
        terminal.provider(provider, url)
        if provider == "openai-compatible":
            ended = await terminal(*going_on, f"{provider}/sim-model", "Now?")
            assert (ended.code, ended.out) == (0, "Well.\n")
            sent = str(simulator.requests[-1].json)
            for kept in ("Remember this", "Which?", "Anybody?", "Now?"):
                assert kept in sent, "nothing the person typed is lost"
        assert not simulator.violations


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
async def test_no_key(tmp_path: Path, provider: str) -> None:
    """The message names the variable, and what was typed is kept. No keychain is no fault."""
    terminal = Command(tmp_path, DBUS_SESSION_BUS_ADDRESS=f"unix:path={tmp_path}/nowhere")
    ended = await terminal("run", "--provider", provider, "A long letter")
    assert ended.code == 1 and ended.out == ""
    assert "There is no API key" in ended.err and KEY_VARIABLES[provider] in ended.err
    shown = await terminal("sessions", "show", session_of(ended.err))
    assert "A long letter" in shown.out


async def test_a_compatible_server_without_an_address(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    ended = await terminal("run", "--provider", "openai-compatible", "--model", "m", "Hi")
    assert ended.code == 1 and "has no address" in ended.err and "OPENAI_BASE_URL" in ended.err
    ended = await terminal("run", "--provider", "openai-compatible", "Hi")
    assert ended.code == 1 and "has no address" in ended.err
    terminal.environment["OPENAI_BASE_URL"] = "no url at all"
    ended = await terminal("run", "--provider", "openai-compatible", "--model", "m", "Hi")
    assert ended.code == 2 and "Check the base URL" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("run", "--provider", "nobody", "Hi"),
            "argument --provider: “nobody” is not one of anthropic, openai, ",
        ),
        (("run", "--model"), "expected one argument"),
        (("fly",), "“fly” is not one of run, chat, doctor, "),
        (("sessions",), "missing: WHAT, one of list, "),
        (("simulate", "--port", "70000"), "a port is a number from 0 to 65535"),
        ((*DEMO, "--agent", "Nobody", "Hi"), "There is no agent Nobody. Known are Assistant,"),
        ((*DEMO, "--session", "abc", "Hi"), "There is no session with an id that begins with abc."),
        (("sessions", "events", "abc"), "There is no session with an id that begins with abc."),
        ((*DEMO, "--allow", "run(", "Hi"), "“run(” is not a rule. Write TOOL or TOOL(PATTERN)."),
        ((*DEMO, "--allow", "fly", "Hi"), "There is no tool fly. Known are apply_patch, ask, "),
        ((*DEMO, "--folder", "/no/such/place", "Hi"), "The folder /no/such/place is not there."),
        ((*DEMO, " \n"), "There is no message."),
        (DEMO, "There is no message."),
        ((), "There is no display"),
    ],
)
async def test_wrong_use(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 1, a line that says what is wrong, and nothing on standard output."""
    terminal = Command(tmp_path)
    ended = await terminal(*arguments)
    assert ended.code == 1 and ended.out == "" and words in ended.err, ended
    assert len(ended.err.splitlines()) <= 6


BROKEN = [
    (b"name: x\n", 1, "three dashes"),
    (b"---\nname: x\n", 1, "closes the frontmatter"),
    (b"---\nname: x\ndescription: [a\n---\nDo.\n", 3, ""),
    (b"---\nname: x\n\n---\n\n", 4, "instructions"),
    (b"---\n- a\n---\nDo.\n", 2, "key: value"),
    (b"---\nname: x\ncolour: red\n---\nDo.\n", 3, "no key “colour”"),
    (b"---\nname: x\ntools: 5\n---\nDo.\n", 3, "list of names"),
    (b"---\nname: [x]\n---\nDo.\n", 2, "name is a text"),
    (b"---\nname: x\nhue: rust\nmode: fast\n---\nDo.\n", 4, "one of inline, background"),
    (b"---\nname: x\neffort: huge\n---\nDo.\n", 3, "effort is one of none, minimal, low"),
    (b"---\nname: x\neffort: off\n---\nDo.\n", 3, "effort is one of"),
    (b"---\nname: x\neffort: [low]\n---\nDo.\n", 3, "effort is a text"),
    (b"---\nname: x\ntemperature: 2.1\n---\nDo.\n", 3, "a number from 0 to 2"),
    (b"---\nname: x\ntemperature: -1\n---\nDo.\n", 3, "a number from 0 to 2"),
    (b"---\nname: x\ntemperature: warm\n---\nDo.\n", 3, "a number from 0 to 2"),
    (b"---\nname: x\ntemperature: true\n---\nDo.\n", 3, "a number from 0 to 2"),
    (b"---\nname: x\ntemperature: .nan\n---\nDo.\n", 3, "a number from 0 to 2"),
    (b"---\nname: x\npermissions:\n  allow: ['run(']\n---\nDo.\n", 4, "not a rule"),
    (b"---\nname: x\ndescription: \x01\n---\nDo.\n", 3, "does not allow"),
    (b"---\nname: " + b"[" * 5000 + b"\n---\nDo.\n", 2, ""),
]


@pytest.mark.parametrize(("text", "line", "words"), BROKEN)
def test_a_broken_agent_file_names_its_line(text: bytes, line: int, words: str) -> None:
    with pytest.raises(ValueError, match=rf"^line {line}: ") as raised:
        parse_agent(text.decode("utf-8"), Path("x.md"))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("lines", "effort", "temperature"),
    [
        ("", None, None),
        ("effort:\ntemperature:\n", None, None),
        ("effort: none\ntemperature: 0\n", "none", 0.0),
        ("effort: xhigh\ntemperature: 0.7\n", "xhigh", 0.7),
        ("temperature: 2\n", None, 2.0),
    ],
)
def test_an_agent_says_how_hard_it_thinks_and_how_freely(
    lines: str, effort: str | None, temperature: float | None
) -> None:
    agent = parse_agent(f"---\nname: x\n{lines}---\nDo.\n", Path("x.md"))
    assert (agent.effort, agent.temperature) == (effort, temperature)


async def test_broken_agent_files_do_not_stop_the_others(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    own, project = terminal.home / "agents", terminal.folder / ".agents" / "agents"
    for folder in (own, project):
        folder.mkdir(parents=True)
    (own / "loud.md").write_text("---\nname: Loud\nhue: loud\n---\nShout.\n")
    (own / "latin.md").write_bytes(b"---\nname: Latin\n---\nCaf\xe9.\n")
    (project / "open.md").write_text("---\nname: Open\n")
    (project / "folder.md").mkdir()
    (project / "good.md").write_text("---\nname: Good\n---\nBe good.\n")
    ended = await terminal(*DEMO, "--agent", "good", "Hello")
    assert ended.code == 0
    for problem in (
        f"{own}/loud.md, line 3: hue is one of",
        f"{own}/latin.md, line 4: this is not UTF-8 text",
        f"{project}/open.md, line 1: ",
        f"{project}/folder.md: Is a directory",
    ):
        assert f"Agent skipped: {problem}" in ended.err
    ended = await terminal(*DEMO, "--agent", "Loud", "Hello")
    assert ended.code == 1 and "no agent Loud" in ended.err and "loud.md, line 3" in ended.err


async def test_a_folder_that_vanished(tmp_path: Path) -> None:
    """The message is kept, and the session goes on in another folder."""
    terminal = Command(tmp_path)
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    other.mkdir()
    ended = await terminal(*DEMO, "--folder", str(project), "Hello")
    session = session_of(ended.err)
    shutil.rmtree(project)
    ended = await terminal("run", "--session", session, "Are you there?")
    assert ended.code == 1 and f"The folder {project} is not there any more." in ended.err
    assert "Your message is kept" in ended.err
    ended = await terminal("run", "--session", session, "--folder", str(other), "And now?")
    assert ended.code == 0 and "Simulated" in ended.out
    shown = await terminal("sessions", "show", session)
    assert "Are you there?" in shown.out and str(other) in shown.out


async def test_files_that_are_binary_or_huge(tmp_path: Path) -> None:
    """In little memory; no key reaches a command (P-4)."""
    # KiB of the biggest child so far: tests before this one may have had a bigger one.
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    calls = [
        Call(name, {**arguments, "path": path})
        for path in ("hole.bin", "log.txt")
        for name, arguments in (
            ("read", {}),
            ("edit", {"old": "x", "new": "y"}),
            ("write", {"content": "x"}),
        )
    ]
    more = [
        Call("list", {}),
        Call("search", {"pattern": "needle"}),
        Call("run", {"command": "env"}),
    ]
    script = [Turn(*calls[:4]), Turn(*calls[4:], *more), Turn(Text("Done."))]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        terminal.environment["ANTHROPIC_API_KEY"] = "sk-ant-secret-0815"
        with (terminal.folder / "hole.bin").open("wb") as file:
            file.truncate(640 << 20)
        with (terminal.folder / "log.txt").open("wb") as file:
            file.write(b"a line of the log\n" * 5000)
            file.truncate(640 << 20)
        (terminal.folder / "small.txt").write_text("a needle\n")
        events = await terminal.turn("--provider", "ollama", "--model", "m", "--allow", "run", "Go")
        done = [event for event in events if event["event"] == "tool_finished"]
        texts = " ".join(event["text"] for event in done)
        assert len(done) == len(calls) + len(more)
        assert "hole.bin is a binary file (6" in texts and "a line of the log" in texts
        assert "log.txt is too big to be read whole" in texts and "small.txt" in texts
        assert "sk-ant-secret-0815" not in texts and "PATH=" in texts
        assert not holding(terminal.home, b"sk-ant-secret-0815")
        assert not simulator.violations
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak <= max(before, 500_000)


async def saved(terminal: Command) -> Path:
    """A database with a session in it."""
    assert (await terminal(*DEMO, "Hello")).code == 0
    return terminal.home / "studio.db"


async def test_a_damaged_database_is_kept_and_a_new_one_begun(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    database = await saved(terminal)
    damage = b"SQLite format 3\0" + os.urandom(5000)
    database.write_bytes(damage)
    ended = await terminal(*DEMO, "Hello")
    assert ended.code == 0 and "The saved chats were damaged. The file is kept as" in ended.err
    kept = [path for path in terminal.home.iterdir() if "damaged" in path.name]
    assert len(kept) == 1 and kept[0].read_bytes() == damage and str(kept[0]) in ended.err
    assert len((await terminal("sessions", "list")).out.splitlines()) == 1


async def test_a_locked_or_newer_database_is_left_alone(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    database = await saved(terminal)
    other = sqlite3.connect(database, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        ended = await terminal(*DEMO, "Hello")
        assert ended.code == 1 and ended.out == ""
        assert f"Another program is using {database}." in ended.err
        other.execute("ROLLBACK")
        other.execute(f"PRAGMA user_version = {LATEST + 1}")
    finally:
        other.close()
    before = database.read_bytes()
    ended = await terminal("sessions", "list")
    assert ended.code == 1 and "written by a newer version" in ended.err
    assert database.read_bytes() == before


async def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A read-only database, a home that cannot be made: as a person without special rights."""
    place = tmp_path
    terminal = Command(place)
    try:
        database = await saved(terminal)
        size = database.stat().st_size
        for path in (place, terminal.home, terminal.folder):
            path.chmod(0o555)
        database.chmod(0o444)
        ended = await terminal(*DEMO, "Hello", plain=True)
        assert ended.code == 1 and f"{database} cannot be" in ended.err
        assert "Allow writing to the file and its folder." in ended.err
        assert database.stat().st_size == size
        for command in (
            ("sessions", "list"),
            ("sessions", "show", "last"),
            ("export", "--all"),
            ("drafts", "list"),
            ("audit",),
            ("usage",),
        ):
            ended = await terminal(*command, plain=True)
            assert ended.code == 0 and "can only be read" in ended.err, (command, ended)
            assert "Hello" in ended.out or command[0] not in ("sessions", "export")
        terminal.environment["AGENT_STUDIO_HOME"] = str(place / "new")
        ended = await terminal("sessions", "list", plain=True)
        assert ended.code == 1 and f"The folder {place}/new cannot be made" in ended.err
        assert "AGENT_STUDIO_HOME can name another place" in ended.err
        (terminal.home / "settings.json").touch(0o000)
        terminal.environment["AGENT_STUDIO_HOME"] = str(terminal.home)
        ended = await terminal(*DEMO, "Hello", plain=True)
        assert ended.code == 1 and "settings.json cannot be read (Permission denied)" in ended.err
    finally:
        for path in (place, terminal.home):
            path.chmod(0o755)


async def test_broken_settings_and_tools_are_named_and_kept(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    tools = terminal.home / "tools"
    tools.mkdir(parents=True)
    (tools / "mine.py").write_text("import nothing_of_the_kind\n")
    (terminal.home / "settings.json").write_text('{"theme": ')
    ended = await terminal(*DEMO, "Hello")
    assert ended.code == 0 and "The settings could not be read" in ended.err
    kept = next(path for path in terminal.home.iterdir() if "broken" in path.name)
    assert kept.read_text() == '{"theme": ' and str(kept) in ended.err
    assert f"{tools}/mine.py, line 1: ModuleNotFoundError" in ended.err
    (terminal.home / "settings.json").write_text('{"theme": 5, "mine": 1, "base_urls": {"a": 2}}')
    ended = await terminal(*DEMO, "Hello")
    assert ended.code == 0 and "settings could" not in ended.err


async def test_nobody_reads_the_output_any_more(tmp_path: Path) -> None:
    """``| head -1``: the turn is stopped, which is no failure, and nothing is said of pipes."""
    script = [Turn(Text("line\n" * 2000)), Turn(Text("line\n" * 2000))]
    async with at_provider(tmp_path, "ollama", script) as (terminal, _):
        base = ("run", "--provider", "ollama", "--model", "m")
        for arguments in ((*base, "Go"), (*base, "--json", "Go"), ("sessions", "list")):
            ended = await terminal.unread(*arguments)
            assert ended.code == 0 and "ipe" not in ended.err
        states = [
            info["state"] for info in json.loads((await terminal("sessions", "list", "--json")).out)
        ]
        assert states == ["cancelled", "cancelled"]


async def test_started_without_standard_streams(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    for redirections in ("<&- >&-", "<&- 2>&-"):
        process = await asyncio.create_subprocess_shell(
            f"{sys.executable} -m studio run --provider simulator Hello {redirections}",
            stdout=PIPE,
            stderr=PIPE,
            env=terminal.environment,
            cwd=terminal.folder,
        )
        assert (await finish(process)).code == 0


async def test_a_person_who_goes_away(tmp_path: Path) -> None:
    """A terminal that is closed ends the turn and all it started (L-11)."""
    child = "import fcntl, time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); time.sleep(3600)"
    command = f'{sys.executable} -c "{child}" & wait'
    script = [
        Turn(Call("run", {"command": "echo one"})),
        Turn(Call("run", {"command": command})),
        Turn(Text("Well.")),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        base = ("run", "--provider", "ollama", "--model", "m")
        async with screen(terminal, *base, "Go") as shown:
            await shown.until("Allow? ")
            shown.hang_up()
            assert await shown.end() == 130
        async with screen(terminal, *base, "--allow", "run", "Go") as shown:
            await shown.until("Running")
            async with within():
                lock = terminal.folder / "child"
                while not (lock.exists() and is_locked(lock)):  # noqa: ASYNC110 (a file)
                    await asyncio.sleep(0.01)
            shown.hang_up()
            assert await shown.end() == 130
        await until(lambda: not is_locked(lock))
        listed = json.loads((await terminal("sessions", "list", "--json")).out)
        assert [info["state"] for info in listed] == ["cancelled", "cancelled"]
        assert not simulator.violations
