"""Known servers: says which language server is for which files, and finds it (C-11).

Only a program on the person's own ``PATH`` counts, or one that they name in the settings. What a
folder brings is never started.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.tools.workspace.glob_pattern import glob_matcher

PYTHON = ("py", "pyi")
SCRIPTS = ("ts", "mts", "cts", "tsx", "js", "mjs", "cjs", "jsx")
C = ("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx")
KNOWN: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (PYTHON, ("pyright-langserver", "--stdio")),
    (PYTHON, ("basedpyright-langserver", "--stdio")),
    (PYTHON, ("ty", "server")),
    (PYTHON, ("pylsp",)),
    (PYTHON, ("ruff", "server")),
    (SCRIPTS, ("typescript-language-server", "--stdio")),
    (("go",), ("gopls",)),
    (("rs",), ("rust-analyzer",)),
    (C, ("clangd",)),
)
"""Endings of files, and who looks at them; of several that are installed the first."""
_LANGUAGES = {
    **dict.fromkeys(PYTHON, "python"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    **dict.fromkeys(("js", "mjs", "cjs"), "javascript"),
    "tsx": "typescriptreact",
    "jsx": "javascriptreact",
    "rs": "rust",
    **dict.fromkeys(C, "cpp"),
    "c": "c",
    "rb": "ruby",
    "sh": "shellscript",
    "md": "markdown",
    "kt": "kotlin",
}


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A language server: its words as they are run, the first with its whole path."""

    words: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"exec {shlex.join(self.words)}"

    @property
    def label(self) -> str:
        return Path(self.words[0]).name


def find_server(
    name: str, folder: Path, path: str, own: Mapping[str, Sequence[str]]
) -> ServerProgram | None:
    """The server for a file of ``folder``; None if there is none. Touches the disk.

    ``own`` are the person's: words by a pattern of names; no words for no server. They come
    first. ``path`` is the ``PATH`` of commands.
    """
    for glob, words in own.items():
        if _matches(glob, name):
            return _found(words, folder, path) if words else None
    ending = _ending(name)
    for endings, words in KNOWN:
        if ending in endings and (program := _found(words, folder, path)):
            return program
    return None


def language_of(name: str) -> str:
    """What language servers call the language of a file."""
    ending = _ending(name)
    return _LANGUAGES.get(ending, ending)


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower().removeprefix(".")


def _matches(glob: str, name: str) -> bool:
    try:
        return glob_matcher(glob)(name)
    except ToolFailed:  # a pattern that is none
        return False


def _found(words: Sequence[str], folder: Path, path: str) -> ServerProgram | None:
    """A program outside of ``folder``: one in it is not what the person installed."""
    root = Path(os.path.realpath(folder))
    places = [place for place in path.split(os.pathsep) if Path(place).is_absolute()]
    places = [one for one in places if not Path(os.path.realpath(one)).is_relative_to(root)]
    named = words[0]
    program = named if Path(named).is_absolute() else None
    if Path(named).name == named:
        program = shutil.which(named, path=os.pathsep.join(places))
    if program is None or not os.access(program, os.X_OK):
        return None
    if Path(os.path.realpath(program)).is_relative_to(root):
        return None
    return ServerProgram((program, *words[1:]))
