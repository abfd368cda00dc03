"""Base class of a settings page, and the cards of rows that pages consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import ClassVar

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLayout, QScrollArea, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import Button, Card, Hairline, Label, Mark, OverlayBar, Toggle
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

FOCUS_MARGIN = 16
"""Pixels kept visible above and below the control with the focus."""


class SettingsPage(QScrollArea):
    """A page with a title and a line below; ``column`` takes its cards.

    A page of the registry is made from a theme and ``SettingsServices``.
    """

    changed = Signal()
    """A setting was changed: the settings window saves it."""
    page_wanted = Signal(str)
    """The key of another page that the person wants to see."""
    affects_server: ClassVar[bool] = False
    """Whether the server has to read the settings again after a change."""

    def __init__(self, theme: Theme, title: str, line: str) -> None:
        super().__init__()
        self.theme, self.title = theme, title
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab stops at controls; they scroll into view
        self.viewport().setAutoFillBackground(False)
        self.line = Label(theme, line, "ui", "text2", wrap=True)
        self.title_column = column_of([Label(theme, title, "title"), self.line], spacing=2)
        """The title, its line, and what belongs close to them."""
        self.head = row_of([(self.title_column, 1)], spacing=8)
        """The title and its line; a button of the whole page is added at their right."""
        self.column = column_of([self.head], spacing=14, margins=(24, 20, 24, 24))
        self.inner = widget_of(self.column)
        self.setWidget(self.inner)
        self.inner.setAutoFillBackground(False)
        self.bar = OverlayBar(self)

    def ask_for_folder(self, title: str, folder: str, chosen: Callable[[str], object]) -> None:
        """Show a dialog that begins in ``folder``; ``chosen`` gets the one that is picked."""
        dialog = QFileDialog(self.window(), title, folder)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        self._open_dialog(dialog, chosen)

    def ask_for_file(self, title: str, names: str, chosen: Callable[[str], object]) -> None:
        """The same for a file; ``names`` are those that are offered: “Packs (*.zip)”."""
        dialog = QFileDialog(self.window(), title)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(names)
        self._open_dialog(dialog, chosen)

    def _open_dialog(self, dialog: QFileDialog, chosen: Callable[[str], object]) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(chosen)
        dialog.open()

    def refresh(self) -> None:
        """Show the current settings; text that is being typed stays."""

    def show_at(self, name: str) -> None:
        """Show the part with this name, for example a provider or a setting.

        Called each time another part of the program opens the page; the name is empty for
        the page as a whole.
        """

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def add_group(self, title: str, rows: QWidget) -> None:
        """A card below its title."""
        head = Label(self.theme, title, "ui_strong")
        self.column.addLayout(column_of([head, rows], spacing=8, margins=(0, 5, 0, 0)))

    def show_head(self, shown: bool) -> None:
        """Show the title and what stands beside it, or not: a part may have a head of its own."""
        _set_visible(self.head, shown)

    def reveal(self, control: QWidget) -> None:
        """Scroll until ``control`` and its focus ring are visible."""
        place = QRect(control.mapTo(self.inner, QPoint(0, 0)), control.size())
        for y in (place.bottom(), place.top()):
            self.ensureVisible(place.x(), y, 0, FOCUS_MARGIN)

    def tab_in_order(self) -> None:
        """Let Tab visit the controls from top to bottom, not in the order of their creation."""
        for control, following in pairwise(_tab_stops(self.column)):
            QWidget.setTabOrder(control, following)


def _set_visible(layout: QLayout, shown: bool) -> None:
    """Show or hide all that stands in a layout."""
    for index in range(layout.count()):
        item = layout.itemAt(index)
        assert item is not None
        if (widget := item.widget()) is not None:
            widget.setVisible(shown)
        elif (inner := item.layout()) is not None:
            _set_visible(inner, shown)


def _tab_stops(layout: QLayout) -> Iterator[QWidget]:
    for index in range(layout.count()):
        item = layout.itemAt(index)
        assert item is not None
        widget = item.widget()
        if widget is not None and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            yield widget
        inner = item.layout() if widget is None else widget.layout()
        if inner is not None:
            yield from _tab_stops(inner)


class Slot(QWidget):
    """A place on a page whose widget is replaced when its contents change."""

    def __init__(self) -> None:
        super().__init__()
        self._column = column_of(on=self)
        self._held: QWidget | None = None

    def put(self, widget: QWidget) -> None:
        """Show ``widget`` in place of the present one."""
        old, self._held = self._held, widget
        self._column.addWidget(widget)
        page = self.parentWidget()
        while page is not None and not isinstance(page, SettingsPage):
            page = page.parentWidget()
        if page is not None:
            page.tab_in_order()
        if old is not None:
            old.hide()  # moves the focus, if it was inside, to the next control
            self._column.removeWidget(old)
            old.deleteLater()


class AskCard(Card):
    """A card that asks something; Escape leaves it, and the window stays open."""

    leave: Button

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave.click()
            return
        super().keyPressEvent(event)


class CardGroups(Slot):
    """Cards below headings; all are replaced at once."""

    def show_groups(self, theme: Theme, groups: Iterable[tuple[str | QWidget, QWidget]]) -> None:
        """Each with its heading, which may be more than a text."""
        parts = [
            column_of(
                [Label(theme, title, "ui_strong") if isinstance(title, str) else title, card],
                spacing=8,
                margins=(0, 5, 0, 0),
            )
            for title, card in groups
        ]
        self.put(widget_of(column_of(parts, spacing=14)))


class FormCard(Card):
    """A card of settings: text at the left, the control at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "hair")
        self._column = column_of(spacing=0, margins=(14, 0, 14, 0), on=self)
        self._sizes: list[tuple[QWidget, QWidget, bool, int]] = []
        """A row, its control, whether it has a line below its title, and the control's least width.
        """
        theme.changed.connect(self._update_sizes)

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
        """Add a row; return the label below the title. The title may be a control, too.

        ``least`` is the minimum width of the control at the right, in pixels.
        """
        row, inner = self._row()
        if icon:
            inner.addWidget(Mark(self.theme, icon), 0, Qt.AlignmentFlag.AlignVCenter)
            inner.setSpacing(12)
        if isinstance(title, str):
            title = Label(self.theme, title, role, wrap=role == "code")
        below = Label(self.theme, line, "small", "text2", wrap=True)
        if not line:  # to show it, still without a parent, would open a window
            below.hide()
        inner.addLayout(column_of([STRETCH, title, below, STRETCH], spacing=1), 1)
        inner.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        self._sizes.append((row, control, bool(line), least))
        self._update_sizes()
        return below

    def add_toggle(
        self, title: str, toggled: Callable[[bool], object], line: str = "", *, name: str = ""
    ) -> Toggle:
        """Add a row with a switch, whose name is the title unless given."""
        toggle = Toggle(self.theme, name or title)
        toggle.toggled.connect(toggled)
        self.add(title, toggle, line)
        return toggle

    def add_text(self, text: str) -> None:
        """Add a row of text without a control."""
        self._row()[1].addWidget(Label(self.theme, text, "ui", "text2", wrap=True))

    def _row(self) -> tuple[QWidget, QHBoxLayout]:
        if self._column.count():
            self._column.addWidget(Hairline(self.theme))
        inner = row_of(spacing=16, margins=(0, 8, 0, 8))
        row = widget_of(inner)
        self._column.addWidget(row)
        return row, inner

    def _update_sizes(self) -> None:
        for row, control, lined, least in self._sizes:
            tall = lined or control.sizeHint().height() >= self.theme.height(30)
            row.setMinimumHeight(self.theme.px(51 if tall else 44))
            if least:
                control.setMinimumWidth(self.theme.px(least))
