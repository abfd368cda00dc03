"""Buttons painted from the theme: with a text, an icon or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QCursor, QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import draw_text, mirrored

from .focus import FocusRing
from .painting import centred, keycaps_width, paint_keycaps, paint_rounded
from .plain_text import plain_tip

Kind: TypeAlias = Literal["primary", "secondary", "ghost", "danger", "link"]


class PaintedButton(QAbstractButton):
    """A button that paints itself; follows the theme and shows the focus ring.

    Clicking one never takes the focus from where the person is writing.
    """

    radius = 6

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._theme_changed)

    def _theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        FocusRing.of(self.theme).around(self, event.reason())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        FocusRing.of(self.theme).leave(self, event.reason())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange:
            self.update()

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        rect = QRectF(self.rect())
        with mirrored(painter, rect, self.layoutDirection()):
            self.paint(painter, rect)
        painter.end()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        """Paint the button in its present state; ``rect`` is the whole of it."""
        raise NotImplementedError

    def paint_overlay(self, painter: QPainter, rect: QRectF) -> None:
        """Darken or lighten ``rect`` while the mouse is over the button or presses it."""
        if over := self.overlay():
            paint_rounded(painter, rect, self.radius, self.theme.color(over))

    def find_mouse(self) -> None:
        """Find out whether the mouse is here: no button is told while a list lies over it."""
        over = self.rect().contains(self.mapFromGlobal(QCursor.pos()))
        self.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, over)
        self.update()

    def overlay(self) -> str | None:
        """The overlay of the present state, if any."""
        if not self.isEnabled():
            return None
        if self.isDown():
            return "press"
        return "hover" if self.underMouse() else None


class FoldingButton(PaintedButton):
    """A button that can be an icon without its words, which then are its tool tip."""

    folded = False
    _tip = ""

    def fold(self, folded: bool) -> None:
        if folded != self.folded:
            self.folded = folded
            self._show_tip()
            self.updateGeometry()
            self.update()

    def wide_size(self) -> QSize:
        """The size with words."""
        raise NotImplementedError

    def folded_size(self) -> QSize:
        """The size of the icon alone."""
        raise NotImplementedError

    def sizeHint(self) -> QSize:
        return self.folded_size() if self.folded else self.wide_size()

    def set_tip(self, text: str) -> None:
        """Say more in the tool tip, after the words of a folded button."""
        self._tip = text
        self._show_tip()

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        if self.folded:
            self._show_tip()

    def _show_tip(self) -> None:
        words = self.accessibleName() if self.folded else ""
        self.setToolTip(plain_tip(". ".join(filter(None, (words, self._tip)))))


class Button(FoldingButton):
    """A button with words; ``keycap`` shows the key that does the same.

    Folded it is its icon alone, or ``folded_icon``; without either only the key goes. ``small``:
    it stands in a narrow column.
    """

    def __init__(
        self,
        theme: Theme,
        text: str,
        kind: Kind = "secondary",
        icon: str | None = None,
        keycap: str | None = None,
        parent: QWidget | None = None,
        *,
        clicked: Callable[..., object] | None = None,
        folded_icon: str | None = None,
        small: bool = False,
    ) -> None:
        super().__init__(theme, parent)
        self._small = small
        if clicked is not None:
            self.clicked.connect(clicked)
        self._kind: Kind = kind
        self._icon, self._folded_icon = icon, icon or folded_icon
        self._keycap = keycap
        self.setText(text)
        self.setAccessibleName(text.removesuffix("…"))
        if kind == "link":
            self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_text(self, text: str) -> None:
        self.setText(text)
        self.setAccessibleName(text.removesuffix("…"))
        self.updateGeometry()
        self.update()

    def set_icon(self, icon: str) -> None:
        self._icon = icon
        self.update()

    def set_keycap(self, keycap: str | None) -> None:
        self._keycap = keycap
        self.updateGeometry()
        self.update()

    def folded_size(self) -> QSize:
        height = self.theme.height(28)
        return QSize(height, height) if self._folded_icon else self._words_size(keycap=False)

    def wide_size(self) -> QSize:
        return self._words_size(keycap=True)

    @property
    def _role(self) -> str:
        return "small_medium" if self._small else "ui_medium"

    @property
    def _pad(self) -> int:
        return 2 if self._kind == "link" else self.theme.px(8 if self._small else 12)

    def _words_size(self, *, keycap: bool) -> QSize:
        t, pad = self.theme, self._pad
        width = t.metrics(self._role).horizontalAdvance(self.text()) + 2 * pad
        if self._icon:
            width += t.px(16) + t.px(6)
        if keycap and self._keycap and t.keycaps:
            width += keycaps_width(t, self._keycap) + t.px(8) - t.px(6)
        return QSize(width, t.height(24 if self._kind == "link" or self._small else 28))

    def _ink(self) -> str:
        if not self.isEnabled():
            return "text3"
        return {
            "primary": "accent_on",
            "secondary": "text1",
            "ghost": "text2",
            "danger": "err",
            "link": "accent_text",
        }[self._kind]

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, kind = self.theme, self._kind
        filled = kind == "primary" and self.isEnabled()
        if filled:
            paint_rounded(painter, rect, self.radius, t.color("accent"), t.color("accent_line"))
        elif kind not in ("ghost", "link"):
            paint_rounded(painter, rect, self.radius, t.color("button"), t.color("control"))
        if kind != "link":
            self.paint_overlay(painter, rect)
        ink = t.color(self._ink())
        font = t.font(self._role)
        font.setUnderline(kind == "link" and self.overlay() is not None)
        if self.folded and self._folded_icon:
            t.paint_icon(painter, centred(rect, t.px(16)), self._folded_icon, ink)
            return
        x = float(self._pad)
        if self._icon:
            side = t.px(16)
            t.paint_icon(
                painter, QRectF(x, (rect.height() - side) / 2, side, side), self._icon, ink
            )
            x += side + t.px(6)
        painter.setFont(font)
        painter.setPen(ink)
        text = QRectF(x, 0, rect.width() - x, rect.height())
        words = self.text()
        if rect.width() < self.sizeHint().width():
            words = elided(t.metrics(self._role), words, rect.width() - x - t.px(8))
        draw_text(painter, text, Qt.AlignmentFlag.AlignVCenter.value, words)
        if self._keycap and t.keycaps and not self.folded:
            at = rect.width() - t.px(6) - keycaps_width(t, self._keycap)
            paint_keycaps(painter, t, QPointF(at, rect.center().y()), self._keycap, filled)


class IconButton(PaintedButton):
    """A button with an icon; ``tooltip`` is also its name. May be checkable."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        tooltip: str,
        size: int = 28,
        icon_size: int = 16,
        parent: QWidget | None = None,
        *,
        clicked: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(theme, parent)
        if clicked is not None:
            self.clicked.connect(clicked)
        self._icon = icon
        self._size = size
        self._icon_size = icon_size
        self.set_tooltip(tooltip)

    def set_icon(self, icon: str) -> None:
        self._icon = icon
        self.update()

    def set_tooltip(self, tooltip: str) -> None:
        self.setToolTip(plain_tip(tooltip))
        self.setAccessibleName(tooltip)

    def sizeHint(self) -> QSize:
        side = self.theme.px(self._size)
        return QSize(side, side)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if self.isChecked():
            paint_rounded(painter, rect, self.radius, t.color("selected"))
        self.paint_overlay(painter, rect)
        ink = "text3" if not self.isEnabled() else "text1" if self.isChecked() else "text2"
        if not self.isEnabled():
            painter.setOpacity(0.6)
        t.paint_icon(painter, centred(rect, t.px(self._icon_size)), self._icon, ink)
