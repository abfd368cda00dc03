"""What ``history_problem`` finds is what a strict server would reject, and nothing else (H-5)."""

from __future__ import annotations

import asyncio
import copy
import http.client
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.messages import File, Image, Text, ToolCall, ToolResult
from studio.providers.anthropic import adapter as anthropic
from studio.providers.base import Provider, Request
from studio.providers.gemini import adapter as gemini
from studio.providers.http import Http
from studio.simulator import Simulator, Turn
from studio.simulator import Text as Say
from studio.simulator.state import Signer
from support.cpu_cost import grows_linearly
from support.waiting import HANG

PICTURE = Image("image/png", b"\x89PNG")
SIGNER = Signer()


@dataclass
class Server:
    """The strict simulator in a thread of its own; ``accepts`` posts one request."""

    port: int = 0

    def accepts(self, kind: str, history: list[Any]) -> tuple[bool, str]:
        if kind == "anthropic":
            model, path = "claude-opus-5", "/v1/messages"
            body = anthropic.body_of(Request(model, history)) | {"model": model, "stream": False}
            headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
        else:
            model, path = "sim-gemini-3", "/v1beta/models/sim-gemini-3:generateContent"
            body, headers = gemini.body_of(Request(model, history)), {"x-goog-api-key": "k"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        words = answer.read().decode()
        connection.close()
        return answer.status == 200, words


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    loop, found, ready = asyncio.new_event_loop(), Server(), threading.Event()
    done = asyncio.Event()

    async def serve() -> None:
        async with Simulator(lambda _: Turn(Say("Yes."))) as sim:
            found.port = sim.port
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    yield found
    loop.call_soon_threadsafe(done.set)
    thread.join(10)
    loop.close()


def made(kind: str) -> Provider:
    http = Http()
    if kind == "anthropic":
        return anthropic.AnthropicProvider("k", "", http)
    return gemini.GeminiProvider("k", "", http)


def reply(kind: str, text: str, calls: list[ToolCall], thought: str) -> Any:
    """One item as a model of this provider says it."""
    if kind == "anthropic":
        content: list[Any] = []
        if thought:
            sign = SIGNER.sign(thought)
            content.append({"type": "thinking", "thinking": thought, "signature": sign})
        if text or not calls:
            content.append({"type": "text", "text": text or "Well."})
        for call in calls:
            content.append(
                {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            )
        return {"role": "assistant", "content": content}
    parts: list[Any] = []
    if thought:
        parts.append({"text": thought, "thought": True})
    if text or not calls:
        parts.append({"text": text or "Well."})
    for number, call in enumerate(calls):
        part: Any = {"functionCall": {"name": call.name, "args": call.arguments}}
        if not call.id.startswith("bare"):
            part["functionCall"]["id"] = call.id
        if not number:
            part["thoughtSignature"] = SIGNER.sign(["call", call.name, call.arguments])
        parts.append(part)
    return {"role": "model", "parts": parts}


NAMES = st.lists(st.sampled_from(["read", "now"]), min_size=1, max_size=3)


@st.composite
def histories(draw: st.DrawFn, kind: str) -> list[Any]:
    """Any conversation that our own methods and a sound model make."""
    one, history = made(kind), list[Any]()
    bare = draw(st.booleans())
    model = draw(st.sampled_from(["", "claude-opus-5"]))
    history += one.user_items([Text("Begin."), *draw(st.sampled_from(((), (PICTURE,))))])
    for step in range(draw(st.integers(0, 6))):
        match draw(st.sampled_from(["say", "file", "steer", "reply", "calls", "calls", "calls"])):
            case "say":
                history += one.user_items([Text("More.")])
            case "file":
                history += one.user_items([File("a.pdf", "application/pdf", b"%PDF"), PICTURE])
            case "steer":
                history += one.system_items("Hurry.", model)
            case "reply":
                history.append(reply(kind, "Words.", [], draw(st.sampled_from(["", "Hm."]))))
            case _:
                names = draw(NAMES)
                stem = "bare" if bare else "c"
                calls = [ToolCall(f"{stem}{step}-{n}", name, {"n": n}) for n, name in enumerate(names)]  # fmt: skip
                thought = draw(st.sampled_from(["", "Hm."]))
                history.append(reply(kind, draw(st.sampled_from(["", "So."])), calls, thought))
                if draw(st.booleans()):
                    history += one.system_items(
                        "Hurry.", "claude-opus-5" if kind == "anthropic" else ""
                    )
                if draw(st.integers(0, 5)):
                    known = one.open_calls(history)
                    assert [call.name for call in known] == names
                    history += one.result_items([result(call, draw) for call in known])
                else:
                    break  # a crash: the calls are open
    return history


def result(call: ToolCall, draw: st.DrawFn) -> ToolResult:
    content = draw(st.sampled_from([(Text("x"),), (), (PICTURE,), (Text(" "), PICTURE)]))
    return ToolResult(call.id, call.name, content, draw(st.booleans()))


def closed(one: Provider, history: list[Any]) -> list[Any]:
    """The history as the next request has it: every call answered, and words."""
    answers = [ToolResult(c.id, c.name, (Text("lost"),), True) for c in one.open_calls(history)]
    return [*history, *one.result_items(answers), *one.user_items([Text("Go on.")])]


def inner(item: Any) -> list[Any]:
    found = item.get("content", item.get("parts")) if isinstance(item, dict) else None
    return found if isinstance(found, list) else []


def mutate(history: list[Any], data: st.DataObject) -> list[Any]:
    """One thing that a damaged file, a lost write or a bug could do."""
    found = copy.deepcopy(history)
    at = data.draw(st.integers(0, len(found) - 1))
    blocks = inner(found[at])
    spot = data.draw(st.integers(0, max(len(blocks) - 1, 0)))
    match data.draw(st.sampled_from(sorted(MUTATIONS))):
        case "drop":
            del found[at]
        case "repeat":
            found.insert(at, copy.deepcopy(found[at]))
        case "swap":
            other = data.draw(st.integers(0, len(found) - 1))
            found[at], found[other] = found[other], found[at]
        case "no object":
            found[at] = "gone"
        case "role":
            found[at]["role"] = data.draw(st.sampled_from(["user", "assistant", "model", "x"]))
        case "no content":
            for key in ("content", "parts"):
                if key in found[at]:
                    found[at][key] = data.draw(st.sampled_from([[], None, ""]))
        case "drop block":
            del blocks[spot]
        case "repeat block":
            blocks.insert(spot, copy.deepcopy(blocks[spot]))
        case "move block":
            blocks.append(blocks.pop(spot))
        case "empty block":
            blocks[spot] = data.draw(st.sampled_from([{}, None, {"type": "text", "text": ""}, {"thought": True}]))  # fmt: skip
        case "id":
            for block in blocks:
                for part in (block, block.get("functionCall"), block.get("functionResponse")):
                    for key in ("id", "tool_use_id"):
                        if isinstance(part, dict) and key in part:
                            part[key] = data.draw(st.sampled_from(["other", ""]))
        case "blank":
            for block in blocks:
                if "text" in block:
                    block["text"] = data.draw(st.sampled_from(["", " "]))
        case "input":
            for block in blocks:
                if "input" in block:
                    block["input"] = "gone"
        case _:
            for block in blocks:
                for key in ("signature", "thoughtSignature"):
                    block.pop(key, None)
    return found


MUTATIONS = {
    "drop", "repeat", "swap", "no object", "role", "no content", "drop block", "repeat block",
    "move block", "empty block", "id", "blank", "input", "signature",
}  # fmt: skip

QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("kind", ["anthropic", "gemini"])
@QUIET
@given(data=st.data())
def test_h5_what_we_make_is_sound(server: Server, kind: str, data: st.DataObject) -> None:
    one, history = made(kind), data.draw(histories(kind))
    assert one.history_problem(history) == ""
    accepted, words = server.accepts(kind, closed(one, history))
    assert accepted, words
    for cut in range(len(history)):
        assert one.history_problem(history[:cut]) == ""  # each write of it is one, too


@pytest.mark.parametrize("kind", ["anthropic", "gemini"])
@settings(QUIET, max_examples=max(200, settings().max_examples))
@given(data=st.data())
def test_h5_damage_is_found_or_does_no_harm(server: Server, kind: str, data: st.DataObject) -> None:
    one = made(kind)
    history = mutate(data.draw(histories(kind)), data)
    if not (fault := one.history_problem(history)):
        accepted, words = server.accepts(kind, closed(one, history))
        assert accepted, words
    else:
        assert fault.startswith(("message ", "content "))


@pytest.mark.parametrize("kind", ["anthropic", "gemini"])
def test_the_work_grows_with_the_history_and_no_faster(kind: str) -> None:
    one = made(kind)

    def history(size: int) -> list[Any]:
        found = list[Any]()
        for number in range(size // 4):
            calls = [ToolCall(f"c{number}-{n}", "read", {"n": n}) for n in range(2)]
            found += one.user_items([Text("More.")])
            found.append(reply(kind, "So.", calls, "Hm."))
            found += one.result_items([ToolResult(c.id, c.name, (Text("x"),)) for c in calls])
            found.append(reply(kind, "Done.", [], ""))
        assert one.history_problem(found) == ""
        return found

    assert len(history(5_000)) == 5_000
    assert grows_linearly(history, one.history_problem, 5_000)


def test_the_place_is_named() -> None:
    one = made("anthropic")
    call = ToolCall("a", "read", {})
    history = one.user_items([Text("Hi.")])
    history.append(reply("anthropic", "", [call], ""))
    assert one.history_problem(history) == ""
    two = one.result_items([ToolResult("a", "read", ())])
    assert one.history_problem([*history, *two]) == ""
    assert (
        one.history_problem([*history, *one.user_items([Text("So?")]), *two]) == ""
    )  # sent in order
    assert one.history_problem([*history[:1], *two]) == "message 2: a result without its call"
    assert one.history_problem([*history, *two, *two]) == "message 4: two results of one call"
    other = made("gemini")
    begun = other.user_items([Text("Hi.")])
    begun.append(reply("gemini", "", [call], ""))
    assert other.history_problem(begun) == ""
    late = [*begun, *other.user_items([Text("So?")]), reply("gemini", "So.", [], "")]
    assert other.history_problem(late) == "content 4: a call before it has no result"
