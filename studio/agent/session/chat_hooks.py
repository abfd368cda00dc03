"""Chat hooks: runs the hooks of a chat around its turns, and makes those of each turn (K-8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from studio.agent.hooks.running import HookGround, HookRunner
from studio.agent.hooks.turn_hooks import Emit, SessionHooks, TurnHooks
from studio.agent.permission.path_scope import unreadable
from studio.agent.permission.policy import Policy
from studio.agent.permission.tool_access import ToolAccess
from studio.agent.services import FolderReading, Services
from studio.domain.events import Event
from studio.domain.hooks import NO_HOOKS, Hook, HookEvent, Hooks
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Said
from studio.processes.sandbox import HidingSandbox, Sandbox
from studio.tools import Workspace

from .session_state import SessionState

_MODES = {"ask": "default", "auto": "acceptEdits", "plan": "plan"}
"""Our permission modes as existing hooks know them."""

_OUTSIDE: tuple[HookEvent, ...] = ("SessionStart", "UserPromptSubmit", "SessionEnd", "PreCompact")
"""The events outside of turns."""


class ChatHooks:
    """The hooks of one chat."""

    def __init__(self, session: SessionState, services: Services) -> None:
        self._session = session
        self._services = services
        self._began = False
        """Whether hooks were told that the chat begins."""
        self._words: list[tuple[Hook, str]] = []
        """What hooks said to the agent before the turn began."""
        self._notices: list[Event] = []
        """What they said to the person then."""
        self._read: FolderReading | None = None
        """What a message found in the folder, if nothing has run since."""
        self._turn: TurnHooks | None = None
        """Those of the running turn, or of the last one."""

    async def hear(self, found: SessionHooks, said: Sequence[Said]) -> None:
        """Tell hooks that the chat begins, and what the person says, before that is kept.

        Raises ConfigurationError if one refuses it, so that it stays unsaid.
        """
        if not self._began:
            self._began = True
            new = not self._session.transcript.blocks
            await found.start("startup" if new else "resume", self._session.info.model)
        if said:
            await found.prompt(said)
        self._words += found.words

    def of_turn(
        self, hooks: Hooks, access: ToolAccess, emit: Emit, *, child: bool = False
    ) -> TurnHooks:
        """The hooks of a turn that begins. ``child``: another agent began it."""
        runner = HookRunner(hooks, self._ground(access.workspace, access.sandbox))
        self._turn = TurnHooks(runner, access, emit, child=child)
        self._turn.words, self._words = self._words, []
        return self._turn

    def taken_notices(self) -> list[Event]:
        """What hooks said to the person before the turn began; each once."""
        notices, self._notices = self._notices, []
        return notices

    def taken_reading(self) -> FolderReading | None:
        """What the turn that begins finds in the folder; None: read it."""
        read, self._read = self._read, None
        return read

    async def end_turn(self) -> None:
        """End the hooks that nobody waits for."""
        if self._turn is not None:
            await self._turn.close()

    async def compacting(self, trigger: str) -> None:
        """Tell hooks that the chat is about to be summed up, in a turn or between two."""
        found = self._turn if trigger == "auto" else await self.around()
        if found is not None:
            await found.compacting(trigger)

    async def end(self) -> None:
        """Tell hooks that the chat is closed, if they were told that it began."""
        if self._began and (found := await self.around()) is not None:
            await found.end()

    async def around(self, *, begins: bool = False) -> SessionHooks | None:
        """The hooks outside of turns; None if there are none.

        ``begins``: a turn does, which then takes what was read here.
        """
        info = self._session.info
        if begins:
            read = self._read = await self._services.read_for_message(info, *_OUTSIDE)
            hooks, layers = read.hooks, read.layers
        else:
            hooks, layers = await self._services.hooks(Path(info.folder))
        if not hooks.counting(*_OUTSIDE):
            return None
        self._read = None  # what they do may change it
        workspace = await asyncio.to_thread(self._services.workspace, info)
        policy = Policy(info.permission_mode, layers.rules, workspace=workspace)
        sandbox = await hiding_sandbox(self._services, policy, workspace, hooks)
        runner = HookRunner(hooks, self._ground(workspace, sandbox))
        return SessionHooks(runner, self._notices.append)

    def _ground(self, workspace: Workspace, sandbox: Sandbox) -> HookGround:
        info, services = self._session.info, self._services
        about: JsonObject = {
            "session_id": info.id,
            "transcript_path": "",
            "cwd": str(workspace.origin),
            "permission_mode": _MODES[info.permission_mode],
        }
        return HookGround(workspace, sandbox, services.keeper, services.environment, about)


async def hiding_sandbox(
    services: Services, policy: Policy, workspace: Workspace, hooks: Hooks = NO_HOOKS
) -> Sandbox:
    """The sandbox that hides what no rule lets be read, and keeps the files that hooks run.

    What hooks run is compared with what was approved and then started: nothing that runs beside
    them may change it in between.
    """
    sandbox = await services.sandbox()
    if sandbox.kind == "none":
        return sandbox
    kept = dict.fromkeys(Path(name) for one in hooks.found if one.counts for name in one.files)
    return HidingSandbox(sandbox, lambda: unreadable(policy.unreadable(), workspace), [*kept])
