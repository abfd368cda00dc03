"""A cheap model names a chat once, within the caps, and never over the person's own title."""

from __future__ import annotations

from pathlib import Path

from studio.agent.prompts import TITLE_SYSTEM
from studio.agent.session.title_writer import cheapest, clean, write_title
from studio.domain.models import ModelInfo
from studio.simulator import Text, Turn
from support.engine_home import KEY, engine_home, say


async def test_a_chat_is_named_after_its_first_answer(tmp_path: Path) -> None:
    script = [
        Turn(Text("One.")),
        Turn(Text("\u201cPlants and light.\u201d")),
        *[Turn(Text("Two."))] * 9,
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        engine, values = home.engine, home.engine.settings.values
        named = await home.session()
        await say(named, "Why are plants green?")
        assert not await engine.name_chat(named), "it is switched off"
        values.write_titles = True
        before = await engine.store.usage(named.info.id)
        assert await engine.name_chat(named)
        stored = await engine.store.get(named.info.id)
        assert stored is not None and stored.title == named.info.title == "Plants and light"
        request = str(home.asked[-1].json)
        assert TITLE_SYSTEM[:40] in request and "Why are plants green?" in request
        used = await engine.store.usage(named.info.id)
        assert used.total > before.total, "it counts in the budget"
        assert engine.budgets.used(named.info.id).tokens == used.total
        assert not await engine.name_chat(named), "once"
        await say(named, "And the second time?")
        assert "Plants and light" not in str(home.asked[-1].json), "the chat itself is as it was"

        asked = len(home.asked)
        mine, secret, dear, late = [await home.session() for _ in range(4)]
        await say(mine, "Hello")
        await mine.change(title="Mine")
        await say(secret, f"My key is {KEY}")
        await say(dear, "Hello")
        await say(late, "Hello")
        values.session_tokens = 1
        for session in (mine, secret, dear):
            assert not await engine.name_chat(session), session.info.title
        assert len(home.asked) == asked + 4, "nobody was asked"
        assert (mine.info.title, dear.info.title) == ("Mine", "Hello")

        # The person's own title stays, also where it came while the model was asked.
        await engine.store.update(late.info.id, title="Late", titled_by="person")
        assert not await engine.store.give_title(late.info.id, "Other")
    # A failed request is silent.
    async with engine_home(tmp_path, "anthropic", [Turn(Text("One."))]) as home:
        home.engine.settings.values.write_titles = True
        home.engine.settings.values.session_tokens = 0
        session = await home.session()
        await say(session, "Hello")
        assert not await home.engine.name_chat(session) and session.info.title == "Hello"


async def test_a_server_of_many_companies_is_asked_with_the_chats_own_model(
    tmp_path: Path,
) -> None:
    script = [Turn(Text("One.")), Turn(Text("Plants"))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        home.engine.settings.values.write_titles = True
        session = await home.session()
        await say(session, "Why are plants green?")
        prices = {"input_price": 3.0, "output_price": 15.0}
        home.engine.settings.values.models = {f"openai-compatible/{session.info.model}": prices}
        free = ModelInfo("other/free", input_price=0.0, output_price=0.0)
        assert await write_title(home.engine.services, session, [free])
        assert isinstance(home.asked[-1].json, dict)
        assert home.asked[-1].json["model"] == session.info.model


def test_the_cheapest_model_that_chats_is_asked() -> None:
    big = ModelInfo("big", input_price=3.0, output_price=15.0)
    small = ModelInfo("small", input_price=0.1, output_price=0.4)
    others = [
        ModelInfo("unknown"),
        ModelInfo("text-embedding", input_price=0.01, output_price=0.0),
        ModelInfo("no-tools", input_price=0.01, output_price=0.0, tools=False),
    ]
    assert cheapest([*others, big, small], big) == "small"
    assert cheapest(others, big) == "big"
    assert cheapest([small], ModelInfo("mine")) == "mine", "its price is not known"


def test_only_one_short_line_is_a_title() -> None:
    assert clean(' **"Plants and light."**\n') == "Plants and light"
    assert clean("Sure! Here is one:\nPlants") == clean("x" * 61) == clean("") == ""
