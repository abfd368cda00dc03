"""The registry of the pages of the settings window: one line for each.

``docs/extending/settings_page.md`` shows how to add one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import StudioError
from studio.ui.translation import tr_later

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.providers.catalogue import Catalogue, Lister
    from studio.storage.config.keychain import Keychain
    from studio.storage.config.settings import Settings, SettingsFile
    from studio.ui.app.server_process import ServerProcess
    from studio.ui.chat.page import ChatPage
    from studio.ui.theme import Theme

    from .form import SettingsPage

MakeProvider: TypeAlias = "Callable[[str, str, str], Lister]"
"""Makes, from a provider's name, key and base URL, the object that lists its models.
The URL of the built-in model is its file."""


class SettingsTasks:
    """Runs coroutines of the settings window; ``on_problem`` gets the text of a ``StudioError``."""

    def __init__(self) -> None:
        self.on_problem: Callable[[str], object] = lambda _text: None
        self._finished_on_close, self._cancelled_on_close = BackgroundTasks(), BackgroundTasks()
        self._closed = False

    def __len__(self) -> int:
        """How many coroutines are running."""
        return len(self._finished_on_close) + len(self._cancelled_on_close)

    def start(
        self, work: Coroutine[Any, Any, object], *, cancelled_on_close: bool = False
    ) -> asyncio.Task[None]:
        """Run ``work`` to its end, or a download for example until the window is closed.

        Once that is closed nothing begins: a page may hear of a change until it is deleted.
        """
        if self._closed:
            work.close()
            work = _nothing()
        tasks = self._cancelled_on_close if cancelled_on_close else self._finished_on_close
        task = tasks.start(self._report_problem(work))
        task.add_done_callback(lambda _: work.close())  # it never began if cancelled at once
        return task

    async def _report_problem(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except StudioError as error:
            self.on_problem(str(error))

    async def aclose(self) -> None:
        """Wait until everything is saved."""
        await self._cancelled_on_close.aclose()
        await self._finished_on_close.settled()
        self._closed = True


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class SettingsServices:
    """What pages work with. ``snapshot_date`` is that of the built-in list of models, “12 May”."""

    file: SettingsFile
    keychain: Keychain
    catalogue: Catalogue
    make_provider: MakeProvider
    engine: Engine
    chat: ChatPage
    server: ServerProcess
    snapshot_date: str = ""
    tasks: SettingsTasks = field(default_factory=SettingsTasks)

    @property
    def values(self) -> Settings:
        """The settings; a page that changes them emits its ``changed``."""
        return self.file.values


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page: ``source`` is its module and class, ``icon`` the name of an icon.

    The title is the one that the page gives itself; the list shows it before the page is made.
    """

    key: str
    title: str
    icon: str
    source: str

    def load(self) -> Callable[[Theme, SettingsServices], SettingsPage]:
        """Import the page's module and return its class."""
        from pkgutil import resolve_name

        return resolve_name(f"studio.ui.settings.pages.{self.source}")


PAGES: tuple[PageEntry, ...] = (
    PageEntry("general", tr_later("General"), "sliders-horizontal", "general:GeneralPage"),
    PageEntry("providers", tr_later("Providers"), "plug", "providers:ProvidersPage"),
    PageEntry(
        "local-models",
        tr_later("Local models"),
        "hard-drive-download",
        "local_models:LocalModelsPage",
    ),
    PageEntry("mcp", tr_later("MCP servers"), "blocks", "servers:ServersPage"),
    PageEntry("skills", tr_later("Skills"), "sparkles", "skills:SkillsPage"),
    PageEntry("hooks", tr_later("Hooks"), "hand", "hooks:HooksPage"),
    PageEntry("packs", tr_later("Packs"), "package", "packs:PacksPage"),
    PageEntry("permissions", tr_later("Permissions"), "shield", "permissions:PermissionsPage"),
    PageEntry("web", tr_later("Web"), "globe", "web:WebPage"),
    PageEntry("server", tr_later("Server"), "server", "server:ServerPage"),
    PageEntry("budgets", tr_later("Budgets"), "wallet", "budgets:BudgetsPage"),
    PageEntry("appearance", tr_later("Appearance"), "palette", "appearance:AppearancePage"),
    PageEntry("shortcuts", tr_later("Shortcuts"), "keyboard", "shortcuts:ShortcutsPage"),
    PageEntry("data", tr_later("Data"), "hard-drive", "data:DataPage"),
    PageEntry("about", tr_later("About"), "info", "about:AboutPage"),
)
