"""The first run: the person chooses what agents run on, and a first chat begins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget

from studio.domain.errors import StudioError
from studio.ui.chat.page import ChatPage
from studio.ui.first_run import FirstRun
from studio.ui.theme import Theme

if TYPE_CHECKING:
    from studio.agent.studio import Engine


class FirstRunController(QObject):
    """Shows the first page and does what is chosen on it.

    ``later`` runs a coroutine on the event loop.
    """

    begun = Signal()
    """The chat page holds a new chat that runs on what was chosen."""

    def __init__(
        self,
        theme: Theme,
        studio: Engine,
        chat: ChatPage,
        later: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        super().__init__(chat)
        self._studio, self._chat, self._later = studio, chat, later
        page = self._page = FirstRun(theme, studio.connections.test, studio.keep_key)
        page.demo.connect(lambda: self._start_with("simulator"))
        page.builtin.connect(lambda: self._start_with("builtin"))
        page.ollama.connect(lambda: self._start_with("ollama"))
        page.key_added.connect(self._start_with)

    def show(self, pages: QStackedWidget) -> None:
        pages.addWidget(self._page)
        pages.setCurrentWidget(self._page)
        self._page.show_start()
        self._later(self._probe_ollama())

    async def _probe_ollama(self) -> None:
        """One second is enough for a server on this computer."""
        connections = self._studio.connections
        try:
            async with asyncio.timeout(1):
                provider = connections.make("ollama", "", connections.base_url("ollama"))
                models = await provider.models()
        except (TimeoutError, StudioError):
            self._page.set_ollama("Not running", False)
        else:
            many = "1 model" if len(models) == 1 else f"{len(models)} models"
            self._page.set_ollama(f"Found, {many}")

    def _start_with(self, provider: str) -> None:
        self._later(self._start(provider))

    async def _start(self, provider: str) -> None:
        """Remember what was chosen and begin."""
        studio = self._studio
        values = studio.settings.values
        values.first_run_done = True
        values.default_provider = provider
        values.ollama_connected = values.ollama_connected or provider == "ollama"
        await studio.settings.save()
        await studio.look_for_providers()
        await studio.refresh_models(provider)
        if provider == "simulator":
            folder = str(await asyncio.to_thread(studio.demo_folder))
            text = "What is in this folder?"
            await self._chat.show_new_chat(provider=provider, text=text, folder=folder)
        else:
            await self._chat.show_new_chat(provider=provider)
        self.begun.emit()
