"""Eras: remembers which servers want a handshake, so that they are asked once (M-1)."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

from studio.domain.jsonvalue import as_object, as_text
from studio.files.atomic_write import write_atomically

MOST = 500
"""Servers that are remembered."""


class Eras:
    """The era of each server by the digest of its entry; a lost file costs a question."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, str] | None = None

    async def of(self, digest: str) -> str:
        if self._known is None:
            self._known = await asyncio.to_thread(self._read)
        return self._known.get(digest, "")

    async def keep(self, digest: str, era: str) -> None:
        if self._known is None or self._known.get(digest) == era:
            return
        self._known.pop(digest, None)
        self._known[digest] = era
        newest = dict(list(self._known.items())[-MOST:])
        with suppress(OSError):
            await asyncio.to_thread(write_atomically, self._path, json.dumps(newest).encode())

    def _read(self) -> dict[str, str]:
        with suppress(OSError, ValueError):
            found = as_object(json.loads(self._path.read_bytes()))
            return {digest: era for digest, one in found.items() if (era := as_text(one))}
        return {}
