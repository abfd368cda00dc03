"""Fields, labels, cards, tags and status marks, and scroll bars over the content."""

from __future__ import annotations

from typing import TypeAlias

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QLabel,
    QLineEdit,
    QScrollArea,
    QScrollBar,
    QSizePolicy,
    QWidget,
)

from studio.ui.theme import Theme
from studio.ui.translation import tr

from .buttons import IconButton
from .painting import (
    TAGS,
    PaintedWidget,
    paint_logo,
    paint_rounded,
    paint_spinner,
    paint_tag,
    paint_text,
    paint_tile,
    tag_width,
)


class Label(QLabel):
    """A text in the font of a role and the colour of a token; follows the theme."""

    def __init__(
        self,
        theme: Theme,
        text: str = "",
        role: str = "ui",
        token: str = "text1",
        wrap: bool = False,
        digits: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self.theme = theme
        self._role, self._token, self._digits = role, token, digits
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        self.dress()
        theme.changed.connect(self.dress)

    def show_text(self, text: str) -> None:
        """Show a text; hide the label while there is none."""
        self.setText(text)
        self.setVisible(bool(text))

    def dress(self) -> None:
        """Take font and colour of the theme; Qt takes older ones when a parent gets another one."""
        self.setFont(self.theme.font(self._role, self._digits))
        colors = self.palette()
        colors.setColor(QPalette.ColorRole.WindowText, self.theme.color(self._token))
        self.setPalette(colors)


FIELD_PADDING = 7
"""Pixels that the style sheet leaves at each side of a field, its border included."""


class Field(QLineEdit):
    """One line of text; ``icon`` stands before it, ``secret`` hides what is typed.

    ``name`` is what a screen reader says of it, the placeholder unless given.
    """

    def __init__(
        self,
        theme: Theme,
        placeholder: str = "",
        icon: str = "",
        secret: bool = False,
        role: str = "ui",
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._role = role
        self._icon = icon
        self._error = ""
        self._clear: IconButton | None = None
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name or placeholder)
        if secret:
            self.setEchoMode(QLineEdit.EchoMode.Password)
        self._follow()
        theme.changed.connect(self._follow)

    @property
    def error(self) -> str:
        return self._error

    def set_unless_typing(self, text: str) -> None:
        """Show ``text``, unless the person is typing something else."""
        if not self.typing:
            self.setText(text)
            self.setCursorPosition(0)  # its beginning is shown, where it is longer than the field
            if self._error:
                self.set_error()

    @property
    def typing(self) -> bool:
        """Whether the field has typed text that is not confirmed yet."""
        return self.hasFocus() and self.isModified()

    def set_error(self, error: str = "") -> None:
        """Mark the text as wrong; the page shows ``error`` below. Empty marks it as right."""
        self._error = error
        self.setAccessibleDescription(error)
        self.setProperty("error", bool(error))
        self.style().unpolish(self)
        self.style().polish(self)
        self._follow()  # the style restores the font of an earlier text size

    def _follow(self) -> None:
        t = self.theme
        self.setFont(t.font(self._role))
        side = t.px(9) - FIELD_PADDING
        begin = side + (t.px(22) if self._icon else 0)
        end = side + (t.px(16) if self._clear is not None else 0)
        mirrored = self.isRightToLeft()
        self.setTextMargins(end if mirrored else begin, 0, begin if mirrored else end, 0)
        self.setMinimumHeight(t.height(30))
        self._place_clear()
        self.update()

    def offer_clear(self) -> None:
        """Show a cross at the end of the field while it has text; a click empties the field."""
        self._clear = IconButton(self.theme, "x", tr("Clear"), 22, 14, self, clicked=self.clear)
        self._clear.setCursor(Qt.CursorShape.ArrowCursor)
        self._clear.hide()
        self.textChanged.connect(lambda text: self._clear and self._clear.setVisible(bool(text)))
        self._follow()

    def _place_clear(self) -> None:
        if self._clear is not None:
            size, gap = self._clear.sizeHint(), self.theme.px(4)
            x = gap if self.isRightToLeft() else self.width() - size.width() - gap
            y = (self.height() - size.height()) // 2
            self._clear.setGeometry(x, y, size.width(), size.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_clear()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._follow()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._icon:
            t, side = self.theme, self.theme.px(16)
            painter = QPainter(self)
            x = self.width() - t.px(10) - side if self.isRightToLeft() else t.px(10)
            box = QRectF(x, (self.height() - side) / 2, side, side)
            t.paint_icon(painter, box, self._icon, "text2")
            painter.end()


class Card(QFrame):
    """A rounded box that holds other widgets."""

    def __init__(
        self,
        theme: Theme,
        fill: str = "surface",
        border: str = "control",
        radius: int = 10,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._fill, self._border, self._radius = fill, border, radius
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        t = self.theme
        painter = QPainter(self)
        border = t.color(self._border) if self._border else None
        paint_rounded(painter, QRectF(self.rect()), self._radius, t.color(self._fill), border)
        painter.end()


class Column(QWidget):
    """A column of widgets, ``width`` pixels wide at text size 100 %.

    With ``least`` it becomes as narrow where there is no room.
    """

    def __init__(
        self, theme: Theme, width: int, parent: QWidget | None = None, *, least: int = 0
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._width, self._least = width, least
        self._follow()
        theme.changed.connect(self._follow)

    def _follow(self) -> None:
        self.setFixedWidth(self.theme.px(self._width))
        if self._least:
            self.setMinimumWidth(self.theme.px(self._least))


class Hairline(PaintedWidget):
    """A divider, one pixel thick."""

    ground = "hair"

    def __init__(self, theme: Theme, upright: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        if upright:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)


class _Mark(PaintedWidget):
    """Base class of small painted widgets that take no input."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._follow)

    def _follow(self) -> None:
        self.updateGeometry()
        self.update()

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class Tag(_Mark):
    """A word in a small box, perhaps with an icon: neutral, accent, ok, warn or err."""

    def __init__(
        self, theme: Theme, text: str, kind: str = "neutral", parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self.set(text, kind)

    def set(self, text: str, kind: str = "neutral", icon: str = "") -> None:
        assert kind in TAGS
        self._text, self._kind, self._icon = text, kind, icon
        self.setAccessibleName(text)
        self._follow()

    def sizeHint(self) -> QSize:
        return QSize(tag_width(self.theme, self._text, self._icon), self.theme.px(18))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        at = QPointF(0, self.height() / 2)
        paint_tag(painter, self.theme, at, self._text, self._kind, self._icon)


class _SquareMark(_Mark):
    """Base class of marks that are ``size`` pixels square at text size 100 %."""

    def __init__(self, theme: Theme, size: int) -> None:
        super().__init__(theme)
        self._size = size

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(self._size), self.theme.px(self._size))


class Tile(_SquareMark):
    """An agent's tile."""

    def __init__(self, theme: Theme, icon: str, hue: str, size: int = 24) -> None:
        super().__init__(theme, size)
        self.set(icon, hue)

    def set(self, icon: str, hue: str) -> None:
        self._icon, self._hue = icon, hue
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_tile(painter, self.theme, rect, self._icon, self._hue)


class Mark(_SquareMark):
    """An icon that takes no input."""

    def __init__(self, theme: Theme, icon: str, token: str = "text2", size: int = 16) -> None:
        super().__init__(theme, size)
        self._icon, self._token = icon, token

    def set(self, icon: str, token: str = "") -> None:
        self._icon, self._token = icon, token or self._token
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        self.theme.paint_icon(painter, rect, self._icon, self._token)


class Logo(_SquareMark):
    """The program's logo."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, 52)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_logo(painter, self.theme, rect)


_INK_OF_STATE = {"ok": "ok", "warn": "warn", "err": "err", "off": "text3"}


class Status(_Mark):
    """A dot or spinner with a text: ``ok``, ``warn``, ``err``, ``busy`` or ``off``."""

    def __init__(
        self, theme: Theme, text: str = "", state: str = "off", parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self.set(text, state)

    def set(self, text: str, state: str) -> None:
        self._text, self._state = text, state
        self.setAccessibleName(text)
        self._follow()

    def sizeHint(self) -> QSize:
        t = self.theme
        return QSize(
            t.px(15) + t.metrics("small digits").horizontalAdvance(self._text) + 2,
            t.height(18, "small"),
        )

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, middle = self.theme, self.height() / 2
        if self._state == "busy":
            side = t.px(13)
            paint_spinner(painter, t, self, QRectF(-1, middle - side / 2, side, side))
        else:
            side = t.px(7)
            dot = QRectF(1, middle - side / 2, side, side)
            paint_rounded(painter, dot, side / 2, t.color(_INK_OF_STATE[self._state]))
        ink = "err" if self._state == "err" else "text2"
        paint_text(painter, t, rect.translated(t.px(15), 0), self._text, "small digits", ink)


Index: TypeAlias = QModelIndex | QPersistentModelIndex
"""What a list's model and delegate are asked about."""
BAR_WIDTH = 10


def make_transparent(area: QAbstractScrollArea) -> None:
    """Give ``area`` a transparent background.

    ``viewport()`` is not called: the first widget that Qt returns makes PySide set up every
    class of widget, which would delay the window.
    """
    palette = QPalette()
    for role in (QPalette.ColorRole.Base, QPalette.ColorRole.Window):
        palette.setColor(role, Qt.GlobalColor.transparent)
    area.setPalette(palette)


class OverlayBar(QScrollBar):
    """A vertical bar over the right edge of ``area``, synchronised with the area's hidden one."""

    def __init__(self, area: QAbstractScrollArea) -> None:
        super().__init__(Qt.Orientation.Vertical, area)
        self._area = area
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = area.verticalScrollBar()
        inner.rangeChanged.connect(self._ranged)
        inner.valueChanged.connect(self.setValue)
        self.valueChanged.connect(inner.setValue)
        area.installEventFilter(self)
        self._ranged(inner.minimum(), inner.maximum())

    def _ranged(self, low: int, high: int) -> None:
        inner = self._area.verticalScrollBar()
        self.setRange(low, high)
        self.setPageStep(inner.pageStep())
        self.setSingleStep(inner.singleStep())
        self.setVisible(high > low)
        self._place()

    def _place(self) -> None:
        area = self._area
        self.setGeometry(area.width() - BAR_WIDTH, 0, BAR_WIDTH, area.height())
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
            self._ranged(self.minimum(), self._area.verticalScrollBar().maximum())
        return False


def scrolled(inner: QWidget) -> QScrollArea:
    """An area without a frame and a ground of its own, in which ``inner`` is scrolled."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.viewport().setAutoFillBackground(False)
    area.setWidget(inner)
    inner.setAutoFillBackground(False)  # what the area has just set
    OverlayBar(area)
    return area
