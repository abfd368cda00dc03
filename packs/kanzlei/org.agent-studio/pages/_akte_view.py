"""One Akte: its overview, documents, Fristen and history, under a head with its state (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QWidget
from shiboken6 import isValid

from studio.packs import Home, ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Hairline,
    IconButton,
    Label,
    Page,
    Segmented,
    Tag,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.deadlines.free_days import LAENDER
from ..tools.office import audit
from ..tools.office.akten import Akte, shown_mode
from ..tools.office.dokumente import Dokument, Dokumente
from ..tools.office.fristen import Frist, Fristen
from ..tools.office.history import Change
from ..tools.office.zeiten import Stopwatch
from ._akte_facts import AkteFacts, read_facts
from ._akte_tabs import (
    DraftsTab,
    NotesTab,
    ParticipantsTab,
    PlannedTab,
    RecordsTab,
    TimeTab,
    check_words,
    participant_row,
)
from ._choosing import choose_path
from ._documents import DocumentsTab
from ._frist_form import FristForm
from ._frist_row import FristRow, due_of
from ._print import table, write_pdf
from ._rows import (
    AGENT,
    ElidedLabel,
    FoldedRow,
    LinkTitle,
    ScrolledColumn,
    SideScroll,
    pair,
    section,
)

TABS = (
    *("Übersicht", "Dokumente", "Fristen", "Aufgaben", "Zeit", "Notizen", "Entwürfe"),
    *("Beteiligte", "Verlauf"),
)
OVERVIEW, DOCUMENTS, FRISTEN, PLANNED, TIME, NOTES, DRAFTS, PARTS, HISTORY = range(len(TABS))
_FEW = 4
HEAD, COLUMNS = 640, 560
"""Room for the name of an Akte with its buttons beside, and for two columns."""
_TICK = 10_000
"""Milliseconds between two looks at the stopwatch."""
_FIELDS = {
    "angelegt": "angelegt",
    "ende": "eingetragen",
    "zustand": "Zustand",
    "ki_modus": "KI-Modus",
    "version": "neue Version",
}
_THINGS = {
    "akte": "Akte",
    "frist": "Frist",
    "dokument": "Dokument",
    "termin": "Termin",
    "aufgabe": "Aufgabe",
    "zeit": "Zeit",
    "notiz": "Notiz",
    "alert": "Hinweis",
    "beteiligung": "Beteiligung",
}


class AkteView(QWidget):
    """The Akte that is open. ``closed``: the person goes back to the list."""

    closed = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page, self.theme = page, page.theme
        self.facts: AkteFacts | None = None
        self._wanted = 0
        """The Akte that the person wants to see: one that was wanted before and is read later is
        not shown."""
        self.rows: list[FristRow] = []
        self._chat_beside = False
        self.setAcceptDrops(True)
        t = self.theme
        back = IconButton(t, "chevron-left", "Zu den Akten", clicked=self.closed.emit)
        self.title = ElidedLabel(t, "heading")
        self.az, self.mode, self.state = Tag(t, " "), Tag(t, " "), Tag(t, " ")
        self.chat = Button(t, "Chat", icon="message-square", clicked=page.studio.show_chat)
        self.time = Button(t, "Zeit", icon="timer", keycap="Z", clicked=self._new_time)
        self.new_frist = Button(t, "Frist", icon="plus", keycap="F", clicked=self._new_frist)
        tags, buttons = [self.az, self.mode, self.state], [self.chat, self.time, self.new_frist]
        named = widget_of(row_of([back, self.title, *tags, STRETCH], spacing=10))
        head = FoldedRow(t, named, widget_of(row_of([*buttons, STRETCH], spacing=10)), HEAD)
        head.setContentsMargins(14, 10, 14, 10)
        self.tabs = Segmented(t, TABS, name="Teile der Akte")
        self.tabs.chosen.connect(self.show_tab)
        bar = SideScroll(t, self.tabs, margins=(20, 8, 14, 8))
        self.told = Label(t, "", "small", "text2", wrap=True)
        self.problem = Label(t, "", "small", "err", wrap=True)
        words = column_of([self.told, self.problem], spacing=2, margins=(20, 6, 20, 0))
        self.told.hide()
        self.problem.hide()
        self.form = FristForm(page)
        self.form.entered.connect(self.load)
        self.form_place = widget_of(row_of([self.form], margins=(20, 12, 20, 0)))
        self.form.closed.connect(self._close_form)
        self.form_place.hide()
        self.overview, self.fristen, self.history = (ScrolledColumn(t) for _ in range(3))
        self.documents = DocumentsTab(page)
        self.documents.changed.connect(self.load)
        self.documents.said.connect(self.tell)
        self.documents.left.connect(lambda: self.show_tab(OVERVIEW))
        self.planned, self.zeit, self.notes = PlannedTab(page), TimeTab(page), NotesTab(page)
        self.drafts, self.parts = DraftsTab(page), ParticipantsTab(page)
        self._records = (self.planned, self.zeit, self.notes, self.drafts, self.parts)
        for tab in self._records:
            tab.changed.connect(self._changed)
        self._stack = QStackedWidget(self)  # without a parent its first tab is shown as a window
        for one in (self.overview, self.documents, self.fristen, *self._records, self.history):
            self._stack.addWidget(one)
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self._show_watch)
        parts = [head, Hairline(t), bar, Hairline(t), words, self.form_place, (self._stack, 1)]
        column_of(parts, spacing=0, on=self)
        for key, does in ((Qt.Key.Key_F, self._new_frist), (Qt.Key.Key_Z, self._new_time)):
            shortcut = QShortcut(QKeySequence(key), self, does)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def show_akte(self, number: int, *target: str) -> None:
        """Show an Akte; ``target`` is a tab, or ``dokument``, its id, a page and a paragraph."""
        self._wanted = number
        self.tell("")
        for tab in self._records:
            tab.close_form()
        self.page.run(self._show(number, target))

    async def _show(self, number: int, target: Sequence[str]) -> None:
        if not await self._read(number) or self.facts is None:
            return
        akte = self.facts.akte
        if self.isVisibleTo(self.page):  # else the person is back at the list
            self.page.studio.set_subject(akte.address * (akte.mode != "keine KI"), AGENT)
        if target[:1] == ("dokument",) and len(target) > 1 and target[1].isdecimal():
            self.show_tab(DOCUMENTS)
            page = int(target[2]) if len(target) > 2 and target[2].isdecimal() else 0
            paragraph = target[3] if len(target) > 3 else ""
            self.documents.open_document(int(target[1]), page, paragraph, from_chat=True)
        elif target[:1] and target[0].capitalize() in TABS:
            self.show_tab(TABS.index(target[0].capitalize()))
        else:
            self.show_tab(OVERVIEW)

    def load(self) -> None:
        """Read everything anew; the tab stays."""
        if self.facts is not None:
            self.page.run(self._read(self.facts.akte.id))

    async def _read(self, number: int) -> bool:
        try:
            facts = await self.page.in_thread(lambda: read_facts(self.page.home, number))
        except ToolFailed as error:
            if number == self._wanted:
                self._wanted = self.facts.akte.id if self.facts is not None else 0
                self.tell("", str(error))
            return False
        if number == self._wanted:
            self._fill(facts)
        return number == self._wanted

    def show_tab(self, index: int) -> None:
        self.tabs.set_current(index)
        self._stack.setCurrentIndex(index)
        self._focus_tab()

    def tell(self, words: str, problem: str = "") -> None:
        self.told.show_text(words)
        self.problem.show_text(problem)

    def _fill(self, facts: AkteFacts) -> None:
        self.facts, akte = facts, facts.akte
        self.title.setText(akte.rubrum)
        self.title.setToolTip(akte.rubrum)
        self.az.set(akte.az)
        self.mode.set(*shown_mode(akte.mode))
        self.state.set(akte.state)
        self._show_chat_button()
        self.form.show_akte(akte)
        self.documents.show_documents(akte, facts.documents)
        counts = (
            *(0, len(facts.documents), len(facts.open_fristen), facts.planned, 0),
            *(len(facts.notizen) + len(facts.alerts), len(facts.open_drafts), len(facts.parts), 0),
        )
        for index, (name, count) in enumerate(zip(TABS, counts, strict=True)):
            self.tabs.segment(index).setText(f"{name} {count}" if count else name)
        self._fill_overview(facts)
        for tab in self._records:
            tab.show_akte(akte)
            tab.show_facts(facts)
        self._show_watch()
        self.rows = [self._frist_row(one) for one in facts.fristen]
        nothing = "Noch keine Frist. Mit F rechnest Du eine."
        self._show_rows(self.fristen, "Fristen", self.rows, nothing)
        changes = [self._change_row(one) for one in facts.changes]
        link = Button(self.theme, "Protokoll als PDF…", "link", clicked=self._ask_audit)
        self._show_rows(self.history, "Verlauf", changes, "Noch nichts geschehen.", link)

    def _fill_overview(self, facts: AkteFacts) -> None:
        parts: list[QWidget] = []
        next_ = facts.open_fristen[:_FEW]
        if next_:
            rows = [self._frist_row(one) for one in next_]
            link = self._link("Alle Fristen", FRISTEN) if len(facts.fristen) > len(next_) else None
            parts.append(section(self.theme, "Nächste Fristen", rows, link))
        parts.append(self._matter_and_parts(facts))
        last = [self._document_row(one) for one in facts.documents[:_FEW]]
        if last:
            link = self._link("Alle Dokumente", DOCUMENTS)
            parts.append(section(self.theme, "Zuletzt abgelegt", last, link))
        else:
            words = "Noch kein Dokument. Zieh eine Datei hierher."
            parts.append(Label(self.theme, words, "small", "text2"))
        self.overview.show_parts(parts)

    def _link(self, words: str, tab: int) -> Button:
        return Button(self.theme, words, "link", clicked=lambda: self.show_tab(tab))

    def _matter_and_parts(self, facts: AkteFacts) -> QWidget:
        """What the Akte is about, and beside it who takes part."""
        t = self.theme
        rows = [participant_row(t, one, few=True) for one in facts.parts[:_FEW]]
        if not rows:
            rows = [Label(t, "Noch niemand beteiligt.", "small", "text2")]
            rows[0].setContentsMargins(0, 10, 0, 10)
        last = Label(t, check_words(facts.checks[0]) if facts.checks else "", "small", "text2")
        head = row_of([last, self._link("Alle", PARTS)], spacing=8)
        beside = section(t, "Beteiligte", rows, widget_of(head), count=len(facts.parts))
        matter = self._matter(facts.akte, facts.lawyer)
        left, right = (widget_of(column_of([one, STRETCH])) for one in (matter, beside))
        return FoldedRow(t, left, right, COLUMNS, spacing=20, even=True)

    def _matter(self, akte: Akte, lawyer: str) -> QWidget:
        """What the Akte is about, as pairs of name and value."""
        value = german.euros(Decimal(akte.value) / 100) if akte.value is not None else ""
        mandate = german.day(german.read_day(akte.mandate)) if akte.mandate else ""
        court = ", ".join(filter(None, (akte.court, akte.court_az)))
        land, _, more = akte.court_place.partition("+")
        place = LAENDER.get(land, akte.court_place) + (", katholische Gemeinde" if more else "")
        pairs = (
            ("Sachgebiet", akte.area),
            ("Gegenstandswert", value),
            ("Mandat seit", mandate),
            ("Gericht", court),
            ("Land", place),
            ("Anwalt", lawyer),
        )
        card = Card(self.theme)
        column = column_of(spacing=7, margins=(14, 12, 14, 12), on=card)
        for name, words in pairs:
            column.addWidget(pair(self.theme, name, words))
        head = widget_of(row_of([Label(self.theme, "Sache", "ui_strong"), STRETCH]))
        head.setMinimumHeight(self._link("Alle", PARTS).sizeHint().height())  # as beside it
        return widget_of(column_of([head, card], spacing=8))

    def _frist_row(self, frist: Frist) -> FristRow:
        today = datetime.date.today()
        return FristRow(self.theme, due_of(frist), today, self._do, in_akte=True)

    def _do(self, work: Callable[[Fristen], None], row: FristRow) -> None:
        def done(_: None, problem: str) -> None:
            if not problem:
                self.load()
            elif isValid(row):  # else it was drawn anew meanwhile
                row.problem.show_text(problem)

        self.page.attempt(lambda: work(self.page.home.service(Fristen)), done, row.confirm)

    def _document_row(self, document: Dokument) -> QWidget:
        t = self.theme
        link = LinkTitle(t, document.name, f"{document.name} lesen")
        link.clicked.connect(lambda: self._open_document(document))
        pages = "1 Seite" if document.pages == 1 else f"{document.pages} Seiten"
        about = Label(t, pages if document.pages else "ohne Text", "small", "text2")
        day = Label(t, f"{german.read_day(document.date):%d.%m.%Y}", "small", "text2", digits=True)
        return widget_of(row_of([(link, 1), about, day], spacing=12, margins=(0, 7, 0, 7)))

    def _open_document(self, document: Dokument) -> None:
        self.show_tab(DOCUMENTS)
        self.documents.open_document(document.id)

    def _change_row(self, change: Change) -> QWidget:
        t, local = self.theme, change.time.astimezone()
        when = Label(t, f"{local:%d.%m.%Y %H:%M}", "small", "text2", digits=True)
        when.setMinimumWidth(t.px(112))
        what = f"{_THINGS.get(change.what, change.what)} {change.row}" * (change.what != "akte")
        field = _FIELDS.get(change.field, change.field)
        values = " → ".join(_as_read(one) for one in (change.old, change.new) if one)
        words = ", ".join(filter(None, (what or "Akte", field)))
        text = Label(t, f"{words}: {values}" if values else words, "small", wrap=True)
        by = f"{change.person}, aus einem Entwurf" if change.draft else change.person
        who = Label(t, by, "small", "text2")
        return widget_of(row_of([when, (text, 1), who], spacing=12, margins=(0, 7, 0, 7)))

    def _show_rows(
        self,
        place: ScrolledColumn,
        title: str,
        rows: Sequence[QWidget],
        nothing: str,
        link: QWidget | None = None,
    ) -> None:
        if rows:
            place.show_parts([section(self.theme, title, rows, link)])
        else:
            place.show_parts([Label(self.theme, nothing, "ui", "text2")])

    def _ask_audit(self) -> None:
        if self.facts is not None:
            name = f"Protokoll {self.facts.akte.az.replace('/', '-')}.pdf"
            choose_path(self, "PDF", "*.pdf", self.print_audit, save=name)

    def print_audit(self, path: str) -> None:
        """Write what was sent, refused, changed and decided in the Akte as pages (KZ-41)."""
        assert self.facts is not None
        akte, home = self.facts.akte, self.page.home

        def work() -> int:
            rows, end = audit.rows_of(home.records, akte.id), audit.verify(home.records)[1]
            parts = table(f"Protokoll {akte.title}", audit.HEADS, rows)
            write_pdf(Path(path), akte.title, [*parts, f"<p>Ende der Kette: {end}</p>"])
            return len(rows)

        def done(count: int | None, problem: str) -> None:
            told = german.counted(count or 0, "Zeile steht", "Zeilen stehen")
            self.tell("" if problem else f"{told} in {path}.", problem)

        self.page.attempt(work, done)

    # What the person does

    def chat_shown(self, shown: bool) -> None:
        """The chat about the Akte stands beside it, or a button leads to it."""
        self._chat_beside = shown
        self._show_chat_button()

    def _show_chat_button(self) -> None:
        offered = self.facts is not None and self.facts.akte.mode != "keine KI"
        self.chat.setVisible(offered and not self._chat_beside)

    def _new_time(self) -> None:
        self.show_tab(TIME)
        if self.facts is not None:
            self.zeit.form.show_stopwatch(self.facts.watch)
        self.zeit.ask(self.zeit.form)

    def _changed(self, told: str, problem: str) -> None:
        self.tell(told, problem)
        self.load()

    @property
    def _watch(self) -> Stopwatch | None:
        """The stopwatch, where it runs on this Akte."""
        watch = self.facts.watch if self.facts is not None else None
        here = watch is not None and self.facts is not None and watch.akte == self.facts.akte.id
        return watch if here else None

    def _show_watch(self) -> None:
        watch = self._watch
        self.time.set_text(watch.shown if watch else "Zeit")
        self.time.setAccessibleName(f"Zeit, Stoppuhr {watch.shown}" if watch else "Zeit")
        self._tick.start() if watch else self._tick.stop()

    def _new_frist(self) -> None:
        self.form_place.show()
        self.form.kind.setFocus()

    def _close_form(self) -> None:
        self.form_place.hide()
        self._focus_tab()

    def _focus_tab(self) -> None:
        self.tabs.segment(self._stack.currentIndex()).setFocus()

    async def take(self, files: Sequence[str]) -> None:
        """Copy files into the Akte; says what cannot be."""
        assert self.facts is not None
        akte = self.facts.akte
        told, refused = await self.page.in_thread(lambda: add_files(self.page.home, akte, files))
        self.load()
        self.tell("\n".join(told), "\n".join(refused))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        urls = event.mimeData().urls()
        files = [url.toLocalFile() for url in urls if url.isLocalFile()]
        if files and self.facts is not None:
            self.page.run(self.take(files))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            tab = self._stack.currentWidget()
            if not self.form_place.isHidden():
                self._close_form()
            elif isinstance(tab, RecordsTab) and tab.close_form():
                self._focus_tab()
            elif self._stack.currentIndex() != OVERVIEW:
                self.show_tab(OVERVIEW)
            else:
                self.closed.emit()
            return
        super().keyPressEvent(event)


def _as_read(value: str) -> str:
    """A value of the history as people read it: days in German."""
    try:
        return german.day(datetime.date.fromisoformat(value))
    except ValueError:
        return value


def add_files(home: Home, akte: Akte, files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Copy files into an Akte; what was done and what could not be, in words. Blocks."""
    told, refused = list[str](), list[str]()
    for name in files:
        try:
            made = home.service(Dokumente).add(home.person, akte, Path(name))
            told.append(f"{made.name} ist abgelegt. {made.missing}".strip())
        except ToolFailed as error:
            refused.append(str(error))
    return told, refused
