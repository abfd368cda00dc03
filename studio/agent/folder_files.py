"""Folder files: reads what a folder brings for agents, once, with a digest for trust.

What is trusted and what is used are the same bytes: a file that changes in between
cannot slip in.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Set
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from studio.domain.records import dataclass

from .instruction_files import below, project_paths

PROJECT_AGENTS = Path(".agents") / "agents"
CLAUDE_AGENTS = Path(".claude") / "agents"
GITHUB_AGENTS = Path(".github") / "agents"
AGENT_PLACES = ((CLAUDE_AGENTS, ".md"), (GITHUB_AGENTS, ".agent.md"), (PROJECT_AGENTS, ".md"))
"""Where a folder has its agents, and how their files end; a later place wins by name."""
SKILL_PLACES = (Path(".agents") / "skills", Path(".claude") / "skills")
COMMAND_PLACES = (Path(".agents") / "commands", Path(".claude") / "commands")
"""Where a folder, or the person's home, has its skills and commands; the first counts most."""
PROJECT_PERMISSIONS = Path(".agents") / "permissions.yaml"
SERVER_FILES = (Path(".mcp.json"), Path(".agents") / "mcp.json")
"""Where a folder has its MCP servers; a later place wins by name."""
PROJECT_HOOKS = Path(".agents") / "hooks.json"
PROJECT_CHECKS = Path(".agents") / "checks.yaml"
_HOLDERS = frozenset({".agents", ".claude", ".github"})
"""Folders that have all of these but one file; most folders have none of them."""
MAX_FILE_BYTES = 200_000
"""Bytes of one file."""
MAX_AGENTS = 200
"""Agent files of a folder that is not the person's own."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent file as it was read, of at most ``MAX_FILE_BYTES`` + 1 bytes.

    ``problem`` says why it could not be read. ``strays``: a link leads out of the folder.
    """

    path: Path
    data: bytes = b""
    problem: str = ""
    strays: bool = False


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files of a folder that could widen rights; ``digest`` is of all of them.

    ``permissions``, ``checks`` and ``hooks`` are None if there is no such file. ``servers`` are the
    files of MCP servers. ``crowded``: there are too many agent files, and none was read. ``gone``:
    there is no such folder. ``place`` is the folder with links resolved.
    ``prose`` names what agents are told to do: instruction files, skills and commands. It is not in
    the digest, so that trust goes on when they change (K-3).
    """

    folder: Path
    place: str
    permissions: bytes | None = None
    agents: tuple[AgentFile, ...] = ()
    digest: str = ""
    crowded: bool = False
    gone: bool = False
    checks: bytes | None = None
    prose: tuple[str, ...] = ()
    servers: tuple[tuple[Path, bytes], ...] = ()
    hooks: bytes | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing that could widen rights, or that agents would follow."""
        rules = any(one is not None for one in (self.permissions, self.checks, self.hooks))
        return not (rules or self.agents or self.servers or self.prose)


def read_folder_files(folder: Path) -> FolderFiles:
    """Read the files; a file that cannot be read is part of the result. Blocks."""
    folder = below(folder, "")  # the same object as the last time
    absent = {name for name in _HOLDERS if not os.path.lexists(below(folder, name))}

    def whole(place: Path) -> bytes | None:
        return None if place.parts[0] in absent else _whole_file(below(folder, place))

    rules, checks, hooks = map(whole, (PROJECT_PERMISSIONS, PROJECT_CHECKS, PROJECT_HOOKS))
    served = [(below(folder, place), whole(place)) for place in SERVER_FILES]
    servers = tuple((path, data) for path, data in served if data is not None)
    paths = list(islice(project_agent_paths(folder, absent), MAX_AGENTS + 1))
    crowded = len(paths) > MAX_AGENTS
    agents = () if crowded else tuple(_agent_file(path, folder) for path in paths)
    total = hashlib.sha256()
    for name, data in (
        ("permissions.yaml", rules),
        # Left out where there are none: folders that are trusted already stay so.
        *([("checks.yaml", checks)] if checks is not None else []),
        *([("hooks.json", hooks)] if hooks is not None else []),
        *((path.relative_to(folder).as_posix(), data) for path, data in servers),
        *((_told(one.path), None if one.problem else one.data) for one in agents),
    ):
        content = data or b""
        head = f"{name}\n{data is not None}\n{len(content)}\n"
        total.update(head.encode(errors="surrogatepass") + content)  # any name that a disk has
    found = any(one is not None for one in (rules, checks, hooks)) or paths or servers
    gone = not found and not folder.is_dir()
    prose = () if gone else _prose(folder, absent)
    digest = total.hexdigest()
    place = os.path.realpath(folder)
    return FolderFiles(
        folder, place, rules, agents, digest, crowded, gone, checks, prose, servers, hooks
    )


def _prose(folder: Path, absent: Set[str]) -> tuple[str, ...]:
    """What a folder has that agents would follow, by names relative to it."""
    found = [Path(os.path.relpath(path, folder)).as_posix() for path in project_paths(folder)]
    for place in (*SKILL_PLACES, *COMMAND_PLACES):
        if place.parts[0] in absent:
            continue
        with suppress(OSError), os.scandir(below(folder, place)) as inside:
            found += [f"{place.as_posix()}/" for _ in islice(inside, 1)]
    return tuple(found)


def _told(path: Path) -> str:
    """What the digest calls a file. Those of ``.agents`` are called as they always were."""
    folder = Path(*path.parts[-3:-1])
    return path.name if folder == PROJECT_AGENTS else (folder / path.name).as_posix()


def project_agent_paths(folder: Path, absent: Set[str] = frozenset()) -> Iterator[Path]:
    """The agent files that a folder brings, in the order in which they count.

    ``absent`` are folders in it that are known not to be there.
    """
    for place, ending in AGENT_PLACES:
        if place.parts[0] not in absent:
            yield from agent_paths(below(folder, place), ending)


_parsed = lru_cache(maxsize=4_000)(Path)
"""One object for each path, see ``below``."""


def agent_paths(folder: Path, ending: str = ".md") -> list[Path]:
    """The agent files in a folder by their names; none if it cannot be listed."""
    try:
        with os.scandir(folder) as inside:
            named = [
                (name, entry.path)
                for entry in inside
                if (name := os.path.normcase(entry.name)).endswith(ending)
            ]
    except OSError:  # none there, no folder, a link to itself
        return []
    return [_parsed(path) for _, path in sorted(named)]


def read_agent_file(path: Path) -> bytes:
    """The first ``MAX_FILE_BYTES`` + 1 bytes; raises OSError, or ValueError for a device."""
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):  # a device has no end
        raise ValueError("line 1: this is not an ordinary file")
    with path.open("rb") as file:  # to read makes a buffer as large as it is told
        data = file.read(min(found.st_size, MAX_FILE_BYTES) + 1)
        if len(data) > found.st_size:  # it grew, or its folder tells no sizes
            data += file.read(MAX_FILE_BYTES + 1 - len(data))
    return data


def describe_problem(path: Path, error: OSError | ValueError) -> str:
    """What is wrong with a file, in a line; a ValueError's text begins with the line."""
    if isinstance(error, OSError):
        return f"{path}: {error.strerror or error}"
    return f"{path}, {error}"


def _agent_file(path: Path, folder: Path) -> AgentFile:
    try:
        strays = not path.resolve().is_relative_to(folder.resolve())
        return AgentFile(path, read_agent_file(path), strays=strays)
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle
        known = error if isinstance(error, OSError | ValueError) else OSError(str(error))
        return AgentFile(path, problem=describe_problem(path, known))


def _whole_file(path: Path) -> bytes | None:
    """The file's bytes; None if it cannot be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
