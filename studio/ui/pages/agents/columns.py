"""Places the columns of the page: beside each other, or over the text where there is no room."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.widgets import Hairline

LIST, PANEL, TRY, LEAST = 232, 300, 400, 380
"""Widths of the columns, and the least that is left for the text."""


class Columns:
    """A list at the left, the text, and the properties or a chat at the right of ``page``."""

    def __init__(
        self, theme: Theme, page: QWidget, listed: QWidget, centre: QWidget, panel: QWidget
    ) -> None:
        self._theme, self._page = theme, page
        self.listed, self.centre, self.panel = listed, centre, panel
        self.chat: QWidget | None = None
        """What stands in place of the properties."""
        self.chats = 1
        """How many chats stand there beside each other."""
        self.panel_wanted: bool | None = None
        """Whether the person wants the properties; None leaves it to the room there is."""
        for part in (listed, centre, panel):
            part.setParent(page)
        self._edges = [Hairline(theme, upright=True, parent=page) for _ in range(2)]

    @property
    def _list_width(self) -> int:
        return self._theme.px(LIST)

    @property
    def list_fits(self) -> bool:
        """Whether the list stands beside the text."""
        return self._page.width() - self._list_width >= self._theme.px(LEAST)

    @property
    def side_shown(self) -> bool:
        """Whether there is something at the right of the text, or over it."""
        if self.chat is not None:
            return True
        return self._roomy if self.panel_wanted is None else self.panel_wanted

    @property
    def _side_width(self) -> int:
        if self.chat is None:
            return self._theme.px(PANEL)
        return min(self._theme.px(TRY) * self.chats, self._page.width())

    @property
    def _left(self) -> int:
        return self._list_width if self.list_fits else 0

    @property
    def _roomy(self) -> bool:
        room = self._page.width() - self._left - self._side_width
        return room >= self._theme.px(LEAST)

    def place(self, *, list_wanted: bool) -> None:
        """``list_wanted``: the list lies over the text, where it has no room of its own."""
        width, height, left = self._page.width(), self._page.height(), self._left
        aside, shown = self._side_width, self.side_shown
        beside = aside if shown and self._roomy else 0
        put(self.centre, left, 0, width - left - beside, height)
        side = self.chat or self.panel
        self.panel.setVisible(shown and side is self.panel)
        if self.chat is not None:
            self.chat.setVisible(True)
        put(side, width - aside + 1, 0, aside - 1, height)
        list_shown = self.list_fits or list_wanted
        self.listed.setVisible(list_shown)
        put(self.listed, 0, 0, self._list_width - 1, height)
        places = ((shown, side, width - aside), (list_shown, self.listed, self._list_width - 1))
        for edge, (visible, part, x) in zip(self._edges, places, strict=True):
            edge.setVisible(visible)
            put(edge, x, 0, 1, height)
            part.raise_()
            edge.raise_()
