"""Editor files: reads and writes files through the editor, which knows what is not saved."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from acp import RequestError
from acp.interfaces import Client
from acp.schema import FileSystemCapabilities
from pydantic import ValidationError

from studio.domain.errors import ToolFailed
from studio.tools.workspace.editor import Editor

SECONDS = 10.0
"""How long an editor may take for one file."""

T = TypeVar("T")


class EditorFiles(Editor):
    """The files of one session's folder, as the editor has them. Made on the event loop."""

    def __init__(
        self, client: Client, session_id: str, folder: str, can: FileSystemCapabilities
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._folder = Path(folder)
        self._can = can
        self._loop = asyncio.get_running_loop()

    def text(self, path: Path) -> str | None:
        if not self._can.read_text_file:
            return None
        found = self._answer(
            self._client.read_text_file(session_id=self._session_id, path=self._known_as(path))
        )
        # Half a character, which JSON can carry and no file.
        return None if found is None else found.content.encode("utf-8", "replace").decode()

    def write(self, path: Path, text: str) -> bool:
        if not self._can.write_text_file:
            return False

        async def write() -> bool:
            await self._client.write_text_file(
                session_id=self._session_id, path=self._known_as(path), content=text
            )
            return True

        return self._answer(write()) or False

    def _known_as(self, path: Path) -> str:
        """The path below the folder that the editor named; ``path`` is without links."""
        root = Path(os.path.realpath(self._folder))
        return str(self._folder / path.relative_to(root) if path.is_relative_to(root) else path)

    def _answer(self, asked: Coroutine[Any, Any, T]) -> T | None:
        """Wait for an answer, in a thread; None if the editor refuses or has gone."""
        answer = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return answer.result(SECONDS)
        except TimeoutError:
            answer.cancel()
            raise ToolFailed(f"The editor did not answer within {SECONDS:g} s.") from None
        except (RequestError, ValidationError, ConnectionError):
            return None
