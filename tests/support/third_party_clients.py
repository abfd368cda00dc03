"""Programs nobody here wrote, in environments of their own, and the real server's process."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import subprocess
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from support.command import ROOT, Command
from support.waiting import within

PEERS = ROOT / ".venv" / "peers"
PACKAGES = {
    "llm": ("llm==0.36",),
    "litellm": ("litellm[proxy]==1.106.2",),
    "schemathesis": ("schemathesis==4.32.5",),
    "aider": ("aider-chat==0.86.2",),
    # Of this torch there are wheels without CUDA, for who has an index with them.
    "open-webui": ("open-webui==0.12.4", "torch==2.13.0"),
    "uv": ("uv==0.13.9",),
    "mcp-servers": (
        "mcp-server-git==2026.10.19",
        "mcp-server-time==2026.10.19",
        "mcp-server-fetch==2026.10.24",
    ),
}

NODE_PACKAGES = {
    "codex": ("@openai/codex@0.171.0",),
    "claude": ("@anthropic-ai/claude-code@2.1.332",),
    "opencode": ("opencode-ai@1.18.33",),
    "vercel": (
        "ai@7.0.173",
        "@ai-sdk/openai@4.0.118",
        "@ai-sdk/openai-compatible@3.0.92",
        "@ai-sdk/anthropic@4.0.105",
    ),
    "pi": ("@mariozechner/pi-coding-agent@0.73.1",),
    "qwen": ("@qwen-code/qwen-code@0.24.4",),
    "mcp-servers-of-node": (
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
        "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
        "@playwright/mcp@0.0.83",
        "@upstash/context7-mcp@4.1.1",
    ),
    "mcp-conformance": ("@modelcontextprotocol/conformance@0.1.16",),
}
"""Some have hundreds of megabytes."""


def installed_client(name: str) -> Path:
    """The folder of a peer's commands; its environment is made when first needed."""
    home = PEERS / name
    home.mkdir(parents=True, exist_ok=True)
    stamp = home / "ready"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers may need it at once
        wanted = " ".join(PACKAGES[name])
        if not stamp.exists() or stamp.read_text() != wanted:
            # pip itself and what is never imported would take 15 s of CPU to install and compile.
            venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(home / "env")]
            subprocess.run(venv, check=True, capture_output=True)
            pip = [sys.executable, "-m", "pip", "--python", str(home / "env/bin/python"), "install"]
            quick = ["--quiet", "--no-compile", "--disable-pip-version-check"]
            done = subprocess.run([*pip, *quick, *PACKAGES[name]], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            stamp.write_text(wanted)
    return home / "env" / "bin"


def installed_node_client(name: str) -> Path:
    """The folder ``node_modules`` with a client of Node; installed when first needed."""
    home = PEERS / name
    home.mkdir(parents=True, exist_ok=True)
    stamp = home / "ready"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = " ".join(NODE_PACKAGES[name])
        if not stamp.exists() or stamp.read_text() != wanted:
            npm = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home)]
            done = subprocess.run([*npm, *NODE_PACKAGES[name]], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            stamp.write_text(wanted)
    return home / "node_modules"


@dataclass
class ServerProcess:
    """A server that runs as a process of its own."""

    address: str
    token: str
    terminal: Command


@contextlib.asynccontextmanager
async def server_process(terminal: Command) -> AsyncIterator[ServerProcess]:
    """``agent-studio serve`` until it is stopped as a person would."""
    process = await terminal.start("serve", "--port", "0", "--folder", str(terminal.folder))
    assert process.stdout is not None
    shown = ""
    try:
        async with within():
            while "Stop with" not in shown:
                line = await process.stdout.readline()
                assert line, shown
                shown += line.decode()
        address, token = (
            re.search(pattern, shown) for pattern in (r"(http://\S+)/v1", r"(as-[\w-]+)")
        )
        assert address and token, shown
        yield ServerProcess(address[1], token[1], terminal)
    finally:
        process.terminate()
        async with within():
            out, err = await process.communicate()
        assert "Traceback" not in (out + err).decode(), err.decode()


async def output_of(command: Path, *arguments: str, **environment: str) -> str:
    """What a peer prints, at home; it has to end well."""
    process = await asyncio.create_subprocess_exec(
        command, *arguments, stdout=PIPE, stderr=PIPE, stdin=asyncio.subprocess.DEVNULL,
        cwd=environment["HOME"], env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment},
    )  # fmt: skip
    async with within():
        out, err = await process.communicate()
    assert process.returncode == 0, (out.decode(), err.decode())
    return out.decode()


@contextlib.asynccontextmanager
async def running(
    command: Path, *arguments: str, cwd: Path, **environment: str
) -> AsyncIterator[Process]:
    """A peer that runs until the end of the block; what it prints goes to ``peer.log``."""
    with (cwd / "peer.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            command, *arguments, stdout=log, stderr=STDOUT, cwd=cwd,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment},
        )  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            async with within():
                await process.wait()
