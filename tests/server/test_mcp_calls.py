"""The calls of MCP clients, with the official SDK's client in the same process (M-25)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from studio.agent.prompts import NOBODY_ANSWERS
from studio.domain.errors import StorageError
from studio.domain.questions import ServerAnswer
from studio.domain.run_events import RunQuestion
from studio.server.contract import Outcome, ProgressPart, ResponsePart, TextPart
from studio.server.errors import INTERNAL
from studio.server.mcp.calls import Calls, OpenCall, _answer, _Asked, _has_forms
from studio.server.mcp.forms import Form
from studio.server.mcp.studio_tools import StudioTools, _asking_run, _told
from studio.server.mcp.studio_tools import _answer as _answer_of
from studio.simulator import Call, Script, Text, Turn, status
from support.engine_home import EngineHome, engine_home
from support.mcp_client import ERAS
from support.server_home import ListedServer, switch_on, tool
from support.waiting import HANG, until

PROVIDER = "ollama"
TOUCH = Turn(Call("run", {"command": "touch ran"}))
WAIT = "while not __import__('os').path.exists('go'): __import__('time').sleep(0.05)"
HOLD = Turn(Call("run", {"command": f'{sys.executable} -c "{WAIT}"', "time_limit": 3600}))
ALLOW = types.ElicitResult(action="accept", content={"answer": "allow"})
FLOW = """---
name: Greet
description: Greets.
inputs:
  whom: {type: string, required: true, description: Who it is}
  how: {type: enum, choices: [warm, short], default: short}
steps:
  - {id: say, agent: Writer}
---
## say
Greet ${{ inputs.whom }}.
"""


@asynccontextmanager
async def studio(
    place: Path, script: Script, **settings: object
) -> AsyncIterator[tuple[EngineHome, Calls]]:
    async with engine_home(place, PROVIDER, script) as house:
        values = house.engine.settings.values
        values.default_provider, values.default_model = PROVIDER, {PROVIDER: "sim-model"}
        for name, value in settings.items():
            setattr(values, name, value)
        await house.engine.settings.save()
        tools = StudioTools(house.engine, house.folder)
        calls = Calls(tools)
        try:
            yield house, calls
        finally:
            await calls.close()
            await tools.close()


def client(calls: Calls, era: str = "auto", **more: Any) -> Client:
    return Client(calls.server, mode=era, read_timeout_seconds=HANG, **more)


def words(result: Any) -> str:
    return "\n".join(one.text for one in result.content)


async def resume(client: Client, state: str, tool: str = "ask_agent", **answer: Any) -> Any:
    """Call again with an answer to the question that ended the call before."""
    given = types.ElicitResult(**answer) if answer else None
    return await client.session.call_tool(
        tool,
        {"message": "Go"},
        request_state=state,
        input_responses={"question": given} if given else None,
        allow_input_required=True,
    )


@pytest.mark.parametrize("era", ERAS)
async def test_m25_a_client_is_told_its_step_again_while_it_is_worked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    """M-25: so that it does not give up; each time the number is higher, as the protocol wants."""
    monkeypatch.setattr("studio.server.mcp.calls.BEAT", 0.01)
    told: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    def again() -> bool:
        lines = [line for _, line in told if line and "exists" in line]
        return len(lines) > 2

    rules = {"allow": ["run"]}
    script = [HOLD, Turn(Text("Done."))]
    async with (
        studio(tmp_path, script, server_rules=rules) as (house, calls),
        client(calls, era) as mine,
    ):
        call = asyncio.ensure_future(
            mine.call_tool("ask_agent", {"message": "Go"}, progress_callback=heard)
        )
        await until(again)
        (house.folder / "go").touch()
        assert not (await call).is_error
    numbers = [number for number, _ in told]
    assert numbers == sorted({*numbers})
    assert "" not in [line for _, line in told]


async def test_m25_a_form_that_nobody_answers_holds_up_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-25: the call goes on without a yes, and the client is told meanwhile that it is alive."""
    monkeypatch.setattr("studio.server.mcp.calls.PATIENCE", 0.01)
    monkeypatch.setattr("studio.server.mcp.calls.BEAT", 0.01)
    withdrawn = asyncio.Event()

    async def nobody(context: Any, params: Any) -> types.ElicitResult:
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            withdrawn.set()

    async with studio(tmp_path, [TOUCH, Turn(Text("Done."))]) as (house, calls):
        async with client(calls, "legacy", elicitation_callback=nobody) as mine:
            result = await mine.call_tool("ask_agent", {"message": "Go"})
            await asyncio.wait_for(withdrawn.wait(), HANG)
        assert words(result).startswith("Done.") and not (house.folder / "ran").exists()


async def test_m25_forms_of_one_call_are_shown_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-25: and the client is told that its call is worked on while its person thinks."""
    monkeypatch.setattr("studio.server.mcp.calls.BEAT", 0.01)
    open_forms: list[str] = []
    seen: list[int] = []
    told: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def person(context: Any, params: Any) -> types.ElicitResult:
        open_forms.append(params.message)
        seen.append(len(open_forms))
        before = len(told)
        await until(lambda: len(told) > before + 2)
        open_forms.clear()
        return ALLOW

    both = Turn(
        Call("run", {"command": "touch ran"}),
        Call("run", {"command": "touch too"}),
    )
    async with studio(tmp_path, [both, Turn(Text("Done."))]) as (house, calls):
        async with client(calls, "legacy", elicitation_callback=person) as mine:
            await mine.call_tool("ask_agent", {"message": "Go"}, progress_callback=heard)
        assert {"ran", "too"} <= {one.name for one in house.folder.iterdir()}
    assert seen == [1, 1]


async def test_m25_only_the_call_that_asked_is_gone_on_with(tmp_path: Path) -> None:
    """M-25: by its own tool and state, once, and by a new call no more when it is over."""
    script = [TOUCH, HOLD, Turn(Text("Done."))]
    rules = {"allow": [f"run({sys.executable} *)"]}
    async with studio(tmp_path, script, server_rules=rules) as (house, calls):

        async def form(context: Any, params: Any) -> types.ElicitResult:
            raise AssertionError("the test answers")

        async with client(calls, elicitation_callback=form) as mine:
            asked = await mine.session.call_tool(
                "ask_agent", {"message": "Go"}, allow_input_required=True
            )
            assert isinstance(asked, types.InputRequiredResult)
            state = asked.request_state
            assert state and "touch ran" in asked.input_requests["question"].params.message  # type: ignore[union-attr,index]
            for wrong, tool in (
                (state, "run_workflow"),
                ("0" * 32, "ask_agent"),
                ("", "ask_agent"),
            ):
                with pytest.raises(MCPError, match="This call is over"):
                    await resume(mine, wrong, tool, action="accept", content={"answer": "allow"})
            assert not (house.folder / "ran").exists()
            going = asyncio.ensure_future(
                resume(mine, state, action="accept", content={"answer": "allow"})
            )
            await until((house.folder / "ran").exists)
            with pytest.raises(MCPError, match="This call is over"):
                await resume(mine, state, action="decline")
            (house.folder / "go").touch()
            assert words(await going).startswith("Done.")
            with pytest.raises(MCPError, match="This call is over"):
                await resume(mine, state, action="decline")


async def test_m25_a_call_again_without_an_answer_is_no_yes(tmp_path: Path) -> None:
    async with studio(tmp_path, [TOUCH, Turn(Text("Done."))]) as (house, calls):

        async def form(context: Any, params: Any) -> types.ElicitResult:
            raise AssertionError("the test answers")

        async with client(calls, elicitation_callback=form) as mine:
            asked: Any = await mine.session.call_tool(
                "ask_agent", {"message": "Go"}, allow_input_required=True
            )
            assert words(await resume(mine, asked.request_state)).startswith("Done.")
        assert not (house.folder / "ran").exists()


async def test_m25_the_end_of_a_request_stops_the_call_that_waits_for_it_alone(
    tmp_path: Path,
) -> None:
    """M-25: not one that has its question out, nor one that was gone on with before that end."""
    async with studio(tmp_path, []) as (_, calls):
        first, second, other = ({"path": path} for path in ("/1", "/2", "/3"))
        call = OpenCall("ask_agent", forms=True)
        call.work = asyncio.ensure_future(asyncio.Event().wait())  # type: ignore[assignment]
        call.request, answer = SimpleNamespace(scope=first), asyncio.Future[ServerAnswer]()
        call.asked = _Asked(Form("May it?", {}), answer)
        calls._open[call.id] = call
        calls.end_request(first)
        params = types.CallToolRequestParams(name="ask_agent", request_state=call.id)
        context: Any = SimpleNamespace(request=SimpleNamespace(scope=second))
        assert calls._begun(context, params) is call and answer.done()
        calls.end_request(first)
        calls.end_request(other)
        assert not call.work.cancelling()
        calls.end_request(second)
        assert call.work.cancelling()
        await asyncio.wait([call.work])


async def test_m25_the_oldest_form_that_nobody_answers_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-25: its client has likely gone; the newest may still be read."""
    monkeypatch.setattr("studio.server.mcp.calls.MOST_CALLS", 3)
    async with studio(tmp_path, []) as (_, calls):
        works, old, new = (OpenCall("ask_agent", forms=True) for _ in range(3))
        for call in (works, old, new):
            call.work = asyncio.ensure_future(asyncio.Event().wait())  # type: ignore[assignment]
            calls._open[call.id] = call
        for call in (old, new):
            call.asked = _Asked(Form("May it?", {}), asyncio.Future())
        calls._make_room()
        assert [*calls._open.values()] == [works, new]
        assert [bool(one.work.cancelling()) for one in (works, old, new)] == [False, True, False]
        for call in (works, new):
            call.work.cancel()
        await asyncio.wait([one.work for one in (works, old, new)])


async def test_m25_calls_that_have_ended_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.server.mcp.calls.MOST_CALLS", 1)
    async with studio(tmp_path, []) as (_, calls), client(calls) as mine:
        for _ in range(2):
            assert not (await mine.call_tool("list_agents", {})).is_error


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_m25_a_form_whose_time_is_over_is_not_shown(tmp_path: Path, version: str) -> None:
    """M-25: a client that comes for it late is told what the call came to without it."""
    async with studio(tmp_path, []) as (_, calls):
        call, late = OpenCall("ask_agent", forms=True), asyncio.Future[ServerAnswer]()
        late.set_result(ServerAnswer("cancel"))
        call.work = asyncio.ensure_future(calls._tools.call("list_agents", {}, call.tell, None))
        await call.work
        call.news.put_nowait(_Asked(Form("May it?", {}), late))
        call.news.put_nowait(None)
        context: Any = SimpleNamespace(protocol_version=version)
        result = await calls._until_end(context, call)
        assert isinstance(result, types.CallToolResult) and "Coder" in words(result)


@pytest.mark.parametrize(
    "said",
    [
        types.ErrorData(code=-32000, message="No screen"),
        types.ElicitResult.model_construct(action="allow", content={"answer": "allow"}),
    ],
)
async def test_m25_a_form_that_is_answered_wrongly_is_no_yes(tmp_path: Path, said: Any) -> None:
    """M-25: what the client says does not fit the protocol, or is an error."""

    async def wrong(context: Any, params: Any) -> Any:
        return said

    async with studio(tmp_path, [TOUCH, Turn(Text("Done."))]) as (house, calls):
        async with client(calls, "legacy", elicitation_callback=wrong) as mine:
            result = await mine.call_tool("ask_agent", {"message": "Go"})
        assert words(result).startswith("Done.") and not (house.folder / "ran").exists()


@pytest.mark.parametrize("era", ERAS)
async def test_m25_a_client_without_forms_is_asked_nothing(tmp_path: Path, era: str) -> None:
    """M-25: what would be asked is denied, and the agent reads that nobody answers."""
    ask = Call("ask", {"question": "Which?"})
    script = [TOUCH, Turn(ask), Turn(Text("Done."))]
    async with studio(tmp_path, script) as (house, calls):
        async with client(calls, era) as mine:
            result = await mine.call_tool("ask_agent", {"message": "Go"})
        assert words(result).startswith("Done.") and not (house.folder / "ran").exists()
        assert NOBODY_ANSWERS in str(house.asked[-1].json["messages"][-1])


@pytest.mark.parametrize("chosen", [{}, {"answer2": "blue"}])
async def test_m25_the_questions_of_an_agent_are_answered_in_their_order(
    tmp_path: Path, chosen: dict[str, str]
) -> None:
    """M-25: one that is left out is empty; with none the agent reads that nobody answers."""
    items = [{"question": "Why?"}, {"question": "Which?", "choices": ["red", "blue"]}]

    async def person(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={**chosen})

    script = [Turn(Call("ask", {"questions": items})), Turn(Text("Done."))]
    async with studio(tmp_path, script) as (house, calls):
        async with client(calls, elicitation_callback=person) as mine:
            assert not (await mine.call_tool("ask_agent", {"message": "Go"})).is_error
        said = house.asked[-1].json["messages"][-1]["content"]
        blue = "Question: Which?\nAnswer: blue" in said
        assert (blue, NOBODY_ANSWERS in said) == (bool(chosen), not chosen)


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_m25_what_a_server_of_ours_asks_is_answered_at_the_client(
    tmp_path: Path, action: Any
) -> None:
    """M-25, M-19: by its name; an address is declined, as nobody here opens it."""
    form: Any = {
        "message": "Size?",
        "schema": {"type": "object", "properties": {"size": {"type": "integer"}}},
    }
    page: Any = {"message": "Pay", "url": "https://example.com"}
    asked: list[str] = []

    async def person(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        content: Any = {"size": 4} if action == "accept" else None
        return types.ElicitResult(action=action, content=content)

    shop = ListedServer(tmp_path)
    shop.offer({**tool("order"), "asks": form}, {**tool("pay"), "asks": page})
    script = [Turn(Call("shop__order", {})), Turn(Call("shop__pay", {})), Turn(Text("Done."))]
    async with studio(tmp_path, script, server_rules={"allow": ["shop__*"]}) as (house, calls):
        await switch_on(house.engine.services.servers, shop)
        async with client(calls, elicitation_callback=person) as mine:
            assert not (await mine.call_tool("ask_agent", {"message": "Go"})).is_error
        order, pay = (str(one.json["messages"][-1]) for one in house.asked[1:])
    assert asked == ["shop asks: Size?"]
    assert action in order and ('"size": 4' in order) == (action == "accept")
    assert "decline" in pay


@pytest.mark.parametrize("sizes", [("many", 4), ("many",)])
async def test_m19_what_does_not_fit_a_servers_form_is_asked_for_again(
    tmp_path: Path, sizes: tuple[Any, ...]
) -> None:
    """M-25, M-19: with what is wrong, three times at most; nothing else goes to the server."""
    form: Any = {
        "message": "Size?",
        "schema": {"type": "object", "properties": {"size": {"type": "integer"}}},
    }
    asked: list[str] = []

    async def person(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        size = sizes[min(len(asked), len(sizes)) - 1]
        return types.ElicitResult(action="accept", content={"size": size, "rest": "no"})

    shop = ListedServer(tmp_path)
    shop.offer({**tool("order"), "asks": form})
    script = [Turn(Call("shop__order", {})), Turn(Text("Done."))]
    async with studio(tmp_path, script, server_rules={"allow": ["shop__*"]}) as (house, calls):
        await switch_on(house.engine.services.servers, shop)
        async with client(calls, elicitation_callback=person) as mine:
            assert not (await mine.call_tool("ask_agent", {"message": "Go"})).is_error
        order = str(house.asked[1].json["messages"][-1])
    wrong = "shop asks: Size?\nsize is a whole number."
    assert asked == ["shop asks: Size?", *([wrong] if len(sizes) > 1 else [wrong] * 2)]
    assert ('"size": 4' in order) == (len(sizes) > 1) and "rest" not in order


async def test_m25_a_call_that_holds_a_secret_is_no_form(tmp_path: Path) -> None:
    """M-25: nobody allows what they do not see whole; it is denied without a window."""
    key = "sk-ant-api03-" + "a1B2" * 20
    asked: list[str] = []

    async def person(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return ALLOW

    script = [Turn(Call("run", {"command": f"touch ran; echo {key}"})), Turn(Text("Done."))]
    async with studio(tmp_path, script) as (house, calls):
        async with client(calls, elicitation_callback=person) as mine:
            result = await mine.call_tool("ask_agent", {"message": "Go"})
        assert words(result).startswith("Done.") and not (house.folder / "ran").exists()
    assert not asked


async def test_m25_the_client_is_asked_where_no_window_can_be_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with studio(tmp_path, [TOUCH, Turn(Text("Done."))]) as (house, calls):

        async def unreadable() -> bool:
            raise StorageError("The database cannot be read.")

        async def person(context: Any, params: Any) -> types.ElicitResult:
            return ALLOW

        monkeypatch.setattr(house.engine.questions, "has_window", unreadable)
        async with client(calls, elicitation_callback=person) as mine:
            assert not (await mine.call_tool("ask_agent", {"message": "Go"})).is_error
        assert (house.folder / "ran").exists()


def test_m25_an_answer_is_what_the_client_says() -> None:
    """M-25: what is no answer puts the question away, and a second one changes nothing."""
    loop = asyncio.new_event_loop()
    try:
        for action, content in (("accept", {"a": "b"}), ("decline", None), ("cancel", None)):
            asked = _Asked(Form("May it?", {}), loop.create_future())
            _answer(asked, types.ElicitResult(action=action, content=content))  # type: ignore[arg-type]
            _answer(asked, None)
            assert asked.answer.result() == ServerAnswer(action, content)  # type: ignore[arg-type]
        asked = _Asked(Form("May it?", {}), loop.create_future())
        _answer(asked, types.ErrorData(code=1, message="No"))
        assert asked.answer.result() == ServerAnswer("cancel")
    finally:
        loop.close()


async def test_m25_calls_end_when_the_studio_is_closed(tmp_path: Path) -> None:
    script = [HOLD, Turn(Text("Done."))]
    async with studio(tmp_path, script, server_rules={"allow": ["run"]}) as (_, calls):
        call = OpenCall("ask_agent", forms=False)
        asked: Any = {"message": "Go"}
        call.work = calls._tasks.start(calls._tools.call("ask_agent", asked, call.tell, None))
        assert await call.news.get()
        await calls.close()
        assert call.work.cancelled()


async def test_m25_there_is_no_other_tool(tmp_path: Path) -> None:
    async with studio(tmp_path, []) as (_, calls), client(calls) as mine:
        name = "x" * 200
        with pytest.raises(MCPError) as refused:
            await mine.call_tool(name, {})
        assert str(refused.value) == f"There is no tool {name[:100]}."
        assert refused.value.code == types.INVALID_PARAMS


@pytest.mark.parametrize(
    ("can", "forms"),
    [
        (None, False),
        (types.ClientCapabilities(), False),
        (types.ClientCapabilities(elicitation=types.ElicitationCapability()), True),
        (
            types.ClientCapabilities(
                elicitation=types.ElicitationCapability(form=types.FormElicitationCapability())
            ),
            True,
        ),
        (
            types.ClientCapabilities(
                elicitation=types.ElicitationCapability(url=types.UrlElicitationCapability())
            ),
            False,
        ),
        (
            types.ClientCapabilities(
                elicitation=types.ElicitationCapability(
                    form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
                )
            ),
            True,
        ),
    ],
)
def test_m25_a_client_that_opens_addresses_alone_is_given_no_form(
    can: types.ClientCapabilities | None, forms: bool
) -> None:
    """M-25: one that names no mode fills in forms, as the revision before 2025-11-25 has it."""
    context: Any = SimpleNamespace(session=SimpleNamespace(client_capabilities=can))
    assert _has_forms(context) is forms


async def test_m25_the_agents_and_workflows_are_listed_with_their_inputs(tmp_path: Path) -> None:
    """M-25: by name, without the agent that is a bare model and files with faults."""
    async with studio(tmp_path, []) as (house, calls), client(calls) as mine:
        place = house.folder / ".agents" / "workflows"
        place.mkdir(parents=True)
        (place / "greet.md").write_text(FLOW)
        (place / "broken.md").write_text("---\nname: [\n---\n")
        for name in ("Zeno", "Anna"):
            file = house.folder / ".agents" / "agents" / f"{name}.md"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"---\nname: {name}\ndescription: Prüft.\n---\nPrüfe.\n")
        result = await mine.call_tool("list_agents", {})
        found: Any = result.structured_content
        names = [one["name"] for one in found["agents"]]
        assert names == sorted(names) and {"Anna", "Coder", "Zeno"} <= {*names}
        assert "Plain" not in names and "Prüft." in words(result)
        assert all(one["description"] for one in found["agents"])
        flows = {one["name"]: one for one in found["workflows"]}
        assert [*flows] == sorted(flows) and "broken" not in flows
        inputs = [
            {"name": "whom", "type": "string", "description": "Who it is", "required": True},
            {
                "name": "how",
                "type": "enum",
                "description": "",
                "required": False,
                "default": "short",
                "choices": ["warm", "short"],
            },
        ]
        assert flows["greet"] == {
            "name": "greet",
            "title": "Greet",
            "description": "Greets.",
            "inputs": inputs,
        }
        assert '"Greets."' in words(result)


async def test_w8_a_workflow_with_mistakes_is_not_listed_and_says_them(tmp_path: Path) -> None:
    """M-25, W-8: of the same name the last one counts, though it cannot be run."""
    async with studio(tmp_path, []) as (house, calls), client(calls) as mine:
        own, here = house.engine.paths.workflows, house.folder / ".agents" / "workflows"
        for place in (own, here):
            place.mkdir(parents=True, exist_ok=True)
        (own / "greet.md").write_text(FLOW)
        (here / "greet.md").write_text(FLOW.replace("agent: Writer", "agnet: Writer"))
        found: Any = (await mine.call_tool("list_agents", {})).structured_content
        assert "greet" not in {one["name"] for one in found["workflows"]}
        inputs = {"whom": "Ada"}
        told = await mine.call_tool("run_workflow", {"workflow": "greet", "inputs": inputs})
        assert told.is_error and "agnet" in words(told)
        told = await mine.call_tool("run_workflow", {"workflow": "greets", "inputs": inputs})
        assert told.is_error and "There is no workflow “greets”. Known are " in words(told)
        assert "greet," not in words(told)


async def test_m25_a_run_asks_in_the_open_window_first(tmp_path: Path) -> None:
    """M-25: and waits there for its person; the client is asked nothing."""
    flow = FLOW.partition("steps:")[0] + 'steps:\n  - {id: sure, approve: "Send it?"}\n---\n'
    asked: list[str] = []

    async def person(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return ALLOW

    async with (
        studio(tmp_path, []) as (house, calls),
        client(calls, elicitation_callback=person) as mine,
    ):
        place = house.folder / ".agents" / "workflows"
        place.mkdir(parents=True)
        (place / "greet.md").write_text(flow)
        run = {"workflow": "greet", "inputs": {"whom": "Ada"}}
        assert not (await mine.call_tool("run_workflow", run)).is_error
        assert asked == ["Greet, sure\nSend it?"]
        await house.engine.questions.register()
        result = await mine.call_tool("run_workflow", run)
        assert result.is_error and "waits for the person" in words(result)
        found: Any = result.structured_content
        assert len(found["run"]) > 8 and f"workflow resume {found['run'][:8]}" in words(result)
        assert asked == ["Greet, sure\nSend it?"]


@pytest.mark.parametrize("kind", ["ask", "unsure", "conflict"])
async def test_m25_what_the_window_alone_shows_is_answered_by_nobody_else(kind: Any) -> None:
    """M-25: the run waits for its person; the client is not asked, and nothing is declined."""

    async def client_asked(form: Form) -> ServerAnswer:
        raise AssertionError(form)

    assert await _asking_run(client_asked)(RunQuestion("1", kind, "Which?")) is None


async def test_m25_an_answer_says_how_to_go_on_where_that_can_be_done(tmp_path: Path) -> None:
    """M-25: not without kept chats, nor after an error."""
    script = [Turn(Text("One.")), Turn(Text("Two.")), Turn(faults=[status(500)])]
    async with studio(tmp_path, script) as (house, calls), client(calls) as mine:
        values = house.engine.settings.values
        result = await mine.call_tool("ask_agent", {"message": "Go"})
        found: Any = result.structured_content
        assert found == {"answer": "One.", "chat": found["chat"], "end": "end"} and found["chat"]
        one, more = result.content
        assert (one.text, found["chat"] in more.text) == ("One.", True)  # type: ignore[union-attr]
        values.server_keep = False
        await house.engine.settings.save()
        result = await mine.call_tool("ask_agent", {"message": "Go"})
        assert words(result) == "Two."
        assert result.structured_content == {"answer": "Two.", "chat": "", "end": "end"}
        values.server_keep = True
        await house.engine.settings.save()
        result = await mine.call_tool("ask_agent", {"message": "Go"})
        assert result.is_error and "To go on" not in words(result) and words(result).strip()
        assert result.structured_content["end"] == "error"  # type: ignore[index]


async def test_m25_the_persons_usual_agent_answers(tmp_path: Path) -> None:
    """M-25: where the client names none; spaces around a name count for nothing."""
    script = [Turn(Text(".")) for _ in range(3)]
    async with (
        studio(tmp_path, script, default_agent="Writer") as (house, calls),
        client(calls) as mine,
    ):
        for asked in ({}, {"agent": " Coder "}, {"agent": "  "}):
            result = await mine.call_tool("ask_agent", {"message": " Go ", **asked})
            assert not result.is_error, result
        stored = await house.engine.sessions.list()
        assert sorted(one.agent for one in stored) == ["Coder", "Writer", "Writer"]
        assert all(" Go " in str(one.json["messages"][-1]) for one in house.asked)


async def test_m25_an_agent_that_is_not_listed_is_not_asked(tmp_path: Path) -> None:
    """M-25: such as the bare model, which is asked for as the person's usual agent alone."""
    script = [Turn(Text("One.")), Turn(Text("Two."))]
    async with (
        studio(tmp_path, script, default_agent="Plain") as (house, calls),
        client(calls) as mine,
    ):
        listed: Any = (await mine.call_tool("list_agents", {})).structured_content
        names = ", ".join(one["name"] for one in listed["agents"])
        for name in ("Plain", "plain", "Nobody"):
            refused = await mine.call_tool("ask_agent", {"message": "Go", "agent": name})
            assert refused.is_error
            assert words(refused) == f"There is no agent “{name}”. Known are {names}."
        result = await mine.call_tool("ask_agent", {"message": "Go", "agent": "wRiter"})
        assert words(result).startswith("One.")
        assert words(await mine.call_tool("ask_agent", {"message": "Go"})).startswith("Two.")
        stored = await house.engine.sessions.list()
        assert sorted(one.agent for one in stored) == ["Plain", "Writer"]


async def test_m25_a_strangers_agent_is_not_the_usual_one(tmp_path: Path) -> None:
    """M-25: one of a folder that nobody trusts is asked by its name alone."""
    script = [Turn(Text("One."))]
    async with (
        studio(tmp_path, script, default_agent="Scout") as (house, calls),
        client(calls) as mine,
    ):
        place = house.folder / ".agents" / "agents"
        place.mkdir(parents=True)
        (place / "scout.md").write_text("---\nname: Scout\ndescription: Scouts.\n---\nScout.\n")
        refused = await mine.call_tool("ask_agent", {"message": "Go"})
        assert refused.is_error and "you do not trust the folder" in words(refused)
        assert not house.asked
        result = await mine.call_tool("ask_agent", {"message": "Go", "agent": "Scout"})
        assert words(result).startswith("One.")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("list_agents", {"folder": "x"}, "“folder” is not known. Known are: none."),
        ("ask_agent", {"message": 3}, "“message” is a text."),
        ("ask_agent", {"message": " "}, "“message” is missing."),
        ("ask_agent", {"message": "x", "agent": "a\nb" + "c" * 200}, "no agent “a b"),
        ("run_workflow", {}, "“workflow” is missing."),
        ("run_workflow", {"workflow": "x", "a": 1, "b" * 200: 2}, "“a” is not known."),
    ],
)
async def test_m25_what_is_wrong_in_a_call_is_said(
    tmp_path: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with studio(tmp_path, []) as (_, calls), client(calls) as mine:
        result = await mine.call_tool(tool, arguments)
        assert result.is_error and said in words(result), result
        assert "c" * 120 not in words(result) and result.structured_content is None


async def test_m25_an_error_of_the_program_says_nothing_of_its_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with studio(tmp_path, []) as (house, calls), client(calls) as mine:

        async def broken() -> None:
            raise RuntimeError("no key sk-1 in /home/ada")

        monkeypatch.setattr(house.engine, "refresh_settings", broken)
        result = await mine.call_tool("list_agents", {})
        assert result.is_error and words(result) == INTERNAL


@pytest.mark.parametrize(
    ("stop", "failed"),
    [("end", False), ("length", False), ("refused", True), ("limit", True), ("error", True)],
)
def test_m25_an_answer_that_was_cut_off_is_an_error(stop: Any, failed: bool) -> None:
    """M-25: and says why, once."""
    for text, said in (
        ("So far", "So far\n\nToo long"),
        ("", "Too long"),
        ("Too long.", "Too long."),
    ):
        answer = _answer_of(text, Outcome(stop, detail="Too long"), "", {})
        assert (answer.is_error, answer.text) == (failed, said)
    assert _answer_of("All", Outcome(stop), "", {}).text == "All"


async def test_m25_an_answer_without_an_end_is_an_error_and_a_cancelled_one_is_stopped() -> None:
    stopped: list[bool] = []

    async def parts() -> AsyncGenerator[ResponsePart, None]:
        try:
            yield TextPart("So ")
            yield ProgressPart("Reading")
            yield TextPart("far")
        finally:
            stopped.append(True)

    told: list[str] = []
    text, end = await _told(parts(), told.append)
    assert (text, end.stop, end.detail, told) == ("So far", "error", INTERNAL, ["Reading"])

    def cancelled(line: str) -> None:
        raise asyncio.CancelledError

    stopped.clear()
    cut = parts()
    with pytest.raises(asyncio.CancelledError):
        await _told(cut, cancelled)
    assert stopped
