"""Read tool: reads text of a file, pages of a PDF, a picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from studio.domain.errors import NothingRead
from studio.domain.messages import Image
from studio.domain.notebooks import is_notebook, read_notebook
from studio.domain.records import dataclass
from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, FileDraft, Result, ToolFailed, Workspace, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.encodings import decode, title_of
from studio.tools.workspace.images import describe_image, format_of, normalise
from studio.tools.workspace.notebooks import Cells, cell_with_line, cells_from
from studio.tools.workspace.pdf import Pages, is_pdf, pages
from studio.tools.workspace.text_files import (
    WHOLE,
    LinePart,
    Slice,
    Wanted,
    open_file,
    read_whole,
    slice_file,
    slice_text,
    unsaved_now,
)

LIMIT = 60_000
"""Characters of one reading."""

MOST_FILES = 10
"""Files of one reading."""

LARGEST = 50_000_000
"""Bytes of a picture or PDF."""

UNSAVED = "This is with what the person has not saved in the editor yet; commands do not see that."


@dataclass(frozen=True, slots=True)
class _Part:
    """What is told of one file."""

    text: str
    summary: str
    sources: tuple[str, ...]
    images: tuple[Image, ...] = ()


@tool(
    effect="read",
    target="path",
    verb="Reading",
    done="Read",
    icon="file-text",
    spare=("paths", "first_page", "first_column"),
)
async def read(
    context: Context,
    path: str = "",
    paths: list[str] | None = None,
    first_line: int = 1,
    lines: int = 1000,
    first_page: int = 1,
    first_column: int = 1,
) -> Result:
    """Read a text file, a PDF, a notebook or a picture. Above a text stands which lines
    these are.

    paths: Instead, up to 10 whole files.
    first_line: The line to begin with.
    lines: How many at most.
    first_page: The page or cell to begin with.
    first_column: Where to begin in the one very long line first_line.
    """
    if min(first_line, lines, first_page, first_column) < 1:
        raise NothingRead("“first_line”, “lines”, “first_page” and “first_column” count from 1.")
    wanted = list(dict.fromkeys(one for one in (path, *(paths or ())) if one))
    if not 1 <= len(wanted) <= MOST_FILES:
        raise NothingRead(f"Name a file in “path”, or 1 to {MOST_FILES} in “paths”.")
    room = min(LIMIT, context.room)
    if len(wanted) == 1:
        asked = Wanted(first_line, lines, first_column, room, _margin(context))
        part = await _read(context, wanted[0], asked, first_page)
        return Result(part.text, part.summary, part.sources, images=part.images, fits=True)
    if max(first_line, first_page, first_column) > 1:
        raise NothingRead("Several files are read from their beginnings. Name one to go on in it.")
    return await _read_several(context, wanted, lines, room)


async def _read_several(context: Context, paths: list[str], lines: int, room: int) -> Result:
    """Each gets its share of the room, and what those before it did not need."""
    found: list[_Part] = []
    told: list[str] = []
    errors: list[ToolFailed] = []
    for left, path in zip(range(len(paths), 0, -1), paths, strict=True):
        try:
            share = Wanted(1, lines, 1, room // left, _margin(context))
            part = await _read(context, path, share, 1)
        except ToolFailed as error:
            errors.append(error)
            told.append(f"[{error}]")
            continue
        found.append(part)
        told.append(part.text.rstrip("\n"))
        room = max(room - len(part.text), 0)
    text = "\n\n".join(told)
    if not found:
        nothing = all(isinstance(error, NothingRead) for error in errors)
        raise (NothingRead if nothing else ToolFailed)(text)
    sources = tuple(source for one in found for source in one.sources)
    images = tuple(image for one in found for image in one.images)
    return Result(text, plural(len(found), "file"), sources, images=images, fits=True)


async def _read(context: Context, path: str, wanted: Wanted, first_page: int) -> _Part:
    workspace = context.workspace

    def work(stop: Stop) -> tuple[Slice | LinePart | Pages | Cells | Image, str]:
        if text is not None:
            context.seen.saw(name, text)
            return cells(text) or slice_text(text, wanted), note
        file = workspace.file(path)
        context.seen.saw_file(workspace, file, name)
        whole = _whole(workspace, file, name) if is_notebook(name) else None
        if whole is not None and (book := cells(whole[0])) is not None:
            return book, note + whole[1]
        if unusual := _unusual(file, name, first_page, wanted.limit, stop):
            return unusual, note
        if (now := unsaved_now(workspace, file, name)) is not None:
            return slice_text(now, wanted), f"{note} {UNSAVED}"
        return slice_file(file, name, wanted, stop), note

    def cells(text: str) -> Cells | None:
        book = read_notebook(text) if is_notebook(name) else None
        if book is None:
            return None
        first = first_page if first_page > 1 else cell_with_line(book, wanted.first)
        return cells_from(book, first, wanted.limit, numbered=context.numbered)

    name = workspace.relative(await asyncio.to_thread(workspace.resolve, path))
    draft = context.drafts.draft_of(name)
    text = None if draft is None else drafted_text(draft, name)
    note = "" if draft is None else f" {draft_note(draft, name)}"
    part, note = await stoppable(work)
    if isinstance(part, Image):
        about = await asyncio.to_thread(describe_image, part)
        return _Part(f"[{name}, a picture, {about}]{note}", about, (name,), (part,))
    if isinstance(part, Pages):
        return _of_pages(name, part, note)
    if isinstance(part, Cells):
        return _of_cells(name, part, note)
    if isinstance(part, LinePart):
        return _of_line(name, part, wanted.first, note)
    count = part.last - part.first + 1
    if count == 0 and wanted.first > 1:
        raise _no_line(name, part.total or 0, wanted.first)
    head = f"{_head(name, part, count)}{_encoding(part.encoding)}{note}"
    source = f"{name}:{part.first}-{part.last}" if count else name
    sources = (source,) if draft is None or name == draft.path else (source, draft.path)
    body = _numbered(part) if context.numbered and count else part.text
    return _Part(f"{head}\n{body}", plural(count, "line"), sources)


def _margin(context: Context) -> int:
    """Characters of the number of a line, as long as most are."""
    return len("1000\t") if context.numbered else 0


def _numbered(part: Slice) -> str:
    """The text with the number of each line and a tabulator before it."""
    lines = part.text.removesuffix("\n").split("\n")
    end = "\n" if part.text.endswith("\n") else ""
    return "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, part.first)) + end


def drafted_text(draft: FileDraft, name: str) -> str | None:
    """The text a draft gives this path, None where the file is to be read as it is.

    A file that is only to be moved is read at its old path: who may not read it
    there may not read it here.
    """
    if draft.action == "write":
        return draft.after
    if name != draft.target:
        return None
    if not draft.rewrites:
        raise ToolFailed(f"Your draft moves {draft.path} here, which is not done yet. Read that.")
    return draft.after


def draft_note(draft: FileDraft, name: str) -> str:
    """What a model is told of a draft whose file it looks at."""
    if draft.action == "delete":
        return "Your draft deletes this file, which is not done yet."
    if name == draft.path and draft.target:
        return f"Your draft moves this file to {draft.target}, which is not done yet."
    return "This is your draft, which is not written to the file yet."


def _unusual(
    file: Path, name: str, first_page: int, limit: int, stop: Callable[[], bool]
) -> Pages | Image | None:
    """What a file holds that is no text, as its beginning says."""
    try:
        with open_file(file) as opened:
            start = opened.read(1024)
    except OSError:
        return None  # who reads it as text says why not
    if format_of(start):
        return normalise(read_whole(file, name, LARGEST), name)
    if is_pdf(start):
        return pages(read_whole(file, name, LARGEST), name, first_page, limit, stop)
    return None


def _of_line(name: str, part: LinePart, line: int, note: str) -> _Part:
    if part.line < line:
        raise _no_line(name, part.line, line)
    if not part.text:
        characters = plural(part.length or 0, "character")
        raise ToolFailed(f"Line {line} of {name} has only {characters}.")
    of = f" of {part.length:,}" if part.length is not None else ""
    head = f"[{name}, line {line}, characters {part.first}-{part.last}{of}]"
    if part.last != part.length:
        head += f" More follows: read on with first_line {line}, first_column {part.last + 1}."
    elif part.more:
        head += f" More lines follow: read on with first_line {line + 1}."
    head += _encoding(part.encoding) + note
    count = plural(part.last - part.first + 1, "character")
    return _Part(f"{head}\n{part.text}", count, (f"{name}:{line}-{line}",))


def _no_line(name: str, total: int, line: int) -> ToolFailed:
    return ToolFailed(f"{name} has only {plural(total, 'line')}; there is no line {line}.")


def _encoding(encoding: str) -> str:
    """What a model has to know before it changes a file that cannot hold every character."""
    title = title_of(encoding)
    return f" The file is in {title}." if title else ""


def _whole(workspace: Workspace, file: Path, name: str) -> tuple[str, str] | None:
    """The text of a file as the person has it, and a note on that; None for a big file."""
    if file.stat().st_size > WHOLE:
        return None
    if (now := unsaved_now(workspace, file, name)) is not None:
        return now, f" {UNSAVED}"
    return decode(read_whole(file, name), name)[0], ""


def _of_cells(name: str, part: Cells, note: str) -> _Part:
    if part.first > max(part.total, 1):
        cells = plural(part.total, "cell")
        raise ToolFailed(f"{name} has only {cells}; there is no cell {part.first}.")
    head = f"[{name}, a notebook, cells {part.first}-{part.last} of {part.total}]"
    if part.last < part.total:
        head += f" More follows: read on with first_page {part.last + 1}."
    head += f" Edit it in this form; a line “{part.marker} code” or “{part.marker} markdown”"
    head += f" begins a new cell. Outputs stay as they are.{note}"
    count = plural(part.last - part.first + 1, "cell")
    return _Part(f"{head}\n{part.text}", count, (name,), part.images)


def _of_pages(name: str, part: Pages, note: str) -> _Part:
    count = part.last - part.first + 1
    span = f"page {part.first}" if count == 1 else f"pages {part.first}-{part.last}"
    head = f"[{name}, {span} of {part.total}]"
    if part.last < part.total:
        head = f"{head} More follows: read on with first_page {part.last + 1}."
    if not part.worded:
        head = f"{head} There are no words on them: they may be scanned pictures."
    head += note
    sources = tuple(f"{name}, page {n}" for n in part.worded)
    return _Part(f"{head}\n{part.text}", plural(count, "page"), sources)


def _head(name: str, part: Slice, count: int) -> str:
    if count == 0:
        return f"[{name} is empty.]"
    if part.first == 1 and part.last == part.total:
        return f"[{name}, all {plural(count, 'line')}]" if count > 1 else f"[{name}, 1 line]"
    of = f" of {part.total:,}" if part.total is not None else ""
    head = f"[{name}, lines {part.first}-{part.last}{of}]"
    if part.total is None or part.last < part.total:
        head = f"{head} More follows: read on with first_line {part.last + 1}."
    return head
