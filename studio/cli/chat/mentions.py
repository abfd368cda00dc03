"""Files that a message names after @: they go with it."""

from __future__ import annotations

import asyncio
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from studio.agent.attachments import TYPES, attach, check_total_size
from studio.domain.errors import ConfigurationError
from studio.domain.messages import File, Image
from studio.tools.sdk.result import size

_NAMED = re.compile(r"(?<!\S)(\\?)@((?:\\ |\S)+)")
"""Only at the beginning of a word: a mail address names no file."""
_BEGUN = re.compile(r"(?<!\S)@((?:\\ |\S)*)\Z")
_LONGEST = 1_000
"""Characters of a name that is completed."""
_AFTER = ".,;:!?)]}»”’\"'"
"""What may follow a name without being of it."""
_PLAIN = re.compile(r"[\w./~ -]+")
_PLACES = ("./", "../", "~/")
_ENDS = {
    *(*TYPES, ".c", ".cpp", ".docx", ".gif", ".go", ".h", ".java", ".jpeg", ".jpg", ".log", ".pdf"),
    *(".png", ".rs", ".rst", ".sh", ".sql", ".ts", ".tsx", ".txt", ".webp", ".xlsx", ".zip"),
}
"""Ends of names that decorators and people do not have."""


@dataclass
class MentionMessage:
    """What was typed, as it is sent; ``files`` by the names it has for them."""

    text: str
    files: dict[str, Image | File] = field(default_factory=dict[str, "Image | File"])

    @property
    def attached(self) -> str:
        """The files, in a line; empty where there are none."""
        return ", ".join(f"{name} ({size(len(one.data))})" for name, one in self.files.items())


async def attach_mentions(text: str, folder: Path) -> MentionMessage:
    """The message with every file of the folder that it names after @.

    A word that names none is text, a decorator say, unless it can only be meant
    as a file. Text is also what comes after ``\\@``, which then loses its mark.
    Raises ConfigurationError for what cannot be attached, and for too much. A name that leads out
    of the folder is refused too: a text may be pasted, and nobody reads all of it.
    """
    if "@" not in text:
        return MentionMessage(text)
    whole, paths = await asyncio.to_thread(_read, text, folder)
    message = MentionMessage(whole)
    for path, name in paths.items():
        message.files[name] = await attach(path)
        check_total_size(
            [*message.files.values()]
        )  # before the next is read: a text may name thousands
    return message


def typed_path(name: str, folder: Path) -> Path:
    """A path as it was typed: from the folder, or from the home."""
    try:
        return folder / Path(name).expanduser()
    except RuntimeError:  # nobody's home
        return folder / name


def open_mention(text: str) -> str | None:
    """The name at the end of a text that is being typed after @; None if none is."""
    found = _BEGUN.search(text, max(len(text) - _LONGEST, 0))
    return found[1].replace("\\ ", " ") if found else None


def escape_name(name: str) -> str:
    """A name as it is typed after @."""
    return name.replace(" ", "\\ ")


def _read(text: str, folder: Path) -> tuple[str, dict[Path, str]]:
    paths: dict[Path, str] = {}
    inside = folder.resolve()

    def word(found: re.Match[str]) -> str:
        name, path = _file(found[2], folder)
        if path is None and not _is_meant(name):
            return found[0]
        if found[1]:
            return found[0][1:]
        if path is None:
            raise ConfigurationError(
                f"There is no file {name} in {folder}. To send it as text: \\@{escape_name(name)}"
            )
        if not path.is_relative_to(inside):
            raise ConfigurationError(
                f"{name} is outside of {folder}. To attach it: /attach {name}\n"
                f"To send it as text: \\@{escape_name(name)}"
            )
        paths.setdefault(path, name)
        return found[0]

    return _NAMED.sub(word, text), paths


def _file(word: str, folder: Path) -> tuple[str, Path | None]:
    """The name in a word, and the file that has it, links followed; None if there is no file."""
    whole = word.replace("\\ ", " ")
    bare = whole.rstrip(_AFTER)
    for name in dict.fromkeys((whole, bare)):
        try:
            path = typed_path(name, folder).resolve()
            if not stat.S_ISDIR(path.stat().st_mode):
                return name, path
        except (OSError, ValueError, RuntimeError):  # nothing has this name, or nothing can
            continue
    return bare, None


def _is_meant(name: str) -> bool:
    """Whether a name that no file has can be nothing but a file's."""
    suffix = Path(name).suffix.lower()
    return bool(_PLAIN.fullmatch(name)) and (name.startswith(_PLACES) or suffix in _ENDS)
