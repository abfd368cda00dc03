"""Notes that are found by their meaning, in a child process (W-41, W-46)."""

from __future__ import annotations

import importlib
import os
import select
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import studio
from studio.tools.memory.nearness import Nearness
from studio.tools.memory.nearness_process import Model, NoteVectors, load
from studio.tools.memory.note_store import NoteStore, place_of
from studio.tools.memory.notes import Notes

pytest.importorskip("wordllama", reason="the extra recall is not installed")

NOTES = {
    "car": "The automobile needs petrol before a long journey.",
    "food": "The canteen serves soup and bread at noon.",
    "tests": "Slow integration checks run at night.",
}


def without_network() -> Mapping[str, str]:
    """No address can be reached, so what asks a network for something fails."""
    nowhere = "http://127.0.0.1:9"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy")
    return {**os.environ, **dict.fromkeys(names, nowhere), "HF_ENDPOINT": nowhere}


@pytest.fixture
def nearness() -> Iterator[Nearness]:
    made = Nearness(without_network)
    yield made
    made.close()


def noted(tmp_path: Path, nearness: Nearness | None) -> Notes:
    notes = Notes(tmp_path / "notes", tmp_path / "work", nearness=nearness)
    for name, text in NOTES.items():
        notes.write(name, text)
    return notes


def test_w41_notes_are_found_by_what_they_mean_without_a_network(
    tmp_path: Path, nearness: Nearness
) -> None:
    notes = noted(tmp_path, nearness)
    assert not noted(tmp_path, None).recall("fuel for vehicles"), "no word of it is there"
    assert [one.name for one in notes.recall("fuel for vehicles")] == ["car"]
    assert notes.recall("where to eat")[0].name == "food"
    assert not notes.recall("zebra") and not notes.recall("…")
    assert notes.recall("bread at noon")[0].name == "food", "words count all the same"


def test_w46_a_deleted_note_is_found_by_its_meaning_no_more(
    tmp_path: Path, nearness: Nearness
) -> None:
    """Nor is one that has become another; and its vector is on the disk no more."""
    notes = noted(tmp_path, nearness)
    assert notes.recall("fuel for vehicles")
    index = tmp_path / "notes" / "index.db"
    with closing(sqlite3.connect(index)) as db:
        sql = "SELECT name, made FROM vector JOIN note ON note.id = vector.note"
        kept: dict[str, bytes] = dict(db.execute(sql).fetchall())
    assert set(kept) == set(NOTES) and all(one in index.read_bytes() for one in kept.values())
    NoteStore(tmp_path / "notes").erase(place_of(tmp_path / "work"), "car")
    assert not notes.recall("fuel for vehicles")
    notes.write("food", "The printer is on the second floor.")
    assert not notes.recall("where to eat")
    now = index.read_bytes()
    assert [name for name, made in kept.items() if made in now] == ["tests"]
    left = {one.name for one in (tmp_path / "notes").rglob("*") if one.is_file()}
    assert {name for name in left if not name.endswith((".md", ".before"))} <= {
        "index.db",
        ".folder",
    }


class CountedVectors(NoteVectors):
    """Says which texts it made vectors of."""

    def __init__(self, index: Path, model: Model) -> None:
        super().__init__(index, model)
        self.read: list[str] = []

    def embedded(self, texts: Sequence[str]) -> Any:
        self.read += texts
        return super().embedded(texts)


def found(tmp_path: Path, model: Model, query: str) -> tuple[list[str], int]:
    """The nearest notes of a process that has just begun, and how many it had to read."""
    vectors = CountedVectors(tmp_path / "notes" / "index.db", model)
    near = vectors.nearest([place_of(tmp_path / "work")], "kept", (), query)
    with closing(sqlite3.connect(tmp_path / "notes" / "index.db")) as db:
        names = dict(db.execute("SELECT id, name FROM note").fetchall())
    return [names[one] for one in near], len(vectors.read) - 1


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    for name in ("TOKENIZERS_PARALLELISM", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as they were, once the test is over
    return load()


def test_w41_a_process_that_begins_reads_only_the_notes_that_are_new(
    tmp_path: Path, model: Model
) -> None:
    notes = noted(tmp_path, None)
    assert notes.recall("petrol")
    assert found(tmp_path, model, "fuel for vehicles") == (["car"], 3)
    assert found(tmp_path, model, "fuel for vehicles") == (["car"], 0)
    notes.write("ship", "A ferry needs a harbour.")
    notes.write("food", "The printer is on the second floor.")
    assert notes.recall("ferry")
    assert found(tmp_path, model, "where to eat") == ([], 2)
    assert found(tmp_path, model, "boats") == (["ship"], 0)
    model.version = "a later one"
    assert found(tmp_path, model, "boats") == (["ship"], 4), "its vectors are others"
    assert found(tmp_path, model, "boats") == (["ship"], 0)


def test_w41_vectors_that_were_damaged_on_the_disk_are_made_again(
    tmp_path: Path, model: Model
) -> None:
    """Be it one of them or the table: nothing is lost, and a wrong one finds nothing."""
    notes = noted(tmp_path, None)
    assert notes.recall("petrol")
    assert found(tmp_path, model, "where to eat") == (["food"], 3)
    index = tmp_path / "notes" / "index.db"
    with closing(sqlite3.connect(index)) as db, db:
        db.execute("UPDATE vector SET made = (SELECT made FROM vector LIMIT 1)")
    assert found(tmp_path, model, "where to eat") == (["food"], 2)
    with closing(sqlite3.connect(index)) as db, db:
        db.execute("UPDATE vector SET made = x'00'")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'vector'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    assert found(tmp_path, model, "where to eat") == (["food"], 3)
    with index.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    assert found(tmp_path, model, "where to eat") == (["food"], 3)
    assert notes.recall("bread")[0].name == "food"
    assert found(tmp_path, model, "where to eat") == (["food"], 3)
    assert found(tmp_path, model, "where to eat") == (["food"], 0), "they are kept again"


def test_w41_the_child_ends_when_it_is_idle_and_begins_again(tmp_path: Path) -> None:
    nearness = Nearness(without_network, idle=0.2)
    notes = noted(tmp_path, nearness)
    try:
        assert notes.recall("fuel for vehicles")
        first = nearness.process
        assert first is not None and first.wait(30) == 0, "it ended by itself"
        assert notes.recall("fuel for vehicles")
        assert nearness.process is not None and nearness.process is not first
    finally:
        nearness.close()
    assert nearness.process is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_w41_a_query_that_hangs_does_not_keep_the_program(tmp_path: Path) -> None:
    """It gets no answer when the program ends, and no other child is begun for it."""
    begun = threading.Semaphore(0)
    started: list[int] = []

    def environment() -> Mapping[str, str]:
        started.append(1)
        begun.release()
        return without_network()

    nearness = Nearness(environment)
    index = tmp_path / "index.db"
    os.mkfifo(index)  # whoever reads it waits for ever
    found: list[list[int]] = []
    thread = threading.Thread(
        target=lambda: found.append(nearness.nearest(index, ["x"], "kept", (), "fuel"))
    )
    thread.start()
    assert begun.acquire(timeout=60)
    while nearness.process is None:
        thread.join(0.01)
    nearness.close()
    thread.join(60)
    assert found == [[]] and len(started) == 1 and nearness.process is None
    assert nearness.nearest(index, ["x"], "kept", (), "fuel") == [] and len(started) == 1


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="it waits for another's child")
def test_w41_a_program_that_is_killed_leaves_no_child(tmp_path: Path) -> None:
    """Its standard input ends with the program, and with that the child does."""
    program = (
        "import os, sys; from pathlib import Path; from studio.tools.memory.nearness import *;"
        "n = Nearness(lambda: os.environ); n.nearest(Path(sys.argv[1]), [], 'kept', (), 'x');"
        "print(n.process.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "none.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(without_network()) | {"PYTHONPATH": str(Path(studio.__file__).parents[1])},
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        handle = os.pidfd_open(child)
        process.kill()
    try:
        assert select.select([handle], [], [], 60)[0], "it ended"
    finally:
        os.close(handle)


@pytest.mark.skipif(sys.platform == "win32", reason="it stops a process")
def test_w41_words_are_found_where_the_child_cannot_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    nearness = Nearness(without_network)
    notes = noted(tmp_path, nearness)
    assert notes.recall("petrol")[0].name == "car" and not notes.recall("fuel for vehicles")
    nearness.close()


def test_w41_a_long_note_makes_no_work_of_the_short_ones_beside_it(
    tmp_path: Path, model: Model
) -> None:
    """Texts are not filled up to the longest one; their vectors are those of the model."""
    module: Any = importlib.import_module("wordllama")
    folder = Path(module.__file__).parent
    theirs = module.WordLlama.load(cache_dir=folder, disable_download=True)
    texts = [*NOTES.values(), "", "petrol " * 300]
    tokens = [len(one.ids) for one in model.tokens(texts)]
    assert max(tokens[:-1]) < 20 and tokens[-1] >= 300, tokens
    made = NoteVectors(tmp_path, model).embedded(texts)
    for text, vector in zip(texts, made, strict=True):
        own = theirs.embed([text], norm=True)[0] if text else 0 * vector
        assert abs(own - vector).max() < 1e-5, text


def test_w41_the_weights_stay_in_their_file_and_the_packages_code_is_not_run() -> None:
    """Its code and its copy of the weights are half of the memory and of the start."""
    program = (
        "import sys; from studio.tools.memory.nearness_process import load; made = load().vectors;"
        "print('wordllama' in sys.modules, made.dtype.itemsize, type(made.base).__name__)"
    )
    place = {"PYTHONPATH": str(Path(studio.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(without_network()) | place, capture_output=True
    )
    assert done.stdout.split() == [b"False", b"2", b"memmap"], done.stderr
