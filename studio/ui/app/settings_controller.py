"""Opens the settings window, and applies settings that other programs changed.

The command line or an editor may change them too. Their file is watched, which costs
nothing while nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer
from PySide6.QtWidgets import QWidget

from studio.files.folders import private_folder
from studio.storage.config.settings import SettingsFile
from studio.ui.chat.page import ChatPage
from studio.ui.formatting import month
from studio.ui.theme import Theme

from .server_process import ServerController

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.ui.settings.dialog import SettingsDialog


SOON = 50
"""Milliseconds that a change of the file waits for the next: one look for all of them."""


class SettingsController(QObject):
    """``later`` runs a coroutine on the event loop."""

    def __init__(
        self,
        window: QWidget,
        theme: Theme,
        settings: SettingsFile,
        chat: ChatPage,
        serving: ServerController,
        later: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        super().__init__(window)
        self._window, self._theme, self._settings = window, theme, settings
        self._chat, self._serving, self._later = chat, serving, later
        self._studio: Engine | None = None
        self.dialog: SettingsDialog | None = None
        """None until it was first wanted."""
        self._watcher: QFileSystemWatcher | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SOON)
        self._soon.timeout.connect(lambda: self._later(self._look()))
        self._server: list[object] = []
        """What was set about the server when that was last looked at."""

    def set_studio(self, studio: Engine) -> None:
        """The pieces are there: the dialog can be opened, and the file is watched."""
        self._studio = studio
        self._server = self._about_server()
        self._settings.subscribe(self._changed_elsewhere)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._stirred)
        self._watcher.fileChanged.connect(self._stirred)
        self._later(self._look())

    def open(self, page: str = "general", at: str = "") -> None:
        """A page of the settings; ``at`` is a provider or a limit on it."""
        if self._studio is None:
            return
        if self.dialog is None:
            self.dialog = self._made(self._studio)
        self.dialog.open_page(page, at)

    def _made(self, studio: Engine) -> SettingsDialog:
        from studio.ui.settings.dialog import SettingsDialog
        from studio.ui.settings.registry import SettingsServices

        services = SettingsServices(
            file=self._settings,
            keychain=studio.keychain,
            catalogue=studio.catalogue,
            make_provider=studio.connections.lister,
            engine=studio,
            chat=self._chat,
            server=self._serving.beside,
            snapshot_date=month(studio.snapshot_date),
        )
        dialog = SettingsDialog(self._theme, services, self._window)
        dialog.changed.connect(self._changed)
        dialog.server_changed.connect(self._server_changed)
        return dialog

    def _changed(self) -> None:
        self._later(self._follow())

    async def _follow(self) -> None:
        """Have what is on offer in the chat be what the settings say now."""
        assert self._studio is not None
        await self._studio.look_for_providers()
        self._chat.model.options.settings_changed()

    # Another program

    def _stirred(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    async def _look(self) -> None:
        """Take what others changed; a file that is another one now is watched anew."""
        watched = await asyncio.to_thread(_watched, self._settings.path)
        if self._watcher is not None:
            self._watcher.addPaths(watched)
            await self._settings.refresh()

    def _changed_elsewhere(self) -> None:
        values = self._settings.values
        self._theme.set(values.theme, values.text_size / 100, values.reduced_motion)
        if self.dialog is not None:
            self.dialog.refresh()
        if self._server != self._about_server():
            self._server_changed()
        self._later(self._follow_elsewhere())

    async def _follow_elsewhere(self) -> None:
        assert self._studio is not None
        await self._follow()
        for name in self._studio.connected:  # asks only those whose address is another one now
            self._later(self._studio.refresh_models(name))

    def _server_changed(self) -> None:
        self._server = self._about_server()
        self._serving.apply_settings()

    def _about_server(self) -> list[object]:
        values = self._settings.values.to_json()
        return [value for name, value in values.items() if name.startswith("server_")]

    def scale(self, step: int) -> None:
        """Make the text larger or smaller by so many per cent; 0 makes it as it comes."""
        values = self._settings.values
        values.text_size = max(90, min(160, values.text_size + step if step else 100))
        self._theme.set(scale=values.text_size / 100)
        if self.dialog is not None:
            self.dialog.refresh()
        self._later(self._settings.save())

    async def aclose(self) -> None:
        """Watch no more, close the dialog, and wait until everything is saved."""
        if self._watcher is not None:
            self._watcher.deleteLater()
            self._watcher = None
        self._soon.stop()
        if self.dialog is not None:
            await self.dialog.aclose()


def _watched(path: Path) -> list[str]:
    """The settings' folder, in which files are put in place, and the file, which an editor writes.

    Blocks for a moment.
    """
    file = path.resolve()
    private_folder(file.parent)
    return [str(one) for one in (file.parent, file) if one.exists()]
