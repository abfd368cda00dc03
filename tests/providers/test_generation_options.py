"""How an answer is to be made, on each protocol: sampling, stop texts, tool choice, schemas."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.events import CallStarted, ReasoningDelta, TextDelta, TurnComplete
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text
from studio.domain.models import Generation, ModelInfo
from studio.domain.tools import ToolSpec
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.anthropic.adapter import body_of as anthropic_body
from studio.providers.base import Provider, Reply, Request
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.gemini.adapter import body_of as gemini_body
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider, tool_choice
from studio.providers.stop_sequences import StopTextCutter
from studio.providers.structured_output import (
    closed_schema,
    is_strict,
    response_format,
    text_format,
)
from studio.simulator import ApiName, Call, Pace, Raw, Simulator, Think, Turn, every
from studio.simulator import Text as Say
from support.engine_home import PROTOCOLS, engine_home
from support.provider_calls import NOW, READ, answer, drain, request, result, words
from support.waiting import HANG

MAKERS: dict[ApiName, Callable[[Simulator, Http], Provider]] = {
    "anthropic": lambda sim, http: AnthropicProvider("k", sim.url("anthropic"), http),
    "responses": lambda sim, http: OpenAIProvider("k", sim.url("responses"), http),
    "chat": lambda sim, http: CompatibleProvider("k", sim.url("chat"), http),
    "gemini": lambda sim, http: GeminiProvider("k", sim.url("gemini"), http),
    "ollama": lambda sim, http: OllamaProvider("", sim.url("ollama"), http),
}
ALL = list(MAKERS)
PERSON: JsonObject = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
SEARCH = ToolSpec("web_search", "", {"type": "object", "properties": {}}, hosted=True)


async def sent(api: ApiName, http: Http, *, text: str = "Hi.", **wish: Any) -> Any:
    """The body of a request that the strict simulator took."""
    wish = {"model": "sim-model", **wish}
    async with Simulator([Turn(Say("Fine."))], strict="beyond") as sim:
        one = MAKERS[api](sim, http)
        reply = await answer(one, one.user_items([Text(text)]), **wish)
        assert reply.stop == "end" and not sim.violations
        return sim.requests[-1].json


def at(body: Any, path: str) -> Any:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


PLACES: dict[ApiName, dict[str, str]] = {
    "anthropic": {
        "stop": "stop_sequences",
        "choice": "tool_choice",
        "schema": "output_config.format.schema",
        "top_p": "top_p",
        "temperature": "temperature",
    },
    "responses": {
        "output_limit": "max_output_tokens",
        "stop": "stop",
        "choice": "tool_choice",
        "schema": "text.format.schema",
        "top_p": "top_p",
        "temperature": "temperature",
    },
    "chat": {
        "output_limit": "max_tokens",
        "stop": "stop",
        "choice": "tool_choice",
        "schema": "response_format.json_schema.schema",
        "top_p": "top_p",
        "temperature": "temperature",
    },
    "gemini": {
        "output_limit": "generationConfig.maxOutputTokens",
        "stop": "generationConfig.stopSequences",
        "choice": "toolConfig.functionCallingConfig",
        "schema": "generationConfig.responseJsonSchema",
        "top_p": "generationConfig.topP",
        "temperature": "generationConfig.temperature",
    },
    "ollama": {
        "output_limit": "options.num_predict",
        "stop": "options.stop",
        "choice": "tool_choice",
        "schema": "format",
        "top_p": "options.top_p",
        "temperature": "options.temperature",
    },
}


@pytest.mark.parametrize("api", ALL)
async def test_s1_what_nobody_asks_for_is_not_sent(http: Http, api: ApiName) -> None:
    body = await sent(api, http)
    for place in PLACES[api].values():
        assert at(body, place) is None, place
    for name in ("output_config", "text", "response_format", "toolConfig", "format"):
        assert name not in body


@pytest.mark.parametrize("api", ALL)
async def test_s1_each_wish_has_its_place(http: Http, api: ApiName) -> None:
    wish: dict[str, Any] = {"stop": ("END", "\n\nPerson:"), "tools": (), "schema": PERSON}
    if api != "anthropic":  # its version of today takes no sampling at all
        wish |= {"top_p": 0.5, "temperature": 0.25}
    body = await sent(api, http, output_limit=99, **wish)
    places = {"output_limit": "max_tokens", **PLACES[api]}
    assert at(body, places["output_limit"]) == 99
    expected = None if api == "responses" else list(wish["stop"])
    assert at(body, places["stop"]) == expected
    assert at(body, places["schema"]) == PERSON
    for name in ("top_p", "temperature"):
        assert at(body, places[name]) == wish.get(name)
    assert at(body, places["choice"]) is None  # there is nothing to choose from


async def test_s1_a_limit_smaller_than_responses_takes_is_its_least(http: Http) -> None:
    """Many clients ask for one token to see whether a key is good."""
    body = await sent("responses", http, output_limit=1)
    assert body["max_output_tokens"] == 16


def test_sampling_is_left_to_models_that_refuse_it() -> None:
    free, fixed = ModelInfo("m", sampling=True), ModelInfo("m", sampling=False)
    assert anthropic_body(request([], facts=free, top_p=0.5))["top_p"] == 0.5
    both = anthropic_body(request([], facts=free, top_p=0.5, temperature=0.1))
    assert "top_p" not in both and both["temperature"] == 0.1  # one of the two, many models say
    assert "top_p" not in anthropic_body(request([], facts=fixed, top_p=0.5))
    config = cast("Any", gemini_body(request([], facts=fixed, top_p=0.5)))
    assert "generationConfig" not in config


async def test_sampling_is_left_to_models_that_think(http: Http) -> None:
    body = await sent("responses", http, model="gpt-5.6", top_p=0.5, temperature=0.1)
    assert "top_p" not in body and "temperature" not in body
    body = await sent("ollama", http, facts=ModelInfo("m", sampling=False), top_p=0.5)
    assert "top_p" not in body["options"]


# Stop texts


@pytest.mark.parametrize("chunks", ["event", every(1)])
@pytest.mark.parametrize("api", ALL)
async def test_s1_an_answer_ends_before_a_stop_text(http: Http, api: ApiName, chunks: Any) -> None:
    script = [Turn(Think("Hm."), Say("One two E\nEND three four")), Turn(Say("Go on. E N"))]
    async with Simulator(script, strict="beyond", chunking=chunks) as sim:
        one = MAKERS[api](sim, http)
        history = one.user_items([Text("Hi.")])
        wish: dict[str, Any] = {"model": "sim-model", "stop": ("END", "three")}
        stream = one.stream(request(history, **wish))
        deltas = await drain(stream)
        reply = stream.reply()
        assert (words(deltas), reply.stop, reply.calls) == ("One two E\n", "end", [])
        assert any(isinstance(delta, ReasoningDelta) for delta in deltas)
        # The history is what the provider sent, and it is taken back.
        whole = json.dumps(reply.items)
        assert ("three four" in whole) == (api == "responses")
        history += [*reply.items, *one.user_items([Text("And?")])]
        stream = one.stream(request(history, **wish))
        assert words(await drain(stream)) == "Go on. E N"
        assert stream.reply().stop == "end" and not sim.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_s1_a_turn_says_what_came_before_a_stop_text(tmp_path: Path, provider: str) -> None:
    script = [Turn(Say("One END two")), Turn(Say("Three."))]
    async with engine_home(tmp_path, provider, script, strict="beyond") as home:
        session = await home.session("Plain")
        for expected in ("One ", "Three."):
            wish = Generation(stop=("END",), output_limit=500)
            events = [one.event async for one in session.turn([Text("Hi.")], generation=wish)]
            assert words([event for event in events if isinstance(event, TextDelta)]) == expected
            assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert not home.simulator.violations


NUMBERS = tuple(f"<{number}>" for number in range(9))


@pytest.mark.parametrize("api", ["anthropic", "chat", "gemini"])
async def test_stop_texts_that_the_api_does_not_take_are_found_here(
    http: Http, api: ApiName
) -> None:
    stops = ("\n\n", " ") if api == "anthropic" else NUMBERS
    said = "one\n\ntwo" if api == "anthropic" else "one<8>two"
    async with Simulator([Turn(Say(said))], strict="beyond") as sim:
        one = MAKERS[api](sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), model="sim-model", stop=stops))
        assert words(await drain(stream)) == "one"
        given = at(sim.requests[-1].json, PLACES[api]["stop"]) or []
        assert len(given) == {"anthropic": 0, "chat": 4, "gemini": 5}[api]
        assert "two" in json.dumps(stream.reply().items)


async def test_a_server_that_does_not_stop_is_cut_off(http: Http) -> None:
    """Compatible servers take fields they do not know, or refuse them."""
    refusal = {"error": {"message": "Unsupported parameter: 'stop'", "type": "invalid_request"}}
    refuses = Raw("chat", json.dumps(refusal).encode(), "application/json", 400)
    heedless = [{"choices": [{"index": 0, "delta": {"content": "one E"}}]}]
    heedless.append({"choices": [{"index": 0, "delta": {"content": "ND two"}}]})
    heedless.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
    raw = "".join(f"data: {json.dumps(one)}\n\n" for one in heedless) + "data: [DONE]\n\n"
    async with Simulator([refuses, Raw("chat", raw.encode())]) as sim:
        one = MAKERS["chat"](sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), stop=("END",)))
        assert words(await drain(stream)) == "one "
        assert stream.reply().stop == "end"  # and not at its output limit
        assert "stop" not in sim.requests[-1].json


async def test_a_stop_text_ends_what_would_have_called(http: Http) -> None:
    turn = Turn(Say("I'll look. END Now."), Call("read_file", {"path": "a"}))
    async with Simulator([turn]) as sim:
        one = MAKERS["responses"](sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), stop=("END",)))
        deltas = await drain(stream)
        reply = stream.reply()
        assert words(deltas) == "I'll look. "
        assert not any(isinstance(delta, CallStarted) for delta in deltas)
        assert reply.stop == "end"  # nothing is run
        assert [call.name for call in reply.calls] == ["read_file"]  # to be answered all the same


async def test_l6_a_call_that_a_stop_text_may_have_cut_is_not_run(http: Http) -> None:
    """Some servers look for stop texts in the arguments too, and say "stop" then."""
    cut = Turn(Call("read_file", raw='{"path": "a"'), stop="end")
    async with Simulator([cut, cut, Turn(Call("now"), Call("read_file", {"path": "b"}))]) as sim:
        one = MAKERS["chat"](sim, http)
        history = one.user_items([Text("Hi.")])
        (call,) = (await answer(one, list(history))).calls
        assert call.arguments == {"path": "a"}  # mended, where no stop text can be meant
        (call,) = (await answer(one, list(history), stop=(",",))).calls
        assert call.arguments is None
        calls = (await answer(one, list(history), stop=(",",))).calls
        assert [call.arguments for call in calls] == [{}, {"path": "b"}]


async def test_a_stream_with_stop_texts_can_be_left(http: Http) -> None:
    slow = Turn(Say("one two three four five"), pace=Pace(ttft=0, tokens_per_s=2))
    async with Simulator([slow]) as sim:
        one = MAKERS["responses"](sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), stop=("five",)))
        async for _ in stream:
            break
        assert stream.last_event_at > 0
        await stream.aclose()
        await asyncio.wait_for(sim.wait_disconnect(), HANG)
        assert "one" in json.dumps(stream.interrupted().items)


TEXTS = st.text(alphabet="ab\nE", min_size=1, max_size=4)


@given(
    text=st.text(alphabet="ab\nE", max_size=30),
    stops=st.lists(TEXTS, min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 30), max_size=8),
)
def test_no_stop_text_is_shown_however_the_text_comes(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    cut, shown = StopTextCutter(stops), ""
    for begin, end in pairwise(edges):
        shown += cut.add(text[begin:end])
        # Nothing is held back that cannot be the beginning of a stop text.
        seen = text[:end]
        assert cut.at or any(stop.startswith(seen[len(shown) :]) for stop in stops)
    shown += cut.rest()
    # The first stop text is the one that is complete first, the longest of several.
    ends = [n for n in range(len(text) + 1) if any(text[:n].endswith(stop) for stop in stops)]
    if not ends:
        assert shown == text and not cut.at
        return
    whole = text[: ends[0]]
    longest = max(len(stop) for stop in stops if whole.endswith(stop))
    assert cut.at and shown == whole[: len(whole) - longest]
    assert not any(stop in shown for stop in stops)


# Tool choice

CHOICES: dict[ApiName, tuple[Any, Any, Any]] = {
    "anthropic": ({"type": "none"}, {"type": "any"}, {"type": "tool", "name": "now"}),
    "responses": ("none", "required", {"type": "function", "name": "now"}),
    "chat": ("none", "required", {"type": "function", "function": {"name": "now"}}),
    "gemini": (
        {"mode": "NONE"},
        {"mode": "ANY"},
        {"mode": "ANY", "allowedFunctionNames": ["now"]},
    ),
    "ollama": (None, None, None),
}


@pytest.mark.parametrize("api", ALL)
async def test_s1_whether_to_call_is_said(http: Http, api: ApiName) -> None:
    place = PLACES[api]["choice"]
    none, required, only = CHOICES[api]
    plain = await sent(api, http)
    for wish, expected in (
        ({"choice": "none"}, none),
        ({"choice": "required"}, required),
        ({"only": "now"}, only),
        ({"only": "now", "choice": "required"}, only),
        ({"only": "unknown"}, None),
        ({"only": "now", "choice": "none"}, none),
    ):
        body = await sent(api, http, **wish)
        assert at(body, place) == expected, wish
        if api != "ollama":  # what a cache begins with stays
            assert body["tools"] == plain["tools"]


async def test_what_ollama_may_not_call_is_not_offered(http: Http) -> None:
    assert "tools" not in await sent("ollama", http, choice="none")
    (tool,) = (await sent("ollama", http, only="now"))["tools"]
    assert tool["function"]["name"] == "now"
    assert len((await sent("ollama", http, choice="required"))["tools"]) == 2


@pytest.mark.parametrize("api", ["chat", "ollama"])
async def test_who_may_not_call_cannot_do_so_in_words(http: Http, api: ApiName) -> None:
    spoken = '{"name": "now", "arguments": {}}'
    async with Simulator([Turn(Say(spoken))] * 2) as sim:
        one = MAKERS[api](sim, http)
        assert (await answer(one, one.user_items([Text("Hi.")]))).stop == "tool_use"
        assert (await answer(one, one.user_items([Text("Hi.")]), choice="none")).stop == "end"


async def test_a_server_that_cannot_be_told_to_call_is_not_told_again(http: Http) -> None:
    """So several do while a model thinks; the words are Alibaba's."""
    words = (
        "The tool_choice parameter does not support being set to required or object in thinking "
        "mode"
    )
    error = {"error": {"message": words, "type": "invalid_request_error"}}
    refuses = Raw("chat", json.dumps(error).encode(), "application/json", 400)
    async with Simulator([refuses, Turn(Say("No.")), Turn(Say("No."))]) as sim:
        one = MAKERS["chat"](sim, http)
        for _ in range(2):
            await answer(one, one.user_items([Text("Hi.")]), choice="required")
        told = ["tool_choice" in exchange.json for exchange in sim.requests]
        assert told == [True, False, False]


@pytest.mark.parametrize(
    ("model", "choice", "thinking"),
    [
        ("claude-sonnet-4-5", {"type": "any"}, None),
        ("claude-opus-4-8", {"type": "any"}, None),
        ("claude-opus-5", {"type": "any"}, {"type": "disabled"}),
        ("claude-fable-5", {"type": "any"}, None),  # it thinks always; so much is taken
        ("claude-fable-5-1", None, {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-5-5", None, {"type": "adaptive", "display": "summarized"}),
    ],
)
def test_a_claude_that_has_to_call_does_not_think(model: str, choice: Any, thinking: Any) -> None:
    body = anthropic_body(request([], model=model, effort="high", choice="required"))
    assert (body.get("tool_choice"), body.get("thinking")) == (choice, thinking)


def test_tools_of_the_provider_are_chosen_in_its_words() -> None:
    both = request([], model="gemini-3-pro-preview", tools=(READ, SEARCH), choice="none")
    body = cast("Any", gemini_body(both))
    assert [list(tool) for tool in body["tools"]] == [["functionDeclarations"]]
    alone = request([], model="gemini-3-pro-preview", tools=(SEARCH,))
    assert "toolConfig" not in gemini_body(Request(**{**_fields(alone), "choice": "required"}))
    nothing = gemini_body(Request(**{**_fields(alone), "choice": "none"}))
    assert "tools" not in nothing and "toolConfig" not in nothing
    named = request([], tools=(READ, SEARCH), only="web_search")
    assert tool_choice(named) == {"type": "web_search"}
    assert tool_choice(request([], tools=(READ, NOW), only="now")) == {
        "type": "function",
        "name": "now",
    }


def _fields(one: Request) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


# Schemas


@pytest.mark.parametrize("api", ALL)
async def test_s2_a_schema_goes_with_tools_where_it_forbids_no_call(
    http: Http, api: ApiName
) -> None:
    place = PLACES[api]["schema"]
    assert at(await sent(api, http, tools=(), schema=PERSON), place) == PERSON
    taken = api in ("anthropic", "responses")
    assert at(await sent(api, http, schema=PERSON), place) == (PERSON if taken else None)
    forbidden = await sent(api, http, schema=PERSON, choice="none")
    # Gemini looks at what is offered, not at what may be called.
    assert at(forbidden, place) == (None if api == "gemini" else PERSON)


async def test_gemini_3_calls_and_answers_in_json(http: Http) -> None:
    new = await sent("gemini", http, model="gemini-3-pro-preview", schema=PERSON)
    assert at(new, "generationConfig.responseJsonSchema") == PERSON
    old = await sent("gemini", http, model="gemini-2.5-flash", schema=PERSON)
    assert "responseMimeType" not in old["generationConfig"]


FORMS: dict[ApiName, Any] = {
    "anthropic": ("output_config", None),  # it holds nobody to "any object"
    "responses": ("text.format", {"type": "json_object"}),
    "chat": ("response_format", {"type": "json_object"}),
    "gemini": ("generationConfig.responseMimeType", "application/json"),
    "ollama": ("format", "json"),
}


@pytest.mark.parametrize("api", ALL)
async def test_s2_any_json_object(http: Http, api: ApiName) -> None:
    place, form = FORMS[api]
    body = await sent(api, http, text="Answer in JSON.", tools=(), schema={})
    assert at(body, place) == form


def test_any_json_object_is_asked_of_openai_in_words_too() -> None:
    one = request([], tools=(), schema={})
    assert text_format(one, [{"content": "Hi."}]) == {}
    assert response_format(one, [{"content": "As json."}]) == {"type": "json_object"}


@pytest.mark.parametrize("api", ALL)
async def test_a_schema_that_is_refused_is_left_out(http: Http, api: ApiName) -> None:
    """The answer is held against it all the same, by who asked."""
    error: Any = {"message": "Invalid schema: too complex.", "type": "invalid_request_error"}
    if api == "gemini":
        error |= {"code": 400, "status": "INVALID_ARGUMENT"}
    body: Any = {"type": "error", "error": error}
    if api == "ollama":
        body = {"error": "invalid JSON schema in format"}
    refuses = Raw(api, json.dumps(body).encode(), "application/json", 400)
    script = [refuses, Turn(Say("{}")), Turn(Say("{}"))]
    async with Simulator(script) as sim:
        one = MAKERS[api](sim, http)
        wish: dict[str, Any] = {"model": "sim-model", "tools": (), "schema": PERSON}
        await answer(one, one.user_items([Text("Hi.")]), **wish)
        await answer(one, one.user_items([Text("Hi.")]), **wish)
        asked = [exchange.json for exchange in sim.requests if "/show" not in exchange.path]
        place = PLACES[api]["schema"]
        # Another schema might be taken.
        assert [at(body, place) for body in asked] == [PERSON, None, PERSON]


async def test_a_server_without_schemas_is_asked_for_none_again(http: Http) -> None:
    words = "This response_format type is unavailable now"
    error = {"error": {"message": words, "type": "invalid_request_error"}}
    refuses = Raw("chat", json.dumps(error).encode(), "application/json", 400)
    async with Simulator([refuses, Turn(Say("{}")), Turn(Say("{}"))]) as sim:
        one = MAKERS["chat"](sim, http)
        for _ in range(2):
            await answer(one, one.user_items([Text("Hi.")]), tools=(), schema=PERSON)
        assert ["response_format" in exchange.json for exchange in sim.requests] == [
            True,
            False,
            False,
        ]


async def test_another_refusal_is_not_taken_for_one_of_the_schema(http: Http) -> None:
    error = {"error": {"message": "The moon is full.", "type": "invalid_request_error"}}
    for api in ALL:
        refuses = Raw(api, json.dumps(error).encode(), "application/json", 400)
        async with Simulator([refuses, Turn(Say("{}"))]) as sim:
            one = MAKERS[api](sim, http)
            stream = one.stream(request(one.user_items([Text("Hi.")]), tools=(), schema=PERSON))
            with pytest.raises(Exception, match=r"(?i)moon|did not accept|error of its own"):
                await drain(stream)


async def test_a_session_goes_on_after_a_schema_and_without(http: Http) -> None:
    script = [Turn(Think("Hm."), Call("now")), Turn(Say('{"name": "A", "age": 1}')), Turn(Say("X"))]
    for api in ALL:
        async with Simulator(script, strict="beyond") as sim:
            one = MAKERS[api](sim, http)
            history = one.user_items([Text("Who, as JSON?")])
            wish: dict[str, Any] = {"model": "sim-model", "schema": PERSON}
            reply: Reply = await answer(one, history, choice="required", **wish)
            history += one.result_items([result(call) for call in reply.calls])
            await answer(one, history, **wish)
            history += one.user_items([Text("Thanks.")])
            await answer(one, history, model="sim-model")
            assert not sim.violations


def nested(schema: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": {"a": schema},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_strict_is_what_says_everything() -> None:
    choice: JsonObject = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/x"}]}
    texts: JsonObject = {"type": "array", "items": {"type": "string", "description": "x"}}
    assert is_strict(PERSON)
    for inner in (PERSON, choice, texts, {"type": "string", "enum": ["a"]}):
        assert is_strict(nested(inner))
    for root in (choice, texts):  # an answer is an object
        assert not is_strict(root)
    loose: list[JsonObject] = [
        {},
        {"description": "Anything."},
        {**PERSON, "required": ["name"]},
        {**PERSON, "additionalProperties": True},
        {key: value for key, value in PERSON.items() if key != "additionalProperties"},
        {"type": "object", "additionalProperties": False},
        {"type": "string", "pattern": "x"},
        {"oneOf": [PERSON]},
        {"enum": ["a"]},
        {"$ref": "https://example.com/x"},
    ]
    for inner in loose:
        assert not is_strict(inner) and not is_strict(nested(inner))


def test_a_copy_for_claude_is_closed_and_has_no_limits() -> None:
    loose: JsonObject = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "minimum": 1, "description": "From 1."},
            "when": {"type": "string", "format": "date", "maxLength": 10},
            "all": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/x"}},
        },
        "$defs": {"x": {"type": "object", "properties": {}, "default": {}}},
    }
    before = json.dumps(loose)
    assert closed_schema(loose) == {
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "description": "From 1."},
            "when": {"type": "string", "format": "date"},
            "all": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/x"}},
        },
        "$defs": {"x": {"type": "object", "properties": {}, "additionalProperties": False}},
        "additionalProperties": False,
    }
    assert json.dumps(loose) == before
    assert closed_schema(PERSON) == PERSON


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {**PERSON, "additionalProperties": True},
        nested({"oneOf": [{"type": "string"}]}),
        nested({"not": {"type": "string"}}),
        nested({"description": "Anything."}),
        nested({"$ref": "https://example.com/x"}),
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
        },
        {"properties": {"a": {"type": "string"}}},
    ],
)
def test_what_would_mean_something_else_is_not_sent_to_claude(schema: JsonObject) -> None:
    assert closed_schema(schema) is None
    assert "output_config" not in anthropic_body(request([], schema=schema))


def test_a_schema_without_end_is_not_sent() -> None:
    deep: JsonObject = {"type": "string"}
    for _ in range(500):
        deep = nested(deep)
    one = request([], tools=(), schema=deep)
    assert text_format(one, []) == {} and "output_config" not in anthropic_body(one)
    chain: JsonObject = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3_000)}
    assert closed_schema({"$ref": "#/$defs/d0", "$defs": chain}) is None


def test_older_claudes_are_asked_in_words_alone() -> None:
    assert "output_config" not in anthropic_body(
        request([], model="claude-3-7-sonnet-latest", schema=PERSON)
    )
    new = anthropic_body(
        request([], model="claude-opus-5", effort="high", schema=PERSON, tools=(READ,))
    )
    assert new["output_config"] == {
        "effort": "high",
        "format": {"type": "json_schema", "schema": PERSON},
    }


# The simulator


@pytest.mark.parametrize("api", ALL)
async def test_the_simulator_keeps_to_the_limit(http: Http, api: ApiName) -> None:
    async with Simulator([Turn(Say("a" * 200))]) as sim:
        one = MAKERS[api](sim, http)
        stream = one.stream(
            request(one.user_items([Text("Hi.")]), model="sim-model", output_limit=16)
        )
        assert words(await drain(stream)) == "a" * 64
        assert stream.reply().stop == "max_tokens"


async def test_the_simulator_says_which_text_ended_a_reply(http: Http) -> None:
    async with Simulator([Turn(Say("one END two"))]) as sim:
        one = MAKERS["anthropic"](sim, http)
        reply = await answer(one, one.user_items([Text("Hi.")]), stop=("END",))
        assert reply.stop == "end" and "two" not in json.dumps(reply.items)


async def test_a_script_may_not_call_where_nobody_may(http: Http) -> None:
    for api in ALL[:4]:
        async with Simulator([Turn(Call("now"))]) as sim:
            one = MAKERS[api](sim, http)
            stream = one.stream(request(one.user_items([Text("Hi.")]), choice="none"))
            with pytest.raises(Exception, match="the script calls a tool"):
                await drain(stream)
