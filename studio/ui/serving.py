"""Has the server run beside the window as the settings say, and tells in the sidebar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from studio.storage.server_token import ENTRY
from studio.storage.settings import SettingsFile
from studio.ui.sidebar import Sidebar

if TYPE_CHECKING:
    from studio.storage.keychain import Keychain
    from studio.ui.beside import ServerProcess


class ServerController(QObject):
    """``follow`` the settings, at the start and whenever something about the server changed."""

    def __init__(self, settings: SettingsFile, sidebar: Sidebar) -> None:
        super().__init__(sidebar)
        self._settings, self._sidebar = settings, sidebar
        self._ended = False
        self._keychain: Keychain | None = None
        self._beside: ServerProcess | None = None

    def set_keychain(self, keychain: Keychain) -> None:
        """The server gets the keys of this window that no keychain has, and hears of changes."""
        self._keychain = keychain
        keychain.subscribe(self._key_changed)

    @property
    def beside(self) -> ServerProcess:
        """The server's process, made when it is first wanted."""
        if self._beside is None:
            from studio.ui.beside import ServerProcess

            self._beside = ServerProcess(parent=self, keys=self._keys)
            self._beside.changed.connect(self._show)
        return self._beside

    def apply_settings(self) -> None:
        """Have the server run, or not; one that runs takes the settings as they are now."""
        if self._settings.values.server_on and not self._ended:
            self.beside.start()
        elif self._beside is not None:
            self._beside.stop()

    async def aclose(self) -> None:
        """The window ends, and the server with it."""
        self._ended = True
        if self._beside is not None:
            await self._beside.aclose()

    def _keys(self) -> dict[str, str]:
        kept = self._keychain.session if self._keychain is not None else {}
        return {name: key for name, key in kept.items() if name != ENTRY}

    def _key_changed(self, name: str) -> None:
        if self._beside is not None and name != ENTRY:
            self._beside.send_keys({name: self._keys().get(name)})

    def _show(self) -> None:
        beside = self.beside
        self._sidebar.show_server(beside.state, beside.address or beside.words)
