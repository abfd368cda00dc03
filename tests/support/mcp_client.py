"""The official SDK's client at the real ``agent-studio mcp serve``. As a script: one that is killed.

The script gets the folder and a message, asks for it, and prints the first step it is told of.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from support.command import Command
from support.waiting import HANG, within

ERAS = ("legacy", "auto")
"""How the SDK's client begins: with a handshake, or without one."""


@asynccontextmanager
async def streams(process: Process) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of messages of a process (the SDK's transport)."""
    inside, read = anyio.create_memory_object_stream[Any](100)
    write, outside = anyio.create_memory_object_stream[Any](100)

    async def receive() -> None:
        assert process.stdout is not None
        async with inside:
            while line := await process.stdout.readline():
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                await inside.send(SessionMessage(message))

    async def send() -> None:
        assert process.stdin is not None
        async with outside:
            async for one in outside:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()

    tasks = [asyncio.ensure_future(receive()), asyncio.ensure_future(send())]
    try:
        yield read, write
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in (read, write):
            await one.aclose()


@asynccontextmanager
async def mcp_client(
    terminal: Command, *arguments: str, era: str = "auto", **more: Any
) -> AsyncIterator[Client]:
    """A client of a new process, which ends by itself when its client hangs up."""
    process = await terminal.start("mcp", "serve", *arguments, stdin=PIPE)
    assert process.stdin is not None and process.stderr is not None
    try:
        async with Client(streams(process), mode=era, read_timeout_seconds=HANG, **more) as client:
            yield client
    finally:
        process.stdin.close()
        async with within():
            said = (await process.stderr.read()).decode()
            code = await process.wait()
    assert code == 0 and "Traceback" not in said, said


async def ask(folder: str, message: str) -> None:
    arguments = ["-m", "studio", "mcp", "serve", "--folder", folder]
    server = StdioServerParameters(
        command=sys.executable, args=arguments, env=json.loads(os.environ["SERVED"])
    )

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        print(message, flush=True)

    async with Client(server, mode="auto", read_timeout_seconds=HANG) as client:
        await client.call_tool("ask_agent", {"message": message}, progress_callback=heard)


if __name__ == "__main__":
    asyncio.run(ask(*sys.argv[1:]))
