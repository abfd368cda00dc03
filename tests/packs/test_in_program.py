"""Packs whose Python runs in the program (X-4)."""

from __future__ import annotations

import importlib.util
import py_compile
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.domain.events import ToolFinished
from studio.extensions.packs.loading import load_code
from studio.simulator import Call, Text, Turn
from support.engine_home import engine_home, say
from support.pack_home import install_notes

CHAT = "openai-compatible"
SUBJECT = "notes:topic/rivers"


async def test_a_tool_of_a_pack_runs_in_a_chat(tmp_path: Path) -> None:
    """KZ-2, KZ-3: with the subject, the records, and a service made once and closed at the end."""
    calls = [Turn(Call("find_note", {})) for _ in range(2)]
    async with engine_home(tmp_path, CHAT, [*calls, Turn(Text("Done."))]) as home:
        root = install_notes(home, tmp_path)
        (pack,) = home.engine.services.packs.homes.values()
        pack.records.write("INSERT INTO note VALUES ('rivers', 'They flow.', 'a')")
        session = await home.engine.sessions.create(
            folder=str(home.folder),
            agent="Coder",
            provider=CHAT,
            model="sim-model",
            subject=SUBJECT,
        )
        events = await say(session)
        said = [one for one in events if isinstance(one, ToolFinished)]
        assert [one.text for one in said] == ["They flow.", "They flow."]
        assert said[0].sources == (SUBJECT,)
        (shelf,) = pack.services
        assert shelf.open  # type: ignore[attr-defined]
    assert not shelf.open  # type: ignore[attr-defined]
    assert not list(root.rglob("__pycache__")), "its files are what was approved"


async def test_a_child_is_about_the_same(tmp_path: Path) -> None:
    """KZ-3: and so is a branch of the chat, also after a restart."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))]) as home:
        session = await home.session()
        await session.change(subject=SUBJECT)
        await say(session)
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, []) as home:
        assert (await home.engine.sessions.open(session_id)).info.subject == SUBJECT


def test_a_compiled_file_is_never_read(tmp_path: Path) -> None:
    """X-4: what runs is the source that the person approved."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "one.py").write_text("from studio.packs import ToolFailed\nraise ToolFailed('mine')")
    other = tmp_path / "other.py"
    other.write_text("")
    cached = Path(importlib.util.cache_from_source(str(tools / "one.py")))
    py_compile.compile(
        str(other),
        str(cached),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    with pytest.raises(ConfigurationError, match=r"one\.py, line 2: ToolFailed: mine"):
        load_code("other", tmp_path)
