"""An editor with a person who answers, as the client of ``agent-studio acp``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.core import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AgentMessageChunk,
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    DeclineElicitationResponse,
    DeniedOutcome,
    EnvVariable,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)

from studio.simulator import Script, Simulator
from support.command import Command
from support.waiting import within

CHAT = "openai-compatible"


@dataclass
class Editor:
    """An editor whose person answers as they were told to."""

    choices: Callable[[Any, list[str]], str] = lambda call, options: ""
    updates: list[Any] = field(default_factory=list[Any])
    questions: list[tuple[Any, list[str]]] = field(default_factory=list[Any])
    seen: asyncio.Event = field(default_factory=asyncio.Event)
    files: dict[str, str] = field(default_factory=dict[str, str])
    """The texts of open files that are not saved, by their paths."""
    saved: list[str] = field(default_factory=list[str])
    """The files that the agent had it write."""
    terminals: dict[str, Process] = field(default_factory=dict[str, Process])
    released: list[str] = field(default_factory=list[str])
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    """What the editor's terminals have without the agent."""
    written: Callable[[str], str] = lambda question: ""
    """What the person writes in the form of a question; nothing declines it."""
    filled_in: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the person fills in of a form, by the names of its fields."""
    away: bool = False
    """Whether nobody answers questions."""
    agent: Any = None
    agent_capabilities: Any = None
    folder: Path = Path()
    simulator: Any = None
    terminal: Any = None

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.seen.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        ids = [option.option_id for option in options]
        self.questions.append((tool_call, ids))
        self.seen.set()
        if self.away:
            await asyncio.Event().wait()
        chosen = self.choices(tool_call, ids)
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen)
        )

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        if self.filled_in:
            return AcceptElicitationResponse(action="accept", content=self.filled_in)
        field = next(iter(mode.requested_schema.properties))
        if words := self.written(message):
            return AcceptElicitationResponse(action="accept", content={field: words})
        return DeclineElicitationResponse(action="decline")

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        if path in self.files:
            return ReadTextFileResponse(content=self.files[path])
        if not path.endswith(".txt"):
            raise RequestError(-32603, "This file is not open.")
        # As editors do that have one kind of line end in memory.
        return ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        if path.endswith(".locked"):
            raise RequestError(-32603, "This file is locked.")
        self.saved.append(path)
        self.files.pop(path, None)
        Path(path).write_bytes(content.encode())

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str],
        env: list[EnvVariable],
        cwd: str,
        output_byte_limit: int,
        **_: Any,
    ) -> CreateTerminalResponse:
        name = f"terminal-{len(self.terminals)}"
        self.terminals[name] = await asyncio.create_subprocess_exec(
            command,
            *args,
            cwd=cwd,
            env={**self.environment, **{one.name: one.value for one in env}},
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
        self.seen.set()
        return CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> WaitForTerminalExitResponse:
        code = await self.terminals[terminal_id].wait()
        if code < 0:
            return WaitForTerminalExitResponse(signal=signal.Signals(-code).name)
        return WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> TerminalOutputResponse:
        stdout = self.terminals[terminal_id].stdout
        assert stdout is not None
        return TerminalOutputResponse(output=(await stdout.read()).decode(), truncated=False)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.terminals[terminal_id].pid, signal.SIGKILL)
        await self.terminals[terminal_id].wait()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        await self.kill_terminal(session_id, terminal_id)
        self.released.append(terminal_id)
        self.seen.set()

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def request(self, method: str, params: Any) -> Any:
        """Send a request that the library has no method for."""
        return await self.agent._conn.send_request(method, params)

    async def notify(self, method: str, params: Any) -> None:
        await self.agent._conn.send_notification(method, params)

    @property
    def words(self) -> str:
        return "".join(u.content.text for u in self.updates if isinstance(u, AgentMessageChunk))

    async def until(self, ready: Callable[[], bool]) -> None:
        async with within():
            while not ready():
                self.seen.clear()
                await self.seen.wait()


@contextlib.asynccontextmanager
async def editor(
    tmp_path: Path,
    script: Script,
    choices: Callable[[Any, list[str]], str] | None = None,
    can: ClientCapabilities | None = None,
    **settings: object,
) -> AsyncIterator[Editor]:
    async with Simulator(script, pace=False) as simulator:
        terminal = Command(tmp_path)
        terminal.provider(CHAT, simulator.url("chat"))
        terminal.change(
            default_provider=CHAT,
            default_model={CHAT: "sim-model"},
            own_models={CHAT: ["org/mine"]},
            **settings,
        )
        person = Editor()
        if choices is not None:
            person.choices = choices
        person.folder, person.simulator = terminal.folder, simulator
        person.terminal = terminal
        process = await terminal.start("acp", stdin=PIPE)
        assert process.stdin is not None and process.stdout is not None
        agent = person.agent = ClientSideConnection(
            person, process.stdin, process.stdout, use_unstable_protocol=True
        )
        try:
            answer = await agent.initialize(
                protocol_version=PROTOCOL_VERSION, client_capabilities=can
            )
            assert answer.protocol_version == PROTOCOL_VERSION
            person.agent_capabilities = answer.agent_capabilities
            assert answer.agent_info is not None and answer.agent_info.title == "Agent Studio"
            yield person
        finally:
            await agent.close()
            process.stdin.close()  # the editor hangs up
            async with within():
                await process.wait()
