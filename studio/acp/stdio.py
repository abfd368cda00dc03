"""The stdio transport carries one JSON-RPC message a line, over standard input and output."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypeGuard, cast

LONGEST = 50_000_000
"""Bytes of a line: pictures come within one."""
_BROKEN, _NO_REQUEST = -32700, -32600


class StdioTransport:
    """Receives and sends messages (the library's ``Transport``).

    A line that is no message is answered with an error, and the connection goes on.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """``reader`` has ``LONGEST`` as its limit."""
        self._reader, self._writer = reader, writer
        self._sending = asyncio.Lock()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when the editor has hung up."""
        while True:
            try:
                line = await self._reader.readline()
                if not line:
                    return None
                if not line.strip():
                    continue
                message = json.loads(line)
            except (ValueError, RecursionError):  # also of a line that is too long
                await self._refuse(_BROKEN, "This line is not JSON.")
                continue
            if _is_message(message):
                return message
            await self._refuse(_NO_REQUEST, "This is not a message of JSON-RPC 2.0.")

    async def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode()
        async with self._sending:
            self._writer.write(data + b"\n")
            await self._writer.drain()

    async def close(self) -> None:
        """Nothing is held back, so there is nothing to do."""

    async def _refuse(self, code: int, why: str) -> None:
        error = {"code": code, "message": why}
        await self.send({"jsonrpc": "2.0", "id": None, "error": error})


def _is_message(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is a message that the library can handle; it does not check all of it."""
    if not isinstance(value, dict):
        return False
    found = cast("dict[str, Any]", value)
    return (
        isinstance(found.get("id"), str | int | None)
        and isinstance(found.get("method"), str | None)
        and isinstance(found.get("params"), dict | None)
        and isinstance(found.get("error"), dict | None)
    )
