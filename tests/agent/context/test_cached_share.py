"""Long work is mostly read from the provider's cache, and what is known is told once (C-26)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.agent.context.truncation import shorten_results
from studio.agent.prompts import RESULT_STUB
from studio.domain.agents import Limits
from studio.domain.events import Event, HistoryBegun, StepEnded, ToolFinished, TurnComplete
from studio.domain.messages import Message, ToolCall, ToolResult
from studio.domain.messages import Text as Words
from studio.domain.models import Usage
from studio.simulator import Call, RequestView, Text, Turn
from support.engine_home import engine_home, say
from support.waiting import FOREVER

VENDORS = ("anthropic", "openai", "gemini")
STEPS = 30
GOAL = 0.8
"""Share of the input of thirty steps that comes from the cache."""


@pytest.mark.parametrize("window", [200_000, 32_000])
@pytest.mark.parametrize("provider", VENDORS)
async def test_most_of_thirty_steps_is_cached(tmp_path: Path, provider: str, window: int) -> None:
    """C-26: with room for everything, and where old results have to be shortened on the way."""
    left = iter(range(STEPS - 1))

    def worker(view: RequestView) -> Turn:
        number = next(left, None)
        if number is None:
            return Turn(Text("Done."))
        return Turn(Text(f"Step {number}."), Call("read", {"path": f"{number}.py"}))

    async with engine_home(tmp_path, provider, worker) as home:
        settings = home.engine.settings.values
        settings.models[f"{provider}/sim-model"] = {"context_window": window}
        for number in range(STEPS - 1):
            (home.folder / f"{number}.py").write_text(f"value_{number} = 'abcdefgh'\n" * 200)
        session = await home.session()
        limits = Limits(STEPS, FOREVER)
        events: list[Event] = [
            one.event async for one in session.turn([Words("Go")], limits=limits)
        ]
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-2:]
        steps = [event.usage for event in events if isinstance(event, StepEnded)]
        whole = sum(steps, Usage())
        begun = sum(isinstance(event, HistoryBegun) for event in events)
        share = whole.cache_read / whole.input
        print(f"{provider}, {window:,}: {share:.1%} of {whole.input:,} tokens, {begun} histories")
        assert len(steps) >= STEPS and share >= GOAL
        assert begun == 1 if window == 200_000 else 2 <= begun <= 5
        assert not home.simulator.violations


async def test_results_are_left_out_only_where_that_frees_much(tmp_path: Path) -> None:
    """C-26: 15 % of the window at least; for less, what the provider has cached is kept."""
    left = iter(range(STEPS - 1))

    def worker(view: RequestView) -> Turn:
        number = next(left, None)
        if number is None:
            return Turn(Text("Done."))
        return Turn(Text("Many words. " * 250), Call("read", {"path": f"{number}.py"}))

    async with engine_home(tmp_path, "anthropic", worker) as home:
        settings = home.engine.settings.values
        settings.models["anthropic/sim-model"] = {"context_window": 34_000}
        settings.summarise = False
        for number in range(STEPS - 1):
            (home.folder / f"{number}.py").write_text(f"value_{number} = 'abcdefgh'\n" * 10)
        session = await home.session()
        limits = Limits(STEPS, FOREVER)
        events: list[Event] = [
            one.event async for one in session.turn([Words("Go")], limits=limits)
        ]
        sent = [event.usage.input for event in events if isinstance(event, StepEnded)]
        assert 0.75 * 34_000 < sent[-1] < 34_000
        assert sum(isinstance(event, HistoryBegun) for event in events) == 1


async def test_what_was_read_before_is_one_line(tmp_path: Path) -> None:
    """C-26: until it changes, or is left out of the history. The person sees it all the same."""
    calls = [
        Call("read", {"path": "a.py"}),
        Call("read", {"path": "a.py", "first_line": 1}),
        Call("search", {"pattern": "value"}),
        Call("search", {"pattern": "value"}),
    ]

    def reader(view: RequestView) -> Turn:
        return Turn(Text("Done.")) if view.results else Turn(*calls)

    async with engine_home(tmp_path, "anthropic", reader) as home:
        file = home.folder / "a.py"
        file.write_text("".join(f"value = {n}\n" for n in range(100)))
        session = await home.session()

        async def sent() -> list[str]:
            """The four results as the model got them; all are shown whole."""
            events = await say(session)
            shown = [event.text for event in events if isinstance(event, ToolFinished)]
            assert len(shown) == 4 and all("value = 99" in text for text in shown)
            results = home.asked[-1].json["messages"][-1]["content"]
            return [str(one["content"]) for one in results if one["type"] == "tool_result"]

        read, again, found, found_again = await sent()
        assert "value = 99" in read and "value = 99" in found
        for text, tool in ((again, "read"), (found_again, "search")):
            assert f"The same as your earlier result of {tool} that begins" in text
            assert "value = 99" not in text and len(text) < 300
        assert all("The same as" in text for text in await sent())
        file.write_text(file.read_text() + "value = 100\n")
        assert ["The same as" in text for text in await sent()] == [False, True, False, True]
        await session.context.compact()
        texts = json.dumps((await home.engine.store.native(session.info.id)).items)  # type: ignore[union-attr]
        assert texts.count("value = 99") == 3, "the last results are whole"


def result(number: int, name: str = "read", *, is_error: bool = False) -> list[Message]:
    call = ToolCall(f"c{number}", name, {})
    text = (Words(f"{number} {'x' * 500}"),)
    done = ToolResult(call.id, name, text, is_error, sources=(f"a{number}.py:1-9",))
    return [Message("assistant", (call,)), Message("user", (done,))]


def test_stubs_name_their_source_and_spare_the_plan_and_the_last_failure() -> None:
    """C-26."""
    names = ["read", "run", "plan", "run", "read", "read", "read", "read"]
    messages = [
        message
        for number, name in enumerate(names)
        for message in result(number, name, is_error=name == "run")
    ]
    texts = [
        b.text for m in shorten_results(messages) for b in m.blocks if isinstance(b, ToolResult)
    ]
    assert texts[0] == RESULT_STUB.format(name="read", of=" (a0.py:1-9)", size=502)
    whole = [number for number, text in enumerate(texts) if text.endswith("xxx")]
    assert whole == [2, 3, 5, 6, 7]
