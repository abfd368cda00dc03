"""Page layout: places the parts of the chat pane, for a chat or for a new one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme

from .composer import Composer
from .handoff_strip import HandoffStrip
from .job_view import JobView
from .plan_strip import PlanStrip
from .queue_view import QueueView
from .server_card import ServerCard
from .status_strip import StatusStrip

HANG = 36
"""Pixels by which avatars, and the composer below, are out of the text column at the left."""
SUGGESTED = 120
"""Pixels of height for the suggestions below a new chat."""
ROOMY = 300
"""Pixels of height from which a new chat has a heading and a message of three lines."""


class PageLayout:
    """Shows the parts that belong on ``page``, each in its place.

    ``above`` are those between composer and strip, from the composer up. ``view`` is set when it
    is made; a new chat is shown without it.
    """

    def __init__(
        self,
        theme: Theme,
        page: QWidget,
        *,
        header: QWidget,
        heading: QWidget,
        composer: Composer,
        suggestions: QWidget,
        above: Sequence[HandoffStrip | QueueView | ServerCard | JobView | PlanStrip],
        strip: StatusStrip,
    ) -> None:
        self._theme, self._page = theme, page
        self._header, self._heading = header, heading
        self._composer, self._suggestions = composer, suggestions
        self._strips = (*above, strip)
        self._strip = strip
        self.view: QWidget | None = None
        self.find: QWidget | None = None
        """The strip below the header, once it was wanted; shown in a chat only."""
        self.graph: QWidget | None = None
        """The graph of the agents that work for the chat, while it is shown in its place."""
        self.beside = False
        """Whether the chat stands beside a page: then a new one looks as one that has begun."""
        self._new = True
        composer.resized.connect(self.place)
        for part in self._strips:
            part.changed.connect(self.place)

    def show(self, *, new: bool) -> None:
        """Show a new chat, or one that has begun."""
        self._new = new
        self._header.setVisible(not new or self.beside)
        if self.view is not None:
            self.view.setVisible(not new and self.graph is None)
        self._suggestions.setVisible(new and not self.beside)
        self.place()

    def place(self) -> None:
        """Make the parts fit the page as it is now."""
        px, width, height = self._theme.px, self._page.width(), self._page.height()
        room = width - 2 * px(24)
        column_width = self._theme.column
        box_width = column_width + HANG
        new = self._new and not self.beside
        box = min(px(column_width if new else box_width), room)
        roomy = new and height >= px(ROOMY)
        self._heading.setVisible(roomy)
        self._composer.set_spacious(roomy)
        composer = self._composer.sizeHint().height()
        if new:
            strip = 0 if self._strip.isHidden() else self._strip.heightForWidth(box) + px(8)
            lowest = height - px(18) - composer - strip - px(52)
            lowest -= px(15) + px(SUGGESTED)
            top = max(px(24), min(int(height * 0.2285), lowest)) if roomy else -px(44)
            self._heading.setGeometry(0, top, width, px(34))
            left, y = (width - box) // 2, top + px(52)
            if strip:
                self._strip.setGeometry(left, y, box, strip - px(8))
                y += strip
            self._composer.setGeometry(left, y, box, composer)
            self._suggestions.setGeometry(left, y + composer + px(15), box, px(SUGGESTED))
            return
        # Avatar and text edges: the box hangs 36 px out to the left of the column.
        column = (
            min(px(column_width), room - px(HANG)) if room < px(box_width) else px(column_width)
        )
        left = (width - column - px(HANG)) // 2 if room >= px(box_width) else px(24)
        bottom = height - composer - px(18)
        self._composer.setGeometry(left, bottom, box, composer)
        for part in self._strips:
            if not part.isHidden():
                tall = part.heightForWidth(box)
                bottom -= tall + px(8)
                part.setGeometry(left, bottom, box, tall)
        # The header gives way to what waits for the person where there is no room for both.
        head = self._header.sizeHint().height()
        self._header.setVisible(head <= bottom)
        self._header.setGeometry(0, 0, width, head)
        if self.find is not None and not self.find.isHidden():
            tall = self.find.sizeHint().height()
            self.find.setGeometry(0, head, width, tall)
            head += tall
        middle = QRect(0, head, width, max(0, bottom - head - px(4)))
        for part in (self.view, self.graph):
            if part is not None:
                part.setGeometry(middle)
