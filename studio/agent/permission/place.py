"""Where a path leads, and by which names rules know that place."""

from __future__ import annotations

import os
import posixpath
import re
import sys
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from studio.domain.errors import ToolFailed
from studio.tools import Workspace
from studio.tools.web import addresses

FOLDED = sys.platform in ("win32", "darwin")
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
        spellings += [*around(workspace.relative(one)), *around(one.as_posix())]
    name = workspace.relative(real)
    return Place(name, tuple(dict.fromkeys(spellings)), None if known else real)


def addresses_of(target: str) -> list[str]:
    """The ways to write a web address that mean the same page; the text, if it is none.

    As it is sent, and without what a server may leave out of the path.
    """
    try:
        address = addresses.parse(target)
    except ToolFailed:
        return [target]
    path, mark, query = address.target.partition("?")
    end = "/" if path.endswith("/") else ""
    plain = posixpath.normpath(unquote(path)).lstrip("/")
    plain = "/" if plain in ("", ".") else f"/{plain}{end}"
    return list(
        dict.fromkeys([str(address), str(replace(address, target=f"{plain}{mark}{query}"))])
    )


def around(name: str) -> tuple[str, ...]:
    """A file and the folders it is in, as rules that forbid may name them."""
    names = [name]
    if FOLDED:
        names.append(unicodedata.normalize("NFC", name))
    path = Path(name)
    names += [parent.as_posix() for parent in path.parents if parent.as_posix() not in (".", "/")]
    return tuple(names)
