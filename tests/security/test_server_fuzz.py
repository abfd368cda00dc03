"""Whatever is sent to the routes: no 500, no hang, no leak."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic.types import message_count_tokens_params, message_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import TypeAdapter

from studio.simulator import RequestView, Simulator, Text, Turn
from support.command import Command
from support.third_party_clients import ServerProcess, installed_client, output_of, server_process
from support.waiting import HANG

CHAT = "openai-compatible"
MODEL = f"{CHAT}/sim-model"
BODIES: dict[str, Any] = {
    "/v1/chat/completions": completion_create_params.CompletionCreateParamsNonStreaming,
    "/v1/responses": response_create_params.ResponseCreateParamsNonStreaming,
    "/v1/messages": message_create_params.MessageCreateParamsNonStreaming,
    "/v1/messages/count_tokens": message_count_tokens_params.MessageCountTokensParams,
}
"""What each official client may send, by its own types."""
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
ATTACKS = 20_000 if NIGHTLY else 1_000
SEARCHED = 240 if NIGHTLY else 8
"""Seconds that requests are tried for; how many they are is no verdict."""
NO_KEY = re.compile(r"(?<![\w-])(?:sk-|as-[\w-]{20})|Traceback|File \"|/studio/")
"""What no answer may show."""


def described() -> dict[str, Any]:
    """The routes as an OpenAPI document, made of the clients' own types."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for number, (path, kind) in enumerate(BODIES.items()):
        template = f"#/components/schemas/d{number}_{{model}}"
        body = TypeAdapter(kind).json_schema(ref_template=template)
        for name, schema in body.pop("$defs", {}).items():
            schemas[f"d{number}_{name}"] = schema
        body["properties"]["model"] = {"enum": [MODEL, "agent/Coder", "builtin/none"]}
        body["properties"]["stream"] = {"type": "boolean"}
        answers = {"default": {"description": "Whatever it is, it is JSON or events"}}
        request = {"required": True, "content": {"application/json": {"schema": body}}}
        paths[path] = {"post": {"requestBody": request, "responses": answers}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "The server", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def always(_: RequestView) -> Turn:
    return Turn(Text("Well."))


@pytest.fixture
async def answerer(tmp_path: Path) -> Any:
    async with Simulator(always, pace=False) as simulator:
        terminal = Command(tmp_path)
        terminal.provider(CHAT, simulator.url("chat"))
        async with server_process(terminal) as found:
            yield found


async def test_what_the_clients_types_allow_and_what_they_do_not(
    tmp_path: Path, answerer: ServerProcess
) -> None:
    """S-3: Schemathesis makes requests of the SDKs' own types, right and wrong."""
    (tmp_path / "openapi.json").write_text(json.dumps(described()))
    schemathesis = await asyncio.to_thread(installed_client, "schemathesis") / "st"
    # One worker: in Python 3.11 two threads that parse sources at once may fail (its issue 106905).
    await output_of(
        schemathesis, "run", str(tmp_path / "openapi.json"), "--url", answerer.address,
        "--header", f"Authorization: Bearer {answerer.token}", "--phases", "coverage,fuzzing",
        "--checks", "not_a_server_error", "--max-time", str(SEARCHED), "--workers", "1",
        "--no-color", "--continue-on-failure", "--suppress-health-check", "all", "--seed", "1",
        HOME=str(tmp_path),
    )  # fmt: skip


def hostile(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Bodies without end: cut, turned, deep, long, of other kinds."""
    good: list[dict[str, Any]] = [
        {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9},
        {"model": MODEL, "input": [{"role": "user", "content": "Hi"}]},
        {"model": MODEL, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
    ]  # fmt: skip
    odd: list[Any] = [
        None, True, -1, 1e308, 10**40, "", "\0", "é" * 999, [], {}, [[]], {"": {}}, "../../etc",
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, [None] * 50,
        {"role": "tool", "tool_call_id": "x", "content": "y"}, "data:image/png;base64,AAAA",
        {"type": "function", "function": {"name": "read", "parameters": {"$ref": "http://x/"}}},
    ]  # fmt: skip
    paths = list(BODIES)
    while True:
        body = json.loads(json.dumps(chance.choice(good)))
        for _ in range(chance.randrange(4)):
            spoil(chance, body, odd)
        data = json.dumps(body).encode()
        match chance.randrange(6):
            case 0:
                data = data[: chance.randrange(len(data))]
            case 1:
                place = chance.randrange(len(data))
                data = data[:place] + chance.randbytes(4) + data[place:]
            case 2:
                data = chance.choice(
                    [b"[" * 5000, b'{"a":' * 3000, b"\xff\xfe", b"nul", b"1" * 9999]
                )
            case _:
                pass
        yield chance.choice(paths), data


def spoil(chance: random.Random, value: Any, odd: list[Any]) -> None:
    """Put something odd somewhere."""
    while isinstance(value, dict | list) and value:
        key: Any = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if not isinstance(inner, dict | list) or chance.random() < 0.4:
            value[key] = copy.deepcopy(chance.choice(odd))
            if isinstance(value, dict) and chance.random() < 0.3:
                name = chance.choice(["tools", "stop", "stream", "response_format", "n", "x"])
                value[name] = copy.deepcopy(chance.choice(odd))
            return
        value = inner


async def test_hostile_bodies_at_full_speed(answerer: ServerProcess) -> None:
    """S-4: every one is answered, soon, and with nothing of the inside in it."""
    chance = random.Random(5)
    bodies = islice(hostile(chance), ATTACKS)
    seen: dict[int, int] = {}
    headers = {"authorization": f"Bearer {answerer.token}", "content-type": "application/json"}
    async with httpx2.AsyncClient(
        base_url=answerer.address, headers=headers, trust_env=False, timeout=HANG
    ) as client:

        async def attacker() -> None:
            for path, data in bodies:
                answer = await client.post(path, content=data)
                seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
                assert answer.status_code not in (500, 501), (path, data, answer.text)
                assert not NO_KEY.search(answer.text), (path, data, answer.text)

        await asyncio.gather(*(attacker() for _ in range(8)))
        assert seen.get(200) and seen.get(400), seen
        assert (await client.get("/v1/models")).status_code == 200
