"""Check list: says which commands check which files of a folder (C-11)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import cast

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass

from .glob_pattern import glob_matcher

FILE = "{file}"
"""Stands for the file in the command of a check."""


@dataclass(frozen=True, slots=True)
class EditCheck:
    """A command that checks files whose paths match ``glob``; see ``FILE``."""

    glob: str
    command: str

    def command_for(self, name: str) -> str:
        """The command line for a file, whose name may hold anything."""
        return self.command.replace(FILE, shlex.quote(f"./{name}" if name[:1] == "-" else name))


def read_checks(found: object) -> tuple[EditCheck, ...]:
    """The checks in a parsed YAML file: globs, each with a command; raises ValueError."""
    if found is None:
        return ()
    if not isinstance(found, Mapping):
        raise ValueError('line 1: write a check in each line: "*.py": ruff check {file}')
    checks: list[EditCheck] = []
    for glob, command in cast("Mapping[object, object]", found).items():
        if not isinstance(glob, str) or not isinstance(command, str) or FILE not in command:
            raise ValueError(f"the check “{glob}” must be a command with {FILE} in it")
        if not _is_bare(command):
            raise ValueError(
                f"the check “{glob}” has {FILE} in quotes. Write it without: names are quoted "
                "where they need it"
            )
        try:
            glob_matcher(glob)
        except ToolFailed as error:
            raise ValueError(str(error)) from error
        checks.append(EditCheck(glob, command))
    return tuple(checks)


def _is_bare(command: str) -> bool:
    """Whether a shell takes each name put into a command as a part of one word, and as nothing
    else; inside of other quotes a name with quotes in it could be a command."""
    name = """it's "$HOME" ;"""
    try:
        words = shlex.split(command.replace(FILE, shlex.quote(name)))
    except ValueError:
        return False
    return sum(word.count(name) for word in words) == command.count(FILE)
