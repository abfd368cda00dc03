"""A pack of other people, whose Python runs in a process of its own (X-3, KZ-10)."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.app import build
from studio.domain.blocks import ToolBlock
from studio.domain.drafts import KindDraft
from studio.domain.errors import StorageError
from studio.domain.events import AwaitingPermission, ToolFinished, ToolOutput, TurnComplete
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import forget
from studio.mcp.entries import Sandboxing
from studio.mcp.naming import pool_name
from studio.simulator import Call, Simulator, Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.tools.packs.sources import Mark, Source
from support import nightly
from support.engine_home import KEY, PROTOCOLS, give_time, say
from support.pack_files import OURS, write_pack
from support.pack_home import PACKS
from support.third_party_clients import installed_client
from support.waiting import until

CHAT = "openai-compatible"


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In place of uv a program that runs what comes after ``python``, in no environment."""
    place = tmp_path / "bin" / "uv"
    place.parent.mkdir()
    place.write_text(
        f"#!{sys.executable}\nimport os, sys\nwords = sys.argv[sys.argv.index('python') + 1:]\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, '-S', *words])\n"
    )
    place.chmod(place.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{place.parent}:/usr/bin:/bin")
    yield place


async def opened(tmp_path: Path, simulator: Simulator) -> Engine:
    paths = Paths.below(tmp_path / "studio")
    settings = SettingsFile(paths.settings)
    give_time(await settings.load())
    settings.values.base_urls[CHAT] = simulator.url(PROTOCOLS[CHAT])  # type: ignore[arg-type]
    engine = await build(paths, settings)
    engine.keychain.keep_for_session(CHAT, KEY)
    return engine


def notes(engine: Engine) -> list[tuple[str, str]]:
    file = engine.paths.packs / "notes" / "records.db"
    with closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT topic, text FROM note").fetchall()


@pytest.mark.parametrize("where", ["", "offline"])
async def test_the_same_pack_runs_in_a_process(tmp_path: Path, uv: Path, where: Sandboxing) -> None:
    """X-3, KZ-10: tool, progress, a draft that a person approves and undoes, and its table.

    M-18: also in the sandbox, if the person wants it there.
    """
    script = [
        Turn(Call("notes__draft_note", {"topic": "rivers", "text": "They flow."})),
        Turn(Text("Done.")),
        Turn(Call("notes__find_note", {})),
        Turn(Call("notes__studio_kind_approve", {"draft": {}})),
        Turn(Text("Done.")),
    ]
    (tmp_path / "work").mkdir()
    forget("notes")  # a test before this one may have run it in the program
    async with Simulator(script, pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            desk = engine.services.acts.desk("window")
            assert desk is not None
            installed = engine.services.get(InstalledPacks)
            installed.add(installed.look(str(PACKS / "notes")))
            servers = engine.services.servers
            if where and (await engine.sandbox()).kind == "none":
                pytest.skip("this system has no sandbox")
            (entry,) = (await servers.refresh()).by_name.values()
            await servers.say(replace(entry, sandbox=where))
            (entry,) = (await servers.refresh()).by_name.values()
            assert entry.sandbox == where
            assert entry.runs and not [n for n in sys.modules if n.startswith("studio_pack_notes")]
            await servers.connect(entry)
            session = await engine.sessions.create(
                folder=str(tmp_path / "work"),
                agent="Coder",
                provider=CHAT,
                model="sim-model",
                subject="notes:topic/rivers",
            )
            events = await say(session, answer="once")
            assert any(isinstance(one, ToolOutput) for one in events), "its progress"
            (draft,) = session.drafts.waiting()
            assert isinstance(draft, KindDraft) and draft.kind == "notes:note"
            assert draft.describe().after == "They flow." and notes(engine) == []
            assert await session.review.decide(draft.id, "approve") == "waiting"
            assert notes(engine) == []
            acts = desk.decided("approve", [draft])
            assert await session.review.decide(draft.id, "approve", acts) == "approved"
            assert notes(engine) == [("rivers", "They flow.")]
            said = [e for e in await say(session, answer="once") if isinstance(e, ToolFinished)]
            assert "They flow." in said[0].text, "about what the chat is about"
            assert said[0].sources == ("notes (MCP)", "notes:topic/rivers")
            found = await asyncio.to_thread(
                engine.services.packs.resolve,
                ["notes:topic/rivers", "notes:topic/none", "a.py:1-8", "https://a.b/c"],
            )
            mark = Mark("Kept", "ok", "lock", "It is in the list")
            source = Source("Note about rivers", "list", ("rivers",), (mark,))
            assert found == {"notes:topic/rivers": source, "notes:topic/none": None}, "KZ-8"
            assert said[1].is_error, "no model calls what only the studio may"
            acts = desk.decided("undo", [draft])
            assert await session.review.decide(draft.id, "undo", acts) == "undone"
            assert notes(engine) == []
            assert not [name for name in sys.modules if name.startswith("studio_pack_notes")]
            await servers.switch_off(entry)
            (entry,) = (await servers.refresh()).by_name.values()
            assert not entry.runs, "the person switched it off"
            await servers.switch_on(entry)
            (entry,) = (await servers.refresh()).by_name.values()
            assert entry.runs
        finally:
            await engine.close()


async def test_kz4_a_step_in_python_runs_in_the_process_and_not_in_the_program(
    tmp_path: Path, uv: Path
) -> None:
    """KZ-4, X-3: the program refuses it while it is new, and reads the database that has it."""
    shutil.copytree(PACKS / "notes", tmp_path / "notes")
    schema = tmp_path / "notes" / "org.agent-studio" / "schema"
    code = """
import os
def step(records):
    records.write("ALTER TABLE note ADD COLUMN process INTEGER")
    records.write("INSERT INTO note (topic, text, who, process) VALUES ('a', 'b', 'c', ?)", os.getpid())
"""
    (schema / "0002_process.py").write_text(code)
    script = [Turn(Call("notes__find_note", {})), Turn(Text("Done."))]
    (tmp_path / "work").mkdir()
    async with Simulator(script, pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            installed = engine.services.get(InstalledPacks)
            offer = installed.look(str(tmp_path / "notes"))
            assert (
                "steps in Python run with its tools" in offer.text and "os.getpid()" in offer.text
            )
            pack = installed.add(offer)
            with (
                closing(pack.open_records()) as records,
                pytest.raises(StorageError, match=r"0002_process\.py: the Python of this pack"),
            ):
                records.read("SELECT 1")
            servers = engine.services.servers
            (entry,) = (await servers.refresh()).by_name.values()
            await servers.connect(entry)
            session = await engine.sessions.create(
                folder=str(tmp_path / "work"),
                agent="Coder",
                provider=CHAT,
                model="sim-model",
                subject="notes:topic/a",
            )
            (done,) = [e for e in await say(session, answer="once") if isinstance(e, ToolFinished)]
            assert not done.is_error, done.text
            with closing(pack.open_records()) as records:
                (row,) = records.read("SELECT process FROM note")
            assert row["process"] not in (None, os.getpid())
        finally:
            await engine.close()


async def test_without_uv_it_is_off_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-3: and what depends on it says so."""
    monkeypatch.setenv("PATH", str(tmp_path))
    async with Simulator([], pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            installed = engine.services.get(InstalledPacks)
            installed.add(installed.look(str(PACKS / "notes")))
            assert not (await engine.services.servers.refresh()).by_name
            await engine.refresh_tools()
            assert any("need uv" in one for one in engine.toolbox.problems)
        finally:
            await engine.close()


OWN = """# /// script
# dependencies = []
# ///
import os
from studio.tools import Context, tool

@tool(effect="read")
def where(context: Context) -> str:
    \'\'\'Say where this runs.\'\'\'
    return f"in {os.getpid()}"
"""


async def test_x3_an_own_file_that_says_what_it_needs_runs_apart(tmp_path: Path, uv: Path) -> None:
    """X-3, X-4, M-13: it never runs in the program, and is asked about as a server is."""
    called = [Turn(Call("weather__where", {})), Turn(Text("Fine."), stop="end")]
    async with Simulator(called, pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            tools = engine.paths.tools
            tools.mkdir(parents=True, exist_ok=True)
            (tools / "weather.py").write_text(OWN)
            (tools / "plain.py").write_text(OWN.partition("# ///\n")[2].replace("where", "here"))
            await engine.refresh_tools()
            assert "here" in engine.tools() and "where" not in engine.tools()
            entries = await engine.services.servers.refresh()
            assert entries.by_name["weather"].runs and not engine.toolbox.problems
            await engine.services.servers.connect(entries.by_name["weather"])
            session = await engine.sessions.create(
                folder=str(tmp_path), agent="Coder", provider=CHAT, model="sim-model"
            )
            events = await say(session, answer="once")
            assert any(isinstance(one, AwaitingPermission) for one in events)
            (done,) = [one for one in events if isinstance(one, ToolFinished)]
            assert "in " in done.text and f"in {os.getpid()}" not in done.text
            assert not done.is_error
        finally:
            await engine.close()


async def test_x3_without_uv_an_own_file_is_off_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-3: it does not run in the program instead."""
    monkeypatch.setenv("PATH", str(tmp_path))
    async with Simulator([], pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            engine.paths.tools.mkdir(parents=True, exist_ok=True)
            (engine.paths.tools / "weather.py").write_text(OWN)
            assert not (await engine.services.servers.refresh()).by_name
            await engine.refresh_tools()
            assert "where" not in engine.tools()
            (problem,) = engine.toolbox.problems
            assert "weather.py: its tools are off" in problem and "get-uv" in problem
        finally:
            await engine.close()


async def test_x3_an_own_file_takes_no_pack_its_place(tmp_path: Path, uv: Path) -> None:
    """The tools of a pack whose name the file has were gone, and nothing said so."""
    async with Simulator([], pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            installed = engine.services.get(InstalledPacks)
            installed.add(installed.look(str(PACKS / "notes")))
            engine.paths.tools.mkdir(parents=True, exist_ok=True)
            (engine.paths.tools / "notes.py").write_text(OWN)
            entries = await engine.services.servers.refresh()
            assert entries.by_name["notes"].place == "host:notes"
            await engine.refresh_tools()
            assert any("notes.py: its tools are off" in one for one in engine.toolbox.problems)
        finally:
            await engine.close()


CODE = """
import os
from studio.packs import Context, tool

@tool(effect="read")
def crash(context: Context) -> str:
    \'\'\'End at once.\'\'\'
    print("on fire", flush=True)
    os._exit(3)

@tool(effect="read")
def turn_round(context: Context) -> str:
    \'\'\'Never end.\'\'\'
    context.emit("begun\\n")
    while True:
        pass

@tool(effect="read")
def greet(context: Context) -> str:
    \'\'\'Greet.\'\'\'
    return f"Hello from {os.getpid()}"
"""


async def test_a_crash_and_an_endless_loop_are_named_and_the_next_turn_works(
    tmp_path: Path, uv: Path
) -> None:
    """X-3, M-6, M-7: a stop frees the turn, and the process that goes round ends."""
    calls = [Turn(Call(f"wild__{one}", {})) for one in ("greet", "crash", "greet", "turn_round")]
    script = [*calls[:1], Text("1"), *calls[1:2], Text("2"), *calls[2:3], Text("3"), *calls[3:]]
    turns = [one if isinstance(one, Turn) else Turn(one) for one in script]
    turns += [Turn(Call("wild__greet", {})), Turn(Text("5"))]
    source = write_pack(tmp_path / "wild", {f"{OURS}/tools/wild.py": CODE}, name="wild")
    (tmp_path / "work").mkdir()
    async with Simulator(turns, pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            installed = engine.services.get(InstalledPacks)
            installed.add(installed.look(str(source)))
            servers = engine.services.servers
            (entry,) = (await servers.refresh()).by_name.values()
            await servers.connect(entry)
            session = await engine.sessions.create(
                folder=str(tmp_path / "work"), agent="Coder", provider=CHAT, model="sim-model"
            )

            async def said() -> ToolFinished:
                events = await say(session, answer="once")
                (found,) = [one for one in events if isinstance(one, ToolFinished)]
                return found

            first = await said()
            crashed = await said()
            assert crashed.is_error and "ended" in crashed.text, crashed.text
            again = await said()
            assert "Hello from" in again.text and again.text[-40:] != first.text[-40:]

            working = asyncio.ensure_future(say(session, answer="once"))
            await until(lambda: len(tool_blocks(session)) == 4)
            await until(lambda: bool(tool_blocks(session)[-1].output))
            session.stop()
            events = await working
            assert [one.reason for one in events if isinstance(one, TurnComplete)] == ["cancelled"]
            name = pool_name(entry)
            await until(lambda: servers.servers.state(name).kind != "running")
            assert "went on after it was cancelled" in servers.servers.state(name).line
            assert "Hello from" in (await said()).text
        finally:
            await engine.close()


def tool_blocks(session: Session) -> list[ToolBlock]:
    return [one for one in session.transcript.blocks if isinstance(one, ToolBlock)]


@pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE,
    reason="uv and a package are fetched from PyPI: make nightly runs it.",
)
async def test_uv_makes_the_environment_of_a_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-3: with what its manifest requires, which the program itself has not."""
    place = await asyncio.to_thread(installed_client, "uv")
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)  # the authority of the tests
    code = CODE.replace("import os\n", "import os\nimport roman_numerals\n", 1)
    code = code.replace("{os.getpid()}", "{roman_numerals.__name__}")
    source = write_pack(
        tmp_path / "wild",
        {f"{OURS}/tools/wild.py": code},
        name="wild",
        ours={"python": ["roman-numerals>=3"]},
    )
    async with Simulator([], pace=False) as simulator:
        engine = await opened(tmp_path, simulator)
        try:
            installed = engine.services.get(InstalledPacks)
            installed.add(installed.look(str(source)))
            servers = engine.services.servers
            (entry,) = (await servers.refresh()).by_name.values()
            await servers.connect(entry)
            found = await servers.servers.call(pool_name(entry), "greet", {})
            assert found.text == "Hello from roman_numerals", found.text
            await engine.refresh_tools()
            assert not engine.toolbox.problems
        finally:
            await engine.close()
