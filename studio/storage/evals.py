"""Eval store: evals that ran, and the record of their answers and verdicts (W-58).

The record has one entry for each digest of all that an answer or a verdict is made from. It stays
when runs are deleted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection

from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.records import dataclass

from .database import Database
from .sessions.search import sanitise_text

AT_ONCE = 500
"""Keys of one query."""
_COLUMNS = "id, number, name, source, folder, state, began, ended, runs"


@dataclass(frozen=True, slots=True)
class EvalRow:
    """One eval that ran. Times are seconds since the epoch; ``runs`` are those that it began."""

    id: str
    number: int
    name: str
    source: str
    folder: str
    state: str
    began: float
    ended: float
    runs: tuple[str, ...]


class EvalStore:
    """The tables ``eval_runs`` and ``eval_record``. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def begin(self, id: str, name: str, source: str, folder: str) -> int:
        """Note that an eval begins; returns its number among those of the file."""

        def write(db: Connection) -> int:
            query = "SELECT coalesce(max(number), 0) + 1 FROM eval_runs WHERE source = ?"
            ((number,),) = db.execute(query, (source,))
            db.execute(
                """INSERT INTO eval_runs (id, number, name, source, folder, state, began)
                VALUES (?, ?, ?, ?, ?, 'running', ?)""",
                (id, number, name, source, folder, time.time()),
            )
            return int(number)

        return await self._db.write(write)

    async def note_runs(self, id: str, runs: Sequence[str]) -> None:
        query = "UPDATE eval_runs SET runs = ? WHERE id = ?"
        await self._db.execute(query, json.dumps(list(runs)), id)

    async def end(self, id: str, state: str, report: JsonObject | None) -> None:
        text = sanitise_text(canonical_json(report)) if report is not None else ""
        query = "UPDATE eval_runs SET state = ?, ended = ?, report = ? WHERE id = ?"
        await self._db.execute(query, state, time.time(), text, id)

    async def list(self, most: int = 200, *, source: str = "", start: str = "") -> list[EvalRow]:
        """Evals that ran, the last one first; those of a file, or whose id begins so."""
        rows = await self._db.rows(
            f"""SELECT {_COLUMNS} FROM eval_runs
            WHERE (?1 = '' OR source = ?1) AND substr(id, 1, length(?2)) = ?2
            ORDER BY began DESC, id LIMIT ?3""",
            source,
            start,
            most,
        )
        return [EvalRow(*made, runs=tuple(json.loads(runs))) for *made, runs in rows]

    async def report(self, id: str) -> JsonObject | None:
        """What an eval came to; None before it ended."""
        rows = await self._db.rows("SELECT report FROM eval_runs WHERE id = ?", id)
        return json.loads(rows[0][0]) if rows and rows[0][0] else None

    async def recorded(self, keys: Iterable[str]) -> dict[str, JsonObject]:
        """What the record has for these keys."""
        found: dict[str, JsonObject] = {}
        wanted = list(dict.fromkeys(keys))
        for at in range(0, len(wanted), AT_ONCE):
            some = wanted[at : at + AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT key, body FROM eval_record WHERE key IN ({marks})"
            found |= {str(key): json.loads(body) for key, body in await self._db.rows(query, *some)}
        return found

    async def record(self, found: Mapping[str, JsonObject]) -> None:
        """Keep answers and verdicts; what is there of a key is replaced."""
        at = time.time()
        rows = [(key, sanitise_text(canonical_json(one)), at) for key, one in found.items()]
        query = "INSERT OR REPLACE INTO eval_record (key, body, at) VALUES (?, ?, ?)"
        await self._db.write(lambda db: db.executemany(query, rows))
