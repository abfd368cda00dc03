"""The first page: the person chooses what agents run on, and a first chat begins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QSizePolicy,
    QStackedLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.domain.errors import StudioError
from studio.providers.local_model import ABOUT, has_weights
from studio.providers.registry import KEYED, PROVIDER_TITLES, PROVIDERS
from studio.storage.config.keychain import KeychainUnavailable
from studio.ui.chat.page import ChatPage
from studio.ui.engine_texts import tr_engine
from studio.ui.settings.key_row import provider_of_key
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import draw_text
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import (
    Button,
    Column,
    Combo,
    Field,
    FocusRing,
    Label,
    Logo,
    MenuItem,
    PaintedButton,
    Status,
)
from studio.ui.widgets.layouts import STRETCH, Stretch, column_of, row_of
from studio.ui.widgets.painting import (
    PaintedWidget,
    centred,
    paint_keycaps,
    paint_rounded,
    paint_text,
)

if TYPE_CHECKING:
    from studio.agent.engine import Engine

WIDTH, LEAST = 480, 380
"""Pixels of a row's width at normal text size, and the least, with a line that is wrapped."""
_WRAP = int(Qt.TextFlag.TextWordWrap)


class ChoiceRow(PaintedButton):
    """A large row: a title, a line below, a key that chooses it, and perhaps a status."""

    radius = 10

    def __init__(
        self, theme: Theme, icon: str, title: str, line: str, key: str, parent: QWidget
    ) -> None:
        super().__init__(theme, parent)
        self._icon, self._line, self._key = icon, line, key
        self._status, self._state = "", "off"
        self.setText(title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_status("", "off")

    def set_status(self, text: str, state: str) -> None:
        """A dot and words beside the title: ``ok``, ``warn`` or ``off``."""
        self._status, self._state = text, state
        self.setAccessibleName(joined((self.text(), text, self._line)))
        self.update()

    def sizeHint(self) -> QSize:
        t = self.theme
        lines = t.metrics("heading").height() + t.metrics("ui").height()
        return QSize(t.px(WIDTH), max(t.px(72), lines + 24))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(LEAST), self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, self.radius, t.color("surface"), t.color("control"))
        self.paint_overlay(painter, rect)
        side = t.px(36)
        tile = QRectF(16, (rect.height() - side) / 2, side, side)
        paint_rounded(painter, tile, 8, t.color("track"))
        t.paint_icon(painter, centred(tile, t.px(18)), self._icon, "text1")
        x, room = tile.right() + 16, rect.width() - tile.right() - 16 - 52
        head, whole = t.metrics("heading"), QRect(0, 0, int(room) + 10, int(rect.height()))
        below = t.metrics("ui").boundingRect(whole, _WRAP, self._line).height()
        y = (rect.height() - head.height() - below - 4) / 2
        place = QRectF(x, y, room + 10, head.height())
        paint_text(painter, t, place, self.text(), "heading")
        if self._status:
            at = x + head.horizontalAdvance(self.text()) + 12
            dot = QRectF(at, y + head.height() / 2 - t.px(7) / 2, t.px(7), t.px(7))
            ink = {"ok": "ok", "warn": "warn"}.get(self._state, "text3")
            paint_rounded(painter, dot, dot.width() / 2, t.color(ink))
            place.setLeft(dot.right() + 6)
            space = x + room - place.x()
            paint_text(painter, t, place, self._status, "small", "text2", room=space)
        place = QRectF(x, y + head.height() + 4, room + 10, below)
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        draw_text(painter, place, _WRAP, self._line)
        paint_keycaps(painter, t, QPointF(rect.width() - 34, rect.center().y()), self._key)


class _Start(QWidget):
    """Three rows, and a quieter fourth choice."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.demo = ChoiceRow(
            theme,
            "play",
            tr("Try the demo"),
            tr("A recorded session. No key and no network."),
            "1",
            self,
        )
        self.key = ChoiceRow(
            theme,
            "key-round",
            tr("Add an API key"),
            tr("Anthropic, OpenAI or Gemini. Kept in your system keychain."),
            "2",
            self,
        )
        self.ollama = ChoiceRow(
            theme,
            "laptop",
            tr("Connect Ollama"),
            tr("Models on this computer. Nothing leaves it."),
            "3",
            self,
        )
        self.builtin = Button(theme, tr("Use the small built-in model"), "link")
        line = tr("Choose what your agents run on. You can change it later.")
        about = tr("Works offline. {about}").format(about=tr_engine(ABOUT))
        offline = _words(theme, about, "small", "text3")
        if not has_weights():  # the light package has neither them nor an engine for them
            self.builtin.hide()
            offline.hide()
        private = tr(
            "Your chats stay on this computer. Messages go only to the provider you choose."
        )
        middle = Qt.AlignmentFlag.AlignHCenter
        self._theme, self._logo = theme, Logo(theme)
        column = QVBoxLayout(self)
        column.setSpacing(0)
        column.addStretch(10)
        for widget, space in (
            (self._logo, 18),
            (_words(theme, tr("Welcome to Agent Studio"), "display", "text1"), 4),
            (_words(theme, line, "body", "text2"), 24),
            (self.demo, 10),
            (self.key, 10),
            (self.ollama, 16),
            *((self.builtin, 0), (offline, 18)),
            (_words(theme, private, "small", "text2"), 0),
        ):
            wraps = isinstance(widget, Label)
            column.addWidget(widget, 0, Qt.AlignmentFlag(0) if wraps else middle)
            column.addSpacing(space)
        column.addStretch(11)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._logo.setVisible(self.height() >= self._theme.px(500))


def _words(theme: Theme, words: str, role: str, ink: str) -> Label:
    """Words in the middle of the page, on as many lines as they need."""
    label = Label(theme, words, role, ink, wrap=True)
    label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    return label


class _KeyPage(QWidget):
    """Paste a key, see whose it is, try it once, keep it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        inner = Column(theme, WIDTH, least=LEAST)
        outer = QHBoxLayout(self)
        outer.addStretch(1)
        outer.addWidget(inner, 100)  # as wide as it may be
        outer.addStretch(1)
        self.note = Label(
            theme,
            tr(
                "Paste a key from Anthropic, OpenAI or Gemini. It is tried once, then kept in your "
                "system keychain, never in a file."
            ),
            "ui",
            "text2",
            wrap=True,
        )
        self.field = Field(theme, tr("API key"), secret=True)
        self.provider = Combo(theme, tr("Provider"), tr("Provider"))
        self.provider.set_items([MenuItem(name, PROVIDER_TITLES[name]) for name in KEYED])
        self.provider.hide()
        self.status = Status(theme)
        self.status.hide()
        self.error = Label(theme, "", "small", "err", wrap=True)
        self.error.hide()
        self.back = Button(theme, tr("Back"), "ghost")
        self.session = Button(theme, tr("Keep for this session only"))
        self.session.hide()
        self.add = Button(theme, tr("Add key"), "primary", keycap="Enter")
        self.add.setEnabled(False)
        column_of(
            [
                Stretch(10),
                Label(theme, tr("Add an API key"), "title"),
                self.note,
                6,
                self.field,
                row_of([self.status, self.provider, STRETCH]),
                self.error,
                4,
                row_of([self.back, STRETCH, self.session, self.add]),
                Stretch(14),
            ],
            spacing=8,
            on=inner,
        )


class FirstRun(PaintedWidget):
    """The first page.

    ``test_key(provider, key)`` makes one call and raises ``StudioError`` with
    words for the person. ``keep_key(provider, key, session_only)`` keeps it and
    raises ``KeychainUnavailable`` where the system cannot.
    """

    ground = "surface"
    chosen = Signal(str)
    """The name of the provider that agents run on."""

    def __init__(
        self,
        theme: Theme,
        test_key: Callable[[str, str], Awaitable[object]],
        keep_key: Callable[[str, str, bool], Awaitable[object]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._test_key = test_key
        self._keep_key = keep_key
        self._task: asyncio.Task[None] | None = None
        self._tested = ""
        self._start = _Start(theme)
        self._page = _KeyPage(theme)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._start)
        self._stack.addWidget(self._page)
        self._start.demo.clicked.connect(lambda: self.chosen.emit("simulator"))
        self._start.key.clicked.connect(self.show_key_page)
        self._start.ollama.clicked.connect(lambda: self.chosen.emit("ollama"))
        self._start.builtin.clicked.connect(lambda: self.chosen.emit("builtin"))
        page = self._page
        page.field.textChanged.connect(self._typed)
        page.field.returnPressed.connect(self._add)
        page.provider.chosen.connect(lambda _key: self._typed())
        page.provider.chosen.connect(lambda _key: page.field.setFocus())
        page.add.clicked.connect(self._add)
        page.session.clicked.connect(lambda: self._add(session_only=True))
        page.back.clicked.connect(self.show_start)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Tab goes through what is on it

    def set_ollama(self, text: str, found: bool = True) -> None:
        """What the probe said: “Found, 3 models”, or “Not running”."""
        self._start.ollama.set_status(text, "ok" if found else "off")

    def show_start(self) -> None:
        self._cancel()
        self._page.field.clear()
        self._stack.setCurrentWidget(self._start)
        FocusRing.of(self.theme).give(self._start.demo)

    def show_key_page(self) -> None:
        self._stack.setCurrentWidget(self._page)
        self._page.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stack.currentWidget() is self._start:
            FocusRing.of(self.theme).give(self._start.demo)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page, key = self._stack.currentWidget(), event.key()
        if page is self._page:
            if key == Qt.Key.Key_Escape:
                self.show_start()
                return
            super().keyPressEvent(event)
            return
        rows = {
            Qt.Key.Key_1: self._start.demo,
            Qt.Key.Key_2: self._start.key,
            Qt.Key.Key_3: self._start.ollama,
        }
        focused = self.focusWidget()
        buttons = (*rows.values(), self._start.builtin)
        order: list[QWidget] = [one for one in buttons if not one.isHidden()]
        if key in rows and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            rows[Qt.Key(key)].click()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up) and focused in order:
            step = 1 if key == Qt.Key.Key_Down else -1
            at = max(0, min(len(order) - 1, order.index(focused) + step))
            order[at].setFocus(Qt.FocusReason.TabFocusReason)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focused, PaintedButton):
            focused.click()
        else:
            super().keyPressEvent(event)

    # The key's way

    def _provider(self) -> str:
        found = provider_of_key(self._page.field.text())
        return found or self._page.provider.current

    def _typed(self) -> None:
        self._cancel()
        page, text = self._page, self._page.field.text().strip()
        name = provider_of_key(text)
        page.field.set_error()
        page.error.hide()
        page.session.hide()
        page.add.show()
        known = PROVIDERS.get(name)
        page.status.setVisible(known is not None)
        if known is not None:
            page.status.set(tr("{title} key").format(title=known.title), "ok")
        page.provider.setVisible(known is None and len(text) > 5)
        page.add.setEnabled(bool(text) and bool(self._provider()))

    def _add(self, session_only: bool = False) -> None:
        key, name = self._page.field.text().strip(), self._provider()
        if not key or not name or self._task is not None:
            return
        self._task = asyncio.ensure_future(self._try(name, key, session_only))

    async def _try(self, name: str, key: str, session_only: bool) -> None:
        page, title = self._page, PROVIDERS[name].title
        page.error.hide()
        page.add.setEnabled(False)
        page.session.setEnabled(False)
        page.status.show()
        page.status.set(tr("Trying the key with {title}…").format(title=title), "busy")
        try:
            if self._tested != f"{name}\0{key}":
                await self._test_key(name, key)
                self._tested = f"{name}\0{key}"
            await self._keep_key(name, key, session_only)
        except KeychainUnavailable as error:
            page.status.set(tr("Key works"), "ok")
            self._fail(tr_engine(str(error)), page.field.error)
            page.session.show()
            page.add.hide()
        except StudioError as error:
            page.status.set(tr("{title} key").format(title=title), "off")
            self._fail(tr_engine(str(error)), str(error))
        else:
            page.status.set(tr("Key works"), "ok")
            self._tested = ""
            page.field.clear()
            page.status.hide()
            self.chosen.emit(name)
        finally:
            if self._task is asyncio.current_task():
                self._task = None
                page.add.setEnabled(True)
                page.session.setEnabled(True)

    def _fail(self, words: str, error: str) -> None:
        self._page.error.show_text(words)
        self._page.field.set_error(error)

    def _cancel(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()


class FirstRunController(QObject):
    """Shows the first page and does what is chosen on it.

    ``later`` runs a coroutine on the event loop.
    """

    begun = Signal()
    """The chat page holds a new chat that runs on what was chosen."""

    def __init__(
        self,
        theme: Theme,
        engine: Engine,
        chat: ChatPage,
        later: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        super().__init__(chat)
        self._engine, self._chat, self._later = engine, chat, later
        page = self._page = FirstRun(theme, engine.providers.test, engine.keep_key)
        page.chosen.connect(lambda provider: self._later(self._start(provider)))

    def show(self, pages: QStackedWidget) -> None:
        pages.addWidget(self._page)
        pages.setCurrentWidget(self._page)
        self._page.show_start()
        self._later(self._probe_ollama())

    async def _probe_ollama(self) -> None:
        """One second is enough for a server on this computer."""
        providers = self._engine.providers
        try:
            async with asyncio.timeout(1):
                provider = providers.make("ollama", "", providers.base_url("ollama"))
                models = await provider.models()
        except (TimeoutError, StudioError):
            self._page.set_ollama(tr("Not running"), False)
        else:
            many = tr_plural("{count} model", "{count} models", len(models))
            self._page.set_ollama(tr("Found, {many}").format(many=many))

    async def _start(self, provider: str) -> None:
        """Remember what was chosen and begin."""
        engine = self._engine
        await engine.use_new_key()  # what is chosen here holds beside the keys that are there
        values = engine.settings.values
        values.first_run_done = True
        values.default_provider = provider
        if setting := PROVIDERS[provider].connected_setting:
            setattr(values, setting, True)
        await engine.settings.save()
        await engine.look_for_providers()
        await engine.refresh_models(provider)
        if provider == "simulator":
            folder = str(await asyncio.to_thread(engine.demo_folder))
            text = "What is in this folder?"
            await self._chat.model.start_new(provider=provider, text=text, folder=folder)
        else:
            await self._chat.model.start_new(provider=provider)
        self.begun.emit()
