"""Clients of Node, as real processes, against the real server's process; at night alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from studio.simulator import Call, RequestView, Returned, Simulator, Text, Turn
from support import nightly
from support.command import Command
from support.third_party_clients import installed_node_client, output_of, server_process

pytestmark = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE or sys.platform != "linux",
    reason="They take hundreds of megabytes of npm's registry: make nightly runs them.",
)

MODEL = "openai/sim-model"
KNOWN = "openai/gpt-6.1-sol"
"""Codex sends other kinds of tools to a model that it knows."""
WRITE = "echo hi > hello.txt"
CALLS: dict[str, dict[str, object]] = {
    "exec_command": {"cmd": WRITE},
    "functions__exec": {"input": f'await tools.exec_command({{cmd: "{WRITE}"}});'},
    "Bash": {"command": WRITE, "description": "Write"},
    "bash": {"command": WRITE, "description": "Write"},
    "run_shell_command": {"command": WRITE, "is_background": False},
    "weather": {"city": "Rome"},
}
"""What the model calls, of the tools that the client has."""
VERCEL = """
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
const [base, key, model] = process.argv.slice(2);
const openai = createOpenAI({ baseURL: base, apiKey: key });
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = tool({
  description: "Weather", inputSchema: jsonSchema(city), execute: async () => "Sunny",
});
const compatible = createOpenAICompatible({ name: "studio", baseURL: base, apiKey: key });
const anthropic = createAnthropic({ baseURL: base, apiKey: key });
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const every = [openai.responses(model), openai.chat(model), compatible.chatModel(model), anthropic(model)];
for (const one of every) {
  const asked = { model: one, tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 };
  const first = await generateText({ ...asked, prompt: "Go" });
  const said = { role: "user", content: "Thanks" };
  const messages = [{ role: "user", content: "Go" }, ...first.response.messages, said];
  const second = await generateText({ ...asked, tools: undefined, messages });
  let text = "";
  for await (const part of streamText({ ...asked, prompt: "Go" }).textStream) text += part;
  const data = Buffer.from(dot, "base64");
  const picture = { type: "file", data, mediaType: "image/png" };
  const seen = [{ role: "user", content: [{ type: "text", text: "What is it?" }, picture] }];
  const third = await generateText({ model: one, messages: seen, maxRetries: 0 });
  console.log(JSON.stringify([first.text, first.steps.length, second.text, text, third.text]));
}
"""


def script(view: RequestView) -> Turn:
    if view.items and isinstance(view.items[-1], Returned):
        return Turn(Text("All done."))
    for tool in view.body.get("tools", []):
        name = tool.get("name") or tool["function"]["name"]
        if name in CALLS:
            return Turn(Text("I do it."), Call(name, CALLS[name]))
    return Turn(Text("A dot." if "input_image" in str(view.body) else "Hello."))


async def _asked(tmp_path: Path, client: Path, *arguments: str, **environment: str) -> str:
    """What a client prints at a server; it may name the address and the token."""
    async with Simulator(script, pace=False) as simulator:
        terminal = Command(tmp_path)
        terminal.provider("openai", simulator.url("responses"))
        async with server_process(terminal) as server:

            def filled(text: str) -> str:
                return text.replace("ADDRESS", server.address).replace("TOKEN", server.token)

            for file in tmp_path.rglob("*.filled"):
                file.with_suffix("").write_text(filled(file.read_text()))
            values = {name: filled(value) for name, value in environment.items()}
            words = [filled(one) for one in arguments]
            return await output_of(client, *words, HOME=str(tmp_path), **values)


def _has_written(tmp_path: Path) -> bool:
    return (tmp_path / "hello.txt").read_text() == "hi\n"


@pytest.mark.parametrize("model", [MODEL, KNOWN])
async def test_codex(tmp_path: Path, model: str) -> None:
    """S-1: its tools are functions, custom ones and ones in a namespace, by the model."""
    codex = await asyncio.to_thread(installed_node_client, "codex") / ".bin" / "codex"
    home = tmp_path / ".codex"
    home.mkdir()
    (home / "config.toml.filled").write_text(
        f'''model = "{model}"
model_provider = "studio"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.studio]
name = "studio"
base_url = "ADDRESS/v1"
env_key = "STUDIO_KEY"
wire_api = "responses"
'''
    )
    words = ("exec", "--skip-git-repo-check", "Go")
    assert "All done." in await _asked(tmp_path, codex, *words, STUDIO_KEY="TOKEN")
    assert _has_written(tmp_path)


async def test_claude_code(tmp_path: Path) -> None:
    modules = await asyncio.to_thread(installed_node_client, "claude")
    claude = next(modules.glob("@anthropic-ai/claude-code-*/claude"))
    said = await _asked(
        tmp_path,
        claude,
        *("-p", "Go", "--dangerously-skip-permissions"),
        ANTHROPIC_BASE_URL="ADDRESS",
        ANTHROPIC_AUTH_TOKEN="TOKEN",
        ANTHROPIC_MODEL=MODEL,
        ANTHROPIC_SMALL_FAST_MODEL=MODEL,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        IS_SANDBOX="1",
    )
    assert said.strip() == "All done." and _has_written(tmp_path)


async def test_opencode(tmp_path: Path) -> None:
    modules = await asyncio.to_thread(installed_node_client, "opencode")
    opencode = min(modules.glob("opencode-*/bin/opencode"), key=lambda path: len(str(path)))
    provider: Any = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "studio",
        "options": {"baseURL": "ADDRESS/v1", "apiKey": "TOKEN"},
        "models": {MODEL: {"name": "sim"}},
    }
    config: Any = {
        "autoupdate": False,
        "permission": {"bash": "allow"},
        "provider": {"studio": provider},
        "model": f"studio/{MODEL}",
        "small_model": f"studio/{MODEL}",
    }
    (tmp_path / "opencode.json.filled").write_text(json.dumps(config))
    assert "All done." in await _asked(tmp_path, opencode, "run", "Go")
    assert _has_written(tmp_path)


async def test_vercels_library(tmp_path: Path) -> None:
    """S-2: in Responses it names words and calls by their ids in place of sending them."""
    modules = await asyncio.to_thread(installed_node_client, "vercel")
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "ask.mjs").write_text(VERCEL)
    node = Path("/usr/bin/env")
    said = await _asked(tmp_path, node, "node", "ask.mjs", "ADDRESS/v1", "TOKEN", MODEL)
    expected = ["All done.", 2, "Hello.", "I do it.All done.", "A dot."]
    assert [json.loads(line) for line in said.splitlines()] == [expected] * 4


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "anthropic-messages"])
async def test_pi(tmp_path: Path, api: str) -> None:
    """S-3: a coding agent that speaks all three APIs does its work by each."""
    pi = await asyncio.to_thread(installed_node_client, "pi") / ".bin" / "pi"
    model = {"id": MODEL, "name": "sim", "reasoning": True, "input": ["text"]}
    model |= {"contextWindow": 200_000, "maxTokens": 8000}
    model["cost"] = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    address = "ADDRESS" if api == "anthropic-messages" else "ADDRESS/v1"
    provider = {"baseUrl": address, "api": api, "apiKey": "TOKEN", "models": [model]}
    home = tmp_path / ".pi" / "agent"
    home.mkdir(parents=True)
    (home / "models.json.filled").write_text(json.dumps({"providers": {"studio": provider}}))
    said = await _asked(tmp_path, pi, "--provider", "studio", "--model", MODEL, "-p", "Go")
    assert said.strip() == "All done." and _has_written(tmp_path)


async def test_qwen_code(tmp_path: Path) -> None:
    """S-3: a coding agent for servers of Chat Completions."""
    qwen = await asyncio.to_thread(installed_node_client, "qwen") / ".bin" / "qwen"
    said = await _asked(
        tmp_path,
        qwen,
        *("--yolo", "--auth-type", "openai", "-p", "Go"),
        OPENAI_BASE_URL="ADDRESS/v1",
        OPENAI_API_KEY="TOKEN",
        OPENAI_MODEL=MODEL,
    )
    assert said.strip().endswith("All done.") and _has_written(tmp_path)
