"""Packs whose Python runs in the program (X-4)."""

from __future__ import annotations

import asyncio
import importlib.util
import py_compile
import sys
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import pytest

from studio.agent.packs import LoadedPack, PackHome
from studio.domain.errors import ConfigurationError
from studio.domain.events import ToolFinished
from studio.domain.persons import Person
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import (
    _SourceLoader,
    compile_ahead,
    forget,
    load_class,
    load_code,
)
from studio.extensions.packs.origins import Brought
from studio.processes.daemon_thread import in_daemon_thread
from studio.simulator import Call, Text, Turn
from studio.storage.pack_records import PackRecords
from studio.tools.packs.definition import Pack
from studio.tools.packs.home import Home
from support.engine_home import engine_home, say
from support.pack_home import install_notes
from support.waiting import HANG, within

CHAT = "openai-compatible"
SUBJECT = "notes:topic/rivers"


async def test_a_tool_of_a_pack_runs_in_a_chat(tmp_path: Path) -> None:
    """KZ-2, KZ-3: with the subject, the records, and a service made once and closed at the end."""
    calls = [Turn(Call("find_note", {})) for _ in range(2)]
    async with engine_home(tmp_path, CHAT, [*calls, Turn(Text("Done."))]) as home:
        root = install_notes(home, tmp_path)
        (pack,) = home.engine.services.packs.homes.values()
        pack.records.write("INSERT INTO note VALUES ('rivers', 'They flow.', 'a')")
        session = await home.engine.sessions.create(
            folder=str(home.folder),
            agent="Coder",
            provider=CHAT,
            model="sim-model",
            subject=SUBJECT,
        )
        events = await say(session)
        said = [one for one in events if isinstance(one, ToolFinished)]
        assert [one.text for one in said] == ["They flow.", "They flow."]
        assert said[0].sources == (SUBJECT,)
        (shelf,) = pack.services
        assert shelf.open  # type: ignore[attr-defined]
    assert not shelf.open  # type: ignore[attr-defined]
    assert not list(root.rglob("__pycache__")), "its files are what was approved"


async def test_a_turn_looks_at_the_packs_once(tmp_path: Path) -> None:
    """KZ-9: all that asks which packs are on has the same answer; the next turn looks anew."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))] * 3) as home:
        packs, looks = home.engine.services.get(InstalledPacks), 0
        brought = packs.brought

        def looking() -> Iterable[Brought]:
            nonlocal looks
            looks += 1
            return brought()

        session = await home.session()
        await asyncio.to_thread(packs.switch, "kanzlei", True)
        await say(session)
        packs.brought = looking
        await say(session)
        assert looks == 1
        with packs.once():
            before = packs.list()
            packs.switch("kanzlei", not packs.get("kanzlei").on)
            assert packs.list() != before  # what changes here is seen at once
            assert packs.list() is packs.list()
        assert packs.list() is not packs.list()


async def test_a_child_is_about_the_same(tmp_path: Path) -> None:
    """KZ-3: and so is a branch of the chat, also after a restart."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))]) as home:
        session = await home.session()
        await session.change(subject=SUBJECT)
        await say(session)
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, []) as home:
        assert (await home.engine.sessions.open(session_id)).info.subject == SUBJECT


def test_a_compiled_file_is_never_read(tmp_path: Path) -> None:
    """X-4: what runs is the source that the person approved."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "one.py").write_text("from studio.packs import ToolFailed\nraise ToolFailed('mine')")
    other = tmp_path / "other.py"
    other.write_text("")
    cached = Path(importlib.util.cache_from_source(str(tools / "one.py")))
    py_compile.compile(
        str(other),
        str(cached),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    with pytest.raises(ConfigurationError, match=r"one\.py, line 2: ToolFailed: mine"):
        load_code("other", tmp_path)


def test_kz9_what_ships_with_the_studio_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-9: as the studio's own files are, and anew where the source is another; no pack of others."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    tools = tmp_path / "tools"
    tools.mkdir()
    file = tools / "one.py"
    file.write_text("from studio.packs import Pack\npack = Pack(verbs=())")
    cached = Path(importlib.util.cache_from_source(str(file)))
    load_code("other", tmp_path)
    assert not cached.exists()
    load_code("other", tmp_path, shipped=True)
    assert cached.exists()
    cached.unlink()
    load_code("other", tmp_path)
    assert not cached.exists(), "it is another's now"
    load_code("other", tmp_path, shipped=True)
    file.write_text("from studio.packs import ToolFailed\nraise ToolFailed('mine')")
    with pytest.raises(ConfigurationError, match="mine"):
        load_code("other", tmp_path, shipped=True)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from PySide6.QtWidgets import QLabel", "PySide6.QtWidgets.QLabel"),
        ("from studio.packs import ui", "studio.packs.ui"),
        ("from ..pages.shown import Shown", "studio.packs.ui.Page"),
    ],
)
async def test_kz9_tools_that_import_what_is_of_the_window_are_refused(
    tmp_path: Path, code: str, name: str
) -> None:
    """KZ-9: a thread loads them, where a class of Qt's may end the program."""
    for folder in ("tools", "pages"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pages" / "shown.py").write_text("from studio.packs.ui import Page\nShown = Page\n")
    file = tmp_path / "tools" / "one.py"
    hidden = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from PySide6 import QtCore\n"
    file.write_text(f"{hidden}try:\n    {code}\nexcept ValueError:\n    pass\n")
    with pytest.raises(ConfigurationError, match=name) as refused:
        await asyncio.to_thread(load_code, "other", tmp_path)
    place = "shown.py, line 1: " if "pages" in code else "one.py, line 5: "
    assert place in str(refused.value) and "a module in pages" in str(refused.value)
    file.write_text(hidden)
    await asyncio.to_thread(load_code, "other", tmp_path)


async def test_kz9_pages_are_compiled_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-9: what is loaded afterwards is what the file says then."""
    for folder in ("tools", "pages"):
        (tmp_path / folder).mkdir()
    file = tmp_path / "pages" / "shown.py"
    broken = tmp_path / "pages" / "broken.py"
    file.write_text("class Shown:\n    said = 1\n")
    broken.write_text("class")
    load_code("other", tmp_path)
    await asyncio.to_thread(compile_ahead, "other")
    with monkeypatch.context() as patch:
        patch.setattr(_SourceLoader, "source_to_code", None)
        assert load_class("other", "pages.shown:Shown").said == 1  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match=r"broken\.py, line 1: SyntaxError"):
        load_class("other", "pages.broken:Shown")
    load_code("other", tmp_path)
    await asyncio.to_thread(compile_ahead, "other")
    file.write_text("class Shown:\n    said = 2\n")
    assert load_class("other", "pages.shown:Shown").said == 2  # type: ignore[attr-defined]


async def test_kz3_two_tools_of_a_pack_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """KZ-3: one begins, and reads who works here, while another, which writes, asks for more."""
    writing, reading = Event(), Event()

    class Shelf: ...

    def person(home: Home) -> Person:
        if writing.is_set():
            reading.set()
            home.records.read("SELECT 1")  # waits for what is written
        return Person("ann", "Ann")

    def write() -> None:
        with home.records.together():
            writing.set()
            assert reading.wait(HANG)
            assert isinstance(home.service(Shelf), Shelf)

    def begin() -> None:
        assert writing.wait(HANG)
        home.open()

    with home_of(tmp_path, Pack(services=[lambda _: Shelf()], person=person)) as home:
        home.open()
        async with within():
            await asyncio.gather(in_daemon_thread(write), in_daemon_thread(begin))


async def test_kz3_services_are_there_once_all_are_made(tmp_path: Path) -> None:
    """KZ-3: a tool that begins while another makes them waits before it writes anything."""
    making, writing = Event(), Event()

    class Shelf: ...

    class Index:
        def __init__(self, home: Home) -> None:
            assert isinstance(home.service(Shelf), Shelf)
            making.set()
            writing.wait(0.3)  # nobody writes yet
            home.records.read("SELECT 1")

    def write() -> None:
        assert making.wait(HANG)
        home.open()
        with home.records.together():
            writing.set()
            assert isinstance(home.service(Index), Index)

    with home_of(tmp_path, Pack(services=[lambda _: Shelf(), Index])) as home:
        home.records.read("SELECT 1")
        async with within():
            await asyncio.gather(in_daemon_thread(home.open), in_daemon_thread(write))
        assert [type(one) for one in home.services] == [Shelf, Index]


@contextmanager
def home_of(place: Path, pack: Pack) -> Generator[PackHome]:
    with closing(PackRecords(place / "records.db", [], "notes")) as records:
        yield PackHome(LoadedPack("notes", place, pack, records=lambda: records))


def test_a_pack_is_forgotten_while_others_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """KZ-2: another thread may import a module at any moment."""

    class Imports(str):
        __slots__ = ()

        def partition(self, sep: str) -> tuple[str, str, str]:
            monkeypatch.setitem(sys.modules, "imported_meanwhile", sys)
            return super().partition(sep)

    monkeypatch.setitem(sys.modules, Imports("imports_another"), sys)
    monkeypatch.setitem(sys.modules, "studio_pack_gone.tools", sys)
    forget("gone")
    assert "studio_pack_gone.tools" not in sys.modules
