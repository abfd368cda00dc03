"""Reading in what the office had elsewhere: told first, then done, and taken back (KZ-51)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QLayout, QScrollArea, QWidget

from studio.packs import ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Field,
    Label,
    OverlayBar,
    Page,
    Theme,
    column_of,
    make_transparent,
    row_of,
    widget_of,
)

from ..tools.intake.folders import Intake
from ..tools.intake.jlawyer import plan_jlawyer
from ..tools.intake.jlawyer_server import JLawyerServer
from ..tools.intake.kinds import JLAWYER, FileKind, IntakeKind, Plan, has_new
from ..tools.office.akten import Akte
from ._choosing import PathField
from ._forms import named_field

_SHOWN = {QEvent.Type.ShowToParent, QEvent.Type.HideToParent}


class IntakeCard(Card):
    """Reads one kind in, from what the fields of a subclass say. ``plan`` is what was looked at
    and not kept yet.

    ``changed``: something was kept or taken back.
    """

    changed = Signal()

    def __init__(self, page: Page, kind: IntakeKind) -> None:
        super().__init__(page.theme)
        self.page, self.kind, t = page, kind, page.theme
        self._akte: Akte | None = None
        self.plan: Plan | None = None
        self._asked = 0
        """Grows with each change of what is to be read."""
        self.number = 0
        self.fields = self.make_fields(t)
        for field in self.fields:
            field.textChanged.connect(self._forget)
            field.returnPressed.connect(self.look)
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.told = Label(t, "", "small", "text2", wrap=True)
        self.look_button = Button(t, "Vorschau", clicked=self.look)
        self.keep_button = Button(t, "Übernehmen", "primary", clicked=self.keep)
        self.undo_button = Button(t, "Zurücknehmen", clicked=self.undo)
        close = Button(t, "Schließen", "ghost", clicked=self.hide)
        foot = row_of([STRETCH, close, self.undo_button, self.look_button, self.keep_button],
                      spacing=8)  # fmt: skip
        parts = [Label(t, kind.title, "ui_strong"), *self.shown_fields(t), self.problem, self.told,
                 foot]  # fmt: skip
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)
        for one in (self.problem, self.told, self.undo_button):
            one.hide()
        self.keep_button.setEnabled(False)
        self.hide()

    def make_fields(self, t: Theme) -> list[Field]:
        """The fields that say what is read; the first gets the keyboard."""
        raise NotImplementedError

    def shown_fields(self, t: Theme) -> list[QWidget | QLayout]:
        """How they stand in the card."""
        raise NotImplementedError

    def planner(self) -> Callable[[], Plan]:
        """What looks at it, in a thread; raises ToolFailed."""
        raise NotImplementedError

    def show_akte(self, akte: Akte) -> None:
        """Read into this Akte; what was looked at for another one is forgotten."""
        if self._akte is None or akte.id != self._akte.id:
            self._forget()
            self.number = 0
            self.fields[0].clear()
            for one in (self.told, self.problem):
                one.show_text("")
            self.undo_button.hide()
            self.hide()
        self._akte = akte

    def ask(self) -> None:
        """Show it, and let the person name a file."""
        self.show()
        self.fields[0].setFocus()

    def _forget(self) -> None:
        self.plan = None
        self._asked += 1
        self.keep_button.setEnabled(False)

    def look(self) -> None:
        planned, asked = self.planner(), self._asked

        def work() -> list[str]:
            plan = planned()
            if asked == self._asked:
                self.plan = plan  # else the person named something else meanwhile
            return self.kind.report(plan, trial=True)

        self._do(work)

    def keep(self) -> None:
        plan, home = self.plan, self.page.home
        if plan is None or not has_new(plan):
            return
        self.plan = None  # once

        def work() -> list[str]:
            done = self.kind.apply(home, plan)
            self.number = done.number
            return self.kind.report(done, trial=False)

        self._do(work, changes=True)

    def undo(self) -> None:
        number, home = self.number, self.page.home

        def work() -> list[str]:
            told = home.service(Intake).undo(home.person, number)
            self.number = 0  # else it can be tried again
            return told

        self._do(work, changes=True)

    def _do(self, work: Callable[[], list[str]], *, changes: bool = False) -> None:
        asked = self._asked
        self.problem.show_text("")
        self.told.show_text("Wird gelesen…")

        def done(told: list[str] | None, problem: str) -> None:
            here = asked == self._asked
            self.told.show_text("\n".join(told or ()) * here)
            self.problem.show_text(problem * here)
            self.undo_button.setVisible(bool(self.number))
            self.keep_button.setEnabled(self.plan is not None and has_new(self.plan))
            if changes:
                self.changed.emit()

        buttons = (self.look_button, self.keep_button, self.undo_button)
        self.page.attempt(work, done, *buttons)


class FileCard(IntakeCard):
    """Reads a file or a folder in, with what else its kind asks."""

    def __init__(self, page: Page, kind: FileKind) -> None:
        self.file_kind = kind
        super().__init__(page, kind)

    def make_fields(self, t: Theme) -> list[Field]:
        asked, example = self.file_kind.asked
        self.path = PathField(t, self.file_kind.title, self.file_kind.files)
        self.columns = Field(t, example, name=asked)
        return [self.path.field, self.columns]

    def shown_fields(self, t: Theme) -> list[QWidget | QLayout]:
        asked = self.file_kind.asked[0]
        return [self.path, *([named_field(t, asked, self.columns)] if asked else [])]

    def planner(self) -> Callable[[], Plan]:
        path, columns, akte = self.path.text(), self.columns.text(), self._akte
        home = self.page.home

        def plan() -> Plan:
            if not path:
                raise ToolFailed("Wähle zuerst, was eingelesen wird.")
            return self.file_kind.plan(home, Path(path).expanduser(), columns, akte)

        return plan


class JLawyerCard(IntakeCard):
    """Takes over what a server of j-lawyer.org has. The password is kept nowhere."""

    def __init__(self, page: Page) -> None:
        super().__init__(page, JLAWYER)

    def make_fields(self, t: Theme) -> list[Field]:
        self.address = Field(t, "http://server:8080", role="code", name="Adresse des Servers")
        self.user = Field(t, "", name="Benutzername dort")
        self.password = Field(t, "", secret=True, name="Passwort dort")
        return [self.address, self.user, self.password]

    def shown_fields(self, t: Theme) -> list[QWidget | QLayout]:
        about = (
            "Akten, Kontakte, Dokumente und Termine. Gefragt wird nur dieser Server, und dort wird "
            "nichts geändert; das Passwort wird nicht gespeichert."
        )
        sign_in = row_of(
            [
                (widget_of(named_field(t, "Benutzername", self.user)), 1),
                (widget_of(named_field(t, "Passwort", self.password)), 1),
            ],
            spacing=8,
        )
        return [
            Label(t, about, "small", "text2", wrap=True),
            named_field(t, "Adresse", self.address),
            sign_in,
        ]

    def planner(self) -> Callable[[], Plan]:
        home = self.page.home
        said = (self.address.text(), self.user.text(), self.password.text())
        return lambda: plan_jlawyer(home, home.person, JLawyerServer(*said))


class CardPlace(QScrollArea):
    """Where a card stands that is shown at times: with room around it, and none without it.

    A card that would take more than a part of the page, most of it unless said, scrolls.
    """

    def __init__(
        self,
        card: QWidget,
        part: float = 2 / 3,
        margins: tuple[int, int, int, int] = (20, 20, 20, 0),
    ) -> None:
        super().__init__()
        self._card, self._part = card, part
        self._inside = widget_of(row_of([card], margins=margins))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        make_transparent(self)
        self.setWidget(self._inside)
        self._inside.setAutoFillBackground(False)  # which setWidget() sets
        OverlayBar(self)
        for one in (card, self._inside):
            one.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._card and event.type() in _SHOWN:
            self.setVisible(not self._card.isHidden())
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self._fit()
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if (page := self.parentWidget()) is not None:
            page.installEventFilter(self)
        self._fit()

    def _fit(self) -> None:
        """Be as high as the card, and leave the rest of the page."""
        page, inside = self.parentWidget(), self._inside
        if page is None or self._card.isHidden():
            return
        high = inside.heightForWidth(self.width()) if inside.hasHeightForWidth() else -1
        wanted = max(high, inside.minimumSizeHint().height())
        wanted = min(wanted, int(page.height() * self._part))
        if wanted != self.height():
            self.setFixedHeight(wanted)
