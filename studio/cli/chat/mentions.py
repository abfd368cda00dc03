"""What a message names after @: finds files, and resources of servers, and attaches them."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from studio.agent.attachments import TYPES, attach, check_total_size
from studio.domain.errors import ConfigurationError
from studio.domain.messages import File, Image
from studio.tools.sdk.result import size

_NAMED = re.compile(r"(?<!\S)(\\?)@((?:\\ |\S)+)")
"""Only at the beginning of a word: a mail address names no file."""
_BEGUN = re.compile(r"(?<!\S)@((?:\\ |\S)*)\Z")
_LONGEST = 1_000
"""Characters of the longest name that is completed."""
_AFTER = ".,;:!?)]}»”’\"'"
"""Punctuation that may follow a name without being part of it."""
_PLAIN = re.compile(r"[\w./~ -]+")
_PLACES = ("./", "../", "~/")
_ENDS = {
    *(*TYPES, ".c", ".cpp", ".docx", ".gif", ".go", ".h", ".java", ".jpeg", ".jpg", ".log", ".pdf"),
    *(".png", ".rs", ".rst", ".sh", ".sql", ".ts", ".tsx", ".txt", ".webp", ".xlsx", ".zip"),
}
"""Suffixes that only files have, unlike decorators and names of people."""


class FindResource(Protocol):
    """Finds the resource of a server that a word names, and fetches it if it is ``wanted``."""

    async def __call__(self, word: str, *, wanted: bool) -> tuple[str, Sequence[Image | File]]: ...


@dataclass
class MentionMessage:
    """A message as it is sent, and its ``files`` by the names in the text."""

    text: str
    files: dict[str, Image | File] = field(default_factory=dict[str, "Image | File"])

    @property
    def attached(self) -> str:
        """The files, in a line; empty where there are none."""
        return ", ".join(f"{name} ({size(len(one.data))})" for name, one in self.files.items())


async def attach_mentions(
    text: str, folder: Path, resource: FindResource | None = None
) -> MentionMessage:
    """Attach every file of the folder, and every resource of a server, that the text names after @.

    A word after @ that names no file stays text (a decorator, for example) unless it can
    only be a file's name. ``\\@`` writes a plain @. Raises ConfigurationError for files that
    cannot be attached or are too large, and for names outside of the folder: a pasted text
    may contain some that nobody has read.
    """
    if "@" not in text:
        return MentionMessage(text)
    whole, paths = await asyncio.to_thread(_read, text, folder)
    message = MentionMessage(whole)
    for path, name in paths.items():
        message.files[name] = await attach(path)
        check_total_size([*message.files.values()])  # each time: a text may name thousands
    for found in _NAMED.finditer(text):
        if resource is None or ":" not in found[2]:
            continue
        name, blocks = await resource(found[2], wanted=not found[1])
        if found[1] and name:
            message.text = message.text.replace(f"\\@{name}", f"@{name}")
        for number, block in enumerate(blocks, 1):
            message.files[name if number == 1 else f"{name} ({number})"] = block
            check_total_size([*message.files.values()])
    return message


def typed_path(name: str, folder: Path) -> Path:
    """The path that was typed: relative to the folder, or to the home folder with ``~``."""
    try:
        return folder / Path(name).expanduser()
    except RuntimeError:  # nobody's home
        return folder / name


def open_mention(text: str) -> str | None:
    """The unfinished name after @ at the end of a text; None if there is none."""
    found = _BEGUN.search(text, max(len(text) - _LONGEST, 0))
    return found[1].replace("\\ ", " ") if found else None


def escape_name(name: str) -> str:
    """A name as it is typed after @, with its blanks escaped."""
    return name.replace(" ", "\\ ")


def _read(text: str, folder: Path) -> tuple[str, dict[Path, str]]:
    paths: dict[Path, str] = {}
    inside = folder.resolve()

    def word(found: re.Match[str]) -> str:
        name, path = _file(found[2], folder)
        if path is None and not _looks_like_file(name):
            return found[0]
        if found[1]:
            return found[0][1:]
        if path is None:
            raise ConfigurationError(
                f"There is no file {name} in {folder}. To send it as text: \\@{escape_name(name)}"
            )
        if not path.is_relative_to(inside):
            raise ConfigurationError(
                f"{name} is outside of {folder}. To attach it: /attach {name} "
                f"To send it as text: \\@{escape_name(name)}"
            )
        paths.setdefault(path, name)
        return found[0]

    return _NAMED.sub(word, text), paths


def _file(word: str, folder: Path) -> tuple[str, Path | None]:
    """The name in a word and its file, with links resolved; None if there is no such file."""
    whole = word.replace("\\ ", " ")
    bare = whole.rstrip(_AFTER)
    for name in dict.fromkeys((whole, bare)):
        with suppress(OSError, ValueError, RuntimeError):  # nothing has this name, or nothing can
            path = typed_path(name, folder).resolve()
            if not stat.S_ISDIR(path.stat().st_mode):
                return name, path
    return bare, None


def _looks_like_file(name: str) -> bool:
    """Whether a name without a file can only be meant as a file's name."""
    suffix = Path(name).suffix.lower()
    return bool(_PLAIN.fullmatch(name)) and (name.startswith(_PLACES) or suffix in _ENDS)
