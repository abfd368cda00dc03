"""Commands see the drafts of their turn, and write nothing into the folder (T-5, T-7)."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from studio.domain.drafts import FileDraft
from studio.domain.events import Event, ToolFinished
from studio.domain.permissions import Rule
from studio.processes import desk as desks
from studio.processes.desk import Desk, DeskTooLarge
from studio.processes.sandbox import NoSandbox
from studio.simulator import Call, Text, Turn
from studio.tools import Context, Workspace
from studio.tools.builtin.run import run as run_tool
from studio.tools.drafts.edit_checks import new_findings
from studio.tools.sdk.context import NoDrafts
from studio.tools.workspace.check_list import EditCheck
from support.engine_home import EngineHome, engine_home, say
from support.waiting import HANG

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh")
RUN = Rule("allow", "run")
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
CHECK = "from calc import add\nassert add(2, 3) == 5, 'wrong'\nprint('passed')\n"


def run(command: str) -> Turn:
    return Turn(Call("run", {"command": command}), stop="tool_use")


def finished(events: list[Event]) -> list[ToolFinished]:
    return [one for one in events if isinstance(one, ToolFinished)]


async def sees(home: EngineHome) -> bool:
    return (await home.engine.sandbox()).desks


async def test_fix_the_failing_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """README: a test fails, a draft mends it, the same test passes, approval changes the file."""
    check = f"{sys.executable} -B test_calc.py"
    script = [
        run(check),
        Turn(Call("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"}), stop="tool_use"),
        run(check),
        Turn(Text("Mended.")),
    ]
    async with engine_home(tmp_path, "ollama", script) as home:
        calc = home.folder / "calc.py"
        calc.write_text(WRONG)
        (home.folder / "test_calc.py").write_text(CHECK)
        words = ("--provider", "ollama", "--model", "m", "--folder", str(home.folder))
        allow = ("--allow", f"run({sys.executable} *)")
        assert await home.command("run", *words, *allow, "Fix the failing test") == 0
        printed = capsys.readouterr()
        session = await home.engine.sessions.open((await home.engine.sessions.list())[0].id)
        first, _, second = (
            block for block in session.transcript.blocks if type(block).__name__ == "ToolBlock"
        )
        assert "AssertionError: wrong" in first.output and first.summary == "exit 1"
        assert "waiting for your approval: calc.py" in printed.err and calc.read_text() == WRONG
        if await sees(home):
            assert second.output.startswith("passed\n") and second.summary == "exit 0", (
                second.output
            )
            assert "with the drafts of this turn: calc.py" in second.output
        else:
            assert "did not see drafts that wait: calc.py" in second.output
        (draft,) = session.drafts.waiting_files()
        assert await home.command("drafts", "approve", draft.id[:8]) == 0
        assert calc.read_text() == RIGHT


async def test_what_a_command_writes_beside_drafts_becomes_drafts(tmp_path: Path) -> None:
    command = (
        "printf 'more\\n' >> kept.txt; printf 'new\\n' > sub/new.txt; rm gone.txt; "
        "printf '\\000\\001' > data.bin; printf 'x\\n' >> a.txt; mkdir -p __pycache__; "
        "echo pyc > __pycache__/a.pyc; echo no 2>/dev/null > .git/config; chmod +x tool.sh; ln -s kept.txt link; "
        f"echo out > {tmp_path}/out.txt; cat a.txt"
    )

    script = [
        Turn(Call("write", {"path": "a.txt", "content": "drafted\n"}), stop="tool_use"),
        run(command),
        Turn(Text("Done.")),
        run("true"),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "ollama", script) as home:
        if not await sees(home):
            pytest.skip("there is no sandbox for that here")
        files = {"kept.txt": "old\n", "gone.txt": "gone\n", "tool.sh": "#!/bin/sh\n",
                 "sub/x": "x", ".git/config": "[core]\n", "secret/key": "k"}  # fmt: skip
        for name, text in files.items():
            (home.folder / name).parent.mkdir(exist_ok=True)
            (home.folder / name).write_text(text)
        before = {p: p.read_bytes() for p in home.folder.rglob("*") if p.is_file()}
        session = await home.session()
        rules = (RUN, Rule("deny", "write", "sub/*"), Rule("deny", "delete", "kept*"))
        _, ran = finished(await say(session, rules=rules, answer="once"))
        assert ran.text.startswith("drafted\nx\n"), ran.text
        assert {p: p.read_bytes() for p in home.folder.rglob("*") if p.is_file()} == before
        assert not (tmp_path / "out.txt").exists()
        drafts = {draft.path: draft for draft in session.drafts.waiting_files()}
        assert sorted(drafts) == ["a.txt", "gone.txt", "kept.txt"]
        assert drafts["a.txt"].after == "drafted\nx\n" and drafts["a.txt"].before is None
        assert drafts["kept.txt"].after == "old\nmore\n" and drafts["gone.txt"].action == "delete"
        lost = ran.text.partition("Not kept")[2]
        for name in ("data.bin", "sub/new.txt", "tool.sh", "link"):
            assert name in lost, ran.text
        assert "pycache" not in ran.text

        (ran,) = finished(await say(session, "Go on", rules=(RUN,), answer="once"))
        assert "This did not see drafts that wait: a.txt, kept.txt, gone.txt." in ran.text


async def test_no_link_that_a_command_makes_leads_a_draft_out_of_the_desk(tmp_path: Path) -> None:
    """What the sandbox hides from a command comes into no draft; what is no draft is told."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private/key").write_text("secret\n")
    command = (
        f"rm -r x; ln -s {tmp_path}/private x; printf '\\377\\376h\\000i\\000' > wide.txt; "
        "mkdir node_modules; echo a > node_modules/a.js; printf 'back\n' > back.txt; "
        "echo again > old.txt; cat locked/key .git/key; mv locked open; rm -r vault"
    )
    script = [
        Turn(Call("write", {"path": "x/key", "content": "mine\n"}), stop="tool_use"),
        Turn(Call("delete", {"path": "back.txt"}), stop="tool_use"),
        Turn(Call("move", {"path": "old.txt", "to": "new.txt"}), stop="tool_use"),
        run(command),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "ollama", script) as home:
        if not await sees(home):
            pytest.skip("there is no sandbox for that here")
        (home.folder / "back.txt").write_text("back\n")
        (home.folder / "old.txt").write_text("old\n")
        for name in ("locked", "vault", ".git"):
            (home.folder / name).mkdir()
            (home.folder / name / "key").write_text("secret\n")
        session = await home.session()
        hidden = [Rule("deny", "read", f"{name}/*") for name in ("locked", "vault", ".git")]
        made, *_, ran = finished(await say(session, rules=(RUN, *hidden), answer="once"))
        assert made.text.startswith("Draft of x/key made")
        assert "secret" not in ran.text and "locked" not in ran.text.partition("drafts:")[2]
        (moved,) = session.drafts.waiting_files()
        assert (moved.path, moved.target, moved.after) == ("old.txt", "new.txt", "old\n")
        lost = ran.text.partition("Not kept")[2]
        for name in ("x,", "wide.txt", "node_modules", "old.txt"):
            assert name in lost, ran.text


def test_a_desk_is_a_copy_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    outside.mkdir()
    for name in ("a.txt", "b.txt", ".venv/x", "__pycache__/y", "deep/er/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "out").symlink_to(outside)
    (folder / "old").symlink_to(folder / "a.txt")
    os.mkfifo(folder / "pipe")
    desk = Desk.lay(folder, {"a.txt": b"other", "b.txt": None, "new/d.txt": b"d", "old": b"file"})
    try:
        there = {str(p.relative_to(desk.root)) for p in desk.root.rglob("*") if p.is_file()}
        assert there == {"a.txt", "deep/er/c.txt", "new/d.txt", "old"}
        assert desk.shared == [".venv"] and (desk.root / ".venv").is_dir()
        assert (folder / "a.txt").read_text() == "a.txt" and not desk.changes().written
        assert (desk.root / "deep/er/c.txt").stat().st_mtime == (
            folder / "deep/er/c.txt"
        ).stat().st_mtime
        (desk.root / "a.txt").write_text("third")
        (desk.root / "deep/er/c.txt").unlink()
        (desk.root / "e.txt").write_text("e")
        found = desk.changes()
        assert (sorted(found.written), found.deleted) == (["a.txt", "e.txt"], ["deep/er/c.txt"])
        # A command may leave what cannot be entered, and links to what is not its own.
        outside.chmod(0o500)
        (desk.root / "deep/link").symlink_to(outside)
        (desk.root / "deep/er").chmod(0)
    finally:
        desk.remove()
    assert not desk.root.parent.exists() and outside.stat().st_mode & 0o777 == 0o500
    outside.chmod(0o700)
    with pytest.raises(OSError, match="leads out of the folder"):
        Desk.lay(folder, {"out/stolen.txt": b"x"})
    assert not list(outside.iterdir())
    monkeypatch.setattr(desks, "MOST_FILES", 2)
    with pytest.raises(DeskTooLarge, match="more than 2 files"):
        Desk.lay(folder, {})


def test_a_desk_does_not_copy_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be the one of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "a.txt").write_text("a")
    desk = Desk.lay(tmp_path, {})
    try:
        assert [one.name for one in desk.root.iterdir()] == ["a.txt"]
    finally:
        desk.remove()


@pytest.mark.parametrize("tool", ["run", "check"])
async def test_a_desk_is_removed_when_the_call_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """Also while it is being laid, in a thread that cannot be stopped; C-11: that of a check."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    made, go = threading.Event(), threading.Event()
    copy = Desk._copy  # pyright: ignore[reportPrivateUsage]

    def slow(desk: Desk, source: Path, shared: list[str] | None) -> None:
        made.set()
        assert go.wait(HANG)
        copy(desk, source, shared)

    monkeypatch.setattr(Desk, "_copy", slow)

    draft = FileDraft("1", "a.txt", None, "a", "")

    class Waiting(NoDrafts):
        def waiting(self, *, of_turn: bool) -> list[FileDraft]:
            return [draft] if of_turn else []

    class Sandbox(NoSandbox):
        kind = "bubblewrap"
        desks = True

    (tmp_path / "work").mkdir()
    context = Context(
        Workspace(tmp_path / "work"),
        drafts=Waiting(),
        sandbox=Sandbox(),
        checks=[EditCheck("*.txt", "true {file}")],
    )
    calls = {
        "run": lambda: run_tool.call(context, {"command": "true"}),
        "check": lambda: new_findings(context, [draft], written=False),
    }
    calling = asyncio.ensure_future(calls[tool]())
    await asyncio.to_thread(made.wait, HANG)
    calling.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux clones files here")
@pytest.mark.parametrize("can", [True, False])
def test_w23_a_desk_is_cloned_where_the_file_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    """The file system is told to clone each file; what it cannot is copied, all the same.

    Few file systems clone, so the call to the kernel is answered here.
    """
    import fcntl

    folder, cloned, copied = tmp_path / "folder", list[int](), list[str]()
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(name)

    def ioctl(new: BinaryIO, request: int, old: int) -> int:
        assert request == 0x40049409, "FICLONE"
        if not can:
            raise OSError("not supported")
        cloned.append(new.write(os.read(old, 100)))
        return 0

    copyfile = desks.shutil.copyfile
    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    monkeypatch.setattr(
        desks.shutil, "copyfile", lambda one, two: copied.append(one.name) or copyfile(one, two)
    )
    desk = Desk.lay(folder, {})
    try:
        assert sorted(one.read_text() for one in desk.root.iterdir()) == ["a.txt", "b.txt"]
    finally:
        desk.remove()
    assert (len(cloned), sorted(copied)) == ((2, []) if can else (0, ["a.txt", "b.txt"]))
    assert desks.clones(tmp_path) == can
