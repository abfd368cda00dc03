"""The formats, and the files of them that are on this computer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from studio.domain.records import dataclass

from .bundle import is_bundle, read_bundle
from .claude import CODE, DESKTOP, PROJECT
from .codex import CODEX
from .common import Format
from .cursor import CURSOR, LM_STUDIO
from .found import Found, Surroundings
from .gemini import GEMINI
from .goose import GOOSE
from .snippet import read_snippet
from .vscode import VSCODE
from .zed import ZED

FORMATS = (DESKTOP, CODE, PROJECT, VSCODE, CURSOR, LM_STUDIO, GEMINI, CODEX, GOOSE, ZED)
MOST_BYTES = 64_000_000
"""Of a file: Claude Code keeps the beginnings of all chats in the one with its servers."""


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file of another program. ``problem`` says why nothing could be read of it."""

    title: str
    path: Path
    found: tuple[Found, ...] = ()
    problem: str = ""


def find_files(around: Surroundings) -> list[ForeignFile]:
    """The files of this computer that name servers, or that cannot be read. Blocks."""
    files = [read_file(path, format_, around) for format_, path in _places(around)]
    return [file for file in files if file is not None and (file.found or file.problem)]


def read_path(path: Path, around: Surroundings) -> ForeignFile:
    """A file that the person names: by its place, else by what is in it. Blocks."""
    if is_bundle(path):
        return _read_bundle(path, around)
    place = path.absolute()
    for format_, known in _places(around):
        if known == place:
            return read_file(path, format_, around) or _gone(path)
    for format_ in FORMATS:
        for tail in format_.project:
            if place.parts[-len(Path(tail).parts) :] == Path(tail).parts:
                here = replace(around, folder=place.parents[len(Path(tail).parts) - 1])
                return read_file(path, format_, here) or _gone(path)
    any_form = Format(path.name, lambda _: (), (), read_snippet)
    return read_file(path, any_form, around) or _gone(path)


def _read_bundle(path: Path, around: Surroundings) -> ForeignFile:
    try:
        return ForeignFile(path.name, path, (read_bundle(path, around),))
    except FileNotFoundError:
        return _gone(path)
    except (OSError, ValueError) as error:
        return ForeignFile(path.name, path, problem=f"It cannot be read: {error}.")


def read_file(path: Path, format_: Format, around: Surroundings) -> ForeignFile | None:
    """What a file says; None if there is no such file."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return ForeignFile(format_.title, path, problem=f"It cannot be read: {error.strerror}.")
    if len(data) > MOST_BYTES:
        return ForeignFile(format_.title, path, problem="It is too large.")
    try:
        found = format_.read(data.decode("utf-8-sig"), around)
    except UnicodeDecodeError:
        return ForeignFile(format_.title, path, problem="It is not UTF-8 text.")
    except ValueError as error:
        return ForeignFile(format_.title, path, problem=f"It cannot be read: {error}.")
    return ForeignFile(format_.title, path, tuple(found))


def _gone(path: Path) -> ForeignFile:
    return ForeignFile(path.name, path, problem="There is no such file.")


def _places(around: Surroundings) -> Iterator[tuple[Format, Path]]:
    for format_ in FORMATS:
        for path in format_.places(around):
            yield format_, path
        if around.folder is not None:
            for tail in format_.project:
                yield format_, around.folder / tail
