"""List and detail: the base of pages with a list at the left and what is chosen in it beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QListView, QWidget

from studio.agent.engine import Engine
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Hairline, IconButton
from studio.ui.widgets.layouts import PlacedPart, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget

from .page import Page, Run


class DetailPane(PaintedWidget):
    """What is chosen, below a head with the buttons for what can be done about it."""

    ground = "surface"

    wanted = Signal(str)
    """The name of a button."""
    chat_wanted = Signal()
    list_wanted = Signal()
    """Show the list, which has no room beside this."""
    buttons: Mapping[str, Button]

    def _header(
        self, title: Sequence[PlacedPart], back: str, buttons: Mapping[str, Button]
    ) -> QWidget:
        """``back`` are the words of the button that shows the list."""
        self.list_button = IconButton(self.theme, "list", back, clicked=self.list_wanted.emit)
        self.list_button.hide()
        self.buttons = buttons
        for name, button in buttons.items():
            button.clicked.connect(lambda _=False, name=name: self.wanted.emit(name))
        folding = tuple(buttons.values())
        self._head_row = row_of((self.list_button, *title, *folding), folding=folding)
        self._head = widget_of(self._head_row)
        self.theme.changed.connect(self._follow)
        self._follow()
        return self._head

    def _follow(self) -> None:
        px = self.theme.px
        self._head.setFixedHeight(px(48))
        self._head_row.setSpacing(px(8))
        self._head_row.setContentsMargins(px(20), 0, px(12), 0)


ListT = TypeVar("ListT", bound=QListView)
DetailT = TypeVar("DetailT", bound=DetailPane)


class ListDetailPage(Page, Generic[ListT, DetailT]):
    """Where there is no room for both, one of them has all of the page."""

    widths = (300, 420)
    """That of the list, and the least of the detail, at text size 100 %."""

    def __init__(
        self, theme: Theme, engine: Engine, run: Run, list: ListT, detail: DetailT
    ) -> None:
        super().__init__(theme, engine, run)
        self.list, self.detail = list, detail
        self.list_wanted = False
        """Whether the list is to be shown where it has no room beside the detail."""
        detail.list_wanted.connect(lambda: self._want_list(wanted=True))
        list.activated.connect(lambda _: self._want_list(wanted=False))
        list.clicked.connect(lambda _: self._want_list(wanted=False))
        theme.changed.connect(self._place)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the keys work while the list is hidden

    def _lay_out(
        self,
        head: Sequence[PlacedPart],
        below: Sequence[PlacedPart],
        beside: Sequence[PlacedPart] = (),
    ) -> None:
        """``head`` is above the list, ``below`` it and what else is below that.

        ``beside`` stands at the right of the detail.
        """
        t = self._theme
        self._head_row = row_of(head)
        self._head = widget_of(self._head_row)
        self._column = widget_of(column_of([self._head, Hairline(t), *below], spacing=0))
        self._edge = Hairline(t, upright=True)
        row_of([self._column, self._edge, (self.detail, 1), *beside], spacing=0, on=self)

    def _add_keys(self, keys: Mapping[str, Callable[[], object]]) -> None:
        for key, does in {**keys, "?": self.keys_wanted.emit}.items():
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(does)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """Give the list a column of its own, or where there is no room all of the page."""
        px, (wide, least) = self._theme.px, self.widths
        self._head.setFixedHeight(px(48))
        self._head_row.setSpacing(px(7))
        self._head_row.setContentsMargins(px(16), 0, px(10), 0)
        fits = self.width() - px(wide) >= px(least)
        alone = not fits and self.list_wanted
        if fits:
            self._column.setFixedWidth(px(wide))
        else:
            self._column.setMinimumWidth(0)
            self._column.setMaximumWidth(self.width())
        self.detail.list_button.setVisible(not fits)
        self._column.setVisible(fits or alone)
        self._edge.setVisible(fits)
        self.detail.setVisible(not alone)

    def _want_list(self, *, wanted: bool) -> None:
        self.list_wanted = wanted
        self._place()
        (self.list if self.list.isVisible() else self).setFocus(Qt.FocusReason.OtherFocusReason)
