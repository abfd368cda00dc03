"""Text files: detects encodings, and reads big files in pieces."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from studio.domain.errors import ToolFailed
from studio.tools.sdk.result import size

from .folder import reason

WHOLE = 8_000_000
"""Bytes of the largest file that is read whole (to edit it, for a draft)."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE_LIMIT = 2_000
_PIECE = 1 << 16


class NotText(ToolFailed):
    """The file is no text, or in an encoding that this program does not read."""


def encoding_of(start: bytes) -> str:
    """``utf-8``, ``utf-8-sig``, ``utf-16-le`` or ``utf-16-be`` by the byte order mark.

    The two UTF-16 names always mean a file with a byte order mark.
    """
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


def decode(data: bytes, name: str) -> tuple[str, str]:
    """A file's text and encoding, for which ``encode`` gives the same bytes; raises NotText."""
    encoding = encoding_of(data)
    body = data[2:] if encoding.startswith("utf-16") else data
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        raise _binary(name, len(data)) from None
    if "\0" in text:
        raise _binary(name, len(data))
    return text, encoding


def encode(text: str, encoding: str) -> bytes:
    """The bytes of a file with this text; ToolFailed if the text cannot be written."""
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    try:
        return mark + text.encode(encoding)
    except UnicodeEncodeError as error:
        raise ToolFailed(
            f"The text holds half a character at position {error.start} and cannot be written."
        ) from None


def _binary(name: str, length: int) -> NotText:
    return NotText(f"{name} is a binary file ({size(length)}).")


def read_whole(path: Path, name: str, limit: int = WHOLE) -> bytes:
    """All bytes of a file; ToolFailed if it has more than ``limit``."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
            length = path.stat().st_size
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {reason(error)}.") from error
    if len(data) > limit:
        raise ToolFailed(f"{name} is too big to be read whole ({size(length)}).")
    return data


@dataclass(frozen=True, slots=True)
class Slice:
    """Some lines of a text. ``first`` and ``last`` count from 1; ``last`` is ``first - 1``
    when there are none. ``total`` is None where the text was not read to its end."""

    text: str
    first: int
    last: int
    total: int | None


def slice_text(text: str, first: int, lines: int, limit: int) -> Slice:
    """``lines`` lines from ``first`` on, at most about ``limit`` characters."""
    return _slice(
        io.StringIO(text, newline="\n"), first, lines, limit, lambda: False, count_all=True
    )


def slice_file(
    path: Path, name: str, first: int, lines: int, limit: int, stop: Callable[[], bool]
) -> Slice:
    """Like ``slice_text``, of a file, which is read in pieces and only as far as needed.

    A file of up to ``WHOLE`` bytes is read to its end to count its lines.
    Raises NotText for a binary file.
    """
    length = 0
    try:
        with path.open("rb") as file:
            start = file.read(_PIECE)
            length = path.stat().st_size
            encoding = encoding_of(start)
            if encoding == "utf-8" and b"\0" in start:
                raise _binary(name, length)
            file.seek(2 if encoding.startswith("utf-16") else 0)
            text = io.TextIOWrapper(file, encoding=encoding, newline="\n")
            return _slice(text, first, lines, limit, stop, count_all=length <= WHOLE)
    except UnicodeDecodeError:
        raise _binary(name, length) from None
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {reason(error)}.") from error


def _slice(
    source: io.TextIOBase,
    first: int,
    lines: int,
    limit: int,
    stop: Callable[[], bool],
    *,
    count_all: bool,
) -> Slice:
    kept: list[str] = []
    shown = total = 0
    last = first - 1
    for total, line in enumerate(_lines(source, stop), 1):
        if total < first:
            continue
        fits = not kept or shown + len(line) <= limit
        if last == total - 1 and total < first + lines and fits:
            kept.append(line)
            shown += len(line)
            last = total
        elif not count_all:
            return Slice("".join(kept), first, last, None)
    return Slice("".join(kept), first, last, total)


def _lines(source: io.TextIOBase, stop: Callable[[], bool]) -> Iterator[str]:
    """Each line with its end; only the beginning of a very long one is held in memory."""
    while piece := source.readline(_PIECE):
        line = piece
        while not piece.endswith("\n") and (piece := source.readline(_PIECE)):
            if stop():
                return
        if stop():
            return
        if len(line.rstrip("\r\n")) > _LINE_LIMIT:
            line = f"{line[:_LINE_LIMIT]} [… line cut here]\n"
        yield line
