"""The page Akten: found as you type, opened as a chat, and new ones (KZ-47, KZ-48)."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from studio.packs import ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Combo,
    Field,
    Hairline,
    Label,
    MenuButton,
    MenuItem,
    PackWindow,
    Page,
    Theme,
    column_of,
    paint_rounded,
    row_of,
    widget_of,
)

from ..tools.intake.kinds import AKTEN, MESSAGE
from ..tools.office.akten import MODE_WORDS, Akte, Akten, shown_mode
from ._akte_view import AkteView, add_files
from ._found_list import FoundList
from ._intake_card import CardPlace, FileCard, JLawyerCard
from ._rows import AGENT, ElidedLabel, LinkTitle

UNKNOWN = "unbekannt"
_WAIT = 120
"""Milliseconds after the last letter before it is looked for."""
C = TypeVar("C", FileCard, JLawyerCard)
W = TypeVar("W", bound=QWidget)


class AktenPage(Page):
    """Akten, the newest first."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        self.wanted = ""
        self._has_chat = False
        """Whether a chat stands beside the page."""
        self._cards: list[FileCard | JLawyerCard] = []
        """Those that were made."""
        self.search = Field(
            self.theme, "Aktenzeichen oder Rubrum", icon="search", name="Akten suchen"
        )
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: self.run(self.load()))
        self.search.textChanged.connect(self._typed)
        self.search.returnPressed.connect(lambda: self.run(self._open_first()))
        new = Button(self.theme, "Akte", "secondary", icon="plus", clicked=self.show_form)
        read = MenuButton(self.theme, "Akten einlesen", "Einlesen", icon="inbox")
        read.set_items(
            [
                MenuItem("tabelle", "Tabelle (CSV)…"),
                MenuItem("bea", "Nachricht aus dem beA…"),
                MenuItem("jlawyer", "Von j-lawyer.org…"),
            ]
        )
        read.chosen.connect(self.ask_intake)
        parts = [Label(self.theme, "Akten", "heading"), (self.search, 1), read, new]
        head = row_of(parts, spacing=14, margins=(20, 10, 14, 10))
        self._places = column_of(spacing=0)
        akten, me = self.home.service(Akten), self.home.person
        self.body = FoundList(
            self,
            "Akten",
            ("Noch keine Akte.", "Keine Akte passt dazu."),
            lambda words, most, skip: akten.find(me, words, most, skip),
            lambda words: akten.count(me, words),
            self._row,
            AkteRow.reuse,
            self._sample,
        )
        parts = [head, Hairline(self.theme), self._places, (self.body, 1)]
        self.list = widget_of(column_of(parts, spacing=0))
        self._column = column_of([(self.list, 1)], spacing=0, on=self)

    # What is made when it is first wanted

    @cached_property
    def view(self) -> AkteView:
        """One Akte, in the place of the list."""
        view = AkteView(self)
        view.closed.connect(self.show_list)
        view.chat_shown(self._has_chat)
        view.hide()
        self._column.addWidget(view, 1)
        return view

    @cached_property
    def form(self) -> NewAkte:
        form = NewAkte(self.theme)
        form.save.clicked.connect(self.add)
        return form

    @cached_property
    def form_place(self) -> QWidget:
        place = widget_of(row_of([self.form], margins=(20, 20, 20, 0)))
        self.form.cancel.clicked.connect(place.hide)
        place.hide()
        self._places.addWidget(place)
        return place

    @cached_property
    def intake(self) -> FileCard:
        return self._placed(FileCard(self, AKTEN))

    @cached_property
    def message(self) -> FileCard:
        return self._placed(FileCard(self, MESSAGE))

    @cached_property
    def jlawyer(self) -> JLawyerCard:
        return self._placed(JLawyerCard(self))

    def _placed(self, card: C) -> C:
        """A card that reads Akten in, above the list; hidden until it asks."""
        card.changed.connect(lambda: self.run(self.load()))
        self._places.addWidget(CardPlace(card))
        self._cards.append(card)
        return card

    def open(self, *target: str) -> None:
        if target and target[0].isdecimal():
            self.show_akte(int(target[0]), *target[1:])
            return
        self.show_list()
        if target == ("neu",):
            self.show_form()

    def show_akte(self, number: int, *target: str) -> None:
        """Show one Akte in the place of the list."""
        self.wanted = str(number)
        self.list.hide()
        self.view.show()
        self.view.show_akte(number, *target)

    def chat_shown(self, shown: bool) -> None:
        self._has_chat = shown
        if "view" in self.__dict__:
            self.view.chat_shown(shown)

    def show_list(self) -> None:
        self.studio.set_subject()
        if self.list.isHidden():
            self.view.hide()
            self.list.show()
        self.run(self.load())

    def ask_intake(self, which: str) -> None:
        """Show what reads Akten in from one kind of source, and hide the others."""
        wanted = {"tabelle": "intake", "bea": "message", "jlawyer": "jlawyer"}[which]
        asked: FileCard | JLawyerCard = getattr(self, wanted)
        for card in self._cards:
            if card is not asked:
                card.hide()
        asked.ask()

    @property
    def rows(self) -> list[AkteRow]:
        """Those in sight."""
        return self.body.rows

    def _typed(self) -> None:
        self.wanted = ""  # which would take the keyboard
        self._soon.start()

    async def load(self, *, top: bool = False) -> None:
        """Read and show everything anew, from the ``top`` or where one was."""
        shown = await self.body.load(self.search.text(), top=top)
        if shown and self.wanted and not self.list.isHidden():
            row = self.body.bring(lambda akte: str(akte.id) == self.wanted)
            self.wanted = ""
            if row is not None:
                QTimer.singleShot(0, row.title, row.title.setFocus)

    def _sample(self, akte: Akte) -> AkteRow:
        return AkteRow(self.theme, dataclasses.replace(akte, court="Amtsgericht"))

    def _row(self, akte: Akte) -> AkteRow:
        row = AkteRow(self.theme, akte)
        row.chat.clicked.connect(lambda: self.studio.new_chat(row.akte.address, agent=AGENT))
        row.mode.chosen.connect(lambda mode: self.choose_mode(row, mode))
        row.freed.connect(lambda: self.set_free(row))
        row.dropped.connect(lambda files: self.run(self.take(row, files)))
        row.title.clicked.connect(lambda: self.show_akte(row.akte.id))
        return row

    async def _open_first(self) -> None:
        """Open the first that fits what was written; nothing where nothing was."""
        if self.search.text().strip():
            self._soon.stop()
            await self.load(top=True)
            if (first := self.body.first) is not None:
                self.show_akte(first.id)

    async def take(self, row: AkteRow, files: list[str]) -> None:
        """Copy files into an Akte; what cannot be is said in its row."""

        akte = row.akte
        told, refused = await self.in_thread(lambda: add_files(self.home, akte, files))
        self._tell(akte, "\n".join(told), "\n".join(refused))

    def _tell(self, akte: Akte, words: str, problem: str) -> None:
        """Say something in a row; a problem brings one that left the sight back into it."""
        row = next((one for one in self.rows if one.akte.id == akte.id), None)
        if row is None and problem:
            row = self.body.bring(lambda one: one.id == akte.id)
        if row is not None:
            row.mode.set_current(row.akte.mode)
            row.tell(words, problem)

    def choose_mode(self, row: AkteRow, mode: str) -> None:
        """Change which models may see an Akte; “frei” first asks what that rests on."""
        if mode == "frei" and row.akte.mode != "frei":
            row.ask_basis()
        elif mode != row.akte.mode:
            self.run(self.set_mode(row, mode))

    def set_free(self, row: AkteRow) -> None:
        self.run(self.set_mode(row, "frei", row.basis.text()))

    async def set_mode(self, row: AkteRow, mode: str, basis: str = "") -> None:
        """Change which models may see an Akte; a refusal is shown in its row."""
        akte = row.akte
        try:
            await self.in_thread(
                lambda: self.home.service(Akten).set_mode(self.home.person, akte, mode, basis)
            )
        except ToolFailed as error:
            self._tell(akte, "", str(error))
            return
        await self.load()

    def show_form(self) -> None:
        self.form_place.show()
        self.form.rubrum.setFocus()

    def add(self) -> None:
        """Open the Akte of the form; a refusal is shown in it."""
        rubrum, court, place = self.form.values()
        home = self.home

        def work() -> Akte:
            akten = home.service(Akten)
            return akten.open(home.person, rubrum, gericht=court, gericht_ort=place)

        def done(made: Akte | None, problem: str) -> None:
            self.form.problem.show_text(problem)
            if made is not None:
                self.form.clear()
                self.form_place.hide()
                self.search.clear()
                self.wanted = str(made.id)
                self.run(self.load(top=True))

        self.attempt(work, done, self.form.save)


class AkteRow(QWidget):
    """One Akte, opened by a click anywhere; files that are dropped on it come into it."""

    dropped = Signal(list)
    freed = Signal()
    """It shall be “frei”, on the basis that was written."""

    def __init__(self, theme: Theme, akte: Akte) -> None:
        super().__init__()
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._number = Label(theme, "", "ui", digits=True)
        self._number.setMinimumWidth(theme.px(84))
        self._court = ElidedLabel(theme, "small", "text2")
        self.title = LinkTitle(theme, "", "")
        words = column_of([self.title, self._court], spacing=1)
        self.mode = MenuButton(theme, "", "")
        self.mode.set_items([MenuItem(one, one, detail=words) for one, words in MODE_WORDS.items()])
        self.chat = Button(theme, "Chat")
        self.setAcceptDrops(True)
        line = row_of([self._number, (words, 1), self.mode, self.chat], spacing=12)
        self._column = column_of([line], spacing=6, margins=(0, 9, 0, 9), on=self)
        self._show(akte)

    def _show(self, akte: Akte) -> None:
        self.akte = akte
        self._number.setText(akte.az)
        self._court.show_text(akte.court or akte.area)
        self.title.show_title(akte.rubrum, f"Akte {akte.title} öffnen")
        self.mode.set_face(akte.mode, shown_mode(akte.mode)[2])
        self.mode.set_current(akte.mode)
        self.mode.setAccessibleName(f"KI-Modus der Akte {akte.az}, {akte.mode}")
        self.chat.setAccessibleName(f"Chat zur Akte {akte.az}")
        self.setAccessibleName(f"{akte.title}, KI-Modus {akte.mode}")

    def reuse(self, akte: Akte) -> bool:
        """Show another Akte, unless something was said or asked here."""
        if self.__dict__.keys() & {"told", "problem", "asked"}:
            return False
        self._show(akte)
        return True

    # What few of a hundred rows need

    @cached_property
    def told(self) -> Label:
        return self._below(Label(self._theme, "", "small", "text2", wrap=True))

    @cached_property
    def problem(self) -> Label:
        return self._below(Label(self._theme, "", "small", "err", wrap=True))

    @cached_property
    def basis(self) -> Field:
        words = "Einwilligung des Mandanten oder Vereinbarung nach § 43e BRAO, mit Tag"
        field = Field(self._theme, words, name=f"Grundlage für „frei“, Akte {self.akte.az}")
        field.returnPressed.connect(self.freed)
        return field

    @cached_property
    def free(self) -> Button:
        return Button(self._theme, "Freigeben", "primary", clicked=self.freed.emit)

    @cached_property
    def asked(self) -> QWidget:
        """Asks what “frei” rests on."""
        cancel = Button(self._theme, "Abbrechen", clicked=lambda: self.asked.hide())
        warned = "Dann sehen auch fremde Anbieter, was in Chats zur Akte steht."
        answer = row_of([(self.basis, 1), cancel, self.free], spacing=8)
        parts = [Label(self._theme, warned, "small", "warn", wrap=True), answer]
        return self._below(widget_of(column_of(parts, spacing=6)))

    def _below(self, part: W) -> W:
        part.hide()
        self._column.addWidget(part)
        return part

    @property
    def _asks(self) -> bool:
        return "asked" in self.__dict__ and not self.asked.isHidden()

    def tell(self, words: str, problem: str = "") -> None:
        if words or "told" in self.__dict__:
            self.told.show_text(words)
        if problem or "problem" in self.__dict__:
            self.problem.show_text(problem)

    def ask_basis(self) -> None:
        """Ask what “frei” rests on; until that is said nothing changes."""
        self.mode.set_current(self.akte.mode)
        self.asked.show()
        self.basis.setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.underMouse() and not self._asks:
            rect = QRectF(self.rect()).adjusted(0, 1, 0, -1)
            paint_rounded(QPainter(self), rect, 6, self._theme.color("hover"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.setAccepted(event.button() == Qt.MouseButton.LeftButton)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        inside = self.rect().contains(event.position().toPoint())
        if inside and event.button() == Qt.MouseButton.LeftButton and not self._asks:
            self.title.click()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        urls = event.mimeData().urls()
        self.dropped.emit([url.toLocalFile() for url in urls if url.isLocalFile()])


class NewAkte(Card):
    """The form of a new Akte."""

    def __init__(self, theme: Theme) -> None:
        from ..tools.deadlines.free_days import AUGSBURG, DIFFERING, LAENDER

        super().__init__(theme)
        self.rubrum = Field(theme, "Wagner ./. Holzbau Süd GmbH", name="Rubrum")
        self.court = Field(theme, "LG München I", name="Gericht")
        places = [MenuItem(UNKNOWN, "Noch nicht bekannt")]
        for key, name in LAENDER.items():
            places.append(MenuItem(key, name))
            if key in DIFFERING:
                places.append(MenuItem(f"{key}+kath", f"{name}, katholische Gemeinde"))
                places.append(MenuItem(f"{key}-kath", f"{name}, andere Gemeinde"))
        places.append(MenuItem(AUGSBURG, AUGSBURG))
        self.place = Combo(theme, "Ort des Gerichts", items=places)
        self.place.set_current(UNKNOWN)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.save = Button(theme, "Anlegen", "primary")
        self.cancel = Button(theme, "Abbrechen")
        self.rubrum.returnPressed.connect(self.save.click)
        parts = [
            Label(theme, "Neue Akte", "ui_strong"),
            *(Label(theme, "Rubrum", "small", "text2"), self.rubrum),
            *(Label(theme, "Gericht", "small", "text2"), self.court),
            *(Label(theme, "Ort, für Feiertage", "small", "text2"), self.place),
            self.problem,
            row_of([STRETCH, self.cancel, self.save], spacing=8),
        ]
        column_of(parts, spacing=6, margins=(14, 12, 14, 12), on=self)

    def values(self) -> tuple[str, str, str]:
        place = "" if self.place.current == UNKNOWN else self.place.current
        return self.rubrum.text(), self.court.text().strip(), place

    def clear(self) -> None:
        self.rubrum.clear()
        self.court.clear()
        self.place.set_current(UNKNOWN)
        self.problem.hide()
