"""Listing: names the files and folders of a folder, without those that git ignores.

Patterns of ``.gitignore`` may be a stranger's: each name of a path is matched by itself, with
expressions of ``fnmatch``, which never try every way to share it among the stars.
"""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from studio.domain.records import dataclass
from studio.domain.tools import SKIPPED_FOLDERS

from .text_files import open_file

MOST_PATTERNS = 2_000
"""Lines of one ``.gitignore`` that are read."""
_MOST_BYTES = 200_000

_Path: TypeAlias = "list[re.Pattern[str] | None]"
"""A pattern for each name of a path; None stands for any number of folders."""


def list_names(folder: Path, most: int, seconds: float, depth: int | None = None) -> list[str]:
    """Relative paths of files, and of folders with a slash at the end; upper ones come first.

    Links are left out, as are ``SKIPPED_FOLDERS``, what git ignores and names that nobody could
    read. Ends at ``most`` names, after some seconds and at ``depth`` levels. Blocks.
    """
    end = time.monotonic() + seconds
    root = Path(os.path.realpath(folder))
    names: list[str] = []
    left = deque([("", _rules_above(root))])
    while left and len(names) < most and time.monotonic() < end:
        inside, above = left.popleft()
        entries = _entries(root / inside)
        rules = above
        if (".gitignore", False) in entries:
            found = _read_rules(root / inside / ".gitignore")
            rules = (_Scope(found, "", len(inside)), *above)
        for own, is_folder in entries:
            name = inside + own
            if not name.isprintable() or (is_folder and own in SKIPPED_FOLDERS):
                continue
            if _is_ignored(rules, name, is_folder):
                continue
            if is_folder and (depth is None or name.count("/") + 1 < depth):
                left.append((f"{name}/", rules))
            names.append(f"{name}/" if is_folder else name)
    return names[:most]


@dataclass(slots=True)
class _Group:
    """Neighbouring patterns of one file with the same verdict."""

    ignores: bool
    names: list[str] = field(default_factory=list[str])
    folder_names: list[str] = field(default_factory=list[str])
    paths: list[tuple[_Path, bool]] = field(default_factory=list[tuple[_Path, bool]])
    """Patterns with a slash within them, and whether they are for folders only."""
    any_name: re.Pattern[str] | None = None
    any_folder: re.Pattern[str] | None = None

    def close(self) -> None:
        """Make one expression of all names: thousands of files are matched with it."""
        self.any_name = re.compile("|".join(self.names)) if self.names else None
        self.any_folder = re.compile("|".join(self.folder_names)) if self.folder_names else None

    def matches(self, path: str, is_folder: bool) -> bool:
        name = path.rpartition("/")[2]
        if self.any_name is not None and self.any_name.match(name):
            return True
        if is_folder and self.any_folder is not None and self.any_folder.match(name):
            return True
        parts = path.split("/") if self.paths else []
        return any((is_folder or not only) and _fits(one, parts) for one, only in self.paths)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The patterns of one ``.gitignore``, the last group first.

    Their paths begin at its folder: ``before`` leads from there to the listed folder, and
    ``cut`` characters of a listed name lead to it.
    """

    groups: Sequence[_Group]
    before: str
    cut: int


def _is_ignored(rules: Sequence[_Scope], name: str, is_folder: bool) -> bool:
    """The nearest ``.gitignore`` that says something decides, and its last line that does."""
    for scope in rules:
        path = scope.before + name[scope.cut :]
        for group in scope.groups:
            if group.matches(path, is_folder):
                return group.ignores
    return False


def _fits(pattern: _Path, parts: list[str]) -> bool:
    """Whether the names of a path fit; only the last ``**`` is tried again."""
    at = here = 0
    star, reached = -1, 0
    while here < len(parts):
        one = pattern[at] if at < len(pattern) else None
        if at < len(pattern) and one is None:
            star, reached = at, here
            at += 1
        elif one is not None and one.match(parts[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            reached += 1
            at, here = star + 1, reached
        else:
            return False
    return all(one is None for one in pattern[at:])


def _rules_above(root: Path) -> tuple[_Scope, ...]:
    """The patterns of the repository around ``root``, from the nearest folder on."""
    above: list[_Scope] = []
    for place in (root, *root.parents):
        before = "" if place == root else f"{root.relative_to(place).as_posix()}/"
        if place != root and (file := place / ".gitignore").is_file():
            above.append(_Scope(_read_rules(file), before, 0))
        if (place / ".git").exists():
            own = place / ".git" / "info" / "exclude"
            return (*above, _Scope(_read_rules(own), before, 0))
    return ()


def _read_rules(file: Path) -> list[_Group]:
    """The patterns of a file; nothing of one that cannot be read."""
    try:
        with open_file(file) as opened:
            text = opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    groups: list[_Group] = []
    for line in text.splitlines()[:MOST_PATTERNS]:
        line = re.sub(r"(?<!\\) +$", "", line)
        if not line or line.startswith("#"):
            continue
        ignores = not line.startswith("!")
        line = line if ignores else line[1:]
        only_folders = line.endswith("/")
        line = line.rstrip("/") if only_folders else line
        if not line:
            continue
        if not groups or groups[-1].ignores != ignores:
            groups.append(_Group(ignores))
        if "/" not in line:
            group = groups[-1]
            (group.folder_names if only_folders else group.names).append(_expression(line))
        else:
            groups[-1].paths.append((_path_pattern(line.removeprefix("/")), only_folders))
    for group in groups:
        group.close()
    return groups[::-1]


def _path_pattern(line: str) -> _Path:
    made: _Path = [None if one == "**" else re.compile(_expression(one)) for one in line.split("/")]
    if made[-1] is None:
        made.append(re.compile(""))  # what is in the folder, not the folder itself
    return made


def _expression(name: str) -> str:
    """A regular expression for one name; a backslash takes the meaning from what follows it."""
    return fnmatch.translate(re.sub(r"\\(.)", _literal, name))


def _literal(escaped: re.Match[str]) -> str:
    return f"[{escaped[1]}]" if escaped[1] in "*?[" else escaped[1]


def _entries(folder: Path) -> list[tuple[str, bool]]:
    """Names in a folder and whether they are folders, without links and devices."""
    found: list[tuple[str, bool]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder or entry.is_file(follow_symlinks=False):
                found.append((entry.name, is_folder))
    return sorted(found, key=lambda one: os.fsencode(one[0]))
