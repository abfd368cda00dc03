"""The audit export: writes the calls of tools as JSON, one a line, oldest first (L-15)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TextIO

from studio.domain.errors import ConfigurationError
from studio.storage.sessions.audit_log import AuditEntry, AuditFilter
from studio.storage.sessions.store import SessionStore


async def pages(store: SessionStore, wanted: AuditFilter) -> AsyncIterator[list[AuditEntry]]:
    """Every call that a filter leaves, oldest first, a page at a time."""
    beyond = 0
    while page := await store.audit(wanted, beyond=beyond, newest_first=False):
        yield page
        beyond = page[-1].id


async def export(store: SessionStore, wanted: AuditFilter, path: Path) -> int:
    """Write the calls to a file as JSONL; returns how many.

    The file is the person's alone to read. One that is there is replaced.
    Raises ConfigurationError if it cannot be written.
    """
    count = 0
    try:
        file = await asyncio.to_thread(_open, path)
        try:
            async for page in pages(store, wanted):
                await asyncio.to_thread(_write, file, page)
                count += len(page)
        finally:
            await asyncio.to_thread(file.close)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror or error})."
        ) from error
    return count


def audit_line(entry: AuditEntry) -> str:
    """One call as a line of JSONL, in ASCII."""
    return json.dumps(entry.to_json())


def _open(path: Path) -> TextIO:
    path.touch(mode=0o600)
    return path.open("w", encoding="utf-8", newline="\n")


def _write(file: TextIO, page: Sequence[AuditEntry]) -> None:
    file.write("".join(f"{audit_line(entry)}\n" for entry in page))
