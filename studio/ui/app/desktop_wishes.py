"""What the desktop wishes of contrast and motion, and Qt does not tell: from its settings portal.

https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from studio.ui.theme import Theme

from .session_bus import Service, SessionBus

log = logging.getLogger(__name__)

PORTAL = Service(
    "org.freedesktop.portal.Desktop",
    "/org/freedesktop/portal/desktop",
    "org.freedesktop.portal.Settings",
)
_CONTRAST = (
    ("org.freedesktop.appearance", "contrast"),
    ("org.gnome.desktop.a11y.interface", "high-contrast"),
)
_MOTION = (
    ("org.freedesktop.appearance", "reduced-motion"),
    ("org.gnome.desktop.interface", "enable-animations"),
)
"""Where a wish may stand: in a place for all desktops, and in one of GNOME's."""


class DesktopWishes:
    """Tells the theme what the desktop wishes, now and whenever that changes."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._bus = SessionBus()
        self._said: dict[tuple[str, str], Any] = {}

    async def follow(self) -> None:
        """Read the wishes; where there is no portal, nothing happens."""
        if not sys.platform.startswith("linux"):
            return
        try:
            await self._bus.listen(PORTAL, "SettingChanged", self._changed)
            for place in (*_CONTRAST, *_MOTION):
                await self._read(place)
        except OSError as error:
            log.info("the desktop tells no wishes: %s", error)
            await self._bus.aclose()
        self._tell()

    async def aclose(self) -> None:
        await self._bus.aclose()

    async def _read(self, place: tuple[str, str]) -> None:
        try:
            (value,) = await self._bus.call(PORTAL, "Read", "ss", place)
        except OSError as error:
            if not str(error).startswith("[org.freedesktop.portal.Error.NotFound]"):
                raise
        else:
            self._said[place] = _plain(value)

    def _changed(self, said: tuple[Any, ...]) -> None:
        namespace, key, value = said
        if (namespace, key) in (*_CONTRAST, *_MOTION):
            self._said[namespace, key] = _plain(value)
            self._tell()

    def _tell(self) -> None:
        said = self._said
        self._theme.hear_desktop(
            contrast=any(said.get(place) in (1, True) for place in _CONTRAST),
            less_motion=said.get(_MOTION[0]) == 1 or said.get(_MOTION[1]) is False,
        )


def _plain(value: Any) -> Any:
    """The value in a variant, which may be in another one."""
    while isinstance(value, tuple):
        value = value[1]
    return value
