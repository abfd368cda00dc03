"""Anthropic's memory tool on the notes (W-45)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.domain.errors import ToolFailed
from studio.domain.events import AwaitingPermission, ToolFinished
from studio.simulator import Call, Text, Turn
from studio.tools import Context, Result, Workspace
from studio.tools.builtin.memory import memory
from studio.tools.memory.note_store import place_of
from studio.tools.memory.notes import Notes, Writer
from support.delegation_home import agent, save
from support.engine_home import engine_home, say

FILE = "/memories/build.md"


def here(tmp_path: Path, session: str = "one", **writer: object) -> Context:
    given = Writer("Coder", session, **writer)  # type: ignore[arg-type]
    notes = Notes(tmp_path / "notes", tmp_path / "work", writer=given)
    return Context(Workspace(tmp_path), notes=notes, agent="Coder")


async def do(context: Context, command: str, **arguments: object) -> Result:
    return await memory.call(context, {"command": command, **arguments})  # type: ignore[dict-item]


async def test_its_six_commands_work_on_proposals(tmp_path: Path) -> None:
    """W-45: the chat sees what it wrote, no other chat does, and nothing is kept by itself.

    PRE-20.
    """
    context = here(tmp_path)
    assert "/memories" in (await do(context, "view", path="/memories")).text
    await do(context, "create", path=FILE, file_text="one\ntwo\nthree")
    with pytest.raises(ToolFailed, match="already exists"):
        await do(context, "create", path=FILE, file_text="x")
    assert "build.md" in (await do(context, "view", path="/memories/")).text
    await do(context, "str_replace", path=FILE, old_str="two", new_str="2")
    await do(context, "insert", path=FILE, insert_line=0, insert_text="zero\n")
    shown = (await do(context, "view", path=FILE, view_range=[2, 3])).text
    assert shown.endswith("     2\tone\n     3\t2") and "quote" in shown
    with pytest.raises(ToolFailed, match="did not appear verbatim"):
        await do(context, "str_replace", path=FILE, old_str="nine", new_str="x")
    with pytest.raises(ToolFailed, match="Multiple occurrences"):
        await do(context, "str_replace", path=FILE, old_str="e", new_str="x")
    with pytest.raises(ToolFailed, match="insert_line"):
        await do(context, "insert", path=FILE, insert_line=9, insert_text="x")
    await do(context, "rename", old_path=FILE, new_path="/memories/Build Steps.txt")
    with pytest.raises(ToolFailed, match="does not exist"):
        await do(context, "view", path=FILE)
    other = here(tmp_path, "two")
    with pytest.raises(ToolFailed, match="does not exist"):
        await do(other, "view", path="/memories/build-steps.md")
    assert not context.notes.all()
    await do(context, "delete", path="/memories/build-steps.md")
    assert not context.notes.entries()


@pytest.mark.parametrize(
    "path",
    ["/memories/../x", "/etc/passwd", "/memories/a/b.md", "memories/a", "/memories/%2e%2e/a", ""],
)
async def test_a_path_leads_nowhere_else(path: str, tmp_path: Path) -> None:
    for command in ("view", "create", "delete"):
        with pytest.raises(ToolFailed, match=r"Path must be|does not exist|is a directory"):
            await do(here(tmp_path), command, path=path, file_text="x")


@pytest.mark.parametrize("provider", ["anthropic", "openai-compatible"])
async def test_each_provider_is_told_of_it(provider: str, tmp_path: Path) -> None:
    """W-45: Anthropic's models by its type, which the simulator checks; others by its schema."""
    create = Call("memory", {"command": "create", "path": FILE, "file_text": "make all"})
    async with engine_home(tmp_path, provider, [Turn(create), Turn(Text("Noted."))]) as home:
        save(home.engine.paths.agents, agent("Keeper", "", "memory"))
        events = await say(await home.session("Keeper"))
        assert not any(isinstance(one, AwaitingPermission) for one in events)
        (done,) = [one for one in events if isinstance(one, ToolFinished)]
        assert not done.is_error and "created successfully" in done.text
        (tool,) = home.asked[0].json["tools"]
        if provider == "anthropic":
            assert tool == {"type": "memory_20250818", "name": "memory"}
        else:
            assert "file_text" in str(tool)
        store, place = home.engine.services.note_store, place_of(home.folder)
        waiting = store.get(place, "build", "proposed")
        assert waiting and waiting.text == "make all" and waiting.by == "Keeper"
