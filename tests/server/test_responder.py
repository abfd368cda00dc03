"""Who answers a request: the agent or model it names, in parts, stopped with its client (S-1)."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import struct
from contextlib import aclosing, closing
from io import BytesIO
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from studio.agent.prompts import LAST_STEP, NOBODY_ANSWERS
from studio.domain.blocks import ToolBlock, UserBlock
from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import Usage
from studio.domain.tools import ToolSpec
from studio.server.contract import ApiRequest, BadRequest, TextPart
from studio.server.dialects.chat import ChatDialect
from studio.server.responder import Responder
from studio.simulator import Call, RequestView, Said, Script, Think, Turn, stall, status
from studio.simulator import Text as Says
from studio.simulator import Usage as Counted
from support.engine_home import KEY, PROTOCOLS, EngineHome, engine_home, is_locked
from support.model_calls import reading
from support.responder_calls import (
    ALICE,
    Answer,
    RequestRecorder,
    answered,
    assistant,
    call_of,
    responder_of,
    sent,
    user,
)
from support.waiting import until

COMPATIBLE = "openai-compatible"
WEATHER = ToolSpec(
    "weather",
    "The weather in a town",
    {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    external=True,
)
SUM: dict[str, Any] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}


async def one(tmp_path: Path, script: Script, **asked: Any) -> Answer:
    """The answer of the agent “Coder” in a folder with one file."""
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        (home.folder / "a").write_text("found\n")
        await _uses(home)
        return await answered(responder_of(home), call_of(home, "Go", model="agent/Coder", **asked))


async def _uses(home: EngineHome) -> None:
    home.engine.settings.values.default_provider = home.provider
    home.engine.settings.values.default_model[home.provider] = "sim-model"


# Speed


def writes(database: Path) -> int:
    """Transactions in a database's log: the frames that commit."""
    log = database.with_name(f"{database.name}-wal").read_bytes()
    if not log:
        return 0
    (page,) = struct.unpack(">8xI", log[:12])
    frames = range(32, len(log), 24 + page)
    return sum(struct.unpack(">4xI", log[at : at + 8])[0] > 0 for at in frames)


@pytest.mark.parametrize(("model", "first", "all_of_it"), [("", 0, 1), ("agent/Coder", 1, 3)])
async def test_s3_an_answer_takes_few_writes(
    tmp_path: Path, model: str, first: int, all_of_it: int
) -> None:
    """An agent's are the new chat with what was said, ahead of its request, the answer with what
    it used, and its end. A bare model's is all of that in one, once the answer is there. Each is
    waited for, so each costs time. What went to the provider and came back is one more, for
    which nobody waits."""
    before: list[int] = []

    def reply(_: RequestView) -> Turn:
        before.append(writes(home.engine.paths.database))
        return Turn(Says("Yes."))

    async with engine_home(tmp_path, COMPATIBLE, reply) as home:
        await _uses(home)
        home.engine.settings.values.record_exchanges = False
        for _ in range(2):  # the first finds and notes more
            begun = writes(home.engine.paths.database)
            await answered(responder_of(home), call_of(home, "Go", model=model))
        assert before[-1] - begun == first
        assert writes(home.engine.paths.database) - begun == all_of_it
        chats = await home.engine.sessions.list()
        assert [chat.state for chat in chats] == ["done", "done"]
        epochs = [await home.engine.store.native(chat.id) for chat in chats]
        assert [len(epoch.items) for epoch in epochs if epoch] == [2, 2]


async def test_s3_a_slow_answers_request_is_on_disk_meanwhile(tmp_path: Path) -> None:
    """H-1: what a bare model was asked is stored with its chat before the answer has come."""
    async with engine_home(tmp_path, COMPATIBLE, [Turn(faults=[stall()])]) as home:
        task = asyncio.create_task(answered(responder_of(home), call_of(home, "Go")))
        with closing(sqlite3.connect(home.engine.paths.database)) as other:
            query = "SELECT body FROM native"
            await until(lambda: "Go" in str(other.execute(query).fetchall()))
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])


async def test_s3_recorded_exchanges_of_all_chats_are_one_write_that_nobody_waits_for(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, COMPATIBLE, lambda _: Turn(Says("Yes."))) as home:
        await _uses(home)
        store, database = home.engine.services.exchanges, home.engine.paths.database
        responder = responder_of(home)
        await answered(responder, call_of(home, "Go"))  # the first finds and notes more
        await store.settled()
        held = asyncio.Event()
        store.pause = held.wait
        begun = writes(database)
        try:
            for _ in range(3):
                await answered(responder, call_of(home, "Go"))
            meanwhile = writes(database) - begun
        finally:
            held.set()  # whatever failed: the engine's end waits for what was recorded
        await store.settled()
        assert (meanwhile, writes(database) - begun) == (3, 3 + 1)
        chats = await home.engine.sessions.list()
        kept = [await store.of(chat.id) for chat in chats]
        assert [[one.exchange.method for one in of] for of in kept] == [["POST"]] * 4


# S-2, S-1


@pytest.mark.parametrize("model", ["", "agent/Coder"])
@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_alice_is_known_by_her_name(tmp_path: Path, provider: str, model: str) -> None:
    """S-2: a conversation that began elsewhere reaches the provider whole, and so does
    one that goes on here; S-1: the agent's prompt once, the client's words after it."""
    ears = RequestRecorder(*[Turn(Says("You are Alice."))] * 3)
    async with engine_home(tmp_path, provider, ears) as home:
        await _uses(home)
        answering = responder_of(home)
        wishes = {"model": model, "instructions": "Be brief."}
        answer = await answered(answering, call_of(home, *ALICE, **wishes))
        assert answer.text == "You are Alice."
        assert answer.outcome.stop == "end" and answer.outcome.usage.total
        assert ears.heard() == [
            ("user", "MynameisAlice."),
            ("assistant", "HelloAlice."),
            ("user", "Whatismyname?"),
        ]
        first = await answered(answering, call_of(home, *ALICE[:1], **wishes))
        messages = (*ALICE[:1], first.message, *ALICE[2:])
        second = await answered(answering, call_of(home, *messages, **wishes))
        assert second.place.session_id == first.place.session_id
        assert ears.heard() == [
            ("user", "MynameisAlice."),
            ("assistant", "YouareAlice."),
            ("user", "Whatismyname?"),
        ]
        for view in ears.views:
            body = json.dumps(view.body)
            assert body.count("Be brief.") == view.system.count("Be brief.") == 1
            own = view.system.count("careful software engineer")
            assert own == bool(model)
            if model:
                assert view.system.index("careful") < view.system.index("Be brief.")


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_everything_that_was_told_arrives(tmp_path: Path, provider: str) -> None:
    """S-1: pictures, files, calls and their results, in order."""
    picture = Image("image/png", _png())
    messages = (
        user("Look at this", picture, File("a.txt", "text/plain", b"inside the file")),
        assistant("I look it up.", ToolCall("c1", "weather", {"town": "Ulm"})),
        user(ToolResult("c1", "weather", (Text("It rains."),))),
        assistant("Rain."),
        user("And the picture?"),
    )
    async with engine_home(tmp_path, provider, [Turn(Says("Red."))]) as home:
        answer = await answered(responder_of(home), call_of(home, *messages, tools=(WEATHER,)))
        assert answer.text == "Red."
        body = sent(home)
        said = [text for message in messages for text in _texts(message)]
        places = [body.index(text) for text in said]
        assert places == sorted(places)
        assert base64.b64encode(picture.data).decode() in body
        inside = b"inside the file"
        assert inside.decode() in body or base64.b64encode(inside).decode() in body


def _texts(message: Message) -> list[str]:
    blocks = [block for block in message.blocks if isinstance(block, Text | ToolResult)]
    return [block.text for block in blocks]


def _png() -> bytes:
    into = BytesIO()
    PIL.Image.new("RGB", (4, 4), "red").save(into, "PNG")
    return into.getvalue()


# Names


@pytest.mark.parametrize("name", ["agent/Coder", "agent/coder", "Coder", "AGENT/coder"])
async def test_an_agent_answers_by_its_name(tmp_path: Path, name: str) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [Turn(Says("Hi."))]) as home:
        await _uses(home)
        answer = await answered(responder_of(home), call_of(home, "Go", model=name))
        info = await home.engine.store.get(answer.place.session_id)
        assert info is not None and info.agent == "Coder" and not info.model_chosen


async def test_a_model_is_known_by_its_id_alone(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "openai", [Turn(Says("Hi."))] * 2) as home:
        await home.engine.look_for_providers()
        known = home.engine.catalogue.listing("openai").models[0].id
        answer = await answered(responder_of(home), call_of(home, "Go", model=known))
        info = await home.engine.store.get(answer.place.session_id)
        assert info is not None
        assert (info.agent, info.provider, info.model) == ("Plain", "openai", known)
        assert info.model_chosen
        home.engine.settings.values.own_models["openai"] = ["mine/own"]
        answer = await answered(responder_of(home), call_of(home, "Go", model="mine/own"))
        info = await home.engine.store.get(answer.place.session_id)
        assert info is not None and info.model == "mine/own"


@pytest.mark.parametrize(
    "name", ["nobody", "agent/nobody", "agent/", "", "openai-compatible/", "/"]
)
async def test_a_name_that_nobody_has(tmp_path: Path, name: str) -> None:
    async with engine_home(tmp_path, COMPATIBLE, []) as home:
        with pytest.raises(BadRequest, match="GET /v1/models") as caught:
            await answered(responder_of(home), ApiRequest(name, (user("Go"),)))
        assert (caught.value.status, caught.value.code) == (404, "model_not_found")
        assert not await home.engine.sessions.list()


# Parts


async def test_the_words_of_later_steps_are_set_off(tmp_path: Path) -> None:
    script = [
        Turn(Think("Where?"), Says("I look.\n"), Call("read", {"path": "a"})),
        Turn(Call("read", {"path": "b"})),
        Turn(Think("There."), Says("\n\nIt says found.")),
    ]
    answer = await one(tmp_path, script)
    assert answer.text == "I look.\n\nIt says found."
    assert answer.progress == []
    assert answer.outcome.stop == "end"


async def test_what_tools_do_is_told_where_the_person_wants_it(tmp_path: Path) -> None:
    async with engine_home(
        tmp_path, COMPATIBLE, [Turn(Call("read", {"path": "a"})), Turn(Says("Done."))]
    ) as home:
        (home.folder / "a").write_text("found\n")
        await _uses(home)
        home.engine.settings.values.server_steps = True
        answer = await answered(responder_of(home), call_of(home, "Go", model="agent/Coder"))
        assert answer.progress == ["Reading a"]
        assert answer.text == "Done."


async def test_what_the_model_thinks_is_apart(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", [Turn(Think("Hm."), Says("Yes."))]) as home:
        answer = await answered(responder_of(home), call_of(home, "Go"))
        assert (answer.thoughts, answer.text) == ("Hm.", "Yes.")


async def test_a_step_that_is_told_shows_no_secret(tmp_path: Path) -> None:
    """S-4: a client may be somebody else, and keeps what it is told."""
    secret = "sk-ant-api03-" + "Ab3dE9gH" * 8
    script = [Turn(Call("read", {"path": f"{secret}.txt"})), Turn(Says("Done."))]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        await _uses(home)
        home.engine.settings.values.server_steps = True
        answer = await answered(responder_of(home), call_of(home, "Go", model="agent/Coder"))
        (told,) = answer.progress
        assert told.startswith("Reading ") and secret not in told


async def test_words_between_calls_are_left_out_where_the_person_wants_that(
    tmp_path: Path,
) -> None:
    script = [Turn(Says("I look."), Call("read", {"path": "a"})), Turn(Says("It is 3."))] * 2
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        (home.folder / "a").write_text("found\n")
        await _uses(home)
        asked = call_of(home, "Go", model="agent/Coder")
        assert (await answered(responder_of(home), asked)).text == "I look.\n\nIt is 3."
        home.engine.settings.values.server_words = False
        answer = await answered(responder_of(home), asked)
        assert (answer.text, answer.outcome.stop) == ("It is 3.", "end")


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_c30_a_conversation_of_tau2(tmp_path: Path, provider: str) -> None:
    """C-30: as its LiteLLM sends it: the agent speaks first, there is ``null`` for what is not
    there, calls have their name twice, and all calls are answered there."""
    script = [Turn(Call("weather", {"town": "Ulm"})), Turn(Says("It rains."))]
    tool = {"type": "function", "function": {"name": "weather", "parameters": WEATHER.schema}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "<policy>Tell the weather.</policy>"},
        {"role": "assistant", "content": "Hi! How can I help you today?", "tool_calls": None},
        {"role": "user", "content": "What is it like in Ulm?"},
    ]
    async with engine_home(tmp_path, provider, script) as home:
        await _uses(home)
        answering = responder_of(home)

        async def ask() -> Answer:
            body = {"model": f"{provider}/sim-model", "messages": messages, "tools": [tool]}
            request = ChatDialect().read_request({**body, "temperature": 0.0, "seed": 300})
            return await answered(answering, request)

        first = await ask()
        assert (first.outcome.stop, [call.name for call in first.calls]) == ("calls", ["weather"])
        (call,) = first.calls
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        made = {"id": call.id, "name": call.name, "function": function, "type": "function"}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "content": "rain", "tool_call_id": call.id},
        ]
        last = await ask()
        assert (last.outcome.stop, last.text) == ("end", "It rains.")
        assert len(home.asked) == 2 and "How can I help you today?" in str(home.asked[0].json)
        assert "<policy>" in str(home.asked[1].json) and not home.simulator.violations


async def test_a_call_that_was_required_and_not_made_is_an_error(tmp_path: Path) -> None:
    """Ollama has no word for it."""
    call = Turn(Call("weather", {"town": "Ulm"}))
    async with engine_home(tmp_path, "ollama", [Turn(Says("No.")), call]) as home:
        wishes: Any = {"tools": (WEATHER,), "choice": "required"}
        asked = call_of(home, "Go", **wishes, seed=7, frequency_penalty=0.5, presence_penalty=-1.0)
        answer = await answered(responder_of(home), asked)
        assert (answer.outcome.stop, answer.outcome.code) == ("error", "no_tool_call")
        options: Any = home.asked[0].json["options"]
        assert (options["seed"], options["frequency_penalty"]) == (7, 0.5)
        assert options["presence_penalty"] == -1.0
        answer = await answered(responder_of(home), call_of(home, "On", **wishes))
        assert (answer.outcome.stop, len(answer.calls)) == ("calls", 1)


async def test_tokens_of_all_steps_are_counted(tmp_path: Path) -> None:
    usage = Counted(inp=100, cache_read=40, out=20, reasoning=5)
    script = [
        Turn(Call("read", {"path": "a"}), usage=usage),
        Turn(Says("Done."), usage=usage),
    ]
    answer = await one(tmp_path, script)
    assert answer.outcome.usage == Usage(input=200, cache_read=80, output=40, reasoning=10)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_calls_of_the_clients_tools_are_handed_back(tmp_path: Path, provider: str) -> None:
    """S-1: the agent's own tools run here, the client's there."""
    script = [
        Turn(Says("Let me see."), Call("weather", {"town": "Ulm"}), Call("read", {"path": "a"})),
        Turn(Says("Rain.")),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a").write_text("found here\n")
        await _uses(home)
        answering = responder_of(home)
        asked = call_of(home, "Go", model="agent/Coder", tools=(WEATHER,))
        first = await answered(answering, asked)
        assert first.outcome.stop == "calls"
        assert [(c.name, c.arguments) for c in first.calls] == [("weather", {"town": "Ulm"})]
        result = ToolResult(first.calls[0].id, "", (Text("It rains."),))
        messages = (user("Go"), first.message, user(result))
        asked = call_of(home, *messages, model="agent/Coder", tools=(WEATHER,))
        second = await answered(answering, asked)
        assert second.text == "Rain." and second.outcome.stop == "end"
        assert second.place.session_id == first.place.session_id
        assert "It rains." in sent(home) and "found here" in sent(home)


async def test_a_result_without_a_call_is_refused(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, []) as home:
        lost = user(ToolResult("c9", "", (Text("?"),)))
        words = {
            "chat": "messages with role 'tool' must be a response to a preceeding message",
            "responses": "No tool call found for function call output with call_id c9.",
            "messages": "messages.0.content.0: unexpected `tool_use_id` found in `tool_result`",
        }
        for door, text in words.items():
            with pytest.raises(BadRequest, match="c9") as caught:
                await answered(responder_of(home), call_of(home, lost, "Go"), door)  # type: ignore[arg-type]
            assert text in str(caught.value) and caught.value.status == 400
        assert not await home.engine.sessions.list()


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_calls_without_results_are_closed(tmp_path: Path, provider: str) -> None:
    """H-5: no provider refuses what a client left open."""
    messages = (user("Go"), assistant(ToolCall("c1", "weather", {"town": "Ulm"})), user("So?"))
    async with engine_home(tmp_path, provider, [Turn(Says("I do not know."))]) as home:
        answer = await answered(responder_of(home), call_of(home, *messages, tools=(WEATHER,)))
        assert answer.outcome.stop == "end"


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_conversation_that_ends_with_the_assistant(tmp_path: Path, provider: str) -> None:
    messages = (user("Write a line."), assistant("Roses are"))
    async with engine_home(tmp_path, provider, [Turn(Says("red."))]) as home:
        answer = await answered(responder_of(home), call_of(home, *messages))
        assert answer.text == "red."
        assert sent(home).index("Write a line.") < sent(home).index("Roses are")


async def test_nothing_is_no_request(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, []) as home:
        for messages in ((), (user("  "),), (user(),)):
            with pytest.raises(BadRequest, match="nothing to answer"):
                await answered(responder_of(home), call_of(home, *messages))
        assert not await home.engine.sessions.list()


async def test_a_picture_for_a_model_that_has_no_eyes(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, []) as home:
        home.engine.settings.values.models["openai-compatible/sim-model"] = {"images": False}
        with pytest.raises(BadRequest, match="picture"):
            await answered(responder_of(home), call_of(home, user(Image("image/png", _png()))))


async def test_a_picture_is_sent_as_those_of_the_window(tmp_path: Path) -> None:
    """What providers take, in size and kind; what is none is said before anything is begun."""
    into = BytesIO()
    PIL.Image.new("RGB", (4_000, 8), "red").save(into, "BMP")
    huge = Image("image/png", into.getvalue())
    result = ToolResult("c1", "weather", (huge,))
    messages = (user("Look", huge), assistant(ToolCall("c1", "weather", {})), user(result))
    async with engine_home(tmp_path, "anthropic", [Turn(Says("Red."))] * 2) as home:
        known = (user("Look", huge), assistant("Yes."), user("And this?", huge))
        for conversation in (messages, known):
            call = call_of(home, *conversation, tools=(WEATHER,))
            assert (await answered(responder_of(home), call)).text == "Red."
            body = sent(home)
            assert base64.b64encode(huge.data).decode()[:200] not in body
            assert body.count('"image/png"') == 2 and not home.simulator.violations
        with pytest.raises(BadRequest, match="no picture that can be opened"):
            await answered(responder_of(home), call_of(home, user(Image("image/png", b"no"))))
        assert len(await home.engine.sessions.list()) == 2


# Ends


async def test_a_schema_leaves_nothing_but_the_answer(tmp_path: Path) -> None:
    script = [
        Turn(Says("I look it up."), Call("read", {"path": "a"})),
        Turn(Says("The sum is 3.")),
        Turn(Says('```json\n{"sum": 3}\n```')),
    ]
    answer = await one(tmp_path, script, schema=SUM)
    assert json.loads(answer.text) == {"sum": 3}
    assert answer.outcome.stop == "end"


async def test_an_answer_that_never_fits_is_an_error(tmp_path: Path) -> None:
    answer = await one(tmp_path, [Turn(Says("no"))] * 3, schema={})
    assert (answer.outcome.stop, answer.outcome.status) == ("error", 502)
    assert "schema" in answer.outcome.detail


async def test_a_bare_model_is_asked_once_and_told_as_it_speaks(tmp_path: Path) -> None:
    """The provider holds it to the schema; what does not fit is the client's to judge."""
    script = [
        Turn(Says('{"sum": '), Says("3}")),
        Turn(Says("It is 3.")),
        Turn(Says('```json\n{"sum": 3}\n```')),
    ]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        texts: list[list[str]] = []
        for _ in script:
            answer = await answered(responder_of(home), call_of(home, "Go", schema=SUM))
            assert answer.outcome.stop == "end"
            texts.append([part.text for part in answer.parts if isinstance(part, TextPart)])
        assert ["".join(one) for one in texts] == ['{"sum": 3}', "It is 3.", '{"sum": 3}']
        assert len(texts[0]) > 1, "it is streamed"
        assert len(home.asked) == len(script)
        form: Any = home.asked[0].json["response_format"]
        assert form["json_schema"]["schema"] == SUM


async def test_the_models_limit_is_a_length(tmp_path: Path) -> None:
    answer = await one(tmp_path, [Turn(Says("Once upon"), stop="max_tokens")])
    assert (answer.outcome.stop, answer.text) == ("length", "Once upon")


async def test_a_refusal_is_told(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", [Turn(Says("I"), stop="refusal")]) as home:
        answer = await answered(responder_of(home), call_of(home, "Go"))
        assert answer.outcome.stop == "refused" and answer.outcome.detail


async def test_our_own_limits_are_said_in_the_answer(tmp_path: Path) -> None:
    """L-1, L-14: steps and money end an answer with a sentence, not with an error."""
    async with engine_home(
        tmp_path, COMPATIBLE, [Turn(Says("Look."), Call("list", {"path": "."}))] * 2
    ) as home:
        await _uses(home)
        home.engine.settings.values.long_steps = 1
        answer = await answered(responder_of(home), call_of(home, "Go", model="agent/Coder"))
        assert answer.outcome.stop == "limit"
        assert answer.text == "Look.\n\nThe agent used the one step of this turn."
        home.engine.settings.values.day_tokens = 1
        answer = await answered(responder_of(home), call_of(home, "Go"))
        assert answer.outcome.stop == "limit" and answer.text


async def test_l14_an_hour_without_requests_left_is_a_429(tmp_path: Path) -> None:
    """Or a limit, where the answer has begun."""
    look = Turn(Says("Look."), Call("list", {"path": "."}))
    async with engine_home(tmp_path, COMPATIBLE, [look] * 2) as home:
        await _uses(home)
        home.engine.settings.values.requests_per_hour = 1
        answer = await answered(responder_of(home), call_of(home, "Go", model="agent/Coder"))
        assert answer.outcome.stop == "limit" and answer.text.startswith("Look.\n\nYour limit of")
        answer = await answered(responder_of(home), call_of(home, "Go"))
        told = answer.outcome
        assert (told.stop, told.status, told.code) == ("error", 429, "rate_limit_exceeded")
        assert "1 request an hour" in told.detail and told.retry_after and not answer.text


@pytest.mark.parametrize(
    ("code", "told"), [(401, 502), (429, 429), (500, 502), (503, 503), (404, 404)]
)
async def test_a_fault_has_its_status(tmp_path: Path, code: int, told: int) -> None:
    """L-12: what is wrong with the person's key is nothing that a client's token could mend."""
    async with engine_home(tmp_path, COMPATIBLE, [Turn(faults=[status(code)])]) as home:
        answer = await answered(responder_of(home), call_of(home, "Go"))
        assert (answer.outcome.stop, answer.outcome.status) == ("error", told)
        assert answer.outcome.code and KEY not in answer.outcome.detail


async def test_a_missing_key_is_an_error_of_the_set_up(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, []) as home:
        answer = await answered(
            responder_of(home), call_of(home, "Go", model="anthropic/claude-sonnet-4-5")
        )
        assert answer.outcome.status == 502 and "key" in answer.outcome.detail


async def test_the_agents_question_finds_nobody(tmp_path: Path) -> None:
    script = [Turn(Call("ask", {"question": "Which one?"})), Turn(Says("Then the first."))]
    answer = await one(tmp_path, script)
    assert answer.text == "Then the first."


async def test_c1_a_question_ahead_of_a_limit_finds_nobody(tmp_path: Path) -> None:
    """C-1: the answer ends at the limit, and the model is told to come to an end there."""
    async with engine_home(tmp_path, COMPATIBLE, reading(5, tmp_path / "work")) as home:
        await _uses(home)
        home.engine.settings.values.long_steps = 4
        answer = await answered(responder_of(home), call_of(home, "Go", model="agent/Coder"))
        assert answer.outcome.stop == "limit" and "all 4 steps" in answer.text
        session = await home.engine.sessions.open(answer.place.session_id)
        (asked,) = [b for b in session.transcript.blocks if isinstance(b, ToolBlock) and b.asks]
        assert (asked.state, asked.reply) == ("done", NOBODY_ANSWERS)
        assert LAST_STEP in str(home.asked[-1].json) and len(home.asked) == 4


async def test_only_reading_clients_are_not_asked_for_the_webs_search(tmp_path: Path) -> None:
    """A search of the provider's own sends out what nobody here could refuse."""
    async with engine_home(tmp_path, "openai", [Turn(Says("Hi."))]) as home:
        await _uses(home)
        home.engine.settings.values.web_search = "provider"
        await answered(responder_of(home), call_of(home, "Go", model="agent/Researcher"))
        tools = home.asked[0].json["tools"]
        assert all(tool["type"] == "function" for tool in tools)


# Stopping


async def test_a_client_that_goes_stops_all(tmp_path: Path) -> None:
    """S-3, L-11: the turn and the processes it started."""
    lock = tmp_path / "lock"
    hold = f"exec 9>'{lock}'; flock 9; sleep 3600"
    async with engine_home(
        tmp_path, COMPATIBLE, [Turn(Says("Wait."), Call("run", {"command": hold}))]
    ) as home:
        await _uses(home)
        home.engine.settings.values.sandbox = False
        home.engine.settings.values.server_rules = {"allow": ["run"]}
        answering = responder_of(home)
        async with aclosing(
            answering.answer(call_of(home, "Go", model="agent/Coder"), "chat", lambda _: None)
        ) as parts:
            assert await anext(parts) == TextPart("Wait.")
            rest = asyncio.ensure_future(anext(parts))
            while not (lock.exists() and is_locked(lock)):  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.01)
            rest.cancel()
            await asyncio.wait([rest])
        await until(lambda: not is_locked(lock))  # killed, and not gone yet on a busy computer
        (info,) = await home.engine.sessions.list()
        assert info.state == "cancelled"


async def test_a_client_that_goes_before_the_answer(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [Turn(faults=[stall()])]) as home:
        answering = responder_of(home)
        task = asyncio.create_task(answered(answering, call_of(home, "Go")))
        while not home.asked:  # noqa: ASYNC110 (of the simulator)
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        (info,) = await home.engine.sessions.list()
        assert info.state == "cancelled"
        assert await _free(home, answering)


async def _free(home: EngineHome, answering: Responder) -> bool:
    """Nothing is held on to any more."""
    sessions, kept = home.engine.sessions, home.engine.paths.cache / "outputs"
    return not (sessions._open or answering.lookup._holds or kept.exists())


# Sessions


async def test_requests_are_chats_that_the_person_can_look_at(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [Turn(Says("Hi."))] * 2) as home:
        answering = responder_of(home)
        await answered(answering, call_of(home, *ALICE))
        (info,) = await home.engine.sessions.list()
        assert (info.origin, info.title) == ("server", "My name is Alice.")
        session = await home.engine.sessions.open(info.id)
        said = [block.text for block in session.transcript.blocks if isinstance(block, UserBlock)]
        assert said == ["My name is Alice.", "What is my name?"]
        await home.engine.sessions.put_away(info.id)
        assert await _free(home, answering)


async def test_nothing_is_kept_where_the_person_wants_nothing_kept(tmp_path: Path) -> None:
    script = [Turn(Says("Hi.")), Turn(faults=[status(500)]), Turn(Says("Hi."))]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        home.engine.settings.values.server_keep = False
        answering = responder_of(home)
        first = await answered(answering, call_of(home, "Go"))
        assert not await home.engine.sessions.list()
        await answered(answering, call_of(home, "Go"))
        assert not await home.engine.sessions.list()
        with pytest.raises(BadRequest, match="Answers are not kept"):
            await answered(answering, call_of(home, "On", previous=first.place.number))
        second = await answered(answering, call_of(home, "Go", first.message, "On"))
        assert second.text == "Hi."
        assert not await home.engine.sessions.list()
        assert await _free(home, answering)


async def test_many_clients_at_once_do_not_mix(tmp_path: Path) -> None:
    """S-3: twenty conversations side by side, each with words of its own."""

    def echo(view: RequestView) -> Turn:
        words = [item.text for item in view.items if isinstance(item, Said)]
        return Turn(Says(f"You said {words[-1]}."))

    async with engine_home(tmp_path, COMPATIBLE, echo) as home:
        answering = responder_of(home)

        async def talk(number: int) -> str:
            messages: list[Message] = []
            session = ""
            for round_ in range(3):
                word = f"word{number}x{round_}"
                messages.append(user(word))
                answer = await answered(answering, call_of(home, *messages))
                assert answer.text == f"You said {word}."
                assert session in ("", answer.place.session_id)
                session = answer.place.session_id
                messages.append(answer.message)
            return session

        sessions = await asyncio.gather(*(talk(number) for number in range(20)))
        assert len(set(sessions)) == 20
        for number, session_id in enumerate(sessions):
            events = repr(await home.engine.store.events(session_id))
            for other in range(20):
                assert (f"word{other}x" in events) == (other == number)


async def test_memory_does_not_grow_with_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.agent.turn_budgets.MOST_SESSIONS", 3)
    async with engine_home(tmp_path, COMPATIBLE, [Turn(Says("Hi."))] * 6) as home:
        answering = responder_of(home)
        for _ in range(6):
            await answered(answering, call_of(home, "Go"))
        assert await _free(home, answering)
        assert len(home.engine.budgets._sessions) == 3
        assert not home.engine.store._journals
        assert not any(followed for followed, _ in home.engine.sessions.events._subscribers)
