"""Agent files: which agents there are, each a markdown file, see ``parser``.

Agents come from four kinds of places: those that ship with the program, packs, the person's own
folders, and the project's (``.agents/agents/``, and those of Claude Code and Copilot). The person's
own replace shipped ones of the same name, and so do the project's once the person trusts the
folder; a pack's take no name that a shipped one has. Until a folder is trusted its files are a
stranger's: they take no name that exists or that looks like one, choose no provider, model or
effort, and their ``allow`` rules are ignored. ``create_agent_file`` writes a commented template.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TypeAlias

from studio.agent.folder_files import (
    MAX_AGENTS,
    MAX_FILE_BYTES,
    FolderFiles,
    agent_paths,
    describe_problem,
    read_agent_file,
)
from studio.agent.look_alikes import skeleton
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import HUES, Agent, Origin
from studio.domain.errors import ConfigurationError
from studio.domain.extensions import PackPlace
from studio.domain.records import dataclass
from studio.tools.sdk.tool_template import write_new

from .parser import MAX_NAME_LENGTH, parse_agent

MAX_PARSED = 1_000
SETTLED_NS = 2_000_000_000
"""Nanoseconds; a file that changed later may change once more without another time."""
MAX_PROBLEM = 500
"""Characters of what is said about a project's file."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents by name, and one line for each file that could not be read or was left out.

    ``replaced`` has the names that the folder's agents took from others, ``left_out`` the
    files that did not get the name that they wanted, because the folder is not trusted.
    """

    by_name: dict[str, Agent] = field(default_factory=dict[str, Agent])
    problems: tuple[str, ...] = ()
    replaced: frozenset[str] = frozenset()
    left_out: Mapping[str, Path] = field(default_factory=dict[str, Path])

    def get(self, name: str) -> Agent | None:
        """The agent of a name, ignoring case."""
        wanted = name.casefold()
        return next((a for a in self.by_name.values() if a.name.casefold() == wanted), None)

    def named(self, name: str) -> Agent:
        """Raises ConfigurationError that lists the known ones, or says why a file was skipped."""
        agent = self.get(name)
        if agent is None:
            known = ", ".join(sorted(self.by_name))
            problems = "".join(f" {problem}." for problem in self.problems)
            raise ConfigurationError(f"There is no agent {name}. Known are {known}.{problems}")
        return agent

    def with_kept(self, kept: Mapping[str, Agent], *, trusted: bool) -> Agents:
        """The agents, some as they were when a run began.

        A folder that is not trusted any more has them as its files are now: they may do less (W-4).
        """
        usable = {
            name: replace(one, source=self.by_name[name].source if name in self.by_name else "")
            for name, one in kept.items()
            if trusted or one.origin != "folder" or not one.trusted
        }
        return replace(self, by_name={**self.by_name, **usable}) if usable else self

    def notice(self, agent: Agent) -> str:
        """What the person has to know about the agent of a turn; empty for most."""
        if not agent.trusted:
            return (
                f"{agent.name} is this folder’s agent, from {place(agent)}, and you do not trust "
                "the folder: its instructions count as a stranger’s words, and it chooses no "
                "provider, model or effort."
            )
        if agent.name in self.replaced:
            return f"{agent.name} is this folder’s agent here, from {place(agent)}, not yours."
        if path := self.left_out.get(agent.name):
            return (
                f"This folder has an agent {agent.name} too, {_below_folder(path)}. Yours is used "
                "until you trust the folder."
            )
        return ""


def place(agent: Agent) -> str:
    """The file of a folder's agent, relative to the folder."""
    return _below_folder(Path(agent.source))


def _below_folder(path: Path) -> str:
    return escape_line(Path(*path.parts[-3:]).as_posix())


_File: TypeAlias = tuple[Path, Origin, str, bytes | str]
"""An agent file, whose it is, its pack, and its contents or why they could not be read."""


@dataclass(slots=True)
class _Own:
    """The agents of the program, of packs and of the person's own folders.

    ``taken`` has the names that exist, by what they look like.
    """

    files: list[_File]
    agents: dict[str, Agent] = field(default_factory=dict[str, Agent])
    problems: list[str] = field(default_factory=list[str])
    taken: dict[str, str] = field(default_factory=dict[str, str])


class AgentFiles:
    """Looks at the folders at each call, so that saved changes apply at once. What ships with the
    program is read once: a new version of it counts from the next start on, as its code does.

    May be called in several threads: what is kept of them is replaced as a whole.
    """

    def __init__(
        self, shipped: Path, *own: Path, packs: Callable[[], Iterable[PackPlace]] = tuple
    ) -> None:
        """``packs`` tells where packs have their agents (X-1), and blocks."""
        self._shipped = shipped
        self._own_folders = own
        self._packs = packs
        self._parsed: dict[tuple[str, Origin, bool], tuple[bytes, Agent | str]] = {}
        """Files with their contents, and the agent or the problem of each, while unchanged."""
        self._own: _Own | None = None
        self._shipped_files: list[_File] = []
        """Those of the program, once all of them were read."""
        self._contents: dict[str, tuple[tuple[int, ...], bytes]] = {}
        """Files of the program and of the person's own folders, with what tells of a change."""

    async def load(self, project: FolderFiles | None = None, *, trusted: bool = False) -> Agents:
        """Load the agents; ``trusted``: the project's files are the person's own."""
        return await asyncio.to_thread(self.read, project, trusted=trusted)

    def read(self, project: FolderFiles | None = None, *, trusted: bool = False) -> Agents:
        """Load the agents. Blocks."""
        own = self._of_own_places()
        agents, problems, taken = dict(own.agents), list(own.problems), dict(own.taken)
        if project is None or not (project.agents or project.crowded):
            return Agents(agents, tuple(problems))
        taken |= {key: name for name in agents for key in (name.casefold(), skeleton(name))}
        replaced: set[str] = set()
        left_out: dict[str, Path] = {}
        for agent in self._of_project(project, trusted, problems):
            alike = skeleton(agent.name)
            if trusted:
                before = _put(agents, agent)
                if before is not None and before.origin != "folder":
                    replaced.add(agent.name)
            elif known := taken.get(alike) or taken.get(agent.name.casefold()):
                left_out[known] = Path(agent.source)
                problems.append(_line(f"{agent.source}, {_taken(agent.name, known)}"))
            else:
                taken |= dict.fromkeys((alike, agent.name.casefold()), agent.name)
                agents[agent.name] = agent
        return Agents(agents, tuple(problems), frozenset(replaced), left_out)

    def _of_own_places(self) -> _Own:
        """The agents that need no trust, put together again only where their files changed."""
        files = [*(self._shipped_files or self._read_shipped())]
        for one in self._packs():
            files += self._files(one.path, "pack", one.name)
        for folder in self._own_folders:
            files += self._files(folder, "own")
        known = self._own
        if known is None or known.files != files:
            known = self._own = self._put_together(files)
        return known

    def _read_shipped(self) -> list[_File]:
        files = self._files(self._shipped, "shipped")
        if not any(isinstance(data, str) for *_, data in files):
            self._shipped_files = files
        return files

    def _files(self, folder: Path, origin: Origin, pack: str = "") -> list[_File]:
        """The agent files in a folder, in the order in which they count."""
        files: list[_File] = []
        for path in agent_paths(folder):
            try:
                files.append((path, origin, pack, self._read(path)))
            except (OSError, ValueError) as error:
                files.append((path, origin, pack, describe_problem(path, error)))
        return files

    def _put_together(self, files: list[_File]) -> _Own:
        found = _Own(files)
        for path, origin, pack, data in files:
            agent = data if isinstance(data, str) else self._agent_or_problem(path, data, origin)
            if isinstance(agent, str):
                found.problems.append(agent)
                found.taken[skeleton(path.stem)] = path.stem  # it may be the file's name
                continue
            known = origin == "pack" and _alike(agent.name, found.agents)
            if known:
                there = f"{path}: left out, there is an agent {known} already"
                found.problems.append(_line(there))
            else:
                _put(found.agents, replace(agent, pack=pack) if pack else agent)
        return found

    def _agent_or_problem(self, path: Path, data: bytes, origin: Origin) -> Agent | str:
        try:
            return self._agent(path, data, origin)
        except (OSError, ValueError) as error:
            return describe_problem(path, error)

    def _read(self, path: Path) -> bytes:
        """A file that needs no trust: read again only if the system tells of a change."""
        name = str(path)
        found = path.stat()
        told = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        known = self._contents.get(name)
        if known is not None and known[0] == told:
            return known[1]
        data = read_agent_file(path)
        if time.time_ns() - max(told[:2]) > SETTLED_NS:
            if len(self._contents) >= MAX_PARSED:
                self._contents.clear()
            self._contents[name] = told, data
        return data

    def _of_project(
        self, project: FolderFiles, trusted: bool, problems: list[str]
    ) -> Iterator[Agent]:
        """The agents of a folder; adds what is wrong with its files to ``problems``."""
        if project.crowded:
            where = project.folder
            problems.append(_line(f"{where}: more than {MAX_AGENTS} agent files, none is read"))
        for file in project.agents:
            if file.problem:
                problems.append(_line(file.problem))
            elif file.strays and not trusted:
                problems.append(_line(f"{file.path}: a link that leads out of the folder"))
            else:
                try:
                    yield self._agent(file.path, file.data, "folder", trusted=trusted)
                except ValueError as error:
                    problems.append(_line(describe_problem(file.path, error)))

    def _agent(self, path: Path, data: bytes, origin: Origin, *, trusted: bool = True) -> Agent:
        key = str(path), origin, trusted
        known = self._parsed.get(key)
        if known is None or known[0] != data:
            known = data, _parsed(data, path, origin, trusted)
            if len(self._parsed) >= MAX_PARSED:  # some are from folders no longer in use
                self._parsed.clear()
            self._parsed[key] = known
        if isinstance(known[1], str):
            raise ValueError(known[1])
        return known[1]


def _parsed(data: bytes, path: Path, origin: Origin, trusted: bool) -> Agent | str:
    """The agent, or what is wrong with its file: a hostile one takes long to fail."""
    try:
        return replace(parse_agent(_text(data), path, trusted=trusted), origin=origin)
    except ValueError as error:
        return str(error)


def _put(agents: dict[str, Agent], agent: Agent) -> Agent | None:
    """Add an agent; returns the one of its name that it replaced."""
    replaced = Agents(agents).get(agent.name)
    if replaced is not None:
        del agents[replaced.name]
    agents[agent.name] = agent
    return replaced


def _alike(name: str, agents: Mapping[str, Agent]) -> str:
    """The agent that a name is, or looks like; empty for none."""
    wanted = {name.casefold(), skeleton(name)}
    return next((one for one in agents if wanted & {one.casefold(), skeleton(one)}), "")


def _line(problem: str) -> str:
    """A problem in one visible line: a stranger chose the names in it."""
    return escape_line(problem, MAX_PROBLEM)


def _taken(name: str, known: str) -> str:
    alike = "" if name == known else f", which “{name}” looks like"
    until = "it is left out until you trust the folder"
    return f"line 1: there is an agent {known} already{alike}; {until}"


def _text(data: bytes) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"line 1: the file is larger than {MAX_FILE_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: this is not UTF-8 text") from error


_TEMPLATE = """\
---
name: @NAME@
description: What it is for, in a line
# Which tools it has: names, "own" for all tools of your own, "*" for all there are;
# agent-studio tools list
tools: [list, glob, read, search, ask]
# What it may use at most: all, edits, notes or reads
role: reads
# Rules on top of yours: TOOL or TOOL(PATTERN); a refusal always wins
# permissions:
#   allow: ["run(git diff *)"]
#   deny: ["run(git push*)"]
# inline answers soon, background takes its time, long works for up to an hour
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
