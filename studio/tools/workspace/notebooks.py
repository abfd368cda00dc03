"""Notebooks: shows a model the cells of a notebook with their outputs and pictures (C-9)."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.messages import Image
from studio.domain.notebooks import Cell, Notebook
from studio.domain.records import dataclass
from studio.tools.sdk.result import shorten

from .images import KEPT, normalise

OUTPUT = 2_000
"""Characters of the outputs of one cell."""
PICTURES = 4
"""Pictures of one reading."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Cells:
    """Some cells of a notebook, numbered from 1; ``last`` is ``first - 1`` if there are none."""

    text: str
    first: int
    last: int
    total: int
    marker: str
    images: tuple[Image, ...]


def cells_from(book: Notebook, first: int, limit: int, *, numbered: bool) -> Cells:
    """The cells from ``first`` on, as many as ``limit`` characters show but at least one.

    ``numbered``: with the numbers of the lines that the text of all cells has. Pictures are
    decoded: call it in a thread.
    """
    parts: list[str] = []
    images: list[Image] = []
    line, shown, last = 1, 0, first - 1
    for number, cell in enumerate(book.cells, 1):
        lines = [book.heading(cell), *cell.source.split("\n")]
        if number >= first:
            begin = len(images)
            text = _source(lines, line if numbered else 0) + _outputs(cell, images)
            if parts and shown + len(text) > limit:
                del images[begin:]
                break
            parts.append(shorten(text, limit))
            shown, last = shown + len(parts[-1]), number
        line += len(lines)
    text = "".join(parts)
    return Cells(text, first, last, len(book.cells), book.marker, tuple(images))


def cell_with_line(book: Notebook, line: int) -> int:
    """The number of the cell with a line of the text of all cells."""
    end = 0
    for number, cell in enumerate(book.cells, 1):
        end += 2 + cell.source.count("\n")
        if line <= end:
            return number
    return len(book.cells) + 1


def _source(lines: Sequence[str], first: int) -> str:
    if first:
        lines = [f"{number}\t{line}" for number, line in enumerate(lines, first)]
    return "".join(f"{line}\n" for line in lines)


def _outputs(cell: Cell, images: list[Image]) -> str:
    """What a cell put out, in words; its pictures are added to ``images``."""
    told = [_output(one, images) for one in as_objects(cell.value.get("outputs"))]
    text = "\n".join(one.rstrip("\n") for one in told if one.strip())
    return f"[output]\n{shorten(text, OUTPUT)}\n[end of output]\n" if text else ""


def _output(output: JsonObject, images: list[Image]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _COLOURS.sub("", _joined(output.get("text")))
    if kind == "error":
        trace = _joined(output.get("traceback"), "\n")
        named = f"{as_text(output.get('ename'))}: {as_text(output.get('evalue'))}"
        return _COLOURS.sub("", trace or named)
    data = as_object(output.get("data"))
    for kind in KEPT.values():
        if kind in data:
            return _picture(_joined(data[kind]), images)
    for kind in ("text/plain", "text/markdown", "text/html"):
        if kind in data:
            return _joined(data[kind])
    return f"({', '.join(data)})" if data else ""


def _picture(encoded: str, images: list[Image]) -> str:
    if len(images) >= PICTURES:
        return "(a picture that is not shown: begin with this cell to see it)"
    try:
        images.append(normalise(base64.b64decode(encoded)))
    except (ToolFailed, ValueError) as error:
        return f"(a picture that cannot be shown: {error})"
    return f"(picture {len(images)})"


def _joined(value: Json, between: str = "") -> str:
    lines = value if isinstance(value, list) else [value]
    return between.join(line for line in lines if isinstance(line, str))
