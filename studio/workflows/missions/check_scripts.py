"""Check scripts: which files of the folder the checks of a mission run, by content (W-48).

A run keeps their digests from its begin. A mission whose checks pass after one of them changed is
not over: the person says whether that counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from studio.agent.permission.command_parts import analyze_command
from studio.agent.permission.shell_lexer import DYNAMIC
from studio.domain.jsonvalue import JsonObject
from studio.domain.workflows import Workflow

SCRIPT = "script "
"""Before the path of a script among the parts of a run."""
MOST_FILES = 50_000
"""Files of the folder among which scripts are looked for."""
MOST_SCRIPTS = 2_000
READS: Mapping[str, tuple[str, ...]] = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile",),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("package.json",)),
    **dict.fromkeys(
        ("pytest", "unittest", "tox", "nox"),
        ("test_*.py", "*_test.py", "conftest.py", "pytest.ini", "tox.ini", "noxfile.py"),
    ),
    "go": ("*_test.go",),
}
"""What programs that test run without being told, by the names of the files."""
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "build", "dist", "target"})


def script_digests(workflow: Workflow, folder: Path) -> JsonObject:
    """The digests of the scripts that the checks of a mission run; blocks.

    One that is not there yet has an empty one: who makes it decides whether the check passes.
    """
    paths = (path for line in _commands(workflow) for path in _scripts(line, folder))
    unique = islice(dict.fromkeys(paths), MOST_SCRIPTS)
    return {f"{SCRIPT}{path}": digest_of(_content(folder / path)) for path in unique}


def scripts_of(parts: JsonObject) -> dict[str, str]:
    """The digests of scripts among the parts that a run began with, by path."""
    found = ((name, str(one)) for name, one in parts.items() if name.startswith(SCRIPT))
    return {name.removeprefix(SCRIPT): one for name, one in found}


def digest_of(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""


def changed_scripts(parts: JsonObject, now: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """The scripts that are not as they were when their run began."""
    pinned = scripts_of(parts).items()
    return tuple(path for path, one in pinned if path in now and digest_of(now[path]) != one)


def _commands(workflow: Workflow) -> Iterator[str]:
    return (one.target for one in workflow.done_when if one.kind == "run")


def _scripts(line: str, folder: Path) -> Iterator[str]:
    """The files of the folder that a command runs, as paths from there."""
    parsed = analyze_command(line)
    named = [path for part in parsed.parts for _, path in part.files]
    if parsed.unclear or DYNAMIC in "".join(named):  # any word may be one
        named = [word.strip("'\"") for word in line.split()]
        named = [word for word in named if (folder / word).is_file()]
    words = {word.strip("'\"").rpartition("/")[2] for word in line.split()}
    patterns = [pattern for name in READS.keys() & words for pattern in READS[name]]
    named += [one for one in patterns if "*" not in one]  # one that is made later counts, too
    for base in (folder, *(folder / move for move in parsed.moves if DYNAMIC not in move)):
        yield from _inside(folder, (base / path for path in named))
    if patterns:
        found = (path for path in _files(folder) if _fits(path.name, patterns))
        yield from _inside(folder, found)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _inside(folder: Path, paths: Iterable[Path]) -> Iterator[str]:
    root = os.path.realpath(folder)
    for path in paths:
        if Path(os.path.realpath(path)).is_relative_to(root):
            yield Path(os.path.relpath(os.path.normpath(path), folder)).as_posix()


def _files(folder: Path) -> Iterator[Path]:
    def walk() -> Iterator[Path]:
        for at, folders, names in os.walk(folder):
            folders[:] = [one for one in folders if one[0] != "." and one not in _LEFT_OUT]
            yield from (Path(at) / name for name in names)

    return islice(walk(), MOST_FILES)


def _content(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except OSError:
        return None
