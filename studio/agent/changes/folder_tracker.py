"""The folder tracker: records which turn changed which file of a folder.

A folder is scanned right before and right after a tool acts, so that what the
person changes between two commands never counts as the agent's change. A draft
changes known paths, so only these are scanned. If two turns run commands in one
folder at the same time, a change is recorded for both turns, and neither may undo it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import StorageError
from studio.domain.records import dataclass
from studio.domain.tools import SKIPPED_FOLDERS
from studio.storage.snapshots.blob_store import BlobStore, digest_of
from studio.storage.snapshots.file_changes import FileChangeStore
from studio.storage.snapshots.file_restore import restore
from studio.storage.snapshots.file_state import Change, FileState
from studio.storage.snapshots.folder_snapshot import FolderSnapshot, SnapshotLimits

_State: TypeAlias = dict[str, FileState | None]

log = logging.getLogger(__name__)

NOTHING: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Owner:
    """The turn of a session that a change belongs to."""

    session_id: str
    turn_id: str


class TrackedFolder:
    """One folder, shared by all sessions of this program that work in it."""

    def __init__(self, tree: FolderSnapshot, contents: BlobStore, changes: FileChangeStore) -> None:
        self._tree = tree
        self._contents = contents
        self._changes = changes
        self._acting: list[Owner] = []
        self._lock = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self.settled, self.stop = self._tasks.settled, tree.stop
        self._troubles: dict[Owner, str] = {}
        self._found = 0

    @property
    def found(self) -> int | None:
        """How many changes were found so far; None where the folder is not scanned."""
        return None if self._tree.refused else self._found

    @property
    def folder(self) -> str:
        return str(self._tree.root)

    def trouble(self, owner: Owner) -> str:
        """Why changes by the turn's commands cannot be undone, as the end of a sentence.

        Empty if they can. Removes the reason: call it once, at the end of the turn.
        """
        return self._troubles.pop(owner, "") or self._tree.refused

    def begin(self) -> None:
        """Start a first scan in the background, so that the first command need not wait for it."""
        self._tasks.start(self._scan())

    async def keep(self) -> dict[str, str]:
        """Keep what is in the files now; returns their digests by relative path.

        Empty where the folder is not scanned, and without files that are too big.
        """
        await asyncio.shield(self._tasks.start(self._scan()))
        return await asyncio.to_thread(self._tree.digests)

    @asynccontextmanager
    async def acting(self, owner: Owner) -> AsyncGenerator[None, None]:
        """Record changes within this context as the owner's."""
        if trouble := await asyncio.shield(self._tasks.start(self._scan())):
            self._troubles[owner] = trouble
        self._acting.append(owner)
        try:
            yield
        finally:
            await asyncio.shield(self._tasks.start(self._scan(done=owner)))

    @asynccontextmanager
    async def writing(
        self, owner: Owner, paths: Iterable[str], unsaved: Mapping[str, bytes] = NOTHING
    ) -> AsyncGenerator[None, None]:
        """Record changes of these paths within this context as the owner's alone.

        Files count as being ``unsaved`` before, where an editor has other contents of them.
        """
        paths = list(paths)
        async with self._lock:
            before = await self._scan_paths(paths)
            before |= await self._as_in_editor(before, unsaved)
            try:
                yield
            finally:
                after = await self._scan_paths(paths, others=False)
                both = before.keys() & after.keys()
                made = {path: (before[path], after[path]) for path in both}
                made = {path: change for path, change in made.items() if change[0] != change[1]}
                await self._record([owner], made)

    async def _as_in_editor(self, before: _State, unsaved: Mapping[str, bytes]) -> _State:
        contents = {digest_of(data): data for data in unsaved.values()}
        states = {path: before.get(path) for path in unsaved}
        try:
            if contents:
                await asyncio.to_thread(self._contents.put, contents)
        except StorageError:
            log.warning("unsaved contents in %s are not known", self.folder, exc_info=True)
            return {}
        return {
            path: replace(state, digest=digest_of(unsaved[path]))
            for path, state in states.items()
            if state is not None and state.kind == "file"
        }

    async def restore(self, wanted: Mapping[str, Change]) -> tuple[list[str], list[str]]:
        """Restore paths, see ``storage.snapshots.file_restore``; no turn owns that change."""
        async with self._lock:
            await self._scan_paths(wanted)
            try:
                return await asyncio.to_thread(restore, self._tree.root, self._contents, wanted)
            finally:
                await self._scan_paths(wanted, others=False)

    async def save(self) -> None:
        """Save the snapshot of the folder for the next start."""
        try:
            await asyncio.to_thread(self._tree.save)
        except (StorageError, OSError):
            log.warning("what is known of %s could not be saved", self.folder, exc_info=True)

    async def _scan(self, done: Owner | None = None) -> str:
        """Scan the folder and record the changes; returns what went wrong, or an empty text.

        Callers shield it from cancellation: changes are recorded before the next scan.
        """
        async with self._lock:
            try:
                found = await asyncio.to_thread(self._tree.scan)
                self._found += len(found)
                return await self._record(self._acting, found)
            except (StorageError, OSError) as error:
                return self._fail(self._acting, error)
            finally:
                if done is not None:
                    self._acting.remove(done)

    async def _scan_paths(self, paths: Iterable[str], *, others: bool = True) -> _State:
        try:
            state, found = await asyncio.to_thread(self._tree.scan_paths, list(paths))
        except (StorageError, OSError) as error:
            self._fail(self._acting, error)
            return {}
        if others:
            await self._record(self._acting, found)
        return state

    async def _record(self, owners: Iterable[Owner], found: Mapping[str, Change]) -> str:
        them = set(owners)
        try:
            for owner in them:
                await self._changes.record(
                    owner.session_id, owner.turn_id, self.folder, found, sure=len(them) == 1
                )
        except StorageError as error:
            return self._fail(them, error)
        return ""

    def _fail(self, owners: Iterable[Owner], error: Exception) -> str:
        log.warning("changes in %s are not known", self.folder, exc_info=error)
        self._found += 1  # there may be some
        text = str(error).rstrip(".")
        self._troubles.update(dict.fromkeys(owners, text))
        return text


class FolderTracker:
    """The tracked folders by their real paths, with the store of their contents."""

    def __init__(
        self, contents: BlobStore, changes: FileChangeStore, excluded: Callable[[], Iterable[Path]]
    ) -> None:
        """``excluded`` returns paths that belong to the program and are not tracked."""
        self.contents = contents
        self._changes = changes
        self._excluded = excluded
        self.limits = SnapshotLimits()
        self._tracked: dict[str, TrackedFolder] = {}

    async def track(self, folder: str) -> TrackedFolder:
        if folder in self._tracked:
            return self._tracked[folder]

        def make() -> FolderSnapshot:
            return FolderSnapshot(
                Path(folder),
                self.contents,
                ignored=SKIPPED_FOLDERS,
                excluded=self._excluded(),
                limits=self.limits,
            )

        tree = await asyncio.to_thread(make)
        return self._tracked.setdefault(
            str(tree.root), TrackedFolder(tree, self.contents, self._changes)
        )

    async def close(self) -> None:
        """Save the snapshots; once a day delete contents that no undo needs any more."""
        for tracked in self._tracked.values():
            tracked.stop()
            await tracked.settled()
            await tracked.save()
        try:
            if await asyncio.to_thread(self.contents.due):
                wanted = await self._changes.expire()
                await asyncio.to_thread(self.contents.collect, wanted)
        except (StorageError, OSError):  # of a disk that is full or only read; next time, then
            log.warning("old contents for undo could not be deleted", exc_info=True)
        finally:
            await asyncio.to_thread(self.contents.close)
