"""Rows of the office's pages: a day, words, a state and buttons, in cards under a heading."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from studio.packs.ui import (
    STRETCH,
    Card,
    FocusRing,
    Hairline,
    Label,
    OverlayBar,
    PaintedButton,
    PaintedWidget,
    Segmented,
    Theme,
    column_of,
    make_transparent,
    paint_rounded,
    paint_text,
    plain_tip,
    row_of,
    widget_of,
)

from ..tools import _german as german

AGENT = "Helena"
"""Whom chats about an Akte are with."""
DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"),
    *("September", "Oktober", "November", "Dezember"),
)


def long_day(day: datetime.date) -> str:
    """``Montag, 9. Februar 2026, KW 7``."""
    week = day.isocalendar().week
    return f"{DAYS[day.weekday()]}, {day.day}. {MONTHS[day.month - 1]} {day.year}, KW {week}"


def day_block(theme: Theme, day: datetime.date, *, overdue: bool = False) -> QWidget:
    """A day over its weekday, at least 76 pixels wide."""
    return block(theme, f"{day:%d.%m.}", DAYS[day.weekday()], "err" if overdue else "text1")


def block(theme: Theme, above: str, below: str, ink: str = "text1") -> QWidget:
    """A day or an hour in large over what belongs to it."""
    number = Label(theme, above, "heading", ink, digits=True)
    name = Label(theme, below, "tag", "text2")
    for one in (number, name):
        one.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    made = widget_of(column_of([STRETCH, number, name, STRETCH], spacing=0))
    longest = max(theme.metrics("tag").horizontalAdvance(one) for one in DAYS)
    made.setMinimumWidth(max(theme.px(76), longest + theme.px(4)))
    return made


def section(
    theme: Theme,
    title: str,
    rows: Sequence[QWidget],
    link: QWidget | None = None,
    count: int | None = None,
) -> QWidget:
    """A heading with its number of rows, and the rows in a card with lines between.

    ``link`` stands at the right of the heading; ``count`` is of more than the rows.
    """
    card = Card(theme)
    column = column_of(spacing=0, margins=(14, 0, 14, 0), on=card)
    for index, row in enumerate(rows):
        if index:
            column.addWidget(Hairline(theme))
        column.addWidget(row)
    many = german.count(len(rows) if count is None else count)
    number = Label(theme, many, "small", "text2", digits=True)
    head = row_of([Label(theme, title, "ui_strong"), number, STRETCH], spacing=8)
    if link is not None:
        head.addWidget(link)
    return widget_of(column_of([head, card], spacing=8))


def pair(theme: Theme, name: str, words: str) -> QWidget:
    """A name and its value; one that is not known is said so."""
    left = Label(theme, name, "ui", "text2")
    left.setMinimumWidth(theme.px(130))
    known = bool(words.strip())
    right = Label(theme, words if known else "nicht angegeben", "ui", "text1" if known else "text2")
    right.setWordWrap(True)
    return widget_of(row_of([left, (right, 1)], spacing=12))


class ElidedLabel(Label):
    """Words in one line that give way to what is beside them, with dots at their end."""

    def __init__(self, theme: Theme, role: str, ink: str = "text1", text: str = "") -> None:
        super().__init__(theme, text, role, ink)
        self._look = role, ink
        self.setMinimumWidth(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        (role, ink), rect = self._look, QRectF(self.rect())
        room = rect.width() + 1  # what is as wide as the place has no dots
        paint_text(QPainter(self), self.theme, rect, self.text(), role, ink, room=room)


class RowTitle(Label):
    """Words as wide as they are, which wrap where there is less room."""

    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__(theme, text, "ui", wrap=True)

    def sizeHint(self) -> QSize:
        wide = self.fontMetrics().horizontalAdvance(self.text()) + 2
        return QSize(wide, self.heightForWidth(wide))


class FoldedRow(QWidget):
    """Two parts beside each other, the first one as wide as it can be; in less room than ``least``
    one below the other."""

    def __init__(
        self,
        theme: Theme,
        first: QWidget,
        second: QWidget,
        least: int,
        *,
        spacing: int = 12,
        even: bool = False,
    ) -> None:
        super().__init__()
        self._theme, self._least, self._parts = theme, least, (first, second)
        # Beside each other both are at the top where they are even, else in the middle.
        middle = Qt.AlignmentFlag.AlignVCenter
        side = (second, 1) if even else (second, middle)
        self._box = row_of([(first, 1), side], spacing=spacing, on=self)

    def minimumSizeHint(self) -> QSize:
        wide = max(one.minimumSizeHint().width() for one in self._parts if not one.isHidden())
        return QSize(wide, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() >= self._theme.px(self._least)
        way = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if self._box.direction() != way:
            self._box.setDirection(way)


class SideScroll(QScrollArea):
    """Choices in a line, which scrolls sideways to the chosen one where it is too long."""

    def __init__(
        self, theme: Theme, choices: Segmented, margins: tuple[int, int, int, int]
    ) -> None:
        super().__init__()
        self._choices, self._theme = choices, theme
        choices.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._inside = widget_of(row_of([choices, STRETCH], margins=margins))
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        make_transparent(self)
        self.setWidget(self._inside)
        self._inside.setAutoFillBackground(False)  # which setWidget() sets
        self._inside.installEventFilter(self)
        choices.chosen.connect(self._follow)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()  # the choices are written larger, or say more
        return super().eventFilter(watched, event)

    def sizeHint(self) -> QSize:
        return self._inside.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._inside.sizeHint().height())

    def _follow(self) -> None:
        for one in self._choices.findChildren(QAbstractButton):
            if one.isChecked():
                self.ensureWidgetVisible(one)


class Ground(PaintedWidget):
    """What sections stand on. It is opaque: Qt moves its picture when it scrolls."""

    ground = "surface"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)


class ScrolledColumn(QScrollArea):
    """Sections from top to bottom, which scroll."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        make_transparent(self)
        self.show_parts([])

    def show_parts(self, parts: Sequence[QWidget], margin: int = 20) -> None:
        """Replace what is shown; the place in it stays."""
        place = self.verticalScrollBar().value()
        margins = (margin, margin, margin, margin)
        inside = Ground(self._theme)
        column_of([*parts, STRETCH], spacing=20, margins=margins, on=inside)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # which setWidget() sets
        self.verticalScrollBar().setValue(place)


class LinkTitle(PaintedButton):
    """A title that opens what it is of; ``name`` is what a screen reader says."""

    def __init__(self, theme: Theme, text: str, name: str) -> None:
        super().__init__(theme)
        self.show_title(text, name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_title(self, text: str, name: str) -> None:
        self.setText(text)
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(text))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        metrics = self.theme.metrics("ui_medium")
        return QSize(metrics.horizontalAdvance(self.text()) + 2, metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(60), self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        ink = "accent_text" if self.overlay() is not None else "text1"
        paint_text(painter, self.theme, rect, self.text(), "ui_medium", ink, room=rect.width())


class ChoiceLine(PaintedButton):
    """One of a list: a title over what it is about. The current one is marked."""

    def __init__(self, theme: Theme, title: str, about: str, icon: str) -> None:
        super().__init__(theme)
        self._about, self._icon, self._current = about, icon, False
        self.setText(title)
        self.setToolTip(plain_tip(title))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.set_current(False)

    def set_current(self, on: bool) -> None:
        self._current = on
        chosen = ", gewählt" if on else ""
        self.setAccessibleName(f"{self.text()}, {self._about}{chosen}")
        self.update()

    def sizeHint(self) -> QSize:
        t = self.theme
        lines = t.metrics("ui").height() + t.metrics("small").height()
        return QSize(t.px(160), lines + t.px(12))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(80), self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if self._current:
            paint_rounded(painter, rect, 6, t.color("selected"))
        self.paint_overlay(painter, rect)
        side, x = t.px(16), float(t.px(34))
        first, second = t.metrics("ui").height(), t.metrics("small").height()
        top = (rect.height() - first - second) / 2
        t.paint_icon(painter, QRectF(t.px(8), top, side, side), self._icon, "text2")
        room = rect.width() - x - t.px(8)
        place = QRectF(x, top, room + 2, first)
        paint_text(painter, t, place, self.text(), "ui", room=room)
        place = QRectF(x, top + first, room + 2, second)
        paint_text(painter, t, place, self._about, "small", "text2", room=room)


class TextReader(QPlainTextEdit):
    """A text to read, which can be selected by mouse and keys."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.setReadOnly(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setAccessibleName(name)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.document().setDocumentMargin(theme.px(8))
        make_transparent(self)
        OverlayBar(self)
        FocusRing.of(theme).follow(self, inside=True)
        self._follow()
        theme.changed.connect(self._follow)

    def _follow(self) -> None:
        self.setFont(self._theme.font("ui"))
