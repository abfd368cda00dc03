"""What we would send next beside what was really sent next, and accepted.

Wherever a later request in a recording goes on from a recorded reply, our native
items for that reply have to be the ones in that request, and our results have to
answer its calls in the same way.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from studio.domain.messages import Text, ToolCall, ToolResult
from studio.providers.base import Provider, Reply
from studio.providers.http import Http
from support.recorded_exchanges import Exchange, accumulator, events, exchanges, provider
from support.recorded_replies import REPLIES

pytestmark = pytest.mark.recordings

CHANGED = {
    "openai-openai_responses_thinking_with_modified_history-1": "says something else on purpose",
    "openai-openai_responses_thinking_with_modified_history-2": "says something else on purpose",
    "groq-tool_use_failed_error_streaming-2": "sends the reasoning as words between tags",
    "openai-openai_native_tool_search_streaming-1": "writes the search for tools anew",
}
"""Requests whose client rewrote what the model had said, and how."""


def continued() -> list[Any]:
    """Each request that goes on from a recorded reply, with that reply's exchange."""
    found: list[Any] = []
    for later in exchanges():
        if not isinstance(later.request, dict):
            continue
        earlier = [
            one
            for one in REPLIES
            if one.file == later.file
            and one.number < later.number
            and one.api == later.api
            and len(one.history) < len(later.history)
        ]
        if earlier:
            first = max(earlier, key=lambda one: (len(one.history), one.number))
            found.append(pytest.param(first, later, id=later.id))
    return found


@pytest.mark.parametrize(("first", "later"), continued())
def test_h1_what_goes_back_is_what_went_back(first: Exchange, later: Exchange) -> None:
    """H-1, H-3: the same items, and every result under its call."""
    one = provider(first.api, "http://127.0.0.1:1", Http())
    reply = replied(first)
    rest = later.history[len(first.history) :]
    theirs = as_sent([item for item in rest if is_models(item)])
    ours = as_sent(reply.items)
    if later.id in CHANGED:
        assert ours != theirs
    else:
        assert ours == theirs
    answers(one, reply, rest)


def test_the_table_of_changes_is_true() -> None:
    ids = {case.id for case in continued()}
    assert CHANGED.keys() <= ids
    assert len(ids) == 55


def replied(exchange: Exchange) -> Reply:
    folded = accumulator(exchange.api, exchange.history)
    for event in events(exchange):
        list(folded.feed(event))
    return folded.reply()


def is_models(item: Any) -> bool:
    """Whether the model said this item of a history, of any protocol."""
    kind = str(item.get("type", ""))
    return (
        item.get("role") in ("assistant", "model")
        or kind in ("reasoning", "message", "tool_search_output")
        or kind.endswith("_call")
    )


# The one place where the ways of the recording clients are evened out.

SNAKE = {"function_call": "functionCall", "thought_signature": "thoughtSignature"}
"""Vertex takes both spellings."""
FOLDED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "--", "…": "..."})
"""The recordings hold quotes and dashes of requests as ASCII."""
DROPPED = {
    "caller",  # Anthropic: who calls a tool, the model itself if nothing is said
    "sources",  # Responses: of a web search
    "outputs",  # Responses: of the code interpreter
}


def as_sent(items: list[Any]) -> list[Any]:
    """Native items without what the recording clients are known to change.

    They leave out empty and null fields, a call's status and (one of them) a
    Responses call's id; they give ids of their own to Gemini's calls that have
    none, leave out Gemini's unsigned thoughts, join its unsigned texts, and
    write arguments as JSON of their own. One sends an assistant's text and its
    calls as two messages.
    """
    joined: list[Any] = []
    for item in map(_even, items):
        if "parts" in item:
            joined.append({**item, "parts": _parts(item["parts"])})
        elif "role" not in item or "content" in item or "tool_calls" in item:
            joined.append(item)
    return joined


def _even(value: Any) -> Any:
    if isinstance(value, list):
        return [_even(one) for one in value]
    if isinstance(value, str):
        return value.translate(FOLDED)
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, one in value.items():
        name = SNAKE.get(name, name)
        if one is None or one in ([], "") or name in DROPPED:
            continue
        if name == "arguments" and isinstance(one, str):
            found[name] = json.loads(one)
        elif name == "thoughtSignature":
            found[name] = decoded(one)
        elif name == "functionCall" and re.match("pyd_ai_|call_", one.get("id", "")):
            found[name] = {key: one[key] for key in ("name", "args")}
        else:
            found[name] = _even(one)
    if value.get("type") == "function_call":
        found.pop("status", None)
        found.pop("id", None)
    return found


def _parts(parts: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for part in parts:
        if part.get("thought") and "thoughtSignature" not in part:
            continue
        if set(part) == {"text"} and kept and set(kept[-1]) == {"text"}:
            kept[-1] = {"text": kept[-1]["text"] + part["text"]}
        else:
            kept.append(part)
    return kept


def decoded(signature: str) -> bytes:
    plain = signature.replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


# Results.


@dataclass(frozen=True)
class Answered:
    """One native result: what kind of item it is, which call it names, what it says."""

    kind: str
    call: str
    text: str
    is_error: bool = False


def answers(one: Provider, reply: Reply, rest: list[Any]) -> None:
    """Given what the tools returned then, our results are the ones that were sent then."""
    left = answered(rest)
    theirs: list[Answered] = []
    for call in reply.calls:  # calls of one function without ids are answered in their order
        theirs.append(next(found for found in left if found.call == named(call)))
        left.remove(theirs[-1])
    assert not left
    given = [
        ToolResult(call.id, call.name, (Text(found.text),), found.is_error)
        for call, found in zip(reply.calls, theirs, strict=True)
    ]
    ours = [
        found if sent.text else replace(found, text="")  # what we say of no output
        for found, sent in zip(answered(one.result_items(given)), theirs, strict=True)
    ]
    assert ours == theirs


def named(call: ToolCall) -> str:
    """What names a call in its result: its id, or its function where the server gave no id."""
    return call.name if call.id.startswith("studio-") else call.id


def answered(items: list[Any]) -> list[Answered]:
    """The results in these items."""
    found: list[Answered] = []
    for item in items:
        if item.get("type") == "function_call_output":
            found.append(Answered(item["type"], item["call_id"], text_of(item["output"])))
        elif item.get("role") == "tool":
            found.append(Answered("tool", item["tool_call_id"], text_of(item["content"])))
        for block in item["content"] if isinstance(item.get("content"), list) else []:
            if block.get("type") == "tool_result":
                words, failed = text_of(block.get("content")), block.get("is_error", False)
                found.append(Answered("tool_result", block["tool_use_id"], words, failed))
        for part in item.get("parts", []):
            if response := part.get("functionResponse") or part.get("function_response"):
                made_up = re.match("pyd_ai_|call_", response.get("id", "")) or "id" not in response
                call = response["name"] if made_up else response["id"]
                said = list(response["response"].values())
                # The clients name the one value differently, and some send an object.
                text = said[0] if said and isinstance(said[0], str) else ""
                found.append(Answered("response", call, text))
    return found


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if "text" in part)
    return content if isinstance(content, str) else ""
