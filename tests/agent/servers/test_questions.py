"""What servers ask during a call, from a process to the session and back (M-19)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from studio.agent.servers.questions import readable_form
from studio.agent.session.session import Session
from studio.domain.events import AwaitingReply, Event, ReplyGiven, ToolFinished
from studio.domain.forms import fields_of
from studio.domain.messages import Text as Said
from studio.domain.permissions import Rule
from studio.domain.questions import ServerAnswer
from studio.simulator import Call, Turn
from studio.simulator.script import Text
from support.delegation_home import agent, cast, delegate, repeats, save
from support.engine_home import engine_home
from support.server_home import ListedServer, switch_on, tool
from support.waiting import until, within

ALLOWED = (Rule("allow", "shop__*"),)
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "title": "Size", "minimum": 1, "default": 3},
        "password": {"type": "string"},
    },
    "required": ["size"],
}
SCRIPT = [Turn(Call("shop__order", {})), Turn(Text("Done."))]


def asking(folder: Path, **asks: Any) -> ListedServer:
    shop = ListedServer(folder)
    shop.offer({**tool("order"), "asks": {"message": "Which size?", **asks}})
    return shop


async def answered(session: Session, *answers: ServerAnswer | str) -> list[Event]:
    """One turn; what the server asks is answered in this order, by a text in plain words."""
    events: list[Event] = []
    left = list(answers)
    async for envelope in session.turn([Said("Go")], rules=ALLOWED):
        events.append(envelope.event)
        if isinstance(envelope.event, AwaitingReply):
            match left.pop(0):
                case ServerAnswer() as answer:
                    session.answer_form(envelope.event.call_id, answer)
                case words:
                    session.answer_question(envelope.event.call_id, words)
    return events


def result(events: list[Event]) -> Any:
    (finished,) = [one for one in events if isinstance(one, ToolFinished)]
    assert not finished.is_error, finished.text
    return json.loads(finished.text[finished.text.index("{") : finished.text.rindex("}") + 1])


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (ServerAnswer("accept", {"size": 4}), {"action": "accept", "content": {"size": 4}}),
        (ServerAnswer("decline"), {"action": "decline", "content": None}),
        (ServerAnswer("cancel"), {"action": "cancel", "content": None}),
        ("Nobody is here.", {"action": "decline", "content": None}),
    ],
)
async def test_m19_the_answer_reaches_the_server(
    tmp_path: Path, answer: ServerAnswer | str, sent: Any
) -> None:
    """M-19: to decline differs from to cancel; where only words can come it is declined."""
    shop = asking(tmp_path, schema=FORM)
    async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
        await switch_on(home.engine.services.servers, shop)
        events = await answered(await home.session(), answer)
        (asked,) = [one for one in events if isinstance(one, AwaitingReply)]
        assert asked.form is not None and asked.form.schema is not None
        assert (asked.form.server, asked.text) == ("shop", "shop asks: Which size?")
        assert list(asked.form.schema["properties"]) == ["size", "password"]  # type: ignore[call-overload]
        assert result(events) == sent


async def test_m19_secrets_of_a_form_are_in_no_record(tmp_path: Path) -> None:
    """M-19, P-4: what was sent is kept with the chat, but for what looks like a secret."""
    shop = asking(tmp_path, schema=FORM)
    async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
        await switch_on(home.engine.services.servers, shop)
        answer = ServerAnswer("accept", {"size": 4, "password": "hunter2"})
        events = await answered(await home.session(), answer)
        (given,) = [one for one in events if isinstance(one, ReplyGiven)]
        assert given.text == "Sent size: 4, password: …"


def test_m19_choices_have_no_hidden_characters() -> None:
    """M-19: what is shown is escaped, what is sent is the server's value."""
    hidden, plain = "\u202eyes", "no"
    schema: Any = {
        "properties": {
            "one": {"type": "string", "enum": [hidden, plain]},
            "two": {"oneOf": [{"const": hidden}, {"const": plain, "title": "No\x1b"}]},
        }
    }
    fields = fields_of(readable_form(schema))
    assert [[choice.value for choice in one.choices] for one in fields] == [[hidden, plain]] * 2
    titles = [[choice.title for choice in one.choices] for one in fields]
    assert titles == [["\\u202eyes", "no"], ["\\u202eyes", "No\\x1b"]]


async def test_m19_an_address_is_told_as_it_is(tmp_path: Path) -> None:
    """M-19: in url mode the whole address is shown, with its hidden characters."""
    shop = asking(tmp_path, url="https://example.com/\u202emoc.elpmaxe?a=1")
    async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
        await switch_on(home.engine.services.servers, shop)
        events = await answered(await home.session(), ServerAnswer("accept"))
        (asked,) = [one for one in events if isinstance(one, AwaitingReply)]
        assert asked.form is not None and asked.form.schema is None
        assert asked.form.url == "https://example.com/\\u202emoc.elpmaxe?a=1"
        assert result(events)["action"] == "accept"


async def test_m19_a_stop_puts_the_question_away(tmp_path: Path) -> None:
    """M-19, M-7: the turn ends with its question open; the next call of the server works."""
    shop = asking(tmp_path, schema=FORM)
    async with engine_home(tmp_path, "anthropic", [*SCRIPT[:1], *SCRIPT]) as home:
        await switch_on(home.engine.services.servers, shop)
        session = await home.session()
        turn = asyncio.ensure_future(answered_never(session))
        await until(lambda: open_form(session))
        session.stop()
        await turn
        assert not open_form(session)
        assert result(await answered(session, ServerAnswer("decline")))["action"] == "decline"


async def answered_never(session: Session) -> None:
    async for _ in session.turn([Said("Go")], rules=ALLOWED):
        pass


def open_form(session: Session) -> bool:
    return any(call.form is not None for call in session.transcript.last_calls)


async def test_m19_a_child_asks_in_the_turn_above(tmp_path: Path) -> None:
    """M-19, W-22: what a server asks a child's call is asked where the person is."""
    order = Turn(Call("shop__order", {}))
    script = cast(Lead=[Turn(delegate("Helper", "Order.")), repeats], Helper=[order, repeats])
    shop = asking(tmp_path, schema=FORM)
    async with engine_home(tmp_path, "anthropic", script) as home:
        tools = "shop__order, ask"
        save(home.engine.paths.agents, agent("Lead", "agents: [Helper]"))
        save(home.engine.paths.agents, agent("Helper", tools=tools))
        await home.engine.rules.add(ALLOWED[0], None)
        await switch_on(home.engine.services.servers, shop)
        async with within():
            session = await home.session("Lead")
            events = await answered(session, ServerAnswer("accept", {"size": 5}))
        (asked,) = [one for one in events if isinstance(one, AwaitingReply)]
        assert asked.text == "shop asks: Which size?"
        told = [one.text for one in events if isinstance(one, ToolFinished)]
        assert '"size": 5' in told[0]
