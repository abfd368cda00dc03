"""``agent-studio drafts`` (T-5)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say

SCRIPT = [
    Turn(
        Call("edit", {"path": "a.txt", "old": "one", "new": "1"}),
        Call("delete", {"path": "b.bin"}),
        Call("move", {"path": "c.txt", "to": "d.txt"}),
        Call("write", {"path": "e.txt", "content": "five\n"}),
    ),
    Turn(Text("Done.")),
]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[EngineHome]:
    async with engine_home(tmp_path, "openai-compatible", SCRIPT) as home:
        (home.folder / "a.txt").write_text("one\ntwo\n")
        (home.folder / "b.bin").write_bytes(b"\0")
        (home.folder / "c.txt").write_text("three\n")
        session = await home.session()
        await say(session)
        yield home


async def run(
    home: EngineHome, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    capsys.readouterr()
    code = await home.command("drafts", *words)
    out = capsys.readouterr()
    return code, out.out, out.err


async def ids(home: EngineHome, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    _, out, _ = await run(home, capsys, "list", "--json")
    return {entry["path"]: entry["draft_id"] for entry in json.loads(out)}


async def test_what_waits_is_listed_and_shown(
    home: EngineHome, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = await run(home, capsys, "list")
    assert code == 0
    assert [line.split("waiting")[1].split(maxsplit=1) for line in out.splitlines()] == [
        ["write", "e.txt  (Coder in Go)"],
        ["move", "c.txt → d.txt  (Coder in Go)"],
        ["delete", "b.bin  (Coder in Go)"],
        ["write", "a.txt  (Coder in Go)"],
    ]
    found = await ids(home, capsys)
    code, out, _ = await run(home, capsys, "show", found["a.txt"][:10])
    assert (code, out) == (0, "Write a.txt (+1 −1)\n  - one\n  + 1\n    two\n")
    assert (await run(home, capsys, "show", found["b.bin"]))[1] == "Delete b.bin (not text)\n"
    assert (await run(home, capsys, "show", found["c.txt"]))[1] == "Move c.txt → d.txt (+0 −0)\n"
    code, _, err = await run(home, capsys, "show", "zzz")
    assert (code, err) == (1, "There is no draft with an id that begins with zzz.\n")


async def test_several_are_decided_at_once(
    home: EngineHome, capsys: pytest.CaptureFixture[str]
) -> None:
    """T-5: what fails is named, the rest is done."""
    found = await ids(home, capsys)
    (home.folder / "a.txt").write_text("mine\n")
    code, _, err = await run(home, capsys, "approve", *found.values())
    assert code == 1
    assert sorted(err.splitlines()) == [
        f"  To resolve it: agent-studio drafts show {found['a.txt'][:8]}",
        "Deleted: b.bin",
        "Moved: c.txt → d.txt",
        "Written: e.txt",
        "a.txt: a.txt changed since the draft was made. Nothing was changed.",
    ]
    assert sorted(path.name for path in home.folder.iterdir()) == ["a.txt", "d.txt", "e.txt"]
    code, out, _ = await run(home, capsys, "list")
    assert "conflict" in out
    code, _, err = await run(home, capsys, "discard", found["a.txt"])
    assert (code, err) == (0, "Discarded: a.txt\n")
    code, out, err = await run(home, capsys, "list")
    assert (code, out, err) == (0, "", "No draft waits for you.\n")
    assert len((await run(home, capsys, "list", "--done"))[1].splitlines()) == 4
    code, _, err = await run(home, capsys, "undo", found["b.bin"], found["c.txt"])
    assert (code, sorted(err.splitlines())) == (0, ["Undone: b.bin", "Undone: c.txt → d.txt"])
    assert (home.folder / "b.bin").read_bytes() == b"\0"
    code, _, err = await run(home, capsys, "approve", found["b.bin"])
    assert (code, err) == (1, "b.bin: this draft is undone.\n")


async def test_of_one_session(home: EngineHome, capsys: pytest.CaptureFixture[str]) -> None:
    found = await ids(home, capsys)
    other = await home.session()
    await home.engine.sessions.branch((await home.engine.sessions.list())[-1].id)
    code, out, _ = await run(home, capsys, "list", "--session", other.info.id)
    assert (code, out) == (0, "")
    owner = (await home.engine.store.drafts())[0].session_id
    code, _, err = await run(home, capsys, "discard", found["a.txt"], "--session", owner)
    assert (code, err) == (0, "Discarded: a.txt\n")
