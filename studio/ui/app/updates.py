"""Tells of newer versions, and after an update of what is new. Installs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio import __version__
from studio.agent.updates import (
    Changes,
    Newest,
    Release,
    Unsigned,
    changes_since,
    is_newer,
    newest,
    read_release,
    shortened,
)
from studio.domain.errors import ConfigurationError, StorageError
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.installation import installation
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import day
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets.text_dialog import TextDialog

if TYPE_CHECKING:
    from studio.agent.engine import Engine

    from .main_window import MainWindow

EVERY = timedelta(days=1)
LATER, AGAIN = 60.0, 3600.0
"""Seconds from the start to the first look whether it is time to ask, and from one to the next."""


ENTRIES = 8
"""How many entries of the changelog come up by themselves."""


class UpdateNews:
    """Follows what is new, in the window that is used. ``later`` runs what need not be awaited."""

    def __init__(
        self,
        engine: Engine,
        settings: SettingsFile,
        theme: Theme,
        current: Callable[[], MainWindow],
        later: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        self._engine, self._settings, self._theme = engine, settings, theme
        self._current, self._later = current, later

    async def follow(self, later: float = LATER, again: float = AGAIN) -> None:
        """Show what is new since the last start, then ask once a day until the program ends."""
        release = await asyncio.to_thread(read_release, self._engine.paths.resources)
        await self._show_what_is_new(release)
        if not release.asks:
            if self._settings.values.updates_refused:  # by what was installed before
                self._settings.values.updates_refused = ""
                await self._save()
            return
        await asyncio.sleep(later)
        while True:
            if self._is_time():
                with suppress(ConfigurationError):  # the next day asks again
                    await self._ask(release)
            await asyncio.sleep(again)

    async def _show_what_is_new(self, release: Release) -> None:
        values = self._settings.values
        seen = values.version_seen
        if not release.changes or seen == __version__:
            return
        values.version_seen, values.updates_refused = __version__, ""  # it may know other keys
        changes = changes_since(release, seen, __version__)
        if changes and values.first_run_done:
            window = self._current()
            was_active = window.isActiveWindow()
            dialog = whats_new(window, self._theme, changes, ENTRIES)
            dialog.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
            dialog.show()
            if was_active:  # what the person types goes on to where it went
                window.activateWindow()
        await self._save()

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
        await self._save()
        try:
            found = await newest(self._engine.http, release)
        except Unsigned as error:  # tomorrow too: the settings say so where the person looks
            values.updates_refused = str(error)
            await self._save()
            return
        values.updates_refused = ""
        told = values.update_told
        if is_newer(found.version, told if is_newer(told, __version__) else __version__):
            text = await news_of(found)
            self._current().banner.say(text, done=True, shown=lambda: self._mark(found))
        await self._save()

    def _mark(self, found: Newest) -> None:
        """Note that the person was told; a message may wait behind others until the end."""
        self._settings.values.update_told = found.version
        self._later(self._save())

    async def _save(self) -> None:
        with suppress(StorageError):  # it holds until the program ends, and the next day asks again
            await self._settings.save()


async def news_of(found: Newest) -> str:
    """What the person is told of the newest version, and how it is got."""
    if not is_newer(found.version, __version__):
        words = tr("This is the newest version.")
        if found.date:
            words = tr("This is the newest version, as of {date}.").format(date=day(found.date))
        return words
    words = tr("Agent Studio {version} can be had.").format(version=found.version)
    how = tr_engine((await asyncio.to_thread(installation)).update)
    return " ".join(one for one in (words, how, found.page) if one)


async def ask_now(engine: Engine, values: Settings, release: Release) -> str:
    """Ask because the person wants to know; what to say, also of what went wrong."""
    try:
        found = await newest(engine.http, release)
    except ConfigurationError as error:
        if isinstance(error, Unsigned):
            values.updates_refused = str(error)
        return tr_engine(str(error))
    values.updates_refused = ""
    values.update_told = found.version  # it is told with this
    return await news_of(found)


def whats_new(
    over: QWidget, theme: Theme, changes: Sequence[Changes], entries: int = 0
) -> TextDialog:
    """The window with the changelog's sections; where there are more ``entries`` it says so."""
    left = 0
    if entries:
        changes, left = shortened(changes, entries)
    parts = [one.text for one in changes]
    if len(changes) > 1:
        parts = [f"## {one.version}\n\n{one.text}" for one in changes]
    if left:
        rest = tr_plural(
            "{count} more change is in the settings, About.",
            "{count} more changes are in the settings, About.",
            left,
        )
        parts.append(rest)
    title = tr("What is new in Agent Studio {version}").format(version=__version__)
    return TextDialog(over, theme, title, "\n\n".join(parts), markdown=True)
