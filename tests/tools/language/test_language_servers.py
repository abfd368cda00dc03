"""C-11: language servers say what is wrong with a file, and hold up nobody."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from studio.processes import command_streams
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox
from studio.processes.sandbox_mounts import Launch
from studio.tools.language import language_servers as module
from studio.tools.language.connection import Framing, framed
from studio.tools.language.known_servers import find_server
from studio.tools.language.language_servers import LanguageServers, Texts
from support import language_server
from support.waiting import HANG, until

BIG = "x" * 1_000_000
"""More than a pipe holds."""
ENVIRONMENT = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}


class CountingSandbox(NoSandbox):
    """No sandbox; it knows how many commands have left it."""

    count = 0

    def left(self) -> None:
        self.count += 1


class Desktop:
    """A folder, and servers of which the log has what they heard."""

    def __init__(self, folder: Path, own: Mapping[str, Sequence[str]], **limits: float) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.log = folder / "log"
        self.log.touch()
        self.keeper, self.sandbox = Keeper(), CountingSandbox()
        script = language_server.__file__
        words = {glob: [sys.executable, script, *more, str(self.log)] for glob, more in own.items()}
        self.servers = LanguageServers(lambda: words, **{"seconds": HANG, **limits})

    async def ask(
        self, before: str | None, after: str, name: str = "a.txt", chat: str = "1", **others: str
    ) -> tuple[list[str], list[str]] | None:
        texts = Texts(name, before, after, {f"{one}.txt": text for one, text in others.items()})
        launch = Launch("", self.folder, ENVIRONMENT)
        return await self.servers.findings(chat, texts, launch, self.sandbox, self.keeper)

    @property
    def pids(self) -> list[int]:
        lines = self.log.read_text().splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith("begin")]

    def heard(self, method: str) -> int:
        return sum(line.startswith(f"{method} ") for line in self.log.read_text().splitlines())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def desktop(folder: Path, *more: str, **limits: float) -> AsyncIterator[Desktop]:
    made = Desktop(folder, {"*.txt": more}, **limits)
    try:
        yield made
    finally:
        await made.servers.end()
        await asyncio.to_thread(made.keeper.close)
    assert not any(map(alive, made.pids)), "a server outlives the program"


@pytest.mark.parametrize("kind", ["push", "pull"])
async def test_what_is_wrong_after_and_before(tmp_path: Path, kind: str) -> None:
    """C-11: one server for a chat, begun with its first edit and ended with it; errors and
    warnings, the gravest first, in one line each; other drafts and the disk are known to it."""
    async with desktop(tmp_path, kind) as here:
        assert not here.pids
        assert await here.ask("one", "WARNING\nfine HINT\nBAD", other="OTHER") == (
            ["a.txt:3: error: BAD is loud [caps]", "a.txt:1: warning: WARNING is loud [caps]"],
            [],
        )
        assert await here.ask(None, "all is fine", other="OTHER") == ([], [])
        assert len(here.pids) == 1 and here.heard("textDocument/didOpen") == 2
        (here.folder / "new.txt").write_text("new")
        told = await here.ask("BAD two", "BAD\nBAD")
        assert told == (
            ["a.txt:1: error: BAD is loud [caps]", "a.txt:2: error: BAD is loud [caps]"],
            ["a.txt:1: error: BAD is loud [caps]"],
        )
        assert here.heard("textDocument/didClose") == 1  # the other draft waits no more
        assert here.heard("workspace/didChangeWatchedFiles") == 1
        await here.ask("", "x", chat="2")
        first, second = here.pids
        await here.servers.end("1")
        assert not alive(first) and alive(second) and here.heard("shutdown") == 1


async def test_nobody_waits_for_a_server(tmp_path: Path) -> None:
    """C-11: while it begins, when it hangs, dies or talks nonsense, and where there is none."""
    async with desktop(tmp_path, "late", seconds=0.2) as here:
        assert await here.ask("", "BAD") is None
        here.servers.seconds = HANG
        assert await here.ask("", "BAD") is None  # at once: it begins since the first edit
        (here.folder / "go").touch()
        await until(lambda: bool(here.servers.running()))
        assert await here.ask("", "BAD") == (["a.txt:1: error: BAD is loud [caps]"], [])
        here.servers.seconds = 0.2
        assert await here.ask("", "HANG") is None
        here.servers.seconds = HANG
        assert await here.ask("", "fine") is None  # at once: it owes an answer
        assert len(here.pids) == 1
        assert await here.ask("", "BAD", name="a.md") is None
    async with desktop(_made(tmp_path / "dies")) as here:
        assert await here.ask("", "GARBAGE") is None
        assert await here.ask("", "BAD") == (["a.txt:1: error: BAD is loud [caps]"], [])
        assert await here.ask("", "DIE") is None
        assert await here.ask("", "BAD") is None  # twice is enough
        assert len(here.pids) == 2


@pytest.mark.parametrize("texts", [{"after": "GARBAGE\nHANG"}, {"after": BIG, "first": "HANG"}])
async def test_one_that_is_lost_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]
) -> None:
    """C-11: though its process would run on, as it broke the protocol or does not read; without
    another edit, and with all that stands for it here."""
    monkeypatch.setattr(command_streams, "_TAKES", 0.05)
    before = set(threading.enumerate())

    def left() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one not in before and "(_" in one.name]

    async with desktop(tmp_path, "push") as here:
        assert await here.ask(None, **texts) is None
        await until(lambda: not alive(here.pids[0]) and here.sandbox.count == 1 and not left())
        assert await here.ask(None, **texts) is None
        await here.servers.end("1")  # the second one also where it is being ended
        assert not any(map(alive, here.pids)) and here.sandbox.count == len(here.pids) == 2


async def test_one_that_does_not_begin_is_ended_with_the_chat(tmp_path: Path) -> None:
    """C-11."""
    async with desktop(tmp_path, "deaf", seconds=0.2) as here:
        assert await here.ask("", "BAD") is None
        await until(lambda: bool(here.pids))
        assert alive(here.pids[0])
        await here.servers.end("1")
        assert not alive(here.pids[0])


async def test_few_run_and_none_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-11: the one that was used longest ago makes room, and idle ones end."""
    monkeypatch.setattr(module, "MOST", 2)
    async with desktop(tmp_path) as here:
        for chat in "123":
            await here.ask("", "x", chat=chat)
        assert [alive(pid) for pid in here.pids] == [False, True, True]
        assert len(here.servers.running()) == 2
    async with desktop(_made(tmp_path / "idle"), idle=0.05) as here:
        await here.ask("", "x")
        await until(lambda: not alive(here.pids[0]))
        here.servers.idle = HANG  # it may not end again while it is asked
        assert await here.ask("", "x") == ([], [])


def test_only_what_the_person_installed_is_found(tmp_path: Path) -> None:
    """C-11: nothing of the folder, not by ``PATH``, a link or a relative name."""
    folder, elsewhere = _made(tmp_path / "work"), _made(tmp_path / "bin")

    def program(place: Path) -> Path:
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
        return place

    inside = program(folder / "gopls")
    path = os.pathsep.join((str(folder), ".", "", str(elsewhere)))
    find: Callable[..., object] = lambda own=None: find_server("a.go", folder, path, own or {})  # noqa: E731
    assert find() is None
    assert find({"*.go": ["./gopls"]}) is None and find({"*.go": [str(inside)]}) is None
    (elsewhere / "gopls").symlink_to(inside)
    assert find() is None
    (elsewhere / "gopls").unlink()
    outside = program(elsewhere / "gopls")
    found = find_server("b/a.GO", folder, path, {})
    assert found is not None and found.words == (str(outside),)
    assert find({"*.go": []}) is None and find({"": ["gopls"]}) is not None
    own = find_server("a.go", folder, path, {"*.go": ["gopls", "-x y"]})
    assert own is not None and own.line == f"exec {outside} '-x y'"


def test_messages_come_in_pieces() -> None:
    """C-11: and what is none is refused before it fills the memory."""
    messages = [{"a": "ä"}, {"b": 1}]
    data = b"".join(map(framed, messages)).replace(b"\r\n\r\n", b"\r\nContent-Type: x\r\n\r\n", 1)
    for size in (1, 7, len(data)):
        framing, found = Framing(), []
        for start in range(0, len(data), size):
            found += framing.feed(data[start : start + size])
        assert found == messages
    for wrong in (
        *(b"x" * 5000, b"Content-Length: -1\r\n\r\n", b"Content-Length: 99999999999\r\n\r\n"),
        *(b"No: 1\r\n\r\n", b"Content-Length: 2\r\n\r\n[]", b"Content-Length: 1\r\n\r\n{"),
    ):
        with pytest.raises(ValueError, match=r".+"):
            list(Framing().feed(wrong))


REAL = (("pyright-langserver", "--stdio"), ("ruff", "server"))


@pytest.mark.parametrize("words", REAL, ids=lambda words: words[0])
async def test_with_a_real_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    """C-11: a name that is defined nowhere is told, and what was there before is, too."""
    if shutil.which(words[0], path=ENVIRONMENT["PATH"]) is None:
        pytest.skip(f"{words[0]} is not installed")
    servers, keeper = LanguageServers(lambda: {"*.py": words}, HANG), Keeper()
    try:
        launch = Launch("", tmp_path, ENVIRONMENT)
        (tmp_path / "b.py").write_text("")
        other = {"b.py": "def helps() -> int:\n    return 1\n"}
        before = "from b import helps\nimport os\nprint(helps())\n"
        after = "from b import helps\nimport os\nprint(helps() + missing)\n"
        told = await servers.findings(
            "1", Texts("a.py", before, after, other), launch, NoSandbox(), keeper
        )
        assert told is not None
        new = [line for line in told[0] if line not in told[1]]
        assert len(new) == 1 and "missing" in new[0] and new[0].startswith("a.py:3: error: ")
        assert not any("helps" in line for line in told[0])  # it knows the other draft
    finally:
        await servers.end()
        await asyncio.to_thread(keeper.close)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
