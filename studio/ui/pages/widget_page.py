"""A page by widgets of a pack: loads it when it is first opened, and shows in its place what it
raises (KZ-9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from studio.domain.errors import StudioError
from studio.extensions.packs.loading import compile_ahead, load_class, problem_of
from studio.processes.daemon_thread import in_daemon_thread
from studio.ui.engine_texts import tr_engine
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Card, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import PaintedWidget

from .page import Page, Run

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.packs import PackHome, Packs
    from studio.tools.packs.home import Home
    from studio.tools.packs.window import PageEntry

T = TypeVar("T")


class PackWidget(PaintedWidget):
    """The base of the pages of packs: what a pack's code has of the window.

    ``home`` is the pack's, as its tools have it; what it reads blocks, so use ``in_thread``.
    What ``open``, ``run`` and the page's own events raise is shown in the page's place.
    """

    ground = "surface"

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio.theme)
        self.studio = studio
        self.home: Home = studio.home

    def open(self, *target: str) -> None:
        """The page comes on screen, each time; ``target`` says what on it is wanted."""

    def chat_shown(self, shown: bool) -> None:
        """The chat about what the page shows stands beside it now, or does not."""

    async def finish(self) -> None:
        """Save what is left to save: the window closes, or the pack is switched off."""

    def paintEvent(self, event: QPaintEvent) -> None:
        try:
            super().paintEvent(event)
        except Exception as error:  # the pack's own code
            self.studio.fail(error)

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Go on with this on the event loop."""
        self.studio.run(work)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do what blocks in a thread."""
        return await in_daemon_thread(work)

    def attempt(
        self, work: Callable[[], T], done: Callable[[T | None, str], object], *buttons: QWidget
    ) -> None:
        """Do what blocks in a thread, and call ``done`` with what came of it and with what went
        wrong, in the person's words.

        The ``buttons`` that begin it are off meanwhile: two clicks do it once.
        """
        for one in buttons:
            one.setEnabled(False)

        async def attempted() -> None:
            found, problem = None, ""
            try:
                found = await self.in_thread(work)
            except StudioError as error:
                problem = tr_engine(str(error))
            finally:
                for one in buttons:
                    if isValid(one):  # its row may have been drawn anew meanwhile
                        one.setEnabled(True)
            if isValid(self):
                done(found, problem)

        self.run(attempted())


class PackWindow:
    """What a page of a pack can ask of the window it is in."""

    def __init__(self, page: WidgetPage, home: PackHome) -> None:
        self._page = page
        self.home: Home = home
        self.theme: Theme = page.theme

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Go on with this on the event loop; what it raises is shown in the page's place."""
        self._page.go_on(work)

    def fail(self, error: Exception) -> None:
        """Show an error in the page's place, once what goes on now is done."""
        QTimer.singleShot(0, self._page, lambda: self._page.fail(error))

    def open_page(self, key: str, *target: str) -> None:
        """Show another page of the pack."""
        self._page.pack_page_wanted.emit(f"pack:{self.home.id}/{key}", target)

    def open_chat(self, session_id: str) -> None:
        self._page.open_wanted.emit(session_id)

    def new_chat(self, subject: str = "", text: str = "", agent: str = "") -> None:
        """Begin a chat, about a thing of the pack; ``text`` stands in it and is not sent.

        ``agent`` is the name of the one that the chat is with, the last one's unless given.
        """
        self._page.chat_wanted.emit(subject, text, agent)

    def set_subject(self, subject: str = "", agent: str = "") -> None:
        """Say which thing of the pack the page shows now, if any.

        Where there is room, the chat about it stands beside the page: the one that changed last,
        else a new one with ``agent``. The page's ``chat_shown`` is called.
        """
        self._page.set_subject(subject, agent)

    def show_chat(self) -> None:
        """Show the chat about that thing, with the keyboard in its message.

        It comes beside the page, or in its place where there is no room.
        """
        self._page.chat_beside_wanted.emit()

    def show_drafts(self, draft: str = "") -> None:
        """Show the drafts, where the person decides about them; with an id that one."""
        self._page.page_wanted.emit("drafts", "", draft)


class WidgetPage(Page):
    """The place of one page of a pack."""

    def __init__(
        self, theme: Theme, engine: Engine, run: Run, pack: str, root: Path, entry: PageEntry
    ) -> None:
        """``root`` is the folder of ours in the pack."""
        super().__init__(theme, engine, run)
        self.pack, self.entry, self._root = pack, entry, root
        self._packs = engine.services.packs
        self.home: PackHome | None = None
        """None before the page was made, or where the pack's code cannot be loaded."""
        self.shown: PackWidget | None = None
        self.problem: ProblemCard | None = None
        self._target: tuple[str, ...] = ()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._making = False
        self._column: QVBoxLayout = column_of(spacing=0, on=self)

    def open(self, *target: str) -> None:
        self._target = tuple(one for one in target if one)
        if self.shown is not None:
            self._open(self.shown)
        elif not self._making and self.problem is None:
            self._making = True
            self._run(self._make())

    async def _make(self) -> None:
        """Import the page's module, and make the page.

        Both on this thread: a class of widgets that another thread defines while Qt is at work
        ends the program now and then.
        """
        try:
            home = await in_daemon_thread(self._prepare)  # the page is shown empty first
            if not isValid(self):
                return
            self.home = home
            if home is None:
                self._show_problem(tr_engine(self._packs.source.why_not(self.pack)))
                return
            found = load_class(self.pack, self.entry.source)
            if not issubclass(found, PackWidget):
                words = tr("{name} is no Page of studio.packs.ui.").format(name=self.entry.source)
                self._show_problem(words)
                return
            made = found(PackWindow(self, home))
        except StudioError as error:
            if isValid(self):
                self._show_problem(tr_engine(str(error)))
            return
        except Exception as error:  # the pack's own code
            self.fail(error)
            return
        finally:
            self._making = False
        self.shown = made
        self._column.addWidget(made)
        self._open(made)

    def _prepare(self) -> PackHome | None:
        """What the pack's code works with, loaded if it was not yet; blocks."""
        home = self._packs.homes.get(self.pack)
        if home is not None:
            compile_ahead(self.pack)  # which takes longer than to import
        return home

    def _open(self, page: PackWidget) -> None:
        try:
            page.open(*self._target)
        except Exception as error:  # the pack's own code
            self.fail(error)

    def set_subject(self, subject: str, agent: str) -> None:
        """The page shows another thing of its pack; see ``PackWindow``."""
        self.subject, self.agent = subject, agent
        self.keeps_chat = self.keeps_chat and bool(subject)
        self.subject_shown.emit()

    def chat_shown(self, shown: bool) -> None:
        if self.shown is None:
            return
        try:
            self.shown.chat_shown(shown)
        except Exception as error:  # the pack's own code
            self.fail(error)

    def go_on(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do what the page began; what it raises is shown here."""

        async def done() -> None:
            try:
                await work
            except Exception as error:  # the pack's own code
                self.fail(error)

        task = self._run(done())
        if task is None:  # the window closes
            work.close()
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # which was not begun, perhaps

    def fail(self, error: BaseException) -> None:
        """Show in the page's place what its code raised."""
        if not isValid(self) or self.problem is not None:
            return
        place = self._root.joinpath(*self.entry.source.partition(":")[0].split("."))
        place = place.with_suffix(".py")
        told = isinstance(error, StudioError)
        words = str(error) if told else problem_of(self._root, place, error)
        self._show_problem(tr_engine(words))

    def is_of_code(self, packs: Packs) -> bool:
        """Whether it is made, or will be, by the code that its pack has now."""
        unmade = self.home is None and self.problem is None
        return unmade or self.home is packs.homes.get(self.pack)

    def is_of(self, error: BaseException) -> bool:
        """Whether this page's code raised an error that nobody caught."""
        trace, root = error.__traceback__, str(self._root)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(root):
                return self.shown is not None
            trace = trace.tb_next
        return False

    def _show_problem(self, words: str) -> None:
        for task in self._tasks:
            task.cancel()
        page, self.shown = self.shown, None
        self.set_subject("", "")
        if page is not None:
            page.hide()
            page.deleteLater()
        self.problem = ProblemCard(self.theme, self.entry.title, words)
        self.problem.again.clicked.connect(self._try_again)
        self._column.addWidget(self.problem)
        self.problem.show()

    def _try_again(self) -> None:
        problem, self.problem = self.problem, None
        if problem is not None:
            problem.hide()
            problem.deleteLater()
        self.open(*self._target)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    async def finish(self) -> None:
        page, self.shown = self.shown, None
        for task in (*self._tasks,):
            task.cancel()
        if page is not None:
            try:
                await page.finish()
            except Exception as error:  # the pack's own code: the window closes all the same
                self.fail(error)


class ProblemCard(QWidget):
    """Says why a page cannot be shown, and offers to try again."""

    def __init__(self, theme: Theme, title: str, words: str) -> None:
        super().__init__()
        card = Card(theme)
        head = tr("{title} cannot be shown").format(title=title)
        text = Label(theme, words, "small", "text2", wrap=True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words = text
        self.again = Button(theme, tr("Try again"))
        parts = column_of([Label(theme, head, "heading", wrap=True), text], spacing=4)
        top = Qt.AlignmentFlag.AlignTop
        row = row_of([(IconTile(theme, "circle-alert", "warn"), top), (parts, 1)], spacing=12)
        buttons = row_of([self.again, STRETCH])
        column_of([row, buttons], spacing=12, margins=(14, 14, 14, 14), on=card)
        column_of([card, STRETCH], margins=(24, 24, 24, 24), on=self)
        self.setAccessibleName(head)
        QTimer.singleShot(0, self, lambda: self.again.setFocus(Qt.FocusReason.OtherFocusReason))
