"""Outline tool: shows what source files define, and where a name is used (C-18)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import groupby, islice
from pathlib import Path, PurePosixPath

from studio.domain.drafts import FileDraft
from studio.domain.errors import NothingRead
from studio.domain.records import dataclass
from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, Result, ToolFailed, Workspace, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.encodings import decode
from studio.tools.workspace.grammars import EXTRA, SUFFIXES, NoGrammar, grammar_symbols
from studio.tools.workspace.symbols import PYTHON, Symbol, Symbols, lines_of, python_symbols
from studio.tools.workspace.text_files import read_whole, unsaved_now

from .read import UNSAVED, draft_note, drafted_text

LIMIT = 200
"""Lines of one answer."""
CHARACTERS = 25_000
"""Of one answer, or it would be cut in its middle."""
LAST = 10_000
"""Line that an answer may begin with: those before it are made again meanwhile."""
_WIDE = 200
"""Characters of a line of source."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of an answer under a heading; ``path`` is the file that it tells of."""

    heading: str
    text: str
    path: str


@tool(
    effect="read",
    target="path",
    verb="Outlining",
    done="Outlined",
    icon="list",
    spare=("first",),
)
async def outline(context: Context, path: str = ".", symbol: str = "", first: int = 1) -> Result:
    """Show the types and functions that source files define, with their lines; with symbol,
    where that name is defined and used.

    path: A file or folder.
    symbol: A name, or Type.name.
    first: The line of the answer to begin with.
    """
    if not 1 <= first <= LAST:
        raise NothingRead(f"“first” must be 1 to {LAST:,}.")
    wanted = symbol.strip().replace("::", ".")
    drafts = {
        name: draft
        for of_turn in (True, False)
        for draft in context.drafts.waiting(of_turn=of_turn)
        for name in draft.paths
    }

    def work(stop: Stop) -> tuple[str, str, list[_Line], str]:
        files = _Files(context.workspace, drafts, wanted.rpartition(".")[2], stop)
        place = context.workspace.resolve(path or ".")
        name = context.workspace.relative(place)
        sources = files.below(place) if place.is_dir() else iter([files.read(name, place)])
        about, lines = "", _defined(sources, whole=not place.is_dir())
        if wanted:
            about, lines = _found(sources, wanted)
        return name, about, list(islice(lines, first - 1, first + LIMIT)), files.left_out()

    name, about, lines, left_out = await stoppable(work)
    if not lines and first > 1:
        raise NothingRead(f"There is no line {first}.")
    if not lines:
        what = f"nothing called {wanted}" if wanted else "no source file"
        where = "here" if name == "." else f"in {name}"
        return Result(_joined([f"There is {what} {where}.", left_out]), "no matches", (name,))
    shown = _page(lines, min(CHARACTERS, context.room * 3 // 4))
    if more := len(lines) > shown:
        left_out = f"[… more follows: go on with first {first + shown}, or name a file …]"
    text = _joined([about, _told(lines[:shown]), left_out])
    count = f"{plural(shown, 'line')}{' or more' if more else ''}"
    return Result(text, count, tuple(dict.fromkeys(line.path for line in lines[:shown])))


def _defined(sources: Iterable[_Source], *, whole: bool) -> Iterator[_Line]:
    """What files define; of a type only how much is in it, unless they are wanted ``whole``."""
    for source in sources:
        found = source.symbols.found
        if not found:
            yield _Line(source.heading, "", source.name)
        for index, one in enumerate(found):
            inside = 0
            if not whole:
                if one.depth:
                    continue
                rest = found[index + 1 :]
                inside = next((n for n, other in enumerate(rest) if not other.depth), len(rest))
            more = f"  ({inside} inside)" if inside else ""
            text = f"{_span(one)}\t{'  ' * one.depth}{one.signature}{more}"
            yield _Line(source.heading, text, source.name)


def _found(sources: Iterable[_Source], wanted: str) -> tuple[str, list[_Line]]:
    """Where a name is defined and used, and in words how often."""
    defined: list[_Line] = []
    used: list[_Line] = []
    files: set[str] = set()
    for source in sources:
        own: set[int] = set()
        for one in source.symbols.found:
            if f".{one.name}".replace("::", ".").endswith(f".{wanted}"):
                own.add(one.first)
                text = f"{source.name}:{_span(one)}: {one.signature}"
                defined.append(_Line("Defined:", text, source.name))
        for number in source.symbols.uses:
            if number in own:
                continue
            around = source.symbols.around(number)
            words = source.lines[number - 1].strip()[:_WIDE]
            text = f"{source.name}:{number}: {f'in {around}: ' if around else ''}{words}"
            used.append(_Line("Used:", text, source.name))
            files.add(source.name)
    if not defined and not used:
        return "", []
    uses = f"used in {plural(len(used), 'line')} of {plural(len(files), 'file')}"
    about = f"[{wanted}: {plural(len(defined), 'definition')}, {uses if used else 'no use'}.]"
    return about, defined + used


def _span(one: Symbol) -> str:
    return str(one.first) if one.first == one.last else f"{one.first}-{one.last}"


def _page(lines: Sequence[_Line], most: int) -> int:
    """How many lines one answer has."""
    size, heading = 0, ""
    for shown, line in enumerate(lines[:LIMIT]):
        size += len(line.text) + 1
        size += len(line.heading) + 2 if line.heading != heading else 0
        heading = line.heading
        if shown and size > most:
            return shown
    return min(len(lines), LIMIT)


def _told(lines: Iterable[_Line]) -> str:
    groups = groupby(lines, lambda line: line.heading)
    return "\n\n".join(
        "\n".join([heading, *(line.text for line in group if line.text)])
        for heading, group in groups
    )


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


@dataclass(slots=True)
class _Source:
    """A file with what it defines."""

    name: str
    lines: Sequence[str]
    symbols: Symbols
    note: str = ""

    @property
    def heading(self) -> str:
        kinds = Counter(one.kind for one in self.symbols.found)
        counts = [plural(len(self.lines), "line")]
        counts += [plural(kinds["class"], "type")] if kinds["class"] else []
        counts += [plural(kinds["function"], "function")] if kinds["function"] else []
        note = self.note
        if problem := self.symbols.problem:
            note = f" Not all of it can be parsed ({problem}); this is what can be read.{note}"
        return f"[{self.name}: {', '.join(counts)}.{note}]"


@dataclass(slots=True)
class _Files:
    """Reads source files as the agent would, with its drafts, and counts what it cannot read.

    With a name ``wanted`` only files of a folder that have it are told.
    """

    workspace: Workspace
    drafts: Mapping[str, FileDraft]
    wanted: str
    stop: Stop
    unreadable: int = 0
    without_grammar: Counter[str] = field(default_factory=Counter[str])

    def below(self, folder: Path) -> Iterator[_Source]:
        """The source files of a folder."""
        for name in self._names(folder):
            try:
                text, note = self._text(name)
                if self.wanted in text:
                    yield self._source(name, text, note)
            except NoGrammar:
                self.without_grammar[PurePosixPath(name).suffix] += 1
            except ToolFailed:
                self.unreadable += 1

    def read(self, name: str, place: Path) -> _Source:
        """One source file; raises ToolFailed if there is none, or it cannot be read."""
        text, note = self._text(name)
        if not _is_source(place):
            known = ", ".join(sorted({*PYTHON, *SUFFIXES}))
            raise NothingRead(f"{name} has no outline; files with one end in {known}. Use read.")
        try:
            return self._source(name, text, note)
        except NoGrammar:
            raise NothingRead(
                f"{name} has no outline here: that needs an extra of the program ({EXTRA}). Use "
                "search or read."
            ) from None

    def left_out(self) -> str:
        """What was not outlined, in words; "" if there is nothing."""
        kinds = [plural(n, f"{suffix} file") for suffix, n in sorted(self.without_grammar.items())]
        told = (
            [f"{', '.join(kinds)}, which need an extra of the program ({EXTRA})"] if kinds else []
        )
        if self.unreadable:
            told.append(f"{plural(self.unreadable, 'file')} that cannot be read")
        return f"[Left out: {'; '.join(told)}.]" if told else ""

    def _names(self, folder: Path) -> Iterator[str]:
        """The source files in a folder without links, then those that only drafts make there."""
        workspace = self.workspace
        for entry in workspace.walk(folder, stop=self.stop):
            place = Path(entry.path)
            with suppress(OSError):
                if _is_source(place) and entry.is_file(follow_symlinks=False):
                    yield workspace.relative(place)
        for name, draft in sorted(self.drafts.items()):
            place = workspace.root / name
            new = draft.rewrites and not os.path.lexists(place) and place.is_relative_to(folder)
            if new and _is_source(place) and not workspace.hidden(name):
                yield name

    def _text(self, name: str) -> tuple[str, str]:
        """The text of a file and a note on its draft; raises ToolFailed."""
        draft = self.drafts.get(name)
        note = "" if draft is None else f" {draft_note(draft, name)}"
        text = None if draft is None else drafted_text(draft, name)
        if text is not None:
            return text, note
        file = self.workspace.file(name)
        if (now := unsaved_now(self.workspace, file, name)) is not None:
            return now, f"{note} {UNSAVED}"
        return decode(read_whole(file, name), name)[0], note

    def _source(self, name: str, text: str, note: str) -> _Source:
        suffix = PurePosixPath(name).suffix.lower()
        if suffix in PYTHON:
            symbols = python_symbols(text, self.wanted)
        else:
            symbols = grammar_symbols(suffix, text, self.wanted)
        return _Source(name, lines_of(text), symbols, note)


def _is_source(place: Path) -> bool:
    return place.suffix.lower() in PYTHON or place.suffix.lower() in SUFFIXES
