"""Tool specifications: describes what a model reads about tools, and what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .jsonvalue import JsonObject

Effect: TypeAlias = Literal["read", "fetch", "draft", "note", "act"]
"""What a tool does. ``read``: it reads the folder. ``fetch``: it reads from outside of the
folder, which needs permission (T-7). ``draft``: it makes drafts for the person to approve
(T-5). ``note``: it keeps a note on this computer and changes nothing else (KZ-6). ``act``: it
changes something itself, which needs permission."""

Exposure: TypeAlias = Literal["private", "untrusted"]
"""What a session was exposed to: private files, or untrusted text that may contain
instructions (prompt injection)."""

SKIPPED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
    }
)
"""Folders that listing and searching step over; reading a path in them works."""


APPLY_PATCH, EDIT = "apply_patch", "edit"
"""Two tools for one purpose: a model is offered the one that it was trained on (C-8). Permission
for the first is that of the tools whose work it does."""
RUN, JOB = "run", "job"
"""The tool that runs commands, and the one that looks after those that go on (C-13)."""
ASK = "ask"
"""The tool that asks the person."""
SKILL = "skill"
"""The tool that opens skills (K-5)."""
DELEGATE, WAIT = "delegate", "wait"
"""The tool that has another agent do a task, and the one that waits for those in the background."""
CHILD_TOOLS = (DELEGATE, "children", WAIT, "tell_child", "stop_child")
"""The tools of an agent that may start others (W-32)."""
MEMORY_TOOLS: Mapping[str, tuple[str, ...]] = {
    "read": ("notes_read", "notes_detail", "recall"),
    "write": ("notes_read", "notes_detail", "recall", "remember"),
}
"""The tools that an agent's key ``memory`` stands for (W-1)."""
BOARD_TOOLS = (
    *("board_read", "board_write", "post", "inbox"),
    *("task_add", "task_take", "task_done"),
)
"""The tools of the board of a run or a chat. An agent gets those that its file names (W-40)."""
FIND_TOOLS, USE_TOOL = "find_tools", "use_tool"
"""The tools that find servers' tools and call them, where there are too many to tell (M-17)."""
TEXT_INPUT = "input"
"""The one argument of a tool with a ``text_form``."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool, as described to a model.

    ``schema`` is the JSON schema of its arguments, an object. ``target`` names
    the argument shown in a tool row and matched by permission rules
    (``path``, ``command``). ``verb`` and ``done`` are the words of the row:
    "Reading", "Read". ``time_limit`` is in seconds; None means no limit but the turn's.
    ``alone``: it does not run in parallel with other calls (L-3). ``untrusted``: its
    results contain text from outside, such as a web page. ``sends``: its arguments leave
    this computer. ``steady``: the same call returns the same result in one turn until
    something is written (L-9). ``acts_with`` names the argument without which a call of a tool
    that acts only reads. ``hosted``: the provider runs the tool itself, and its
    adapter declares it; no call reaches this program. ``external``: the client that asked
    for the turn runs the tool; the turn ends with such calls open, and the next turn brings their
    results. ``proposes``: what it keeps waits for the person where no rule allows the call, so
    nobody is asked before (W-44). ``vendor_type`` is the type by which Anthropic's models know the
    tool: its schema is not sent there, and its paths are its own (W-45). ``text_form``: how it is
    described to a model that writes its one argument, ``input``, as plain text: ``description``
    and ``format`` of a custom tool of OpenAI's Responses API. ``server`` is the MCP server that
    runs it, and ``pin`` changes with all that it says of the tool (M-15).
    """

    name: str
    description: str
    schema: JsonObject = field(hash=False)
    effect: Effect = "act"
    target: str = ""
    verb: str = ""
    done: str = ""
    icon: str = "wrench"
    alone: bool = False
    time_limit: float | None = 60.0
    untrusted: bool = False
    sends: bool = False
    steady: bool = True
    acts_with: str = ""
    hosted: bool = False
    external: bool = False
    proposes: bool = False
    vendor_type: str = ""
    text_form: JsonObject | None = field(default=None, hash=False)
    server: str = ""
    pin: str = ""

    def of_call(self, arguments: JsonObject) -> ToolSpec:
        """The spec for one call, which may do less than the tool can."""
        if not self.acts_with or arguments.get(self.acts_with):
            return self
        return replace(self, effect="read")
