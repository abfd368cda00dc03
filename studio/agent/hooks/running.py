"""Hook running: runs the hooks of one event side by side, as commands run (K-9).

They are in the sandbox without a network, and have no keys. What runs is compared with what the
person approved just before it does.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from studio.domain.hooks import Hook, HookEvent, Hooks
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass
from studio.processes.daemon_thread import Stop, in_daemon_thread
from studio.processes.keeper import Keeper
from studio.processes.piped_command import run_piped
from studio.processes.sandbox import Sandbox
from studio.processes.sandbox_mounts import Launch
from studio.processes.shell_command import UNATTENDED
from studio.tools import Workspace

from .answers import HookAnswer, answer_of
from .claude_calls import View
from .content import PROJECT, ROOT, sum_of
from .matching import matches

AT_ONCE = 8
"""Hooks of one event that run at a time."""
CHANGED = "is not what you approved: look at it in the settings, under Hooks"
NO_DESK = "cannot run here: it would change the folder itself"


@dataclass(frozen=True, slots=True)
class HookGround:
    """What hooks run on. ``about`` is what each is told of the chat."""

    workspace: Workspace
    sandbox: Sandbox
    keeper: Keeper
    environment: Callable[[], Mapping[str, str]]
    about: JsonObject


class HookRunner:
    """Runs the hooks that count in one folder."""

    def __init__(self, hooks: Hooks, ground: HookGround) -> None:
        self._hooks = hooks
        self._ground = ground

    def listens(self, *events: HookEvent) -> bool:
        """Whether any hook is told of these events."""
        return bool(self._hooks.counting(*events))

    async def run(
        self, event: HookEvent, causes: Sequence[str], facts: JsonObject, most: float = 60.0
    ) -> list[HookAnswer]:
        """Tell the hooks of an event with these ``causes``; ``most`` is in seconds."""
        fitting = [one for one in self._hooks.counting(event) if matches(one.matcher, causes)]
        return await self._all([(one, event, facts) for one in fitting], most)

    async def ask(
        self, event: HookEvent, views: Sequence[View], facts: JsonObject
    ) -> list[tuple[HookAnswer, View]]:
        """Tell the hooks of a call, in each way that they look for."""
        pairs = [
            (one, view) for one in self._hooks.counting(event) for view in _fitting(one, views)
        ]
        told: list[tuple[Hook, HookEvent, JsonObject]] = [
            (one, event, {**facts, "tool_name": view.name, "tool_input": view.input})
            for one, view in pairs
        ]
        answers = await self._all(told, 60.0)
        return [(answer, view) for answer, (_, view) in zip(answers, pairs, strict=True)]

    async def _all(
        self, told: Sequence[tuple[Hook, HookEvent, JsonObject]], most: float
    ) -> list[HookAnswer]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(hook: Hook, event: HookEvent, facts: JsonObject) -> HookAnswer:
            async with slots:
                return await self.tell(hook, event, facts, most)

        tasks = [asyncio.ensure_future(one(*each)) for each in told]
        try:
            return [await task for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def tell(
        self, hook: Hook, event: HookEvent, facts: JsonObject, most: float = 60.0
    ) -> HookAnswer:
        """Run one hook; what goes wrong is its answer. If the caller is cancelled, it is ended."""
        stop = Stop()
        work = asyncio.ensure_future(
            in_daemon_thread(lambda: self._told(hook, event, facts, most, stop))
        )
        try:
            return await asyncio.shield(work)
        finally:
            if not work.done():  # in a thread, so that it goes on when the loop ends
                await asyncio.shield(in_daemon_thread(stop.set))

    def _told(
        self, hook: Hook, event: HookEvent, facts: JsonObject, most: float, stop: Stop
    ) -> HookAnswer:
        """See ``tell``. Blocks: all of it in one thread, as the answer may be long, too."""
        ground = self._ground
        folder, desk = ground.workspace.origin, ground.workspace.desk
        if desk is not None and not ground.sandbox.desks:
            return HookAnswer(hook, fault=NO_DESK, failed=True)
        at = ground.workspace.root if desk is not None else None
        if hook.state == "changed" or sum_of(hook, folder, at) != hook.digest:
            return HookAnswer(hook, fault=CHANGED, failed=True)
        given = {**ground.about, "hook_event_name": event, **facts}
        environment = {**ground.environment(), **UNATTENDED, PROJECT: str(folder)}
        if hook.root:
            environment[ROOT] = hook.root
        shown = tuple(_named(name) for name in hook.files if not _is_in(name, folder))
        launch = Launch(hook.command, folder, environment, desk=desk, shown=shown)
        try:
            result = run_piped(
                launch,
                json.dumps(given).encode(),
                sandbox=ground.sandbox,
                keeper=ground.keeper,
                seconds=min(hook.seconds, most),
                stop=stop,
            )
        except (OSError, ValueError) as error:
            return HookAnswer(hook, fault=f"cannot be started: {error}", failed=True)
        return answer_of(hook, event, result)


def _fitting(hook: Hook, views: Sequence[View]) -> list[View]:
    """The call itself if the hook is for that, else what it does that the hook is for."""
    found = [view for view in views if matches(hook.matcher, view.names)]
    own = [view for view in found if view.own]
    return own or found


def _is_in(name: str, folder: Path) -> bool:
    return Path(name).is_relative_to(folder)


def _named(name: str) -> Path:
    """The path by which the command names a file, below a folder that is none of a link's."""
    path = Path(name)
    return Path(os.path.realpath(path.parent)) / path.name
