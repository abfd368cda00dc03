"""Every recorded exchange, through the real SDKs and our adapters, and what came of it.

Each of the 148 is covered by exactly one kind of check: a reply is folded, an
error is named, a model list is read, and the few that no adapter of ours has a
use for are listed with the reason.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from studio.domain.errors import ProviderError
from studio.domain.events import Delta
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.providers.anthropic.stream import STOPS as ANTHROPIC_STOPS
from studio.providers.base import Reply
from studio.providers.gemini.stream import STOPS as GEMINI_STOPS
from studio.providers.http import Http
from studio.providers.openai.stream import INCOMPLETE
from studio.providers.sse import DONE
from support.provider_calls import drain, request, started, thoughts, words
from support.recorded_exchanges import (
    MADE,
    Event,
    Exchange,
    Replay,
    events,
    exchanges,
    provider,
    wire,
)
from support.recorded_replies import ELSEWHERE, FAULTS, REPLIES, each, is_list

pytestmark = [
    pytest.mark.recordings,
    # The SDK warns of names that are retired by now.
    pytest.mark.filterwarnings("ignore:The model:DeprecationWarning"),
]


def test_nothing_is_left_out() -> None:
    """Every exchange has exactly one check, and every entry of a table its exchange."""
    found = exchanges()
    assert len(found) == 148
    assert len({exchange.file for exchange in found}) == 78
    ids = [exchange.id for exchange in found]
    assert len(set(ids)) == 148
    checked = [*ELSEWHERE, *FAULTS, *(e.id for e in found if is_list(e)), *(e.id for e in REPLIES)]
    assert sorted(checked) == sorted(ids)
    assert all(exchange.status == 200 for exchange in REPLIES)
    assert {e.id for e in found if e.status != 200} <= FAULTS.keys()
    assert all(
        any(part in e.path for part in ("/messages", "enerateContent", "/responses", "/chat/"))
        for e in REPLIES
    )


# Replies.


@pytest.mark.parametrize("exchange", each([*REPLIES, *MADE]))
async def test_h1_a_reply_is_kept_as_it_came(http: Http, exchange: Exchange) -> None:
    """H-1: the items are what was recorded; deltas, calls, stop and usage agree with them."""
    async with Replay() as server:
        server.answer([wire(exchange)])
        one = provider(exchange.api, server.url, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history, model=exchange.model))
        deltas = await drain(stream)
        reply = stream.reply()
        found = events(exchange)
        assert reply.items == KEPT[exchange.api](exchange, found)
        assert (reply.stop, reply.detail) == STOPPED[exchange.api](found, reply)
        assert reply.usage == USED[exchange.api](found)
        prices = [usage["cost"] for e in found if "cost" in (usage := e.get("usage") or {})]
        assert reply.cost == (prices[-1] if prices else None)
        stored = one.open_calls([*history, *reply.items])
        assert [(call.id, call.name, call.arguments) for call in stored] == [
            (call.id, call.name, call.arguments) for call in reply.calls
        ]
        check_deltas(exchange, deltas, reply)
        # The history that goes out next is the history, byte for byte.
        sent = [*history, *reply.items, *one.user_items([Text("Go on.")])]
        await drain(one.stream(request(sent, model=exchange.model)))
        _, _, body = server.requests[-1]
        rows = body.get("messages") or body.get("input") or body.get("contents")
        assert [row for row in rows if row.get("role") != "system"] == sent


def check_deltas(exchange: Exchange, deltas: list[Delta], reply: Reply) -> None:
    """What was shown is what is kept, and each call is announced under its id."""
    said, thought = SHOWN[exchange.api](reply.items)
    # Blocks of nothing but a space are shown, but would be rejected in a request.
    assert "".join(words(deltas).split()) == "".join(said.split())
    if reply.items:  # reasoning that led to nothing is shown, but cannot be sent back
        assert "".join(thoughts(deltas).split()) == "".join(thought.split())
    assert started(deltas) == [(call.id, call.name) for call in reply.calls]


def kept_anthropic(exchange: Exchange, found: list[Event]) -> list[Any]:
    """The vendor's own fold of the same events; for whole replies, the reply."""
    if exchange.streamed:
        from anthropic.lib.streaming._messages import accumulate_event

        snapshot: Any = None
        buffers: dict[int, bytes] = {}
        for event in found:
            if event["type"] != "ping":
                snapshot = accumulate_event(
                    event=event,  # type: ignore[arg-type] - it takes JSON as well
                    current_snapshot=snapshot,
                    json_bufs=buffers,
                )
        content = snapshot.to_dict()["content"]
    else:
        content = json.loads(exchange.body)["content"]
    return [
        {
            "role": "assistant",
            "content": [b for b in content if b["type"] != "text" or b["text"].strip()],
        }
    ]


def kept_responses(exchange: Exchange, found: list[Event]) -> list[Any]:
    """The items of the end of the stream, each with the ``encrypted_content`` of its own end."""
    done = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    whole = found[-1]["response"]["output"]
    sealed = {item["id"]: item["encrypted_content"] for item in done if "encrypted_content" in item}
    for item in whole:
        if seal := sealed.get(item.get("id")):
            assert item["encrypted_content"] != seal
    return [
        {**item, "encrypted_content": sealed[item["id"]]} if item.get("id") in sealed else item
        for item in whole
    ]


def kept_chat(exchange: Exchange, found: list[Event]) -> list[Any]:
    """One message of all the deltas, none of mere reasoning. No arguments go back as ``{}``:
    many servers parse them."""
    message: Event = {"role": "assistant", "content": None}
    calls: dict[int, Event] = {}
    for event in found:
        for choice in event.get("choices", []):
            delta = choice["delta"]
            for name in ("content", "reasoning", "reasoning_content", "refusal"):
                if isinstance(piece := delta.get(name), str):
                    message[name] = (message.get(name) or "") + piece
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(piece["index"], {"function": {"name": "", "arguments": ""}})
                for name in ("id", "type"):
                    if piece.get(name):
                        call.setdefault(name, piece[name])
                for name in ("name", "arguments"):
                    call["function"][name] += piece.get("function", {}).get(name) or ""
    if calls:
        message["tool_calls"] = list(calls.values())
    for call in calls.values():
        call["function"]["arguments"] = call["function"]["arguments"] or "{}"
    return [message] if message["content"] or calls else []


def kept_gemini(exchange: Exchange, found: list[Event]) -> list[Any]:
    """All parts in their order, without those that neither say nor sign anything."""
    parts = [
        part
        for event in found
        for candidate in event.get("candidates", [])
        for part in candidate.get("content", {}).get("parts", [])
        if part.get("thoughtSignature") or set(part) - {"text", "thought"} or part.get("text")
    ]
    return [{"role": "model", "parts": parts}] if parts else []


KEPT = {
    "anthropic": kept_anthropic,
    "responses": kept_responses,
    "chat": kept_chat,
    "gemini": kept_gemini,
}


def shown_anthropic(items: list[Any]) -> tuple[str, str]:
    blocks = [block for item in items for block in item["content"]]
    return (
        "".join(b["text"] for b in blocks if b["type"] == "text"),
        "".join(b["thinking"] for b in blocks if b["type"] == "thinking"),
    )


def shown_responses(items: list[Any]) -> tuple[str, str]:
    return (
        "".join(
            part.get("text") or part.get("refusal", "")
            for item in items
            if item["type"] == "message"
            for part in item["content"]
        ),
        "".join(part["text"] for item in items for part in item.get("summary", [])),
    )


def shown_chat(items: list[Any]) -> tuple[str, str]:
    said = "".join((item.get("content") or "") + item.get("refusal", "") for item in items)
    return said, "".join(
        item.get("reasoning_content") or item.get("reasoning", "") for item in items
    )


def shown_gemini(items: list[Any]) -> tuple[str, str]:
    parts = [part for item in items for part in item["parts"]]
    return (
        "".join(part.get("text", "") for part in parts if not part.get("thought")),
        "".join(part.get("text", "") for part in parts if part.get("thought")),
    )


SHOWN = {
    "anthropic": shown_anthropic,
    "responses": shown_responses,
    "chat": shown_chat,
    "gemini": shown_gemini,
}


def stopped_anthropic(found: list[Event], reply: Reply) -> tuple[str, str]:
    word = next(e["delta"]["stop_reason"] for e in found if e["type"] == "message_delta")
    return ANTHROPIC_STOPS[word], ""


def stopped_responses(found: list[Event], reply: Reply) -> tuple[str, str]:
    response = found[-1]["response"]
    if response["status"] == "completed":
        return ("tool_use" if reply.calls else "end"), ""
    word = response["incomplete_details"]["reason"]
    return INCOMPLETE[word], word


def stopped_chat(found: list[Event], reply: Reply) -> tuple[str, str]:
    said = [c["finish_reason"] for e in found for c in e.get("choices", []) if c["finish_reason"]]
    word = said[-1] if said else "stop"
    if word == "stop":
        return ("tool_use" if reply.calls else "end"), ""
    remark = next((e["error"]["message"] for e in found if "error" in e), "")
    assert remark in reply.detail  # said after the end
    stop = {"tool_calls": "tool_use", "length": "max_tokens"}[word]
    return stop, reply.detail if remark else ""


def stopped_gemini(found: list[Event], reply: Reply) -> tuple[str, str]:
    ends = [c for e in found for c in e.get("candidates", []) if c.get("finishReason")]
    word, message = ends[-1]["finishReason"], ends[-1].get("finishMessage", "")
    if word == "STOP":
        return ("tool_use" if reply.calls else "end"), ""
    return GEMINI_STOPS.get(word, "other"), f"{word}: {message}" if message else word


STOPPED = {
    "anthropic": stopped_anthropic,
    "responses": stopped_responses,
    "chat": stopped_chat,
    "gemini": stopped_gemini,
}


def used_anthropic(found: list[Event]) -> Usage:
    first = found[0]["message"]["usage"]
    last = next(e["usage"] for e in found if e["type"] == "message_delta")
    both = {**first, **{name: value for name, value in last.items() if value is not None}}
    read, write = both["cache_read_input_tokens"], both["cache_creation_input_tokens"]
    thinking = (both.get("output_tokens_details") or {}).get("thinking_tokens", 0)
    return Usage(both["input_tokens"] + read + write, read, write, both["output_tokens"], thinking)


def used_responses(found: list[Event]) -> Usage:
    used = found[-1]["response"]["usage"]
    sent = used["input_tokens_details"]
    return Usage(
        used["input_tokens"],
        sent["cached_tokens"],
        sent.get("cache_write_tokens", 0),
        used["output_tokens"],
        used["output_tokens_details"]["reasoning_tokens"],
    )


def used_chat(found: list[Event]) -> Usage:
    used = next((e["usage"] for e in reversed(found) if e.get("usage")), None)
    if used is None:
        return Usage()
    sent = used.get("prompt_tokens_details") or {}
    given = used.get("completion_tokens_details") or {}
    return Usage(
        used["prompt_tokens"],
        sent.get("cached_tokens") or 0,
        sent.get("cache_write_tokens") or 0,
        used["completion_tokens"],
        given.get("reasoning_tokens") or 0,
    )


def used_gemini(found: list[Event]) -> Usage:
    used = next(e["usageMetadata"] for e in reversed(found) if "usageMetadata" in e)
    thoughts = used.get("thoughtsTokenCount", 0)
    return Usage(
        used["promptTokenCount"] + used.get("toolUsePromptTokenCount", 0),
        used.get("cachedContentTokenCount", 0),
        0,
        used.get("candidatesTokenCount", 0) + thoughts,
        thoughts,
    )


USED = {
    "anthropic": used_anthropic,
    "responses": used_responses,
    "chat": used_chat,
    "gemini": used_gemini,
}


def test_h1_the_rare_things_are_among_them() -> None:
    """What a rewrite of history would lose is in what the tests above compare."""
    met: set[str] = set()
    for exchange in REPLIES:
        for item in KEPT[exchange.api](exchange, events(exchange)):
            if exchange.api == "anthropic":
                met |= {f"anthropic {block['type']}" for block in item["content"]}
            if exchange.api == "responses":
                met |= {
                    f"responses {name}"
                    for name in ("phase", "encrypted_content", "id")
                    if item.get(name)
                }
            for part in item.get("parts", []):
                if "thoughtSignature" in part:
                    name = next(iter(set(part) - {"thoughtSignature", "thought"}))
                    met.add(f"gemini signed {name}" + (" empty" if part[name] == "" else ""))
    assert met >= {
        "anthropic thinking",
        "anthropic redacted_thinking",
        "anthropic server_tool_use",
        "responses phase",
        "responses encrypted_content",
        "responses id",
        "gemini signed functionCall",
        "gemini signed text",
        "gemini signed text empty",
        "gemini signed executableCode",
    }


# Errors and lists.


@pytest.mark.parametrize("exchange", each([e for e in exchanges() if e.id in FAULTS]))
async def test_l12_a_recorded_error_is_named(http: Http, exchange: Exchange) -> None:
    fault, say = FAULTS[exchange.id]
    async with Replay() as server:
        server.answer([wire(exchange)], exchange.status, exchange.kind)
        one = provider(exchange.api, server.url, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), model=exchange.model))
        with pytest.raises(ProviderError) as caught:
            await drain(stream)
        error = caught.value
        assert error.fault == fault
        assert error.status == (None if exchange.status == 200 else exchange.status)
        assert say in str(error)
        with pytest.raises(ProviderError):
            stream.reply()


@pytest.mark.parametrize("exchange", each([e for e in exchanges() if is_list(e)]))
async def test_p2_a_recorded_list_is_read(http: Http, exchange: Exchange) -> None:
    """P-2: what can hold a conversation, with its limits. The cursor leads to the same page."""
    async with Replay() as server:
        server.answer([exchange.body.encode()], kind=exchange.kind)
        models = await provider("gemini", server.url, http).models()
    listed = json.loads(exchange.body)["models"]
    able = [one for one in listed if "generateContent" in one["supportedGenerationMethods"]]
    assert [
        (f"models/{one.id}", one.name, one.context_window, one.output_limit) for one in models
    ] == [
        (one["name"], one["displayName"], one["inputTokenLimit"], one["outputTokenLimit"])
        for one in able
    ]
    assert len(server.requests) == 2
    assert "pageToken=" in server.requests[1][1]
    assert 0 < len(able) < len(listed)


def test_p1_done_is_no_event() -> None:
    """What stands for ``[DONE]`` comes from chat streams only, and once."""
    for exchange in REPLIES:
        ends = [event for event in events(exchange) if event is DONE]
        assert len(ends) == (exchange.api == "chat")
