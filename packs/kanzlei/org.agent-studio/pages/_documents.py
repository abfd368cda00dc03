"""The documents of an Akte: found as you type, and read by page (KZ-47, KZ-48)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QTextCursor
from PySide6.QtWidgets import QFrame, QScrollArea, QTextEdit, QWidget

from studio.packs import ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Field,
    Hairline,
    IconButton,
    Label,
    MenuButton,
    MenuItem,
    OverlayBar,
    Page,
    Theme,
    column_of,
    make_transparent,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.intake.kinds import FOLDER, INTO_AKTE
from ..tools.office.akten import Akte
from ..tools.office.dokumente import Dokument, Dokumente
from ..tools.office.pdf import by_libreoffice, libreoffice
from ..tools.office.retention import Aufbewahrung
from ..tools.office.texts import paragraph_of
from ._intake_card import CardPlace, FileCard
from ._print import text, write_pdf
from ._rows import ChoiceLine, TextReader
from ._versand_card import VersandCard

LIST = 248
_WAIT = 120
"""Milliseconds after the last letter before it is looked for."""
_WORDS = (".docx", ".doc", ".odt", ".rtf")
_NO_FOLDER = "Ohne Ordner"


class DocumentsTab(QWidget):
    """A list at the left, the text of the chosen one at the right. ``left``: back to the Akte.

    ``changed``: there are others now.
    """

    left = Signal()
    changed = Signal()
    said = Signal(str, str)
    """What was done with all documents, or why not."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page, self.theme = page, page.theme
        self.akte: Akte | None = None
        self.shown: Dokument | None = None
        self.lines: list[DocumentLine] = []
        self._all: tuple[Dokument, ...] = ()
        self._texts: dict[int, str] = {}
        self._numbers: list[int] = []
        self._at = 0
        self._paragraph = ""
        """The number of the one that is marked; empty for none."""
        self._marked = 0
        """The page that is marked as a whole, because a source names no paragraph of it."""
        self._reading = self._opening = 0
        t = self.theme
        self.search = Field(t, "In dieser Akte suchen", icon="search", name="Dokumente suchen")
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: self.page.run(self._find()))
        self.search.textChanged.connect(lambda: self._soon.start())
        self._list = QScrollArea()
        self._list.setWidgetResizable(True)
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        make_transparent(self._list)
        OverlayBar(self._list)
        self.intake, self.versand = FileCard(page, FOLDER), VersandCard(page)
        self.message = FileCard(page, INTO_AKTE)
        for card in (self.intake, self.message):
            card.changed.connect(self.changed)
        self._cards = {"ordner": self.intake, "bea": self.message, "versand": self.versand}
        self.more = MenuButton(t, "Mehr zu den Dokumenten", "Mehr", icon="ellipsis")
        self.more.set_items(
            [
                MenuItem("ordner", "Ordner einlesen…"),
                MenuItem("bea", "Nachricht aus dem beA einlesen…"),
                MenuItem("versand", "Versandmappe für das beA…"),
                MenuItem("zu", "Dateien verschließen"),
                MenuItem("auf", "Dateien öffnen"),
            ]
        )
        self.more.chosen.connect(self._ask)
        above = [self.search, self.more, (self._list, 1)]
        side = widget_of(column_of(above, margins=(10, 10, 10, 0)))
        side.setFixedWidth(t.px(LIST))
        self.name = Label(t, "", "ui_strong")
        self.name.setMinimumWidth(1)
        self.before = IconButton(t, "chevron-up", "Seite davor", clicked=lambda: self._turn(-1))
        self.after = IconButton(t, "chevron-down", "Seite danach", clicked=lambda: self._turn(1))
        self.place = Label(t, "", "small", "text2", digits=True)
        self.outside = Button(t, "Öffnen", clicked=self._open_outside)
        self.as_pdf = Button(t, "Als PDF ablegen", clicked=self.make_pdf)
        close = IconButton(t, "x", "Schließen", clicked=self.close_document)
        parts = [self.name, STRETCH, self.before, self.place, self.after, self.as_pdf]
        parts += [self.outside, close]
        head = row_of(parts, spacing=8, margins=(14, 8, 10, 8))
        self.whence = Label(t, "", "small", wrap=True)
        back = Button(t, "Zurück zur Übersicht", "ghost", keycap="Esc", clicked=self.left.emit)
        strip = Card(t)
        row_of([(self.whence, 1), back], margins=(12, 3, 6, 3), on=strip)
        self.strip = widget_of(row_of([strip], margins=(14, 0, 14, 8)))
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.words = TextReader(t, "Text der Seite")
        self.told = Label(t, "", "small", "text2", wrap=True)
        self.told.hide()
        body = column_of([self.problem, self.told, (self.words, 1)], margins=(14, 0, 14, 0))
        self.reader = widget_of(column_of([head, self.strip, (widget_of(body), 1)], spacing=0))
        self.nothing = Label(t, "Wähle ein Dokument.", "ui", "text2")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        t.changed.connect(lambda: self._mark(scroll=False))
        line = Hairline(t, upright=True)
        cards = [CardPlace(one) for one in self._cards.values()]
        right = column_of([*cards, (self.reader, 1), (self.nothing, 1)], spacing=0)
        row_of([side, line, (widget_of(right), 1)], spacing=0, on=self)
        self.reader.hide()
        self.problem.hide()

    def _ask(self, what: str) -> None:
        for key, card in self._cards.items():
            if key == what:
                card.ask()
            else:
                card.hide()
        if what in ("zu", "auf"):
            self._seal(seal=what == "zu")

    def _seal(self, *, seal: bool) -> None:
        """Put the files into one that is encrypted, or back (KZ-44)."""
        akte, home = self.akte, self.page.home
        if akte is None:
            return
        service = home.service(Aufbewahrung)
        work = service.seal if seal else service.unseal
        words = "verschlossen" if seal else "wieder im Ordner der Akte"
        self.said.emit("Einen Augenblick…", "")

        def done(count: int | None, problem: str) -> None:
            if self.akte is None or self.akte.id != akte.id:
                return  # another one is open now
            told = german.counted(count or 0, "Datei ist", "Dateien sind")
            self.said.emit(f"{told} {words}" if count is not None else "", problem)
            if count is not None:
                self.changed.emit()

        self.page.attempt(lambda: work(home.person, akte), done, self.more)

    def show_documents(self, akte: Akte, documents: Sequence[Dokument]) -> None:
        """List an Akte's documents; the one that is open stays open if it is hers."""
        if self.akte is None or akte.id != self.akte.id:
            self._reading += 1  # what is still read of another Akte is not shown
            self._opening += 1
            self.search.blockSignals(True)
            self.search.clear()
            self.search.blockSignals(False)
            self.close_document()
        self.akte = akte
        self.intake.show_akte(akte)
        self.message.show_akte(akte)
        self._all = tuple(documents)
        self.versand.show_documents(akte, documents)
        if self.search.text().strip():
            self.page.run(self._find())
        else:
            self._list_documents(self._all)

    async def _find(self) -> None:
        akte, words = self.akte, self.search.text()
        if akte is None:
            return
        self._reading = reading = self._reading + 1
        service = self.page.home.service(Dokumente)
        found = await self.page.in_thread(lambda: service.find(akte, words=words))
        if reading == self._reading:
            self._list_documents(found)

    def _list_documents(self, documents: Sequence[Dokument]) -> None:
        t = self.theme
        parts: list[QWidget] = []
        self.lines = []
        ordered = sorted(documents, key=lambda one: one.folder)
        for folder, group in groupby(ordered, key=lambda one: one.folder):
            parts.append(Label(t, folder or _NO_FOLDER, "small", "text2"))
            for one in group:
                line = DocumentLine(t, one)
                line.clicked.connect(lambda _=False, one=one: self.open_document(one.id))
                line.set_current(self.shown is not None and self.shown.id == one.id)
                self.lines.append(line)
                parts.append(line)
        if not parts:
            words = "Nichts gefunden." if self.search.text().strip() else "Noch kein Dokument."
            parts.append(Label(t, words, "small", "text2"))
        inside = widget_of(column_of([*parts, STRETCH], spacing=4, margins=(0, 6, 0, 10)))
        self._list.setWidget(inside)
        inside.setAutoFillBackground(False)

    def open_document(
        self, number: int, page: int = 0, paragraph: str = "", *, from_chat: bool = False
    ) -> None:
        """Show a document, from a page on, the paragraph with a number marked.

        ``from_chat``: a source of an answer led here.
        """
        self.page.run(self._open(number, page, paragraph, from_chat))

    async def _open(self, number: int, page: int, paragraph: str, from_chat: bool) -> None:
        home, akte = self.page.home, self.akte
        if akte is None:
            return
        self._opening = opening = self._opening + 1

        def read() -> tuple[Dokument, dict[int, str], str]:
            service = home.service(Dokumente)
            document = service.get(home.person, number)
            if document.akte != akte.id:
                raise ToolFailed(f"Das Dokument {number} gehört nicht zu dieser Akte.")
            document, wrong = service.refresh(home.person, akte, document)
            return document, service.pages(document), wrong

        try:
            document, texts, wrong = await self.page.in_thread(read)
        except ToolFailed as error:
            self.nothing.setText(str(error))
            self.close_document()
            return
        if opening != self._opening:
            return  # another one was wanted meanwhile
        self.shown, self._texts, self._numbers = document, texts, sorted(texts)
        pages = [page] if page in texts else self._numbers
        found = [one for one in pages if paragraph_of(texts[one], paragraph)]
        self._paragraph, there = paragraph, (found or pages)[:1]
        self._marked = page if from_chat and page in texts and not paragraph else 0
        self._at = self._numbers.index(there[0]) if there else 0
        self.name.setText(document.name)
        words = document.name.lower().endswith(_WORDS)
        self.as_pdf.setVisible(words and bool(not document.missing or libreoffice()))
        self.problem.show_text(wrong or document.missing)
        self.told.show_text("")
        places = [f"Seite {page}"] * bool(page) + [f"Rn. {paragraph}"] * bool(paragraph)
        words = ", ".join(places)
        if self._marked:
            words = f"die ganze {words}"
        if page and page not in texts:
            words = f"Die Seite {page} gibt es in dieser Version nicht."
        elif paragraph and not found:
            words += " steht nicht in dieser Version."
        self.whence.setText(f"Aus einer Antwort: {words}")
        self.strip.setVisible(from_chat and bool(places))
        self.reader.show()
        self.nothing.hide()
        for line in self.lines:
            line.set_current(line.document.id == document.id)
        self._show_page()
        if from_chat:
            self.words.setFocus()

    def close_document(self) -> None:
        """Show none."""
        self.shown, self._texts, self._numbers = None, {}, []
        self._paragraph, self._marked = "", 0
        self.reader.hide()
        self.nothing.show()
        for line in self.lines:
            line.set_current(False)

    def _turn(self, step: int) -> None:
        self._at = max(0, min(self._at + step, len(self._numbers) - 1))
        self._show_page()

    def _show_page(self) -> None:
        number = self._numbers[self._at] if self._numbers else 0
        many = len(self._numbers)
        self.place.show_text(f"Seite {number} von {many}" if many else "")
        self.before.setEnabled(self._at > 0)
        self.after.setEnabled(self._at + 1 < many)
        for one in (self.before, self.after):
            one.setVisible(many > 1)
        self.words.setPlainText(self._texts.get(number, ""))
        self._mark()

    def _mark(self, *, scroll: bool = True) -> None:
        """Mark the paragraph that a source named, where the page has it, or the page it named."""
        whole = self.words.toPlainText()
        place = paragraph_of(whole, self._paragraph)
        if self._marked and self._numbers[self._at] == self._marked:
            place = 0, len(whole)
        self.words.setExtraSelections([])
        if place is None:
            return
        begin, end = (len(whole[:at].encode("utf-16-le")) // 2 for at in place)  # as Qt counts
        mark: Any = QTextEdit.ExtraSelection()  # whose parts the stubs lack
        mark.cursor = QTextCursor(self.words.document())
        mark.cursor.setPosition(begin)
        mark.cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        mark.format.setBackground(self.theme.color("warn_soft"))
        self.words.setExtraSelections([mark])
        if scroll:
            caret = self.words.textCursor()
            caret.setPosition(begin)
            self.words.setTextCursor(caret)
            self.words.centerCursor()

    def make_pdf(self) -> None:
        """Put a PDF of the document beside it: by LibreOffice, else of its words alone (KZ-33)."""
        akte, document, texts = self.akte, self.shown, self._texts
        if akte is None or document is None:
            return
        home, program = self.page.home, libreoffice()
        name = f"{PurePath(document.name).stem}.pdf"

        def work() -> str:
            service, told = home.service(Dokumente), ""
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / name
                if program:
                    content = service.content(akte, document.folder, document.name)
                    path.write_bytes(by_libreoffice(program, document.name, content))
                else:
                    write_pdf(path, document.name, text("\n".join(texts.values())))
                    told = " LibreOffice fehlt: es hat nur die Worte, nicht die Gestaltung."
                kept = service.add(
                    home.person, akte, path, folder=document.folder, kind=document.kind
                )
            return f"{kept.name} liegt daneben.{told}"

        def done(told: str | None, problem: str) -> None:
            self.told.show_text(told or "")
            self.problem.show_text(problem)
            self.changed.emit()

        self.page.attempt(work, done, self.as_pdf)

    def _open_outside(self) -> None:
        if self.akte is None or self.shown is None:
            return
        try:
            folder = self.page.home.service(Dokumente).open_folder(self.akte)
        except ToolFailed as error:  # its files are sealed
            self.problem.show_text(str(error))
            return
        path = folder / self.shown.folder / self.shown.name
        if not path.is_file():
            self.problem.show_text(f"{path} ist nicht da.")
        elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self.problem.show_text(f"Kein Programm öffnet {path.name}.")


class DocumentLine(ChoiceLine):
    """A document in the list: its name, pages and day."""

    def __init__(self, theme: Theme, document: Dokument) -> None:
        self.document = document
        pages = "1 Seite" if document.pages == 1 else f"{document.pages} Seiten"
        day = f"{german.read_day(document.date):%d.%m.%Y}"
        version = f"Version {document.version}" if document.version > 1 else ""
        about = ", ".join(filter(None, (pages if document.pages else "ohne Text", day, version)))
        super().__init__(theme, document.name, about, "file-text" if document.pages else "file")
