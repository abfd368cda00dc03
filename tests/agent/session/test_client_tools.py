"""Tools of the one who asks, answers that fit a schema, conversations told by others (S-1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from studio.agent.session.session import Session
from studio.domain.blocks import TextBlock, ToolBlock, UserBlock
from studio.domain.events import Event, TextDelta, ToolQueued, TurnComplete
from studio.domain.messages import Message, Text, ToolCall, ToolResult
from studio.domain.models import Generation
from studio.domain.tools import ToolSpec
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from support.engine_home import PROTOCOLS, EngineHome, engine_home

WEATHER = ToolSpec(
    "weather",
    "The weather in a town",
    {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    external=True,
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}


async def turn(session: Session, text: str = "Go", **wishes: Any) -> list[Event]:
    said = [Text(text)] if text else []
    return [one.event async for one in session.turn(said, **wishes)]


def reason(events: Sequence[Event]) -> str:
    ends = [event.reason for event in events if isinstance(event, TurnComplete)]
    assert len(ends) == 1
    return ends[0]


def sent(home: EngineHome, text: str) -> bool:
    return text in json.dumps(home.asked[-1].json, ensure_ascii=False)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_calls_go_to_the_one_who_asked_and_come_back(tmp_path: Path, provider: str) -> None:
    """S-1, H-3: own tools run here, the client's there, and every result answers its call."""
    script = [
        Turn(Call("weather", {"town": "Ulm"}), Call("read", {"path": "a"}), Call("weather", {"town": "Bonn"})),
        Turn(Words("Sun.")),
        Turn(Words("Bye.")),
    ]  # fmt: skip
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a").write_text("a secret place\n")
        session = await home.session()
        events = await turn(session, tools=[WEATHER])
        assert reason(events) == "handed_over"
        queued = [event for event in events if isinstance(event, ToolQueued)]
        assert [event.external for event in queued] == [True, False, True]
        open_calls = session.transcript.handed_over
        assert [call.arguments for call in open_calls] == [{"town": "Ulm"}, {"town": "Bonn"}]
        results = [
            ToolResult(call.call_id, call.name, (Text(f"{call.arguments['town']} is sunny"),))
            for call in reversed(open_calls)
        ]
        events = await turn(session, "", tools=[WEATHER], results=results)
        assert reason(events) == "done"
        assert sent(home, "Ulm is sunny") and sent(home, "Bonn is sunny")
        assert sent(home, "a secret place")
        states = [b.state for b in session.transcript.blocks if isinstance(b, ToolBlock)]
        assert states == ["done"] * 3
        assert reason(await turn(session, "Thanks", tools=[WEATHER])) == "done"
        audit = await home.engine.store.audit(newest_first=False)
        assert [entry.state for entry in audit] == ["done"] * 3
        assert next(entry.decided_by for entry in audit) == "the client"


ONE_ALONE = {
    "anthropic": '"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}',
    "openai": '"parallel_tool_calls": false',
    "openai-compatible": '"parallel_tool_calls": false',
}
"""How a provider is asked for one call at a time, as far as its API has a word for it."""


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_one_call_alone_is_handed_over_where_that_is_wished(
    tmp_path: Path, provider: str
) -> None:
    """S-1, H-3: also from a model that makes two; the other has its answer in the history."""
    ulm, bonn = Call("weather", {"town": "Ulm"}), Call("weather", {"town": "Bonn"})
    script = [Turn(ulm, Call("read", {"path": "a"}), bonn), Turn(bonn), Turn(Words("Rain."))]
    one = Generation(parallel=False)
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a").write_text("found\n")
        session = await home.session()
        for town in ("Ulm", "Bonn"):
            (open_call,) = [*session.transcript.handed_over] or [None]
            brought = (
                [ToolResult(open_call.call_id, "weather", (Text("Sun."),))] if open_call else []
            )
            said = "" if brought else "Go"
            events = await turn(session, said, tools=[WEATHER], generation=one, results=brought)
            assert reason(events) == "handed_over"
            assert ONE_ALONE.get(provider, "") in json.dumps(home.asked[-1].json)
            (call,) = session.transcript.handed_over
            assert call.arguments == {"town": town}
        assert sent(home, "not made: one at a time") and sent(home, "found")
        results = [ToolResult(call.call_id, "weather", (Text("Rain."),))]
        events = await turn(session, "", tools=[WEATHER], generation=one, results=results)
        assert reason(events) == "done"
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_what_was_never_brought_is_said(tmp_path: Path, provider: str) -> None:
    """H-5: also after a restart, and also where the next turn is a person's in the window."""
    script = [Turn(Call("weather", {"town": "Ulm"}), Call("read", {"path": "a"})), Turn(Words("."))]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a").write_text("found\n")
        session = await home.session()
        await turn(session, tools=[WEATHER])
        await home.engine.sessions.close()
        session = await home.engine.sessions.open(session.info.id)
        assert [call.name for call in session.transcript.handed_over] == ["weather"]
        assert reason(await turn(session, "And?")) == "done"
        assert sent(home, "Whoever runs this tool sent no result.") and sent(home, "found")
        assert sent(home, "These tools cannot be used now: weather.")


async def test_a_call_whose_arguments_cannot_be_read_stays_here(tmp_path: Path) -> None:
    """L-6: the client gets whole calls alone."""
    script = [Turn(Call("weather", raw="Ulm, of course")), Turn(Words("Sorry."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        session = await home.session()
        assert reason(await turn(session, tools=[WEATHER])) == "done"
        assert sent(home, "not a JSON object")


async def test_a_tool_of_the_client_takes_the_place_of_ours(tmp_path: Path) -> None:
    script = [Turn(Call("read", {"path": "a"})), Turn(Words("."))]
    theirs = ToolSpec("read", "Reads theirs", {"type": "object"}, external=True)
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        (home.folder / "a").write_text("ours\n")
        session = await home.session()
        assert reason(await turn(session, tools=[theirs])) == "handed_over"
        tools = [tool["function"]["name"] for tool in home.asked[0].json["tools"]]
        assert tools.count("read") == 1
        assert not sent(home, "ours\n")


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_conversation_that_somebody_tells(tmp_path: Path, provider: str) -> None:
    """S-1, S-2: the model sees all of it, in order; the agent's prompt once, the client's after."""
    told = [
        Message("user", (Text("My name is Alice."),)),
        Message("assistant", (Text("Hello Alice."), ToolCall("c1", "weather", {"town": "Ulm"}))),
        Message("user", (ToolResult("c1", "weather", (Text("Rain"),)),)),
        Message("assistant", (Text("It rains."),)),
    ]
    async with engine_home(tmp_path, provider, [Turn(Words("Alice."))]) as home:
        session = await home.engine.sessions.create(
            folder=str(home.folder), agent="Coder", provider=home.provider, model="sim-model",
            origin="server", instructions="Be brief.", told=told,
        )  # fmt: skip
        assert session.info.title == "My name is Alice."
        assert reason(await turn(session, "What is my name?", tools=[WEATHER])) == "done"
        body = json.dumps(home.asked[0].json, ensure_ascii=False)
        words = ["careful software engineer", "Be brief.", "My name is Alice.", "Hello Alice.",
                 "Rain", "It rains.", "What is my name?"]  # fmt: skip
        places = [body.index(word) for word in words]
        assert all(body.count(word) == 1 for word in words)
        in_order = places[2:]
        assert in_order == sorted(in_order)
        assert places[0] < places[1]
        assert not await home.engine.store.audit()
        again = await home.engine.store.get(session.info.id)
        assert again is not None and (again.origin, again.instructions) == ("server", "Be brief.")
        kinds = [type(block) for block in session.transcript.blocks]
        assert kinds.count(UserBlock) == 2 and kinds.count(TextBlock) == 3
        assert [hit.session_id for hit in await home.engine.sessions.search("rains")]


async def test_the_bare_model_gets_nothing_but_what_is_said(tmp_path: Path) -> None:
    async with engine_home(
        tmp_path, "openai-compatible", [Turn(Words("Hi.")), Turn(Words("Hi."))]
    ) as home:
        session = await home.session(agent="Plain")
        await turn(session, "Hello")
        assert home.asked[0].json["messages"] == [{"role": "user", "content": "Hello"}]
        assert "tools" not in home.asked[0].json
        session = await home.engine.sessions.create(
            folder=str(home.folder), agent="Plain", provider=home.provider, model="sim-model",
            instructions="Speak Latin.",
        )  # fmt: skip
        await turn(session, "Hello")
        assert home.asked[1].json["messages"][0] == {"role": "system", "content": "Speak Latin."}


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_an_answer_that_does_not_fit_is_asked_for_again(
    tmp_path: Path, provider: str
) -> None:
    script = [
        Turn(Words("Sure! The sum is 3.")),
        Turn(Words('{"sum": "3"}')),
        Turn(Words('{"sum": 3}')),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = await turn(session, generation=Generation(schema=SCHEMA))
        assert reason(events) == "done"
        assert sent(home, "“sum” must be a whole number")
        assert "".join(e.text for e in events if isinstance(e, TextDelta)).endswith('{"sum": 3}')


async def test_a_model_that_never_fits_ends_with_the_reason(tmp_path: Path) -> None:
    script = [Turn(Words("no")), Turn(Words("no")), Turn(Words("no")), Turn(Words("Free again."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        session = await home.session()
        events = await turn(session, generation=Generation(schema={}))
        assert reason(events) == "error"
        assert reason(await turn(session, "Tell me")) == "done"
        assert sent(home, "Answer in words again.")


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_what_is_asked_of_the_first_request_alone(tmp_path: Path, provider: str) -> None:
    """A tool that has to be called is called once, or no turn would end."""
    script = [Turn(Call("read", {"path": "a"})), Turn(Words("."))]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a").write_text("x\n")
        session = await home.session()
        assert reason(await turn(session, generation=Generation(only="read"))) == "done"


async def test_what_comes_after_a_stop_text_is_not_gone_on_with(tmp_path: Path) -> None:
    script = [Turn(Words("One. STOP two."), Call("read", {"path": "a"}))]
    async with engine_home(tmp_path, "openai", script) as home:
        session = await home.session()
        events = await turn(session, generation=Generation(stop=("STOP",)))
        assert reason(events) == "done"
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "One. "
        assert len(home.asked) == 1
