"""What is in a folder, looked at again and again, kept by content and put back (T-5)."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from studio.storage.snapshots import file_state
from studio.storage.snapshots.blob_store import DAY, BlobStore, digest_of
from studio.storage.snapshots.file_restore import restore
from studio.storage.snapshots.file_state import Change, FileState, file_state_at
from studio.storage.snapshots.folder_snapshot import FolderSnapshot, SnapshotLimits
from support.waiting import HANG

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")


@pytest.fixture
def contents(tmp_path: Path) -> Iterator[BlobStore]:
    made = BlobStore(tmp_path / "data" / "snapshots.db")
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\n")
    (folder / "src" / "b.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "src" / "empty").touch()
    return folder


def told(changes: dict[str, Change]) -> dict[str, tuple[str, str]]:
    def kind(entry: FileState | None) -> str:
        return entry.kind if entry else ""

    return {path: (kind(before), kind(after)) for path, (before, after) in changes.items()}


def test_each_look_says_what_changed(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    assert tree.scan() == {} and tree.scan() == {}
    (root / "a.txt").write_text("other\n")  # of the same size
    (root / "src" / "b.bin").unlink()
    (root / "new" / "er").mkdir(parents=True)
    (root / "new" / "er" / "c").write_text("c")
    changes = tree.scan()
    assert told(changes) == {
        "a.txt": ("file", "file"),
        "src/b.bin": ("file", ""),
        "new": ("", "folder"),
        "new/er": ("", "folder"),
        "new/er/c": ("", "file"),
    }
    before = changes["a.txt"][0]
    assert before is not None and contents.get(before.digest) == b"alpha\n"
    assert tree.scan() == {}


@posix
def test_modes_links_and_kinds(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    tree.scan()
    (root / "a.txt").chmod(0o755)
    (root / "src" / "deep").chmod(0o700)
    (root / "src" / "empty").unlink()
    (root / "src" / "empty").mkdir()
    (root / "link").symlink_to("/nowhere/./at//all")
    os.mkfifo(root / "pipe")
    changes = tree.scan()
    assert told(changes) == {
        "a.txt": ("file", "file"),
        "src/deep": ("folder", "folder"),
        "src/empty": ("file", "folder"),
        "link": ("", "link"),
    }
    link = changes["link"][1]
    assert link is not None and contents.get(link.digest) == b"/nowhere/./at//all"
    assert tree.scan() == {}
    (root / "pipe").unlink()
    assert tree.scan() == {}


def test_links_are_not_followed_and_ignored_folders_not_entered(
    contents: BlobStore, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "out").symlink_to(outside)
    (root / "node_modules").mkdir()
    own = root / "own"
    own.mkdir()
    tree = FolderSnapshot(root, contents, ignored={"node_modules"}, excluded=[own])
    tree.scan()
    for place in (outside, root / "node_modules", own):
        (place / "x").write_text("x")
    (root / ".a.txt.01234567.studio-tmp").write_text("half of a draft")
    assert tree.scan() == {}


def test_a_change_within_one_tick_of_the_clock_is_seen(contents: BlobStore, root: Path) -> None:
    """The same size and time again and again: only the content tells."""
    tree = FolderSnapshot(root, contents)
    tree.scan()
    path = root / "a.txt"
    for number in range(200):
        text = f"{number:06}"
        path.write_text(text)
        changes = tree.scan()
        now = changes["a.txt"][1]
        assert now is not None and now.digest == digest_of(text.encode())


def test_a_change_that_hides_its_time_is_seen(contents: BlobStore, root: Path) -> None:
    """``touch -r`` sets mtime back, not ctime."""
    path = root / "a.txt"
    past = time.time() - 1000
    os.utime(path, (past, past))
    tree = FolderSnapshot(root, contents)
    tree.scan()
    path.write_text("omega\n")
    os.utime(path, (past, past))
    assert list(tree.scan()) == ["a.txt"]


def test_another_program_begins_where_this_one_ended(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    tree.scan()
    tree.save()
    (root / "a.txt").write_text("between\n")
    (root / "src" / "empty").unlink()
    later = FolderSnapshot(root, contents)
    assert later.scan() == {}, "what happened between two programs is nobody's"
    (root / "a.txt").write_text("after\n")
    before = later.scan()["a.txt"][0]
    assert before is not None and contents.get(before.digest) == b"between\n"


def test_what_is_settled_is_not_read_again(
    contents: BlobStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second program reads nothing of what has not changed: not even one it could not."""
    monkeypatch.setattr(file_state, "_TICK", -int(HANG) * 10**9)  # however young, a file is settled
    tree = FolderSnapshot(root, contents)
    tree.scan()
    tree.save()
    with closing(sqlite3.connect(contents.path)) as db, db:
        db.execute(
            "UPDATE seen SET entry = 'file 644 0123', digest = '0123' WHERE path = ?", (b"a.txt",)
        )
    db.close()
    later = FolderSnapshot(root, contents)
    later.scan()
    (root / "a.txt").write_text("new")
    assert later.scan()["a.txt"][0] == FileState("file", 0o644, "0123")


def test_a_folder_beyond_the_bounds_says_so(contents: BlobStore, root: Path) -> None:
    many = FolderSnapshot(root, contents, limits=SnapshotLimits(files=4))
    assert many.scan() == {} and many.refused == "it has too many files"
    big = FolderSnapshot(root, contents, limits=SnapshotLimits(size=1000))
    assert big.scan() == {} and big.refused == "its files are too big together"
    (root / "a.txt").write_text("x")
    assert many.scan() == big.scan() == {}
    state, changes = many.scan_paths(["a.txt"])  # one file can still be looked at
    assert state["a.txt"] is not None and not changes


def test_a_big_file_is_told_but_not_kept(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents, limits=SnapshotLimits(file_size=100))
    tree.scan()
    (root / "src" / "b.bin").write_bytes(bytes(5000))
    before, after = tree.scan()["src/b.bin"]
    assert before is not None and after is not None
    assert not before.kept and not after.kept and before != after
    done, left = restore(root, contents, {"src/b.bin": (after, before)})
    assert (done, left) == ([], ["src/b.bin"])


def test_looking_at_some_paths_alone(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    tree.scan()
    (root / "a.txt").write_text("one")
    (root / "src" / "empty").write_text("two")
    (root / "made").mkdir()
    (root / "made" / "c").write_text("c")
    state, changes = tree.scan_paths(["a.txt", "made/c", "none/at/all"])
    assert told(changes) == {
        "a.txt": ("file", "file"), "made": ("", "folder"), "made/c": ("", "file"),
    }  # fmt: skip
    assert state["none"] is None and state["none/at"] is None and state["none/at/all"] is None
    assert told(tree.scan()) == {"src/empty": ("file", "file")}
    assert tree.scan() == {}


def test_contents_are_private_and_each_is_kept_once(contents: BlobStore, tmp_path: Path) -> None:
    data = b"the same words again " * 2000
    for _ in range(3):
        contents.put({digest_of(data): data, digest_of(b""): b""})
    assert contents.get(digest_of(data)) == data and contents.get(digest_of(b"")) == b""
    assert contents.get("0" * 64) is None
    with closing(sqlite3.connect(contents.path)) as db, db:
        assert db.execute("SELECT count(*), max(length(data)) FROM content").fetchone() < (3, 5000)
    db.close()
    if sys.platform != "win32":
        for file in contents.path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert stat.S_IMODE(contents.path.parent.stat().st_mode) == 0o700


def test_what_nobody_wants_is_collected(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    tree.scan()
    tree.save()
    kept, gone = digest_of(b"kept"), digest_of(b"gone")
    contents.put({kept: b"kept", gone: b"gone"})
    assert contents.collect({kept}) == 0, "it is young: somebody may be about to want it"
    assert contents.collect({kept}, spare=0) == 1
    assert contents.get(kept) == b"kept" and contents.get(gone) is None
    assert contents.get(digest_of(b"alpha\n")) == b"alpha\n", "the folder has it"
    with closing(sqlite3.connect(contents.path)) as db, db:
        db.execute("UPDATE folder SET at = at - ?", (31 * DAY,))
    db.close()
    assert contents.collect({kept}, spare=0) > 0
    assert contents.get(digest_of(b"alpha\n")) is None


def test_a_damaged_store_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "snapshots.db"
    path.write_bytes(b"no database at all" * 1000)
    contents = BlobStore(path)
    contents.put({digest_of(b"x"): b"x"})
    assert contents.get(digest_of(b"x")) == b"x"
    contents.close()
    assert [file for file in tmp_path.iterdir() if ".damaged-" in file.name]


def test_damaged_content_is_never_restored(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    tree.scan()
    (root / "a.txt").write_text("new")
    before, after = tree.scan()["a.txt"]
    with closing(sqlite3.connect(contents.path)) as db, db:
        db.execute("UPDATE content SET data = 'nonsense', packed = 0")
    db.close()
    assert restore(root, contents, {"a.txt": (after, before)}) == ([], ["a.txt"])
    assert (root / "a.txt").read_text() == "new"


@posix
def test_nothing_is_restored_through_a_link(
    contents: BlobStore, root: Path, tmp_path: Path
) -> None:
    """A folder that became a link leads out of the folder: what is there is not ours."""
    outside = tmp_path / "outside"
    outside.mkdir()
    tree = FolderSnapshot(root, contents)
    tree.scan()
    (root / "src" / "deep" / "x").write_text("agent")
    changes = tree.scan()
    (outside / "x").write_text("agent")
    (root / "src" / "deep" / "x").unlink()
    (root / "src" / "deep").rmdir()
    (root / "src" / "deep").symlink_to(outside)
    wanted = {path: (after, before) for path, (before, after) in changes.items()}
    assert restore(root, contents, wanted)[1] == ["src/deep/x"]
    assert (outside / "x").read_text() == "agent"
    for path in ("../outside/x", "/etc/passwd", "src/../../outside/x", ""):
        there = file_state_at(root / path) if path else None
        assert restore(root, contents, {path: (there, None)})[1] == [path]
    assert (outside / "x").exists()


@posix
def test_long_names_and_private_files(contents: BlobStore, root: Path) -> None:
    path = root / ("\N{GRINNING FACE}" * 60)
    path.write_text("secret")
    path.chmod(0o600)
    tree = FolderSnapshot(root, contents)
    tree.scan()
    path.unlink()
    (name, (before, after)), *_ = tree.scan().items()
    assert restore(root, contents, {name: (after, before)}) == ([name], [])
    assert path.read_text() == "secret" and stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_a_read_only_folder_is_opened_and_closed_again(contents: BlobStore, root: Path) -> None:
    tree = FolderSnapshot(root, contents)
    tree.scan()
    before = hash_of(root)
    (root / "src" / "deep" / "x").write_text("x")
    (root / "src" / "deep").chmod(0o555)
    (root / "locked").mkdir()
    (root / "locked" / "y").write_text("y")
    (root / "locked").chmod(0o500)
    after, changes = hash_of(root), tree.scan()
    backwards = {path: (b, a) for path, (a, b) in changes.items()}
    assert restore(root, contents, backwards)[1] == []
    assert hash_of(root) == before
    assert restore(root, contents, changes)[1] == []
    assert hash_of(root) == after
    restore(root, contents, backwards)


def hash_of(root: Path) -> dict[str, str]:
    """What a person would call the same tree: kinds, modes, bytes, targets."""
    found: dict[str, str] = {}
    for place in sorted(root.rglob("*")):
        info = place.lstat()
        mode = f"{stat.S_IMODE(info.st_mode):o}"
        if stat.S_ISLNK(info.st_mode):
            found[str(place)] = f"link {os.readlink(place)}"  # noqa: PTH115
        elif stat.S_ISDIR(info.st_mode):
            found[str(place)] = f"folder {mode}"
        else:
            found[str(place)] = f"file {mode} {digest_of(place.read_bytes())}"
    return found


@posix
@pytest.mark.parametrize("seed", range(4))
def test_ten_crashes_on_the_way_back(contents: BlobStore, root: Path, seed: int) -> None:
    """A program that dies while it restores has done some of it; the same call does the rest."""
    rng = random.Random(seed)
    for number in range(12):
        (root / f"f{number}").write_text(f"{number}")
    tree = FolderSnapshot(root, contents)
    tree.scan()
    before = hash_of(root)
    script = (
        "rm f0 f1; mv f2 moved; mkdir d; mv f3 d/; echo x > f4; chmod +x f5; ln -s f6 l; rm -r src"
    )
    subprocess.run(["sh", "-c", script], cwd=root, check=True)
    changes = tree.scan()
    backwards = {path: (b, a) for path, (a, b) in changes.items()}
    for _ in range(10):
        some = {path: backwards[path] for path in backwards if rng.random() < 0.3}
        restore(root, contents, some)
    done, left = restore(root, contents, backwards)
    assert left == [] and set(done) == set(backwards)
    assert hash_of(root) == before
