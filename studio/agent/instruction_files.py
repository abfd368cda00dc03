"""Instruction files: finds and reads what people write for agents, AGENTS.md and others (K-1).

A folder has one, the first of ``NAMES`` that is there. They are read from the root of the
repository to the folder, and each may import others with ``@file``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from studio.domain.messages import File
from studio.domain.records import dataclass

from .attachments import seems_secret
from .permission.exfiltration_guard import is_of_others
from .prompts import GUIDANCE_CUT

NAMES = ("AGENTS.override.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
MOST_BYTES = 32_000
"""Bytes of all that is told at once."""
OWN_SHARE = 2
"""The person's own get one part in so many of them at least."""
DEEPEST_IMPORT = 4
MOST_IMPORTS = 50
MOST_FOLDERS = 40
"""Folders between a repository's root and a folder in it; more have no instructions."""
_IMPORT = re.compile(r"(?<![^\s(\[])@((?:\\ |[^\s`])+)")
_CODE_SPAN = re.compile(r"`[^`]*`")
_FENCE = re.compile(r"\s*(```|~~~)")
_AFTER = ".,;:!?)]}\"'"
"""Punctuation that may follow the name of an imported file."""


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """A file with its text. ``own``: it is the person's, of no folder."""

    path: Path
    text: str
    own: bool = False

    @property
    def digest(self) -> str:
        return sha256(self.text.encode("utf-8", "replace")).hexdigest()[:16]


@lru_cache(maxsize=4_000)
def below(folder: Path, place: Path | str) -> Path:
    """A path in a folder, one object for each: to parse it takes longer than to look at it."""
    return folder / place


def repository_root(folder: Path) -> Path:
    """The folder of the repository that a folder is in, or the folder itself.

    A folder above that belongs to another user of the computer ends the search.
    """
    owner = _owner(folder)
    for place in (folder, *folder.parents[:MOST_FOLDERS]):
        if _owner(place) != owner:
            break
        if os.path.lexists(below(place, ".git")):
            return place
    return folder


def instruction_path(folder: Path) -> Path | None:
    """The instruction file of a folder; None if it has none."""
    return next((path for name in NAMES if (path := below(folder, name)).is_file()), None)


def project_paths(folder: Path) -> list[Path]:
    """The instruction files from the repository's root to the folder, the nearest last."""
    return _paths(_between(repository_root(folder), folder))


def deeper_paths(folder: Path, touched: Iterable[Path]) -> list[Path]:
    """Those of the folders below that lead to what was touched, the nearest last.

    ``touched`` are files and folders, of which those outside of the folder are left out.
    """
    places: dict[Path, None] = {}
    for one in touched:
        with suppress(OSError, RuntimeError):
            place = one.resolve()
            place = place if place.is_dir() else place.parent
            if place.is_relative_to(folder):
                places |= dict.fromkeys(_between(folder, place))
    return _paths(places)


def read_instructions(
    paths: Iterable[Path], root: Path, folder: Path | None = None, *, own: bool = False
) -> list[InstructionFile]:
    """The files with what they import; a file outside of ``root`` is left out, and a secret one.

    So are files of other people, as in node_modules, seen from the chat's ``folder``.

    An imported file stands before the one that imports it, since the later one counts more.
    """
    found: dict[Path, InstructionFile] = {}
    inside = root.resolve(), (folder or root).resolve()
    for path in paths:
        _read(path, inside, found, 0, own=own)
    return list(found.values())


def fit(files: Sequence[InstructionFile], most: int) -> list[InstructionFile]:
    """The files within ``most`` bytes: the farthest is cut first, and says how much is missing."""
    own, theirs = (sum(_size(one.text) for one in files if one.own == own) for own in (True, False))
    room = min(own, max(most // OWN_SHARE, most - theirs))
    left = {True: room, False: most - room}
    out: list[InstructionFile] = []
    for one in reversed(files):
        text = _cut(one.text, left[one.own])
        left[one.own] = max(left[one.own] - _size(text), 0)
        out.append(InstructionFile(one.path, text, one.own))
    return out[::-1]


def _between(root: Path, folder: Path) -> list[Path]:
    """The folders from ``root`` to ``folder``, both included."""
    if root == folder:
        return [folder]
    above = [one for one in folder.parents if one.is_relative_to(root)]
    return [*above[:MOST_FOLDERS][::-1], folder]


def _paths(folders: Iterable[Path]) -> list[Path]:
    return [path for path in map(instruction_path, folders) if path is not None]


def _read(
    path: Path,
    inside: tuple[Path, Path],
    found: dict[Path, InstructionFile],
    depth: int,
    *,
    own: bool,
) -> None:
    if path in found or len(found) >= MOST_IMPORTS or (text := _text(path, *inside)) is None:
        return
    found[path] = InstructionFile(path, text, own)  # known by now to those that it imports
    if depth < DEEPEST_IMPORT:
        for name in imported(text):
            with suppress(OSError, RuntimeError, ValueError):
                place = Path(os.path.normpath(path.parent / Path(name).expanduser()))
                if place != path and place.is_file():
                    _read(place, inside, found, depth + 1, own=own)
    found[path] = found.pop(path)


def imported(text: str) -> Iterator[str]:
    """The names after @ that are not in code."""
    fence = ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence:
            for one in _IMPORT.finditer(_CODE_SPAN.sub("", line)):
                yield one[1].replace("\\ ", " ").rstrip(_AFTER)


def _text(path: Path, root: Path, folder: Path) -> str | None:
    """The text of a file below ``root``; None if it cannot be read, or seems to hold a secret.

    Also None for a file of other people.
    """
    try:
        place = path.resolve()
        if not place.is_relative_to(root) or not path.is_file():
            return None
        seen_from = folder if place.is_relative_to(folder) else root
        if is_of_others(str(place.relative_to(seen_from))):
            return None
        with path.open("rb") as file:
            data = file.read(4 * MOST_BYTES)
    except (OSError, RuntimeError):
        return None
    if b"\0" in data or seems_secret(File(path.name, "text/plain", data)):
        return None
    return data.decode("utf-8-sig", "replace").strip() or None


def _cut(text: str, most: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    kept = data[: max(most - len(GUIDANCE_CUT) - 10, 0)].decode("utf-8", "ignore")
    return f"{kept}\n{GUIDANCE_CUT.format(size=len(text) - len(kept))}".lstrip()


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _owner(folder: Path) -> int:
    try:
        return folder.stat().st_uid
    except OSError:
        return -1
