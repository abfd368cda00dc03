"""Keeps the sidebar up to date with the stored chats, and carries out what is done with them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView, QFileDialog

from studio.ui.formatting import short_path
from studio.ui.translation import tr, tr_plural

from .chat_list_model import ARCHIVED
from .sidebar import Sidebar

if TYPE_CHECKING:
    from studio.agent.chat_files import ExportForm
    from studio.agent.engine import Engine
    from studio.domain.events import Event
    from studio.storage.sessions.store import SessionChanges
    from studio.ui.pages.needs.waiting import Known
    from studio.ui.pages.page import Run

SOON = 60
"""Milliseconds that a change of the chats waits for others."""
AGAIN = 2000
"""Milliseconds between two readings while another program works in a chat: it may be killed."""
PAGE = 200
"""Chats that are read at a time; more are when the end of these comes into view."""
Undo: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class ChatListController(QObject):
    """Keeps the sidebar up to date with the stored chats: rows, search, counts.

    ``later`` runs a coroutine on the event loop; ``listed`` is called each time
    the rows are new.
    """

    ended = Signal()
    """Another program works in a chat no longer; it may have been killed."""
    changed = Signal()
    """The person moved chats, or brought some back."""
    told = Signal(str)
    """What was done, in words, while the sidebar cannot say it."""

    def __init__(
        self,
        sidebar: Sidebar,
        later: Run,
        listed: Callable[[], None],
    ) -> None:
        super().__init__(sidebar)
        self._sidebar, self._later, self._listed = sidebar, later, listed
        self.engine: Engine | None = None
        self._search: asyncio.Task[Any] | None = None
        self._refreshing = asyncio.Lock()
        self._known_runs: dict[str, Known] = {}
        """Those that waited for the person at the last look: only what is new of them is read."""
        self._soon = self._timer(SOON)
        self._again = self._timer(AGAIN)
        self._busy_elsewhere: Set[str] = frozenset()
        """The chats in which another program works."""
        self._most, self._more, self._known = PAGE, False, False
        self._undo: Undo | None = None
        self._chooser: QFileDialog | None = None
        sidebar.search.connect(self._searched)
        chats = sidebar.chats
        chats.arranging.connect(lambda ids, changes: later(self._arrange(ids, changes)))
        chats.grouping.connect(lambda ids: later(self._make_group(ids)))
        chats.exporting.connect(self.export)
        chats.folded.connect(self._folded)
        chats.more_wanted.connect(self._list_more)
        for wanted in (chats.undoing, sidebar.undo.undone):
            wanted.connect(self._take_back)

    def _timer(self, wait: int) -> QTimer:
        timer = QTimer(self, singleShot=True, interval=wait)
        timer.timeout.connect(lambda: self._later(self.refresh()))
        return timer

    def schedule_refresh(self) -> None:
        """Show changes of the chats within ``SOON``; changes until then are shown together."""
        if not self._soon.isActive():
            self._soon.start()

    def stop(self) -> None:
        self._soon.stop()
        self._again.stop()

    async def refresh(self) -> None:
        """Show the chats as they are; one reading at a time, so that none shows an older state."""
        async with self._refreshing:
            if self._sidebar.chats.state() == QAbstractItemView.State.EditingState:
                self.schedule_refresh()  # a title is being typed: do not take it away
            elif self.engine is not None:
                await self._list(self.engine)

    async def _list(self, engine: Engine) -> None:
        agents = await engine.services.agent_files.load()  # as they look, without their tools
        icons = {agent.name: (agent.icon, agent.hue) for agent in agents.by_name.values()}
        chats = self._sidebar.chats
        if not self._known:
            chats.closed = {*engine.settings.values.closed_sections}
            self._known = True
        archive = 0 if ARCHIVED in chats.closed else self._most
        found = await engine.sessions.listing(self._most, archive)
        infos, self._more = found.infos, found.more
        self._sidebar.set_sessions(infos, icons, found.archived)
        self._sidebar.set_drafts(len(await engine.store.drafts()))
        self._sidebar.set_notes(await asyncio.to_thread(engine.services.note_store.waiting))
        self._sidebar.set_needs(await self.needs())
        self._sidebar.set_cost(await engine.usage_costs.today())
        self._listed()
        self._follow_elsewhere(found.elsewhere)

    async def needs(self) -> int:
        """How many questions wait for the person: of chats, agents in the background, runs."""
        assert self.engine is not None
        from studio.ui.pages.needs.waiting import count_waiting

        return await count_waiting(self.engine, self._known_runs)

    def _follow_elsewhere(self, busy: Set[str]) -> None:
        """Refresh again after ``AGAIN`` while other programs work in chats."""
        before, self._busy_elsewhere = self._busy_elsewhere, busy
        if busy:
            self._again.start()
        else:
            self._again.stop()
        if before - busy:
            self.ended.emit()

    async def last(self) -> tuple[str, str] | None:
        """Id and title of the chat that was used last."""
        assert self.engine is not None
        infos = (await self.engine.sessions.listing(PAGE)).infos
        return next(((info.id, info.title) for info in infos if info.title), None)

    async def waiting(self) -> str | None:
        """The id of the next chat that waits for the person."""
        assert self.engine is not None
        infos = await self.engine.sessions.list()
        return next((info.id for info in infos if info.state == "waiting"), None)

    def on_event(self, event: Event) -> None:
        """Refresh after an event that rows or counts may show."""
        from studio.domain import events

        child = isinstance(event, events.ChildWorks) and (event.reason or not event.target)
        if child or isinstance(
            event,
            events.TurnStarted
            | events.AwaitingPermission
            | events.AwaitingReply
            | events.PermissionResolved
            | events.ReplyGiven
            | events.DraftCreated
            | events.DraftResolved
            | events.TurnComplete,
        ):
            self.schedule_refresh()

    def _searched(self, text: str) -> None:
        if self._search is not None:
            self._search.cancel()
        self._search = self._later(self._find(text))

    async def _find(self, text: str) -> None:
        if self.engine is not None and text.strip():
            hits = await self.engine.sessions.search(text)
            found = await self.engine.store.some([hit.session_id for hit in hits])
            self._sidebar.set_hits(hits, found)

    # What the person does with chats

    def _folded(self) -> None:
        if self.engine is not None:
            self.engine.settings.values.closed_sections = sorted(self._sidebar.chats.closed)
            self._later(self.engine.settings.save())
            self.schedule_refresh()

    def _list_more(self) -> None:
        if self._more:
            self._more = False
            self._most += PAGE
            self.schedule_refresh()

    async def _arrange(self, ids: list[str], changes: SessionChanges) -> None:
        """Change chats as the person wants it; what takes them out of sight can be undone."""
        assert self.engine is not None
        await self.engine.sessions.arrange(ids, **changes)
        if changes.get("archived"):
            words = tr_plural("Archived {count} chat", "Archived {count} chats", len(ids))
            self._offer_undo(words, lambda: self._arrange(ids, {"archived": False}))
        await self.refresh()
        self.changed.emit()

    async def _make_group(self, ids: list[str]) -> None:
        """Put chats into a new group, and let the person name it."""
        chats, first = self._sidebar.chats, tr("New group")
        taken, name, number = set(chats.groups), first, 2
        while name in taken:
            name, number = f"{first} {number}", number + 1
        await self._arrange(ids, {"group_name": name, "pinned": False})
        chats.edit_group(name)

    async def delete(self, ids: list[str]) -> None:
        """Put chats in the bin, from which one step brings them back."""
        assert self.engine is not None
        await self.engine.sessions.put_in_bin(ids)
        words = tr_plural("Deleted {count} chat", "Deleted {count} chats", len(ids))
        self._offer_undo(words, lambda: self._restore(ids))
        self._sidebar.chats.setFocus()  # the keys for undo are for the list
        await self.refresh()

    async def _restore(self, ids: list[str]) -> None:
        assert self.engine is not None
        await self.engine.sessions.take_from_bin(ids)
        await self.refresh()
        self.changed.emit()

    def _offer_undo(self, words: str, undo: Undo) -> None:
        self._undo = undo
        self._sidebar.undo.say(words, undo=True)

    def _take_back(self) -> None:
        undo, self._undo = self._undo, None
        self._sidebar.undo.hide()
        if undo is not None:
            self._later(undo())

    def export(self, ids: list[str], form: ExportForm, title: str = "") -> None:
        """Ask where chats are to be written, and write them.

        ``title`` is that of a single chat, of which the list may have no row.
        """
        if not title and len(ids) == 1:
            title = self._sidebar.chats.title_of(ids[0])
        name = " ".join(re.sub(r"[^\w\- ]+", " ", title).split())[:60] or tr("Chats")
        window = self._sidebar.window()
        chooser = QFileDialog(window, tr("Export"), str(Path.home() / f"{name}.{form}"))
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setDefaultSuffix(form)
        chooser.setNameFilter(
            (tr("JSON ({pattern})") if form == "json" else tr("Markdown ({pattern})")).format(
                pattern=f"*.{form}"
            )
        )
        chooser.fileSelected.connect(lambda path: self._later(self._export(ids, form, Path(path))))
        chooser.finished.connect(chooser.deleteLater)
        self._chooser = chooser
        chooser.open()

    async def _export(self, ids: list[str], form: ExportForm, path: Path) -> None:
        from studio.agent.chat_files import export_chats

        assert self.engine is not None
        await export_chats(self.engine, ids, form, path, lambda _done, _all: None)
        words = tr_plural(
            "{count} chat is in {file}",
            "{count} chats are in {file}",
            len(ids),
            file=short_path(str(path)),
        )
        if self._sidebar.isVisible():
            self._sidebar.undo.say(words, undo=False)
        else:
            self.told.emit(words)
