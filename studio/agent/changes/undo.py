"""The undo of turns: restores the files that a turn changed, and redoes the change (T-5).

It does not need git and compares the files themselves. A path is restored only
while its content is exactly what the turn left (for a redo: what was there before
the turn), so that nobody else's work is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

from studio.agent.session.session_state import SessionState
from studio.domain.aio import BackgroundTasks
from studio.domain.blocks import DraftBlock, FilesBlock
from studio.domain.drafts import Draft, FileDraft
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.events import Event, FilesChanged, FilesRestored, Notice
from studio.storage.snapshots.file_changes import FileChange, FileChangeStore
from studio.tools import Workspace
from studio.tools.workspace.encodings import encode
from studio.tools.workspace.text_files import unsaved_now

from .folder_tracker import FolderTracker, Owner, TrackedFolder


class Undo:
    """The undo of one session."""

    def __init__(
        self,
        session: SessionState,
        folders: FolderTracker,
        changes: FileChangeStore,
        workspace: Callable[[], Workspace],
    ) -> None:
        """``workspace`` is where the session's agents work, with the person's editor; it touches
        the disk."""
        self._session = session
        self._folders = folders
        self._changes = changes
        self._workspace = workspace
        self._turn_id = ""
        self._folder = ""
        self._tracked: TrackedFolder | None = None
        self._acted = self._wrote = False
        self._told = ""
        self._tasks = BackgroundTasks()
        self.settled = self._tasks.settled

    async def begin(self, turn_id: str, folder: str, *, acts: bool) -> None:
        """Begin a turn in a folder; for a turn that may act, start a scan of the folder."""
        self._turn_id, self._folder = turn_id, folder
        self._acted = self._wrote = False
        self._tracked = await self._tracked_folder() if acts else None
        if self._tracked is not None:
            self._tracked.begin()

    def found(self) -> int | None:
        """How many changes were found in the running turn's folder; None where nobody looks."""
        return self._tracked.found if self._tracked is not None else None

    @asynccontextmanager
    async def acting(self) -> AsyncGenerator[None, None]:
        """Entered around a tool that acts in the running turn.

        What it does is not begun before the disk says so: after a crash it may have happened.
        """
        await self._session.flush()
        tracked = await self._tracked_folder()
        async with tracked.acting(self._owner(self._turn_id)):
            self._acted = True
            yield

    @asynccontextmanager
    async def writing(self, drafts: Sequence[Draft]) -> AsyncGenerator[None, None]:
        """Entered around drafts that are applied together or undone, also after their turn.

        A draft that changes no file is not tracked: its own undo restores it.
        """
        files = [draft for draft in drafts if isinstance(draft, FileDraft)]
        if not files:
            yield
            return
        turn_id = self._turn_of(files[0].id)
        self._wrote = self._wrote or turn_id == self._turn_id
        tracked = await self._tracked_folder()
        paths = [path for draft in files for path in draft.paths]
        unsaved = await asyncio.to_thread(self._unsaved, files)
        async with tracked.writing(self._owner(turn_id), paths, unsaved):
            yield
        if turn_id != self._turn_id:
            for event in await self._change_events(turn_id):
                self._session.record(event)

    def _unsaved(self, files: Sequence[FileDraft]) -> dict[str, bytes]:
        """What the person typed in files and did not save: an undo brings back that, too."""
        workspace = self._workspace()
        found: dict[str, bytes] = {}
        with suppress(ToolFailed):  # the editor does not answer, so it will not write either
            for path in (draft.path for draft in files):
                text = unsaved_now(workspace, workspace.root / path, path)
                if text is not None:
                    found[path] = encode(text, "utf-8")
        return found

    async def end(self, turn_id: str) -> list[Event]:
        """The events at the end of a turn: the files it changed, and what cannot be undone."""
        if turn_id == self._turn_id and not (self._acted or self._wrote):
            self._turn_id = ""
            return []
        tracked = await self._tracked_folder()
        if self._acted:
            await tracked.settled()
            await tracked.save()
        events = await self._change_events(turn_id)
        trouble = tracked.trouble(self._owner(turn_id)) if self._acted else ""
        if trouble and trouble != self._told:
            self._told = trouble
            text = f"Changes by commands in this folder cannot be undone: {trouble}."
            events.append(Notice(text))
        self._turn_id = ""
        return events

    async def restore(self, turn_id: str, *, undo: bool) -> FilesRestored:
        """Undo or redo a turn's changes; runs to its end even if cancelled.

        Raises ConfigurationError if the changes are not known, or no longer known.
        """
        return await self._tasks.run(self._restore(turn_id, undo=undo))

    def blocking(self, turn_id: str) -> list[str]:
        """Later turns to undo first, in this order: they changed files that this undo skipped."""
        files = [
            block for block in self._session.transcript.blocks if isinstance(block, FilesBlock)
        ]
        own = next((n for n, block in enumerate(files) if block.turn_id == turn_id), len(files))
        left = {path for block in files[own : own + 1] for path in block.left}
        later = reversed(files[own + 1 :])
        return [b.turn_id for b in later if not b.undone and left.intersection(b.paths)]

    async def _restore(self, turn_id: str, *, undo: bool) -> FilesRestored:
        changes = await self._changes.of_turn(self._session.info.id, turn_id)
        if not changes:
            raise ConfigurationError("Nothing is known of files that this turn changed.")
        done: list[str] = []
        left = [change.path for change in changes if not change.sure]
        for folder in sorted({change.folder for change in changes if change.sure}):
            wanted = {
                change.path: (change.after, change.before)
                if undo
                else (change.before, change.after)
                for change in changes
                if change.sure and change.folder == folder
            }
            tracked = await self._folders.track(folder)
            restored = await tracked.restore(wanted)
            done += restored[0]
            left += restored[1]
        drafts = self._drafts(turn_id, set(done), undo=undo)
        event = FilesRestored(
            turn_id,
            undo if done else not undo,
            paths_to_show(change for change in changes if change.path in done),
            tuple(sorted(left)),
            tuple(draft.id for draft in drafts),
        )
        self._session.record(event)
        for draft in drafts:
            self._session.drafts.restored(
                draft.id, "undone" if undo else "approved", self._session.record
            )
        return event

    def _drafts(self, turn_id: str, done: set[str], *, undo: bool) -> list[Draft]:
        """The turn's file drafts of which all paths were undone or redone."""
        blocks = self._session.transcript.blocks
        again = {
            draft_id
            for block in blocks
            if isinstance(block, FilesBlock) and block.turn_id == turn_id
            for draft_id in block.drafts
        }
        return [
            block.draft
            for block in blocks
            if isinstance(block, DraftBlock)
            and block.turn_id == turn_id
            and isinstance(block.draft, FileDraft)
            and done.issuperset(block.draft.paths)
            and (
                block.draft.status == "approved"
                if undo
                else block.draft.status == "undone" and block.draft.id in again
            )
        ]

    async def _change_events(self, turn_id: str) -> list[Event]:
        """The event for the turn's changes, unless the transcript already has it."""
        paths = paths_to_show(await self._changes.of_turn(self._session.info.id, turn_id))
        for block in self._session.transcript.blocks:
            if isinstance(block, FilesBlock) and block.turn_id == turn_id:
                same = block.paths == paths and not block.undone
                return [] if same else [FilesChanged(turn_id, paths)]
        return [FilesChanged(turn_id, paths)] if paths else []

    def _turn_of(self, draft_id: str) -> str:
        return next(
            (
                block.turn_id
                for block in self._session.transcript.blocks
                if isinstance(block, DraftBlock) and block.draft.id == draft_id
            ),
            self._turn_id,
        )

    async def _tracked_folder(self) -> TrackedFolder:
        """The running turn's folder, or the one that the session is in now."""
        return await self._folders.track(
            self._folder if self._turn_id else self._session.info.folder
        )

    def _owner(self, turn_id: str) -> Owner:
        return Owner(self._session.info.id, turn_id)


def paths_to_show(changes: Iterable[FileChange]) -> tuple[str, ...]:
    """The paths that are shown: files, links, and folders without changed paths in them."""
    changes = list(changes)
    paths = {change.path for change in changes}
    above = {path.rpartition("/")[0] for path in paths}
    told: list[str] = []
    for change in changes:
        kinds = {entry.kind for entry in (change.before, change.after) if entry}
        if kinds != {"folder"} or change.path not in above:
            told.append(change.path)
    return tuple(sorted(set(told)))
