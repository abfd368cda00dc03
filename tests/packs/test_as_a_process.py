"""A pack of other people, whose Python runs in a process of its own (X-3, KZ-10)."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from studio.agent.engine import Engine
from studio.app import build
from studio.domain.drafts import KindDraft
from studio.domain.events import ToolFinished, ToolOutput
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import forget
from studio.simulator import Call, Simulator, Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.tools.packs.sources import Source
from support.engine_home import KEY, PROTOCOLS, give_time, say
from support.pack_home import PACKS

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


async def test_the_same_pack_runs_in_a_process(tmp_path: Path, uv: Path) -> None:
    """X-3, KZ-10: tool, progress, a draft that a person approves and undoes, and its table."""
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
            (entry,) = (await servers.refresh()).by_name.values()
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
            source = Source("Note about rivers", "list", ("rivers",))
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
