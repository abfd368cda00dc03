"""Drafts on the disk: written, deleted, moved, undone, never half done (T-5)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.drafts import Draft, FileDraft
from studio.domain.errors import ToolFailed
from studio.tools import (
    DraftConflict,
    Workspace,
    make_delete,
    make_draft,
    make_move,
    undo_draft,
    write_draft,
)
from studio.tools.drafts.draft_make import make_further
from studio.tools.drafts.draft_write import read_stamp, relocate
from support.fork_server import start_python

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links as POSIX has them")


@pytest.fixture
def trash(tmp_path: Path) -> Path:
    return tmp_path / "trash"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


# Deleting


@pytest.mark.parametrize("data", [b"one\ntwo\n", b"\xff\xfeo\0n\0", b"\0\1\2", b""])
def test_delete_then_undo_restores_the_file(root: Path, trash: Path, data: bytes) -> None:
    """T-5: bytes, mode and times, whether it is text or not."""
    workspace, path = Workspace(root), root / "a"
    path.write_bytes(data)
    path.chmod(0o750)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    draft = make_delete(workspace, "a")
    assert (draft.action, draft.after) == ("delete", "")
    assert draft.base_digest == hashlib.sha256(data).hexdigest()
    write_draft(workspace, draft, trash)
    assert tree(root) == {}
    write_draft(workspace, draft, trash)  # done already
    undo_draft(workspace, draft, trash)
    undo_draft(workspace, draft, trash)
    assert path.read_bytes() == data
    assert path.stat().st_mtime == 1_600_000_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o750 or sys.platform == "win32"


def test_text_is_restored_from_the_draft_where_nothing_was_kept(root: Path) -> None:
    workspace = Workspace(root)
    (root / "a").write_bytes(b"\xef\xbb\xbfone\r\n")
    draft = make_delete(workspace, "a")
    write_draft(workspace, draft)
    undo_draft(workspace, draft)
    assert (root / "a").read_bytes() == b"\xef\xbb\xbfone\r\n"
    (root / "b").write_bytes(b"\0")
    other = make_delete(workspace, "b")
    with pytest.raises(ToolFailed, match="could not be kept"):
        write_draft(workspace, other)
    assert (root / "b").exists()


def test_what_was_kept_must_be_what_was_deleted(root: Path, trash: Path) -> None:
    workspace = Workspace(root)
    (root / "b").write_bytes(b"\0mine")
    draft = make_delete(workspace, "b")
    write_draft(workspace, draft, trash)
    (trash / draft.id).write_bytes(b"\0another")
    with pytest.raises(ToolFailed, match="not kept any more"):
        undo_draft(workspace, draft, trash)
    assert tree(root) == {}


def test_a_changed_file_is_not_deleted_nor_restored_over(root: Path, trash: Path) -> None:
    workspace, path = Workspace(root), root / "a"
    path.write_text("one")
    draft = make_delete(workspace, "a")
    path.write_text("mine")
    with pytest.raises(DraftConflict, match="a changed since the draft was made"):
        write_draft(workspace, draft, trash)
    assert path.read_text() == "mine"
    draft = make_delete(workspace, "a")
    write_draft(workspace, draft, trash)
    path.write_text("again")
    with pytest.raises(DraftConflict, match="exists by now"):
        undo_draft(workspace, draft, trash)
    assert path.read_text() == "again"


@posix
def test_what_cannot_be_deleted_or_moved(root: Path) -> None:
    workspace = Workspace(root)
    (root / "folder").mkdir()
    (root / "file").write_text("x")
    (root / "link").symlink_to("file")
    (root / "out").symlink_to("/etc/hosts")
    os.mkfifo(root / "pipe")
    for path, words in (
        ("folder", "is a folder"),
        (".", "is a folder"),
        ("none", "no file none"),
        ("link", "link is a link to file. Name the file itself"),
        ("out", "outside the folder"),
        ("../x", "outside the folder"),
        ("pipe", "not an ordinary file"),
    ):
        with pytest.raises(ToolFailed, match=words):
            make_delete(workspace, path)
        with pytest.raises(ToolFailed, match=words):
            make_move(workspace, path, "new")
    for to, words in (
        ("folder", "folder is a folder. “to” must be the whole new path"),
        ("folder/", "is a folder"),
        ("new/", "names a folder"),
        ("file", "where the file is already"),
        ("link", "link exists"),
        ("file/below", "file is a file, not a folder"),
        ("../new", "outside the folder"),
        (".", "must name a file"),
        ("..", "outside the folder"),
    ):
        with pytest.raises(ToolFailed, match=words):
            make_move(workspace, "file", to)


@posix
def test_a_name_in_a_folder_outside_is_outside(tmp_path: Path, root: Path) -> None:
    """T-8: even if it is a link that leads back."""
    other = tmp_path / "other"
    other.mkdir()
    (root / "file").write_text("x")
    (other / "back").symlink_to(root / "file")
    (root / "away").symlink_to(other)
    with pytest.raises(ToolFailed, match="outside the folder"):
        make_delete(Workspace(root), "away/back")
    with pytest.raises(ToolFailed, match="outside the folder"):
        make_move(Workspace(root), "file", "away/back")


# Moving


@pytest.mark.parametrize("data", [b"one\ntwo\n", b"\0\1\2"])
def test_move_then_undo(root: Path, data: bytes) -> None:
    """T-5."""
    workspace, path = Workspace(root), root / "a"
    path.write_bytes(data)
    path.chmod(0o750)
    draft = make_move(workspace, "a", "./new/b")
    assert (draft.path, draft.target, draft.action) == ("a", "new/b", "move")
    write_draft(workspace, draft)
    assert tree(root) == {"new/b": data}
    assert stat.S_IMODE((root / "new" / "b").stat().st_mode) == 0o750 or sys.platform == "win32"
    write_draft(workspace, draft)
    undo_draft(workspace, draft)
    undo_draft(workspace, draft)
    assert tree(root) == {"a": data}


def test_a_move_takes_an_edit_along(root: Path) -> None:
    """T-5: one draft, one step, whichever came first."""
    workspace, path = Workspace(root), root / "a"
    path.write_bytes(b"\xef\xbb\xbfone\r\n")
    path.chmod(0o700)
    moved = make_further(make_move(workspace, "a", "b"), "two\r\n")
    edited = make_move(workspace, "a", "b", make_draft(workspace, "a", "two\r\n"))
    for draft in (moved, edited):
        write_draft(workspace, draft)
        assert tree(root) == {"b": b"\xef\xbb\xbftwo\r\n"}
        assert stat.S_IMODE((root / "b").stat().st_mode) == 0o700 or sys.platform == "win32"
        undo_draft(workspace, draft)
        assert tree(root) == {"a": b"\xef\xbb\xbfone\r\n"}


def test_a_move_overwrites_nothing(root: Path) -> None:
    workspace = Workspace(root)
    (root / "a").write_text("one")
    draft = make_move(workspace, "a", "b")
    (root / "b").write_text("mine")
    with pytest.raises(DraftConflict, match="b exists by now"):
        write_draft(workspace, draft)
    (root / "b").unlink()
    (root / "a").write_text("mine")
    with pytest.raises(DraftConflict, match="a changed since"):
        write_draft(workspace, draft)
    (root / "a").unlink()
    with pytest.raises(DraftConflict, match="a was deleted since"):
        write_draft(workspace, draft)
    (root / "a").write_text("one")
    write_draft(workspace, draft)
    (root / "a").write_text("mine")
    with pytest.raises(DraftConflict, match="a exists by now"):
        undo_draft(workspace, draft)
    (root / "a").unlink()
    (root / "b").write_text("mine")
    with pytest.raises(DraftConflict, match="b changed since"):
        undo_draft(workspace, draft)
    assert tree(root) == {"b": b"mine"}


def test_a_name_in_other_letters_is_another_name(root: Path) -> None:
    """Also where the system takes both for one file."""
    workspace = Workspace(root)
    (root / "readme.md").write_text("x")
    draft = make_move(workspace, "readme.md", "README.md")
    write_draft(workspace, draft)
    assert [path.name for path in root.iterdir()] == ["README.md"]
    undo_draft(workspace, draft)
    assert [path.name for path in root.iterdir()] == ["readme.md"]


@posix
def test_two_links_to_one_file_are_not_other_spellings(root: Path) -> None:
    """A rename of one to the other would do nothing and say it did."""
    if (root / "A").exists():
        return
    (root / "a").write_text("x")
    try:
        os.link(root / "a", root / "A")
    except FileExistsError:  # one file, on this file system
        return
    with pytest.raises(ToolFailed, match="A exists"):
        make_move(Workspace(root), "a", "A")


@posix
def test_across_devices(root: Path) -> None:
    """A folder of another disk in the folder: the file is copied, whole, then removed."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == root.stat().st_dev:
        return
    other = shm / f"studio-test-{os.getpid()}"
    other.mkdir()
    try:
        source = root / "a"
        source.write_bytes(b"x" * 3_000_000)
        source.chmod(0o640)
        os.utime(source, (1_600_000_000, 1_600_000_000))
        seen = read_stamp(source, "a")
        assert seen is not None
        relocate(source, other / "b", "b", seen, None)
        assert not source.exists()
        assert [path.name for path in other.iterdir()] == ["b"]
        about = (other / "b").stat()
        assert (about.st_size, stat.S_IMODE(about.st_mode)) == (3_000_000, 0o640)
        assert about.st_mtime == 1_600_000_000
    finally:
        for path in other.iterdir():
            path.unlink()
        other.rmdir()


# What a file has beside its bytes


@posix
def test_hard_links_outside_are_never_written_to(tmp_path: Path, root: Path) -> None:
    """T-8: the other name keeps the old bytes."""
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    os.link(outside, root / "a")
    workspace = Workspace(root)
    draft = make_draft(workspace, "a", "new")
    write_draft(workspace, draft)
    assert (outside.read_text(), (root / "a").read_text()) == ("theirs", "new")
    undo_draft(workspace, draft)
    move = make_further(make_move(workspace, "a", "b"), "new")
    write_draft(workspace, move)
    assert (outside.read_text(), (root / "b").read_text()) == ("theirs", "new")


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes from Python")
def test_extended_attributes_stay(root: Path, trash: Path) -> None:
    path = root / "a"
    path.write_text("one")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:  # a file system without them
        return
    workspace = Workspace(root)
    write_draft(workspace, make_draft(workspace, "a", "two"))
    assert os.getxattr(path, "user.note") == b"kept"
    draft = make_delete(workspace, "a")
    write_draft(workspace, draft, trash)
    undo_draft(workspace, draft, trash)
    assert os.getxattr(path, "user.note") == b"kept"


def test_a_written_file_is_new_to_programs_that_look_at_times(root: Path) -> None:
    """``make`` and its like."""
    path = root / "a"
    path.write_text("one")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    workspace = Workspace(root)
    write_draft(workspace, make_draft(workspace, "a", "two"))
    assert path.stat().st_mtime > 1_600_000_000


@posix
def test_a_folder_that_cannot_be_written_to() -> None:
    """Not in pytest's folder: another run of it that begins takes the rights of others away."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:  # where others can go
        root = Path(made)
        (root / "a").write_text("one")
        (root / "a").chmod(0o666)
        root.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", _DENIED.format(root=made)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines() == [
            "a cannot be written: permission denied.",
            "a cannot be deleted: permission denied.",
            "b cannot be moved: permission denied.",
            "new cannot be written: permission denied.",
        ], done.stderr
        assert tree(root) == {"a": b"one"}
        root.chmod(0o755)


_DENIED = """
import os
from studio.domain.errors import ToolFailed
from studio.tools import *
if os.geteuid() == 0:  # root may do anything: ask as somebody else
    os.setgid(65534)
    os.setuid(65534)
workspace = Workspace({root!r})
for draft in (
    make_draft(workspace, "a", "two"), make_delete(workspace, "a"),
    make_move(workspace, "a", "b"), make_draft(workspace, "new", "x"),
):
    try:
        write_draft(workspace, draft)
    except ToolFailed as failure:
        print(failure)
"""


@posix
def test_a_read_only_file_stays(root: Path) -> None:
    if os.geteuid() == 0:
        return
    (root / "a").write_text("one")
    draft = make_draft(Workspace(root), "a", "two")
    (root / "a").chmod(0o444)
    with pytest.raises(ToolFailed, match="read-only"):
        write_draft(Workspace(root), draft)


@posix
def test_nobody_reads_a_secret_while_it_is_written(root: Path) -> None:
    """What stands in for a private file for a moment is as private."""
    path = root / "a"
    path.write_text("one")
    path.chmod(0o600)
    old, seen = os.umask(0), set[int]()
    watched = os.open(root, os.O_RDONLY)
    real = os.fsync

    def fsync(handle: int) -> None:
        seen.update(stat.S_IMODE(p.stat().st_mode) for p in root.iterdir())
        real(handle)

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            write_draft(Workspace(root), make_draft(Workspace(root), "a", "two"))
    finally:
        os.umask(old)
        os.close(watched)
    assert seen == {0o600}


# A program that is killed


_CHILD = """
import sys
from pathlib import Path
from studio.domain.drafts import Draft, FileDraft
from studio.tools import Workspace, undo_draft, write_draft
root, trash = Path(sys.argv[1]), Path(sys.argv[2])
size = int(sys.argv[4])
old, new = "old\\n" * size, "new!\\n" * size
import hashlib
base = hashlib.sha256(old.encode()).hexdigest()
action = sys.argv[3]
draft = FileDraft(
    "id", "a", old, "" if action == "delete" else new, base, action=action,
    target="b" if action == "move" else "",
)
workspace = Workspace(root)
print("ready", flush=True)
while True:
    write_draft(workspace, draft, trash)
    undo_draft(workspace, draft, trash)
"""


@posix
@pytest.mark.parametrize("action", ["write", "delete", "move"])
async def test_killed_in_the_middle_a_file_is_old_or_new(
    root: Path, trash: Path, action: str
) -> None:
    """T-5: never a half, and what is left over neither harms nor stays."""
    size = 60_000
    old, new = b"old\n" * size, b"new!\n" * size
    workspace = Workspace(root)
    leftovers = 0
    for round_ in range(6):
        for path in root.iterdir():
            if path.name in ("a", "b"):
                path.unlink()
        (root / "a").write_bytes(old)
        child = await start_python("-c", _CHILD, str(root), str(trash), action, str(size))
        assert child.stdout is not None
        assert await child.stdout.readline()
        await asyncio.sleep(0.003 * round_)  # another moment each time; any is a right one
        child.kill()
        await child.communicate()
        there = {name: data for name, data in tree(root).items() if not name.startswith(".")}
        leftovers += len(tree(root)) - len(there)
        wanted = {
            "write": [{"a": old}, {"a": new}],
            "delete": [{"a": old}, {}],
            "move": [{"a": old}, {"b": new}, {"a": old, "b": new}],
        }[action]
        assert there in wanted
        # The next program finds a draft that waits, and carries it out.
        after = "" if action == "delete" else new.decode()
        base = hashlib.sha256(old).hexdigest()
        target = "b" if action == "move" else ""
        draft = FileDraft("id", "a", old.decode(), after, base, action=action, target=target)  # type: ignore[arg-type]
        write_draft(workspace, draft, trash)
        assert {n: d for n, d in tree(root).items() if not n.startswith(".")} == wanted[1]
        undo_draft(workspace, draft, trash)
        assert (root / "a").read_bytes() == old


@posix
def test_what_a_killed_program_left_is_removed_later(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(root)
    ours, other = root / ".a.0123abcd.studio-tmp", root / ".a.0123abcd.tmp"
    ours.write_text("half")
    other.write_text("somebody's")
    write_draft(workspace, make_draft(workspace, "n", "x"))
    assert ours.exists()  # its writer may be at work at this moment
    later = time.time() + 120
    monkeypatch.setattr(time, "time", lambda: later)
    write_draft(workspace, make_draft(workspace, "m", "x"))
    assert sorted(path.name for path in root.iterdir()) == [other.name, "m", "n"]


# Whatever is done, undoing it in the opposite order restores the folder

NAMES = st.sampled_from(["a", "b", "c/d", "c/e"])
STEP = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(["", "x\n", "y", "z\r\n"])),
    st.tuples(st.just("delete"), NAMES, st.just("")),
    st.tuples(st.just("move"), NAMES, NAMES),
)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(
    start=st.dictionaries(NAMES, st.sampled_from([b"", b"x\n", b"\0\1", b"\xef\xbb\xbfy"])),
    steps=st.lists(STEP, max_size=8),
)
def test_undone_in_order_everything_is_as_before(
    tmp_path_factory: pytest.TempPathFactory,
    start: dict[str, bytes],
    steps: list[tuple[str, str, str]],
) -> None:
    """T-5."""
    home = tmp_path_factory.mktemp("home")
    root, trash = home / "work", home / "trash"
    root.mkdir()
    for name, data in start.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    workspace = Workspace(root)
    done: list[tuple[Draft, dict[str, bytes]]] = []
    for action, path, value in steps:
        try:
            if action == "write":
                draft = make_draft(workspace, path, value)
            elif action == "delete":
                draft = make_delete(workspace, path)
            else:
                draft = make_move(workspace, path, value)
        except ToolFailed:
            continue
        if draft.action == "write" and draft.before == draft.after:
            continue
        done.append((draft, tree(root)))
        write_draft(workspace, draft, trash)
        made = tree(root).get(draft.target or draft.path)
        assert (made is None) is (action == "delete")
        assert action != "write" or made == draft.after.encode(draft.encoding)
    for draft, before in reversed(done):
        undo_draft(workspace, draft, trash)
        assert tree(root) == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("action", ["file", "folder", "move", "delete", "undo"])
def test_a_link_put_there_since_leads_no_draft_elsewhere(tmp_path: Path, action: str) -> None:
    """T-5, T-8: what was approved is ``notes/a``, not a hook that it has come to mean."""
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "a").write_text("old")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a").write_text("old")
    (tmp_path / "b").write_text("evil")
    workspace = Workspace(tmp_path)
    if action == "move":
        draft = make_move(workspace, "b", "notes/new")
    elif action == "delete":
        draft = make_delete(workspace, "notes/a")
    else:
        draft = make_draft(workspace, "notes/a", "evil")
    if action == "undo":
        write_draft(workspace, draft)
        (hooks / "a").write_text("evil")
    before = {path.name: path.read_text() for path in hooks.iterdir()}
    (tmp_path / "notes" / "a").unlink()
    if action == "file":
        (tmp_path / "notes" / "a").symlink_to("../.git/hooks/a")
    else:
        (tmp_path / "notes").rmdir()
        (tmp_path / "notes").symlink_to(".git/hooks")
    with pytest.raises(DraftConflict, match="leads to"):
        (undo_draft if action == "undo" else write_draft)(workspace, draft, tmp_path / "trash")
    assert {path.name: path.read_text() for path in hooks.iterdir()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_draft_never_writes_through_a_hard_link(root: Path, tmp_path: Path) -> None:
    """T-8: the other name of the file, here outside of the folder, keeps its text."""
    outside = tmp_path / "theirs.txt"
    outside.write_text("theirs")
    (root / "mine.txt").hardlink_to(outside)
    workspace = Workspace(root)
    write_draft(workspace, make_draft(workspace, "mine.txt", "changed"))
    assert (root / "mine.txt").read_text() == "changed"
    assert outside.read_text() == "theirs"
