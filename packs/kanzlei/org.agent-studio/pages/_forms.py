"""Forms that enter one record of an Akte, and the field that finds the Akte."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.packs import Home, ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Field,
    Label,
    Page,
    Theme,
    column_of,
    row_of,
    widget_of,
)

from ..tools.office.akten import Akte, Akten
from ._rows import LinkTitle

NO_AKTE = "Zu welcher Akte? Such sie oben."
_FEW = 5
_WAIT = 120
"""Milliseconds after the last letter before it is looked for."""


def named_field(theme: Theme, name: str, field: QWidget) -> QVBoxLayout:
    """A field under its name."""
    return column_of([Label(theme, name, "small", "text2"), field], spacing=4)


class OfficeForm(Card):
    """A form for one record. ``entered``: it stands in the Akte, with what is to be told and
    what to be warned of. ``closed``: the person wants no more of it.
    """

    entered = Signal(str, str)
    closed = Signal()

    def __init__(
        self,
        page: Page,
        title: str,
        rows: Sequence[Sequence[tuple[str, QWidget, int]]],
        more: Sequence[QWidget] = (),
    ) -> None:
        """``rows`` are fields by name with their part of the width, ``more`` stands below."""
        super().__init__(page.theme)
        self.page, t = page, page.theme
        self.akte: Akte | None = None
        self.first = rows[0][0][1]
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.problem.hide()
        self.save = Button(t, "Eintragen", "primary", clicked=self.enter)
        cancel = Button(t, "Abbrechen", clicked=self.closed.emit)
        lines = [
            row_of([(named_field(t, name, field), wide) for name, field, wide in row], spacing=10)
            for row in rows
        ]
        foot = row_of([*more, STRETCH, cancel, self.save], spacing=8)
        parts = [Label(t, title, "ui_strong"), *lines, self.problem, foot]
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)
        for field in self.findChildren(Field):
            field.returnPressed.connect(self.enter)

    def show_akte(self, akte: Akte) -> None:
        """A record of this Akte is entered; what was written for another is gone."""
        if self.akte is None:
            self.problem.show_text("")  # which asked for one
        elif akte.id != self.akte.id:
            self.clear()
        self.akte = akte

    def clear(self) -> None:
        for field in self.findChildren(Field):
            field.clear()
        self.problem.show_text("")

    def work(self, akte: Akte) -> Callable[[Home], tuple[str, str]]:
        """What enters the fields as they are now; it blocks, and raises ToolFailed."""
        raise NotImplementedError

    def enter(self) -> None:
        akte, home = self.akte, self.page.home
        if akte is None:
            self.problem.show_text(NO_AKTE)
        elif self.save.isEnabled():  # Enter twice enters once
            try:
                work = self.work(akte)
            except ToolFailed as error:
                self.problem.show_text(str(error))
                return
            self.page.attempt(lambda: work(home), self._entered, self.save)

    def _entered(self, told: tuple[str, str] | None, problem: str) -> None:
        if told is None:
            self.problem.show_text(problem)
            return
        self.clear()
        self.closed.emit()
        self.entered.emit(*told)


class AktePicker(QWidget):
    """Finds an Akte as one writes. ``chosen`` tells which."""

    chosen = Signal(object)

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page, t = page, page.theme
        self.found: list[Akte] = []
        self._looking = 0
        self.field = Field(t, "Akte: Aktenzeichen oder Rubrum", icon="search", name="Akte suchen")
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: page.run(self._look()))
        self.field.textEdited.connect(lambda: self._soon.start())
        self.field.returnPressed.connect(self._take_first)
        self._list = column_of(spacing=4)
        column_of([self.field, widget_of(self._list)], spacing=6, on=self)

    def clear(self) -> None:
        self.field.clear()
        self._show([])

    async def _look(self) -> None:
        self._looking = number = self._looking + 1
        words, home = self.field.text().strip(), self.page.home
        found = await self.page.in_thread(
            lambda: home.service(Akten).find(home.person, words, _FEW) if words else []
        )
        if number == self._looking:
            self._show(found)

    def _show(self, found: list[Akte]) -> None:
        self.found = found
        while (item := self._list.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for one in found:
            link = LinkTitle(self.page.theme, one.title, f"Akte {one.title} wählen")
            link.clicked.connect(lambda _=False, one=one: self.choose(one))
            self._list.addWidget(link)

    def _take_first(self) -> None:
        if self.found:
            self.choose(self.found[0])

    def choose(self, akte: Akte) -> None:
        self._soon.stop()
        self._looking += 1
        self.field.setText(akte.title)
        self._show([])
        self.chosen.emit(akte)
