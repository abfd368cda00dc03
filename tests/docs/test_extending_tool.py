"""The toys of docs/extending/tool.md, built by following the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from studio.domain.events import ToolFinished
from studio.simulator import Call, Text, Turn
from support.command import Command
from support.engine_home import engine_home, say
from support.extending import copy_with
from support.room_map import unnamed_modules

PAGE = (Path(__file__).parents[2] / "docs" / "extending" / "tool.md").read_text("utf-8")
AGENT = "---\nname: Coder\ntools: [count_words, change_contact]\n---\nWork.\n"


def block(after: str) -> str:
    """The first block of Python that follows these words on the page."""
    found = re.search(r"```python\n(.*?)```", PAGE[PAGE.index(after) :], re.S)
    assert found is not None
    return found[1]


def save(home: Path, name: str, text: str) -> None:
    path = home / "studio" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


async def test_each_toy_needs_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    contacts = tmp_path / "contacts.json"
    for name in ("count_words.py", "contacts.py"):
        save(tmp_path, f"tools/{name}", block(f"`{name}`"))
    save(tmp_path, "agents/coder.md", AGENT)
    script = [
        Turn(Call("count_words", {"path": "a.txt"})),
        Turn(Call("count_words", {"path": "a.txt", "longest": 3})),
        Turn(Call("change_contact", {"key": "ada", "mail": "ada@x"})),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        assert home.engine.toolbox.problems == []
        (home.folder / "a.txt").write_text("one two three\n")
        asked = ("tools", "test", "count_words", "--args", '{"path": "a.txt"}')
        assert await home.command(*asked, "--folder", str(home.folder)) == 0
        assert capsys.readouterr().out == "3\n"

        session = await home.session()
        said = [one.text for one in await say(session) if isinstance(one, ToolFinished)]
        assert said[0] == "3" and "Raise “longest”." in said[1]
        assert "Draft of contacts/ada made (new record, +3 −0 lines)" in said[2]
        assert not contacts.exists()
        (draft,) = session.drafts.waiting()
        assert await session.review.decide(draft.id, "approve") == "approved"
        assert json.loads(contacts.read_text("utf-8")) == {"ada": {"mail": "ada@x"}}
        assert await session.review.decide(draft.id, "undo") == "undone"
        assert json.loads(contacts.read_text("utf-8")) == {}


async def test_a_tool_that_comes_with_the_program_needs_its_file_and_a_line(tmp_path: Path) -> None:
    copy = copy_with("tool.md", tmp_path)
    builtin = copy / "studio" / "tools" / "builtin"
    (builtin / "count_words.py").write_text(block("`count_words.py`"), "utf-8")
    assert not unnamed_modules(builtin)
    listed = await Command(tmp_path, PYTHONPATH=str(copy))("tools", "list")
    assert "count_words" in listed.out, listed.err
