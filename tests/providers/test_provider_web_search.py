"""A search that the provider runs itself (T-8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio.domain.blocks import NoticeBlock, ToolBlock
from studio.domain.events import HistoryBegun, TurnComplete
from studio.domain.permissions import Rule
from studio.simulator import Call, Found, ServerTool, Text, Turn
from support.engine_home import EngineHome, engine_home, say

MODELS = {"anthropic": "sim-model", "openai": "gpt-5.6", "gemini": "sim-gemini-3"}
FOUND = ServerTool("web_search", "boats", (Found("Boats", "https://example.org/boats"),))


def declared(home: EngineHome, request: int = -1) -> list[dict[str, Any]]:
    return home.asked[request].json["tools"]  # type: ignore[return-value]


@pytest.mark.parametrize("provider", MODELS)
async def test_the_provider_searches_and_its_blocks_go_back(tmp_path: Path, provider: str) -> None:
    """T-8, H-1: declared in the provider's words, beside our own tools."""
    script = [
        Turn(FOUND, Text("Boats float."), stop="end"),
        Turn(Text("They do."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        home.engine.settings.values.web_search = "provider"
        session = await home.session("Assistant", MODELS[provider])
        for _ in range(2):
            events = await say(session, "Do boats float?")
            assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-1]
        assert all(one.violation is None for one in home.asked)
        tools = declared(home)
        native = {
            "anthropic": {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
            "openai": {"type": "web_search"},
            "gemini": {"googleSearch": {}},
        }[provider]
        assert native in tools and len([t for t in tools if "web_search" in str(t)]) <= 1
        assert "fetch" in str(tools)
        assert session.transcript.exposed["untrusted"] == "what the provider finds on the web"


async def test_a_change_of_who_searches_begins_anew(tmp_path: Path) -> None:
    """H-9: what a provider runs itself nobody here could refuse."""
    script = [Turn(Text(word), stop="end") for word in ("one", "two", "three")]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session("Assistant")
        begun: list[int] = []
        for engine in ("ddgs", "provider", "ddgs"):
            home.engine.settings.values.web_search = engine  # type: ignore[assignment]
            events = await say(session)
            begun.append(sum(isinstance(event, HistoryBegun) for event in events))
            assert ("web_search_20250305" in str(declared(home))) == (engine == "provider")
        assert begun == [1, 1, 1]
        notices = [b.text for b in session.transcript.blocks if isinstance(b, NoticeBlock)]
        assert sum("searches the web" in text for text in notices) == 2


async def test_a_provider_without_a_search_says_so(tmp_path: Path) -> None:
    script = [
        Turn(Call("web_search", {"query": "boats"}), stop="tool_use"),
        Turn(Text("I could not."), stop="end"),
    ]
    async with engine_home(tmp_path, "ollama", script) as home:
        home.engine.settings.values.web_search = "provider"
        session = await home.session("Assistant")
        await say(session, answer="once")
        block = next(b for b in session.transcript.blocks if isinstance(b, ToolBlock))
        assert block.state == "error" and "no search of its own" in block.output


@pytest.mark.parametrize("against", ["plan", "deny", "ask", "turn"])
async def test_no_provider_searches_where_a_search_could_be_refused(
    tmp_path: Path, against: str
) -> None:
    """T-7: it asks nobody, so it is not declared in plan mode or beside a rule about searches."""
    async with engine_home(tmp_path, "anthropic", [Turn(Text("one"), stop="end")]) as home:
        home.engine.settings.values.web_search = "provider"
        session = await home.session("Assistant")
        rule = Rule.parse("web_search(*secret*)", "ask" if against == "ask" else "deny")
        if against == "plan":
            await session.change(permission_mode="plan")
        elif against != "turn":
            await home.engine.rules.add(rule)
        await say(session, rules=(rule,) if against == "turn" else ())
        assert "web_search" not in str(declared(home))
