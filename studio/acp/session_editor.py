"""Session editor: what tools ask the editor for: files with what is not saved, and terminals."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from acp import RequestError, tool_terminal_ref, update_tool_call
from acp.interfaces import Client
from acp.schema import (
    ClientCapabilities,
    CreateTerminalResponse,
    EnvVariable,
    FileSystemCapabilities,
)
from pydantic import ValidationError

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ToolFailed
from studio.processes.shell_command import KEPT, CommandResult, TerminalText
from studio.tools.workspace.editor import Editor

SECONDS = 10.0
"""How long an editor may take for one file."""
_ENDING = 1.0
"""Seconds for an editor to end a command."""
_REFUSED = (RequestError, ValidationError, ConnectionError)
"""The editor refuses, answers nonsense, or has gone."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

T = TypeVar("T")


class SessionEditor(Editor):
    """The editor for one session and its folder. Made on the event loop."""

    def __init__(
        self, client: Client, session_id: str, folder: str, can: ClientCapabilities
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._folder = Path(folder)
        self._files = can.fs or FileSystemCapabilities()
        self._has_terminals = bool(can.terminal)
        self._loop = asyncio.get_running_loop()
        self._tasks = BackgroundTasks()
        self._near: set[Path] = set()
        self.terminals: dict[str, str] = {}
        """The terminals of commands, by the ids of their calls."""

    def text(self, path: Path) -> str | None:
        if not self._files.read_text_file:
            return None
        self._near.add(path)
        found = self._answer(
            self._client.read_text_file(session_id=self._session_id, path=self._known_as(path))
        )
        # Half a character, which JSON can carry and no file.
        return None if found is None else found.content.encode("utf-8", "replace").decode()

    def may_have(self, path: Path) -> bool:
        """Whether the chat was about the file: editors do not tell which files are open, and
        some open each that they are asked for."""
        return path in self._near

    def mentioned(self, paths: Iterable[str]) -> None:
        """The person named these files. Blocks."""
        for path in paths:
            with suppress(ValueError):  # no file can have this name
                self._near.add(Path(os.path.realpath(path)))

    def write(self, path: Path, text: str) -> bool:
        if not self._files.write_text_file:
            return False
        self._near.add(path)

        async def write() -> bool:
            await self._client.write_text_file(
                session_id=self._session_id, path=self._known_as(path), content=text
            )
            return True

        return self._answer(write()) or False

    async def run(
        self,
        command: str,
        call_id: str,
        folder: Path,
        environment: Mapping[str, str],
        time_limit: float,
    ) -> CommandResult | None:
        if not self._has_terminals:
            return None
        program, *arguments = _shell(command, environment)
        creating = self._tasks.start(
            self._client.create_terminal(
                session_id=self._session_id,
                command=program,
                args=arguments,
                env=_variables(environment),
                cwd=self._known_as(folder),
                output_byte_limit=KEPT,
            )
        )
        try:
            terminal_id = (await asyncio.shield(creating)).terminal_id
        except asyncio.CancelledError:
            self._tasks.start(self._release_when_created(creating))
            raise
        except _REFUSED:
            return None
        self.terminals[call_id] = terminal_id
        try:
            shown = update_tool_call(call_id, content=[tool_terminal_ref(terminal_id)])
            await self._client.session_update(session_id=self._session_id, update=shown)
            return await self._ended(terminal_id, time_limit)
        except _REFUSED as error:
            raise ToolFailed("The editor lost the terminal of the command.") from error
        finally:  # this kills a command that still runs
            await asyncio.wait([self._tasks.start(self._release(terminal_id))], timeout=_ENDING)

    async def _ended(self, terminal_id: str, time_limit: float) -> CommandResult:
        here = {"session_id": self._session_id, "terminal_id": terminal_id}
        code, timed_out = -int(signal.SIGTERM), False
        try:
            async with asyncio.timeout(time_limit):
                status = await self._client.wait_for_terminal_exit(**here)
                code = _code(status.exit_code, status.signal)
        except TimeoutError:
            timed_out = True
            await self._client.kill_terminal(**here)
        found = await self._client.terminal_output(**here)
        output = TerminalText().feed(found.output.encode("utf-8", "replace"), final=True)
        if found.truncated:
            output = f"[… earlier output is left out here …]\n{output}"
        return CommandResult(code, output, timed_out)

    async def _release_when_created(self, creating: asyncio.Task[CreateTerminalResponse]) -> None:
        with suppress(*_REFUSED):
            await self._release((await creating).terminal_id)

    async def _release(self, terminal_id: str) -> None:
        with suppress(*_REFUSED):
            await self._client.release_terminal(
                session_id=self._session_id, terminal_id=terminal_id
            )

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
        except _REFUSED:
            return None


def _shell(command: str, environment: Mapping[str, str]) -> Sequence[str]:
    """The arguments that run a command line without input.

    What the editor has in its own environment, keys too, does not reach the command (P-4);
    Windows has no program for that, see ``_variables``.
    """
    if sys.platform == "win32":
        return (os.environ.get("COMSPEC", "cmd.exe"), "/c", f"{command} <nul")
    kept = " ".join(f'{name}="${name}"' for name in sorted(environment) if _NAME.fullmatch(name))
    return ("/bin/sh", "-c", f'exec env -i {kept} /bin/sh -c "$0" </dev/null', command)


def _variables(environment: Mapping[str, str]) -> list[EnvVariable]:
    """What the editor adds to its own environment, which is mostly ours."""
    added = {name: value for name, value in environment.items() if os.environ.get(name) != value}
    if sys.platform == "win32":
        added |= dict.fromkeys(os.environ.keys() - environment.keys(), "")
    return [EnvVariable(name=name, value=value) for name, value in added.items()]


def _code(exit_code: int | None, signal_name: str | None) -> int:
    """The exit code, negative for a signal."""
    if exit_code is not None:
        return exit_code
    return -int(getattr(signal, signal_name or "", signal.SIGTERM))
