"""Skill importing: copies skills from a folder or a zip file to the person's own (K-4).

The originals stay as they are, no skill that is there is replaced, and what is left out is told.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass
from studio.files.folders import private_folder
from studio.files.unpacking import UnpackError, unpack

from .finder import DEEPEST, MOST_FOLDERS, SKILL_FILE, skills_in
from .packs.contents import MOST_BYTES, copy_pack

MOST_FILES = 5_000
"""Files of a zip file."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The names of skills that were copied, and sentences about what was left out."""

    names: tuple[str, ...]
    problems: tuple[str, ...] = ()


def import_skills(source: Path, own: Path) -> Imported:
    """Copy the skill, or all skills, in a folder or a zip file to the folder ``own``. Blocks.

    Raises ConfigurationError if there is none, or one cannot be read or written.
    """
    if not source.exists():
        raise ConfigurationError(f"{source} is not there.")
    try:
        return _from_folder(source.resolve(), own) if source.is_dir() else _from_zip(source, own)
    except OSError as error:
        raise ConfigurationError(f"{source} cannot be copied: {error.strerror}.") from error
    except UnpackError as error:
        raise ConfigurationError(str(error)) from error


def _from_zip(source: Path, own: Path) -> Imported:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        into = Path(made).resolve() / source.stem.lower()
        left_out = unpack(
            source, into, most_files=MOST_FILES, most_bytes=MOST_BYTES, deepest=DEEPEST + 10
        )
        found = _from_folder(into, own)
    problems = (
        f"{escape_line(one)} of the zip file leads out of it or is a link: left out."
        for one in left_out
    )
    return Imported(found.names, (*found.problems, *problems))


def _from_folder(source: Path, own: Path) -> Imported:
    found, findings = skills_in(source)
    problems = [f"{Path(one.path).parent.name}: {one.words}" for one in findings if one.left_out]
    names: list[str] = []
    for name, folder in found.items():
        target = own / name
        if target.exists():
            problems.append(f"{name}: a skill of this name is there already.")
            continue
        private_folder(own)
        with tempfile.TemporaryDirectory(dir=own, prefix=".", ignore_cleanup_errors=True) as made:
            whole = Path(made) / name
            problems += (f"{name}: {escape_line(one)}" for one in copy_pack(folder, whole))
            whole.rename(target)
        names.append(name)
    if not found and not problems:
        raise ConfigurationError(
            f"{source} has no skill: none of at most {MOST_FOLDERS:,} folders in it has a file "
            f"{SKILL_FILE}."
        )
    return Imported(tuple(names), tuple(problems))
