"""A window: makes sidebar, pages and inspector, and connects them.

What it does not have alone comes from ``Shared``; ``program`` owns all windows.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QWidget

from studio.domain.aio import BackgroundTasks
from studio.domain.records import dataclass
from studio.storage.config.settings import SettingsFile
from studio.ui.chat.model.turn_runner import TurnRunner
from studio.ui.chat.model.unsent import UnsentBuffer
from studio.ui.chat.page import ChatPage
from studio.ui.formatting import folder_name
from studio.ui.inspector.controller import InspectorController
from studio.ui.sidebar.controller import ChatListController
from studio.ui.sidebar.rail import Rail
from studio.ui.sidebar.sidebar import Sidebar
from studio.ui.theme import Theme
from studio.ui.widgets.layouts import column_of

from .actions import Action, RunningMenu, install
from .banner import Banner
from .chat_actions import ChatActions
from .chat_beside import ChatBeside
from .link_opener import LinkOpener
from .menus import MenuBarSwitch, MenuLetters
from .navigation import Navigation
from .page_stack import PageStack
from .server_process import ServerController
from .settings_controller import SettingsController
from .window_layout import WindowLayout, restore_window, save_window, step_focus

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.events import Event
    from studio.tools.packs.persons_act import ActDesk
    from studio.ui.inspector.inspector import Inspector
    from studio.ui.palette.completion import Completion
    from studio.ui.palette.entries import Entries
    from studio.ui.palette.palette import Palette
    from studio.ui.remote_approvals import RemoteApprovals


@dataclass(frozen=True, slots=True)
class Shared:
    """What the windows of a program have in common."""

    theme: Theme
    settings: SettingsFile
    runner: TurnRunner
    unsent: UnsentBuffer
    preferences: SettingsController
    server: ServerController


class MainWindow(QMainWindow):
    """Is shown empty; ``take_engine`` fills it, ``finish`` saves and stops what it began.

    ``painted`` is done after the first paint, ``ready`` when what is saved is shown.
    ``number`` is 0 for the first window; of those that are open no two have the same.
    """

    activated = Signal()
    close_wanted = Signal()
    quit_wanted = Signal()
    """The person wants to end the program."""
    window_wanted = Signal(str)
    """One more window is wanted, with the chat of this id; with a new chat if it is empty."""

    def __init__(self, shared: Shared, number: int = 0) -> None:
        super().__init__()
        loop = asyncio.get_event_loop()
        self.painted: asyncio.Future[None] = loop.create_future()
        self.ready: asyncio.Future[None] = loop.create_future()
        self.shared, self.number = shared, number
        self.theme, self.settings = shared.theme, shared.settings
        self.runner, self.preferences = shared.runner, shared.preferences
        theme = shared.theme
        self.engine: Engine | None = None
        self.remote_approvals: RemoteApprovals | None = None
        """What other programs ask, in one of the windows; None before that is known."""
        self._palette: Palette | None = None
        self.completion: Completion | None = None
        """None until a mention or a command was typed."""
        self._tasks = BackgroundTasks()
        self.done = False
        """Whether the window was closed: then nothing is begun any more."""

        self.setWindowTitle("Agent Studio")
        self.setMinimumSize(900, 600)
        self.sidebar = Sidebar(theme)
        self.chat = ChatPage(theme, self.runner, shared.unsent, number)
        rail, page = Rail(theme), QWidget()
        rail.new_chat.connect(self.new_chat)
        # From the outside in: what gets another parent has all that is in it styled again.
        self.sides = WindowLayout(self, self.sidebar, rail, page, self.chat.header)
        self.setCentralWidget(self.sides)
        self.pages = PageStack(theme, self.chat, self.sidebar, self._later)
        if not self.settings.values.first_run_done:
            self.pages.show_nothing()
        self.banner = Banner(theme)
        self.column = column_of([self.banner], spacing=0, on=page)
        self.beside = ChatBeside(theme, self.pages, self.chat, page)
        self.column.addWidget(self.beside, 1)
        theme.changed.connect(self.sides.fit)
        self._inspector = InspectorController(theme, self.sides, self.chat, self._later)
        self.chat_list = ChatListController(self.sidebar, self._later, self._listed)
        self.chats = Navigation(
            *(self.chat, self.pages, self.sides, self.sidebar, self.chat_list, self._later)
        )
        self.links = LinkOpener(self.chat, self.pages, self.chats, self.preferences, self.banner)
        shared.server.show_in(self.sidebar)
        self.chat_actions = ChatActions(self.chat, self.chat_list, self.pages.show_chat)
        self.menu_actions = install(self, self._handlers(), self.pages.show_page)
        self.chat_actions.watch(self.menu_actions)
        self._menu_bar = MenuBarSwitch(self)
        self._menu_letters = MenuLetters(self.menuBar())
        for action in self.menu_actions.by_name.values():
            action.triggered.connect(lambda: self._menu_bar.arm(False))
        self.menu_actions.by_action[Action.MENU_BAR].setCheckable(True)
        self.menu_actions.by_action[Action.MENU_BAR].setVisible(sys.platform != "darwin")
        self._show_menu_bar()
        self.preferences.applied.connect(self._show_menu_bar)
        self.preferences.keys_changed.connect(self._set_keys)
        self._set_keys()
        self.chat.set_undo_actions(
            self.menu_actions.by_action[Action.UNDO_FILES],
            self.menu_actions.by_action[Action.REDO_FILES],
        )

        self.pages.currentChanged.connect(
            lambda _: self.sides.set_inspector_fits_page(self.pages.shows_chat)
        )
        self.chat.composer.word_opened.connect(self._complete)
        self.sidebar.new_chat.connect(self.chats.new_chat)
        self.sidebar.open_session.connect(self.chats.open)
        self.sidebar.open_found.connect(self.chats.open)
        self.sidebar.chats.window_wanted.connect(self.window_wanted)
        self.sidebar.left.connect(self.chats.show_chat)
        self.sidebar.settings.connect(self.preferences.open)
        self.sidebar.server_wanted.connect(lambda: self.preferences.open("server"))
        self.sidebar.page.connect(self.pages.show_page)
        for gone in (self.sidebar.page, self.sidebar.new_chat):
            gone.connect(lambda *_: self.sides.close_overlays())
        self.sidebar.rename.connect(self.chats.rename)
        self.sidebar.delete.connect(self.chats.delete)
        self.sidebar.stop.connect(self.runner.stop)
        self.sidebar.chats.chats.progress = self.runner.progress
        self._running_menu = RunningMenu(self, self.runner, self.menu_actions)
        self.chat.event_seen.connect(self.chat_list.on_event)
        self.chat_list.changed.connect(self.chat.session_changed)
        self.chat_list.told.connect(partial(self.banner.say, done=True))
        self.chat.option_chosen.connect(self.chats.offer)
        self.chat.opened.connect(self._inspector.show_chat)
        self.chat.opened.connect(self._show_title)
        self.chat.settings_wanted.connect(self.preferences.open)
        self.preferences.applied.connect(self.chat.model.options.settings_changed)
        self.preferences.applied.connect(self.chat.composer.check_spelling)
        self.chat.trouble.connect(self.banner.say)
        self.chat.open_wanted.connect(self.chats.open)
        self.chat.run_wanted.connect(partial(self.pages.show_page, "workflows", "start"))
        self.chat.draft_wanted.connect(partial(self.pages.show_page, "drafts"))
        self.chat.link_wanted.connect(self.links.copy)
        self.chat.source_wanted.connect(
            lambda at: self._later(self.links.open_source(at, from_chat=True))
        )
        self.beside.about_wanted.connect(self.chats.take_about)
        self.beside.about_alone_wanted.connect(self.chats.open_about)
        self.beside.alone_wanted.connect(self.chats.show_chat)
        self.pages.open_wanted.connect(self.chats.open)
        self.pages.found_wanted.connect(self.chats.open)
        self.pages.left.connect(self.chats.show_chat)
        self.pages.chat_wanted.connect(self.chats.new_chat_about)
        self.pages.keys_wanted.connect(self._show_keys)
        self.pages.settings_wanted.connect(self.preferences.open)
        self.pages.decided.connect(self.chat_list.schedule_refresh)
        self.pages.notified.connect(lambda *_: self.chat_list.schedule_refresh())
        self.chat.composer.setFocus()  # a person can type before the engine is built

    # Start

    async def take_engine(self, engine: Engine, desk: ActDesk | None = None) -> None:
        """Show the chats that are stored; from now on a message can be sent.

        ``desk`` proves what the person decides in this window.
        """
        self.chat.model.desk = desk
        self.engine = self._inspector.engine = engine
        self.chat_list.engine = self.chats.engine = engine
        self.sidebar.chats.chats.folder_name = partial(folder_name, paths=engine.paths)
        self.pages.set_engine(engine)
        self.pages.show_pack_pages()
        await self.chat_list.refresh()
        # The new chat has to look up at once what it runs on.
        self.chat.model.attach(engine)

    async def begin(self, session_id: str = "") -> None:
        """Show a chat, or a new one."""
        if session_id:
            await self.chats.open_now(session_id)
        else:
            await self.chat.model.start_new()
            self.chats.show_new()
        self._show_ready()

    def show_welcome(self) -> None:
        """Show the first page of all."""
        self.pages.show_welcome(self.chats.show_new)
        self._show_ready()

    def _show_ready(self) -> None:
        if self.settings.values.inspector_open and self.sides.roomy:
            self._inspector.toggle()
        if not self.ready.done():
            self.ready.set_result(None)

    async def refresh_chat(self) -> None:
        """Show the chat on screen, and its row, as other programs left them."""
        await self.chat.model.external.refresh()
        self.chat_list.schedule_refresh()

    def _show_title(self) -> None:
        title = self.chat.session.info.title if self.chat.session is not None else ""
        self.setWindowTitle(f"{title} – Agent Studio" if title else "Agent Studio")

    def _listed(self) -> None:
        """The rows are new: the chat on screen may have been changed in another window."""
        self._show_title()
        self.pages.mark_chat()
        self.chat.model.options.follow_session()

    def new_chat(self) -> None:
        self.chats.new_chat()

    def open_session(self, session_id: str) -> None:
        self.chats.open(session_id)

    # Events

    def on_event(self, session: Session, event: Event) -> None:
        """Show what happened in a chat, on screen or not, around the transcript."""
        from studio.domain.events import DraftCreated, DraftResolved

        if isinstance(event, DraftCreated | DraftResolved):
            self._later(self.pages.drafts_changed(session))
        self.chat_list.on_event(event)

    @property
    def inspector(self) -> Inspector | None:
        """None until it was first wanted."""
        return self._inspector.inspector

    # Actions

    def _handlers(self) -> dict[Action, Callable[[], object]]:
        return {
            Action.NEW_CHAT: self.chats.new_chat,
            Action.CHOOSE_FOLDER: self.chat.menus.choose_folder,
            Action.SETTINGS: self.preferences.open,
            Action.NEW_WINDOW: lambda: self.window_wanted.emit(""),
            Action.CLOSE_WINDOW: self.close,
            Action.QUIT: self.quit_wanted.emit,
            Action.SEARCH_CHATS: self._search_chats,
            Action.PALETTE: self.show_palette,
            Action.FIND: self._find_in_chat,
            Action.FIND_NEXT: lambda: self.chat.find_next(1),
            Action.FIND_PREVIOUS: lambda: self.chat.find_next(-1),
            Action.RENAME_CHAT: self.sidebar.edit_title,
            Action.SIDEBAR: lambda: self.sides.show_sidebar(not self.sides.sidebar_shown),
            Action.INSPECTOR: self._inspector.toggle,
            Action.GRAPH: self.chat.turn_graph,
            Action.MENU_BAR: self._switch_menu_bar,
            Action.LARGER_TEXT: lambda: self.preferences.scale(10),
            Action.SMALLER_TEXT: lambda: self.preferences.scale(-10),
            Action.NORMAL_TEXT: lambda: self.preferences.scale(0),
            Action.WRITE_MESSAGE: self._write_message,
            Action.ADD_FILES: self.chat.composer.attachments.choose_files,
            Action.CHAT_ABOVE: lambda: self.chats.open_neighbour(-1),
            Action.CHAT_BELOW: lambda: self.chats.open_neighbour(1),
            Action.STOP: self.chat.model.stop,
            Action.RUNNING: lambda: None,  # a menu, see ``RunningMenu``
            Action.STOP_ALL: self.runner.stop_all,
            Action.NEXT_NEED: self._show_next_question,
            Action.UNDO_FILES: partial(self.chat.undo_files, "undo"),
            Action.REDO_FILES: partial(self.chat.undo_files, "redo"),
            Action.SHOW_CHAT: self.chats.show_chat,
            Action.NEXT_PANE: lambda: self._pane(1),
            Action.PREVIOUS_PANE: lambda: self._pane(-1),
            Action.ALL_KEYS: self._show_keys,
            Action.ABOUT: self._show_about,
            **self.chat_actions.handlers(),
        }

    @cached_property
    def _entries(self) -> Entries:
        """What can be chosen by a few letters; made when it is first wanted."""
        from studio.ui.palette.entries import Entries

        entries = Entries(self.chat, self.menu_actions, self)
        entries.session_wanted.connect(self.chats.open)
        entries.settings_wanted.connect(self.preferences.open)
        entries.folder_wanted.connect(self.chats.new_chat_in)
        entries.pack_page_wanted.connect(lambda key, what: self.pages.show_page(key, *what))
        entries.workflow_wanted.connect(
            lambda what, name: self.pages.show_page(
                "agents" if what == "mission" else "workflows", what, name
            )
        )
        return entries

    def show_palette(self) -> None:
        """Open the palette; it is made when it is first wanted."""
        if self._palette is None:
            from studio.ui.palette.palette import Palette

            self._palette = Palette(self.theme, self._entries, self)
            self._palette.window_wanted.connect(self.window_wanted)
        self._entries.of_packs = self.pages.of_packs
        self._entries.read_registries()
        self._palette.open()
        self._later(self._entries.read_stored())

    def _complete(self) -> None:
        """Make the list over the composer, which goes on by itself; at its first word."""
        self.chat.composer.word_opened.disconnect(self._complete)
        self._later(self._make_completion())

    async def _make_completion(self) -> None:
        # Not in a thread, though the person is typing: none may define a class of Qt's.
        from studio.ui.palette.completion import Completion

        self.completion = Completion(self.theme, self._entries, self.chat)
        self.completion.follow()

    @property
    def shows_chat(self) -> bool:
        """Whether the chat is on screen, alone or beside a page."""
        return self.pages.shows_chat or self.beside.shown

    def _write_message(self) -> None:
        if self.beside.shown:
            self.chat.composer.setFocus()
        else:
            self.chats.show_chat()

    def _find_in_chat(self) -> None:
        if not self.shows_chat:
            self.pages.show_chat()
        self.chat.find()

    def _search_chats(self) -> None:
        """Show the page that searches all chats, with what stands in the sidebar's field."""
        field = self.sidebar.field
        self.pages.show_page("search", field.text() if field.hasFocus() else "")
        self.sides.close_overlays()

    def _show_next_question(self) -> None:
        """Go to the question of another program on screen, else to one of a chat."""
        if self.remote_approvals is None or not self.remote_approvals.take_focus():
            self.chats.show_next_question()

    def _pane(self, step: int) -> None:
        chat = self.chat
        page = [] if self.pages.shows_chat else [self.pages]
        parts = [chat.header, chat.view, chat.composer] if self.shows_chat else []
        step_focus([self.sidebar, *page, *parts, *filter(None, [self.inspector])], step)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape, where nothing else wants it: back to what the person writes."""
        self._menu_bar.arm(event.key() == Qt.Key.Key_Alt)
        if event.key() == Qt.Key.Key_Alt:
            self._menu_letters.show()
        in_use = self.pages.shows_chat or self.pages.shown  # the first page of all stays
        if event.key() == Qt.Key.Key_Escape and in_use:
            self.chats.show_chat()
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Alt:
            self._menu_bar.alt_released()
            self._menu_letters.hide(released=True)
        self._menu_bar.arm(False)
        super().keyReleaseEvent(event)

    def _switch_menu_bar(self) -> None:
        values = self.settings.values
        values.menu_bar = not values.menu_bar
        self.preferences.applied.emit()
        self._later(self.settings.save())

    def _show_menu_bar(self) -> None:
        self._menu_bar.show(self.settings.values.menu_bar)
        self.menu_actions.by_action[Action.MENU_BAR].setChecked(self.settings.values.menu_bar)

    # The end

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stay until whoever owns the windows has decided what that means."""
        if self.done:
            event.accept()
        else:
            event.ignore()
            self.close_wanted.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange:
            if self.isActiveWindow():
                self.activated.emit()
            else:  # Alt is released in another window
                self._menu_letters.hide()

    async def begin_in(self, folder: str) -> None:
        """Show a new chat in a folder."""
        await self.chats.begin_in(folder)
        if self.settings.values.first_run_done:  # else the first page goes on with the folder
            self.chats.show_new()

    def restore(self, beside: MainWindow | None) -> None:
        """Take the place that this window had before, or one a little aside of another."""
        restore_window(self, self.sides, self.settings.values, self.number, beside)
        self.beside.wanted = self.settings.values.chat_beside_open
        self.beside.chat_width = self.settings.values.chat_beside_width

    def save_place(self) -> None:
        save_window(self, self.sides, self.settings.values, self.number)
        if not self.number:
            self.settings.values.chat_beside_open = self.beside.wanted
            self.settings.values.chat_beside_width = self.beside.chat_width

    async def finish(self) -> None:
        """Save what was written here, and stop what was begun; the second call does nothing."""
        if self.done:
            return
        self.done = True
        self.chat_list.stop()
        self._inspector.stop()
        await self._tasks.aclose()
        await self.pages.finish()
        await self.chat.finish()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.painted.done():
            QTimer.singleShot(0, lambda: self.painted.done() or self.painted.set_result(None))

    # Boxes, errors, tasks

    def _set_keys(self) -> None:
        """Give the actions the keys of the settings, and show them where keys are shown."""
        self.menu_actions.set_keys(self.settings.values.shortcuts)
        self.sidebar.set_new_chat_keys(self.menu_actions.keys(Action.NEW_CHAT))
        self.chat.set_keys(
            files=self.menu_actions.keys(Action.ADD_FILES),
            inspector=self.menu_actions.keys(Action.INSPECTOR),
            need=self.menu_actions.keys(Action.NEXT_NEED),
        )

    def _show_keys(self) -> None:
        from .key_sheet import KeySheet

        sheet = KeySheet(self.theme, self.settings.values.shortcuts, self)
        sheet.change_wanted.connect(lambda: self.preferences.open("shortcuts"))
        sheet.show()

    def _show_about(self) -> None:
        self.preferences.open("about")

    def show_error(self, error: BaseException) -> None:
        self.banner.say(str(error) or type(error).__name__)

    def _later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Run a coroutine as a task and show the error it ends with; not once the window closes."""
        if self.done:
            work.close()
            return None
        return self._tasks.start(work, self.show_error)
