"""Agent definitions: describe an agent's instructions, model, tools, limits and role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from studio.domain.records import dataclass

from .jsonvalue import Json, JsonObject
from .models import Effort
from .permissions import Rule

Mode: TypeAlias = Literal["inline", "background", "long"]
"""How long a turn may take: ``inline`` answers soon, ``background`` takes its time, ``long`` is for
work of an hour or so (L-1, C-1)."""
PermissionMode: TypeAlias = Literal["ask", "auto", "plan"]
"""``ask``: drafts wait for approval and commands are asked about. ``auto``: drafts
are written at once, commands are still asked about. ``plan``: the model is
offered only tools that read."""

Origin: TypeAlias = Literal["shipped", "own", "folder", "pack"]
"""Where an agent is from: the program, the person, or the folder that it works in."""
Memory: TypeAlias = Literal["off", "index", "read", "write"]
Desk: TypeAlias = Literal["auto", "own", "shared"]
OWN_TOOLS = "own"
"""In an agent's list of tools: every tool that the person added."""

HUES = ("blue", "green", "plum", "rust", "teal", "ochre", "rose", "slate")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a turn: steps, and seconds without the time it waits for the person (L-1, L-11).

    ``parallel_tools`` is how many calls of one reply run at a time (L-3). ``commands_free``:
    the time of commands does not count. ``extensible``: the person is asked for more before a
    limit is reached, also one of tokens or money (C-1).
    """

    steps: int
    seconds: float
    parallel_tools: int = 5
    commands_free: bool = False
    extensible: bool = False


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be used (L-14): tokens sent and answered, US dollars. 0 is no cap."""

    tokens: int = 0
    dollars: float = 0.0

    def within(self, other: Caps) -> Caps:
        """The smaller cap of each unit; 0 counts as no cap."""
        tokens = min(filter(None, (self.tokens, other.tokens)), default=0)
        return Caps(tokens, min(filter(None, (self.dollars, other.dollars)), default=0.0))


NO_CAPS = Caps()

Role: TypeAlias = Literal["all", "edits", "notes", "reads"]
"""The most that an agent may use (T-6). ``all``: every tool. ``edits``: tools that read,
drafts and notes. ``notes``: tools that read, and notes. ``reads``: tools that read."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """What the person may do after an answer: give ``agent`` the ``prompt``.

    With ``send`` it goes out with the choice. ``model`` is empty for the agent's.
    """

    label: str
    agent: str
    prompt: str = ""
    send: bool = False
    model: str = ""


@dataclass(frozen=True, slots=True)
class DefinedTool:
    """A tool that an agent's file defines by one of ``prompt``, ``agent`` and ``workflow`` (W-2).

    ``parameters`` and ``returns`` are JSON Schemas.
    """

    name: str
    description: str = ""
    prompt: str = ""
    agent: str = ""
    workflow: str = ""
    model: str = ""
    parameters: JsonObject = field(default_factory=dict[str, Json])
    returns: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent's markdown file says; ``prompt`` is the body.

    ``provider`` and ``model`` are empty if the person chooses them. ``tools`` lists
    names; ``("*",)`` means all tools, ``own`` those that the person added. ``source`` is the
    path of the file. ``effort`` and ``temperature`` are None for the model's default,
    ``steps`` and ``seconds`` 0 for the limits of the mode, ``parallel_tools`` 0 for the
    person's setting. ``caps`` apply to one turn. ``mask`` names the kinds of personal data
    that the model does not get (T-9). ``trusted`` is False for an agent of a
    folder that the person does not trust: its ``prompt`` is a stranger's words.

    ``agents`` are those that it may start, ``("*",)`` any; ``children`` at a time and ``depth``
    of them are 0 for the usual, ``background`` says that it is started to work on the side.
    ``servers`` are the MCP servers whose tools it has, ``("*",)`` all; None for what its tools
    say (M-14). ``user_invocable``: the person is offered it. ``model_invocable``: other agents
    may start it.
    ``fallback`` are models that new chats begin with where ``model`` cannot be reached.
    ``define`` are tools of its own (W-2). ``desk`` ``shared``: in the background it works in the
    folder itself (W-24). ``memory``: from ``index`` on it is told the titles of notes, from
    ``read`` on it has the tools that recall them, and with ``write`` the one that notes (W-42).
    ``handoffs`` are offered to the person after an answer (W-1).
    """

    name: str
    description: str = ""
    prompt: str = ""
    provider: str = ""
    model: str = ""
    tools: tuple[str, ...] = ("*",)
    mode: Mode = "background"
    permissions: tuple[Rule, ...] = ()
    effort: Effort | None = None
    temperature: float | None = None
    steps: int = 0
    seconds: float = 0.0
    parallel_tools: int = 0
    caps: Caps = NO_CAPS
    role: Role = "all"
    mask: tuple[str, ...] = ()
    icon: str = "sparkle"
    hue: str = "slate"
    source: str = ""
    origin: Origin = "own"
    trusted: bool = True
    agents: tuple[str, ...] = ()
    children: int = 0
    depth: int = 0
    background: bool = False
    fallback: tuple[str, ...] = ()
    memory: Memory = "off"
    desk: Desk = "auto"
    handoffs: tuple[Handoff, ...] = ()
    define: tuple[DefinedTool, ...] = ()
    skills: tuple[str, ...] = ("*",)
    """Those that it may open by itself; ``*`` means all (K-5)."""
    user_invocable: bool = True
    model_invocable: bool = True
    argument_hint: str = ""
    servers: tuple[str, ...] | None = None
    pack: str = ""
    """The name of the pack that brings it."""
    mission: str = ""
    """What it has to reach where it is begun as a mission (W-47)."""
    done_when: tuple[JsonObject, ...] = ()
    """The checks of a mission, and what its cycles may use, as they are written in its file."""
    budget: JsonObject = field(default_factory=dict[str, Json])

    @property
    def whose(self) -> str:
        """That the agent is the folder's or a pack's, in words for a list; empty for any other."""
        if self.origin == "pack":
            return f"Of the pack {self.pack}"
        if self.origin != "folder":
            return ""
        return "This folder’s" if self.trusted else "This folder’s, not trusted"

    @property
    def about(self) -> str:
        """Whose it is and what it is for, for a list that a person chooses from."""
        return ". ".join(filter(None, (self.whose, self.description)))

    @property
    def bare(self) -> bool:
        """Whether it is the model alone, without instructions and tools."""
        return not self.prompt and not self.tools


NO_AGENTS: Mapping[str, Agent] = MappingProxyType({})


_MODES: tuple[Mode, ...] = get_args(Mode)


def longer(mode: Mode, other: Mode) -> Mode:
    """The mode of the two in which a turn may take longer."""
    return other if _MODES.index(other) > _MODES.index(mode) else mode


def addressed(text: str, names: Iterable[str]) -> str:
    """Which agent a message is for: it begins with the agent's name after @; empty if none.

    Blanks in the name are escaped: ``@Deep\\ Researcher``.
    """
    if not text.startswith("@"):
        return ""
    found = (
        name
        for name in names
        if text.startswith(mention := "@" + name.replace(" ", "\\ "))
        and not re.match(r"[^\s,.;:!?]|[.:][^\s]", text[len(mention) :])
    )
    return max(found, key=len, default="")
