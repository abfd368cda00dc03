"""Hooks: commands of the person's or of a folder's that are told of what a chat does (K-8).

They may refuse it, ask about it, or say something to the agent, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal, TypeAlias, get_args

from .extensions import Finding
from .records import dataclass

HookEvent: TypeAlias = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
]
"""When hooks are told of something; the names are Claude Code's."""
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
HookPlace: TypeAlias = Literal["folder", "own", "pack"]
HookState: TypeAlias = Literal["new", "on", "off", "changed", "never"]
"""``new``: the person has not said yes or no. ``changed``: what runs is not what they approved.
``never``: it cannot be run here, whatever the person says."""
MOST_SECONDS = 60.0
"""What a hook has, and the most that it may ask for."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook. ``matcher`` limits it to some tools, or to some causes of the event.

    ``path`` is the file that names it. ``files`` are those that the command runs; ``digest`` is of
    them and of the words, and the person approves that. ``root`` is the folder of its pack, and
    ``pack`` that one's name.
    ``reason`` says why it is never run, or what of it is done differently here.
    """

    event: str
    command: str
    place: HookPlace
    path: str
    matcher: str = ""
    seconds: float = MOST_SECONDS
    id: str = ""
    files: tuple[str, ...] = ()
    digest: str = ""
    state: HookState = "new"
    reason: str = ""
    root: str = ""
    pack: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is told of anything: it is on, or changed since it was approved."""
        return self.state in ("on", "changed")

    @property
    def label(self) -> str:
        """The hook in a line: “the hook check.sh (yours)”."""
        words = PurePath(self.files[0]).name if self.files else " ".join(self.command.split())
        short = words if len(words) <= 40 else f"{words[:39]}…"
        of_pack = f"of the pack {self.pack}" if self.pack else "a pack’s"
        whose = {"own": "yours", "folder": "this folder’s", "pack": of_pack}[self.place]
        return f"the hook {short} ({whose})"


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks that count in a folder, and what is wrong with their files."""

    found: tuple[Hook, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def notices(self) -> list[str]:
        """What is wrong with whole files, so that what they refuse is not refused."""
        wrong = [one for one in self.findings if one.left_out]
        return [f"Hooks do not run because of {one.path}: {one.words}." for one in wrong]

    def get(self, name: str) -> Hook | None:
        """The one whose id begins with ``name``; None if none or several do."""
        fits = [one for one in self.found if name and one.id.startswith(name)]
        return fits[0] if len(fits) == 1 else None

    def counting(self, *events: HookEvent) -> Sequence[Hook]:
        """Those that are told of these events: on, or changed since they were approved."""
        return [one for one in self.found if one.event in events and one.counts]


NO_HOOKS = Hooks()
