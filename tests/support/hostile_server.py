"""A server nobody would want: answers every request with the bytes it is given."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from studio.agent.engine import Engine
from studio.agent.retry_policy import RetryPolicy
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from support.engine_home import KEY, PROTOCOLS, give_time
from support.ready_made import ready_engine

SHOWN = b'{"capabilities":["completion","tools","thinking"],"model_info":{}}'


class HostileServer:
    """``answer`` gets the number of the request and its body; bytes, or who writes them."""

    def __init__(self, answer: Callable[[int, Any], Any]) -> None:
        self._answer = answer
        self.bodies: list[Any] = []
        self.hung_up = 0
        self.port = 0

    async def __aenter__(self) -> HostileServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**26)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length:")[2].partition("\r\n")[0].strip()
                body = json.loads(await reader.readexactly(int(length)) if length else b"{}")
                if head.split()[1].endswith("/show"):
                    answer: Any = (200, "application/json", SHOWN)
                else:
                    self.bodies.append(body)
                    answer = self._answer(len(self.bodies), body)
                if callable(answer):
                    await answer(writer)
                    break
                status, kind, content = answer
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n"
                    f"content-length: {len(content)}\r\n\r\n".encode()
                    + content
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up += 1
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def engine_at(
    home: Path, provider: str, port: int, patience: RetryPolicy | None = None
) -> AsyncIterator[tuple[Engine, Path]]:
    """A studio whose provider is at this port, and its working folder."""
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    paths = Paths.below(home / "studio")
    settings = SettingsFile(paths.settings)
    give_time(await settings.load())
    version = "/v1" if PROTOCOLS[provider] in ("responses", "chat") else ""
    settings.values.base_urls[provider] = f"http://127.0.0.1:{port}{version}"  # type: ignore[arg-type]
    engine = await ready_engine(paths, settings)
    engine.services.retry_policy = patience or RetryPolicy(attempts=1)
    if provider != "ollama":
        engine.keychain.keep_for_session(provider, KEY)
    try:
        yield engine, folder
    finally:
        await engine.close()
