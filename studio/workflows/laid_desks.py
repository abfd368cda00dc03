"""Laid desks: the copies of the folder that steps of a run work on now (W-23).

What a step changed there is kept by digests when its try ends, and its desk is taken away.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from studio.agent.engine import Engine
from studio.domain.run_events import ChangedFile, RunEvent, StepChanged, StepFinished
from studio.domain.runs import Run, StepKey
from studio.domain.workflows import Workflow
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder
from studio.processes.desk import Desk

from .change_merge import DeskContents

LARGEST = 10_000_000
"""Bytes of the largest file that is kept of a desk."""


class LaidDesks:
    """The desks of one run's tries, by step and item, each in the name of its session."""

    def __init__(self, engine: Engine, workflow: Workflow, run: Run) -> None:
        self._services, self._run = engine.services, run
        self._place = engine.paths.data / "desks"
        self.contents = DeskContents(
            engine.services.desk_contents, engine.services.folders.contents
        )
        self._looks = {step.id for step in workflow.steps if step.proves is not None}
        self._open: dict[StepKey, str] = {}
        """The sessions that work on a desk now."""

    async def open(self, key: StepKey, session_id: str) -> bool:
        """Open the desk of a try, which may have begun before; False if it has none yet."""
        if key not in self._open:
            try:
                desk = await asyncio.to_thread(Desk.open, self._place / session_id)
            except (OSError, ValueError):
                return False
            self._use(key, session_id, desk)
        return True

    async def lay(
        self,
        key: StepKey,
        session_id: str,
        changed: Mapping[str, str],
        base: Mapping[str, str],
    ) -> None:
        """Copy the folder with what is ``changed`` there; both are the digests of files.

        What the try changes is told from ``base``. Raises DeskTooLarge and OSError.
        """
        assert self._run.started is not None
        folder, at = Path(self._run.started.folder), self._place / session_id

        def lay() -> Desk:
            private_folder(self._place)
            shutil.rmtree(at, ignore_errors=True)
            contents = {
                path: self.contents.bytes(one) if one else None for path, one in changed.items()
            }
            desk = Desk.lay(folder, contents, at)
            write_atomically(at / "base.json", json.dumps({**base}).encode("ascii"))
            return desk

        self._use(key, session_id, await asyncio.to_thread(lay))

    def _use(self, key: StepKey, session_id: str, desk: Desk) -> None:
        self._open[key] = session_id
        self._services.desks[session_id] = desk

    async def with_changes(self, events: Sequence[RunEvent]) -> list[RunEvent]:
        """The events, before each end of a try what it did on its desk."""
        found: list[RunEvent] = []
        for event in events:
            if (
                isinstance(event, StepFinished)
                and (event.step, event.item) in self._open
                and event.step not in self._looks  # what a check leaves behind is no work
            ):
                found.append(await self.changed((event.step, event.item)))
            found.append(event)
        return found

    async def put_away(self, events: Iterable[RunEvent]) -> None:
        """Take away the desks of tries whose end is stored."""
        for event in events:
            if isinstance(event, StepFinished) and (
                session_id := self._open.pop((event.step, event.item), "")
            ):
                desk = self._services.desks.pop(session_id)
                await asyncio.to_thread(desk.remove)

    async def remove(self, session_ids: Iterable[str]) -> None:
        """Delete desks that a program left which was killed."""
        for session_id in session_ids:
            await asyncio.to_thread(shutil.rmtree, self._place / session_id, True)

    async def changed(self, key: StepKey) -> StepChanged:
        """What a try has done on its desk, without what its tools left running there."""
        session_id = self._open[key]
        await self._services.jobs.end(session_id)
        await self._services.languages.end(session_id)
        desk = self._services.desks[session_id]
        own = self._run.changes.get(key, StepChanged(*key, ()))

        def look() -> StepChanged:
            base = cast("dict[str, str]", json.loads((desk.root.parent / "base.json").read_text()))
            changes = desk.changes()
            names = [*changes.written, *changes.deleted, *(one.path for one in own.files)]
            files, left = list[ChangedFile](), [*changes.other]
            for name in sorted(set(names)):
                place = desk.root / name
                # What is behind a link is not on the desk.
                ordinary = os.path.realpath(place) == str(place) and place.is_file()
                try:
                    if ordinary and place.stat().st_size > LARGEST:
                        raise OSError
                    after = self.contents.put(place.read_bytes()) if ordinary else ""
                except OSError:
                    left.append(name)
                    continue
                before = base[name] if name in base else self._in_folder(desk, name)
                if before != after:
                    self.contents.keep(before)
                    files.append(ChangedFile(name, before, after))
            return StepChanged(*key, tuple(files), tuple(dict.fromkeys(left)))

        return await asyncio.to_thread(look)

    def _in_folder(self, desk: Desk, name: str) -> str:
        """The digest of a file of the folder that was too big to be kept; empty for none."""
        place = desk.folder / name
        if desk.outdated(name) or not place.is_file() or place.is_symlink():
            return ""
        return self.contents.put(place.read_bytes())
