"""Opens the settings window, and applies settings that other programs changed.

The command line or an editor may change them too. Their file is watched, which costs
nothing while nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from studio.files.folders import private_folder
from studio.storage.config.settings import SettingsFile
from studio.ui.chat.page import ChatPage
from studio.ui.formatting import month
from studio.ui.theme import Theme
from studio.ui.theme.look import look_of
from studio.ui.translation import tr

from .server_process import ServerController

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.ui.pages.page import Run
    from studio.ui.settings.dialog import SettingsDialog


SOON = 50
"""Milliseconds that a change of the file waits for others: they are read together."""


class SettingsController(QObject):
    """Opens the settings window and applies the settings to chats, theme and server.

    There is one such window. It is about the chat of the window that it was opened from, which
    ``current`` returns.
    """

    keys_changed = Signal()
    """The keys of the actions may be others now."""
    applied = Signal()
    """What new chats begin with may be something else now."""
    provider_moved = Signal(str)
    """New chats use another provider: what to tell the person."""

    def __init__(
        self,
        theme: Theme,
        settings: SettingsFile,
        server: ServerController,
        later: Run,
        current: Callable[[], ChatPage],
    ) -> None:
        super().__init__()
        self._theme, self._settings = theme, settings
        self._server, self._later, self._current = server, later, current
        self._engine: Engine | None = None
        self.dialog: SettingsDialog | None = None
        """None until it was first wanted."""
        self._watcher: QFileSystemWatcher | None = None
        self._soon = QTimer(self, singleShot=True, interval=SOON)
        self._soon.timeout.connect(lambda: self._later(self._refresh()))
        self._server_settings: list[object] = []
        """The server's settings when they were last applied."""

    def set_engine(self, engine: Engine) -> None:
        """From now on the settings can be opened, and their file is watched."""
        self._engine = engine
        self._server_settings = self._read_server_settings()
        self._settings.subscribe(self._changed_by_others)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._schedule_refresh)
        self._watcher.fileChanged.connect(self._schedule_refresh)
        self._later(self._refresh())

    def open(self, page: str = "general", at: str = "") -> None:
        """Show a page of the settings; ``at`` is a provider or a limit on it."""
        if self._engine is None:
            return
        if not self._engine.services.has_all_tools:  # pages name the tools of packs
            self._later(self._open_with_tools(self._engine, page, at))
            return
        chat = self._current()
        if self.dialog is not None and self.dialog.parentWidget() is not chat.window():
            self.dialog.close()
            self._later(self._close(self.dialog))
            self.dialog = None
        if self.dialog is None:
            self.dialog = self._make_dialog(self._engine, chat)
        self.dialog.open_page(page, at)

    async def _open_with_tools(self, engine: Engine, page: str, at: str) -> None:
        await engine.services.load_tools()
        self.open(page, at)

    async def leave(self, window: QWidget) -> None:
        """Close the settings, if they were opened from a window that closes."""
        if self.dialog is not None and self.dialog.parentWidget() is window:
            dialog, self.dialog = self.dialog, None
            await self._close(dialog)

    async def _close(self, dialog: SettingsDialog) -> None:
        await dialog.aclose()
        dialog.deleteLater()

    def _make_dialog(self, engine: Engine, chat: ChatPage) -> SettingsDialog:
        from studio.ui.settings.dialog import SettingsDialog
        from studio.ui.settings.registry import SettingsServices

        services = SettingsServices(
            file=self._settings,
            keychain=engine.keychain,
            catalogue=engine.catalogue,
            make_provider=engine.providers.lister,
            engine=engine,
            chat=chat,
            server=self._server.process,
            snapshot_date=month(engine.snapshot_date),
        )
        dialog = SettingsDialog(self._theme, services, chat.window())
        dialog.changed.connect(self._changed)
        dialog.server_changed.connect(self._server_changed)
        return dialog

    def _changed(self) -> None:
        self.keys_changed.emit()
        self._later(self._apply())

    async def _apply(self) -> None:
        """Apply the settings to the chat: which providers and models it offers."""
        assert self._engine is not None
        await self._engine.look_for_providers()
        await self.use_new_key()
        self.applied.emit()

    async def use_new_key(self) -> None:
        """Let new chats use the provider of a key that was found, and tell of it."""
        assert self._engine is not None
        if title := await self._engine.use_new_key():
            self.provider_moved.emit(tr("New chats use {title} now.").format(title=title))

    # Another program

    def _schedule_refresh(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    async def _refresh(self) -> None:
        """Read the settings again; a file that was replaced is watched anew."""
        watched = await asyncio.to_thread(_watched, self._settings.path)
        if self._watcher is not None:
            self._watcher.addPaths(watched)
            await self._settings.refresh()

    def _changed_by_others(self) -> None:
        self._theme.wear(look_of(self._settings.values))
        self.keys_changed.emit()
        if self.dialog is not None:
            self.dialog.refresh()
        if self._server_settings != self._read_server_settings():
            self._server_changed()
        self._later(self._apply_from_others())

    async def _apply_from_others(self) -> None:
        assert self._engine is not None
        await self._apply()
        for name in self._engine.connected:  # asks only those whose address is another one now
            self._later(self._engine.refresh_models(name))

    def _server_changed(self) -> None:
        self._server_settings = self._read_server_settings()
        self._server.apply_settings()

    def _read_server_settings(self) -> list[object]:
        values = self._settings.values.to_json()
        return [value for name, value in values.items() if name.startswith("server_")]

    def scale(self, step: int) -> None:
        """Make the text larger or smaller by ``step`` per cent; 0 restores the default."""
        values = self._settings.values
        values.text_size = max(90, min(160, values.text_size + step if step else 100))
        self._theme.set(scale=values.text_size / 100)
        if self.dialog is not None:
            self.dialog.refresh()
        self._later(self._settings.save())

    async def aclose(self) -> None:
        """Stop watching, close the dialog, and wait until everything is saved."""
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
