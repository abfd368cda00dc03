"""A window: makes sidebar, pages and inspector, and connects them.

What it does not have alone comes from ``Shared``; ``program`` owns all windows.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QMessageBox

from studio.domain.aio import BackgroundTasks
from studio.domain.pack_addresses import pack_of
from studio.processes.daemon_thread import in_daemon_thread
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
from studio.ui.translation import tr
from studio.ui.widgets import message_box
from studio.ui.widgets.layouts import column_of, widget_of

from .actions import Action, RunningMenu, install
from .banner import Banner
from .chat_actions import ChatActions
from .menus import MenuBarSwitch, MenuLetters
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

    from .links import ChatLink


SHOWN_TEXT = 600
"""Characters that are shown of a text that a link brings."""


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
        self._opening = 0
        """Counts which chats were wanted: the last one is shown, however long others take."""

        self.setWindowTitle("Agent Studio")
        self.setMinimumSize(900, 600)
        self.sidebar = Sidebar(theme)
        self.chat = ChatPage(theme, self.runner, shared.unsent, number)
        self.pages = PageStack(theme, self.chat, self.sidebar, self._later)
        self.banner = Banner(theme)
        self.column = column_of([self.banner, (self.pages, 1)], spacing=0)
        rail = Rail(theme)
        rail.new_chat.connect(self.new_chat)
        self.sides = WindowLayout(self.sidebar, rail, widget_of(self.column), self.chat.header)
        self.setCentralWidget(self.sides)
        self._inspector = InspectorController(theme, self.sides, self.chat, self._later)
        self.chat_list = ChatListController(self.sidebar, self._later, self._listed)
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
        self.sidebar.new_chat.connect(self.new_chat)
        self.sidebar.open_session.connect(self.open_session)
        self.sidebar.open_found.connect(self.open_session)
        self.sidebar.chats.window_wanted.connect(self.window_wanted)
        self.sidebar.left.connect(self._show_chat)
        self.sidebar.settings.connect(self.preferences.open)
        self.sidebar.server_wanted.connect(lambda: self.preferences.open("server"))
        self.sidebar.page.connect(self.pages.show_page)
        for gone in (self.sidebar.page, self.sidebar.new_chat):
            gone.connect(lambda *_: self.sides.close_overlays())
        self.sidebar.rename.connect(self._rename)
        self.sidebar.delete.connect(self._delete)
        self.sidebar.stop.connect(self.runner.stop)
        self.sidebar.chats.chats.progress = self.runner.progress
        self._running_menu = RunningMenu(self, self.runner, self.menu_actions)
        self.chat.event_seen.connect(self.chat_list.on_event)
        self.chat_list.changed.connect(self.chat.session_changed)
        self.chat_list.told.connect(partial(self.banner.say, done=True))
        self.chat.option_chosen.connect(self._on_option_chosen)
        self.chat.opened.connect(self._inspector.show_chat)
        self.chat.opened.connect(self._show_title)
        self.chat.settings_wanted.connect(self.preferences.open)
        self.preferences.applied.connect(self.chat.model.options.settings_changed)
        self.preferences.applied.connect(self.chat.composer.check_spelling)
        self.chat.trouble.connect(self.banner.say)
        self.chat.open_wanted.connect(self.open_session)
        self.chat.draft_wanted.connect(partial(self.pages.show_page, "drafts"))
        self.chat.link_wanted.connect(self._copy_link)
        self.chat.source_wanted.connect(lambda at: self._later(self._open_source(at)))
        self.pages.open_wanted.connect(self.open_session)
        self.pages.found_wanted.connect(self.open_session)
        self.pages.left.connect(self._show_chat)
        self.pages.chat_wanted.connect(self._new_chat_about)
        self.pages.keys_wanted.connect(self._show_keys)
        self.pages.decided.connect(self.chat_list.schedule_refresh)
        self.pages.notified.connect(lambda *_: self.chat_list.schedule_refresh())
        self.chat.composer.setFocus()  # a person can type before the engine is built

    # Start

    async def take_engine(self, engine: Engine, desk: ActDesk | None = None) -> None:
        """Show the chats that are stored; from now on a message can be sent.

        ``desk`` proves what the person decides in this window.
        """
        self.chat.model.desk = desk
        self.engine = self._inspector.engine = self.chat_list.engine = engine
        self.sidebar.chats.chats.folder_name = partial(folder_name, paths=engine.paths)
        self.pages.set_engine(engine)
        self.pages.show_pack_pages()
        await self.chat_list.refresh()
        # The new chat has to look up at once what it runs on.
        self.chat.model.attach(engine)

    async def begin(self, session_id: str = "") -> None:
        """Show a chat, or a new one."""
        if session_id:
            await self._open(session_id)
        else:
            await self.chat.model.start_new()
            self._show_new()
        self._show_ready()

    def show_welcome(self) -> None:
        """Show the first page of all."""
        self.pages.show_welcome(self._show_new)
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

    # Chats

    def _show_new(self) -> None:
        """Show the new chat that the chat page holds."""
        self._later(self._offer_last())
        self.pages.show_chat()

    async def _offer_last(self) -> None:
        await self.chat.offer(await self.chat_list.last())

    def _on_option_chosen(self) -> None:
        if self.engine is not None and self.chat.session is None:
            self._later(self._offer_last())

    def new_chat(self) -> None:
        if self.engine is None:
            return
        self._opening += 1
        self.sidebar.clear_search()
        self._later(self.chat.model.start_new())
        self._show_new()

    def open_session(self, session_id: str, query: str = "", line: str = "") -> None:
        """Show a chat; with ``line`` at that line of it, the words of ``query`` marked."""
        self._opening += 1
        self._later(self._open(session_id, query, line, self._opening))

    async def _open(
        self, session_id: str, query: str = "", line: str = "", opening: int = 0
    ) -> None:
        """``opening`` is the number under which the chat was wanted; 0 for now."""
        if self.engine is None:
            return
        if not opening:
            self._opening += 1
            opening = self._opening
        session = await self.engine.sessions.open(session_id)
        if opening != self._opening:
            return
        self.pages.setCurrentWidget(self.chat)
        self.sides.close_overlays()
        self.chat.model.open(session)
        if line:
            self.chat.show_found(query, line)
        self.pages.mark_chat()
        if session.info.unread:
            await session.change(unread=False)
            self.chat_list.schedule_refresh()

    def _rename(self, session_id: str, title: str) -> None:
        async def work() -> None:
            assert self.engine is not None
            session = await self.engine.sessions.open(session_id)
            await session.change(title=title, titled_by="person")
            await self.chat_list.refresh()
            self.chat.session_changed.emit()

        self._later(work())

    def _delete(self, ids: list[str]) -> None:
        async def work() -> None:
            for session_id in ids:
                self.chat.deleting.emit(session_id)
                self.runner.stop(session_id)
            await self.chat_list.delete(ids)
            self.chat.session_changed.emit()

        self._later(work())

    # Events

    def leave_chat(self, session_id: str) -> None:
        """Show a new chat in place of one that is being deleted."""
        if self.chat.session is not None and self.chat.session.info.id == session_id:
            self._later(self.chat.model.start_new())

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
            Action.NEW_CHAT: self.new_chat,
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
            Action.WRITE_MESSAGE: self._show_chat,
            Action.ADD_FILES: self.chat.composer.attachments.choose_files,
            Action.CHAT_ABOVE: lambda: self._neighbour(-1),
            Action.CHAT_BELOW: lambda: self._neighbour(1),
            Action.STOP: self.chat.model.stop,
            Action.RUNNING: lambda: None,  # a menu, see ``RunningMenu``
            Action.STOP_ALL: self.runner.stop_all,
            Action.NEXT_NEED: self._show_next_question,
            Action.UNDO_FILES: partial(self.chat.undo_files, "undo"),
            Action.REDO_FILES: partial(self.chat.undo_files, "redo"),
            Action.SHOW_CHAT: self._show_chat,
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
        entries.session_wanted.connect(self.open_session)
        entries.settings_wanted.connect(self.preferences.open)
        entries.folder_wanted.connect(self._new_chat_in)
        entries.pack_page_wanted.connect(lambda key, what: self.pages.show_page(key, *what))
        entries.workflow_wanted.connect(
            lambda what, name: self.pages.show_page("workflows", what, name)
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
        # A thread imports it first: the person is typing.
        await asyncio.to_thread(import_module, "studio.ui.palette.completion")
        from studio.ui.palette.completion import Completion

        self.completion = Completion(self.theme, self._entries, self.chat)
        self.completion.follow()

    def _new_chat_about(self, subject: str, text: str, agent: str) -> None:
        """Begin a chat about a thing of a pack; the text is not sent."""
        self._opening += 1
        self.sidebar.clear_search()
        self._later(self.chat.model.start_new(text=text, subject=subject, agent=agent))
        self._show_new()

    def _new_chat_in(self, folder: str) -> None:
        self._opening += 1
        self._later(self.chat.model.start_new(folder=folder))
        self._show_new()

    def _find_in_chat(self) -> None:
        self.pages.show_chat()
        self.chat.find()

    def _search_chats(self) -> None:
        """Show the page that searches all chats, with what stands in the sidebar's field."""
        field = self.sidebar.field
        self.pages.show_page("search", field.text() if field.hasFocus() else "")
        self.sides.close_overlays()

    def _show_chat(self) -> None:
        self.pages.show_chat()
        self.chat.composer.setFocus()

    def _neighbour(self, step: int) -> None:
        if session_id := self.sidebar.neighbour(step):
            self.open_session(session_id)

    def _show_next_question(self) -> None:
        """Go to the question on screen, else to the next chat that waits."""
        if self.remote_approvals is not None and self.remote_approvals.take_focus():
            return
        if self.chat.waits:
            self._show_chat()
            self.chat.show_question()
            return

        async def work() -> None:
            waiting = await self.chat_list.waiting()
            if waiting is not None:
                await self._open(waiting)
                self.chat.show_question()
            elif await self.chat_list.needs():
                self.pages.show_page("needs")

        if self.engine is not None:
            self._later(work())

    def _pane(self, step: int) -> None:
        chat = self.chat
        page = [chat.header, chat.view, chat.composer] if self.pages.shows_chat else [self.pages]
        step_focus([self.sidebar, *page, *filter(None, [self.inspector])], step)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape, where nothing else wants it: back to what the person writes."""
        self._menu_bar.arm(event.key() == Qt.Key.Key_Alt)
        if event.key() == Qt.Key.Key_Alt:
            self._menu_letters.show()
        in_use = self.pages.shows_chat or self.pages.shown  # the first page of all stays
        if event.key() == Qt.Key.Key_Escape and in_use:
            self._show_chat()
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Alt:
            self._menu_bar.alt_released()
            self._menu_letters.hide()
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

    async def follow(self, text: str) -> None:
        """Show what a link leads to."""
        from studio.ui.settings.registry import PAGES

        from .links import ChatLink, NewChatLink, SettingsLink, SourceLink, read_link

        match read_link(text):
            case ChatLink() as link:
                await self._follow_to_chat(link)
            case NewChatLink(given):
                self._offer_text(given)
            case SourceLink(address):
                await self._open_source(address)
            case SettingsLink(page) if any(entry.key == page for entry in PAGES):
                self.preferences.open(page)
            case _:
                self.banner.say(tr("This link leads nowhere in Agent Studio."))

    async def _open_source(self, address: str) -> None:
        """Show the page of a pack with what an address leads to (KZ-8)."""
        assert self.engine is not None
        packs = self.engine.services.packs
        found = (await in_daemon_thread(lambda: packs.resolve([address]))).get(address)
        if found is None:
            self.banner.say(tr("{address} leads nowhere now.").format(address=address))
        elif found.page:
            self.pages.show_page(f"pack:{pack_of(address)}/{found.page}", *found.target)

    def _copy_link(self, session_id: str, block: int) -> None:
        from .links import ChatLink

        QGuiApplication.clipboard().setText(str(ChatLink(session_id, block)))

    async def _follow_to_chat(self, link: ChatLink) -> None:
        assert self.engine is not None
        if await self.engine.store.get(link.chat) is None:
            self.banner.say(tr("The chat of this link is not here. It may have been deleted."))
            return
        await self._open(link.chat)
        if link.block is not None and not self.chat.show_block(link.block):
            self.banner.say(tr("The message of this link is not in the chat."))

    def _offer_text(self, text: str) -> None:
        """Begin a new chat, with a stranger's text only if the person wants it there."""
        self.new_chat()
        if not text:
            return
        box = message_box(
            self,
            tr("Text of a link"),
            tr("A link brings this text for a new chat. It is not sent."),
            text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}…",
        )
        take = box.addButton(tr("Use the text"), QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        take.clicked.connect(lambda: self.chat.composer.set_text(self._joined(text)))
        box.open()

    def _joined(self, text: str) -> str:
        """What is written already, and then a text."""
        written = self.chat.composer.text
        return f"{written}\n{text}" if written else text

    async def ask(self, text: str) -> None:
        """Ask something in a new chat in the person's folder; what is being written stays."""
        self._opening += 1
        await self.chat.model.start_new(folder=self.settings.values.last_folder)
        self.pages.show_chat()
        self.chat.model.input.send_text(text)

    async def begin_in(self, folder: str) -> None:
        """Show a new chat in a folder."""
        self._opening += 1
        self.sidebar.clear_search()
        await self.chat.model.start_new(folder=folder)
        if self.settings.values.first_run_done:  # else the first page goes on with the folder
            self._show_new()

    def restore(self, beside: MainWindow | None) -> None:
        """Take the place that this window had before, or one a little aside of another."""
        restore_window(self, self.sides, self.settings.values, self.number, beside)

    def save_place(self) -> None:
        save_window(self, self.sides, self.settings.values, self.number)

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
        task = self._tasks.start(work)
        task.add_done_callback(self._report)
        return task

    def _report(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.show_error(error)
