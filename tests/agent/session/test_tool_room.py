"""Descriptions of tools leave room for the work, whatever the window."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studio.agent.context.token_count import BYTES_PER_TOKEN
from studio.agent.session.agent_setup import SMALL_WINDOW, TOOLS_SHARE
from studio.domain.events import Notice, ToolFinished
from studio.domain.tools import CHILD_TOOLS
from studio.simulator import Call, RequestView, Text, Turn
from support.engine_home import EngineHome, engine_home, say

AGENTS = (
    *("Assistant", "Coder", "Critic", "Orchestrator", "Plain", "Planner", "Researcher"),
    *("Reviewer", "Tester", "Tool builder", "Writer"),
)
MOST = 2_100
"""Tokens of all tools of one agent. They are part of every request: who adds a tool makes room
for it, or raises this and says what for: 400 are for those of who may start other agents."""
MOST_OF_ONE = 300
"""Tokens of one tool."""


def answer(view: RequestView) -> Turn:
    return Turn(Text("Done."))


async def offered(home: EngineHome, agent: str, window: int) -> tuple[dict[str, Any], list[str]]:
    """The tools in the first request of a chat by name, and what the person was told."""
    home.engine.settings.values.models["anthropic/sim-model"] = {"context_window": window}
    events = await say(await home.session(agent))
    tools = {one["name"]: one for one in home.asked[-1].json.get("tools", [])}
    return tools, [event.text for event in events if isinstance(event, Notice)]


def tokens(tool: Any) -> int:
    told = [tool["name"], tool["description"], tool["input_schema"]]
    return -(-len(json.dumps(told, ensure_ascii=False).encode()) // BYTES_PER_TOKEN)


async def test_the_tools_of_each_agent_keep_to_a_budget(tmp_path: Path) -> None:
    """What the shipped agents' tools cost together, and each tool alone."""
    async with engine_home(tmp_path, "anthropic", answer) as home:
        for agent in AGENTS:
            tools, notices = await offered(home, agent, 200_000)
            each = {name: tokens(one) for name, one in tools.items()}
            print(f"{agent}: {sum(each.values()):,} tokens of tools, {each}")
            assert sum(each.values()) <= MOST and max(each.values(), default=0) <= MOST_OF_ONE
            assert not notices
        assert {one.name for one in (await home.engine.services.agents()).by_name.values()} == {
            *AGENTS
        }


@pytest.mark.parametrize("window", [SMALL_WINDOW, 4_096])
async def test_a_small_window_keeps_room(tmp_path: Path, window: int) -> None:
    """Brief descriptions, then the tools that the agent's file names last are left out.

    The person is told which; what an agent needs most is there in the smallest window.
    """
    async with engine_home(tmp_path, "anthropic", answer) as home:
        for agent in AGENTS:
            whole, _ = await offered(home, agent, 200_000)
            tools, notices = await offered(home, agent, window)
            print(f"{agent}, {window:,}: {sum(map(tokens, tools.values())):,}")
            assert sum(map(tokens, tools.values())) <= TOOLS_SHARE * window
            left_out = ", ".join(sorted(whole.keys() - tools.keys() - {*CHILD_TOOLS}))
            expected = f"sim-model reads only {window:,} tokens, so it works without: {left_out}."
            assert notices == ([expected] if left_out else [])
            if agent == "Coder":
                assert {"read", "search", "edit", "run"} <= tools.keys()
            if tools:
                described = tools["read"]["input_schema"]["properties"]
                assert "first_line" in described and "first_column" not in described


async def test_an_agent_that_names_no_tools_keeps_those_that_most_work_needs(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, "anthropic", answer) as home:
        file = home.engine.paths.agents / "own.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text("---\nname: Own\n---\nWork.\n")
        kept, (notice,) = await offered(home, "Own", 4_096)
        assert {"read", "search", "edit", "write"} <= kept.keys() and "remember" in notice


async def test_what_is_not_described_can_still_be_asked_for(tmp_path: Path) -> None:
    """A result may name a spare parameter, to read on; the call is understood."""

    def script(view: RequestView) -> Turn:
        if view.results:
            return Turn(Text("Done."))
        return Turn(Call("read", {"path": "a.txt", "first_column": 3}))

    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("0123456789")
        home.engine.settings.values.models["anthropic/sim-model"] = {"context_window": 4_096}
        events = await say(await home.session())
        (done,) = [event for event in events if isinstance(event, ToolFinished)]
        assert done.text.endswith("\n23456789") and not done.is_error
