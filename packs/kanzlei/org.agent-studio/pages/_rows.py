"""Rows of the office's pages: a day, words, a state and buttons, in cards under a heading."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from studio.packs.ui import (
    STRETCH,
    Card,
    Hairline,
    Label,
    Theme,
    column_of,
    make_transparent,
    row_of,
    widget_of,
)

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
    ink = "err" if overdue else "text1"
    number = Label(theme, f"{day:%d.%m.}", "heading", ink, digits=True)
    name = Label(theme, DAYS[day.weekday()], "tag", "text2")
    for one in (number, name):
        one.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    block = widget_of(column_of([STRETCH, number, name, STRETCH], spacing=0))
    block.setMinimumWidth(theme.px(76))
    return block


def section(theme: Theme, title: str, rows: Sequence[QWidget]) -> QWidget:
    """A heading with its number of rows, and the rows in a card with lines between."""
    card = Card(theme)
    column = column_of(spacing=0, margins=(14, 0, 14, 0), on=card)
    for index, row in enumerate(rows):
        if index:
            column.addWidget(Hairline(theme))
        column.addWidget(row)
    count = Label(theme, str(len(rows)), "small", "text2", digits=True)
    head = row_of([Label(theme, title, "ui_strong"), count, STRETCH], spacing=8)
    return widget_of(column_of([head, card], spacing=8))


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

    def show_parts(self, parts: Sequence[QWidget]) -> None:
        """Replace what is shown; the place in it stays."""
        place = self.verticalScrollBar().value()
        inside = widget_of(column_of([*parts, STRETCH], spacing=20, margins=(20, 20, 20, 20)))
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # which setWidget() sets
        self.verticalScrollBar().setValue(place)
