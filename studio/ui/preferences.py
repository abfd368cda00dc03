"""The settings in the window: their dialog, and what it means here when they change."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from studio.storage.settings import SettingsFile
from studio.ui.chat.page import ChatPage
from studio.ui.serving import Serving
from studio.ui.theme import Theme

if TYPE_CHECKING:
    from studio.agent.studio import Studio
    from studio.ui.settings import SettingsDialog


class Preferences(QObject):
    """``later`` runs a coroutine on the event loop."""

    def __init__(
        self,
        window: QWidget,
        theme: Theme,
        settings: SettingsFile,
        chat: ChatPage,
        serving: Serving,
        later: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        super().__init__(window)
        self._window, self._theme, self._settings = window, theme, settings
        self._chat, self._serving, self._later = chat, serving, later
        self._studio: Studio | None = None
        self.dialog: SettingsDialog | None = None
        """None until it was first wanted."""

    def live(self, studio: Studio) -> None:
        """The pieces are there: the dialog can be opened."""
        self._studio = studio

    def open(self, page: str = "general", provider: str = "") -> None:
        """A page of the settings; on ``providers`` with one of them opened."""
        if self._studio is None:
            return
        if self.dialog is None:
            self.dialog = self._made(self._studio)
        self.dialog.open_page(page, provider)
        self._later(self._offer_agents(self._studio, self.dialog))

    def _made(self, studio: Studio) -> SettingsDialog:
        from studio.ui.chat.menus import model_items
        from studio.ui.settings import SettingsDialog
        from studio.ui.settings.known import month

        dialog = SettingsDialog(
            self._theme,
            self._settings,
            studio.keychain,
            studio.catalogue,
            studio.connections.lister,
            month(studio.snapshot_date),
            self._window,
        )
        dialog.provider_changed.connect(self._changed)
        dialog.general_changed.connect(self._changed)
        dialog.add_permissions(studio)
        dialog.add_server(studio, self._serving.beside)
        dialog.server_changed.connect(self._serving.follow)
        dialog.set_models(lambda current: model_items(studio, studio.connected, current, ()))
        return dialog

    async def _offer_agents(self, studio: Studio, dialog: SettingsDialog) -> None:
        found = await studio.agents()
        dialog.set_agents([(agent.name, agent.icon) for agent in found.by_name.values()])

    def _changed(self) -> None:
        self._later(self._follow())

    async def _follow(self) -> None:
        """Have what is on offer in the chat be what the settings say now."""
        assert self._studio is not None
        await self._studio.look_for_providers()
        self._chat.show_choices()

    def scale(self, step: int) -> None:
        """Make the text larger or smaller by so many per cent; 0 makes it as it comes."""
        values = self._settings.values
        values.text_size = max(90, min(160, values.text_size + step if step else 100))
        self._theme.set(scale=values.text_size / 100)
        self._later(self._settings.save())

    async def aclose(self) -> None:
        """Close the dialog, and wait until everything is saved."""
        if self.dialog is not None:
            await self.dialog.aclose()
