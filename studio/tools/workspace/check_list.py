"""Check list: says which commands check which files of a folder (C-11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from studio.domain.errors import ToolFailed

from .glob_pattern import glob_matcher

FILE = "{file}"
"""Stands for the file in the command of a check."""


@dataclass(frozen=True, slots=True)
class EditCheck:
    """A command that checks files whose paths match ``glob``; see ``FILE``."""

    glob: str
    command: str


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
        try:
            glob_matcher(glob)
        except ToolFailed as error:
            raise ValueError(str(error)) from error
        checks.append(EditCheck(glob, command))
    return tuple(checks)
