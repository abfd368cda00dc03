"""A server asks for a model's answer: shown, allowed, counted, or declined (M-20)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.domain.events import AwaitingReply, Event, ReplyGiven, StepEnded, ToolFinished
from studio.domain.messages import Text as Said
from studio.domain.permissions import Rule
from studio.domain.questions import ServerAnswer
from studio.simulator import Call, Turn
from studio.simulator.script import Text
from support.engine_home import EngineHome, engine_home
from support.pack_home import install_code
from support.server_home import ListedServer, switch_on, tool

ALLOWED = (Rule("allow", "shop__*"),)
ORDER = Turn(Call("shop__order", {}))
DONE = Turn(Text("Done."))
REFUSES = """
from studio.packs import ALLOWED, Pack, RequestPolicy, Verdict

class Policy(RequestPolicy):
    def ask(self, request, home):
        return Verdict("Not for servers.") if request.purpose == "server" else ALLOWED

pack = Pack(policy=Policy())
"""


async def shop_in(home: EngineHome, folder: Path, *, may: bool = True, **asks: Any) -> None:
    shop = ListedServer(folder)
    asks = {"prompt": "Which\u200b is best?", "system": "Be brief.", **asks}
    shop.offer({**tool("order"), "asks": asks})
    servers = home.engine.services.servers
    (entry,) = await switch_on(servers, shop)
    assert not entry.sampling, "it is off until the person says otherwise"
    if may:
        await servers.say(replace(entry, sampling=True))


async def turn(home: EngineHome, answer: ServerAnswer | str) -> list[Event]:
    session = await home.session()
    events: list[Event] = []
    async for envelope in session.turn([Said("Go")], rules=ALLOWED):
        events.append(envelope.event)
        if isinstance(envelope.event, AwaitingReply):
            if isinstance(answer, str):
                session.answer_question(envelope.event.call_id, answer)
            else:
                session.answer_form(envelope.event.call_id, answer)
    return events


def result(events: list[Event]) -> ToolFinished:
    (finished,) = [one for one in events if isinstance(one, ToolFinished)]
    return finished


async def test_m20_a_model_answers_after_a_yes(tmp_path: Path) -> None:
    """M-20, L-14: it reads what the person was shown, without tools, and what it used counts."""
    script = [ORDER, Turn(Text("The red one.")), DONE]
    async with engine_home(tmp_path, "anthropic", script) as home:
        await shop_in(home, tmp_path)
        events = await turn(home, ServerAnswer("accept"))
        (asked,) = [one for one in events if isinstance(one, AwaitingReply)]
        assert asked.form is not None and asked.form.model
        shown = "system: Be brief.\n\nuser: Which\\u200b is best?"
        assert (asked.form.server, asked.form.message) == ("shop", shown)
        body: Any = home.asked[1].json
        assert "Which\\u200b is best?" in body["messages"][0]["content"][0]["text"]
        assert len(body["messages"]) == 1 and "Be brief." in json.dumps(body["system"])
        assert not body.get("tools")
        assert "The red one." in result(events).text
        (given,) = [one for one in events if isinstance(one, ReplyGiven)]
        assert given.text == f"Let {asked.form.model} answer"
        (beside,) = [one for one in events if isinstance(one, StepEnded) and one.beside]
        assert beside.usage.output
        assert "The red one." not in json.dumps(home.asked[2].json["messages"][:2])  # type: ignore[index]


@pytest.mark.parametrize("answer", [ServerAnswer("decline"), ServerAnswer("cancel"), "Nobody."])
async def test_m20_nothing_is_sent_without_a_yes(
    tmp_path: Path, answer: ServerAnswer | str
) -> None:
    """M-20: also where nobody is there."""
    async with engine_home(tmp_path, "anthropic", [ORDER, DONE]) as home:
        await shop_in(home, tmp_path)
        found = result(await turn(home, answer))
        assert found.is_error and "did not allow it" in found.text
        assert len(home.asked) == 2


async def test_m20_it_is_off_by_default(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", [ORDER, DONE]) as home:
        await shop_in(home, tmp_path, may=False)
        events = await turn(home, ServerAnswer("accept"))
        assert not any(isinstance(one, AwaitingReply) for one in events)
        assert "can allow that on its page" in result(events).text
        assert len(home.asked) == 2


async def test_m20_caps_hold_for_it(tmp_path: Path) -> None:
    """M-20, L-14: what does not fit is not sent, and the turn says why."""
    async with engine_home(tmp_path, "anthropic", [ORDER, DONE]) as home:
        await shop_in(home, tmp_path, prompt="word " * 9_900)
        home.engine.settings.values.turn_tokens = 9_000
        found = result(await turn(home, ServerAnswer("accept")))
        assert found.is_error and "limit of 9,000 tokens" in found.text
        assert not any("word word" in json.dumps(one.json) for one in home.asked)


async def test_m20_policies_of_packs_are_asked(tmp_path: Path) -> None:
    """M-20, KZ-7: as for any request, by a purpose of its own."""
    async with engine_home(tmp_path, "anthropic", [ORDER, DONE]) as home:
        install_code(home, tmp_path, REFUSES)
        await shop_in(home, tmp_path)
        found = result(await turn(home, ServerAnswer("accept")))
        assert found.is_error and "Not for servers." in found.text
        assert len(home.asked) == 2


async def test_m20_what_nobody_can_read_is_not_asked(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", [ORDER, DONE]) as home:
        await shop_in(home, tmp_path, prompt="word " * 10_001)
        events = await turn(home, ServerAnswer("accept"))
        assert not any(isinstance(one, AwaitingReply) for one in events)
        assert "more than 50,000 characters" in result(events).text
