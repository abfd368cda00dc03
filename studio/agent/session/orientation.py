"""Orientation: tells the model once, with the first message, where it works (C-17).

It is gathered off the event loop within a fraction of a second, and what takes longer is left
out. Names of an untrusted folder are marked as a stranger's words. What changes later (the
date, the branch, the folder) is told in a line of its own; what was sent is never edited (H-9).
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import TypeVar

from studio.agent.permission.content_filter import ContentFilter
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.prompts import NOW_CHANGED, ORIENTATION
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ToolFailed
from studio.domain.events import FOLDER_NAMES, Event, Told, Topic
from studio.domain.records import dataclass
from studio.processes.daemon_thread import in_daemon_thread
from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox
from studio.processes.sandbox_mounts import Launch
from studio.processes.shell_command import UNATTENDED, run_shell
from studio.tools import Workspace
from studio.tools.workspace.overview import Overview, git_branch, overview

log = logging.getLogger(__name__)

_T = TypeVar("_T")
AIM = 780
"""Tokens by a careful estimate; a list of odd names may be nearly twice as many."""
WINDOW_SHARE = 16
"""A small window gives one part in so many to it."""
BYTES_PER_TOKEN = 3
"""Of paths and names, which are denser than prose."""
LONGEST_NAME = 60
LONGEST_FOLDER = 300
FOLDER = "the folder: names of files, of the branch and of commits"
_SUBJECTS = 3
_COMMITS = "~"
"""Begins the subject of a commit in what git prints; no line of its status does."""
_GIT = (
    "git --no-optional-locks --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null "
    "-c log.showSignature=false -c status.submoduleSummary=false"
)
_LOG = f"{_GIT} log -{_SUBJECTS} --format={_COMMITS}%s"
_STATUS = f"{_GIT} status --porcelain=v1 --ignore-submodules=all"
_OWN_PROGRAMS = f'{_GIT} config --includes --get-regexp "^(filter|include|includeif)[.]"'
"""Whether the repository names programs that a status would run."""
_ENVIRONMENT = {**UNATTENDED, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Nothing is fetched, also where the repository has only a part of its commits."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What the model is told of: a folder, and the way commands run there.

    ``looks``: the agent has tools that look into the folder; ``runs``: it can run commands.
    ``window`` is the model's in tokens, None if nobody knows. ``seconds`` is the time to look.
    """

    workspace: Workspace
    trusted: bool
    sandbox: Sandbox
    keeper: Keeper
    environment: Mapping[str, str]
    today: date
    looks: bool
    runs: bool
    window: int | None
    seconds: float


class Orienter:
    """Tells the model of one turn where it works.

    ``record`` receives what the session is exposed to by that; ``tasks`` keeps what is not done
    in time.
    """

    def __init__(
        self,
        ground: Ground,
        guard: ExfiltrationGuard,
        content_filter: ContentFilter,
        record: Callable[[Event], None],
        tasks: BackgroundTasks,
    ) -> None:
        self._ground = ground
        self._guard = guard
        self._filter = content_filter
        self._record = record
        self._tasks = tasks
        self._left = ground.seconds
        """Seconds in which one may still look."""
        self._lines: dict[Topic, str] | None = None
        """What can change, by topic, as it was when the turn began."""

    async def untold(self, told: Mapping[Topic, str]) -> list[Told]:
        """The notes for the next request: all of it in a new history, else what has changed.

        ``told`` are the last notes by topic.
        """
        if self._lines is None:
            self._lines = await self._whereabouts()
        before = told.get("orientation")
        if before is None:
            return [Told("orientation", await self._orientation(self._lines))]
        known = before.splitlines()
        return [
            Told(topic, text)
            for topic, line in self._lines.items()
            if told.get(topic) != (text := NOW_CHANGED.format(line=line))
            and (topic in told or line not in known)
        ]

    async def _whereabouts(self) -> dict[Topic, str]:
        ground, root = self._ground, self._ground.workspace.origin
        lines: dict[Topic, str] = {
            "folder": f"Working folder: {escape_line(str(root), most=LONGEST_FOLDER)}",
            "date": f"Date: {dated(ground.today)}",
        }
        if ground.looks:
            looking = self._tasks.start(in_daemon_thread(lambda: git_branch(root)))
            began = time.monotonic()
            await asyncio.wait([looking], timeout=self._left)
            self._left = max(0.0, self._left - (time.monotonic() - began))
            branch = _result(looking, "")
            if branch and (line := await self._masked(f"Git branch: {_name(branch)}")):
                lines["branch"] = line
        return lines

    async def _masked(self, text: str) -> str:
        strange = not self._ground.trusted
        if not (strange or self._filter.own):
            return text
        return await filtered(lambda: self._filter.mask(text))

    async def _orientation(self, lines: Mapping[Topic, str]) -> str:
        ground = self._ground
        own = [_system(), lines["folder"], lines["date"], _zone()]
        if ground.runs:
            own.append(_commands(ground.sandbox))
        goal = AIM if ground.window is None else min(AIM, ground.window // WINDOW_SHARE)
        found = await self._found(lines.get("branch", "")) if ground.looks else []
        fitting = "\n".join(_fitting(found, goal - _tokens("\n".join(own))))
        of_folder = fitting
        if fitting and not ground.trusted:
            of_folder = await filtered(lambda: self._filter.wrap_untrusted(fitting, FOLDER))
            for exposed in self._guard.exposed_by_folder(FOLDER_NAMES) if of_folder else ():
                self._record(exposed)
        return ORIENTATION.format(text="\n".join(filter(None, [*own, of_folder])))

    async def _found(self, branch: str) -> list[str]:
        """What can be told of the folder in time, line by line, first what matters most."""
        looking = self._tasks.start(_overview(self._ground))
        asking = self._tasks.start(_git(self._ground)) if branch else None
        await asyncio.wait(filter(None, [looking, asking]), timeout=self._left)
        seen = _result(looking, Overview())
        commits = _result(asking, []) if asking is not None else []
        tree = ["Files, two levels, without what git ignores:", *seen.tree] if seen.tree else []
        masked = await self._masked("\n".join([*commits, *seen.built, *tree]))
        return [*filter(None, [branch]), *masked.splitlines()]


def dated(today: date) -> str:
    """``Sunday, 22 November 2026``, the same in every locale."""
    day = ("Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun")[today.weekday()]
    months = "January February March April May June July August September October November December"
    return f"{day}day, {today.day} {months.split()[today.month - 1]} {today.year}"


def _result(looking: asyncio.Task[_T], otherwise: _T) -> _T:
    """What was found; something else where it was not found in time, or could not be."""
    if not looking.done() or looking.cancelled():
        return otherwise
    error = looking.exception()
    if error is not None and not isinstance(error, OSError):
        log.error("a part of the folder could not be looked at", exc_info=error)
    return otherwise if error is not None else looking.result()


async def filtered(work: Callable[[], str]) -> str:
    """What a filter made of a text; nothing where it failed, and the turn goes on without it."""
    try:
        return await asyncio.to_thread(work)
    except ToolFailed:  # a pattern that takes too long
        return ""
    except Exception:
        log.exception("what was found in the folder could not be filtered")
        return ""


async def _overview(ground: Ground) -> Overview:
    def look() -> Overview:
        return overview(ground.workspace, ground.environment, _name, ground.seconds)

    with suppress(OSError, ToolFailed):
        return await in_daemon_thread(look)
    return Overview()


async def _git(ground: Ground) -> list[str]:
    """The number of changes and the last commits, as git tells them; empty where it may not run.

    A repository can name programs that git runs. Those of a stranger are not run: without
    the person's trust git works in the sandbox, and tells no changes where there are such.
    """
    if ground.trusted:
        command = f"{_LOG} && {_STATUS}"
    elif ground.sandbox.kind != "none":
        command = f"{_LOG} && {{ {_OWN_PROGRAMS} >/dev/null || {_STATUS}; }}"
    else:
        return []
    try:
        folder, environment = ground.workspace.origin, {**ground.environment, **_ENVIRONMENT}
        ended = await run_shell(
            Launch(command, folder, environment),
            sandbox=ground.sandbox,
            keeper=ground.keeper,
            time_limit=ground.seconds,
        )
    except (OSError, ValueError):
        return []
    if ended.code or ended.timed_out:
        return []
    lines = ended.output.splitlines()
    subjects = [_name(line[1:]) for line in lines if line.startswith(_COMMITS)]
    states = [line[:2] for line in lines if re.match(r"[ MADRCUT?!]{2} ", line)]
    new = states.count("??")
    told = f"Changes: {len(states) - new} changed, {new} new" if states else ""
    return [*filter(None, [told]), *(f"Last commits: {'; '.join(subjects)}" for _ in subjects[:1])]


def _system() -> str:
    name = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system())
    version = {"darwin": platform.mac_ver()[0], "win32": platform.release()}.get(sys.platform, "")
    if sys.platform.startswith("linux"):
        with suppress(OSError):
            version = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return f"System: {' '.join(filter(None, [name, _name(version), platform.machine()]))}"


def _zone() -> str:
    """How far the computer's clock is from UTC now: ``UTC+01:00``."""
    offset = datetime.now().astimezone().strftime("%z")
    return f"Time zone: UTC{offset[:3]}:{offset[3:5]}"


def _commands(sandbox: Sandbox) -> str:
    shell = os.environ.get("COMSPEC", "cmd.exe") if sys.platform == "win32" else "/bin/sh"
    if sandbox.kind == "none":
        return f"Commands: {shell}, not sandboxed, with the person's rights and network"
    return f"Commands: {shell}, in a sandbox, without network unless a call asks for it"


def _name(text: str) -> str:
    """A name as one line that closes no mark around it."""
    return escape_line(re.sub("[<>]", "?", text), most=LONGEST_NAME)


def _fitting(lines: list[str], goal: int) -> list[str]:
    """As many lines, from the first on, as the goal allows."""
    left = goal
    for at, line in enumerate(lines):
        left -= _tokens(line) + 1
        if left < 0:
            return [*lines[:at], "…"] if at else []
    return lines


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN
