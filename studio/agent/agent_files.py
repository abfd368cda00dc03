"""Agent files: reads agents from markdown, with YAML frontmatter and the prompt as the body.

Agents come from three places, and later ones replace earlier ones of the same
name: those that ship with the program, the person's own folder, and the project's
``.agents/agents/``. Until the person trusts the folder a project's file never
widens rights: its ``allow`` rules are ignored, and a file that replaces an agent
keeps that agent's restrictions. ``create_agent_file`` writes a commented template.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from studio.domain.agents import HUES, Agent, Caps, Mode, Role
from studio.domain.errors import ConfigurationError
from studio.domain.models import EFFORTS
from studio.domain.permissions import Rule
from studio.tools.sdk.tool_template import write_new

MAX_FILE_BYTES = 200_000
"""Bytes of an agent file."""
MAX_PARSED = 1_000
PROJECT_AGENTS = Path(".agents") / "agents"
MAX_TEMPERATURE = 2.0
"""The highest temperature any provider takes."""
MAX_STEPS = 1_000
MAX_SECONDS = 86_400.0
MAX_PARALLEL = 100
ROLES: tuple[Role, ...] = get_args(Role)
"""From everything to reading only."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents by name, and one line for each file that could not be read."""

    by_name: dict[str, Agent] = field(default_factory=dict[str, Agent])
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Agent | None:
        """The agent of a name, ignoring case."""
        wanted = name.casefold()
        return next((a for a in self.by_name.values() if a.name.casefold() == wanted), None)


class AgentFiles:
    """Reads the folders at each call, so that saved changes apply at once."""

    def __init__(self, shipped: Path, own: Path) -> None:
        self._shipped = shipped
        self._own = own
        self._parsed: dict[tuple[Path, bool], tuple[str, Agent]] = {}
        """Parsed files by path and trust, with their texts, reused while unchanged."""

    async def load(self, project: Path | None = None, *, trusted: bool = False) -> Agents:
        """Load the agents; ``trusted``: the project's files may widen rights."""
        return await asyncio.to_thread(self.read, project, trusted=trusted)

    def read(self, project: Path | None = None, *, trusted: bool = False) -> Agents:
        """Load the agents. Blocks."""
        agents: dict[str, Agent] = {}
        problems: list[str] = []
        places = [(self._shipped, True), (self._own, True)]
        if project is not None:
            places.append((project / PROJECT_AGENTS, trusted))
        for folder, wide in places:
            for path in _files(folder):
                try:
                    agent = self._agent(path, wide)
                except OSError as error:
                    problems.append(f"{path}: {error.strerror or error}")
                except ValueError as error:
                    problems.append(f"{path}, {error}")
                else:
                    if replaced := Agents(agents).get(agent.name):
                        del agents[replaced.name]
                        agent = agent if wide else _restricted(agent, replaced)
                    agents[agent.name] = agent
        return Agents(agents, tuple(problems))

    def _agent(self, path: Path, trusted: bool) -> Agent:
        text = _text(path)
        known = self._parsed.get((path, trusted))
        if known is None or known[0] != text:
            known = text, parse_agent(text, path, trusted=trusted)
            if len(self._parsed) >= MAX_PARSED:  # some are from folders no longer in use
                self._parsed.clear()
            self._parsed[path, trusted] = known
        return known[1]


def _restricted(agent: Agent, replaced: Agent) -> Agent:
    """A project's agent with no more rights than the agent that it replaces."""
    tools = agent.tools
    if "*" in tools:
        tools = replaced.tools
    elif "*" not in replaced.tools:
        tools = tuple(name for name in tools if name in replaced.tools)
    limits = tuple(rule for rule in replaced.permissions if rule.verdict != "allow")
    role = max(agent.role, replaced.role, key=ROLES.index)
    mask = (*replaced.mask, *agent.mask)
    permissions = (*limits, *agent.permissions)
    return replace(agent, tools=tools, permissions=permissions, role=role, mask=mask)


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            names = fnmatch.filter((entry.name for entry in found), "*.md")
    except OSError:  # none there, no folder, a link to itself
        return []
    return [folder / name for name in sorted(names, key=os.path.normcase)]


def _text(path: Path) -> str:
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):  # a device has no end
        raise ValueError("line 1: this is not an ordinary file")
    with path.open("rb") as file:  # to read makes a buffer as large as it is told
        data = file.read(min(found.st_size, MAX_FILE_BYTES) + 1)
        if len(data) > found.st_size:  # it grew, or its folder tells no sizes
            data += file.read(MAX_FILE_BYTES + 1 - len(data))
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"line 1: the file is larger than {MAX_FILE_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: this is not UTF-8 text") from error


def parse_agent(text: str, path: Path, *, trusted: bool = True) -> Agent:
    """Parse one agent file; ValueError names the line and the mistake: ``line 2: …``."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        raise ValueError("line 1: an agent file begins with a line of three dashes")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if end is None:
        raise ValueError("line 1: no second line of three dashes closes the frontmatter")
    data = _frontmatter(lines[1:end])
    prompt = "\n".join(lines[end + 1 :]).strip()
    if not prompt and data.get("tools", "*"):
        raise ValueError(f"line {end + 1}: the instructions below the frontmatter are missing")
    values: dict[str, Any] = {"name": path.stem}
    key = ""
    try:
        for key in data:
            if key not in _READERS:
                raise ValueError(f"unknown key {key!r}; known are {', '.join(sorted(_READERS))}")
        for key, read in _READERS.items():
            if key in data and (value := read(data[key], key)) not in ("", None):
                values[key] = value
    except ValueError as error:
        raise ValueError(f"line {_line_of(key, lines, end)}: {error}") from error
    caps = Caps(values.pop("tokens", 0), values.pop("dollars", 0.0))
    agent = Agent(**values, prompt=prompt, caps=caps, source=str(path))
    if trusted:
        return agent
    return replace(
        agent,
        permissions=tuple(rule for rule in agent.permissions if rule.verdict != "allow"),
        steps=0,
        seconds=0.0,
        parallel_tools=0,
        # An untrusted pattern could take without end.
        mask=tuple(name for name in agent.mask if "=" not in name),
    )


def _frontmatter(lines: list[str]) -> dict[str, Any]:
    """The YAML between the dashes, which begins on line 2 of the file."""
    import yaml

    text = "\n".join(lines)
    try:
        loaded: Any = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise ValueError(f"line {line}: {error.problem or 'not valid YAML'}") from error
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 2
        raise ValueError(f"line {line}: a character that YAML does not allow") from error
    except RecursionError as error:
        raise ValueError("line 2: nested too deeply") from error
    if not isinstance(loaded, dict):
        raise ValueError("line 2: the frontmatter is a list of “key: value” lines")
    return {str(key): value for key, value in cast("dict[Any, Any]", loaded).items()}


def _line_of(key: str, lines: list[str], end: int) -> int:
    """The line number, from 1, of a key of the frontmatter."""
    found = (n for n, line in enumerate(lines[:end], 1) if line.lstrip("\"'").startswith(key))
    return next(found, 2)


def _word(value: Any, key: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ValueError(f"{key} is a text")
    return str(value).strip()


def _choice(value: Any, key: str, *, of: Sequence[str]) -> str:
    word = _word(value, key)
    if word and word not in of:
        known = " or ".join(of) if len(of) == 2 else f"one of {', '.join(of)}"
        raise ValueError(f"{key} is {known}, not {word!r}")
    return word


def _temperature(value: Any, key: str) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= MAX_TEMPERATURE:
        raise ValueError(f"{key} is a number from 0 to {MAX_TEMPERATURE:g}")
    return float(value)


def _amount(value: Any, key: str, *, most: float = math.inf, whole: bool = False) -> float:
    """A number of steps, seconds, tools, tokens or dollars; 0 for null."""
    if value is None:
        return 0
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value <= most:
        end = f" up to {most:,.0f}" if most < math.inf else ""
        raise ValueError(f"{key} is a {'whole ' if whole else ''}number above 0{end}")
    return value


def _mask(value: Any, key: str) -> tuple[str, ...]:
    return _names(value or [], key)


def _names(value: Any, key: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",")]
    if not isinstance(value, list):
        raise ValueError(f"{key} is a list of names" + (", or “*” for all" * (key == "tools")))
    return tuple(name for name in _texts(cast("list[object]", value), key) if name)


def read_rules(value: Any, what: str) -> tuple[Rule, ...]:
    """Rules from their lists in YAML; ValueError says what is wrong in ``what``."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise ValueError(f"{what} has lists under allow, ask and deny")
    rules: list[Rule] = []
    for verdict, patterns in cast("dict[Any, Any]", value).items():
        if verdict not in ("allow", "ask", "deny"):
            raise ValueError(f"{what} has allow, ask and deny, not {verdict!r}")
        items = cast("list[object]", patterns) if isinstance(patterns, list) else [patterns]
        rules += [Rule.parse(item, verdict) for item in _texts(items, verdict)]
    return tuple(rules)


def _texts(items: list[object], key: str) -> list[str]:
    """Require texts; ``str`` of nested YAML references could fill the memory."""
    if not all(isinstance(item, str) for item in items):
        raise ValueError(f"{key} is a list of texts")
    return cast("list[str]", items)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "name": _word,
    "description": _word,
    "provider": _word,
    "model": _word,
    "mode": partial(_choice, of=get_args(Mode)),
    "hue": partial(_choice, of=HUES),
    "effort": partial(_choice, of=EFFORTS),
    "temperature": _temperature,
    "role": partial(_choice, of=ROLES),
    "steps": partial(_amount, most=MAX_STEPS, whole=True),
    "seconds": partial(_amount, most=MAX_SECONDS),
    "parallel_tools": partial(_amount, most=MAX_PARALLEL, whole=True),
    "tokens": partial(_amount, whole=True),
    "dollars": _amount,
    "mask": _mask,
    "permissions": read_rules,
    "tools": _names,
    "icon": _word,
}
"""What reads each key of the frontmatter; an empty text or None stands for the default."""

MAX_NAME_LENGTH = 60
_TEMPLATE = """\
---
name: @NAME@
description: What it is for, in a line
# Which tools it has: a list of names, or "*" for all; agent-studio tools list
tools: [list, glob, read, search, ask]
# What it may use at most: all, edits, notes or reads
role: reads
# Rules on top of yours: TOOL or TOOL(PATTERN); a refusal always wins
# permissions:
#   allow: ["run(git diff *)"]
#   deny: ["run(git push*)"]
# background takes its time, inline answers soon
mode: background
# Where you did not choose another:
# provider: anthropic
# model: claude-opus-5-5
# How hard it thinks: none, minimal, low, medium, high, xhigh or max
# effort: medium
# Ends of one turn:
# steps: 20
# seconds: 180
# tokens: 100000
# dollars: 1.00
# Personal data that the model does not get from outside:
# mask: [email, phone]
# A name from lucide.dev, and one of @HUES@
icon: sparkle
hue: slate
---
You are an agent with one task. Say here what it is, how you go about it, and
what a good result looks like.

Read before you judge. Say what you do not know.
"""


def agent_template(name: str) -> str:
    """The text of an agent file, with comments."""
    quoted = json.dumps(name, ensure_ascii=False)
    return _TEMPLATE.replace("@NAME@", quoted).replace("@HUES@", ", ".join(HUES))


def create_agent_file(folder: Path, name: str, taken: Iterable[str]) -> Path:
    """Write a template file into a folder that is there; returns its path.

    Raises ConfigurationError if the name is invalid or ``taken``, and if the file exists
    or cannot be written. Blocks.
    """
    words = " ".join(name.split())
    stem = re.sub(r"[^\w-]+", "-", words.lower()).strip("-")
    if words != name or not stem or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ConfigurationError(
            f"“{words[:MAX_NAME_LENGTH]}” is no name for an agent. Use words of letters and "
            f"digits, {MAX_NAME_LENGTH} characters at most."
        )
    if name.casefold() in (one.casefold() for one in taken):
        raise ConfigurationError(f"There is an agent {name} already. Choose another name.")
    path = folder / f"{stem}.md"
    write_new(path, agent_template(name))
    return path
