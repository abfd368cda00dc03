"""Check scripts: which files of the folder the checks of a mission run, by content (W-48).

A run keeps their digests from its begin. A mission whose checks pass after one of them changed is
not over: the person says whether that counts.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections import deque
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
TESTS = ("test_*.py", "*_test.py", "conftest.py", "check_*.py", "*_check.py")
PLACES = frozenset({"test", "tests", "testing", "check", "checks", "spec", "specs"})
"""How files, and folders, are called that are a part of tests."""
SHELLS = (".sh", ".bash", ".zsh", ".ksh")
LONGEST = 1_000_000
"""Bytes of a script in which its parts are looked for."""
_SHEBANG = re.compile(r"#!.*\b(?:ba|da|z|k)?sh\b")
_SOURCED = re.compile(
    r"""^[ \t]*(?:source|\.)[ \t]++(["']*+(?:.*[$`)}][^/\s$`)}]*(?=/))?)([\w.+/-]+)"""
    r"""["']*[ \t]*(?:[;&|#].*)?$""",
    re.MULTILINE,
)
"""``source lib.sh``, also ``. "$(dirname "$0")/lib.sh"``: what is before the path, and the path.

No line takes longer than its length, as agents write such files.
"""
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "build", "dist", "target"})


def script_digests(workflow: Workflow, folder: Path) -> JsonObject:
    """The digests of the scripts that the checks of a mission run; blocks.

    One that is not there yet has an empty one: who makes it decides whether the check passes.
    """
    paths = (path for line in _commands(workflow) for path in _scripts(line, folder))
    return {f"{SCRIPT}{path}": digest_of(one) for path, one in _with_parts(folder, paths).items()}


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


def _with_parts(folder: Path, paths: Iterable[str]) -> dict[str, bytes | None]:
    """The contents of scripts, and of the files that these have as a part of themselves."""
    found = dict[str, bytes | None]()
    left = deque(islice(dict.fromkeys(paths), MOST_SCRIPTS))
    while left and len(found) < MOST_SCRIPTS:
        path = left.popleft()
        if path in found:
            continue
        content = found[path] = _content(folder / path)
        if content is not None and len(content) <= LONGEST:
            parts = _parts_of(folder, folder / path, content.decode("utf-8", "replace"))
            left.extend(_inside(folder, parts))
    return found


def _parts_of(folder: Path, script: Path, text: str) -> Iterator[Path]:
    """The files that a script sources, or those that it imports and that are tests, too.

    What else it imports is what it tests: the work itself.
    """
    if script.suffix == ".py":
        yield from (one for one in _imported(folder, script, text) if _is_of_tests(folder, one))
    elif script.suffix in SHELLS or _SHEBANG.match(text):
        for match in _SOURCED.finditer(text):
            begins, path = match[1], match[2]
            path = path.lstrip("/") if begins.rstrip("\"'") else path  # after $HERE
            near = script.parent / path
            yield folder / path if (folder / path).is_file() and not near.is_file() else near


def _imported(folder: Path, script: Path, text: str) -> Iterator[Path]:
    """The files of the folder that a Python file imports by its own words."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        bases, names = (script.parent, folder), list[str]()
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                above = script.joinpath(*[os.pardir] * node.level)
                bases = (Path(os.path.normpath(above)),)
            start = f"{node.module}." if node.module else ""
            names = [node.module or "", *(f"{start}{one.name}" for one in node.names)]
        for base in bases:
            for name in names:
                place = base.joinpath(*name.split("."))
                yield from (one for one in _module(place) if one.is_file())


def _module(place: Path) -> tuple[Path, Path]:
    return place.with_name(f"{place.name}.py"), place / "__init__.py"


def _is_of_tests(folder: Path, path: Path) -> bool:
    """Whether a file is a part of tests by its name, or by that of a folder above it."""
    inside = Path(os.path.relpath(os.path.normpath(path), folder))
    return _fits(inside.name, TESTS) or any(one.lower() in PLACES for one in inside.parts[:-1])


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
