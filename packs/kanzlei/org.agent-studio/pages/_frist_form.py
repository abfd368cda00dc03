"""The form of a new Frist: it is computed as one writes, and a person enters it (KZ-16, KZ-47)."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal

from studio.packs import ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Combo,
    Field,
    Label,
    MenuItem,
    Page,
    column_of,
    row_of,
)

from ..tools.deadlines.calculation import Deadline
from ..tools.deadlines.kinds import kinds
from ..tools.office.akten import Akte
from ..tools.office.frist_kind import FristFields, computed, described, enter
from ._forms import NO_AKTE, named_field

_WAIT = 200
"""Milliseconds after the last letter before it is computed."""


class FristForm(Card):
    """``entered``: the Frist stands in the Akte. ``closed``: the person wants no more of it."""

    entered = Signal()
    closed = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__(page.theme)
        self.page, t = page, page.theme
        self.akte: Akte | None = None
        self._computing = 0
        self.kind = Combo(t, "Art der Frist", items=[MenuItem(one, one) for one in kinds()])
        self.kind.set_current(next(iter(kinds())))
        self.first = self.kind
        self.event_day = Field(t, "04.02.2026", name="Tag des Ereignisses")
        self.extension = Field(t, "1 Monat", name="Verlängerung")
        self.reason = Field(t, "Urteil, zugestellt mit EB", name="Grund")
        self.result = Label(t, "", "small", "text2", wrap=True)
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.save = Button(t, "Eintragen", "primary", clicked=self._save)
        cancel = Button(t, "Abbrechen", clicked=self.closed.emit)
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: page.run(self._compute()))
        self.kind.chosen.connect(lambda _: self._soon.start())
        for field in (self.event_day, self.extension, self.reason):
            field.textChanged.connect(lambda: self._soon.start())
            field.returnPressed.connect(self._save)
        column_of(
            [
                Label(t, "Neue Frist", "ui_strong"),
                row_of(
                    [
                        (named_field(t, "Art", self.kind), 3),
                        (named_field(t, "Ereignis, Zustellung", self.event_day), 2),
                        (named_field(t, "Verlängerung", self.extension), 2),
                        (named_field(t, "Grund", self.reason), 3),
                    ],
                    spacing=10,
                ),
                self.result,
                self.problem,
                row_of([STRETCH, cancel, self.save], spacing=8),
            ],
            spacing=8,
            margins=(14, 12, 14, 12),
            on=self,
        )
        self.result.hide()
        self.problem.hide()

    def show_akte(self, akte: Akte) -> None:
        """A Frist of this Akte is entered; what was written for another is gone."""
        if self.akte is None or akte.id != self.akte.id:
            for field in (self.event_day, self.extension, self.reason):
                field.clear()
        self.akte = akte

    def fields(self) -> FristFields:
        assert self.akte is not None
        extension = self.extension.text().strip()
        return FristFields(
            akte=self.akte.id,
            kind=self.kind.current,
            place=self.akte.court_place,
            event=self.event_day.text().strip(),
            extensions=(extension,) if extension else (),
            reason=self.reason.text().strip(),
        )

    async def _compute(self) -> None:
        """Show what comes out; while the day is not whole, nothing."""
        if self.akte is None or not self.event_day.text().strip():
            self.result.show_text("")
            return
        self._computing = number = self._computing + 1
        fields, home, akte = self.fields(), self.page.home, self.akte

        def work() -> tuple[Deadline | None, str]:
            try:
                found = computed(fields, home)
            except ToolFailed as error:
                return None, str(error)
            return found, described(akte, found, fields)

        found, words = await self.page.in_thread(work)
        if number == self._computing:
            self.result.show_text(words.strip() if found is not None else "")
            self.problem.show_text("" if found is not None else words)

    def _save(self) -> None:
        home = self.page.home
        if self.akte is None:
            self.problem.show_text(NO_AKTE)
        elif self.save.isEnabled():  # Enter twice enters one Frist
            fields = self.fields()
            self.page.attempt(lambda: enter(home.person, fields, home), self._entered, self.save)

    def _entered(self, _: object, problem: str) -> None:
        if problem:
            self.problem.show_text(problem)
            return
        for field in (self.event_day, self.extension, self.reason):
            field.clear()
        self._soon.stop()
        self.result.show_text("")
        self.problem.show_text("")
        self.closed.emit()
        self.entered.emit()
