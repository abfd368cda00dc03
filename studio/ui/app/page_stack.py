"""The pages in the middle of the window: the chat, and the pages of the registry.

A page of the registry is made when it is first shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QStackedWidget
from shiboken6 import isValid

from studio.ui.chat.page import ChatPage
from studio.ui.pages import registry
from studio.ui.pages.page import Page, Run
from studio.ui.sidebar.sidebar import Sidebar
from studio.ui.theme import Theme
from studio.ui.widgets.roles import give_role
from studio.ui.widgets.thread_signal import ThreadSignal

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.workflows.workflow_runs import RunOptions

PACK_PAGE = "pack:"
"""Begins the keys of pages that packs declare."""


class PageStack(QStackedWidget):
    """Shows one page and marks it in the sidebar; before ``set_engine`` only the chat."""

    open_wanted = Signal(str)
    """The id of a chat that a page names."""
    found_wanted = Signal(str, str, str)
    """A chat that a search found, the words and the line that has them."""
    left = Signal()
    keys_wanted = Signal()
    notified = Signal(str, str)
    """What a page tells the person who does not look at it: a key and words."""
    watch_wanted = Signal()
    """Something begins runs by itself from now on."""
    decided = Signal()
    """A draft was decided."""

    def __init__(self, theme: Theme, chat: ChatPage, sidebar: Sidebar, run: Run) -> None:
        super().__init__()
        self._theme, self._chat, self._sidebar, self._run = theme, chat, sidebar, run
        self._engine: Engine | None = None
        self._made: dict[str, Page] = {}
        give_role(self, QAccessible.Role.Client)  # else readers say “layered pane” at each turn
        self.addWidget(chat)

    def set_engine(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def shows_chat(self) -> bool:
        return self.currentWidget() is self._chat

    @property
    def shown(self) -> str:
        """The key of the page on screen; empty for the chat."""
        shown = self.currentWidget()
        return next((key for key, page in self._made.items() if page is shown), "")

    def show_chat(self) -> None:
        """The chat that is open, or the new one."""
        self.setCurrentWidget(self._chat)
        self.mark_chat()

    def mark_chat(self) -> None:
        """Mark the chat in the sidebar, if it is on screen."""
        session = self._chat.session
        if not self.shows_chat:
            return
        if session is None:
            self._sidebar.select_page("new")
        else:
            self._sidebar.select(session.info.id, session.info.family)

    def show_welcome(self, begun: Callable[[], None]) -> None:
        """The first page of all; ``begun`` is called when there is something to begin with."""
        from studio.ui.pages.first_run import FirstRunController

        assert self._engine is not None
        welcome = FirstRunController(self._theme, self._engine, self._chat, self._run)
        welcome.begun.connect(begun)
        welcome.show(self)
        self._sidebar.select_page(None)

    def show_page(self, key: str, *target: str) -> None:
        """Show a page of the registry; ``target`` names what on it is wanted."""
        if self._engine is None:
            return
        page = self._page(key, self._engine)
        self.setCurrentWidget(page)
        self._sidebar.select_page(key)
        page.open(*target)

    async def begin_run(self, path: Path, folder: Path, options: RunOptions) -> None:
        """Begin a run of a workflow, which its page then tells of; raises StudioError."""
        from studio.ui.pages.workflows.page import WorkflowsPage

        assert self._engine is not None
        page = self._page("workflows", self._engine)
        assert isinstance(page, WorkflowsPage)
        await page.live.start(path, folder, options)

    def _page(self, key: str, engine: Engine) -> Page:
        page = self._made.get(key)
        if page is None:
            page = self._made[key] = self._make(key, engine)
        return page

    def _make(self, key: str, engine: Engine) -> Page:
        if key.startswith(PACK_PAGE):
            from studio.ui.pages.pack_page import DeclaredPage

            page: Page = DeclaredPage(self._theme, engine, self._run, key)
        else:
            entry = next(entry for entry in registry.PAGES if entry.key == key)
            page = entry.load()(self._theme, engine, self._run)
        page.chat = self._chat.model
        page.open_wanted.connect(self.open_wanted)
        page.found_wanted.connect(self.found_wanted)
        page.page_wanted.connect(self.show_page)
        page.left.connect(self.left)
        page.keys_wanted.connect(self.keys_wanted)
        page.decided.connect(self.decided)
        page.watch_wanted.connect(self.watch_wanted)
        page.answered.connect(lambda *given: self._page("workflows", engine).answer(*given))
        page.notified.connect(self.notified)
        self.addWidget(page)
        return page

    def show_pack_pages(self) -> None:
        """Show the pages of packs in the sidebar, now and whenever packs change."""
        from studio.extensions.packs.installed import InstalledPacks  # imported by now

        assert self._engine is not None
        changed = ThreadSignal()
        changed.emitted.connect(self._packs_changed)
        self._engine.services.get(InstalledPacks).listen(partial(changed.emit, None))
        self._packs_changed()

    def _packs_changed(self, _none: object = None) -> None:
        self._run(self._list_pack_pages())

    async def _list_pack_pages(self) -> None:
        assert self._engine is not None
        listed = await asyncio.to_thread(_pack_pages, self._engine)
        if isValid(self):
            self._sidebar.set_pack_pages(listed)

    async def finish(self) -> None:
        for page in self._made.values():
            await page.finish()

    async def drafts_changed(self, session: Session) -> None:
        """A draft of ``session`` was made or decided: the page on screen may show it."""
        page = self.currentWidget()
        if isinstance(page, Page):
            await page.drafts_changed(session)


def _pack_pages(engine: Engine) -> list[tuple[str, str, str]]:
    """The key, title and icon of each page that packs declare; blocks."""
    from studio.extensions.packs.installed import InstalledPacks
    from studio.extensions.packs.pages import find_pages

    icons = engine.paths.resources / "icons"
    found: list[tuple[str, str, str]] = []
    for one in find_pages(engine.services.get(InstalledPacks))[0]:
        known = (icons / f"{one.spec.icon}.svg").is_file()
        found.append((one.id, one.spec.title, one.spec.icon if known else "list"))
    return found
