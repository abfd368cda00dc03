"""The history of typed messages, stored for the arrow keys."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from studio.domain.aio import BackgroundTasks
from studio.domain.redaction import redact, without_secrets
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder

KEPT = 1_000
"""The number of latest messages that are stored."""
LONGEST = 10_000
"""Characters of the longest message that is stored here; its chat has all of it."""


class ChatHistory(History):
    """Stores messages in a file that only this person can read, one JSON string a line.

    A message that seems to contain a key, a token, a password or one of ``secrets`` is
    not stored. Errors of the file are ignored: the chat goes on without a history.
    """

    def __init__(self, path: Path, secrets: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._path = path
        self._secrets = secrets
        self._found: list[str] = []
        self._saving = BackgroundTasks()

    async def read(self) -> None:
        """Read the stored messages; shortens a file that has grown long."""
        self._found = await asyncio.to_thread(self._read)

    async def saved(self) -> None:
        """Wait until every message is on disk."""
        await self._saving.settled()

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._found)

    def append_string(self, string: str) -> None:
        if not self._is_secret(string):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        if len(string) <= LONGEST:
            self._saving.start(asyncio.to_thread(self._append, string))

    def _is_secret(self, text: str) -> bool:
        return redact(text, *self._secrets()) != text or without_secrets(text) != text

    def _read(self) -> list[str]:
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []
        if len(lines) > 2 * KEPT:
            lines = lines[-KEPT:]
            with suppress(OSError):  # else it stays long
                write_atomically(self._path, "".join(f"{line}\n" for line in lines).encode())
        return [text for line in lines[-KEPT:] if (text := _text(line))]

    def _append(self, text: str) -> None:
        with suppress(OSError):
            private_folder(self._path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            handle = os.open(self._path, flags, 0o600)
            with os.fdopen(handle, "ab") as file:
                self._path.chmod(0o600)
                file.write(json.dumps(text).encode() + b"\n")  # in one piece, beside other chats


def _text(line: str) -> str:
    try:
        text = json.loads(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
