"""A field of several lines, in the look of the others."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QPainter, QPalette
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import FocusRing, OverlayBar, make_transparent
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded

QWIDGETSIZE_MAX = 16_777_215


class TextArea(PaintedWidget):
    """Several lines of text, ``lines`` of them visible; Tab goes to the next control.

    ``edit`` is the field itself. One that is ``read_only`` is painted as output; one that
    ``grows`` takes what room there is.
    """

    def __init__(
        self,
        theme: Theme,
        name: str,
        placeholder: str = "",
        *,
        lines: int = 4,
        read_only: bool = False,
        grows: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._lines, self._read_only, self._error = lines, read_only, ""
        self._grows = grows
        self.edit = _Edit()
        self.edit.focus_moved.connect(self.update)
        self.edit.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it is code
        self.edit.setTabChangesFocus(True)
        self.edit.setReadOnly(read_only)
        self.edit.setPlaceholderText(placeholder)
        self.edit.setAccessibleName(name)
        make_transparent(self.edit)
        OverlayBar(self.edit)
        if read_only:
            FocusRing.of(theme).follow(self.edit, inside=False)
        self._column = column_of([self.edit], margins=(6, 4, 4, 4), on=self)
        self._follow()
        theme.changed.connect(self._follow)

    @property
    def text(self) -> str:
        return self.edit.toPlainText()

    def show_text(self, text: str) -> None:
        """Show a text from its beginning, unless it is there already."""
        if text != self.text:
            self.edit.setPlainText(text)

    def set_error(self, error: str = "") -> None:
        """Mark the text as wrong; the page shows ``error`` below."""
        self._error = error
        self.edit.setAccessibleDescription(error)
        self.update()

    def _follow(self) -> None:
        t = self.theme
        self.edit.setFont(t.font("code"))
        palette = self.edit.palette()
        palette.setColor(QPalette.ColorRole.Text, t.color("text1"))
        palette.setColor(QPalette.ColorRole.PlaceholderText, t.color("text3"))
        self.edit.setPalette(palette)
        tall = t.metrics("code").lineSpacing() * self._lines + t.px(18)
        self.setMinimumHeight(tall)
        self.setMaximumHeight(QWIDGETSIZE_MAX if self._grows else tall)
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        fill = "sunken" if self._read_only else "raised"
        focused = self.edit.hasFocus() and not self._read_only
        line = "err" if self._error else "accent_text" if focused else "control"
        width = 2.0 if focused or self._error else 1.0
        paint_rounded(painter, rect, 6, t.color(fill), t.color(line), width)


class _Edit(QPlainTextEdit):
    """Tells when it gains or loses the focus, so that the frame around it is painted."""

    focus_moved = Signal()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_moved.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_moved.emit()
