"""Paths and permission: resolves the paths that rules name, and lists the unreadable ones.

The sandbox hides the files that a rule refuses to read, so that commands cannot read
them either. A rule for all of ``read`` hides nothing, nor does a pattern for many paths
outside the folder, because no command could run then.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from studio.domain.errors import ToolFailed
from studio.domain.patterns import lazy_pattern
from studio.domain.permissions import Rule
from studio.domain.records import dataclass
from studio.tools import Workspace
from studio.tools.web import web_address

CASE_INSENSITIVE = sys.platform in ("win32", "darwin")
"""Whether the file system ignores case."""
_GUARDED = lazy_pattern(
    r"(?:^|/)(?:\.(?:git|hg|svn|agents|claude|vscode|idea|devcontainer|husky|envrc|mcp\.json)|git~\d+"
    r"|\.github[. ]*/agents)[. ]*(?:/|$)",
    re.I,
)
"""Files that make programs or agents do something later: a hook, an editor's task, an
agent's rights; also in the spellings of Windows."""
_IGNORED = lazy_pattern("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that some file systems of macOS ignore in names."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path of a call. ``name`` is its name in rules; rules that forbid also match ``spellings``.

    ``outside`` is the real path if that is outside the folder, else None.
    """

    name: str
    spellings: tuple[str, ...]
    outside: Path | None

    @property
    def guarded(self) -> bool:
        """Whether a file there can make programs do something later."""
        return _GUARDED.search(_IGNORED.sub("", self.name)) is not None


def place_of(workspace: Workspace, path: str) -> Place:
    """Resolve a path, with links on the disk. Raises ToolFailed for an invalid path."""
    real, known = workspace.locate(path or ".")
    lexical = os.path.normpath(workspace.origin / path.replace("\\", "/"))  # a link by its own name
    spellings: list[str] = []
    for one in (workspace.in_folder(real), Path(lexical)):
        spellings += [*with_parents(workspace.relative(one)), *with_parents(one.as_posix())]
    name = workspace.relative(real)
    return Place(name, tuple(dict.fromkeys(spellings)), None if known else real)


def addresses_of(target: str) -> list[str]:
    """The spellings of a web address that mean the same page; the text itself for other texts.

    These are the address as it is sent, and the address with a normalised path.
    """
    try:
        address = web_address.parse(target)
    except ToolFailed:
        return [target]
    path, mark, query = address.target.partition("?")
    end = "/" if path.endswith("/") else ""
    plain = posixpath.normpath(unquote(path)).lstrip("/")
    plain = "/" if plain in ("", ".") else f"/{plain}{end}"
    return list(
        dict.fromkeys([str(address), str(replace(address, target=f"{plain}{mark}{query}"))])
    )


def with_parents(name: str) -> tuple[str, ...]:
    """The names of a file and of its parent folders, for rules that forbid."""
    names = [name]
    if CASE_INSENSITIVE:
        names.append(unicodedata.normalize("NFC", name))
    path = Path(name)
    names += [parent.as_posix() for parent in path.parents if parent.as_posix() not in (".", "/")]
    return tuple(names)


MAX_HIDDEN = 1_000
"""The most paths that the sandbox hides; each needs a mount."""
MAX_COMPARED = 200_000
"""The most files and folders that are compared with patterns."""

_PLAIN = lazy_pattern(r"[^*?\[]*")


def unreadable(rules: Iterable[Rule], workspace: Workspace) -> list[Path]:
    """The real paths, in and outside of the folder, that ``rules`` name. Blocks.

    Those on a desk are named as they are in the folder. Raises ToolFailed if there are too many:
    a command must not run then.
    """
    rules = list(rules)
    found = _unreadable(rules, workspace.root)
    if workspace.desk is not None:
        found = [*map(workspace.in_folder, found), *_unreadable(rules, workspace.origin)]
    return list(dict.fromkeys(found))


def _unreadable(rules: Iterable[Rule], root: Path) -> list[Path]:
    found: dict[Path, None] = {}
    left = MAX_COMPARED
    for rule in dict.fromkeys(rules):
        plain = _PLAIN.match(rule.pattern)
        assert plain is not None
        if plain[0] == rule.pattern:
            places: Iterable[Path] = [root / rule.pattern]
        else:  # only paths below the last whole folder of the prefix can match
            beginning = root / plain[0].rpartition("/")[0]
            if root.is_relative_to(beginning):
                beginning = root
            places = _below(beginning, rule, root) if beginning.is_relative_to(root) else ()
        for place in places:
            left -= 1
            if not left or len(found) > MAX_HIDDEN:
                raise ToolFailed(
                    f"The rule {rule} refuses to read more files than can be hidden from a "
                    "command. The person can name their folder instead."
                )
            if _matches(rule, place, root) and os.path.lexists(place):
                real = Path(os.path.realpath(place))
                # A link out of the folder: what is there is hidden already, or no secret.
                if real.exists() and (real.is_relative_to(root) or not place.is_symlink()):
                    found[real] = None
    return list(found)


def _below(folder: Path, rule: Rule, root: Path) -> Iterator[Path]:
    """All paths below a folder, but none below a path that the rule matches."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    path = Path(entry.path)
                    yield path
                    if entry.is_dir(follow_symlinks=False) and not _matches(rule, path, root):
                        waiting.append(path)
        except OSError:
            continue


def _matches(rule: Rule, place: Path, root: Path) -> bool:
    names = [place.as_posix()]
    if place.is_relative_to(root):
        names.append(place.relative_to(root).as_posix())
    return rule.pattern in names or any(rule.matches(name, fold=CASE_INSENSITIVE) for name in names)
