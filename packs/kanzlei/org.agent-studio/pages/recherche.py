"""The page Recherche: laws, decisions and the documents of all Akten, read beside (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QWidget

from studio.packs import Home, ToolFailed, dataclass
from studio.packs.ui import (
    STRETCH,
    Button,
    Field,
    Hairline,
    Label,
    PackWindow,
    Page,
    Segmented,
    column_of,
    row_of,
    widget_of,
)

from ..tools.law.citations import citations, cited_by
from ..tools.law.normen import Normen, Section
from ..tools.law.urteile import Urteil, Urteile
from ..tools.office.akten import Akten
from ..tools.office.dokumente import Dokumente
from ..tools.office.suche import Suche
from ._intake_card import CardPlace
from ._law_card import LawCard
from ._rows import ChoiceLine, ScrolledColumn, TextReader

SIDE = 360
WHERE = ("Gesetze", "Entscheidungen", "Akten")
LAWS, DECISIONS, AKTEN = range(len(WHERE))
_WAIT = 150
"""Milliseconds after the last letter before it is looked for."""
_MOST = 50
_HINTS = (
    "Worte wie „Kündigung wegen Eigenbedarfs“ oder eine Norm wie § 573 BGB.",
    "Worte oder ein Aktenzeichen wie VIII ZR 9/22.",
    "Worte in den Dokumenten aller Akten, die Du sehen darfst.",
)
_NO_DECISIONS = (
    "Noch keine Entscheidung im Bestand. „Laden“ holt eine nach Gericht, Tag und Aktenzeichen von "
    "rechtsprechung-im-internet.de."
)


@dataclass(frozen=True, slots=True)
class Found:
    """One hit, with what is read beside; a hit in an Akte has the page that shows it instead."""

    title: str
    about: str
    text: str = ""
    note: str = ""
    target: tuple[str, ...] = ()


def look_for(home: Home, where: int, words: str) -> list[Found]:
    """The hits. Blocks; raises ToolFailed in German."""
    if where == LAWS:
        return _laws(home.service(Normen), words)
    if where == DECISIONS:
        return _decisions(home.service(Urteile), words)
    return _documents(home, words)


def of_address(home: Home, address: str) -> tuple[int, Found] | None:
    """What the address of a source leads to. Blocks."""
    if norm := cited_by(address):
        section = home.service(Normen).section(norm)
        return (LAWS, _law(section, norm.absatz)) if section else None
    number = address.removeprefix("kanzlei:urteil/").partition("#")[0]
    if number.isdecimal() and (urteil := home.service(Urteile).get(int(number))):
        return DECISIONS, _decision(home.service(Urteile), urteil)
    return None


def _laws(normen: Normen, words: str) -> list[Found]:
    named = [(one, normen.section(one)) for one in citations(words)]
    if found := [_law(section, one.absatz) for one, section in named if section]:
        return found
    return [_law(section, absatz) for section, absatz in normen.search(words, most=_MOST)[0]]


def _law(section: Section, absatz: str) -> Found:
    texts = [f"({key}) {text}" if key else text for key, text in section.texts.items()]
    fits = f"Abs. {absatz}, " if absatz else ""
    return Found(
        f"{section.citation} {section.title}".strip(),
        f"{fits}Stand {section.stand}",
        "\n\n".join(texts),
        section.warning(datetime.date.today()),
    )


def _decisions(store: Urteile, words: str) -> list[Found]:
    found = store.cited(words) or store.find(words, most=_MOST)[0]
    return [_decision(store, one) for one in found]


def _decision(store: Urteile, urteil: Urteil) -> Found:
    lines = [urteil.title, urteil.headnote]
    part = ""
    for name, number, text in store.paragraphs(urteil):
        if name != part:
            lines.append(name)
            part = name
        lines.append(f"{number}  {text}" if number else text)
    about = ", ".join(filter(None, (urteil.chamber, urteil.ecli)))
    text = "\n\n".join(filter(None, lines))
    return Found(urteil.name, about or urteil.norms, text, urteil.note)


def _documents(home: Home, words: str) -> list[Found]:
    if not words.strip():
        return []
    found: list[Found] = []
    for hit in home.service(Suche).find(home.person, words)[:_MOST]:
        try:
            document = home.service(Dokumente).get(home.person, hit.dokument)
            akte = home.service(Akten).get(home.person, hit.akte)
        except ToolFailed:  # it is gone or locked since the index was written
            continue
        target = ("akten", str(akte.id), "dokument", str(document.id))
        found.append(Found(document.name, akte.title, document.begin, target=target))
    return found


class RecherchePage(Page):
    """Recherche. ``found`` are the hits on screen, ``shown`` is the one that is read."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        t = self.theme
        self.found: list[Found] = []
        self.shown: Found | None = None
        self.lines: list[ChoiceLine] = []
        self._reading = 0
        self.search = Field(t, _HINTS[LAWS], icon="search", name="Suchen")
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: self.run(self.load()))
        self.search.textChanged.connect(lambda: self._soon.start())
        self.search.returnPressed.connect(self._first)
        self.where = Segmented(t, WHERE, name="Wo")
        self.where.chosen.connect(self._go)
        self.card = LawCard(self)
        self.card.changed.connect(lambda: self.run(self.load()))
        self.to_load = Button(t, "Laden", icon="hard-drive-download", clicked=self._ask)
        head = [Label(t, "Recherche", "heading"), self.where, (self.search, 1), self.to_load]
        self.list = ScrolledColumn(t)
        self.list.setFixedWidth(t.px(SIDE))
        self.title = Label(t, "", "ui_strong", wrap=True)
        self.about = Label(t, "", "small", "text2", wrap=True)
        self.note = Label(t, "", "small", "warn", wrap=True)
        self.words = TextReader(t, "Wortlaut")
        self.open_akte = Button(t, "In der Akte lesen", "primary", clicked=self._open_akte)
        heading = [column_of([self.title, self.about, self.note], spacing=3)]
        top = row_of([(heading[0], 1), self.open_akte], spacing=12, margins=(20, 14, 20, 6))
        text = row_of([self.words], margins=(12, 0, 12, 0))
        self.reader = widget_of(column_of([top, (text, 1)], spacing=0))
        self.reader.hide()
        self.nothing = Label(t, "", "ui", "text2", wrap=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        line = Hairline(t, upright=True)
        middle = row_of([self.list, line, (self.reader, 1), (self.nothing, 1)], spacing=0)
        bar = row_of(head, spacing=14, margins=(20, 10, 14, 10))
        parts = [bar, Hairline(t), CardPlace(self.card), (middle, 1)]
        column_of(parts, spacing=0, on=self)

    def open(self, *target: str) -> None:
        if target:
            self.run(self._open(target[0]))
            return
        self.run(self.load())
        self.search.setFocus()

    async def _open(self, address: str) -> None:
        """Show what a source leads to."""
        found = await self.in_thread(lambda: of_address(self.home, address))
        if found is None:
            self._show_found([], f"{address} ist nicht im Bestand.")
            return
        self._reading += 1
        self.where.set_current(found[0])
        self._show_found([found[1]], "")
        self._read(found[1])
        self.words.setFocus()

    def _ask(self) -> None:
        self.card.ask(decisions=self.where.current == DECISIONS)

    def _go(self, where: int) -> None:
        self.to_load.setVisible(where in (LAWS, DECISIONS))
        self.card.hide()
        self.search.setPlaceholderText(_HINTS[where])
        self._soon.start()

    async def load(self) -> None:
        """Look for the words; an older search that ends later is not shown."""
        self._reading = reading = self._reading + 1
        where, words = self.where.current, self.search.text()
        try:
            found = await self.in_thread(lambda: look_for(self.home, where, words))
            problem = "" if found else _nothing_of(where, words)
        except ToolFailed as error:
            found, problem = [], str(error)
        if reading == self._reading:
            self._show_found(found, problem)

    def _show_found(self, found: Sequence[Found], problem: str) -> None:
        t = self.theme
        self.found, self.lines = list(found), []
        icon = ("library", "scale", "file-text")[self.where.current]
        for one in found:
            line = ChoiceLine(t, one.title, one.about, icon)
            line.clicked.connect(lambda _=False, one=one: self._read(one))
            self.lines.append(line)
        parts: list[QWidget] = [widget_of(column_of([*self.lines, STRETCH], spacing=2))]
        self.list.show_parts(parts if found else [])
        if self.shown not in found:
            self._read(None)
        self.nothing.setText(problem or ("Wähle einen Treffer." if found else ""))

    def _first(self) -> None:
        if self.found:
            self._read(self.found[0])
            self.words.setFocus()

    def _read(self, found: Found | None) -> None:
        self.shown = found
        self.reader.setVisible(found is not None)
        self.nothing.setVisible(found is None)
        for one, line in zip(self.found, self.lines, strict=True):
            line.set_current(one is found)
        if found is not None:
            self.title.setText(found.title)
            self.about.show_text(found.about)
            self.note.show_text(found.note)
            self.words.setPlainText(found.text)
            self.open_akte.setVisible(bool(found.target))

    def _open_akte(self) -> None:
        if self.shown is not None and self.shown.target:
            self.studio.open_page(*self.shown.target)


def _nothing_of(where: int, words: str) -> str:
    if not words.strip():
        return _NO_DECISIONS if where == DECISIONS else _HINTS[where]
    return "Nichts gefunden."
