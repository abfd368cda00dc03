"""Clients nobody here wrote, as real processes, against the real server's process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from studio.simulator import Call, RequestView, Script, Simulator, Text, Think, Turn
from support import nightly
from support.command import Command
from support.engine_home import reply_requests
from support.local_site import free_port
from support.third_party_clients import (
    ServerProcess,
    installed_client,
    output_of,
    running,
    server_process,
)
from support.waiting import HANG, within

CHAT = "openai-compatible"
MODEL = f"{CHAT}/sim-model"
ALICE = [
    {"role": "user", "content": "My name is Alice"},
    {"role": "assistant", "content": "Hello Alice"},
    {"role": "user", "content": "What is my name?"},
]
DOG = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


@contextlib.asynccontextmanager
async def server(tmp_path: Path, script: Script) -> AsyncIterator[tuple[ServerProcess, Simulator]]:
    async with Simulator(script, pace=False) as simulator:
        terminal = Command(tmp_path)
        terminal.provider(CHAT, simulator.url("chat"))
        async with server_process(terminal) as answerer:
            yield answerer, simulator


@pytest.mark.parametrize("model", ["agent/Assistant", "builtin/smollm2"])
async def test_alice_is_answered_by_the_built_in_model(tmp_path: Path, model: str) -> None:
    """S-2: a real model, from history alone, whole and streamed."""
    async with server_process(Command(tmp_path)) as answerer:
        headers = {"authorization": f"Bearer {answerer.token}"}
        async with httpx2.AsyncClient(
            base_url=answerer.address, headers=headers, trust_env=False, timeout=HANG
        ) as client:
            body: dict[str, Any] = {"model": model, "messages": ALICE}
            whole = await client.post("/v1/chat/completions", json=body)
            assert "Alice" in whole.json()["choices"][0]["message"]["content"], whole.text
            streamed = await client.post("/v1/chat/completions", json={**body, "stream": True})
            assert "Alice" in streamed.text and streamed.text.endswith("data: [DONE]\n\n")


async def test_llm(tmp_path: Path) -> None:
    """S-1, S-3: plain, streaming, a conversation, a schema, and one of its own tools."""
    script = [
        Turn(Think("hm"), Text("Hello there.")),
        Turn(Text("Hello Alice.")),
        Turn(Text("Alice.")),
        Turn(Text('{"name": "Rex", "age": 3}')),
        Turn(Call("llm_version", {})),
        Turn(Text("It is old.")),
    ]
    llm = await asyncio.to_thread(installed_client, "llm") / "llm"
    async with server(tmp_path, script) as (answerer, simulator):
        home = tmp_path / "llm"
        home.mkdir()
        model = {
            "model_id": "studio", "model_name": MODEL, "api_base": f"{answerer.address}/v1",
            "api_key_name": "studio", "supports_schema": True, "supports_tools": True,
        }  # fmt: skip
        (home / "extra-openai-models.yaml").write_text(json.dumps([model]))
        (home / "keys.json").write_text(json.dumps({"studio": answerer.token}))

        async def ask(*arguments: str) -> str:
            return (
                await output_of(llm, *arguments, LLM_USER_PATH=str(home), HOME=str(home))
            ).strip()

        assert await ask("-m", "studio", "Hello") == "Hello there."
        assert await ask("-m", "studio", "--no-stream", "My name is Alice") == "Hello Alice."
        assert await ask("-c", "What is my name?") == "Alice."
        sent = [message["content"] for message in reply_requests(simulator)[2].json["messages"]]
        assert sent == ["My name is Alice", "Hello Alice.", "What is my name?"]
        dog = await ask("-m", "studio", "--schema", json.dumps(DOG), "Invent a dog")
        assert json.loads(dog) == {"name": "Rex", "age": 3}
        assert await ask("-m", "studio", "-T", "llm_version", "How old?") == "It is old."
        roles = [message["role"] for message in reply_requests(simulator)[5].json["messages"]]
        assert roles == ["user", "assistant", "tool"]
        models = await ask("models")
        assert "studio" in models


EDIT = f"""I change it.

hello.py
```
{"<" * 7} SEARCH
print("hi")
{"=" * 7}
print("hello")
{">" * 7} REPLACE
```
"""


@pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE or sys.version_info >= (3, 13),
    reason="It takes 700 megabytes, and Python 3.12 at most: make nightly runs it.",
)
async def test_aider(tmp_path: Path) -> None:
    """S-1, S-3: it changes a file by what a bare model says; what it asks for itself is no chat."""

    def script(view: RequestView) -> Turn:
        asked = str(view.body["messages"])
        return Turn(Text("Say hello" if "commit message" in asked else EDIT))

    aider = await asyncio.to_thread(installed_client, "aider") / "aider"
    async with server(tmp_path, script) as (answerer, simulator):
        file = tmp_path / "hello.py"
        file.write_text('print("hi")\n')
        for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
            await output_of(Path("git"), *command, HOME=str(tmp_path), **GIT)
        quiet = (
            "--yes-always --no-check-update --no-show-model-warnings --analytics-disable "
            "--no-show-release-notes --no-gitignore --no-pretty --edit-format diff"
        )
        told = await output_of(
            aider, *quiet.split(), "--model", f"openai/{MODEL}", "--weak-model", f"openai/{MODEL}",
            "--message", "Say hello", "hello.py", HOME=str(tmp_path), **GIT,
            OPENAI_API_BASE=f"{answerer.address}/v1", OPENAI_API_KEY=answerer.token,
        )  # fmt: skip
        assert "Applied edit to hello.py" in told and file.read_text() == 'print("hello")\n'
        log = await output_of(Path("git"), "log", "--format=%s", HOME=str(tmp_path), **GIT)
        assert len(log.splitlines()) == 2
        asked = [str(one.json["messages"]) for one in reply_requests(simulator)]
        assert ["commit message" in one for one in asked] == [False, True]
        kept = await answerer.terminal("sessions", "list", "--origin", "server", "--json")
        assert len(json.loads(kept.out)) == 1


GIT = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip


@pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE,
    reason="It takes hundreds of megabytes of PyPI and a minute: make nightly runs it.",
)
async def test_litellm_in_front(tmp_path: Path) -> None:
    """S-3: a gateway passes on chat whole, streamed and with tools, and speaks Anthropic's API."""
    script = [
        Turn(Text("Alice.")),
        Turn(Text("Hello there.")),
        Turn(Call("weather", {"town": "Ulm"})),
        Turn(Text("Rain.")),
        Turn(Text("Alice again.")),
    ]
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    litellm = await asyncio.to_thread(installed_client, "litellm") / "litellm"
    async with server(tmp_path, script) as (answerer, simulator):
        port = free_port()
        config = {
            "model_list": [
                {
                    "model_name": "studio",
                    "litellm_params": {
                        "model": f"openai/{MODEL}",
                        "api_base": f"{answerer.address}/v1",
                        "api_key": "os.environ/STUDIO_TOKEN",
                    },
                }
            ]
        }
        (tmp_path / "litellm.yaml").write_text(json.dumps(config))
        async with running(
            litellm, "--config", "litellm.yaml", "--port", str(port), "--host", "127.0.0.1",
            cwd=tmp_path, STUDIO_TOKEN=answerer.token, HOME=str(tmp_path), NO_PROXY="*",
            LITELLM_MASTER_KEY="sk-front-0123456789abcdef0123456789abcdef",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
        ) as process:  # fmt: skip
            headers = {"authorization": "Bearer sk-front-0123456789abcdef0123456789abcdef"}
            async with httpx2.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=HANG
            ) as client:
                async with within():
                    while not await up(client):
                        assert process.returncode is None, (tmp_path / "peer.log").read_text()

                async def ask(path: str = "/v1/chat/completions", **body: Any) -> httpx2.Response:
                    answer = await client.post(path, json={"model": "studio", **body})
                    assert answer.status_code == 200, answer.text
                    return answer

                whole = (await ask(messages=ALICE)).json()["choices"][0]["message"]
                assert whole["content"] == "Alice."
                assert reply_requests(simulator)[0].json["messages"] == ALICE
                streamed = await ask(messages=ALICE[:1], stream=True)
                deltas = [
                    json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                    for line in streamed.text.splitlines()
                    if line.startswith("data: {")
                ]
                assert "".join(deltas) == "Hello there."
                messages: list[Any] = [{"role": "user", "content": "Weather?"}]
                called = (await ask(messages=messages, tools=[tool])).json()["choices"][0]
                assert called["finish_reason"] == "tool_calls"
                call = called["message"]["tool_calls"][0]
                assert json.loads(call["function"]["arguments"]) == {"town": "Ulm"}
                messages += [
                    {"role": "assistant", "tool_calls": called["message"]["tool_calls"]},
                    {"role": "tool", "tool_call_id": call["id"], "content": "Rain"},
                ]
                last = (await ask(messages=messages, tools=[tool])).json()["choices"][0]
                assert last["message"]["content"] == "Rain."
                claude = (await ask("/v1/messages", max_tokens=50, messages=ALICE)).json()
                assert claude["content"][0]["text"] == "Alice again."


HOUSEKEEPING = '{"title": "Towns", "tags": ["geography"], "follow_ups": ["How large is it?"]}'
"""An answer to all that Open WebUI asks for itself."""


@pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE or sys.version_info >= (3, 13),
    reason="It takes three gigabytes of PyPI, and Python 3.12 at most: make nightly runs it.",
)
async def test_open_webui(tmp_path: Path) -> None:
    """S-1, S-3: it lists our models and streams a chat; what it asks for itself is no chat."""

    def script(view: RequestView) -> Turn:
        if "### Task:" in str(view.body["messages"]):
            return Turn(Text(HOUSEKEEPING))
        return Turn(Text("Ulm lies on the Danube."))

    commands = await asyncio.to_thread(installed_client, "open-webui")
    port, model = free_port(), f"{CHAT}/demo-fast"
    address = f"http://127.0.0.1:{port}"
    async with server(tmp_path, script) as (answerer, simulator):
        async with (
            running(
                commands / "open-webui", "serve", "--host", "127.0.0.1", "--port", str(port),
                cwd=tmp_path, HOME=str(tmp_path), DATA_DIR=str(tmp_path / "webui"), NO_PROXY="*",
                WEBUI_AUTH="False", WEBUI_SECRET_KEY="of-this-test-alone", OFFLINE_MODE="True",
                HF_HUB_OFFLINE="1", ENABLE_OLLAMA_API="False",
                BYPASS_EMBEDDING_AND_RETRIEVAL="True",
                OPENAI_API_BASE_URL=f"{answerer.address}/v1", OPENAI_API_KEY=answerer.token,
            ) as process,
            httpx2.AsyncClient(base_url=address, trust_env=False, timeout=HANG) as client,
        ):  # fmt: skip
            async with within():
                while not await up(client, "/health"):
                    assert process.returncode is None, (tmp_path / "peer.log").read_text()
            person = {"email": "", "password": ""}
            signed = await client.post("/api/v1/auths/signin", json=person)
            client.headers["authorization"] = f"Bearer {signed.json()['token']}"

            async def ask(path: str, **body: Any) -> httpx2.Response:
                answer = await client.post(path, json={"model": model, **body})
                assert answer.status_code == 200, (answer.text, _log(tmp_path))
                return answer

            models = (await client.get("/api/models")).json()["data"]
            assert model in [one["id"] for one in models]
            said = [{"role": "user", "content": "Where is Ulm?"}]
            streamed = await ask("/api/chat/completions", messages=said, stream=True)
            deltas = [
                json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                for line in streamed.text.splitlines()
                if line.startswith("data: {") and '"delta"' in line
            ]
            assert "".join(deltas) == "Ulm lies on the Danube."
            said.append({"role": "assistant", "content": "".join(deltas)})
            for kind in ("title", "tags", "follow_up"):
                made = await ask(f"/api/v1/tasks/{kind}/completions", messages=said)
                assert made.json()["choices"][0]["message"]["content"] == HOUSEKEEPING
            said.append({"role": "user", "content": "Thanks"})
            await ask("/api/chat/completions", messages=said, stream=True)
        asked = [str(one.json["messages"]) for one in reply_requests(simulator)]
        assert ["### Task:" in one for one in asked] == [False, True, True, True, False]
        kept = json.loads((await answerer.terminal("sessions", "list", "--json")).out)
        assert len(kept) == 1 and kept[0]["origin"] == "server", kept


def _log(folder: Path) -> str:
    return (folder / "peer.log").read_text()[-4000:]


async def up(client: httpx2.AsyncClient, path: str = "/health/liveliness") -> bool:
    try:
        return (await client.get(path)).status_code == 200
    except httpx2.TransportError:
        await asyncio.sleep(0.2)
        return False
