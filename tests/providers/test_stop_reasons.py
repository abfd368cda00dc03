"""Why a reply ended: every word of every provider, mapped to ours (L-12).

The SDKs' own types say which words there are: a new one makes a test here fail.
"""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from studio.domain.models import StopReason
from studio.providers.base import Reply
from studio.providers.openai_chat.stream import calls_of
from studio.providers.sse import DONE
from support.recorded_exchanges import accumulator

# Anthropic.

ANTHROPIC: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


def anthropic(word: str | None, *blocks: dict[str, Any], **details: Any) -> Reply:
    folded = accumulator("anthropic")
    for index, block in enumerate(blocks):
        list(folded.feed({"type": "content_block_start", "index": index, "content_block": block}))
        list(folded.feed({"type": "content_block_stop", "index": index}))
    list(folded.feed({"type": "message_delta", "delta": {"stop_reason": word, **details}}))
    list(folded.feed({"type": "message_stop"}))
    return folded.reply()


SAID = {"type": "text", "text": "Well"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


def test_anthropic() -> None:
    from anthropic.types import StopReason as Theirs

    assert set(get_args(Theirs)) == ANTHROPIC.keys()
    for word, ours in ANTHROPIC.items():
        last = {"tool_use": CALL, "pause_turn": SEARCH}.get(word, SAID)
        reply = anthropic(word, SAID, last)
        assert (reply.stop, reply.detail) == (ours, "")
        # Calls are there to be answered; only tool_use runs them.
        assert bool(reply.calls) == (last is CALL)
    assert anthropic("stop_sequence", SAID, stop_sequence="END").stopped_at == "END"
    assert anthropic("end_turn", SAID, stop_sequence=None).stopped_at == ""
    for word in ("compaction", "something_new"):
        reply = anthropic(word, SAID)
        assert (reply.stop, reply.detail) == ("other", word)
        assert anthropic(word, CALL).stop == "other"
    assert anthropic("end_turn", SAID, CALL).stop == "end"
    assert anthropic(None, SAID).stop == "other"
    # Tool use without a call is nothing to go on with.
    reply = anthropic("tool_use", SAID)
    assert (reply.stop, reply.detail) == ("other", "tool_use")


def test_anthropic_refusal_has_its_category() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    reply = anthropic("refusal", SAID, stop_details=details)
    assert (reply.stop, reply.detail) == ("refusal", "cyber: Not this.")
    reply = anthropic("refusal", SAID, stop_details={"category": "bio", "explanation": None})
    assert (reply.stop, reply.detail) == ("refusal", "bio")
    assert anthropic("refusal", SAID, stop_details=None).stop == "refusal"


# OpenAI Responses.

INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "content_filter",
    "max_messages": "other",
    "steered": "other",
}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
FUNCTION = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "now",
    "arguments": "{}",
    "status": "completed",
}


def responses(end: str, response: dict[str, Any], *items: dict[str, Any]) -> Reply:
    folded = accumulator("responses")
    for index, item in enumerate(items):
        done = {"type": "response.output_item.done", "output_index": index, "item": item}
        list(folded.feed(done))
    list(folded.feed({"type": f"response.{end}", "response": response}))
    return folded.reply()


def words(kind: str = "output_text", text: str = "Well") -> dict[str, Any]:
    name = "refusal" if kind == "refusal" else "text"
    return {**MESSAGE, "content": [{"type": kind, name: text}]}


def test_responses() -> None:
    from openai.types.responses.response import IncompleteDetails, ResponseStatus

    reasons = get_args(get_args(IncompleteDetails.model_fields["reason"].annotation)[0])
    assert set(reasons) == INCOMPLETE.keys()
    for word, ours in INCOMPLETE.items():
        response = {"status": "incomplete", "incomplete_details": {"reason": word}}
        for items in ([words()], [words(), FUNCTION]):
            reply = responses("incomplete", response, *items)
            assert (reply.stop, reply.detail) == (ours, word)
    new = {"status": "incomplete", "incomplete_details": {"reason": "something_new"}}
    reply = responses("incomplete", new, words())
    assert (reply.stop, reply.detail) == ("other", "something_new")
    assert responses("incomplete", {"status": "incomplete"}, words()).stop == "other"

    done = {"status": "completed"}
    assert responses("completed", done, words()).stop == "end"
    assert responses("completed", done, words(), FUNCTION).stop == "tool_use"
    assert responses("completed", done, words("refusal")).stop == "refusal"
    for word in set(get_args(ResponseStatus)) - {"completed", "incomplete"}:
        reply = responses("completed", {"status": word}, words(), FUNCTION)
        assert (reply.stop, reply.detail) == ("other", word)


def test_responses_a_cut_call_is_dropped() -> None:
    """L-6: a call that the limit cut is no call, however well its text parses."""
    cut = {**FUNCTION, "arguments": '{"path": "a"}', "status": "incomplete"}
    limit = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    reply = responses("incomplete", limit, words(), cut)
    assert (reply.calls, reply.items) == ([], [words()])


# Chat Completions.

CHAT: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filter",
}


def chat(
    word: str | None, arguments: str | None = None, *, text: str = "Well", **usage: Any
) -> Reply:
    folded = accumulator("chat")
    delta: dict[str, Any] = {"content": text}
    if arguments is not None:
        function = {"name": "now", "arguments": arguments}
        delta["tool_calls"] = [{"index": 0, "id": "call_1", "function": function}]
    choice = {"index": 0, "delta": delta, "finish_reason": word}
    list(folded.feed({"id": "x", "choices": [choice], "usage": usage or None}))
    list(folded.feed(DONE))
    return folded.reply()


def test_chat() -> None:
    from openai.types.chat.chat_completion_chunk import Choice

    theirs = get_args(get_args(Choice.model_fields["finish_reason"].annotation)[0])
    assert set(theirs) == CHAT.keys()
    for word, ours in CHAT.items():
        reply = chat(word, "{}" if ours == "tool_use" else None)
        assert (reply.stop, reply.detail) == (ours, "")
    for word in ("insufficient_system_resource", "something_new"):
        for arguments in (None, "{}"):
            reply = chat(word, arguments)
            assert (reply.stop, reply.detail) == ("other", word)
    # A forced function ends with "stop" at OpenAI itself, and everywhere at some servers.
    assert chat("stop", "{}").stop == "tool_use"
    assert chat("tool_calls").stop == "end"
    # With the length or a filter nothing runs.
    for word in ("length", "content_filter"):
        assert chat(word, "{}").stop == CHAT[word]


@pytest.mark.parametrize("arguments", ['{"path": "a"', '{"path": "a", "content": "rm -rf /tm'])
def test_l6_chat_runs_only_what_was_surely_whole(arguments: str) -> None:
    """L-6: a repair where the server said the call is complete, never where it said nothing."""
    assert chat("length", arguments).calls == []
    assert chat("something_new", arguments).calls == []
    [call] = chat(None, arguments).calls  # the model is asked to send it again
    assert (call.arguments, call.raw) == (None, arguments)
    [call] = chat("tool_calls", arguments).calls
    if "content" in arguments:  # it ends inside a string: guessing one would run half of it
        assert call.arguments is None
        assert call.raw == arguments
    else:
        assert call.arguments == {"path": "a"}


def test_chat_without_a_reason_runs_whole_calls() -> None:
    reply = chat(None, '{"path": "a"}')
    assert reply.stop == "tool_use"
    assert [call.arguments for call in reply.calls] == [{"path": "a"}]


def test_unreadable_arguments_stay_unreadable() -> None:
    """H-5: after a crash the call is what it was when it came."""
    reply = chat("tool_calls", '{"path": "a", "content": "rm')
    assert [calls_of(item) for item in reply.items] == [reply.calls]
    sent = reply.items[0]["tool_calls"][0]["function"]["arguments"]  # type: ignore[index,call-overload]
    assert isinstance(json.loads(sent), dict)


def test_the_servers_own_price_is_kept() -> None:
    assert chat("stop", prompt_tokens=1, cost=0.00007159).cost == 0.00007159
    assert chat("stop", prompt_tokens=1, cost=0).cost == 0.0
    for odd in (None, "1", True, -1):
        assert chat("stop", prompt_tokens=1, cost=odd).cost is None


# Gemini.

GEMINI: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "FINISH_REASON_UNSPECIFIED": "other",
    "OTHER": "other",
    "MALFORMED_FUNCTION_CALL": "other",
    "MALFORMED_RESPONSE": "other",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "UNEXPECTED_TOOL_CALL": "other",
    "TOO_MANY_TOOL_CALLS": "other",
    "MISSING_THOUGHT_SIGNATURE": "other",
    "ESCALATION": "other",
    "PUP_LIMITED_DISABLED": "other",
}


def gemini(word: str, *parts: dict[str, Any], **more: Any) -> Reply:
    folded = accumulator("gemini")
    candidate = {"content": {"parts": list(parts)}, "finishReason": word, **more}
    list(folded.feed({"candidates": [candidate]}))
    return folded.reply()


def test_gemini() -> None:
    from google.genai.types import FinishReason

    assert {reason.value for reason in FinishReason} == GEMINI.keys()
    call = {"functionCall": {"name": "now", "args": {}}}
    for word, ours in GEMINI.items():
        detail = "" if ours == "end" else word
        reply = gemini(word, {"text": "Well"})
        assert (reply.stop, reply.detail) == (ours, detail)
        # STOP comes after calls, too; after any other end nothing runs.
        reply = gemini(word, call)
        assert (reply.stop, len(reply.calls)) == ("tool_use" if ours == "end" else ours, 1)
    reply = gemini("MODEL_ARMOR", {"text": "Well"}, finishMessage="Blocked by a template.")
    assert reply.detail == "MODEL_ARMOR: Blocked by a template."
    assert gemini("SOMETHING_NEW").detail == "SOMETHING_NEW"


def test_gemini_blocked_prompts_are_refusals() -> None:
    from google.genai.types import BlockedReason

    for reason in BlockedReason:
        folded = accumulator("gemini")
        list(folded.feed({"promptFeedback": {"blockReason": reason.value}}))
        reply = folded.reply()
        assert (reply.stop, reply.detail, reply.items) == ("refusal", reason.value, [])
