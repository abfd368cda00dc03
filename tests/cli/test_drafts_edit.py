"""``agent-studio drafts show``, ``resolve`` and ``edit`` where a file changed meanwhile (T-5)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.cli.drafts_edit import run_editor
from studio.domain.errors import ConfigurationError
from studio.simulator import Call, Text, Turn
from support.command import at_provider, screen
from support.engine_home import EngineHome, engine_home, is_locked, say
from support.model_calls import write
from support.waiting import until, within

CRLF = b"one\r\ntwo\r\nthree\r\nfour\r\n"
WIDE = "eins\nzwei\ndrei\nvier\n"


def change(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "old": old, "new": new})


SCRIPT = [
    Turn(
        change("a.txt", "two", "2"),
        change("wide.txt", "zwei", "2"),
        change("same.txt", "two", "2"),
        Call("delete", {"path": "old.txt"}),
        Call("move", {"path": "b.bin", "to": "c.bin"}),
    ),
    Turn(Text("Done.")),
]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[EngineHome]:
    async with engine_home(tmp_path, "openai-compatible", SCRIPT) as home:
        (home.folder / "a.txt").write_bytes(CRLF)
        (home.folder / "wide.txt").write_bytes(WIDE.encode("utf-16"))
        for name in ("same.txt", "old.txt"):
            (home.folder / name).write_bytes(b"one\ntwo\n")
        (home.folder / "b.bin").write_bytes(b"\0")
        await say(await home.session())
        yield home


class Drafts:
    """The command, and the drafts of a home by their files."""

    def __init__(self, home: EngineHome, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._capsys = home, capsys

    async def __call__(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = await self.home.command("drafts", *words)
        out = self._capsys.readouterr()
        return code, out.out, out.err

    async def of(self, path: str) -> str:
        (entry,) = [e for e in await self.home.engine.store.drafts() if e.path == path]
        return entry.draft_id

    async def met(self, path: str, now: bytes | None) -> str:
        """The draft of a file that changed meanwhile, once somebody approved it."""
        draft_id, file = await self.of(path), self.home.folder / path
        if now is None:
            file.unlink()
        else:
            file.write_bytes(now)
        code, _, err = await self("approve", draft_id)
        assert code == 1
        assert f"  To resolve it: agent-studio drafts show {draft_id[:8]}\n" in err
        return draft_id


@pytest.fixture
def drafts(home: EngineHome, capsys: pytest.CaptureFixture[str]) -> Drafts:
    return Drafts(home, capsys)


async def test_three_sides_are_shown_and_merged(drafts: Drafts) -> None:
    """T-5: what the agent saw, what is there, what it wants; a merged draft keeps line ends."""
    file = drafts.home.folder / "a.txt"
    start = (await drafts.met("a.txt", CRLF.replace(b"four", b"FOUR")))[:8]
    code, out, err = await drafts("show", start)
    assert (code, out) == (
        0,
        "Write a.txt (+1 −1): a.txt changed since the draft was made. Nothing was changed.\n"
        "\nFile now, beside the original (+1 −1)\n"
        "    one\n    two\n    three\n  - four\n  + FOUR\n"
        "\nDraft, beside the original (+1 −1)\n"
        "    one\n  - two\n  + 2\n    three\n    four\n"
        "\nMerged, beside the file now (+1 −1)\n"
        "    one\n  - two\n  + 2\n    three\n    FOUR\n",
    )
    assert f"drafts resolve {start} --use merged, draft or file; or drafts edit {start}" in err
    code, out, err = await drafts("resolve", start, "--use", "merged")
    assert (code, out) == (0, "")
    again = await drafts.of("a.txt")
    assert err == (
        f"Drafted anew: a.txt (+1 −1)\nIt waits for you: agent-studio drafts approve {again[:8]}\n"
    )
    assert file.read_bytes() == CRLF.replace(b"four", b"FOUR")  # nothing is written yet
    assert (await drafts("approve", again))[0] == 0
    assert file.read_bytes() == b"one\r\n2\r\nthree\r\nFOUR\r\n"
    code, _, err = await drafts("resolve", again, "--use", "merged")
    assert (code, err) == (1, "This draft is decided already.\n")


async def test_the_same_lines_are_decided_by_the_person(drafts: Drafts, tmp_path: Path) -> None:
    """T-5: marks never get into a file; an own text does, with the file's encoding."""
    file, own = drafts.home.folder / "wide.txt", tmp_path / "own.txt"
    start = await drafts.met("wide.txt", WIDE.replace("zwei", "ZWEI").encode("utf-16"))
    code, out, _ = await drafts("show", start, "--json")
    told = json.loads(out)
    assert (code, told["draft_id"], told["before"]) == (0, start, WIDE)
    assert told["after"] == WIDE.replace("zwei", "2")
    conflict = told["conflict"]
    assert conflict["now"] == WIDE.replace("zwei", "ZWEI") and conflict["to_decide"] == 1
    assert "<<<<<<< File now\nZWEI\n=======\n2\n>>>>>>> Draft\n" in conflict["merged"]
    code, _, err = await drafts("resolve", start, "--use", "merged")
    assert code == 1 and "Both changed the same lines." in err
    own.write_text(conflict["merged"])
    code, _, err = await drafts("resolve", start, "--from", str(own))
    assert code == 1 and "still has both sides" in err
    own.write_bytes(WIDE.replace("zwei", "zwo ü").replace("\n", "\r\n").encode())
    code, out, _ = await drafts("resolve", start, "--from", str(own), "--json")
    made = json.loads(out)
    assert (code, made["path"], made["status"]) == (0, "wide.txt", "waiting")
    assert (await drafts("approve", made["draft_id"]))[0] == 0
    assert file.read_bytes() == WIDE.replace("zwei", "zwo ü").encode("utf-16")


async def test_the_drafts_side_or_the_files(drafts: Drafts) -> None:
    file = drafts.home.folder / "same.txt"
    start = await drafts.met("same.txt", b"mine\n")
    assert (await drafts("resolve", start, "--use", "draft"))[0] == 0
    assert file.read_bytes() == b"mine\n"
    again = await drafts.of("same.txt")
    code, _, err = await drafts("resolve", again, "--use", "draft")  # it waits, as it should
    assert (code, err) == (1, "The file did not change. Approve, edit or discard this draft.\n")
    start = await drafts.met("same.txt", b"mine again\n")
    assert start == again
    code, out, err = await drafts("resolve", start, "--use", "file", "--json")
    assert (code, err) == (0, "Discarded: same.txt\n")
    assert json.loads(out)["status"] == "discarded"
    assert file.read_bytes() == b"mine again\n"


async def test_what_has_no_text_to_merge(drafts: Drafts, tmp_path: Path) -> None:
    """T-5: a file that is gone, one that is to go, one without text."""
    gone, old, binary = (
        await drafts.met("a.txt", None),
        await drafts.met("old.txt", b"new\n"),
        await drafts.met("b.bin", b"\0\1"),
    )
    assert "\nFile now: it is not there.\n" in (await drafts("show", gone))[1]
    assert (await drafts("resolve", gone, "--use", "merged"))[2] == (
        "There is no merged text of a.txt. Use the draft or the file, or your own text.\n"
    )
    assert (await drafts("resolve", gone, "--use", "draft"))[0] == 0
    assert "\nDraft: deletes the file.\n" in (await drafts("show", old))[1]
    own = tmp_path / "own.txt"
    own.write_text("x\n")
    for one, words in ((old, "There is no text to edit."), (binary, "b.bin is no text file.")):
        code, _, err = await drafts("resolve", one, "--from", str(own))
        assert code == 1 and err.endswith(f"{words}\n")
        assert (await drafts("resolve", one, "--use", "draft"))[0] == 0
    for path in ("a.txt", "old.txt", "b.bin"):
        assert (await drafts("approve", await drafts.of(path)))[0] == 0
    folder = drafts.home.folder
    assert (folder / "a.txt").read_bytes() == CRLF.replace(b"two", b"2")
    assert not (folder / "old.txt").exists() and not (folder / "b.bin").exists()
    assert (folder / "c.bin").read_bytes() == b"\0\1"


async def test_a_folder_or_a_link_in_its_place(drafts: Drafts) -> None:
    """T-5, T-8: what the person decides about is the place that the draft names."""
    folder = drafts.home.folder
    dir_, link = await drafts.met("a.txt", None), await drafts.met("same.txt", None)
    (folder / "a.txt").mkdir()
    (folder / "same.txt").symlink_to("old.txt")
    code, out, _ = await drafts("show", dir_)
    assert code == 0 and "\nFile now: a.txt is a folder" in out
    code, out, _ = await drafts("show", link)
    assert code == 0 and "\nFile now: same.txt leads to old.txt by now." in out
    for one in (dir_, link):
        for side in ("draft", "merged"):
            assert (await drafts("resolve", one, "--use", side))[0] == 1
        assert (await drafts("resolve", one, "--use", "file"))[0] == 0
    assert (folder / "old.txt").read_bytes() == b"one\ntwo\n"


async def test_what_changed_again_is_not_overwritten(drafts: Drafts) -> None:
    """T-5: between looking and deciding, another program wrote or decided."""
    start = await drafts.met("same.txt", b"zero\none\ntwo\n")
    file = drafts.home.folder / "same.txt"
    (entry,) = [e for e in await drafts.home.engine.store.drafts() if e.draft_id == start]
    session = await drafts.home.engine.sessions.open(entry.session_id)
    seen = await session.review.conflict(start)
    assert seen.merge is not None
    file.write_bytes(b"minus\nzero\none\ntwo\n")
    with pytest.raises(ConfigurationError, match=r"same\.txt changed again"):
        await session.review.resolve(start, seen.merge.text, seen)
    assert (await drafts("resolve", start, "--use", "merged"))[0] == 0
    file.write_bytes(b"five\n")
    assert await drafts.met("same.txt", b"five\n")  # once more, and nothing is lost
    assert file.read_bytes() == b"five\n"
    await drafts.home.engine.store.delete(entry.session_id)
    code, _, err = await drafts("resolve", start, "--use", "merged")
    assert code == 1 and err.startswith("There is no draft with an id that begins with")


async def test_an_own_text_from_a_file(drafts: Drafts, tmp_path: Path) -> None:
    """T-5: the file's line ends and encoding stay; the same text changes nothing."""
    own, folder = tmp_path / "own", drafts.home.folder
    start = await drafts.of("a.txt")
    own.write_text("one\n2\nthree\nfour\n")
    code, out, err = await drafts("edit", start, "--from", str(own))
    assert (code, out, err) == (0, "", "The text is the same. Nothing was changed.\n")
    assert await drafts.of("a.txt") == start
    own.write_text("one\ndeux\nthree\nfour\nfive\n")
    code, out, err = await drafts("edit", start, "--from", str(own), "--json")
    assert (code, err) == (0, "Edited: a.txt (+2 −1)\n")
    assert (await drafts("approve", json.loads(out)["draft_id"]))[0] == 0
    assert (folder / "a.txt").read_bytes() == b"one\r\ndeux\r\nthree\r\nfour\r\nfive\r\n"
    for text, words in (
        (b"\0", "binary file"),
        (b"\xff\1", "binary file"),
        (None, "cannot be read"),
    ):
        own.unlink()
        if text is not None:
            own.write_bytes(text)
        code, _, err = await drafts("edit", await drafts.of("same.txt"), "--from", str(own))
        assert code == 1 and words in err
        own.touch()
    for path in ("old.txt", "b.bin"):
        code, _, err = await drafts("edit", await drafts.of(path), "--from", str(own))
        assert code == 1 and ("no text to edit" in err or "no text file" in err)
    code, _, err = await drafts("edit", await drafts.of("same.txt"))
    assert (code, err) == (1, "An editor needs a terminal. Where none is: --from FILE\n")
    # one whose file changed meanwhile is made anew, and not with the marks in it
    start = await drafts.met("wide.txt", WIDE.replace("zwei", "ZWEI").encode("utf-16"))
    own.write_text("<<<<<<< File now\nx\n")
    assert (await drafts("edit", start, "--from", str(own)))[0] == 1
    own.write_text("eins\nboth\n")
    assert (await drafts("edit", start, "--from", str(own)))[0] == 0
    assert (await drafts("approve", await drafts.of("wide.txt")))[0] == 0
    assert (folder / "wide.txt").read_bytes() == "eins\nboth\n".encode("utf-16")


EDITOR = """
import os, pathlib, select, signal, sys
file = pathlib.Path(sys.argv[1])
def fail(*_):
    file.write_bytes(b"lost\\n")
    os._exit(3)
signal.signal(signal.SIGINT, fail)
print("EDITING", file.name, oct(file.parent.stat().st_mode)[-3:], "SOME_TOKEN" in os.environ)
while not select.select([0], [], [], 0.1)[0]:
    pass  # a signal just before a read that never ends would wait with it
word = input()
if word != "same":
    file.write_text(f"{word}\\n")
"""


LOCKS = """
import fcntl, sys, time
held = open(sys.argv[1], "w")
fcntl.flock(held, fcntl.LOCK_EX)
time.sleep(3600)
"""


async def test_the_editor_ends_with_a_command_that_is_ended(tmp_path: Path) -> None:
    held = tmp_path / "held"
    command = [sys.executable, "-c", LOCKS, str(held)]
    editing = asyncio.create_task(run_editor(command, dict(os.environ)))
    async with within():
        await until(lambda: held.exists() and is_locked(held))
    editing.cancel()
    await asyncio.wait([editing])
    assert editing.cancelled() and not is_locked(held)


async def test_the_persons_editor_at_a_real_terminal(tmp_path: Path) -> None:
    """T-5: a conflict in a terminal, from the first approval to the person's own text."""
    script = [Turn(write("n.py", "one\n"), stop="tool_use"), Turn(Text("Drafted."), stop="end")]
    editor = tmp_path / "editor.py"
    editor.write_text(EDITOR)
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        terminal.environment |= {
            "EDITOR": f'"{sys.executable}" "{editor}"',
            "SOME_TOKEN": "t" * 30,
            "TMPDIR": str(tmp_path),
        }
        file = terminal.folder / "n.py"
        async with screen(terminal, "run", "--provider", "ollama", "--model", "m", "Go") as shown:
            await shown.until("Write n.py (+1 −0)? ")
            file.write_text("mine\n")
            shown.type("y\n")
            text = await shown.until("To go on: ")
            start = text.partition("To resolve it: agent-studio drafts show ")[2][:8]
            assert await shown.end() == 0
        for word, code, said in (
            ("\x03", 1, "The editor ended with code 3."),  # Ctrl-C is the editor's
            ("same\n", 0, "The text is the same. Nothing was changed."),
        ):
            async with screen(terminal, "drafts", "edit", start) as shown:
                await shown.until("EDITING draft.py 700 False")
                shown.type(word)
                await shown.until(said)
                assert await shown.end() == code
        assert not list(tmp_path.glob("agent-studio-*"))
        async with screen(terminal, "drafts", "edit", start) as shown:
            await shown.until("EDITING ")
            shown.type("own\n")
            text = await shown.until("It waits for you: agent-studio drafts approve ")
            assert "Edited: n.py (+1 −1)" in text
            assert await shown.end() == 0
            again = shown.shown.strip()[-8:]
        assert file.read_text() == "mine\n"
        async with screen(terminal, "drafts", "edit", again) as shown:
            await shown.until("EDITING ")
            ended = await terminal("drafts", "approve", again)
            assert ended.code == 0 and file.read_text() == "own\n"
            shown.type("other\n")
            await shown.until("This draft no longer waits. Your text is kept in ")
            assert await shown.end() == 1
        (kept,) = tmp_path.glob("agent-studio-*/draft.py")
        assert kept.read_text() == "other\n" and file.read_text() == "own\n"
        assert (await terminal("drafts", "undo", again)).code == 0
        assert file.read_text() == "mine\n"
        assert not simulator.violations
