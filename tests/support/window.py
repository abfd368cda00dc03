"""The real window, driven by keys and mouse, with the simulator behind it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QMessageBox, QWidget

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.blocks import TranscriptBlock
from studio.simulator import Script, Simulator
from studio.simulator.http import Exchange
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.ui.app.main_window import MainWindow
from studio.ui.app.program import Program
from studio.ui.app.qt_loop import StudioLoop
from studio.ui.chat.model_picker import ModelPicker
from studio.ui.pages.workflows.runs import question_card
from studio.ui.theme import Theme
from studio.ui.theme.look import look_of
from studio.ui.transcript.items.base import Hit, Item
from support import thread_classes
from support.engine_home import KEY, PROTOCOLS, give_time
from support.ready_made import ready_engine
from support.waiting import FOREVER, HANG, until

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
Key = Qt.Key
FOREIGN = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OLLAMA_HOST",
)
"""What this computer's owner may have set."""

thread_classes.watch()
# Who drives the window here answers at once; what is shown until it was read has tests of its own.
question_card.READ = 0


@pytest.fixture
def alone(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> QApplication:
    """No key, address or keychain of this computer is seen."""
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return qapp


def in_focus(widget: QWidget) -> bool:
    """Whether keys in a widget's window go to it; off screen the window may not be the active one."""
    return widget.window().focusWidget() is widget


def on_window_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a coroutine on the window's event loop, and see that nothing is left of it."""

    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.setQuitOnLastWindowClosed(False)  # as the program does: that would stop a later loop
        loop = StudioLoop(app)
        asyncio.set_event_loop(loop)
        wrong: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: wrong.append(context))
        try:
            loop.run_until_complete(asyncio.wait_for(test(*args, **named), 2 * HANG))
            left = loop.run_until_complete(_left())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
        gc.collect()
        gc.freeze()  # what is left stays: the next collection, of all there is, need not look at it
        assert not wrong, wrong
        assert not left, left
        assert not thread_classes.noted, "classes of Qt's, defined in a thread"

    return run


async def _left() -> list[str]:
    """Tasks that do not end by themselves."""

    def others() -> set[asyncio.Task[Any]]:
        return asyncio.all_tasks() - {asyncio.current_task()}

    with contextlib.suppress(AssertionError):
        await until(lambda: not others())
    left = [repr(task) for task in others()]
    for task in others():
        task.cancel()
    await asyncio.sleep(0)
    return left


@dataclass
class Person:
    """Somebody at the window."""

    program: Program
    window: MainWindow
    simulator: Simulator
    provider: str
    folder: Path
    clock: list[float] = field(default_factory=list)

    # What is there

    @property
    def engine(self) -> Engine:
        assert self.window.engine is not None
        return self.window.engine

    @property
    def session(self) -> Session:
        assert self.window.chat.session is not None
        return self.window.chat.session

    @property
    def at_work(self) -> bool:
        """Whether the provider has a request of the chat, and the turn still runs."""
        session = self.window.chat.session
        return session is not None and session.running and bool(self.simulator.requests)

    @property
    def composer(self):
        return self.window.chat.composer

    @property
    def view(self):
        return self.window.chat.view

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests to models, without those for lists."""
        ends = ("/messages", "/responses", "/completions", "GenerateContent", "/api/chat")
        return [r for r in self.simulator.requests if r.path.endswith(ends)]

    @property
    def asked(self) -> list[str]:
        """What models were asked, one text for each request."""
        return [str(request.json) for request in self.exchanges]

    def blocks(self, kind: type[TranscriptBlock] | None = None) -> list[Any]:
        blocks = self.session.transcript.blocks if self.window.chat.session else []
        return [block for block in blocks if kind is None or isinstance(block, kind)]

    def says(self, text: str) -> bool:
        """Whether the transcript's items say this, as a screen reader would."""
        return any(text in item.name or text in item.source() for item in self.view.canvas.items)

    def item(self, kind: type[Item]) -> Any:
        """The newest item of a kind, once it is laid out and was painted."""
        self.view.flush()
        found = [item for item in self.view.canvas.items if isinstance(item, kind)]
        return found[-1] if found and found[-1].laid else None

    def strip_button(self, text: str) -> QAbstractButton:
        """A button of the strip above the composer."""
        found = self.window.chat.strip.findChildren(QAbstractButton)
        return next(b for b in found if b.text() == text and b.isVisible())

    def focused(self) -> QWidget | None:
        return QApplication.focusWidget()

    # Waiting

    async def done(self, turns: int = 1) -> None:
        """Wait for the end of the running turn: the composer takes words again."""
        await until(
            lambda: (
                self.window.chat.session is not None
                and not self.session.running
                and self.composer.state == "idle"
                and sum(block.__class__.__name__ == "AgentBlock" for block in self.blocks())
                >= turns
            ),
            "the turn ends",
        )
        self.view.flush()

    # Keys

    def press(
        self, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        """A key, wherever the focus is."""
        target = QApplication.activePopupWidget() or self.focused() or self.window
        QTest.keyClick(target, key, held)

    def type(self, text: str) -> None:
        target = self.focused()
        assert target is not None, "nothing has the focus"
        QTest.keyClicks(target, text)

    def say(self, text: str) -> None:
        """Type in the composer and press Enter."""
        assert self.focused() is self.composer.editor, self.focused()
        self.type(text)
        self.press(Key.Key_Return)

    # Mouse

    def click(self, widget: QWidget, at: QPoint | None = None) -> None:
        above: QWidget | None = widget
        while above is not None:  # what was just put into a layout is shown by its next event
            QApplication.sendPostedEvents(above, QEvent.Type.MetaCall)
            above = above.parentWidget()
        assert widget.isVisible() and widget.isEnabled(), widget
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at or widget.rect().center())

    def hit(self, kind: type[Item], action: str) -> Hit | None:
        item = self.item(kind)
        return next((hit for hit in item.hits if hit.action == action), None) if item else None

    async def click_hit(self, kind: type[Item], action: str) -> None:
        """Click a button of the newest item of a kind in the transcript."""
        hit = await until(lambda: self.hit(kind, action), what=f"{kind.__name__} {action}")
        item, view = self.item(kind), self.view
        index = view.canvas.index(item)
        assert index is not None
        view.canvas_viewport.reveal(index)
        place = place_of(view, index, hit.rect)
        assert view.viewport().rect().contains(place), (place, view.viewport().rect())
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)

    async def choose(self, button: QWidget, words: str) -> None:
        """Open a menu with the mouse and pick the line that begins like this.

        A list with a field has it typed instead.
        """
        self.click(button)
        menu = await until(QApplication.activePopupWidget, what="a menu")
        if isinstance(menu, ModelPicker):
            QTest.keyClicks(menu.field, words)
            QTest.keyClick(menu.field, Qt.Key.Key_Return)
        else:
            assert isinstance(menu, QMenu)
            self.pick(menu, words)
        await until(lambda: QApplication.activePopupWidget() is None)
        button.window().activateWindow()  # the offscreen platform forgets who was active
        await until(button.window().isActiveWindow)

    def pick(self, menu: QMenu, words: str) -> None:
        """Click the line of a menu that begins like this."""
        action = next(a for a in menu.actions() if a.text().startswith(words))
        QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())

    async def open_chat(self, title: str) -> None:
        """Click a chat in the sidebar."""
        chats = self.window.sidebar.chats
        index = await until(lambda: row_of(chats, title), what=f"chat {title}")
        chats.scrollTo(index)
        QTest.mouseClick(
            chats.viewport(), Qt.MouseButton.LeftButton, pos=chats.visualRect(index).center()
        )

    def chats(self) -> list[str]:
        """The titles in the sidebar."""
        return [row.title for row in self.window.sidebar.chats.chats.rows if row.id]

    def status(self, title: str) -> str:
        rows = self.window.sidebar.chats.chats.rows
        return next((row.status for row in rows if row.id and row.title == title), "not there")


def row_of(chats: Any, title: str) -> Any:
    rows = chats.chats.rows
    at = next((n for n, row in enumerate(rows) if row.id and row.title == title), None)
    return None if at is None else chats.chats.index(at)


def popup() -> QMenu | None:
    found = QApplication.activePopupWidget()
    return found if isinstance(found, QMenu) else None


def message() -> QMessageBox | None:
    """The question that is on screen."""
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, QMessageBox) and widget.isVisible():
            return widget
    return None


def drag_enter(
    at: QPointF, data: QMimeData, action: Qt.DropAction = Qt.DropAction.CopyAction
) -> QDragEnterEvent:
    """The mouse comes in with something that is dragged."""
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    try:
        return QDragEnterEvent(at, action, data, left, none)
    except TypeError:  # before Qt 6.12, whole pixels alone
        return QDragEnterEvent(at.toPoint(), action, data, left, none)


def place_of(view: Any, index: int, rect: QRectF) -> QPoint:
    """The middle of something in an item, in the viewport."""
    top = view.canvas.top(index) - view.scroller.value
    return (rect.center() + QPointF(view.canvas_viewport.column_left, top)).toPoint()


@contextlib.asynccontextmanager
async def at_window(
    home: Path,
    provider: str,
    script: Script,
    *,
    key: str = KEY,
    first_run: bool = False,
    theme: str = "light",
    size: tuple[int, int] = (1440, 900),
    setup: Callable[[SettingsFile], None] = lambda settings: None,
    debounce: float | None = None,
    ready: bool = True,
    pace: bool = False,
    folder: Path | None = None,
    prepare: Callable[[Engine], Awaitable[None]] | None = None,
    fonts: tuple[str, str] | None = None,
) -> AsyncIterator[Person]:
    """Open the window on what is in ``home`` (again: a restart), and close it at the end."""
    folder = folder or home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    async with Simulator(script, pace=pace) as simulator:
        paths = Paths.below(home / "studio")
        settings = SettingsFile(paths.settings)
        values = await settings.load()
        give_time(values)
        values.theme = theme  # type: ignore[assignment]
        values.base_urls[provider] = simulator.url(PROTOCOLS[provider])  # type: ignore[arg-type]
        if not first_run:
            values.first_run_done = True
            values.default_provider = provider
            values.default_model.setdefault(provider, "sim-model")
            values.last_folder = values.last_folder or str(folder)
        setup(settings)

        async def making() -> Engine:
            engine = await ready_engine(paths, settings)
            policy = replace(engine.services.retry_policy, silence=FOREVER, limit=FOREVER)
            engine.services.retry_policy = policy  # a busy computer tells of no silence
            if provider != "ollama" and key:
                engine.keychain.keep_for_session(provider, key)
            if debounce is not None:
                engine.catalogue._debounce = debounce
            if prepare is not None:
                await prepare(engine)
            return engine

        look = Theme()
        look.wear(look_of(settings.values))
        if fonts is not None:
            look._family, look._fixed = [fonts[0]], [fonts[1]]
        look.apply(app)
        program = Program(look, settings)
        window = program.open_window()
        window.resize(*size)
        window.show()
        window.activateWindow()
        person = Person(program, window, simulator, provider, folder)
        try:
            await asyncio.wait_for(window.painted, HANG)
            await program.load(making())
            if ready:
                await until(window.isActiveWindow)
                await until(program.ready.done)
            yield person
        finally:
            if program.preferences.dialog is not None:
                program.preferences.dialog.close()
            program.end()
            await asyncio.wait_for(program.closed, HANG)
            look.set("light", 1.0)
            for window in program.windows:
                window.deleteLater()
            program.deleteLater()
            look.deleteLater()
            app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
