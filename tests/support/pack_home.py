"""The pack ``notes`` of the tests, in the program of a test."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from studio.extensions.packs.loading import CodePlace, ProgramPacks
from support.engine_home import EngineHome

PACKS = Path(__file__).parent / "packs"
OURS = "org.agent-studio"


class FileRecords:
    """A database with the pack's table."""

    def __init__(self, file: Path, schema: Path) -> None:
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._lock = threading.RLock()
        if not self._db.execute("SELECT 1 FROM sqlite_master").fetchall():
            self._db.executescript(schema.read_text("utf-8"))

    def read(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        with self._lock, closing(self._db.execute(sql, values)) as found:
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found]

    def write(self, sql: str, *values: Any) -> int:
        with self._lock, closing(self._db.execute(sql, values)) as done:
            return done.lastrowid or done.rowcount

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


def install_notes(home: EngineHome, place: Path) -> Path:
    """Install the pack beside the engine's data; returns its folder of ours."""
    root = place / "notes" / OURS
    if not root.exists():
        shutil.copytree(PACKS / "notes" / OURS, root)

    def records() -> FileRecords:
        return FileRecords(place / "notes.db", root / "schema" / "0001.sql")

    code = CodePlace("notes", root, "1", records)
    home.engine.services.packs.source = ProgramPacks(lambda: [code])
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
