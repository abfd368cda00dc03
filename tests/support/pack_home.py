"""The pack ``notes`` of the tests, in the program of a test."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from studio.extensions.packs.loading import CodePlace, ProgramPacks
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import read_steps
from support.engine_home import EngineHome

PACKS = Path(__file__).parent / "packs"
OURS = "org.agent-studio"


def install_notes(home: EngineHome, place: Path, code: str = "") -> Path:
    """Install the pack beside the engine's data, with other ``code``; returns its folder of ours."""
    root = place / "notes" / OURS
    if not root.exists():
        shutil.copytree(PACKS / "notes" / OURS, root)
    if code:
        (root / "tools" / "notes.py").write_text(code)

    def records() -> PackRecords:
        steps = read_steps([root / "schema" / "0001.sql"])
        return PackRecords(place / "notes.db", steps, "notes")

    found = CodePlace("notes", root, "1", records, place / "kept")
    home.engine.services.packs.source = ProgramPacks(lambda: [found])
    home.engine.discover_tools()
    return root


def install_code(home: EngineHome, place: Path, code: str, pack: str = "guard") -> None:
    """Install a pack of one file."""
    tools = place / pack / OURS / "tools"
    tools.mkdir(parents=True)
    (tools / "code.py").write_text(code)
    home.engine.services.packs.source = ProgramPacks(lambda: [CodePlace(pack, tools.parent, "1")])
    home.engine.discover_tools()


def notes(place: Path) -> dict[str, str]:
    """What is in the pack's table."""
    with closing(sqlite3.connect(place / "notes.db")) as db:
        return dict(db.execute("SELECT topic, text FROM note").fetchall())
