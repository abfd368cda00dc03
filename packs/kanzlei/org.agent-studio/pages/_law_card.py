"""Laws and decisions that are taken in: from a site, a file or a folder (KZ-27)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from PySide6.QtCore import QTimer, Signal

from studio.packs import ToolFailed
from studio.packs.ui import STRETCH, Button, Card, Field, Label, Page, column_of, row_of, widget_of

from ..tools import _german as german
from ..tools.law.fetching import HOSTS, address_of, fetched
from ..tools.law.normen import Imported, Normen
from ..tools.law.openlegaldata import CASES, load
from ..tools.law.urteile import Urteile
from ..tools.law.verzeichnis import LIST, Eintrag, Verzeichnis
from ._choosing import PathField
from ._forms import named_field
from ._rows import ChoiceLine, ScrolledColumn

_WAIT = 150
"""Milliseconds after the last letter before it is looked for."""
_MOST = 20
_SHOWN = 5
"""Lines of the list that are seen at once."""
_OPEN = (
    "Nicht dabei? openlegaldata.io hat auch Entscheidungen der Länder. Die Seite ist nicht amtlich "
    "und kann veraltet sein. Dorthin geht das Aktenzeichen oder die ECLI."
)


class LawCard(Card):
    """Takes laws or decisions in. ``changed``: there are others in the store now."""

    changed = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__(page.theme)
        self.page, t = page, page.theme
        self.decisions = False
        self._searches = 0
        self.hosts = HOSTS
        self.title = Label(t, "", "ui_strong")
        self.about = Label(t, "", "small", "text2", wrap=True)
        self.wanted = Field(t, "BGB", name="Was geladen wird")
        self.wanted.returnPressed.connect(self.fetch)
        self.load_button = Button(t, "Laden", "primary", clicked=self.fetch)
        self.list_address = LIST
        self.hits: list[ChoiceLine] = []
        """The decisions of the list that the words name; a click loads one."""
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: page.run(self._find()))
        self.wanted.textChanged.connect(lambda: self._soon.start())
        self.list_told = Label(t, "", "small", "text2", wrap=True)
        self.list_button = Button(t, "Verzeichnis laden", clicked=self.fetch_list)
        self.list_row = widget_of(row_of([(self.list_told, 1), self.list_button], spacing=8))
        self.open_cases = CASES
        self.open_button = Button(t, "Von openlegaldata laden", clicked=self.fetch_open)
        open_told = Label(t, _OPEN, "small", "text2", wrap=True)
        self.open_row = widget_of(row_of([(open_told, 1), self.open_button], spacing=8))
        self.found = ScrolledColumn(t)
        t.changed.connect(self._size_list)
        self.file = PathField(t, "Datei mit Gesetzen oder Entscheidungen", "*.xml *.zip")
        self.file_button = Button(t, "Einlesen", clicked=self.read)
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.told = Label(t, "", "small", "text2", wrap=True)
        close = Button(t, "Schließen", "ghost", clicked=self.hide)
        parts = [
            self.title,
            self.about,
            row_of([(self.wanted, 1), self.load_button], spacing=8),
            self.found,
            self.list_row,
            self.open_row,
            named_field(t, "Oder aus einer Datei (xml, zip)", self.file),
            self.problem,
            self.told,
            row_of([STRETCH, close, self.file_button], spacing=8),
        ]
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)
        for one in (self.problem, self.told, self.found, self.list_row, self.open_row):
            one.hide()
        self.hide()

    def ask(self, *, decisions: bool) -> None:
        """Show it for laws, or for decisions."""
        self.decisions = decisions
        host = HOSTS[decisions]
        self.title.setText("Entscheidungen laden" if decisions else "Gesetze laden")
        self.about.setText(
            f"Von {host}: Gericht, Tag und Aktenzeichen nach dem Verzeichnis, oder die Adresse der "
            "zip-Datei. Gesucht wird hier; dorthin geht nur, was Du lädst."
            if decisions
            else f"Von {host}: eine Abkürzung. Dorthin geht nur, was Du hier eingibst."
        )
        self.wanted.setPlaceholderText("BGH, 14.01.2010, IX ZB 72/08" if decisions else "BGB")
        self.list_row.setVisible(decisions)
        self.open_row.setVisible(decisions)
        self.show()
        self.page.run(self._find())
        self.wanted.setFocus()

    def fetch(self) -> None:
        self._fetch(self.wanted.text())

    def _fetch(self, wanted: str) -> None:
        home, hosts, decisions = self.page.home, self.hosts, self.decisions

        def work(take: Callable[[Path], Imported]) -> Imported:
            address = home.service(Verzeichnis).wanted(wanted) if decisions else address_of(wanted)
            return fetched(address, take, hosts)

        self._do(work)

    def fetch_open(self) -> None:
        """Load what the words name from the collection that is not official."""
        home, words, cases = self.page.home, self.wanted.text(), self.open_cases
        hosts = (urlsplit(cases).netloc,)
        self._do(lambda _: load(home.service(Urteile), words, cases, hosts))

    def fetch_list(self) -> None:
        """Load the list of all decisions anew."""
        home, hosts, address = self.page.home, self.hosts, self.list_address
        service = home.service(Verzeichnis)

        def work(_: Callable[[Path], Imported]) -> Imported | None:
            fetched(address, lambda path: service.replace(path, hosts), hosts)
            return None

        self._do(work)

    async def _find(self) -> None:
        """Show the decisions of the list that the words name, and how old the list is."""
        self._searches = search = self._searches + 1
        words, service, hits = self.wanted.text(), self.page.home.service(Verzeichnis), 0
        found: list[Eintrag] = []
        many, day = 0, ""
        if self.decisions:
            try:
                many, day = await self.page.in_thread(lambda: service.state)
                if "://" not in words:
                    found, hits = await self.page.in_thread(lambda: service.find(words, _MOST))
            except ToolFailed as error:
                self.problem.show_text(str(error))
        if search != self._searches:
            return  # a newer search is on its way
        told = "Noch kein Verzeichnis (23 MB)." if not many else _state(many, day)
        self.list_told.setText(f"{told} {hits} gefunden." if hits > len(found) else told)
        self.hits = [self._line(one) for one in found]
        self.found.show_parts([widget_of(column_of([*self.hits], spacing=0))] if found else [], 0)
        self.found.setVisible(bool(found))
        self._size_list()

    def _size_list(self) -> None:
        if self.hits:
            lines = min(len(self.hits), _SHOWN)
            self.found.setFixedHeight(self.hits[0].sizeHint().height() * lines)

    def _line(self, one: Eintrag) -> ChoiceLine:
        about = "schon im Bestand" if one.known else "noch nicht im Bestand"
        line = ChoiceLine(self.page.theme, one.name, about, "scale")
        line.clicked.connect(lambda: self._fetch(one.address))
        return line

    def read(self) -> None:
        path = self.file.text()

        def work(take: Callable[[Path], Imported]) -> Imported:
            if not path:
                raise ToolFailed("Wähle zuerst eine Datei.")
            return take(Path(path).expanduser())

        self._do(work)

    def _do(self, work: Callable[[Callable[[Path], Imported]], Imported | None]) -> None:
        home, decisions = self.page.home, self.decisions
        take = home.service(Urteile).add if decisions else home.service(Normen).add
        self.problem.show_text("")
        self.told.show_text("Wird geladen…")

        def done(found: Imported | None, problem: str) -> None:
            noun = "Entscheidungen" if decisions else "Gesetze"
            told = ""
            if found is not None:
                told = found.told(noun)
                problem = "\n".join(found.problems[:20])
            self.told.show_text(told)
            self.problem.show_text(problem)
            self.changed.emit()
            self.page.run(self._find())

        buttons = (self.load_button, self.file_button, self.list_button, self.open_button)
        self.page.attempt(lambda: work(take), done, *buttons)


def _state(many: int, day: str) -> str:
    found, stand = german.many(many, "Entscheidungen"), german.read_day(day)
    return f"Verzeichnis vom {stand:%d.%m.%Y}: {found}."
