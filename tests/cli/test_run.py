"""``agent-studio run`` in scripts: real processes against a strict simulator (S-5)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from studio.cli.console import FIRST_BYTE_SECONDS
from studio.simulator import Call, RequestView, Text, Turn, Usage, stall
from studio.simulator.request_view import Said
from support.command import Command, at_provider, finish, screen, session_of
from support.engine_home import engine_home, reply_requests, say
from support.model_calls import reading
from support.waiting import HANG

BASE = ("run", "--provider", "ollama", "--model", "m")
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}


PACKAGES = {"backports", "httpx2", "idna", "platformdirs", "studio", "typing_extensions", "yaml"}
"""All that ``run`` imports from outside before it asks a local server."""
UNUSED = {
    *("ctypes", "decimal", "multiprocessing", "tomllib", "unittest", "xml.parsers.expat"),
    *("studio.domain.run_events", "studio.workflows", "studio.simulator", "studio.cli.chat"),
    *("studio.server", "studio.acp"),
}


async def test_little_is_imported_before_the_first_request(tmp_path: Path) -> None:
    """Imports are most of what ``run`` takes until then: a new heavy one has to be wanted."""
    imported = await asyncio.to_thread(_imported_before_the_first_request, Command(tmp_path))
    assert "httpx2" in imported and "studio.agent.loop.agent_loop" in imported
    first = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    known = PACKAGES | await asyncio.to_thread(_imported_by_a_bare_start)
    assert not {name for name in first - known if find_spec(name)}
    assert imported & UNUSED == set()


def _imported_by_a_bare_start() -> set[str]:
    """What this Python imports before any program, such as ``sitecustomize``."""
    command = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    bare = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG)
    return set(bare.stdout.split())


def _imported_before_the_first_request(terminal: Command) -> set[str]:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        (terminal.folder / "err").open("w+") as err,
    ):
        server.settimeout(HANG)
        terminal.provider("ollama", f"http://127.0.0.1:{server.getsockname()[1]}")
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "studio", *BASE, "Hi"],
            env=terminal.environment,
            cwd=terminal.folder,
            stderr=err,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            while True:
                connection, _ = server.accept()
                with connection:
                    if connection.recv(4096).startswith(b"POST"):
                        break
        finally:
            process.kill()
            process.wait()
        err.seek(0)
        return {line.rpartition("|")[2].strip() for line in err}


async def test_an_answer_that_fits_a_schema_is_all_there_is(tmp_path: Path) -> None:
    """The first answer is words, the second does not fit, the third does, in a fence."""
    good = {"city": "Lyon", "people": 522250}
    script = [
        Turn(Text("I look."), Call("list", {"path": "."}), stop="tool_use"),
        Turn(Text("Lyon has 522,250 people.")),
        Turn(Text('{"city": "Lyon"}')),
        Turn(Text(f"```json\n{json.dumps(good, indent=2)}\n```")),
        Turn(Text('{"city": "Lyon", "people": 1}')),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        (terminal.folder / "city.json").write_text(json.dumps(SCHEMA))
        ended = await terminal(*BASE, "--schema", "city.json", "The city?")
        assert (ended.code, json.loads(ended.out)) == (0, good), ended
        assert ended.out.count("\n") == 1 and "· Listing" in ended.err
        sent = str(reply_requests(simulator)[2].json)
        assert "not JSON" in sent and "people" in str(reply_requests(simulator)[3].json)
        again = await terminal(*BASE, "--quiet", "--schema", json.dumps(SCHEMA), "Again?")
        assert (again.code, again.out, again.err) == (0, '{"city": "Lyon", "people": 1}\n', "")
        assert not simulator.violations


async def test_an_answer_that_never_fits_is_an_error(tmp_path: Path) -> None:
    async with at_provider(tmp_path, "ollama", lambda _: Turn(Text("Lyon."))) as (
        terminal,
        simulator,
    ):
        place = terminal.folder / "out.json"
        place.write_text("old\n")
        ended = await terminal(
            *BASE, "--schema", json.dumps(SCHEMA), "--output", str(place), "The city?"
        )
        assert (ended.code, ended.out, place.read_text()) == (2, "", "old\n")
        assert "does not fit the schema" in ended.err and len(reply_requests(simulator)) == 3
        for wrong, words in (
            ("nowhere.json", "cannot be read"),
            ("{", "not JSON"),
            ('{"type": 7}', "no JSON schema"),
        ):
            refused = await terminal(*BASE, "--schema", wrong, "Hello")
            assert refused.code == 1 and words in refused.err, refused
        assert len(reply_requests(simulator)) == 3


async def test_the_answer_goes_into_a_file(tmp_path: Path) -> None:
    """Whole or not at all; what is said before the work is done is no part of it."""
    script = [
        Turn(Text("I look."), Call("list", {"path": "."}), stop="tool_use"),
        Turn(Text("All is well.")),
        Turn(Text("Second.")),
        Turn(Text("Third.")),
        Turn(Text("Fourth.")),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        place = terminal.folder / "out.md"
        ended = await terminal(*BASE, "--output", "out.md", "Go")
        assert (ended.code, ended.out, place.read_text()) == (0, "", "All is well.\n")
        assert "· Listing" in ended.err and stat.S_IMODE(place.stat().st_mode) == 0o600
        place.chmod(0o644)
        events = await terminal.turn("--output", "out.md", "--session", "last", "Go on")
        assert events[-1]["reason"] == "done" and place.read_text() == "Second.\n"
        assert stat.S_IMODE(place.stat().st_mode) == 0o644
        shown = await terminal(*BASE, "--output", "-", "--quiet", "Go")
        assert (shown.code, shown.out, shown.err) == (0, "Third.\n", "")
        ended = await terminal(*BASE, "--output", "/dev/stdout", "Go")  # no file is put over it
        assert ended.code == 0 and ended.out == "Fourth.\n"
        assert [one.name for one in terminal.folder.iterdir()] == ["out.md"]
        known = len(reply_requests(simulator))
        for wrong, words in ((".", "is a folder"), ("no/where", "is not there")):
            refused = await terminal(*BASE, "--output", wrong, "Go")
            assert refused.code == 1 and words in refused.err
        assert len(reply_requests(simulator)) == known


async def test_what_is_piped_in_goes_along(tmp_path: Path) -> None:
    """Beside a message it is attached; a pipe that is open and silent holds nothing up."""

    def script(view: RequestView) -> Turn:
        return Turn(Text("Seen." if "disk full" in str(view.items) else "Nothing."))

    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        ended = await terminal(*BASE, "--quiet", "What went wrong", said=b"line 1\ndisk full\n")
        assert (ended.code, ended.out) == (0, "Seen.\n")
        content = reply_requests(simulator)[-1].json["messages"][-1]["content"]
        assert "stdin" in content and content.endswith("What went wrong")
        (terminal.folder / "log").write_text("disk full\n")
        with (terminal.folder / "log").open() as log:
            ended = await finish(await terminal.start(*BASE, "--quiet", "Why", stdin=log.fileno()))
        assert ended.out == "Seen.\n"
        assert (await terminal(*BASE, "--quiet", "Why", said=b"")).out == "Nothing.\n"

        silent = await terminal.start(*BASE, "Why", stdin=PIPE)
        assert silent.stdout is not None and silent.stdin is not None
        out = await asyncio.wait_for(silent.stdout.read(), HANG)  # its stdin is still open
        ended = await finish(silent)
        assert out == b"Nothing.\n" and ended.code == 0
        assert "Nothing came on standard input" in ended.err

        late = await terminal.start(*BASE, "--attach", "-", "--quiet", "Why", stdin=PIPE)
        assert late.stdin is not None
        known = len(reply_requests(simulator))
        with pytest.raises(TimeoutError):  # longer than it waits unasked
            await asyncio.wait_for(late.wait(), FIRST_BYTE_SECONDS + 0.5)
        assert len(reply_requests(simulator)) == known
        assert (await finish(late, b"disk full\n")).out == "Seen.\n"

        message = await terminal(*BASE, "-", said=b"disk full?")
        assert message.out == "Seen.\n"
        both = await terminal(*BASE, "--attach", "-", said=b"x")
        assert both.code == 1 and "Give a message" in both.err
        binary = await terminal(*BASE, "Why", said=b"\x7fELF\0\0\1")
        assert binary.code == 1 and "stdin is a binary file" in binary.err
        assert not simulator.violations


async def test_a_turn_has_bounds_of_its_own(tmp_path: Path) -> None:
    """L-1, L-14: steps, tokens and money; a reached cap says so and ends with 3."""

    def script(view: RequestView) -> Turn:
        call = Call("search", {"pattern": str(len(view.items))})
        # The second is much more than the first let expect, so that it passes the cap itself.
        used = 15_000 if view.api == "ollama" and view.nth == 3 else 4_000
        return Turn(call, stop="tool_use", usage=Usage(inp=used, out=10))

    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        ended = await terminal(*BASE, "--max-steps", "2", "Loop")
        assert (
            ended.code == 3 and "all 2 steps" in ended.err and len(reply_requests(simulator)) == 2
        )
        ended = await terminal(*BASE, "--quiet", "--budget", "20000tok", "Loop")
        assert ended.code == 3 and ended.out == ""
        assert "20,000 tokens for one turn is reached" in ended.err
        assert len(reply_requests(simulator)) <= 5
    (tmp_path / "two").mkdir()
    async with at_provider(tmp_path / "two", "anthropic", script) as (terminal, simulator):
        opus = ("run", "--provider", "anthropic", "--model", "claude-opus-5-5")
        ended = await terminal(*opus, "--budget", "0.05", "Loop")
        assert ended.code == 3 and "may exceed your limit of $0.05 for one turn" in ended.err
        assert len(reply_requests(simulator)) <= 3
        for wrong in ("free", "0", "-1", "10 euros"):
            refused = await terminal(*BASE, f"--budget={wrong}", "Loop")
            assert refused.code == 1 and "a budget is dollars" in refused.err
        for option in ("--max-steps", "--seconds"):
            refused = await terminal(*BASE, option, "0", "Loop")
            assert refused.code == 1 and "from 1 to" in refused.err


async def test_c1_seconds_bound_a_turn(tmp_path: Path) -> None:
    """C-1: a provider that says nothing is left after as many as the person gave."""
    script = [Turn(faults=[stall("headers")])]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        ended = await terminal(*BASE, "--seconds", "1", "Go")
        assert ended.code == 3 and "reached its limit of 1 s" in ended.err, ended
        assert len(reply_requests(simulator)) <= 1  # none, if it took a second to begin


@pytest.mark.parametrize("typed", ["1", "2", ""])
async def test_c1_who_is_there_is_asked_ahead_of_a_limit(tmp_path: Path, typed: str) -> None:
    """C-1: at a terminal by number, as any question; without one the turn ends at the limit."""
    async with at_provider(tmp_path, "ollama", reading(5, tmp_path / "work")) as (
        terminal,
        simulator,
    ):
        terminal.change(long_steps=4)
        if not typed:
            ended = await terminal(*BASE, "Go")
            assert ended.code == 3 and "all 4 steps" in ended.err, ended
        else:
            async with screen(terminal, *BASE, "Go") as shown:
                await shown.until("of 4 in this turn. May it go on?")
                await shown.until("2. No, come to an end\nAnswer: ")
                shown.type(f"{typed}\n")
                await shown.until("All done." if typed == "1" else "all 4 steps")
                assert await shown.end() == (0 if typed == "1" else 3)
        assert len(reply_requests(simulator)) == (5 if typed == "1" else 4)
        assert not simulator.violations


async def test_how_hard_to_think_reaches_the_model(tmp_path: Path) -> None:
    async with at_provider(tmp_path, "anthropic", [Turn(Text("Hm."))]) as (terminal, simulator):
        ended = await terminal(
            *("run", "--provider", "anthropic", "--model", "claude-opus-5-5"),
            *("--effort", "low", "Think"),
        )
        assert ended.code == 0 and "'effort': 'low'" in str(reply_requests(simulator)[-1].json)


async def test_a_refusal_is_no_success(tmp_path: Path) -> None:
    """T-7, L-15: by a rule of the turn, by a standing one, or because nobody is there."""
    steps = [Turn(Call("run", {"command": "git push"}), stop="tool_use"), Turn(Text("Well."))]
    async with at_provider(tmp_path, "ollama", steps * 3) as (terminal, simulator):
        ended = await terminal(*BASE, "--deny", "run(git *)", "Push")
        assert (ended.code, ended.out) == (4, "Well.\n")
        assert "rule for this turn run(git *) refuses it" in str(reply_requests(simulator)[-1].json)
        assert (await terminal(*BASE, "Push")).code == 4
        added = await terminal("permissions", "add", "run(git push*)", "--deny")
        assert added.code == 0
        assert (await terminal(*BASE, "Push")).code == 4
        audit = json.loads((await terminal("audit", "--json")).out)
        assert [(one["state"], one["decided_by"]) for one in audit] == [
            ("refused", "your rule for this turn run(git *)"),
            ("denied", "nobody was there to ask"),
            ("refused", "your rule run(git push*)"),
        ]
        assert all(one["decided_at"] for one in audit) and not simulator.violations


async def test_the_last_session_goes_on(tmp_path: Path) -> None:
    """“last” is the latest that a person holds; new ones are the terminal's."""
    async with at_provider(tmp_path, "ollama", lambda _: Turn(Text("Yes."))) as (
        terminal,
        simulator,
    ):
        none = await terminal("run", "--session", "last", "Hello")
        assert none.code == 1 and "no session yet" in none.err
        first = session_of((await terminal(*BASE, "One")).err)
        ended = await terminal("run", "--session", "last", "Two")
        assert session_of(ended.err) == first and "One" in str(reply_requests(simulator)[-1].json)
        listed = json.loads((await terminal("sessions", "list", "--json")).out)
        assert [one["origin"] for one in listed] == ["terminal"]


async def test_two_at_once_share_the_data(tmp_path: Path) -> None:
    """Three commands at one database: every session is whole."""

    def script(view: RequestView) -> Turn:
        return Turn(Text(f"You said {view.last_user}."))

    async with at_provider(tmp_path, "ollama", script) as (terminal, _):
        ended = await asyncio.gather(*(terminal(*BASE, f"word{n}") for n in range(3)))
        assert [(one.code, one.out) for one in ended] == [
            (0, f"You said word{n}.\n") for n in range(3)
        ]
        for n, one in enumerate(ended):
            shown = await terminal("sessions", "show", session_of(one.err))
            assert f"You said word{n}." in shown.out


async def test_beside_an_open_house(tmp_path: Path) -> None:
    """The window's engine and a command work at one database; a chat has one at a time."""
    going = asyncio.Event()

    def script(view: RequestView) -> Turn:
        going.set()
        if "wait" in view.last_user:
            return Turn(Text("Slowly. " * 50), faults=[stall(at=3)])
        return Turn(Text(f"You said {view.last_user}."))

    async with engine_home(tmp_path, "ollama", script) as one:
        terminal = Command(tmp_path)
        terminal.environment["AGENT_STUDIO_HOME"] = str(one.engine.paths.data)
        terminal.provider("ollama", one.simulator.url("ollama"))
        session = await one.session()
        _, *ended = await asyncio.gather(
            say(session, "mine"), *(terminal(*BASE, f"theirs{n}") for n in range(2))
        )
        assert [(e.code, e.out) for e in ended] == [(0, f"You said theirs{n}.\n") for n in range(2)]
        for n, e in enumerate(ended):  # the house goes on in what the command began
            [info] = [i for i in await one.engine.sessions.list() if i.id[:8] == session_of(e.err)]
            assert (info.state, info.origin, info.title) == ("done", "terminal", f"theirs{n}")
            await say(await one.engine.sessions.open(info.id), "more")
            assert f"theirs{n}" in str(reply_requests(one.simulator)[-1].json)
        going.clear()
        waiting = asyncio.ensure_future(say(session, "wait"))
        await going.wait()
        refused = await terminal("run", "--session", session.info.id[:8], "And I?")
        assert refused.code == 1 and "is working in this chat" in refused.err
        session.stop()
        await waiting
        ended = await terminal("run", "--session", session.info.id[:8], "And now?")
        assert (ended.code, ended.out) == (0, "You said And now?.\n")
        assert not one.simulator.violations


async def test_standard_input_is_bounded_and_an_empty_id_names_nothing(tmp_path: Path) -> None:
    """A stream without an end is no message; an unset variable of a script is no new session."""
    terminal = Command(tmp_path)
    process = await terminal.start(*BASE, stdin=PIPE)
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        while process.returncode is None:
            process.stdin.write(b"y\n" * (1 << 17))
            await process.stdin.drain()
    ended = await finish(process)
    assert ended.code == 1 and "more than 20 MB" in ended.err
    for command in (("run", "Hi"), ("usage",), ("audit",), ("drafts", "list")):
        refused = await terminal(*command, "--session", "")
        assert refused.code == 1 and "no id of a session" in refused.err, refused
    for option in ("--model", "-m", "--agent"):  # another model is not what was asked for
        refused = await terminal("run", option, "", "Hi")
        assert refused.code == 1 and "no name is given" in refused.err, refused
    full = os.open("/dev/full", os.O_WRONLY)
    process = await terminal.start("config", "list", stdout=full)
    os.close(full)
    ended = await finish(process)
    assert ended.code == 1 and "Standard output cannot be written: no space" in ended.err


async def test_wrong_words_are_told_in_two_lines(tmp_path: Path) -> None:
    """What is wrong, and where the help is; it can be read on any terminal."""
    terminal = Command(tmp_path)
    for command, words in (
        (("run", "--nonsense"), "agent-studio run: unknown: --nonsense"),
        (("serve", "--port", "x"), "a port is a number from 0 to 65535"),
        (("permissions", "remove", "x"), "the number of a rule is needed"),
        (("run", "tell", "me", "more"), "unknown: me more. A message of several words is put in"),
        (("completion",), "agent-studio completion: missing: SHELL, one of bash, zsh, fish, "),
        (("config", "get"), "agent-studio config get: missing: KEY"),
        (("usage", "--by", "x"), "argument --by: “x” is not one of "),
        (("sessions", "dlete"), "there is no “dlete”. Did you mean delete?"),
    ):
        ended = await terminal(*command)
        first, second = ended.err.splitlines()
        assert (ended.code, ended.out) == (1, "") and words in first
        assert second.startswith(f"For help: agent-studio {command[0]}")
    terminal.environment |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert (await terminal("run", "--help")).code == 0


async def test_permission_is_chosen_for_the_chat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T-7: the option, else the person's default; the old spelling says where it belongs."""

    def script(view: RequestView) -> Turn:
        if isinstance(view.items[-1], Said):
            return Turn(Call("write", {"path": "a.txt", "content": "it"}), stop="tool_use")
        return Turn(Text("Done."))

    async with engine_home(tmp_path, "ollama", script) as home:
        base = ("run", "--provider", "ollama", "--model", "m", "--folder", str(home.folder))
        place = home.folder / "a.txt"

        async def mode(*words: str) -> str:
            """The mode of the chat in which a file was to be written."""
            code = await home.command(*base, *words, "Go")
            (last, *_) = await home.engine.sessions.list()
            assert code == 0
            return last.permission_mode

        values = home.engine.settings.values
        assert await mode() == "ask"
        values.default_permission_mode = "plan"
        assert await mode() == "plan"
        explained = await home.engine.explain("write", "a.txt", home.folder)
        assert explained.verdict == "deny"
        capsys.readouterr()
        assert await mode("--mode", "ask") == "ask" and not place.exists()
        assert "--mode ask is now --permission ask." in capsys.readouterr().err
        assert await mode("--permission", "auto", "--mode", "inline") == "auto"
        assert place.read_text() == "it"
        assert await mode("--session", "last", "--permission", "plan") == "plan"
        made = await home.engine.sessions.create(
            folder=str(home.folder), agent="Coder", provider="ollama", model="m"
        )
        assert made.info.permission_mode == "plan"
