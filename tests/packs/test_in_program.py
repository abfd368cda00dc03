"""Packs whose Python runs in the program (X-4)."""

from __future__ import annotations

import shutil
from pathlib import Path

from studio.agent.packs import person_here
from studio.domain.events import ToolFinished
from studio.extensions.packs.loading import CodePlace, ProgramPacks
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say

CHAT = "openai-compatible"
PACKS = Path(__file__).parent.parent / "support" / "packs"


def install(home: EngineHome, tmp_path: Path) -> Path:
    root = tmp_path / "notes" / "org.agent-studio"
    shutil.copytree(PACKS / "notes" / "org.agent-studio", root)
    place = CodePlace("notes", root, "1")
    home.engine.services.packs.source = ProgramPacks(lambda: [place])
    return root


async def test_a_tool_of_a_pack_runs_in_a_chat(tmp_path: Path) -> None:
    """KZ-2, KZ-3: person, subject and a service that is made once and closed with the program."""
    calls = [Turn(Call("find_notes", {"word": word})) for word in ("rivers", "lakes")]
    async with engine_home(tmp_path, CHAT, [*calls, Turn(Text("Done."))]) as home:
        root = install(home, tmp_path)
        session = await home.engine.sessions.create(
            folder=str(home.folder),
            agent="Coder",
            provider=CHAT,
            model="sim-model",
            subject="notes:topic/1",
        )
        events = await say(session)
        said = [one for one in events if isinstance(one, ToolFinished)]
        name = person_here().name
        assert [one.text for one in said] == [
            f"{name} asks about rivers in notes:topic/1: look 1.",
            f"{name} asks about lakes in notes:topic/1: look 2.",
        ]
        assert said[0].sources == ("notes:topic/1",)
        assert not (root / "closed").exists()
    assert (root / "closed").read_text() == "2"
    assert not list(root.rglob("__pycache__")), "its files are what was approved"
