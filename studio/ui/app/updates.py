"""Tells of newer versions, and after an update of what is new. Installs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio import __version__
from studio.agent.updates import Newest, Release, is_newer, newest, read_release
from studio.domain.errors import ConfigurationError
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.installation import installation
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets.text_dialog import TextDialog

if TYPE_CHECKING:
    from studio.agent.engine import Engine

    from .main_window import MainWindow

EVERY = timedelta(days=1)
LATER, AGAIN = 60.0, 3600.0
"""Seconds from the start to the first look whether it is time to ask, and from one to the next."""


class UpdateNews:
    """Follows what is new, in the window that is used."""

    def __init__(
        self,
        engine: Engine,
        settings: SettingsFile,
        theme: Theme,
        current: Callable[[], MainWindow],
    ) -> None:
        self._engine, self._settings, self._theme = engine, settings, theme
        self._current = current

    async def follow(self, later: float = LATER, again: float = AGAIN) -> None:
        """Show what is new since the last start, then ask once a day until the program ends."""
        release = await asyncio.to_thread(read_release, self._engine.paths.resources)
        await self._show_what_is_new(release)
        if not release.asks:
            return
        await asyncio.sleep(later)
        while True:
            if self._is_time():
                with suppress(ConfigurationError):  # the next day asks again
                    await self._ask(release)
            await asyncio.sleep(again)

    async def _show_what_is_new(self, release: Release) -> None:
        values = self._settings.values
        if not release.changes or values.version_seen == __version__:
            return
        updated = not values.version_seen or is_newer(__version__, values.version_seen)
        values.version_seen = __version__
        await self._settings.save()
        if updated and values.first_run_done:
            window = self._current()
            was_active = window.isActiveWindow()
            dialog = whats_new(window, self._theme, release)
            dialog.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
            dialog.show()
            if was_active:  # what the person types goes on to where it went
                window.activateWindow()

    def _is_time(self) -> bool:
        values = self._settings.values
        if not values.look_for_updates:
            return False
        try:
            since = datetime.now(UTC) - datetime.fromisoformat(values.updates_asked)
        except (ValueError, TypeError):  # never, or without a time zone
            return True
        return not timedelta() <= since < EVERY

    async def _ask(self, release: Release) -> None:
        values = self._settings.values
        values.updates_asked = datetime.now(UTC).isoformat(timespec="seconds")
        await self._settings.save()
        found = await newest(self._engine.http, release)
        if is_newer(found.version, __version__) and found.version != values.update_told:
            values.update_told = found.version
            await self._settings.save()
            self._current().banner.say(await news_of(found), done=True)


async def news_of(found: Newest) -> str:
    """What the person is told of the newest version, and how it is got."""
    if not is_newer(found.version, __version__):
        return tr("This is the newest version.")
    words = tr("Agent Studio {version} can be had.").format(version=found.version)
    how = tr_engine((await asyncio.to_thread(installation)).update)
    return " ".join(one for one in (words, how, found.page) if one)


async def ask_now(engine: Engine, values: Settings, release: Release) -> str:
    """Ask because the person wants to know; what to say, also of what went wrong."""
    try:
        found = await newest(engine.http, release)
    except ConfigurationError as error:
        return tr_engine(str(error))
    values.update_told = found.version  # it is told with this
    return await news_of(found)


def whats_new(over: QWidget, theme: Theme, release: Release) -> TextDialog:
    """The window with the changelog's section of this version."""
    title = tr("What is new in Agent Studio {version}").format(version=__version__)
    return TextDialog(over, theme, title, release.changes, markdown=True)
