"""Hook content: finds the files that a hook's command runs, and sums up what runs.

The person approves that sum: another command, another limit or another word in a script is another
hook. Everything here reads the disk: call it in a thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from studio.domain.hooks import Hook

PROJECT = "CLAUDE_PROJECT_DIR"
"""The variable with the chat's folder, as existing hooks know it."""
ROOT = "CLAUDE_PLUGIN_ROOT"
"""The variable with the folder of the pack that brings a hook."""
MOST_FILES = 40
MOST_FOLDERS = 5
"""Folders below which a file is looked for."""
MOST_BYTES = 20_000_000
"""Bytes of a file that are summed up; a larger one counts by its length and time."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?[-=?][^{}]*)?\}|(\w+))")
_COMMAND = re.compile(r"`[^`]*`|\$\([^()]*\)")
"""A command whose output is part of a word, such as the folder that it is in."""


def files_of(command: str, folder: Path | None, home: Path, root: str = "") -> tuple[str, ...]:
    """The files that a command line names, by whole paths; those in the folder, too.

    A path may be below a folder that the line goes to, or begin with one that a command prints.
    Without a folder they are those that are the same from every folder.
    """
    values = {PROJECT: str(folder), "PWD": str(folder)} if folder else {}
    values["HOME"] = str(home)
    values |= {ROOT: root} if root else {}
    found: dict[str, None] = {}
    below = [folder] if folder else []
    plain = _COMMAND.sub(".", command)
    for word in (*_words(command, values), *(_words(plain, values) if plain != command else ())):
        if len(found) == MOST_FILES:
            break
        if word.startswith("~/"):
            word = str(home / word[2:])
        for start in [home] if Path(word).is_absolute() else below:
            path = Path(os.path.normpath(start / word))
            try:
                if path.is_file():
                    found[str(path)] = None
                    break
                if path.is_dir() and path not in below and len(below) < MOST_FOLDERS:
                    below.append(path)
                    break
            except (OSError, ValueError):  # no path at all
                continue
    return tuple(found)


def sum_of(hook: Hook, folder: Path, at: Path | None = None) -> str:
    """The digest of what a hook runs: its words, and its files as they are now.

    ``at`` is where the files of the folder are really, if a session works on a copy of it.
    """
    words = [hook.event, hook.matcher, hook.command, hook.seconds]
    total = hashlib.sha256(json.dumps(words).encode("utf-8", "surrogatepass"))
    for name in hook.files:
        total.update(name.encode(errors="surrogatepass") + b"\0")
        total.update(_content(_really(Path(name), folder, at)))
    return total.hexdigest()


def _really(path: Path, folder: Path, at: Path | None) -> Path:
    if at is None or not path.is_relative_to(folder):
        return path
    there = at / path.relative_to(folder)
    return there if there.exists() else path  # what is installed is not copied


def _content(path: Path) -> bytes:
    try:
        found = path.stat()
        if found.st_size > MOST_BYTES:
            return f"{found.st_size} {found.st_mtime_ns}".encode()
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b"missing"


def _words(command: str, values: Mapping[str, str], deep: int = 2) -> Iterator[str]:
    """The words of a command line, and of those that stand quoted in it."""
    for word in _split(command):
        whole = _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), word)
        yield whole
        if deep and any(char in word for char in " ;|&"):
            yield from _words(word, values, deep - 1)
        if "=" in whole:
            yield whole.partition("=")[2]


def _split(command: str) -> Sequence[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # a quote that is not closed
        return command.split()
