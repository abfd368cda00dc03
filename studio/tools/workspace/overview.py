"""Overview: what a newcomer to a folder looks for first: its tree, how it is built and tested.

Names and texts may be a stranger's. They become single lines here, and no command is taken
from a file: a command is named because of the files that are there. Blocks.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which

from studio.domain.records import dataclass

from .folder import Workspace
from .listing import list_names
from .text_files import open_file

MOST_LINES = 60
"""Lines of the tree."""
MOST_TOP = 36
"""Of those, entries of the folder itself."""
_NET = re.compile(r"[\\/]{2}|[\\/]net[\\/]")
"""Begins a path that may lead to another computer: to look there tells it who looks."""
_MOST_NAMES = 4_000
_MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class _Kind:
    """One way to build and test, told by a file: ``programs`` are what it needs.

    ``test`` is the command that runs the tests where the file has ``mark`` (an expression).
    """

    file: str
    programs: tuple[str, ...] = ()
    test: str = ""
    mark: str = ""


_KINDS = (
    _Kind("Makefile", ("make",), "make test", r"(?m)^test\b[^=\n]*:"),
    _Kind("justfile", ("just",), "just test", r"(?m)^test\b[^=\n]*:"),
    _Kind("pyproject.toml", ("python3",), "python -m pytest", r"\bpytest\b"),
    _Kind("tox.ini", ("tox",), "tox"),
    _Kind("noxfile.py", ("nox",), "nox"),
    _Kind("pytest.ini", ("python3",), "python -m pytest"),
    _Kind("setup.cfg", ("python3",), "python -m pytest", r"\bpytest\b"),
    _Kind("setup.py", ("python3",)),
    _Kind("requirements.txt", ("python3",), "python -m pytest", r"\bpytest\b"),
    _Kind("package.json", ("node",), "npm test", r'"test"\s*:'),
    _Kind("deno.json", ("deno",), "deno test"),
    _Kind("Cargo.toml", ("cargo",), "cargo test"),
    _Kind("go.mod", ("go",), "go test ./..."),
    _Kind("pom.xml", ("mvn", "java"), "mvn test"),
    _Kind("build.gradle", ("gradle", "java"), "gradle test"),
    _Kind("build.gradle.kts", ("gradle", "java"), "gradle test"),
    _Kind("CMakeLists.txt", ("cmake",), "ctest", r"\benable_testing\b"),
    _Kind("meson.build", ("meson",), "meson test"),
    _Kind("Gemfile", ("ruby", "bundle"), "bundle exec rspec", r"\brspec\b"),
    _Kind("composer.json", ("php", "composer"), "composer test", r'"test"\s*:'),
    _Kind("mix.exs", ("mix",), "mix test"),
    _Kind("Package.swift", ("swift",), "swift test"),
    _Kind("pubspec.yaml", ("dart",), "dart test"),
    _Kind("Dockerfile", ("docker",)),
)
_LOCKS = {
    "pnpm-lock.yaml": ("pnpm", "pnpm test"),
    "yarn.lock": ("yarn", "yarn test"),
    "bun.lock": ("bun", "bun run test"),
    "bun.lockb": ("bun", "bun run test"),
}
"""Files that say which program runs what ``package.json`` names."""
_WRAPPERS = {"mvnw": ("mvn test", "./mvnw test"), "gradlew": ("gradle test", "./gradlew test")}
_GUIDES = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "README.md", "README.rst", "README.txt")
"""What people wrote down for a newcomer."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What was found in time; empty where nothing was. Each line may hold a stranger's names."""

    built: tuple[str, ...] = ()
    tree: tuple[str, ...] = ()


def overview(
    workspace: Workspace, environment: Mapping[str, str], line: Callable[[str], str], seconds: float
) -> Overview:
    """Look at a folder for at most some seconds. ``line`` makes one safe line of a name."""
    names = [
        name
        for name in list_names(workspace.root, _MOST_NAMES, seconds, depth=2)
        if not workspace.hidden(name.rstrip("/"))
    ]
    top = {name for name in names if "/" not in name}
    return Overview(tuple(_built(workspace.root, top, environment)), tuple(_tree(names, line)))


def git_branch(folder: Path) -> str:
    """The branch that is checked out, or the short id of a commit; empty without a repository."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_file():  # a worktree or a submodule: a line says where the rest is
            there = _beginning(git).removeprefix("gitdir:").strip()
            if _NET.match(there) or "\0" in there:
                return ""
            git = place / there if there else git
        head = _beginning(git / "HEAD").strip() if git.is_dir() else ""
        if head:
            name = head.removeprefix("ref:").strip()
            return name.removeprefix("refs/heads/") if name != head else head[:12]
    return ""


def _built(folder: Path, top: Collection[str], environment: Mapping[str, str]) -> Iterator[str]:
    kinds = [kind for kind in _KINDS if kind.file in top]
    projects = sorted(name for name in top if name.endswith((".sln", ".csproj")))
    if kinds or projects:
        yield f"Made with: {', '.join([*(kind.file for kind in kinds), *projects[:3]])}"
    programs = [program for kind in kinds for program in kind.programs]
    locks = [_LOCKS[name] for name in _LOCKS if name in top]
    programs += [program for program, _ in locks]
    programs += ["dotnet"] if projects else []
    if programs:
        path = environment.get("PATH", os.defpath)
        found, missing = list[str](), list[str]()
        for program in dict.fromkeys(programs):
            (found if which(program, path=path) else missing).append(program)
        said = [f"{', '.join(found)} found"] if found else []
        said += [f"{', '.join(missing)} not found"] if missing else []
        yield f"Programs: {'; '.join(said)}"
    tests = [kind.test for kind in kinds if _tests(folder, kind)]
    tests += ["dotnet test"] if projects else []
    for name, (usual, own) in _WRAPPERS.items():
        tests = [own if test == usual and name in top else test for test in tests]
    if locks:
        tests = [locks[0][1] if test == "npm test" else test for test in tests]
    python = _virtual_python(folder)
    if python:
        tests = [test.replace("python -m", f"{python} -m") for test in tests]
    if tests:
        yield f"Tests, by these files: {', '.join(dict.fromkeys(tests))}"
    if guides := [name for name in _GUIDES if name in top]:
        yield f"To read first: {', '.join(guides)}"


def _tests(folder: Path, kind: _Kind) -> bool:
    return bool(kind.test) and (
        not kind.mark or re.search(kind.mark, _beginning(folder / kind.file)) is not None
    )


def _virtual_python(folder: Path) -> str:
    """The Python of the folder's own environment, relative to it; empty without one."""
    inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    for name in (".venv", "venv"):
        if (folder / name / inside).is_file():
            return f"{name}/{inside}"
    return ""


def _tree(names: Sequence[str], line: Callable[[str], str]) -> Iterator[str]:
    """The names as a tree of two levels; what does not fit is counted."""
    top = [name for name in names if "/" not in name.rstrip("/")]
    top.sort(key=lambda name: not name.endswith("/"))  # folders first
    inside: dict[str, list[str]] = {name: [] for name in top}
    for name in names:
        parent, slash, rest = name.partition("/")
        if slash and rest:
            inside.setdefault(f"{parent}/", []).append(rest)
    shown = top if len(top) <= MOST_TOP else top[: MOST_TOP - 1]
    share = _share([len(inside[name]) for name in shown], MOST_LINES - len(shown) - 1)
    for name in shown:
        yield line(name)
        children = inside[name]
        if not share and children:
            continue
        fits = children if len(children) <= share else children[: share - 1]
        for child in fits:
            yield f"  {line(child)}"
        if len(fits) < len(children):
            yield f"  … {len(children) - len(fits)} more"
    if len(shown) < len(top):
        yield f"… {len(top) - len(shown)} more"


def _share(counts: Sequence[int], room: int) -> int:
    """How many lines each folder may have below it, so that all together fit into ``room``."""
    if sum(counts) <= room:  # as in most folders
        return room
    return max((n for n in range(1, room + 1) if sum(min(c, n) for c in counts) <= room), default=0)


def _beginning(file: Path) -> str:
    with suppress(OSError, ValueError), open_file(file) as opened:
        return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    return ""
