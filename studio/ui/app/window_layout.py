"""Places sidebar and inspector beside the page where there is room, else over it.

The settings keep size and place of the window and of its sides for the next start.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QSplitter, QWidget

from studio.ui.sidebar.rail import Rail
from studio.ui.theme.mirroring import put
from studio.ui.widgets.layouts import row_of

if TYPE_CHECKING:
    from studio.storage.config.settings import Settings

INSPECTOR_BESIDE = 1200
"""From this width on the inspector stands beside the page; below it lies over it."""
SIDEBAR_BESIDE = 960
SIDEBAR_WIDTHS = (252, 232)
"""In a wide and in a small window, until the person drags it; more where its words need more."""
SIDEBAR_MOST = 300
"""As much at most without that."""
INSPECTOR_WIDTH = 320
MOST_PLACES = 7
"""Windows besides the first whose places are remembered."""
ASIDE = QPoint(32, 32)
DECORATIONS = QSize(8, 40)
"""What the system's frame may take of the screen around a window."""


class WindowLayout(QWidget):
    """The window's middle: sidebar, page, inspector.

    In a small window the sides begin closed and are opened over the page; what
    was open in a large one comes back with it.
    """

    changed = Signal()
    """The inspector or the sidebar was shown or hidden."""

    def __init__(
        self, window: QWidget, sidebar: QWidget, rail: Rail, page: QWidget, top: QWidget
    ) -> None:
        super().__init__(window)
        self.sidebar, self._rail, self._page = sidebar, rail, page
        self._inspector: QWidget | None = None
        self._top = top
        """The inspector leaves its height free when it lies over the page."""
        self.sidebar_open = True
        """Whether the sidebar is wanted where there is room."""
        self.inspector_open = False
        self.inspector_fits_page = True
        """Whether the page is a chat: the inspector is about that."""
        self._hidden_by_page = False
        """Whether the inspector comes back with the chat."""
        self.sidebar_width = 0
        """In pixels, as the person dragged it; 0 if they have not."""
        self.inspector_width = INSPECTOR_WIDTH
        self._old_width = 0
        """The width at the last ``fit``."""
        box = row_of([rail], spacing=0, on=self)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        box.addWidget(self._splitter, 1)
        self._splitter.setHandleWidth(1)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(sidebar)
        self._splitter.addWidget(page)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.splitterMoved.connect(self._dragged)
        sidebar.setMinimumWidth(200)
        sidebar.setMaximumWidth(360)
        rail.hide()
        rail.sidebar_wanted.connect(lambda: self.show_sidebar(not self.sidebar_shown))
        self.changed.connect(lambda: rail.sidebar.setChecked(self.sidebar_shown))

    @property
    def roomy(self) -> bool:
        """Whether the inspector stands beside the page."""
        return self.width() >= INSPECTOR_BESIDE

    @property
    def inspector_shown(self) -> bool:
        return self._inspector is not None and self._inspector.isVisibleTo(self)

    @property
    def sidebar_shown(self) -> bool:
        return self.sidebar.isVisibleTo(self)

    def set_inspector(self, inspector: QWidget) -> None:
        """Take the inspector, which is made when it is first wanted; it stays hidden."""
        inspector.setMinimumWidth(280)
        inspector.setMaximumWidth(480)
        inspector.hide()
        self._inspector = inspector
        self._put(inspector, beside=self.roomy, at=2)

    def show_inspector(self, shown: bool) -> None:
        if self._inspector is None:
            return
        if self.roomy:
            self.inspector_open = shown
        self._inspector.setVisible(shown)
        self._arrange()
        self.changed.emit()

    def set_inspector_fits_page(self, fits: bool) -> None:
        """Hide the inspector beside a page that is no chat, and show it again with a chat."""
        if fits == self.inspector_fits_page:
            return
        self.inspector_fits_page = fits
        if self._inspector is None:
            return
        if not fits:
            self._hidden_by_page = self.inspector_shown
        shown = fits and self._hidden_by_page
        self._inspector.setVisible(shown)
        self._arrange()
        self.changed.emit()

    def show_sidebar(self, shown: bool) -> None:
        if self.width() >= SIDEBAR_BESIDE:
            self.sidebar_open = shown
        self.sidebar.setVisible(shown)
        self._arrange()
        self.changed.emit()

    def close_overlays(self) -> None:
        """Hide the sidebar if it lies over the page: the person chose something in it."""
        if self.sidebar.parentWidget() is self and self.sidebar_shown:
            self.show_sidebar(False)

    def fit(self) -> None:
        """Put the sides beside or over the page, depending on the width."""
        width, before = self.width(), self._old_width
        self._old_width = width
        beside = width >= SIDEBAR_BESIDE
        if not before or beside != (before >= SIDEBAR_BESIDE):
            self._put(self.sidebar, beside=beside, at=0)
            self._rail.setVisible(not beside)
            self.sidebar.setVisible(beside and self.sidebar_open)
        inspector = self._inspector
        if inspector is not None and self.roomy != (before >= INSPECTOR_BESIDE):
            self._put(inspector, beside=self.roomy, at=2)
            wanted = self.roomy and self.inspector_open
            self._hidden_by_page = wanted
            inspector.setVisible(wanted and self.inspector_fits_page)
        self._arrange()
        if (before >= INSPECTOR_BESIDE) != self.roomy or (before >= SIDEBAR_BESIDE) != beside:
            self.changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def _put(self, side: QWidget, *, beside: bool, at: int) -> None:
        inside = side.parentWidget() is self._splitter
        if beside and not inside:
            self._splitter.insertWidget(at, side)
        elif not beside and side.parentWidget() is not self:
            side.setParent(self)

    @property
    def _rail_width(self) -> int:
        return 0 if self._rail.isHidden() else self._rail.sizeHint().width()

    def _arrange(self) -> None:
        width, height = self.width(), self.height()
        words = min(SIDEBAR_MOST, self.sidebar.sizeHint().width())
        left = self.sidebar_width or max(SIDEBAR_WIDTHS[width < INSPECTOR_BESIDE], words)
        if self.sidebar.parentWidget() is self:
            put(self.sidebar, self._rail_width, 0, left, height)
            self.sidebar.raise_()
        inspector = self._inspector
        if inspector is not None and inspector.parentWidget() is self:
            free = self._top.sizeHint().height()
            wide = min(self.inspector_width, width)
            put(inspector, width - wide, free, wide, height - free)
            inspector.raise_()
        widths = {self.sidebar: left, inspector: self.inspector_width}
        children = [self._splitter.widget(index) for index in range(self._splitter.count())]
        sizes = [widths.get(child, 0) for child in children]
        shown = sum(
            size
            for child, size in zip(children, sizes, strict=True)
            if child is not None and not child.isHidden()
        )
        taken = shown + self._rail_width + self._splitter.handleWidth() * (len(sizes) - 1)
        sizes[self._splitter.indexOf(self._page)] = max(1, width - taken)
        self._splitter.setSizes(sizes)

    def _dragged(self, position: int, index: int) -> None:
        if self.sidebar.parentWidget() is self._splitter and self.sidebar_shown:
            self.sidebar_width = self.sidebar.width()
        inspector = self._inspector
        if inspector is not None and inspector.parentWidget() is self._splitter:
            self.inspector_width = inspector.width() or self.inspector_width


def step_focus(panes: Sequence[QWidget], step: int) -> None:
    """Give the keyboard to the next of ``panes``, or with -1 to the one before.

    It goes to what Tab reaches first in it; a pane without such a place is passed over.
    """
    places = [(pane, place) for pane in panes if (place := _first_place(pane)) is not None]
    focus = QApplication.focusWidget()
    inside = [bool(focus) and (pane is focus or pane.isAncestorOf(focus)) for pane, _ in places]
    at = inside.index(True) if True in inside else (-1 if step > 0 else 0)
    if places:
        places[(at + step) % len(places)][1].setFocus(Qt.FocusReason.TabFocusReason)


def _first_place(pane: QWidget) -> QWidget | None:
    """What Tab reaches first in a pane; None if it is hidden or has nothing."""
    here = pane.focusProxy() or pane
    while True:
        tabbed = Qt.FocusPolicy.TabFocus in here.focusPolicy() and here.isEnabled()
        if here.isVisible() and tabbed and (here is pane or pane.isAncestorOf(here)):
            return here
        here = here.nextInFocusChain()
        if here is None or here is pane:
            return None


def save_window(window: QWidget, sides: WindowLayout, values: Settings, number: int) -> None:
    """Write into the settings where a window is, and for the first one where its sides are."""
    place = base64.b64encode(window.saveGeometry().data()).decode()
    if number:
        others = values.other_windows
        others += [""] * (number - len(others))
        others[number - 1] = place
        del others[MOST_PLACES:]
        return
    values.window_geometry = place
    values.sidebar_width = sides.sidebar_width
    values.sidebar_open = sides.sidebar_open
    values.inspector_width = sides.inspector_width
    values.inspector_open = sides.inspector_open


def restore_window(
    window: QWidget, sides: WindowLayout, values: Settings, number: int, beside: QWidget | None
) -> None:
    """Put window and sidebar where they were; the inspector is made and opened later.

    A window that was nowhere yet is put a little aside of the one ``beside`` it.
    """
    places = [values.window_geometry, *values.other_windows]
    known = places[number].encode() if number < len(places) else b""
    if not window.restoreGeometry(QByteArray.fromBase64(known)):  # empty where it is not sound
        room = window.screen().availableSize() - DECORATIONS
        if beside is None:
            window.resize(QSize(1440, 900).boundedTo(room))
        else:
            window.resize(beside.size().boundedTo(room))
            window.move(beside.pos() + ASIDE)
    sides.sidebar_width = values.sidebar_width
    sides.inspector_width = values.inspector_width
    sides.sidebar_open = values.sidebar_open
    sides.sidebar.setVisible(values.sidebar_open)
