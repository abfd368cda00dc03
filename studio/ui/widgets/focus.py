"""The ring around what has the keyboard's focus.

It shows only where focus came by keyboard. It lies outside its control, so it
is a ``QFocusFrame``: an overlay that follows the control wherever it goes.
"""

from __future__ import annotations

from typing import cast

import shiboken6
from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFocusFrame,
    QProxyStyle,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QWidget,
)

from studio.ui.theme import Theme

MARGIN = 4
INSET = -2
"""The margin of what fills its place, where a ring outside of it would be cut off."""
INSIDE = "ring_inside"
"""The property of such widgets."""

KEYBOARD = frozenset(
    {
        Qt.FocusReason.TabFocusReason,
        Qt.FocusReason.BacktabFocusReason,
        Qt.FocusReason.ShortcutFocusReason,
    }
)

_NO_WIDGET = cast("QWidget", None)
"""Qt takes the frame away for it, which its Python types do not say."""


class _Margins(QProxyStyle):
    """Only the frame has this style: a Python style for all would be slow."""

    margin = MARGIN

    def pixelMetric(
        self,
        metric: QStyle.PixelMetric,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
    ) -> int:
        if metric in (
            QStyle.PixelMetric.PM_FocusFrameHMargin,
            QStyle.PixelMetric.PM_FocusFrameVMargin,
        ):
            return self.margin
        return super().pixelMetric(metric, option, widget)

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,
    ) -> int:
        if hint == QStyle.StyleHint.SH_FocusFrame_Mask:
            return 0  # it would cut the round corners off
        if hint == QStyle.StyleHint.SH_FocusFrame_AboveWidget:
            return 1  # what the control is in would cut it off
        return super().styleHint(hint, option, widget, returnData)


class _Frame(QFocusFrame):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.margins = _Margins("Fusion")
        self.margins.setParent(self)  # lives exactly as long as the frame
        self.setStyle(self.margins)

    def paintEvent(self, event: QPaintEvent) -> None:
        around = self.widget()
        if around is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("accent_text"), 2))
        inside = self.margins.margin == INSET
        radius = 4.0 if inside else float(getattr(around, "radius", 6)) + 3
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        painter.end()


class FocusRing(QObject):
    """The ring; one for each theme."""

    @staticmethod
    def of(theme: Theme) -> FocusRing:
        return theme.findChild(FocusRing) or FocusRing(theme)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._theme = theme
        self._frame: _Frame | None = None
        self._last: QWidget | None = None
        theme.changed.connect(self._again)

    @property
    def target(self) -> QWidget | None:
        """The control the ring is around now."""
        frame = self._frame
        return frame.widget() if frame is not None and shiboken6.isValid(frame) else None

    def follow(self, *widgets: QWidget, inside: bool = True) -> None:
        """Show the ring in each of these lists and texts, or around it, as keys come to it."""
        for widget in widgets:
            widget.setProperty(INSIDE, inside)
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and isinstance(watched, QWidget):
            if event.type() == QEvent.Type.FocusIn:
                self.around(watched, event.reason())
            elif event.type() == QEvent.Type.FocusOut:
                self.leave(watched, event.reason())
        return False

    def around(self, widget: QWidget, reason: Qt.FocusReason) -> None:
        """Call from ``focusInEvent``."""
        if reason == Qt.FocusReason.ActiveWindowFocusReason:
            if self._last is widget:  # the window was left and is back
                self._show(widget)
        elif reason in KEYBOARD:
            self._show(widget)
        else:
            self.leave(widget, reason)

    def leave(self, widget: QWidget, reason: Qt.FocusReason) -> None:
        """Call from ``focusOutEvent``."""
        if reason != Qt.FocusReason.ActiveWindowFocusReason and self._last is widget:
            self._last = None
        if self._frame is not None and self.target is widget:
            self._frame.setWidget(_NO_WIDGET)

    def give(self, widget: QWidget) -> None:
        """Give the focus as the keyboard does, also in a window that is not active yet."""
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        self._last = widget
        if widget.hasFocus():
            self._show(widget)

    def _again(self) -> None:
        """Another style sheet makes Qt drop the frame: put it back."""
        widget = self._last
        if widget is not None and shiboken6.isValid(widget) and widget.hasFocus():
            if self._frame is not None and shiboken6.isValid(self._frame):
                self._frame.setWidget(_NO_WIDGET)
            self._show(widget)

    def _show(self, widget: QWidget) -> None:
        self._last = widget
        if self._frame is None or not shiboken6.isValid(self._frame):
            self._frame = _Frame(self._theme)  # it dies with the window it was in
        self._frame.margins.margin = INSET if widget.property(INSIDE) else MARGIN
        self._frame.setWidget(widget)
        self._frame.show()  # Qt hides it around what is still to be scrolled into view
