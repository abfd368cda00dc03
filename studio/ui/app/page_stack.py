"""The pages in the middle of the window: the chat, and the pages of the registry.

A page of the registry is made when it is first shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QStackedWidget
from shiboken6 import isValid

from studio.domain.extensions import PACK_PAGE
from studio.domain.records import dataclass
from studio.files.folders import private_folder
from studio.ui.chat.page import ChatPage
from studio.ui.pages import registry
from studio.ui.pages.page import Page, Run
from studio.ui.sidebar.sidebar import Sidebar
from studio.ui.theme import Theme
from studio.ui.widgets.painting import PaintedWidget
from studio.ui.widgets.roles import give_role
from studio.ui.widgets.thread_signal import ThreadSignal

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.extensions.packs.installed import InstalledPacks
    from studio.tools.packs.window import PageEntry
    from studio.workflows.workflow_runs import RunOptions


@dataclass(frozen=True, slots=True)
class PackPlaces:
    """The pages of one pack: the key, title and icon of each, and its lines of the palette: title,
    icon, key of a page, what on it is wanted. ``widgets`` are its pages by widgets, by their keys,
    and ``root`` is its folder of ours."""

    id: str
    name: str
    root: Path
    pages: tuple[tuple[str, str, str], ...]
    widgets: Mapping[str, PageEntry]
    palette: tuple[tuple[str, str, str, tuple[str, ...]], ...] = ()


class PageStack(QStackedWidget):
    """Shows one page and marks it in the sidebar; before ``set_engine`` the chat, or none."""

    open_wanted = Signal(str)
    """The id of a chat that a page names."""
    found_wanted = Signal(str, str, str)
    """A chat that a search found, the words and the line that has them."""
    subject_shown = Signal()
    """The page on screen shows another thing now."""
    chat_beside_wanted = Signal()
    left = Signal()
    keys_wanted = Signal()
    notified = Signal(str, str)
    """What a page tells the person who does not look at it: a key and words."""
    settings_wanted = Signal(str, str)
    watch_wanted = Signal()
    """Something begins runs by itself from now on."""
    decided = Signal()
    """A draft was decided."""
    chat_wanted = Signal(str, str, str)
    """A new chat: what it is about, the text that stands in it, and its agent."""

    def __init__(self, theme: Theme, chat: ChatPage, sidebar: Sidebar, run: Run) -> None:
        super().__init__()
        self._theme, self._chat, self._sidebar, self._run = theme, chat, sidebar, run
        self._engine: Engine | None = None
        self._made: dict[str, Page] = {}
        self._wanted: Callable[[], None] | None = None
        """Shows what is wanted, once the tools that pages name are loaded."""
        self.of_packs: list[PackPlaces] = []
        self._forget_packs: Callable[[], None] = lambda: None
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
        self.raise_chat()
        self.mark_chat()

    def raise_chat(self) -> None:
        """Put the chat in the place of the page, and do not mark it yet."""
        self._wanted = None
        self.take_chat()
        self.setCurrentWidget(self._chat)

    def take_chat(self) -> None:
        """Take the chat back among the pages, if it stands beside them."""
        if self.indexOf(self._chat) < 0:
            self.addWidget(self._chat)

    def show_nothing(self) -> None:
        """Show no page, as long as it is not known whether the first one of all is to be shown."""
        empty = PaintedWidget(self._theme)
        empty.ground = "surface"
        self.addWidget(empty)
        empty.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # else the search field has the keyboard
        self.setCurrentWidget(empty)
        empty.setFocus()

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
        self._show(key, target, keeps_chat=False)

    def show_source(self, key: str, *target: str) -> None:
        """Show what a source in the chat leads to: where there is room, the chat stays beside."""
        self._show(key, target, keeps_chat=True)

    def _show(self, key: str, target: Sequence[str], *, keeps_chat: bool) -> None:
        if self._engine is None:
            return
        if not self._engine.services.has_all_tools:
            self._wanted = partial(self._show, key, target, keeps_chat=keeps_chat)
            self._run(self._show_wanted(self._engine))
            return
        self._wanted = None
        page = self._page(key, self._engine)
        if page is not self.currentWidget():
            page.subject = ""  # until it says what it shows now
        page.keeps_chat = keeps_chat
        self.setCurrentWidget(page)
        self.subject_shown.emit()
        self._sidebar.select_page(key)
        page.open(*target)

    async def _show_wanted(self, engine: Engine) -> None:
        """Load the code of packs, and show the page that was wanted last."""
        await engine.services.load_tools()
        if isValid(self) and self._wanted is not None:
            self._wanted()

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
            page = self._of_pack(key, engine)
        else:
            entry = next(entry for entry in registry.PAGES if entry.key == key)
            page = entry.load()(self._theme, engine, self._run)
        page.chat = self._chat.model
        page.open_wanted.connect(self.open_wanted)
        page.found_wanted.connect(self.found_wanted)
        page.page_wanted.connect(self.show_page)
        page.pack_page_wanted.connect(lambda key, target: self.show_page(key, *target))
        page.chat_wanted.connect(self.chat_wanted)
        page.subject_shown.connect(
            lambda: self.subject_shown.emit() if self.currentWidget() is page else None
        )
        page.chat_beside_wanted.connect(self.chat_beside_wanted)
        page.left.connect(self.left)
        page.keys_wanted.connect(self.keys_wanted)
        page.decided.connect(self.decided)
        page.settings_wanted.connect(self.settings_wanted)
        page.watch_wanted.connect(self.watch_wanted)
        page.answered.connect(lambda *given: self._page("workflows", engine).answer(*given))
        page.pause_answered.connect(lambda *of: self._page("workflows", engine).answer_pause(*of))
        page.left_out.connect(lambda *of: self._page("workflows", engine).leave_out(*of))
        page.notified.connect(self.notified)
        self.addWidget(page)
        return page

    # Pages of packs

    def _of_pack(self, key: str, engine: Engine) -> Page:
        from studio.ui.pages.pack_page import DeclaredPage
        from studio.ui.pages.widget_page import WidgetPage

        for pack in self.of_packs:
            if (entry := pack.widgets.get(key)) is not None:
                return WidgetPage(self._theme, engine, self._run, pack.id, pack.root, entry)
        return DeclaredPage(self._theme, engine, self._run, key)

    def show_pack_pages(self) -> None:
        """Show the pages of packs in the sidebar, now and whenever packs change."""
        from studio.extensions.packs.installed import InstalledPacks  # imported by now

        assert self._engine is not None
        changed = ThreadSignal()
        changed.emitted.connect(lambda _: self._packs_changed())
        packs = self._engine.services.get(InstalledPacks)
        self._forget_packs = packs.listen(partial(changed.emit, None))
        self._run(self._follow_packs(packs))

    async def _follow_packs(self, packs: InstalledPacks) -> None:
        """Show what there is, and follow the list of packs, which other programs change too."""
        from studio.extensions.packs.installed import STATE

        with suppress(OSError):
            await asyncio.to_thread(private_folder, packs.folder)
        if not isValid(self):
            return
        state = str(packs.folder / STATE)

        def watch() -> None:
            if state not in watcher.files():  # it is another file after each change
                watcher.addPath(state)
            self._packs_changed()

        watcher = QFileSystemWatcher([str(packs.folder), state], self)
        watcher.directoryChanged.connect(watch)
        watcher.fileChanged.connect(watch)
        await self._list_pack_pages()  # after that nothing is missed

    def _packs_changed(self) -> None:
        async def work() -> None:
            assert self._engine is not None
            await self._engine.refresh_tools()
            await self._list_pack_pages()

        self._run(work())

    async def _list_pack_pages(self) -> None:
        assert self._engine is not None
        listed = await asyncio.to_thread(_pack_places, self._engine)
        if not isValid(self):
            return
        self.of_packs = listed
        self._sidebar.set_pack_pages([(one.name, one.pages) for one in listed])
        await self._drop_pack_pages(listed)

    async def _drop_pack_pages(self, listed: Sequence[PackPlaces]) -> None:
        """Forget the pages that are gone, and those by widgets whose code is another now."""
        from studio.ui.pages.widget_page import WidgetPage

        assert self._engine is not None
        packs = self._engine.services.packs
        known = {key for one in listed for key, _, _ in one.pages}
        widgets = {key: entry for one in listed for key, entry in one.widgets.items()}
        for key, page in [*self._made.items()]:
            if isinstance(page, WidgetPage):
                same = page.entry == widgets.get(key) and page.is_of_code(packs)
            else:
                same = key not in widgets
            if not key.startswith(PACK_PAGE) or (key in known and same):
                continue
            shown = self.currentWidget() is page
            del self._made[key]
            if shown and key in known:
                self.show_page(key)
            elif shown:
                self.show_chat()
            await page.finish()
            self.removeWidget(page)
            page.deleteLater()

    def raised(self, error: BaseException) -> None:
        """Nobody caught an error: the page of a pack whose code raised it shows it."""
        from studio.ui.pages.widget_page import WidgetPage

        for page in self._made.values():
            if isinstance(page, WidgetPage) and page.is_of(error):
                QTimer.singleShot(0, page, partial(page.fail, error))

    async def finish(self) -> None:
        self._forget_packs()
        for page in self._made.values():
            await page.finish()

    async def drafts_changed(self, session: Session) -> None:
        """A draft of ``session`` was made or decided: the page on screen may show it."""
        page = self.currentWidget()
        if isinstance(page, Page):
            await page.drafts_changed(session)


def _pack_places(engine: Engine) -> list[PackPlaces]:
    """The pages of the packs that are on, and their lines of the palette; blocks."""
    from studio.extensions.packs.brought import IN_PROGRAM
    from studio.extensions.packs.installed import InstalledPacks
    from studio.extensions.packs.pages import find_pages

    icons, packs = engine.paths.resources / "icons", engine.services.get(InstalledPacks)

    def drawn(icon: str, usual: str) -> str:
        return icon if (icons / f"{icon}.svg").is_file() else usual

    pages: dict[str, list[tuple[str, str, str]]] = {}
    for one in find_pages(packs)[0]:
        line = one.id, one.spec.title, drawn(one.spec.icon, "list")
        pages.setdefault(one.pack.id, []).append(line)
    found: list[PackPlaces] = []
    for pack, _ in packs.running("pages"):
        in_program = pack.origin.kind in IN_PROGRAM and pack.part("tools") is not None
        own = pages.setdefault(pack.id, [])
        widgets: dict[str, PageEntry] = {}
        for entry in pack.manifest.pages if in_program else ():
            key = f"{PACK_PAGE}{pack.id}/{entry.key}"
            widgets[key] = entry
            own.append((key, entry.title, drawn(entry.icon, "list")))
        palette = tuple(
            (
                entry.title,
                drawn(entry.icon, "layers"),
                f"{PACK_PAGE}{pack.id}/{entry.page}",
                entry.target,
            )
            for entry in (pack.manifest.palette if in_program else ())
        )
        if own:
            root = pack.manifest.root
            found.append(PackPlaces(pack.id, pack.name, root, tuple(own), widgets, palette))
    return found
