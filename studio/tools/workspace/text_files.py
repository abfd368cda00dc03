"""Text files: opens ordinary files only, and reads big ones in pieces."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.tools.sdk.result import size

from .encodings import LENIENT, NotText, binary, decode, encoding_of, stream_codec
from .folder import Workspace, reason

WHOLE = 8_000_000
"""Bytes of the largest file that is read whole (to edit it, for a draft)."""
SHOWN = 2_000
"""Characters of a long line that are shown with other lines."""
_PIECE = 1 << 16
_READ_ONLY = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that took the file's place must not be waited for
)


def open_file(path: Path) -> io.BufferedReader:
    """Open an ordinary file for reading; raises OSError, also for a pipe or a device."""
    handle = os.open(path, _READ_ONLY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(None, "it is not an ordinary file")
        return os.fdopen(handle, "rb")
    except OSError:
        os.close(handle)
        raise


def open_text(path: Path) -> io.TextIOWrapper | None:
    """Open a text to be shown piece by piece; None for a binary file. Raises OSError.

    Its encoding is told by its beginning; see ``LENIENT`` for what does not fit it.
    """
    file = open_file(path)
    try:
        encoding = encoding_of(file.read(_PIECE), whole=False)
        if encoding is None:
            file.close()
            return None
        codec, mark = stream_codec(encoding)
        file.seek(mark)
        return io.TextIOWrapper(file, encoding=codec, errors=LENIENT, newline="\n")
    except BaseException:
        file.close()
        raise


def read_whole(path: Path, name: str, limit: int = WHOLE) -> bytes:
    """All bytes of a file; ToolFailed if it has more than ``limit``."""
    try:
        with open_file(path) as file:
            data = file.read(limit + 1)
            length = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {reason(error)}.") from error
    if len(data) > limit:
        raise ToolFailed(f"{name} is too big to be read whole ({size(length)}).")
    return data


def unsaved(workspace: Workspace, file: Path, saved: str, encoding: str) -> str | None:
    """The text of a file that the person's editor has and did not save; None if there is none.

    ``saved`` is the text of the file. Editors tell texts, not bytes, so files in other
    encodings than UTF-8 are taken as they are on the disk. Raises ToolFailed.
    """
    if workspace.editor is None or encoding != "utf-8" or not file.is_relative_to(workspace.root):
        return None
    text = workspace.editor.text(file)
    if text is None or _as_in_editors(text) == _as_in_editors(saved):
        return None
    end = line_end(saved)
    return with_line_end(text, end) if end == "\r\n" and "\r" not in text else text


def unsaved_now(workspace: Workspace, file: Path, name: str) -> str | None:
    """Like ``unsaved``, of a file that is read for it; None too if it is no text, or too big."""
    try:
        if workspace.editor is None or file.stat().st_size > WHOLE:
            return None
        return unsaved(workspace, file, *decode(read_whole(file, name), name))
    except (NotText, OSError):
        return None


def _as_in_editors(text: str) -> str:
    """A text as any editor has it: some know one line end only, and not that of the last line."""
    return text.replace("\r\n", "\n").removesuffix("\n")


def line_end(text: str) -> str | None:
    """How all lines of a text end; None if it has one line, or they end in several ways."""
    if "\n" not in text:
        return "\r" if "\r" in text else None
    windows = text.count("\r\n")
    if windows == 0:
        return None if "\r" in text else "\n"
    return "\r\n" if windows == text.count("\n") == text.count("\r") else None


def with_line_end(text: str, end: str) -> str:
    """The text with ``end`` in place of ``\\r\\n`` and ``\\n``."""
    return text.replace("\r\n", "\n").replace("\n", end)


@dataclass(frozen=True, slots=True)
class Slice:
    """Some lines of a text. ``first`` and ``last`` count from 1; ``last`` is ``first - 1``
    when there are none. ``total`` is None where the text was not read to its end.
    ``encoding`` is that of a file that was read whole."""

    text: str
    first: int
    last: int
    total: int | None
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class LinePart:
    """Part of one line, from character ``first`` to ``last``, counting from 1.

    ``length`` is None where the line was not read to its end. ``more`` says whether a line
    follows it.
    """

    text: str
    line: int
    first: int
    last: int
    length: int | None
    more: bool
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read: ``lines`` lines from ``first`` on or, from the second character
    (``column``) on, part of line ``first`` alone; at most about ``limit`` characters, of which
    each line takes ``margin`` more than it has."""

    first: int
    lines: int
    column: int
    limit: int
    margin: int = 0


def slice_text(text: str, wanted: Wanted, encoding: str = "") -> Slice | LinePart:
    """Some lines of a text, or part of a line."""
    source = io.StringIO(text, newline="\n")
    return _read(source, wanted, lambda: False, to_end=True, encoding=encoding)


def slice_file(path: Path, name: str, wanted: Wanted, stop: Callable[[], bool]) -> Slice | LinePart:
    """Like ``slice_text``, of a file; one of more than ``WHOLE`` bytes is read in pieces, and
    only as far as needed. Raises NotText for a binary file, ToolFailed if it cannot be read.
    """
    try:
        length = path.stat().st_size
        if length > WHOLE:
            source = open_text(path)
            if source is None:
                raise binary(name, length)
            with source:
                return _read(source, wanted, stop, to_end=False)
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {reason(error)}.") from error
    text, encoding = decode(read_whole(path, name), name)
    return slice_text(text, wanted, encoding)


def _read(
    source: io.TextIOBase,
    wanted: Wanted,
    stop: Callable[[], bool],
    *,
    to_end: bool,
    encoding: str = "",
) -> Slice | LinePart:
    if wanted.column > 1:
        return _part(source, wanted, stop, to_end=to_end, encoding=encoding)
    kept: list[str] = []
    first = wanted.first
    shown = total = 0
    last = first - 1
    for total, (line, length) in enumerate(_lines(source, stop), 1):
        if total < first:
            continue
        if length > SHOWN:
            line = f"{line[:SHOWN]} [… line cut here, it has {length:,} characters; the rest: "
            line += f"first_line {total}, first_column {SHOWN + 1} …]\n"
        size = len(line) + wanted.margin
        fits = not kept or shown + size <= wanted.limit
        if last == total - 1 and total < first + wanted.lines and fits:
            kept.append(line)
            shown += size
            last = total
        elif not to_end:
            return Slice("".join(kept), first, last, None)
    return Slice("".join(kept), first, last, total, encoding)


def _lines(source: io.TextIOBase, stop: Callable[[], bool]) -> Iterator[tuple[str, int]]:
    """Each line with its end, and its length without that; of a long one only the beginning."""
    while line := source.readline(_PIECE):
        length, piece = len(line), line
        while not piece.endswith("\n") and (piece := source.readline(_PIECE)):
            length += len(piece)
            if stop():
                return
        if stop():
            return
        yield line, length - (len(piece) - len(piece.rstrip("\r\n")))


def _part(
    source: io.TextIOBase,
    wanted: Wanted,
    stop: Callable[[], bool],
    *,
    to_end: bool,
    encoding: str,
) -> LinePart:
    """Part of line ``wanted.first``; empty where the text has no such line or character."""
    skipped = sum(1 for _ in islice(_lines(source, stop), wanted.first - 1))
    if skipped < wanted.first - 1:
        return LinePart("", skipped, wanted.column, wanted.column - 1, None, more=False)
    kept: list[str] = []
    at = shown = 0
    ended = filled = False
    while not (ended or filled or stop()) and (piece := source.readline(_PIECE)):
        ended = piece.endswith("\n")
        words = piece.rstrip("\r\n") if ended else piece
        kept.append(words[max(wanted.column - 1 - at, 0) :][: wanted.limit - shown])
        shown += len(kept[-1])
        at += len(words)
        filled = not to_end and shown == wanted.limit
    more = filled or (ended and bool(source.read(1)))
    length = None if filled else at
    last = wanted.column - 1 + shown
    return LinePart("".join(kept), wanted.first, wanted.column, last, length, more, encoding)
