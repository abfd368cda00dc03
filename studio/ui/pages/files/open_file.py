"""The file that is open: it is checked, kept, saved, and followed on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from studio.agent.agent_files.library import AgentLibrary, DraftConflict, UnsavedText
from studio.agent.frontmatter import Frontmatter, Problem
from studio.domain.agents import Origin
from studio.domain.errors import ConfigurationError, StudioError
from studio.ui.pages.page import Run

from .document import FileDocument, as_shown

CHECK_MS = 40
"""How long a change waits for others, to be checked with them: problems are live (W-60)."""
KEEP_MS = 150
"""How long it waits to be kept with them."""


class Checked(Protocol):
    """What was read of a text, with its problems."""

    @property
    def frontmatter(self) -> Frontmatter | None: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...
    @property
    def errors(self) -> tuple[Problem, ...]: ...


CheckedT = TypeVar("CheckedT", bound=Checked)


class OpenFile(QObject, Generic[CheckedT]):
    """Holds the document, and tells the page what becomes of it.

    ``check`` reads a text and finds its problems, in a thread; ``nothing`` makes what is read of
    no text.
    """

    changed = Signal()
    """The text was checked again, or the file on the disk is another one."""
    replaced = Signal(str)
    """The same file's text by another hand, for one step of undo."""
    gone = Signal()
    """The file was deleted by another program."""

    def __init__(
        self,
        library: AgentLibrary,
        check: Callable[[Path, str], CheckedT],
        nothing: Callable[[], CheckedT],
        run: Run,
    ) -> None:
        super().__init__()
        self._library, self._check, self._nothing, self._run = library, check, nothing, run
        self.document: FileDocument | None = None
        self.checked = nothing()
        self._checks = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._checks.timeout.connect(lambda: run(self.check()))
        self._keeps = QTimer(self, singleShot=True, interval=KEEP_MS)
        self._keeps.timeout.connect(lambda: run(self.keep()))
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(lambda _: run(self.look_outside()))
        self._watcher.directoryChanged.connect(lambda _: run(self.look_outside()))

    @property
    def is_checked(self) -> bool:
        """Whether the problems are those of the text as it is now."""
        matter = self.checked.frontmatter
        return (
            self.document is not None and matter is not None and (matter.text == self.document.text)
        )

    async def load(self, path: Path, origin: Origin) -> FileDocument:
        """Open a file, with what was written and not saved in it; raises StudioError."""
        self._watch(path)
        stored = await asyncio.to_thread(self._library.read, path)
        unsaved = (await asyncio.to_thread(self._library.unsaved)).get(path)
        await self._keep_all()
        document = FileDocument(path, origin, stored)
        document.text = document.base
        if unsaved is not None:
            if stored is not None and unsaved.base != document.base:
                document.outside = stored
                document.stored = replace(stored, text=unsaved.base)
            document.text = unsaved.text
        self.document, self.checked = document, self._nothing()
        return document

    def close(self) -> None:
        self.document, self.checked = None, self._nothing()

    def write(self, text: str) -> None:
        """Take the editor's text; it is checked and kept soon."""
        if self.document is not None:
            self.document.text = text
            self._checks.start()
            self._keeps.start()

    async def check(self) -> None:
        """Find the problems of the text."""
        document = self.document
        if document is None:
            return
        text = document.text
        found = await asyncio.to_thread(self._check, document.path, text)
        if document is self.document and text == document.text:
            self.checked = found
            self.changed.emit()

    async def keep(self) -> None:
        """Keep what is not saved, so that no quit or crash loses it."""
        document = self.document
        if document is None or document.read_only:
            return
        if document.edited:
            unsaved = UnsavedText(document.path, document.base, document.text)
            await asyncio.to_thread(self._library.keep_unsaved, unsaved)
        else:
            await asyncio.to_thread(self._library.forget_unsaved, document.path)

    async def _keep_all(self) -> None:
        """``keep``, also what is written while that takes its time."""
        written = None
        while self.document is not None and self.document.text != written:
            written = self.document.text
            await self.keep()

    async def save(self) -> bool:
        """Write the file. False if it was only kept: it has mistakes, or changed on the disk."""
        document = self.document
        if document is None or document.read_only or not document.edited:
            return document is not None
        if document.outside is not None:
            return False
        await self.check()
        if self.checked.errors:
            await self.keep()
            return False
        text = document.text
        seen = document.stored.stamp if document.stored else None
        written = await asyncio.to_thread(document.to_write)
        try:
            document.stored = await asyncio.to_thread(
                self._library.save, document.path, written, seen
            )
        except DraftConflict:
            await self.look_outside()
            return False
        document.outside = None  # what was seen meanwhile is what was written
        if text == document.text:
            await asyncio.to_thread(self._library.forget_unsaved, document.path)
        await self.look_outside()  # the file is another one now, and to be watched anew
        return True

    async def rewrite(self, change: Callable[[str], str]) -> None:
        """Change the text in one step; raises ConfigurationError where that is left to a person."""
        document = self.document
        if document is None or document.read_only:
            return
        before = document.text
        try:
            after = await asyncio.to_thread(change, before)
        except ConfigurationError:
            self.changed.emit()  # the control shows again what is written
            raise
        if document is self.document and before == document.text:
            self.replaced.emit(after)
            await self.check()

    # Changes of other programs

    def _watch(self, path: Path) -> None:
        """Hear of changes from now on; ahead of a reading, so that none is missed in between.

        A file that is put in another one's place is not watched until this is called again.
        """
        known = {*self._watcher.files(), *self._watcher.directories()}
        wanted = {str(path), str(path.parent)}
        if gone := sorted(known - wanted):
            self._watcher.removePaths(gone)
        if new := sorted(wanted - known):
            self._watcher.addPaths(new)

    async def look_outside(self) -> None:
        """Show what another program wrote, or ask if the person's own text is not saved."""
        document = self.document
        if document is None or document.read_only:
            return
        self._watch(document.path)
        now = await asyncio.to_thread(self._library.read, document.path)
        if document is not self.document:
            return
        if document.is_known(now):
            return
        if now is None:
            edited, document.stored, document.outside = document.edited, None, None
            if not edited:
                self.close()
                self.gone.emit()
                return
        elif document.edited and as_shown(now.text) != document.text:
            document.outside = now
        else:
            document.stored, document.outside = now, None
            self.replaced.emit(document.base)
        await self.check()

    async def take_outside(self, *, merge: bool) -> None:
        """Go on from the file as another program left it, with its changes to ``merge``."""
        document = self.document
        if document is None or document.outside is None:
            return
        text = await asyncio.to_thread(document.take_outside, merge=merge)
        self.replaced.emit(text)
        await self.check()
        await self.keep()

    async def finish(self) -> None:
        """Keep what is written; a full disk must not keep the window from closing."""
        self._checks.stop()
        self._keeps.stop()
        with suppress(OSError, StudioError):
            await self.keep()
