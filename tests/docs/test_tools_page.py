"""What docs/tools.md tells a person to do works as written, with the agents that ship (T-1)."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from studio.domain.events import AwaitingPermission, ToolFinished
from studio.simulator import Call, Text, Turn
from support.engine_home import engine_home, say

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
SHIPPED = (
    *("Assistant", "Coder", "Critic", "Orchestrator", "Planner", "Researcher", "Reviewer"),
    *("Tester", "Tool builder", "Writer"),
)
CALLING = [Turn(Call("count_words", {"path": "a.txt"})), Turn(Text("Three."))]


def on_the_page() -> str:
    """The tool of the page, as a file."""
    found = re.search(r"## The function\n\n```python\n(.*?)```", PAGE, re.S)
    assert found is not None
    return found[1]


async def test_a_tool_of_the_persons_reaches_every_agent_that_ships(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Begun, tried and listed as the page says; called in ``run`` and in the window's engine."""
    async with engine_home(tmp_path, "openai-compatible", CALLING * (len(SHIPPED) + 1)) as home:
        (home.folder / "a.txt").write_text("one two three\n")
        assert await home.command("tools", "new", "count_words") == 0
        file = Path(capsys.readouterr().out.strip())
        assert file == home.engine.paths.tools / "count_words.py"
        file.write_text(on_the_page(), "utf-8")
        await asyncio.to_thread(home.engine.discover_tools)  # as the next command does
        asked = ("--args", '{"path": "a.txt"}', "--folder", str(home.folder))
        assert await home.command("tools", "test", "count_words", *asked) == 0
        assert capsys.readouterr().out == "3\n"
        assert await home.command("tools", "show", "count_words") == 0
        assert f"Agents:     {', '.join(SHIPPED)}\n" in capsys.readouterr().out

        place = ("--folder", str(home.folder), "--provider", home.provider, "--model", "sim-model")
        assert await home.command("run", *place, "Count") == 0
        assert "Counting a.txt" in capsys.readouterr().err
        results = [one for one in home.asked[-1].json["messages"] if one["role"] == "tool"]  # type: ignore[union-attr]
        assert [one["content"] for one in results] == ["3"]
        for agent in SHIPPED:
            session = await home.session(agent=agent)
            events = await say(session)
            assert [e.text for e in events if isinstance(e, ToolFinished)] == ["3"]
            assert not [e for e in events if isinstance(e, AwaitingPermission)]
        plain = await home.engine.agent("Plain", home.folder)
        assert plain.tools == ()


async def test_own_tools_ask_as_their_effects_say(tmp_path: Path) -> None:
    """T-7: the table of the page, in a chat that was open before the tool was there."""
    names = ("reads", "fetches", "acts")
    calls = Turn(*(Call(name, {}) for name in names))
    async with engine_home(
        tmp_path, "anthropic", [Turn(Text("Hi.")), calls, Turn(Text("."))]
    ) as home:
        session = await home.session()
        await say(session)
        tools = home.engine.paths.tools
        tools.mkdir(parents=True)
        for name, effect in zip(names, ("read", "fetch", "act"), strict=True):
            (tools / f"{name}.py").write_text(
                f"from studio.tools import tool\n\n\n@tool(effect={effect!r})\n"
                f'def {name}() -> str:\n    """Do it."""\n    return \'done\'\n'
            )
        events = await say(session, answer="deny")
        asked = [e.question.tool for e in events if isinstance(e, AwaitingPermission)]
        assert sorted(asked) == ["acts", "fetches"]
        assert not home.simulator.violations
