"""Paths and permission: resolves the paths that rules name, and lists the unreadable ones.

The sandbox hides the files that a rule refuses to be read, so that a command cannot
read them either. A rule for all of ``read`` hides nothing, nor does a pattern for
many places outside the folder: no command could run then.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from studio.domain.errors import ToolFailed
from studio.domain.permissions import Rule
from studio.tools import Workspace
from studio.tools.web import web_address

CASE_INSENSITIVE = sys.platform in ("win32", "darwin")
"""Whether ``A`` and ``a`` are one file."""
_GUARDED = re.compile(
    r"(?:^|/)(?:\.(?:git|hg|svn|agents|vscode|idea|devcontainer|husky|envrc)|git~\d+)[. ]*(?:/|$)",
    re.I,
)
"""Files that make programs, or agents, do something later: a hook, an editor's task, an
agent's rights. As Windows may spell them, too."""
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""What some file systems of macOS leave out of a name."""


@dataclass(frozen=True, slots=True)
class Place:
    """``name`` is how rules name it, ``spellings`` are for those that forbid.

    ``outside`` is the place itself where that is not in the folder.
    """

    name: str
    spellings: tuple[str, ...]
    outside: Path | None

    @property
    def guarded(self) -> bool:
        """Whether what is there makes programs do something later."""
        return _GUARDED.search(_IGNORED.sub("", self.name)) is not None


def place_of(workspace: Workspace, path: str) -> Place:
    """Follows links on the disk. Raises ToolFailed for a text that is no path."""
    real, known = workspace.locate(path or ".")
    lexical = os.path.normpath(workspace.root / path.replace("\\", "/"))  # a link by its own name
    spellings: list[str] = []
    for one in (real, Path(lexical)):
        spellings += [*with_parents(workspace.relative(one)), *with_parents(one.as_posix())]
    name = workspace.relative(real)
    return Place(name, tuple(dict.fromkeys(spellings)), None if known else real)


def addresses_of(target: str) -> list[str]:
    """The ways to write a web address that mean the same page; the text, if it is none.

    As it is sent, and without what a server may leave out of the path.
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
    """A file and the folders it is in, as rules that forbid may name them."""
    names = [name]
    if CASE_INSENSITIVE:
        names.append(unicodedata.normalize("NFC", name))
    path = Path(name)
    names += [parent.as_posix() for parent in path.parents if parent.as_posix() not in (".", "/")]
    return tuple(names)


MAX_HIDDEN = 1_000
"""Places that are hidden, each of them a mount."""
MAX_COMPARED = 200_000
"""Files and folders that are compared with the rules' patterns."""

_PLAIN = re.compile(r"[^*?\[]*")


def unreadable(rules: Iterable[Rule], workspace: Workspace) -> list[Path]:
    """The real places in and outside of the folder that ``rules`` name. Blocks.

    Raises ToolFailed where there are too many: a command must not run then.
    """
    root = workspace.root
    found: dict[Path, None] = {}
    left = MAX_COMPARED
    for rule in dict.fromkeys(rules):
        plain = _PLAIN.match(rule.pattern)
        assert plain is not None
        if plain[0] == rule.pattern:
            places: Iterable[Path] = [root / rule.pattern]
        else:  # nothing above the last whole folder of its beginning can fit
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
    """All that is in a folder; what fits is not looked into."""
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
