"""Base class and building blocks of settings pages: page, cards of rows, replaceable slots."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import Card, Hairline, Label, Mark, OverlayBar

AROUND = 16
"""Pixels that are seen above and below what has the focus."""


class SettingsPage(QScrollArea):
    """A page with a title and a line below; ``column`` takes its cards.

    A page of the registry is made from a theme and ``SettingsServices``.
    """

    changed = Signal()
    """A setting is another one now: the settings window saves it."""
    page_wanted = Signal(str)
    """The key of another page that the person wants to see."""
    affects_server: ClassVar[bool] = False
    """Whether the server has to read the settings again after a change."""

    def __init__(self, theme: Theme, title: str, line: str) -> None:
        super().__init__()
        self.theme, self.title = theme, title
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab stops at controls; they scroll into view
        self.viewport().setAutoFillBackground(False)
        inner = self.inner = QWidget()
        self.column = QVBoxLayout(inner)
        self.column.setContentsMargins(24, 20, 24, 24)
        self.column.setSpacing(14)
        head = QVBoxLayout()
        head.setSpacing(2)
        head.addWidget(Label(theme, title, "title"))
        self.line = Label(theme, line, "ui", "text2", wrap=True)
        head.addWidget(self.line)
        self.column.addLayout(head)
        self.setWidget(inner)
        inner.setAutoFillBackground(False)
        self.bar = OverlayBar(self)

    def refresh(self) -> None:
        """Show the settings as they are now; what is being typed stays."""

    def show_at(self, name: str) -> None:
        """Show the page's part with this name, a provider or a setting for example.

        It is called each time a person is led to the page; the name is empty if the
        page as a whole is wanted.
        """

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def add_group(self, title: str, rows: QWidget) -> None:
        """A card below its title."""
        group = QVBoxLayout()
        group.setSpacing(6)
        group.addWidget(Label(self.theme, title, "ui_strong"))
        group.addWidget(rows)
        self.column.addLayout(group)

    def reveal(self, control: QWidget) -> None:
        """Scroll until ``control`` and the ring around it are seen."""
        place = QRect(control.mapTo(self.inner, QPoint(0, 0)), control.size())
        for y in (place.bottom(), place.top()):
            self.ensureVisible(place.x(), y, 0, AROUND)

    def tab_in_order(self) -> None:
        """Have Tab go through the controls as they stand; those made last would come last."""
        for one, following in pairwise(_stops(self.column)):
            QWidget.setTabOrder(one, following)


def _stops(layout: QLayout) -> Iterator[QWidget]:
    for index in range(layout.count()):
        item = layout.itemAt(index)
        assert item is not None
        widget = item.widget()
        if widget is not None and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            yield widget
        inner = item.layout() if widget is None else widget.layout()
        if inner is not None:
            yield from _stops(inner)


class Slot(QWidget):
    """Where something stands on a page that is made anew when what it shows has changed."""

    def __init__(self) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._held: QWidget | None = None

    def put(self, widget: QWidget) -> None:
        """Show ``widget`` in place of what was here."""
        old, self._held = self._held, widget
        self._column.addWidget(widget)
        around = self.parentWidget()
        while around is not None and not isinstance(around, SettingsPage):
            around = around.parentWidget()
        if around is not None:
            around.tab_in_order()
        if old is not None:
            old.hide()  # the focus, if it was there, goes on to the next control
            self._column.removeWidget(old)
            old.deleteLater()


class FormCard(Card):
    """A card of settings, each with words at the left and its control at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "hair")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 0, 14, 0)
        self._column.setSpacing(0)
        self._least: list[tuple[QWidget, QWidget, int]] = []
        theme.changed.connect(self._follow)

    def add(
        self,
        title: str | QWidget,
        control: QWidget,
        line: str = "",
        *,
        icon: str = "",
        role: str = "ui_medium",
        least: int = 0,
    ) -> Label:
        """Returns the words below the title, which may be a control too.

        The control at the right is ``least`` pixels wide or wider.
        """
        row, inner = self._row()
        if icon:
            inner.addWidget(Mark(self.theme, icon), 0, Qt.AlignmentFlag.AlignVCenter)
            inner.setSpacing(10)
        words = QVBoxLayout()
        words.setSpacing(1)
        if isinstance(title, str):
            title = Label(self.theme, title, role, wrap=role == "code")
        words.addWidget(title)
        below = Label(self.theme, line, "small", "text2", wrap=True)
        below.setVisible(bool(line))
        words.addWidget(below)
        inner.addLayout(words, 1)
        inner.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        self._least.append((row, control, least))
        self._follow()
        return below

    def add_text(self, words: str) -> None:
        """A line of words alone."""
        self._row()[1].addWidget(Label(self.theme, words, "ui", "text2", wrap=True))

    def _row(self) -> tuple[QWidget, QHBoxLayout]:
        if self._column.count():
            self._column.addWidget(Hairline(self.theme))
        row = QWidget()
        inner = QHBoxLayout(row)
        inner.setContentsMargins(0, 8, 0, 8)
        inner.setSpacing(16)
        self._column.addWidget(row)
        return row, inner

    def _follow(self) -> None:
        for row, control, least in self._least:
            row.setMinimumHeight(max(48, self.theme.px(48)))
            if least:
                control.setMinimumWidth(self.theme.px(least))
