"""Nearness process: runs as ``python -m studio.tools.memory.nearness_process SECONDS`` (W-41).

Each line of standard input is a query as JSON: ``index`` (the file of the note index), ``places``,
``state``, ``trusts`` (empty for all) and ``query``. The answer is a line with the ids of the
nearest notes, best first. The process ends when standard input does, and after so many seconds
without a query. Its vectors are made of what is in the index, and kept there for the next start.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NEAREST = 20
LEAST = 0.3
"""The cosine of two texts that have little to do with each other is below it."""
CHUNK = 512
KEPT = "<f2"
"""The numbers of a vector in the index, as in the file of the model's weights."""
FRESH_NS = 100_000_000
"""An index that changed so lately may change again within the tick of the disk's clock."""
LONGEST = 2_000
"""Characters of a note that are looked at."""


class NoteVectors:
    """The vectors of all notes of one index, as it is now."""

    def __init__(self, index: Path, model: Model) -> None:
        self._index, self._model = index, model
        self._wide = model.vectors.shape[1]
        self._numpy: Any = import_module("numpy")
        self._stamp: object = None
        self._rows: dict[int, tuple[Any, ...]] = {}
        self._ids: list[int] = []
        self._matrix: Any = None

    def nearest(
        self, places: Sequence[str], state: str, trusts: Sequence[str], query: str
    ) -> list[int]:
        self._follow()
        if not self._ids:
            return []
        vector = self.embedded([query])[0]
        near = self._matrix @ vector
        found: list[int] = []
        order: list[int] = self._numpy.argsort(-near).tolist()
        for at in order:
            if near[at] < LEAST or len(found) == NEAREST:
                break
            row = self._rows[self._ids[at]]
            if row[2] in places and row[3] == state and (not trusts or row[4] in trusts):
                found.append(self._ids[at])
        return found

    def _follow(self) -> None:
        """Take what changed in the index."""
        now = self._index.stat()
        stamp = (now.st_ino, now.st_size, now.st_mtime_ns)
        if stamp == self._stamp:
            return
        address = f"{self._index.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=10.0, isolation_level=None)) as db:
            db.execute("PRAGMA secure_delete = 1")
            sql = "SELECT id, changed, size, place, state, trust FROM note"
            rows = {row[0]: row[1:] for row in db.execute(sql)}
            ids = [id for id in self._ids if self._rows[id] == rows.get(id)]
            known = {id: at for at, id in enumerate(self._ids)}
            new = [id for id, row in rows.items() if self._rows.get(id) != row]
            matrix = self._numpy.zeros((len(ids) + len(new), self._wide), "float32")
            if ids:
                matrix[: len(ids)] = self._matrix[[known[id] for id in ids]]
            for at in range(0, len(new), CHUNK):
                some = new[at : at + CHUNK]
                begin = len(ids) + at
                matrix[begin : begin + len(some)] = self._vectors(db, some)
        self._rows, self._ids = rows, [*ids, *new]
        self._matrix = matrix
        self._stamp = stamp if time.time_ns() - now.st_mtime_ns > FRESH_NS else None

    def _vectors(self, db: sqlite3.Connection, ids: Sequence[int]) -> Any:
        """The vectors of some notes: those that the index keeps, and new ones, which it then does.

        A note that has gone since has zeros, which are near to nothing.
        """
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT id, heading || ' ' || body FROM note WHERE id IN ({marks})"
        texts = {id: str(text)[:LONGEST] for id, text in db.execute(sql, ids)}
        kept: dict[int, tuple[bytes, bytes]] = {}
        try:
            sql = f"SELECT note, made, mark FROM vector WHERE note IN ({marks})"
            kept = {id: (made, mark) for id, made, mark in db.execute(sql, ids)}
        except sqlite3.DatabaseError:
            db.execute("PRAGMA user_version = 0")  # damaged: the next look makes it anew
        vectors = self._numpy.zeros((len(ids), self._wide), "float32")
        new: list[int] = []
        for at, id in enumerate(ids):
            made, mark = kept.get(id, (b"", b""))
            if id in texts and mark == self._mark(texts[id], made):
                vectors[at] = self._numpy.frombuffer(made, KEPT)
            elif id in texts:
                new.append(at)
        if new:
            vectors[new] = self.embedded([texts[ids[at]] for at in new])
            with suppress(sqlite3.Error):  # they are made again at the next start
                self._keep(db, {ids[at]: vectors[at] for at in new}, texts)
        return vectors

    def _keep(
        self, db: sqlite3.Connection, vectors: Mapping[int, Any], texts: Mapping[int, str]
    ) -> None:
        """Keep the vectors of those notes that are still in the index with the same text."""
        made = {id: vector.astype(KEPT).tobytes() for id, vector in vectors.items()}
        with db:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                f"""INSERT OR REPLACE INTO vector SELECT id, ?, ? FROM note
                WHERE id = ? AND substr(heading || ' ' || body, 1, {LONGEST}) = ?""",
                [(one, self._mark(texts[id], one), id, texts[id]) for id, one in made.items()],
            )

    def _mark(self, text: str, made: bytes) -> bytes:
        """What a kept vector is known by: the model, the text and its own bytes."""
        parts = (self._model.version.encode(), text.encode(errors="replace"), made)
        return blake2b(b"\0".join(parts), digest_size=16).digest()

    def embedded(self, texts: Sequence[str]) -> Any:
        """Their vectors, each of length one: the mean of those of its tokens.

        The model's own way fills all texts up to the longest, and copies a vector for each filling.
        """
        made = self._numpy.zeros((len(texts), self._wide), "float32")
        for at, one in enumerate(self._model.tokens(texts)):
            if one.ids:
                made[at] = self._model.vectors[one.ids].mean(axis=0, dtype="float32")
        return made / (self._numpy.linalg.norm(made, axis=1, keepdims=True) + 1e-8)


class Model:
    """The files of the package ``wordllama``, used without its code.

    That imports all that it can do, and makes the weights twice as big; here they stay in their
    file, of which the system keeps in memory what is asked for.
    """

    def __init__(self) -> None:
        numpy: Any = import_module("numpy")
        found = find_spec("wordllama")
        assert found is not None and found.origin is not None
        folder = Path(found.origin).parent
        weights = folder / "weights" / "l2_supercat_256.safetensors"
        self.version = f"{_version()} {weights.name} {weights.stat().st_size}"
        """Vectors of another version cannot be compared with those of this one."""
        with weights.open("rb") as file:
            head = int.from_bytes(file.read(8), "little")
            table = json.loads(file.read(head))["embedding.weight"]
        kind = {"F16": "<f2", "F32": "<f4"}[table["dtype"]]
        start = 8 + head + table["data_offsets"][0]
        self.vectors = numpy.memmap(weights, kind, "r", start, tuple(table["shape"])).view(
            numpy.ndarray
        )
        file = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def tokens(self, texts: Sequence[str]) -> Sequence[Any]:
        return self._tokenizer.encode_batch_fast([*texts], add_special_tokens=False)


def _version() -> str:
    try:
        return version("wordllama")
    except PackageNotFoundError:  # a package without its description, of some builders
        return ""


def load() -> Model:
    """The model; it asks no network for anything."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false"}
    # More threads wait for each other longer than they compute: a query takes ten times as much.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return Model()


def main() -> None:
    idle = float(sys.argv[1])
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    model, known = load(), dict[str, NoteVectors]()
    while True:
        timer = threading.Timer(idle, os._exit, (0,))
        timer.daemon = True
        timer.start()
        line = sys.stdin.readline()
        timer.cancel()
        if not line:
            return
        wanted: dict[str, Any] = json.loads(line)
        index = wanted.pop("index")
        vectors = known.setdefault(index, NoteVectors(Path(index), model))
        try:
            found = vectors.nearest(**wanted)
        except (OSError, sqlite3.Error):  # it is made anew just now
            found = []
        out.write(f"{json.dumps(found)}\n")
        out.flush()


if __name__ == "__main__":
    main()
