"""The program behind the windows: what exists once, however many windows are open.

It opens the windows and closes them, builds the engine when the first one is painted, runs the
turns, and tells every window what happened. A chat that is open in two windows is one session:
both show its events as they come.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import StorageError, StudioError
from studio.storage.config.settings import SettingsFile
from studio.ui import translation
from studio.ui.chat.model.turn_runner import TurnRunner
from studio.ui.chat.model.unsent import UnsentBuffer
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import message_box

from .application import StudioApplication
from .background import BackgroundTurns
from .desktop_wishes import DesktopWishes
from .global_key import GlobalKey
from .main_window import MainWindow, Shared
from .notifications import ChatNotifications, DesktopNotifier
from .second_start import Start
from .server_process import ServerController
from .settings_controller import SettingsController

if TYPE_CHECKING:
    from studio.agent.delegation.child import Child
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.events import Event
    from studio.tools.packs.persons_act import ActDesk
    from studio.ui.remote_approvals import RemoteApprovals
    from studio.workflows.trigger_clock import TriggerClock
    from studio.workflows.workflow_runs import RunOptions

    from .quick_ask import QuickAsk


class Program(QObject):
    """Owns the windows. ``load`` gives it the engine, ``end`` saves and stops everything.

    ``ready`` is done when what is saved is shown, ``closed`` when everything is stopped and
    saved; its result is the exit code.
    """

    def __init__(self, theme: Theme, settings: SettingsFile) -> None:
        super().__init__()
        loop = asyncio.get_event_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[int] = loop.create_future()
        self.settings = settings
        self.engine: Engine | None = None
        self._desk: ActDesk | None = None
        """Proves what the person decides in a window (KZ-5)."""
        self.windows: list[MainWindow] = []
        """Those that are open, in the order in which they were opened."""
        self._last_active: MainWindow | None = None
        self.remote_approvals: RemoteApprovals | None = None
        """In the oldest window; None before ``ready``."""
        self.quick_ask: QuickAsk | None = None
        """None until it was first wanted."""
        self._follows_triggers = False
        self._tasks = BackgroundTasks()
        self._leaving = BackgroundTasks()
        """Windows that are being closed: what is written in them is saved also at the end."""
        self._closing: asyncio.Task[None] | None = None
        self._failed = False
        """Whether a step of the end failed."""
        self._translating: asyncio.Task[None] | None = None
        self.runner = TurnRunner(self._show_error, self._on_event)
        self.server = ServerController(settings)
        self.preferences = SettingsController(
            theme, settings, self.server, self.later, lambda: self.current.chat
        )
        self._shared = Shared(
            theme,
            settings,
            self.runner,
            UnsentBuffer(self.later),
            self.preferences,
            self.server,
        )
        self.notifier = DesktopNotifier(self.later, self._icon)
        self._notifications = ChatNotifications(self._on_screen, settings, self.notifier)
        self._notifications.chat_wanted.connect(self.show_chat)
        self.background = BackgroundTurns(
            self.runner, self.later, lambda: settings.values.notify and self.notifier.reachable
        )
        self.background.end_wanted.connect(self.end)
        self.background.hide_wanted.connect(self._hide_all)
        self.background.window_wanted.connect(self.bring_back)
        self.global_key = GlobalKey(settings, self.later)
        self.global_key.pressed.connect(self.ask_quickly)
        self.global_key.problem.connect(self._show_problem)
        self._wishes = DesktopWishes(theme)
        self._hook, sys.excepthook = sys.excepthook, self._raised
        self._app = QApplication.instance()
        if isinstance(self._app, StudioApplication):
            self._app.opened.connect(self._open_what_came)

    # The windows

    @property
    def current(self) -> MainWindow:
        """The window that is used, or was last."""
        active = QApplication.activeWindow()
        while active is not None and active not in self.windows:
            active = active.parentWidget()
        if isinstance(active, MainWindow):
            self._last_active = active
        last = self._last_active
        return last if last in self.windows and last is not None else self.windows[-1]

    def open_window(self) -> MainWindow:
        """Make a window; it is to be shown, and to be given the engine if that is there."""
        numbers = {window.number for window in self.windows}
        number = next(n for n in range(len(numbers) + 1) if n not in numbers)
        window = self._make_window(number, self.current if self.windows else None)
        self.windows.append(window)
        return window

    def _make_window(self, number: int, beside: MainWindow | None) -> MainWindow:
        window = MainWindow(self._shared, number)
        window.restore(beside)
        window.remote_approvals = self.remote_approvals
        window.activated.connect(partial(self._activated, window))
        window.close_wanted.connect(partial(self.close_window, window))
        window.quit_wanted.connect(self.quit)
        window.window_wanted.connect(self.new_window)
        window.chat.session_changed.connect(self._chats_changed)
        window.chat.deleting.connect(self._leave_chat)
        window.chat_list.ended.connect(self._refresh_chats)
        window.chat.opened.connect(self._notifications.seen)
        window.pages.notified.connect(self._notifications.tell)
        window.pages.watch_wanted.connect(self._watch)
        return window

    def new_window(self, session_id: str = "") -> None:
        """Open one more window, with a chat or with a new one."""
        if self.engine is None or self._closing is not None:
            return
        window = self.open_window()
        window.setWindowIcon(self._icon())
        window.show()
        window.activateWindow()
        self.later(self._fill(window, self.engine, session_id))

    async def _fill(self, window: MainWindow, engine: Engine, session_id: str) -> None:
        await window.take_engine(engine, self._desk)
        await window.begin(session_id)

    def _activated(self, window: MainWindow) -> None:
        self._last_active = window
        self._notifications.seen()

    def _on_screen(self) -> list[Session]:
        """The chats that windows show."""
        return [
            window.chat.session
            for window in self.windows
            if window.chat.session is not None and window.shows_chat and not window.isMinimized()
        ]

    def _icon(self) -> QIcon:
        return self.windows[0].windowIcon() if self.windows else QIcon()

    def close_window(self, window: MainWindow) -> None:
        """Close one window; with the last one the program ends, unless turns run on."""
        if window not in self.windows:
            return
        if self._closing is None and len(self.windows) > 1:
            self.windows.remove(window)
            self._leaving.start(self._leave(window), self._show_error)
        else:
            self.quit()

    async def _leave(self, window: MainWindow) -> None:
        """Close a window while others stay."""
        window.save_place()
        window.hide()
        await self.preferences.leave(window)
        await window.finish()
        await self._drop(window)
        await self.settings.save()

    async def _drop(self, window: MainWindow) -> None:
        """Delete a window that is finished; what other programs ask is shown in another one."""
        remote = self.remote_approvals
        moved = remote is not None and remote.window is window
        if moved and remote is not None:
            remote.stop()
        window.deleteLater()
        if moved and self.engine is not None:
            await self._watch_other_programs(self.engine)

    # The language

    def _follow_language(self) -> None:
        """Make the windows anew if the settings name another language than they have."""
        wanted = translation.found_language(self.settings.values.language)
        if wanted != translation.language() and self._translating is None:
            self._translating = self.later(self._translate())

    async def _translate(self) -> None:
        """Put a window in the new language in the place of each; turns go on meanwhile."""
        app, dialog = QApplication.instance(), self.preferences.dialog
        page = dialog.page if dialog is not None and dialog.isVisible() else ""
        try:
            translation.use(self.settings.values.language, app)
            if self.quick_ask is not None:
                self.quick_ask.deleteLater()
                self.quick_ask = None
            used = self.windows.index(self.current)
            for number in range(len(self.windows)):
                await self._replace(number)
            self.windows[used].activateWindow()
            if page:
                self.preferences.open(page, "language")
        finally:
            self._translating = None
        self._follow_language()  # it may have been changed meanwhile

    async def _replace(self, at: int) -> None:
        """Make a window anew, with the chat and the page that it shows."""
        assert self.engine is not None
        before = self.windows[at]
        chat, page, hidden = before.chat.session, before.pages.shown, before.isHidden()
        before.setEnabled(False)  # what would be typed from here on is not taken over
        before.save_place()
        await self.preferences.leave(before)
        await before.finish()
        window = self.windows[at] = self._make_window(before.number, None)
        window.setWindowIcon(before.windowIcon())
        if not before.windowState() & (
            Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen
        ):
            window.setGeometry(before.geometry())  # to the pixel: a place may be a little off
        try:
            await window.take_engine(self.engine, self._desk)
            await self._begin(window, self.engine, chat.info.id if chat is not None else "")
            if page:
                window.pages.show_page(page)
        finally:
            window.setVisible(not hidden)
            before.hide()
            await self._drop(before)

    async def _begin(self, window: MainWindow, engine: Engine, session_id: str = "") -> None:
        """Show a chat or a new one; before the first of all, the ways to begin."""
        if session_id or engine.settings.values.first_run_done or await engine.sessions.list():
            await window.begin(session_id)
        else:
            window.show_welcome()

    def quit(self) -> None:
        """End, unless turns or commands run: then the person is asked."""
        jobs = len(self.engine.services.jobs.running()) if self.engine is not None else 0
        if self._closing is not None or not self.background.ask(self.current, jobs):
            self.end()

    def _hide_all(self) -> None:
        for window in self.windows:
            window.hide()

    @property
    def ending(self) -> bool:
        """Whether the end has begun; what is wanted from now on is not done."""
        return self._closing is not None

    def bring_back(self) -> None:
        """Show the windows in front of those of other programs, the last used one on top."""
        if self._closing is not None:
            return
        self.background.stop()
        top = self.current
        for window in (*(one for one in self.windows if one is not top), top):
            window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
            window.show()
        top.raise_()
        top.activateWindow()

    def welcome_back(self, start: Start) -> bool:
        """Do what another start of the program was for; False once the end has begun."""
        if self.ending:
            return False
        if start.quick_ask:
            self.ask_quickly()
            return True
        self.bring_back()
        if start.folder:
            self.later(self._begin_in(start.folder))
        if start.link:
            self.later(self._follow(start.link))
        return True

    def _open_what_came(self) -> None:
        if isinstance(self._app, StudioApplication):
            for word in self._app.take_opened():
                self.later(self._open(word))

    async def _open(self, word: str) -> None:
        """Open a link or a path as the command line does; what is not there is left alone."""
        from .opening import start_for

        start = await asyncio.to_thread(start_for, word)
        if not start.folder or await asyncio.to_thread(Path(start.folder).is_dir):
            self.welcome_back(start)

    def ask_quickly(self) -> None:
        """Show the line for a quick question, and no window."""
        if self._closing is not None:
            return
        if self.quick_ask is None:
            from .quick_ask import QuickAsk

            self.quick_ask = QuickAsk(self._shared.theme)
            self.quick_ask.asked.connect(self._answer)
        self.quick_ask.ask()

    def _answer(self, text: str) -> None:
        self.bring_back()
        self.later(self._ask(text))

    async def _ask(self, text: str) -> None:
        await asyncio.shield(self.ready)
        await self.current.chats.ask(text, self.settings.values.last_folder)

    async def _begin_in(self, folder: str) -> None:
        await asyncio.shield(self.ready)
        await self.current.begin_in(folder)

    async def _follow(self, link: str) -> None:
        await asyncio.shield(self.ready)
        await self.current.links.follow(link)

    def show_chat(self, session_id: str) -> None:
        """Bring a chat to the front, in the window that shows it or else in the last used.

        With ``run:`` before an id, a run of a workflow.
        """
        self.bring_back()
        if session_id.startswith("run:"):
            self.current.pages.show_page("workflows", "run", session_id.removeprefix("run:"))
            return
        for window in self.windows:
            session = window.chat.session
            if session is not None and session.info.id == session_id:
                window.raise_()
                window.activateWindow()
                window.open_session(session_id)
                return
        self.current.open_session(session_id)

    # Start

    async def load(self, building: Awaitable[Engine]) -> None:
        """Take the engine and show what is saved; a database that cannot be used is explained."""
        (window,) = self.windows
        try:
            engine = await building
            await window.chat.prepare()
        except StorageError as error:
            more = tr("Nothing was changed. The window closes now.")
            box = message_box(window, "Agent Studio", tr_engine(str(error)), more)
            box.open()
            box.finished.connect(self.end)
            return
        if self.ending:  # it began before there was an engine to close
            await self._step(engine.close)
            return
        self.engine = engine
        self._desk = engine.services.acts.desk("window")
        self.preferences.set_engine(engine)
        engine.on_problem(self._show_problem)
        await engine.look_for_providers()
        self.preferences.provider_moved.connect(self._show_done)
        await self.preferences.use_new_key()
        await window.take_engine(engine, self._desk)
        await self._begin(window, engine)
        for name in engine.connected:
            self.later(engine.refresh_models(name))
        if not self.ready.done():
            self.ready.set_result(None)
        self._open_what_came()
        self.preferences.applied.connect(self.global_key.apply)
        self.global_key.apply()
        self.preferences.applied.connect(self._follow_language)
        self.later(self._wishes.follow())
        self.server.set_keychain(engine.keychain)
        self.server.apply_settings()
        engine.services.problem_listeners.append(lambda _: self._refresh_chats())
        engine.delegation.listeners.append(self._tell_of_child)
        self.later(self._watch_other_programs(engine))
        self.later(engine.store.index_older())
        self.later(engine.purge_bin())
        self.later(engine.delegation.bring_back_left())
        self.later(engine.services.servers.start_with_program())
        self.later(self._follow_triggers(engine))
        self.later(self._follow_updates(engine))

    async def _follow_updates(self, engine: Engine) -> None:
        """Show what is new, and tell of newer versions (I-10)."""
        from .updates import UpdateNews  # not in a thread: it defines a class of Qt's

        theme = self._shared.theme
        news = UpdateNews(engine, self.settings, theme, lambda: self.current, self.later)
        await news.follow()

    def _watch(self) -> None:
        if self.engine is not None:
            self.later(self._follow_triggers(self.engine))

    async def _follow_triggers(self, engine: Engine) -> None:
        """Begin the runs of workflows' triggers, as if the person began them in the window."""
        from studio.storage.triggers import TriggerStore

        if not await TriggerStore(engine.database).all() or self._follows_triggers:
            return  # the program that switches one on notifies this one
        self._follows_triggers = True
        new_clock = await asyncio.to_thread(_import_clock)
        await new_clock(engine, self._begin_run).follow()

    async def _begin_run(self, path: Path, folder: Path, options: RunOptions) -> None:
        await self.windows[0].pages.begin_run(path, folder, options)

    async def _watch_other_programs(self, engine: Engine) -> None:
        """Show what other programs on the same data ask, and what they change."""
        from studio.ui.remote_approvals import RemoteApprovals

        window = self.windows[0]
        remote = self.remote_approvals = RemoteApprovals(
            self._shared.theme, window.column, self.notifier, window.chat.composer, self.later
        )
        for one in self.windows:
            one.remote_approvals = remote
        remote.notified.connect(self._refresh_chats)
        remote.notified.connect(lambda: self.later(self._follow_triggers(engine)))
        await remote.start(engine)

    # What happens

    def _chats_changed(self) -> None:
        """The stored chats are others, or have another title or state."""
        for window in self.windows:
            window.chat_list.schedule_refresh()

    def _refresh_chats(self) -> None:
        """Show the chats on screen, and their rows, as other programs left them."""
        for window in self.windows:
            self.later(window.refresh_chat())

    def _leave_chat(self, session_id: str) -> None:
        for window in self.windows:
            window.chats.leave(session_id)

    def _on_event(self, session: Session, event: Event) -> None:
        """Show what happened in a chat, on screen or not, in all windows."""
        from studio.domain.events import TurnComplete

        if isinstance(event, TurnComplete):
            self.later(self._mark_unread(session))
            if event.reason == "done":
                self.later(self._name(session))
        self._notifications.on_event(session, event)
        for window in self.windows:
            window.on_event(session, event)

    def _tell_of_child(self, session: Session, child: Child) -> None:
        """Tell of an agent in the background that ended, or asks, in a chat at rest (W-38)."""
        self._notifications.of_child(session, child.agent.name, child.end)
        if child.end is not None:
            self.later(self._mark_unread(session))
        self._chats_changed()

    async def _name(self, session: Session) -> None:
        """Give a chat a title; that it failed is nobody's concern, the first line stays."""
        with suppress(StudioError):
            if self.engine is not None and await self.engine.name_chat(session):
                self._chats_changed()

    async def _mark_unread(self, session: Session) -> None:
        if all(session is not window.chat.session for window in self.windows):
            await session.change(unread=True)
            self._chats_changed()

    # The end

    def end(self) -> None:
        """Hide at once; the event loop goes on until everything is stopped and saved."""
        if self._closing is None:
            self.background.stop()
            self._closing = asyncio.get_event_loop().create_task(self._finish())
            self._closing.add_done_callback(self._finished)
            if self.quick_ask is not None:
                self.quick_ask.close()
                self.quick_ask.deleteLater()
                self.quick_ask = None
            for window in self.windows:
                window.save_place()
                window.hide()

    async def _finish(self) -> None:
        """Do each step of the end, also if another one fails."""
        await self._step(self._leaving.settled)
        await self._step(self.preferences.aclose)
        await self._step(self.server.aclose)
        await self._step(self._stop_turns)
        await self._step(self._tasks.aclose)
        for window in self.windows:
            await self._step(window.finish)
        await self._step(self.global_key.aclose)
        await self._step(self._wishes.aclose)
        await self._step(partial(self.notifier.aclose, keep=self.background.done))
        if self.engine is not None:
            await self._step(self.settings.save)
            await self._step(self.engine.purge_bin)
            await self._step(self.engine.close)
            await self._step(self.runner.finish)

    async def _step(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except StudioError as error:
            print(error)
        except Exception as error:
            self._failed = True
            self._hook(type(error), error, error.__traceback__)

    async def _stop_turns(self) -> None:
        self.runner.close()
        if self.remote_approvals is not None:
            self.remote_approvals.stop()

    def _finished(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._hook(type(error), error, error.__traceback__)
        sys.excepthook = self._hook
        for window in self.windows:
            if not window.painted.done():
                window.painted.set_result(None)
        self.closed.set_result(1 if self._failed or error is not None else 0)

    # Errors, tasks

    def _raised(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        """Nobody caught an error: a page of a pack shows its own (KZ-9)."""
        self._hook(kind, error, trace)
        for window in self.windows:
            window.pages.raised(error)

    def _show_problem(self, text: str) -> None:
        self.current.banner.say(text)

    def _show_done(self, text: str) -> None:
        self.current.banner.say(text, done=True)

    def _show_error(self, error: BaseException) -> None:
        self.current.show_error(error)

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Run a coroutine as a task and show the error it ends with; not once the program ends."""
        if self._closing is not None:
            work.close()
            return None
        return self._tasks.start(work, self._show_error)


def _import_clock() -> type[TriggerClock]:
    from studio.workflows.trigger_clock import TriggerClock

    return TriggerClock
