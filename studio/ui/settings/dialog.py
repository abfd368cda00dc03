"""The settings window: a list of pages at the left, the page at the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.providers.catalogue import Catalogue
from studio.providers.registry import PROVIDERS
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile
from studio.ui.theme import Theme
from studio.ui.widgets import Card, Column, Hairline, Label

from .form import SettingsPage
from .page_list import PageList
from .pages.general import GeneralPage, ModelMenu
from .provider_section import MakeProvider, ProviderSection, ProviderServices
from .tasks import Tasks

if TYPE_CHECKING:  # only the window has a studio
    from studio.agent.engine import Engine
    from studio.ui.app.server_process import ServerProcess
    from studio.ui.chat.page import ChatPage

    from .pages.permissions import PermissionsPage
    from .pages.server import ServerPage
    from .pages.web import WebPage

LIST_WIDTH = 196
LEAST = QSize(720, 420)


class ProvidersPage(SettingsPage):
    """The providers, one section each."""

    changed = Signal(str)

    def __init__(self, theme: Theme, pieces: ProviderServices) -> None:
        super().__init__(
            theme, "Providers", "Keys are stored in your system keychain, never in a file."
        )
        self._pieces = pieces
        card = Card(theme, "surface", "hair")
        column = QVBoxLayout(card)
        column.setContentsMargins(14, 0, 14, 0)
        column.setSpacing(0)
        self.sections: dict[str, ProviderSection] = {}
        for known in (one for one in PROVIDERS.values() if one.in_settings):
            if self.sections:
                column.addWidget(Hairline(theme))
            section = self.sections[known.name] = ProviderSection(theme, known, pieces)
            section.changed.connect(self.changed)
            column.addWidget(section)
        self.column.addWidget(card)
        self.column.addStretch(1)

    def refresh(self) -> None:
        for section in self.sections.values():
            section.refresh()
        self._pieces.tasks.start(self._look())

    async def _look(self) -> None:
        for section in self.sections.values():
            await section.look()
        if self._pieces.keychain.problem:
            self.line.setText(
                f"{self._pieces.keychain.problem} Keys can be kept for this session only."
            )


class SettingsDialog(QDialog):
    """Not modal; changes apply at once and are saved.

    ``provider_changed`` tells whose key, address or models changed;
    ``general_changed`` that something on the General page did, ``server_changed``
    that something about the server did and is saved.
    """

    provider_changed = Signal(str)
    general_changed = Signal()
    server_changed = Signal()

    def __init__(
        self,
        theme: Theme,
        settings: SettingsFile,
        keychain: Keychain,
        catalogue: Catalogue,
        make_provider: MakeProvider,
        snapshot_date: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._file = settings
        self._tasks = Tasks(self._problem)
        self.setWindowTitle("Settings")
        self.setModal(False)
        self.setMinimumSize(LEAST)
        self._scale = theme.scale
        self.resize(QSize(theme.px(880), theme.px(620)).boundedTo(self._room))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)

        left = Column(theme, LIST_WIDTH)
        listed = QVBoxLayout(left)
        listed.setContentsMargins(10, 8, 9, 8)
        self.list = PageList(theme)
        self.list.chosen.connect(self._show_page)
        listed.addWidget(self.list)
        row.addWidget(left)
        row.addWidget(Hairline(theme, upright=True))
        right = QVBoxLayout()
        right.setSpacing(0)
        row.addLayout(right, 1)
        self._stack = QStackedWidget()
        right.addWidget(self._stack, 1)
        self._said = Label(theme, "", "small", "err", wrap=True)
        self._said.setContentsMargins(24, 0, 24, 10)
        self._said.hide()
        right.addWidget(self._said)

        pieces = ProviderServices(
            settings.values, keychain, catalogue, make_provider, self._tasks, snapshot_date
        )
        self.general = GeneralPage(theme, settings.values)
        self.general.changed.connect(self._general_changed)
        self.general.routing.providers_wanted.connect(lambda: self.list.choose("providers"))
        self.providers = ProvidersPage(theme, pieces)
        self.providers.changed.connect(self._provider_changed)
        self._pages: dict[str, SettingsPage] = {}
        self._add("general", "General", "sliders-horizontal", self.general)
        self._add("providers", "Providers", "plug", self.providers)
        self._keychain = keychain
        self.permissions: PermissionsPage | None = None
        self.web: WebPage | None = None
        self.server: ServerPage | None = None
        self.list.choose("general")
        theme.changed.connect(self._follow)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)

    @property
    def _room(self) -> QSize:
        """What there is of the screen."""
        return self.screen().availableSize() * 0.95

    def _follow(self) -> None:
        if self._scale != self.theme.scale:
            grown = self.size() * (self.theme.scale / self._scale)
            self._scale = self.theme.scale
            self.resize(grown.boundedTo(self._room))
            QTimer.singleShot(0, self, self._fit)  # when the pages have measured themselves
        self.update()

    def _fit(self) -> None:
        """Never narrower than the widest page, where the screen is not."""
        widest = max(page.inner.minimumSizeHint().width() for page in self._pages.values())
        least = max(LEAST.width(), self.theme.px(LIST_WIDTH) + 1 + widest)
        self.setMinimumWidth(min(least, self._room.width()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _add(self, key: str, title: str, icon: str, page: SettingsPage) -> None:
        self._pages[key] = page
        self._stack.addWidget(page)
        self.list.add(key, title, icon)

    def _show_page(self, key: str) -> None:
        self._stack.setCurrentWidget(self._pages[key])

    def _focus_moved(self, _old: QWidget | None, now: QWidget | None) -> None:
        page = self._stack.currentWidget()
        if isinstance(page, SettingsPage) and now is not None and page.isAncestorOf(now):
            page.reveal(now)

    def open_page(self, key: str = "general", at: str = "") -> None:
        """Show the window at a page, with the provider ``at`` opened, or in that limit's field."""
        self.list.choose(key)
        if at in self.providers.sections:
            self.providers.sections[at].open()
        elif field := self.general.limits.fields.get(at):
            field.setFocus()
        self.show()
        self.raise_()
        self.activateWindow()

    def refresh(self) -> None:
        """Show the settings as they are now; a page that is hidden does when it is shown."""
        page = self._stack.currentWidget()
        if isinstance(page, SettingsPage) and page.isVisible():
            page.refresh()

    def add_permissions(self, studio: Engine, chat: ChatPage) -> None:
        """The pages about what agents may do, in the chat on screen too."""
        from .pages.permissions import PermissionsPage
        from .pages.web import WebPage

        self.permissions = PermissionsPage(self.theme, studio, self._tasks, chat)
        self.permissions.changed.connect(self._general_changed)
        self.web = WebPage(self.theme, studio.settings.values, self._keychain, self._tasks)
        self.web.changed.connect(self._general_changed)
        self._add("permissions", "Permissions", "shield", self.permissions)
        self._add("web", "Web", "globe", self.web)

    def add_server(self, studio: Engine, beside: ServerProcess) -> None:
        """The page about the server that runs beside the window."""
        from studio.storage.config.server_token import ServerToken

        from .pages.server import ServerPage

        values, token = studio.settings.values, ServerToken(self._keychain, studio.paths.data)
        page = ServerPage(self.theme, values, token, beside, studio.tools, self._tasks)
        page.changed.connect(self._server_changed)
        self.server = page
        self._add("server", "Server", "server", page)

    def set_agents(self, agents: Sequence[tuple[str, str]]) -> None:
        """Agents to choose from, by name and icon."""
        self.general.set_agents(agents)

    def set_models(self, offer: ModelMenu) -> None:
        """Models to choose from, see ``ModelMenu``."""
        self.general.routing.set_models(offer)

    async def aclose(self) -> None:
        """Close, and wait until everything is saved."""
        self.close()
        await self._tasks.aclose()

    def _save(self) -> None:
        self._said.hide()
        self._tasks.start(self._file.save())

    def _general_changed(self) -> None:
        self._save()
        self.general_changed.emit()

    def _server_changed(self) -> None:
        async def work() -> None:
            await self._file.save()
            self.server_changed.emit()

        self._said.hide()
        self._tasks.start(work())

    def _provider_changed(self, name: str) -> None:
        self._save()
        self.provider_changed.emit(name)

    def _problem(self, words: str) -> None:
        self._said.setText(words)
        self._said.show()

    def closeEvent(self, event: QCloseEvent) -> None:
        focused = self.focusWidget()
        if focused is not None:
            focused.clearFocus()  # a field that is being edited says so
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.color("surface"))
        left = QRectF(0, 0, self.theme.px(LIST_WIDTH), self.height())
        painter.fillRect(left, self.theme.color("window"))
        painter.end()
