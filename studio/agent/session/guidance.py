"""Guidance: tells the model what instruction files say, and what others say that it comes to (K-1).

Those of the folder and of the person are told with the first message, as a part of the history
that never changes (H-9). What changed since, and what a deeper folder has that a tool works in, is
appended (K-2). A folder's files count only where the person trusts it (K-3).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from studio.agent.instruction_files import (
    MOST_BYTES,
    InstructionFile,
    deeper_paths,
    fit,
    project_paths,
    read_instructions,
    repository_root,
)
from studio.agent.loop.turn_context import Guard
from studio.agent.permission.content_filter import ContentFilter
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.prompts import GUIDANCE, GUIDANCE_FILE, GUIDANCE_GONE, GUIDANCE_MORE
from studio.domain.events import Event, Told, ToolFinished, ToolQueued
from studio.domain.records import dataclass
from studio.domain.transcript import Transcript

from .orientation import BYTES_PER_TOKEN, filtered

WINDOW_SHARE = 8
"""A small window gives one part in so many to instructions."""
GONE = ""
"""Stands for the digest of a file that counts no longer."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the instructions of a turn are from: the folder, and the person's own files.

    ``window`` is the model's in tokens, None if nobody knows.
    """

    folder: Path
    trusted: bool
    own: Sequence[Path]
    window: int | None


class Guidance(Guard):
    """Watches one turn, and tells its model of instructions."""

    def __init__(
        self,
        sources: Sources,
        transcript: Transcript,
        content_filter: ContentFilter,
        guard: ExfiltrationGuard,
        record: Callable[[Event], None],
    ) -> None:
        self._guard = guard
        self._record = record
        self._sources = sources
        self._transcript = transcript
        self._filter = content_filter
        self._epoch = -1
        """Whose beginning was looked at."""
        self._targets: dict[str, str] = {}
        """What the calls that run now are about, by their ids."""
        self._touched: set[str] = set()

    def on_event(self, event: Event) -> None:
        if isinstance(event, ToolQueued) and event.effect != "act":
            self._targets[event.call_id] = event.target
        elif isinstance(event, ToolFinished):
            target = self._targets.pop(event.call_id, "")
            if self._sources.trusted and not event.is_error:
                self._touched |= {target, *(path for path, _ in event.seen)} - {""}

    async def untold(self, epoch: int) -> list[Told]:
        """The notes for the next request to the history ``epoch``."""
        begins, self._epoch = epoch != self._epoch, epoch
        if not (begins or self._touched):
            return []
        touched, self._touched = self._touched, set()
        told = dict(self._transcript.guided)
        before = self._transcript.guides if begins else ()
        files = await asyncio.to_thread(self._read, {*touched, *before}, begins)
        found = {self._name(one): one for one in files}
        gone = [name for name, known in told.items() if begins and known and name not in found]
        news = {name: one for name, one in found.items() if told.get(name) != one.digest}
        notes: list[Told] = []
        if gone:
            text = GUIDANCE_GONE.format(names=", ".join(gone))
            notes.append(Told("guidance", text, tuple((name, GONE) for name in gone)))
        if news and (text := await self._told(list(news.values()), first=not told)):
            for name, one in news.items():
                self._expose(name, one)
            digests = tuple((name, one.digest) for name, one in news.items())
            notes.append(Told("guidance", text, digests))
        return notes

    def _read(self, touched: Iterable[str], begins: bool) -> list[InstructionFile]:
        sources, folder = self._sources, self._sources.folder
        files: list[InstructionFile] = []
        if begins and (own := next((one for one in sources.own if one.is_file()), None)):
            files += read_instructions([own], own.parent, own=True)
        if sources.trusted:
            paths = dict.fromkeys(project_paths(folder) if begins else [])
            paths |= dict.fromkeys(deeper_paths(folder, (folder / one for one in touched)))
            files += read_instructions(paths, repository_root(folder), folder)
        return files

    async def _told(self, files: Sequence[InstructionFile], *, first: bool) -> str:
        window = self._sources.window
        room = MOST_BYTES if window is None else window * BYTES_PER_TOKEN // WINDOW_SHARE
        shown = [
            GUIDANCE_FILE.format(path=self._name(one), text=one.text)
            for one in fit(files, min(MOST_BYTES, room))
        ]
        text = (GUIDANCE if first else GUIDANCE_MORE).format(files="\n".join(shown))
        return await filtered(lambda: self._filter.mask(text)) if self._filter.own else text

    def _expose(self, name: str, file: InstructionFile) -> None:
        """What a file says can leave with a later call, as if a tool had read it (T-7)."""
        if file.own:
            found = self._guard.inherited_exposures({"private": name})
        else:
            found = self._guard.exposed_by_file(name)
        for one in found:
            self._record(one)

    def _name(self, file: InstructionFile) -> str:
        """What the model is told a file is called: a path that it can read."""
        if file.own:
            return escape_line(str(file.path))
        return escape_line(Path(os.path.relpath(file.path, self._sources.folder)).as_posix())
