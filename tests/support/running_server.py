"""The real server over a house whose provider is the strict simulator."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from studio.server.http_server import HttpServer
from studio.simulator import Script
from studio.storage.config.server_token import ENTRY
from support.engine_home import EngineHome, engine_home
from support.waiting import HANG

PROVIDER = "openai-compatible"
MODEL = f"{PROVIDER}/sim-model"


@dataclass
class RunningServer:
    """A server that runs, and a client with its token."""

    house: EngineHome
    serving: HttpServer
    client: httpx2.AsyncClient
    token: str

    @property
    def port(self) -> int:
        return int(self.serving.address.rpartition(":")[2])

    def chat(self, text: str = "Go", **more: Any) -> dict[str, Any]:
        return {"model": MODEL, "messages": [{"role": "user", "content": text}], **more}

    async def ask(self, text: str = "Go", **more: Any) -> httpx2.Response:
        return await self.client.post("/v1/chat/completions", json=self.chat(text, **more))

    def request(
        self, body: bytes | dict[str, Any], path: str = "/v1/chat/completions", **headers: str
    ) -> bytes:
        """The bytes of a request."""
        data = body if isinstance(body, bytes) else compact(body)
        lines = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data

    async def raw(
        self, body: bytes | dict[str, Any], path: str = "/v1/chat/completions", **headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A request on a socket of its own, sent and not yet answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(self.request(body, path, **headers))
        await writer.drain()
        return reader, writer


def compact(body: dict[str, Any]) -> bytes:
    """The bytes that the client sends for this body too: a repeated request is the same."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@contextlib.asynccontextmanager
async def running_server(
    home: Path,
    script: Script,
    *,
    host: str = "127.0.0.1",
    token: str = "",
    provider: str = PROVIDER,
    **more: Any,
) -> AsyncIterator[RunningServer]:
    async with engine_home(home, provider, script, **more) as opened:
        if token:  # of an earlier run
            opened.engine.keychain.keep_for_session(ENTRY, token)
        serving = HttpServer(opened.engine, host=host, port=0, folder=opened.folder)
        await serving.start()
        try:
            token = await serving.token.get()
            headers = {"authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(
                base_url=serving.address,
                headers=headers,
                verify=False,  # a TLS context takes longer than most tests
                trust_env=False,
                timeout=HANG,
            ) as client:
                yield RunningServer(opened, serving, client, token)
        finally:
            await serving.stop()


def events(text: str) -> list[Any]:
    """The data of server-sent events, the end mark left out."""
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]
