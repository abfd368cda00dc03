"""``agent-studio doctor``: the real program, in a sound house and with each thing broken in turn."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from studio.providers.registry import PROVIDERS
from studio.simulator import Text, Turn
from support.command import Command, Ended, at_provider
from support.engine_home import KEY
from support.waiting import HANG

PATIENT = ("--timeout", str(int(HANG)))
FAILING = "keyring.backends.fail.Keyring"


def states(ended: Ended) -> dict[str, str]:
    return {one["name"]: one["state"] for one in json.loads(ended.out)}


def lines(ended: Ended) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(ended.out)}


async def looked(terminal: Command, *arguments: str) -> dict[str, Any]:
    """What it finds, which says nothing of a key."""
    if "--timeout" not in arguments:
        arguments = (*PATIENT, *arguments)
    ended = await terminal("doctor", "--json", *arguments)
    assert KEY not in ended.out + ended.err
    found = lines(ended)
    broken = [name for name, one in found.items() if one["state"] == "broken"]
    assert ended.code == (1 if broken else 0), found
    for one in found.values():
        assert one["advice"] or one["state"] in ("ok", "note"), one
    return found


@pytest.fixture
def terminal(tmp_path: Path) -> Command:
    made = Command(tmp_path, PYTHON_KEYRING_BACKEND=FAILING)
    made.home.mkdir(mode=0o700)
    return made


async def test_a_sound_house(tmp_path: Path) -> None:
    """S-5: one line for each thing, in order; whoever has a key is asked for models."""
    async with at_provider(tmp_path, "openai-compatible", lambda _: Turn(Text("Hi"))) as (
        terminal,
        simulator,
    ):
        terminal.provider("anthropic", simulator.url("anthropic"))
        await terminal.turn("--provider", "openai-compatible", "--model", "m", "Hello")
        (terminal.home / "tools").mkdir()
        ended = await terminal("doctor", *PATIENT)
        assert ended.code == 0, ended
        rows = [line for line in ended.out.splitlines() if line[0] != " "]
        assert [row[2:20].rstrip() for row in rows] == [
            *("Program", "Installation", "Folders", "Settings", "Database", "Keychain"),
            *(one.title for one in PROVIDERS.values() if one.adapter),
            *("Network", "Sandbox", "Built-in model"),
            *("Display", "Tools", "Agents", "MCP servers", "Packs", "Server port"),
            *("Last crash", "Clock"),
        ]
        found = await looked(terminal)
        assert found["Anthropic"]["text"].startswith(
            f"key from ANTHROPIC_API_KEY, 127.0.0.1:{simulator.port}; answers"
        )
        assert "answers: " in found["OpenAI-compatible"]["text"]
        assert found["Database"]["text"].endswith(", sound")
        assert found["Display"]["text"].startswith("none here")
        asked = len(simulator.requests)
        found = await looked(terminal, "--offline")
        assert found["Anthropic"]["text"].endswith("not asked (--offline)")
        assert len(simulator.requests) == asked


async def test_a_house_that_cannot_start(terminal: Command) -> None:
    """Where the program itself gives up, each part is still looked at and left as it is."""
    database, settings = terminal.home / "studio.db", terminal.home / "settings.json"
    database.write_bytes(b"this is no database at all" * 100)
    settings.write_text('{"theme": "dark",\n oops}')
    before = sorted(terminal.home.iterdir())
    found = await looked(terminal, "--offline")
    assert found["Database"]["state"] == "broken" and "is damaged" in found["Database"]["text"]
    assert found["Settings"]["state"] == "warning" and "line 2" in found["Settings"]["text"]
    assert sorted(terminal.home.iterdir()) == before
    assert "oops" in settings.read_text()
    settings.unlink()
    settings.mkdir()
    assert (await looked(terminal, "--offline"))["Settings"]["state"] == "broken"


async def test_the_last_crash(terminal: Command) -> None:
    """I-9: where its report is, also before a start has come so far that it could tell."""
    assert (await looked(terminal, "--offline"))["Last crash"]["text"] == "none"
    logs = terminal.home / "logs"
    crash = (
        "import ctypes, sys; from pathlib import Path; "
        "from studio.storage.crash_reports import CrashReports; "
        "CrashReports(Path(sys.argv[1])).watch(); ctypes.string_at(0)"
    )
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", crash, str(logs), env=terminal.environment
        )
        assert await process.wait() != 0
        found = (await looked(terminal, "--offline"))["Last crash"]
        assert found["state"] == "note" and "docs/crashes.md" in found["advice"]
        named = Path(found["text"].partition(", ")[2])
        assert named.parent == logs and "Segmentation fault" in named.read_text()


async def test_no_line_and_no_advice_has_a_secret(terminal: Command, tmp_path: Path) -> None:
    """P-4, S-5: the name of a place may hold one."""
    home = tmp_path / "password=Sommer2026!"
    home.mkdir()
    home.chmod(0o755)
    terminal.environment["AGENT_STUDIO_HOME"] = str(home)
    ended = await terminal("doctor", "--offline", "--json", *PATIENT)
    assert "chmod 700" in lines(ended)["Folders"]["advice"]
    assert "Sommer2026" not in ended.out


async def test_a_database_of_a_newer_version_or_with_a_hole(terminal: Command) -> None:
    path = terminal.home / "studio.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")
        db.executemany("INSERT INTO t VALUES (?)", [("y" * 3000,)] * 50)
        db.execute("PRAGMA user_version = 999")
        db.commit()
    found = (await looked(terminal, "--offline"))["Database"]
    assert found["state"] == "broken" and "newer" in found["text"]
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
        db.commit()
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 9] = b"\xff" * (4096 * 6)
    path.write_bytes(data)
    found = (await looked(terminal, "--offline"))["Database"]
    assert found["state"] == "broken" and "damaged" in found["text"]


async def test_folders_that_cannot_be_written(terminal: Command, tmp_path: Path) -> None:
    terminal.home.chmod(0o500)
    try:
        ended = await terminal("doctor", "--json", "--offline", *PATIENT, plain=True)
    finally:
        terminal.home.chmod(0o755)
    assert ended.code == 1 and states(ended)["Folders"] == "broken"
    found = (await looked(terminal, "--offline"))["Folders"]
    assert found["state"] == "warning" and "chmod 700" in found["advice"]
    terminal.environment["AGENT_STUDIO_HOME"] = str(tmp_path / "work" / "new" / "place")
    assert (await looked(terminal, "--offline"))["Folders"]["state"] == "ok"
    assert not (tmp_path / "work" / "new").exists()  # it only looks


KEYCHAINS = """
import time
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

class Works(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        return "{key}" if username == "anthropic" else None
    def set_password(self, service, username, password): ...

class Locked(Works):
    def get_password(self, service, username):
        raise KeyringLocked("no {key}")

class Silent(Works):
    def get_password(self, service, username):
        time.sleep(3600)
"""


@pytest.mark.parametrize(
    ("backend", "state", "words"),
    [
        (FAILING, "note", "none that can be used"),
        ("keychains.Works", "ok", "works"),
        ("keychains.Locked", "warning", "locked"),
    ],
)
async def test_keychains(
    terminal: Command, tmp_path: Path, backend: str, state: str, words: str
) -> None:
    """P-4: where keys come from, and what to do without one."""
    (tmp_path / "keychains.py").write_text(KEYCHAINS.format(key=KEY))
    terminal.environment["PYTHONPATH"] += f":{tmp_path}"
    terminal.environment["PYTHON_KEYRING_BACKEND"] = backend
    found = await looked(terminal, "--offline")
    assert found["Keychain"]["state"] == state and words in found["Keychain"]["text"]
    key = "key from the keychain" in found["Anthropic"]["text"]
    assert key == (backend == "keychains.Works")


@contextlib.asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """A server that says this to everybody, or nothing for ever."""
    talks: set[asyncio.Task[None] | None] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.current_task())
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            if not answer:
                await asyncio.Event().wait()
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in filter(None, talks):
            task.cancel()
        await asyncio.gather(*filter(None, talks), return_exceptions=True)


async def test_everything_hangs_at_once(terminal: Command, tmp_path: Path) -> None:
    """L-11: a keychain, a provider and a tool file that never answer hold nothing up."""
    (tmp_path / "keychains.py").write_text(KEYCHAINS.format(key=KEY))
    terminal.environment["PYTHONPATH"] += f":{tmp_path}"
    terminal.environment["PYTHON_KEYRING_BACKEND"] = "keychains.Silent"
    (terminal.home / "tools").mkdir()
    (terminal.home / "tools" / "slow.py").write_text("import time\ntime.sleep(3600)\n")
    async with answering(b"") as silent:
        terminal.provider("anthropic", silent)
        found = await looked(terminal, "--timeout", "5")  # who waits for any of them, waits an hour
    late = "no answer within 5 s"
    assert found["Keychain"]["text"].startswith(("does not answer", late))
    assert found["Anthropic"]["text"] == found["Tools"]["text"] == late
    assert "tools" in found["Tools"]["advice"]
    for name in ("Database", "Agents"):  # a busy computer may be late with these, too
        assert found[name]["state"] == "ok" or found[name]["text"] == late


async def test_a_provider_that_refuses_or_is_away(terminal: Command) -> None:
    """L-12: what is wrong, what to do; the clock is held against theirs."""
    body = json.dumps({"error": {"message": f"Incorrect API key: {KEY}"}}).encode()
    date = b"Date: Mon, 02 Jan 2023 10:00:00 GMT\r\n"
    head = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"
    refusal = head + date + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with answering(refusal) as refuses:
            terminal.provider("openai-compatible", f"{refuses}/v1")
            terminal.provider("ollama", nobody)
            found = await looked(terminal)
    refused = found["OpenAI-compatible"]
    assert refused["state"] == "warning" and "OPENAI_API_KEY" in refused["advice"]
    assert found["Ollama"]["state"] == "warning" and found["Ollama"]["advice"]
    assert found["Clock"]["state"] == "warning" and "ahead" in found["Clock"]["text"]


async def test_proxies_are_named_without_passwords(terminal: Command) -> None:
    terminal.environment["HTTPS_PROXY"] = f"http://me:{KEY}@proxy.example:3128"
    found = (await looked(terminal, "--offline"))["Network"]
    assert (
        "HTTPS_PROXY is proxy.example:3128" in found["text"] and "me" not in found["text"].split()
    )
    terminal.environment["HTTPS_PROXY"] = f"http://me:{KEY}@[bad"
    found = (await looked(terminal, "--offline"))["Network"]
    assert found["state"] == "warning" and "unset HTTPS_PROXY" in found["advice"]


async def test_a_name_that_nobody_knows(terminal: Command) -> None:
    terminal.provider("openai-compatible", "http://nobody.invalid/v1")
    found = await looked(terminal)
    assert found["Network"]["state"] == "warning"
    assert "nobody.invalid is not found" in found["Network"]["text"]
    assert found["OpenAI-compatible"]["state"] == "warning"


async def test_broken_files_of_tools_and_agents(terminal: Command) -> None:
    """T-1: named with their line."""
    for folder, file, text in (
        ("tools", "bad.py", f"\nraise ValueError('{KEY}')\n"),
        ("agents", "bad.md", "---\nname: Bad\ncolour: red\n---\nHello.\n"),
    ):
        (terminal.home / folder).mkdir()
        (terminal.home / folder / file).write_text(text)
    found = await looked(terminal, "--offline")
    assert found["Tools"]["state"] == "warning" and "bad.py, line 2" in found["Tools"]["text"]
    assert found["Agents"]["state"] == "warning" and "bad.md, line 3" in found["Agents"]["text"]


async def test_a_port_in_use(terminal: Command) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (terminal.home / "settings.json").write_text(json.dumps({"server_port": port}))
        found = (await looked(terminal, "--offline"))["Server port"]
        assert found["state"] == "warning" and f"port {port} is in use" in found["text"]
    assert (await looked(terminal, "--offline"))["Server port"]["state"] == "ok"


async def test_news_that_nobody_known_signed(terminal: Command) -> None:
    """I-10: a program that skipped a change of keys says so where the person looks."""
    assert (await looked(terminal, "--offline"))["Installation"]["state"] == "ok"
    await terminal("config", "set", "theme", "dark")
    (file,) = terminal.home.rglob("settings.json")
    values = json.loads(file.read_text()) | {"updates_refused": "It is not signed."}
    file.write_text(json.dumps(values))
    found = (await looked(terminal, "--offline"))["Installation"]
    assert found["state"] == "warning" and found["advice"].startswith("It is not signed. ")
    assert "from where this one came" in found["advice"]
    file.write_text(json.dumps(values | {"look_for_updates": False}))
    assert (await looked(terminal, "--offline"))["Installation"]["state"] == "ok"


async def test_a_port_that_does_not_exist(terminal: Command) -> None:
    (terminal.home / "settings.json").write_text(json.dumps({"server_port": 70_000}))
    found = (await looked(terminal, "--offline"))["Server port"]
    assert found["state"] == "warning" and "no port 70000" in found["text"]


async def test_the_sandbox(terminal: Command, tmp_path: Path) -> None:
    """T-8: it is tried, not believed in; switched off is a choice."""
    (terminal.home / "settings.json").write_text(json.dumps({"sandbox": False}))
    found = (await looked(terminal, "--offline"))["Sandbox"]
    assert found["state"] == "note" and "off in the settings" in found["text"]
    (terminal.home / "settings.json").write_text(json.dumps({"sandbox": False, "throwaway": True}))
    found = (await looked(terminal, "--offline"))["Sandbox"]
    assert found["state"] == "warning" and "throwaway" in found["text"]
    if sys.platform.startswith("linux") and shutil.which("bwrap"):
        (terminal.home / "settings.json").unlink()
        assert (await looked(terminal, "--offline"))["Sandbox"]["state"] in ("ok", "warning")


async def test_a_model_file_that_is_none(terminal: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    for content, words in ((b"not a model", "is not a GGUF file"), (None, "cannot be read")):
        if content is None:
            broken.unlink()
        else:
            broken.write_bytes(content)
        settings = json.dumps({"builtin_model": str(broken)})
        (terminal.home / "settings.json").write_text(settings)
        found = (await looked(terminal, "--offline"))["Built-in model"]
        assert found["state"] == "warning" and words in found["text"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone has such packages")
async def test_a_display_without_its_libraries(terminal: Command, tmp_path: Path) -> None:
    """G-1: a plugin of Qt whose libraries are not there, as on a bare system."""
    import PySide6

    real = Path(PySide6.__file__).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    platforms = tmp_path / "path" / "PySide6" / "Qt" / "plugins" / "platforms"
    platforms.mkdir(parents=True)
    (platforms.parents[2] / "__init__.py").write_text("raise ImportError('nobody may import it')\n")
    # Libraries of the same length of name that no system has, but one that has a package.
    data = real.read_bytes()
    assert b"libQt6XcbQpa.so.6\0" in data
    (platforms / "libqxcb.so").write_bytes(
        data.replace(b"libQt6XcbQpa.so.6\0", b"libxcb-icccX.so.4\0")
    )
    terminal.environment["PYTHONPATH"] = f"{tmp_path / 'path'}:{terminal.environment['PYTHONPATH']}"
    terminal.environment["DISPLAY"] = ":77"
    found = (await looked(terminal, "--offline"))["Display"]
    assert found["state"] == "broken" and "libxcb-icccX.so.4" in found["text"]
    assert found["advice"].startswith("sudo apt install ")
    del terminal.environment["DISPLAY"]
    found = (await looked(terminal, "--offline"))["Display"]
    assert found["state"] == "note" and "libxcb-icccX.so.4" in found["text"]
    terminal.environment["QT_QPA_PLATFORM"] = "offscreen"
    assert (await looked(terminal, "--offline"))["Display"]["state"] == "ok"
