"""Drafts: proposed, written in one step, undone, shown (T-5)."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.domain.errors import ToolFailed
from studio.tools import (
    Context,
    DraftConflict,
    Result,
    Workspace,
    make_draft,
    undo_draft,
    write_draft,
)
from studio.tools.builtin.edit import edit
from studio.tools.builtin.write import write
from studio.tools.drafts.diff import DiffLine, diff, unfold, unified_diff, word_marks
from studio.tools.workspace.encodings import encode
from studio.tools.workspace.text_replace import replace

patient = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


class Box:
    """Drafts of a session; ``approve`` writes each at once, as a rule may."""

    def __init__(self, approve: Callable[[FileDraft], None] | None = None) -> None:
        self.waiting: dict[str, FileDraft] = {}
        self.seen: list[FileDraft] = []
        self._approve = approve

    def draft_of(self, path: str) -> FileDraft | None:
        drafts = self.waiting.values()
        return next((draft for draft in drafts if path in (draft.path, draft.target)), None)

    async def propose(self, draft: Draft) -> DraftStatus:
        assert isinstance(draft, FileDraft)
        self.seen.append(draft)
        if self._approve is None:
            self.waiting[draft.path] = draft
            return "waiting"
        try:
            self._approve(draft)
        except DraftConflict:
            return "conflict"
        return "approved"

    async def withdraw(self, draft: Draft) -> None:
        assert isinstance(draft, FileDraft)
        del self.waiting[draft.path]


async def call(tool: object, root: Path, box: Box, /, **arguments: object) -> Result:
    context = Context(Workspace(root), drafts=box)
    return await tool.call(context, arguments)  # type: ignore[attr-defined]


async def test_write_makes_a_draft_and_touches_nothing(tmp_path: Path) -> None:
    """T-5."""
    box = Box()
    result = await call(write, tmp_path, box, path="./new/a.txt", content="one\ntwo\n")
    (draft,) = box.seen
    assert (draft.path, draft.before, draft.after, draft.base_digest) == (
        "new/a.txt",
        None,
        "one\ntwo\n",
        "",
    )
    assert list(tmp_path.iterdir()) == []
    assert "It is not written" in result.text
    assert (result.summary, result.sources) == ("+2 −0", ("new/a.txt",))

    write_draft(Workspace(tmp_path), draft)
    assert (tmp_path / "new" / "a.txt").read_bytes() == b"one\ntwo\n"
    write_draft(Workspace(tmp_path), draft)  # it is as the draft would make it
    undo_draft(Workspace(tmp_path), draft)
    assert not (tmp_path / "new" / "a.txt").exists()
    undo_draft(Workspace(tmp_path), draft)
    (tmp_path / "new" / "a.txt").write_text("another's")
    with pytest.raises(DraftConflict, match="exists by now"):
        write_draft(Workspace(tmp_path), draft)
    with pytest.raises(DraftConflict, match="changed since the draft was approved"):
        undo_draft(Workspace(tmp_path), draft)


async def test_a_draft_that_a_rule_approves_is_reported_as_written(tmp_path: Path) -> None:
    box = Box(lambda draft: write_draft(Workspace(tmp_path), draft))
    result = await call(write, tmp_path, box, path="a", content="x\n")
    assert result.text == "a is written (new file, +1 −0 lines)."

    def refuse(draft: FileDraft) -> None:
        raise DraftConflict

    with pytest.raises(ToolFailed, match="could not be written"):
        await call(write, tmp_path, Box(refuse), path="a", content="y\n")


@patient
@given(
    before=st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    after=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"]),
)
def test_write_then_undo_restores_the_bytes(
    tmp_path_factory: pytest.TempPathFactory, before: str | None, after: str, encoding: str
) -> None:
    """T-5: encoding, mark and line ends too."""
    root = tmp_path_factory.mktemp("work")
    workspace = Workspace(root)
    path = root / "a"
    original = None if before is None else encode(before, encoding)
    if original is not None:
        path.write_bytes(original)
    draft = make_draft(workspace, "a", after)
    write_draft(workspace, draft)
    assert path.read_bytes() == encode(after, draft.encoding)
    undo_draft(workspace, draft)
    assert (path.read_bytes() if path.exists() else None) == original
    assert list(root.iterdir()) == ([path] if original is not None else [])


def test_a_changed_file_is_never_overwritten(tmp_path: Path) -> None:
    """T-5."""
    workspace = Workspace(tmp_path)
    path = tmp_path / "a"
    path.write_text("one")
    draft = make_draft(workspace, "a", "two")
    path.write_text("person's")
    with pytest.raises(DraftConflict, match="a changed since the draft was made"):
        write_draft(workspace, draft)
    assert path.read_text() == "person's"
    path.unlink()
    with pytest.raises(DraftConflict, match="a was deleted since"):
        write_draft(workspace, draft)
    path.write_text("one")
    write_draft(workspace, draft)
    path.write_text("person's")
    with pytest.raises(DraftConflict, match="changed since the draft was approved"):
        undo_draft(workspace, draft)
    assert path.read_text() == "person's"


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links as POSIX has them")
def test_mode_and_links_stay(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "real").write_text("one")
    (tmp_path / "real").chmod(0o750)
    (tmp_path / "link").symlink_to("real")
    draft = make_draft(workspace, "link", "two")
    assert draft.path == "real"
    write_draft(workspace, draft)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "two"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o750
    old = os.umask(0o027)
    try:
        write_draft(workspace, make_draft(workspace, "new", "x"))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_what_cannot_be_drafted(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "binary").write_bytes(b"\0\1")
    (tmp_path / "out").symlink_to("/etc/hosts")
    for path, words in (
        ("folder", "is a folder"),
        (".", "must name a file"),
        ("new/", "must name a file"),
        ("file/below", "file is a file, not a folder"),
        ("binary", "binary file"),
        ("out", "outside the folder"),
        ("../x", "outside the folder"),
    ):
        with pytest.raises(ToolFailed, match=words):
            make_draft(workspace, path, "y")
    with pytest.raises(ToolFailed, match="half a character at position 1"):
        make_draft(workspace, "file", "y\ud800")


def test_a_link_put_in_place_later_leads_nowhere(tmp_path: Path) -> None:
    """T-8: the path is checked again when the draft is written."""
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    draft = make_draft(Workspace(root), "sub/a", "x")
    (root / "sub").rmdir()
    (root / "sub").symlink_to(tmp_path)
    with pytest.raises(ToolFailed, match="outside the folder"):
        write_draft(Workspace(root), draft)
    assert not (tmp_path / "a").exists()


async def test_edits_build_on_the_draft(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one two three")
    box = Box()
    await call(edit, tmp_path, box, path="a", old="one", new="1")
    await call(edit, tmp_path, box, path="./a", old="three", new="3")
    assert box.seen[-1].after == "1 two 3"
    assert box.seen[-1].before == "one two three"
    await call(write, tmp_path, box, path="fresh", content="new")
    await call(edit, tmp_path, box, path="fresh", old="new", new="newer")
    assert (box.seen[-1].before, box.seen[-1].after) == (None, "newer")
    with pytest.raises(ToolFailed, match="no file b"):
        await call(edit, tmp_path, box, path="b", old="x", new="y")
    with pytest.raises(ToolFailed, match="already has exactly this text"):
        await call(write, tmp_path, box, path="a", content="one two three")


async def test_several_edits_are_one_draft_or_none(tmp_path: Path) -> None:
    """C-4, C-10."""
    lines = [f"line {n}" for n in range(1, 31)]
    (tmp_path / "a").write_text("\n".join(lines))
    box = Box()
    edits = [
        {"old": "line 2\nline 3", "new": "two"},
        {"old": "two\nline 4", "new": "two \nfour"},
        {"old": "line 1", "new": "Line 1", "all": True},
        {"old": "two\nfour", "new": "two\n4"},
    ]
    result = await call(edit, tmp_path, box, path="a", edits=edits)
    (draft,) = box.seen
    after = ["Line 1", "two ", "4", *lines[4:]]
    after = [line.replace("line 1", "Line 1") for line in after]
    assert draft.after == "\n".join(after)
    said = result.text.split("\n")
    assert said[0].startswith("Draft of a made") and "not written" in said[0]
    assert said[1] == "In lines 2-3 edit 4 was found but for blanks at line ends."
    assert said[2:5] == ["1\tLine 1", "2\ttwo ", "3\t4"]
    assert said[-1] == "21\tline 22"

    for broken, words in (
        ([*edits, {"old": "nowhere", "new": "x"}], "Edit 5 of 5: “old” is not in a. .*None of the"),
        ([{"old": "x", "new": "y"}, {"old": "", "new": "y"}], "Edit 2 of 2: “old” is empty"),
    ):
        with pytest.raises(ToolFailed, match=words):
            await call(edit, tmp_path, Box(), path="a", edits=broken)
    with pytest.raises(ToolFailed, match="not both"):
        await call(edit, tmp_path, box, path="a", old="x", new="y", edits=edits)
    assert len(box.seen) == 1

    many = [{"old": f"line {n}\n", "new": f"{'x' * 900}\n{n}\n"} for n in range(20, 30)]
    result = await call(edit, tmp_path, Box(), path="a", edits=many)
    assert len(result.text) < 12_000
    long = "\n".join(f"new {n}" for n in range(1, 61))
    result = await call(edit, tmp_path, Box(), path="a", old="line 9", new=long)
    shown = result.text.split("\n")
    assert shown[-2:] == ["45\tnew 37", "[… 26 more lines …]"]


async def test_line_ends_of_the_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    box = Box()
    await call(edit, tmp_path, box, path="a", old="one\ntwo\n", new="1\n2\n")
    assert box.seen[-1].after == "1\r\n2\r\nthree\r\n"
    await call(write, tmp_path, box, path="a", content="x\ny\n")
    assert box.seen[-1].after == "x\r\ny\r\n"


def test_a_failed_edit_helps() -> None:
    text = "def a():\n    return 1\n\n\ndef b():\n    return 1\n"
    for old, words in (
        ("return 1", r"2 times in f \(lines 2, 6\)"),
        ("  def a():\nreturn 1", "Lines 1-2 differ from it only in spaces"),
        ("def b():\n    return 2", "Its first line is line 5, but what follows is:\ndef b"),
        ("class X", "Read the file and copy the text exactly"),
    ):
        with pytest.raises(ToolFailed, match=words):
            replace(text, "f", old, "new")
    assert replace(text, "f", "return 1", "return 3", every=True).text.count("return 3") == 2


def test_a_diff_has_numbers_marks_and_folds() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 21))
    after = before.replace("line 10\n", "line ten\n").replace("line 20\n", "line 20\nline 21\n")
    draft = FileDraft("1", "a", before, after, "")
    assert unified_diff(draft, context=1) == [
        DiffLine("fold", 1, 1, "8 unchanged lines", count=8),
        DiffLine("same", 9, 9, "line 9"),
        DiffLine("del", 10, None, "line 10", ((5, 7),)),
        DiffLine("add", None, 10, "line ten", ((5, 8),)),
        DiffLine("same", 11, 11, "line 11"),
        DiffLine("fold", 12, 12, "8 unchanged lines", count=8),
        DiffLine("same", 20, 20, "line 20"),
        DiffLine("add", None, 21, "line 21"),
    ]
    assert draft.describe().counts() == (2, 1)
    new = FileDraft("1", "a", None, "x\ny", "")
    assert unified_diff(new) == [DiffLine("add", None, 1, "x"), DiffLine("add", None, 2, "y")]


def test_marks_only_where_lines_are_alike() -> None:
    assert word_marks("return a + b", "return a - b") == (((9, 10),), ((9, 10),))
    assert word_marks("import os", "def main() -> None:") == ((), ())


LINES = st.lists(st.sampled_from(["a", "b", "c d", "e"]), max_size=30).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@patient
@given(before=LINES, after=LINES, context=st.integers(0, 4))
def test_a_diff_tells_both_texts(before: str, after: str, context: int) -> None:
    old, new = before.splitlines(), after.splitlines()
    left: list[str] = []
    right: list[str] = []
    for row in diff(before, after, context):
        match row.kind:
            case "fold":
                assert row.old_no is not None
                assert row.new_no is not None
                assert (row.old_no, row.new_no) == (len(left) + 1, len(right) + 1)
                left += old[row.old_no - 1 :][: row.count]
                right += new[row.new_no - 1 :][: row.count]
                continue
            case "same" | "del" | "add":
                if row.kind != "add":
                    left.append(row.text)
                    assert row.old_no == len(left)
                if row.kind != "del":
                    right.append(row.text)
                    assert row.new_no == len(right)
        assert all(0 <= start < end <= len(row.text) for start, end in row.marks)
    assert (left, right) == (old, new)


def test_a_small_change_of_a_long_text_is_found_at_once() -> None:
    before = "".join(f"{n}\n" for n in range(200_000))
    rows = diff(before, before.replace("\n100000\n", "\nnew\n"))
    assert [row.kind for row in rows if row.kind not in ("same", "fold")] == ["del", "add"]
    different = diff("a\n" * 3000, "b\n" * 3000)
    assert len(different) == 6000


def test_a_fold_opens_on_its_own_lines() -> None:
    """Only line ends end a line: a form feed and U+2028 are within one."""
    before = "".join(f"line {n}\x0c and \u2028 more\n" for n in range(30))
    rows = diff(before + "old\n", before + "new\n")
    (at,) = (index for index, row in enumerate(rows) if row.kind == "fold")
    opened = unfold(rows, at, before + "new\n")
    assert opened == diff(before + "old\n", before + "new\n", context=40)
    assert unfold(opened, 0, before) == opened
