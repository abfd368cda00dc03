"""What hostile servers, files and moments do to a session: nothing it cannot go on from."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from adversary import Adversary, home_of
from house import say

from studio.domain.events import Failed, StepEnded, TextDelta

HALF = "\\ud800"


def chat(delta: str, finish: str = '"stop"', more: str = "") -> bytes:
    choice = f'{{"index":0,"delta":{delta},"finish_reason":{finish}}}'
    return f'data: {{"id":"x","choices":[{choice}]{more}}}\n\n'.encode()


def line(message: str, more: str = "") -> bytes:
    return f'{{"message":{message},"done":true,"done_reason":"stop"{more}}}\n'.encode()


def contents(parts: str, usage: str = "{}") -> bytes:
    candidate = f'{{"content":{{"role":"model","parts":[{parts}]}},"finishReason":"STOP"}}'
    return f'data: {{"candidates":[{candidate}],"usageMetadata":{usage}}}\r\n\r\n'.encode()


def call(arguments: str, identifier: str = "a", name: str = "read", more: str = "") -> str:
    function = f'{{"name":"{name}","arguments":{arguments}}}'
    return f'{{"content":"","tool_calls":[{{"id":"{identifier}","function":{function}{more}}}]}}'


FINE = {
    "openai-compatible": ("text/event-stream", chat('{"content":"fine"}')),
    "ollama": ("application/x-ndjson", line('{"content":"fine"}')),
    "gemini": ("text/event-stream", contents('{"text":"fine"}')),
}
ODD = {
    "chat-number": ("openai-compatible", chat(call('"{}"', more=',"x":1e999'))),
    "chat-nan": ("openai-compatible", chat(call('{"path":NaN}'))),
    "chat-id": ("openai-compatible", chat(call('"{}"', identifier=HALF, more=f',"x":"{HALF}"'))),
    "chat-name": ("openai-compatible", chat(call('"{}"', name=f"re{HALF}ad"))),
    "chat-thought": (
        "openai-compatible",
        chat(f'{{"content":"x","reasoning_details":[{{"text":"{HALF}","n":1e999}}]}}'),
    ),
    "ollama-number": ("ollama", line(call('{"path":1e999}'))),
    "ollama-nan": ("ollama", line(call('{"path":NaN}', more=',"x":NaN'))),
    "ollama-id": ("ollama", line(call(f'{{"path":"{HALF}"}}', identifier=HALF, name=HALF))),
    "gemini-nan": ("gemini", contents('{"functionCall":{"name":"read","args":{"path":NaN}}}')),
    "gemini-half": (
        "gemini",
        contents(f'{{"functionCall":{{"id":"{HALF}","name":"read","args":{{"path":"{HALF}"}}}}}}'),
    ),
    "gemini-part": ("gemini", contents('{"text":"x","zork":[1e999]}')),
}


def sendable(body: Any) -> bool:
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    return True


@pytest.mark.parametrize("case", ODD)
async def test_what_nobody_would_take_back_is_never_sent_back(case: str, tmp_path: Path) -> None:
    """H-1, H-5: not a number, and halves of characters, wherever a server writes them."""
    provider, answer = ODD[case]
    kind, fine = FINE[provider]

    async with Adversary(lambda n, _: (200, kind, answer if n == 1 else fine)) as server:
        async with home_of(tmp_path, provider, server.port) as (studio, folder):
            session = await studio.sessions.create(
                folder=str(folder), agent="Coder", provider=provider, model="m"
            )
            assert (await say(session))[-1].reason == "done"  # type: ignore[union-attr]
            assert (await say(session, "More"))[-1].reason == "done"  # type: ignore[union-attr]
        async with home_of(tmp_path, provider, server.port) as (studio, _):
            again = await studio.sessions.open(session.info.id)
            assert (await say(again, "More"))[-1].reason == "done"  # type: ignore[union-attr]
            assert not again.damage
        assert all(sendable(body) for body in server.bodies)


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ("ollama", line('{"content":"x"}', ',"prompt_eval_count":1e999,"eval_count":NaN')),
        ("gemini", contents('{"text":"x"}', '{"promptTokenCount":1e999}')),
        ("openai-compatible", chat('{"content":"x"}', more=',"usage":{"cost":1e999}')),
        ("openai-compatible", chat('{"content":"x"}', more=f',"usage":{{"cost":1{"0" * 400}}}')),
    ],
)
async def test_absurd_figures_do_not_lose_the_answer(
    provider: str, answer: bytes, tmp_path: Path
) -> None:
    """H-1: what a server says it used is no reason to throw its answer away."""
    async with (
        Adversary(lambda n, _: (200, FINE[provider][0], answer)) as server,
        home_of(tmp_path, provider, server.port) as (studio, folder),
    ):
        session = await studio.sessions.create(
            folder=str(folder), agent="Coder", provider=provider, model="m"
        )
        events = await say(session)
        assert TextDelta("x") in events
        assert not [event for event in events if isinstance(event, Failed)]
        (ended,) = [event for event in events if isinstance(event, StepEnded)]
        assert ended.usage.total >= 0
        assert ended.cost is None or math.isfinite(ended.cost)
