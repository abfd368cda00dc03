"""The registry of the pages of the settings window: one line for each.

``docs/extending/settings_page.md`` shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from .tasks import Tasks

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
"""Of a provider's name, key and base URL: what can be asked for its models.
For the built-in model the URL is its file."""


@dataclass(frozen=True, slots=True)
class SettingsServices:
    """What pages work with. ``snapshot_date`` is that of the built-in models, “12 May”."""

    file: SettingsFile
    keychain: Keychain
    catalogue: Catalogue
    make_provider: MakeProvider
    engine: Engine
    chat: ChatPage
    server: ServerProcess
    snapshot_date: str = ""
    tasks: Tasks = field(default_factory=Tasks)

    @property
    def values(self) -> Settings:
        """The settings; a page that changes them emits its ``changed``."""
        return self.file.values


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page: ``source`` is its module and class, ``icon`` the name of a drawing."""

    key: str
    icon: str
    source: str

    def load(self) -> Callable[[Theme, SettingsServices], SettingsPage]:
        """Imports the page's module and returns its class."""
        from pkgutil import resolve_name

        return resolve_name(f"studio.ui.settings.pages.{self.source}")


PAGES: tuple[PageEntry, ...] = (
    PageEntry("general", "sliders-horizontal", "general:GeneralPage"),
    PageEntry("providers", "plug", "providers:ProvidersPage"),
    PageEntry("permissions", "shield", "permissions:PermissionsPage"),
    PageEntry("web", "globe", "web:WebPage"),
    PageEntry("server", "server", "server:ServerPage"),
)
