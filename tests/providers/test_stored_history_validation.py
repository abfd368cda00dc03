"""H-5: ``history_problem`` finds in a stored history what a strict server would reject, and only that."""

from __future__ import annotations

import asyncio
import copy
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Text
from studio.providers.http import Http
from studio.providers.local_model.process import LoopbackHttp
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai.validate import history_problem as responses_problem
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.providers.openai_chat.validate import chat_problem, ollama_problem
from studio.simulator import Call, Simulator, Think, Turn
from studio.simulator import Text as Say
from support.cpu_cost import grows_linearly
from support.provider_calls import answer, request, result

MAKERS: dict[str, Any] = {
    "responses": OpenAIProvider,
    "chat": CompatibleProvider,
    "ollama": OllamaProvider,
}
PICTURE = Image(
    "image/png",
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8"
        "cfc0000003010100c9fe92ef0000000049454e44ae426082"
    ),
)

TURNS = st.builds(
    lambda thinks, says, calls: Turn(
        *([Think("Hm, let me see.")] if thinks else []),
        *([Say("So it is.")] if says or not calls else []),
        *[Call(name, {"path": "a"} if name == "read_file" else {}) for name in calls],
    ),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["read_file", "now"]), max_size=3),
)
PLANS = st.lists(st.tuples(st.sampled_from(["say", "steer", "picture"]), TURNS), max_size=4)


async def lead(one: Any, plan: list[tuple[str, Turn]]) -> list[Any]:
    """A conversation by our own methods; sound wherever it could be stored."""
    history: list[Any] = one.user_items([Text("Begin.")])
    for kind, _ in plan:
        if kind == "steer":
            history += one.system_items("Hurry.")
        elif kind == "picture":
            history += one.user_items([Text("Look."), PICTURE])
        reply = await answer(one, history)
        assert one.history_problem(history) == ""
        results = [result(call) for call in reply.calls]
        for number in range(len(results)):  # a crash between two results
            assert one.history_problem(history + one.result_items(results[:number])) == ""
        history += one.result_items(results)
        history += one.user_items([Text("More.")])
        assert one.history_problem(history) == ""
    return history


def mutated(kind: str, history: list[Any], data: Any) -> list[Any]:
    """The history with one thing gone wrong.

    What belongs to reasoning is left in its place: no item says that there was some.
    """
    out = copy.deepcopy(history)
    linked = {
        place + offset
        for place, item in enumerate(history)
        for offset in (0, 1)
        if kind == "responses" and item.get("type") == "reasoning"
    }
    place = data.draw(st.integers(0, len(out) - 1), label="place")
    match data.draw(st.sampled_from(["delete", "double", "swap", "lose", "spoil"]), label="what"):
        case "delete" if place not in linked:
            del out[place]
        case "double":
            out.insert(place, copy.deepcopy(out[place]))
        case "swap" if place + 1 < len(out) and not {place, place + 1} & linked:
            out[place], out[place + 1] = out[place + 1], out[place]
        case "lose":
            del out[place][data.draw(st.sampled_from(sorted(out[place])), label="key")]
        case "spoil":
            key = data.draw(st.sampled_from(sorted(out[place])), label="key")
            out[place][key] = data.draw(st.sampled_from([None, 7, []]), label="value")
        case _:
            pass
    return out


@pytest.mark.parametrize("kind", sorted(MAKERS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=PLANS, data=st.data())
def test_h5_damage_is_found_or_harmless(kind: str, plan: list[tuple[str, Turn]], data: Any) -> None:
    async def example() -> None:
        http = LoopbackHttp()
        script = [turn for _, turn in plan] + [Turn(Say("Yes."))]
        async with Simulator(script) as sim:
            one = MAKERS[kind]("k", sim.url(kind), http)
            history = await lead(one, plan)
            assert sim.violations == []
            damaged = mutated(kind, history, data)
            if damaged and one.history_problem(damaged) == "":
                damaged += one.result_items([result(call) for call in one.open_calls(damaged)])
                damaged += one.user_items([Text("Go on.")])
                try:
                    await answer(one, damaged)
                except ProviderError as error:
                    raise AssertionError(f"not found: {error}") from error
        await http.aclose()

    asyncio.run(example())


def call(name: str, id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": "{}", **more}


def output(id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": "x"}


USER: dict[str, Any] = {"role": "user", "content": "Hi."}
THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "sealed",
}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Yes."}],
}


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ([], ""),
        ([USER, THOUGHT, SAID, USER], ""),
        ([USER, THOUGHT, call("now"), call("now", "c2")], ""),  # open
        ([USER, call("now"), output()], ""),
        ([USER, THOUGHT, THOUGHT | {"id": "rs_2"}, SAID], ""),
        ([USER, THOUGHT | {"encrypted_content": ""}, SAID], ""),  # an imitator's
        ([USER, output()], "item 2: a result without its call"),
        ([USER, call("now"), USER, SAID], "item 2: a call without its result"),
        ([USER, call("now"), output(), output()], "item 4: a second result for the call c1"),
        ([USER, call("now"), call("now")], "item 3: a second call with the id c1"),
        ([USER, THOUGHT], "item 2: reasoning without the item that followed it"),
        ([USER, THOUGHT, USER], "item 2: reasoning without the item that followed it"),
        (
            [USER, THOUGHT, {"role": "assistant", "content": "Yes."}],
            "item 2: a message after reasoning lost its id",
        ),
        ([USER, SAID, SAID], "item 3: a second item with the id msg_1"),
        ([USER, SAID | {"id": "rs_7"}], "item 2: an id that does not begin with msg_"),
        ([USER, call("now") | {"id": "call_1"}], "item 2: an id that does not begin"),
        (
            [USER, THOUGHT, SAID, THOUGHT | {"id": "rs_2", "encrypted_content": ""}, call("now")],
            "item 4: reasoning without its encrypted content",
        ),
        ([USER, {"role": "assistant", "content": [{"type": "input_text"}]}], "item 2: a part that"),
        ([USER, 7], "item 2: not an object"),
    ],
)
def test_h5_what_openai_would_reject(history: Any, words: str) -> None:
    found = responses_problem(history)
    assert found.startswith(words) if words else found == ""


ASKS: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "now", "arguments": "{}"}}
        for id in ("a", "b")
    ],
}


def tells(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "x"}


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ([USER, ASKS], ""),
        ([USER, ASKS, tells("b")], ""),
        ([USER, ASKS, tells("b"), tells("a"), USER], ""),
        ([USER, ASKS, tells("a"), USER, tells("b")], "item 2: a call without its result"),
        ([USER, tells("a")], "item 2: a result without its call"),
        ([USER, ASKS, tells("a"), tells("a")], "item 4: a second result for one call"),
        ([USER, {"role": "user", "content": None}], "item 2: a message without content"),
        ([USER, ASKS | {"tool_calls": []}], "item 2: a message without content"),
        ([USER, ASKS | {"tool_calls": [{}]}], "item 2: a call without its function"),
        ([{"role": "critic", "content": "No."}], "item 1: a message of nobody"),
    ],
)
def test_h5_what_chat_completions_would_reject(history: Any, words: str) -> None:
    assert chat_problem(history) == words


@pytest.mark.parametrize("kind", ["responses", "chat", "ollama"])
def test_h5_the_work_grows_with_the_history_and_no_faster(kind: str) -> None:
    examine: Any = {
        "responses": responses_problem,
        "chat": chat_problem,
        "ollama": ollama_problem,
    }[kind]
    assert examine(_long(kind, 5_000)) == ""
    assert grows_linearly(partial(_long, kind), examine, 5_000)


def _long(kind: str, size: int) -> list[Any]:
    history: list[Any] = []
    for number in range(size // 4):
        id = f"c{number}"
        if kind == "responses":
            thought = THOUGHT | {"id": f"rs_{number}"}
            history += [USER, thought, {**call("now", id), "id": f"fc_{number}"}, output(id)]
        else:
            arguments: Any = {} if kind == "ollama" else "{}"
            asked = [{"id": id, "function": {"name": "now", "arguments": arguments}}]
            history += [
                USER,
                {"role": "assistant", "content": "", "tool_calls": asked},
                {**tells(id), "tool_name": "now"},
                {"role": "assistant", "content": "Yes."},
            ]
    return history


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_l12_what_cannot_be_read_is_words_in_its_place(kind: str) -> None:
    """H-7: nothing goes out that the provider would refuse."""
    one = MAKERS[kind]("k", "http://127.0.0.1/v1", Http())
    scan = Image("image/tiff", b"II*\0")
    film = File("a.mp4", "video/mp4", b"\0\0")
    huge = Image("image/png", b"\x89PNG" + bytes(101_000_000))
    for block in (scan, film, huge):
        assert one.media_problem(block).endswith(".")
        told = str(one.user_items([block]))
        assert "Left out" in told
        assert len(told) < 1000
    assert one.media_problem(PICTURE) == ""
    assert one.media_problem(File("a.txt", "text/plain", b"a")) == ""
    assert request(one.user_items([Text("a"), PICTURE])).history
