"""Laws and decisions that are taken in: from their two sites, a file or a folder (KZ-27)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal

from studio.packs import ToolFailed
from studio.packs.ui import STRETCH, Button, Card, Field, Label, Page, column_of, row_of

from ..tools.law.fetching import HOSTS, address_of, fetched
from ..tools.law.normen import Imported, Normen
from ..tools.law.urteile import Urteile
from ._choosing import PathField
from ._forms import named_field


class LawCard(Card):
    """Takes laws or decisions in. ``changed``: there are others in the store now."""

    changed = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__(page.theme)
        self.page, t = page, page.theme
        self.decisions = False
        self.hosts = HOSTS
        self.title = Label(t, "", "ui_strong")
        self.about = Label(t, "", "small", "text2", wrap=True)
        self.wanted = Field(t, "BGB", name="Was geladen wird")
        self.wanted.returnPressed.connect(self.fetch)
        self.load_button = Button(t, "Laden", "primary", clicked=self.fetch)
        self.file = PathField(t, "Datei mit Gesetzen oder Entscheidungen", "*.xml *.zip")
        self.file_button = Button(t, "Einlesen", clicked=self.read)
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.told = Label(t, "", "small", "text2", wrap=True)
        close = Button(t, "Schließen", "ghost", clicked=self.hide)
        parts = [
            self.title,
            self.about,
            row_of([(self.wanted, 1), self.load_button], spacing=8),
            named_field(t, "Oder aus einer Datei (xml, zip)", self.file),
            self.problem,
            self.told,
            row_of([STRETCH, close, self.file_button], spacing=8),
        ]
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)
        for one in (self.problem, self.told):
            one.hide()
        self.hide()

    def ask(self, *, decisions: bool) -> None:
        """Show it for laws, or for decisions."""
        self.decisions = decisions
        host = HOSTS[decisions]
        self.title.setText("Entscheidungen laden" if decisions else "Gesetze laden")
        what = "die Adresse der zip-Datei einer Entscheidung" if decisions else "eine Abkürzung"
        self.about.setText(f"Von {host}: {what}. Dorthin geht nur, was Du hier eingibst.")
        self.wanted.setPlaceholderText(f"https://{host}/…" if decisions else "BGB")
        self.show()
        self.wanted.setFocus()

    def fetch(self) -> None:
        wanted, hosts = self.wanted.text(), self.hosts
        self._do(lambda take: fetched(address_of(wanted), take, hosts))

    def read(self) -> None:
        path = self.file.text()

        def work(take: Callable[[Path], Imported]) -> Imported:
            if not path:
                raise ToolFailed("Wähle zuerst eine Datei.")
            return take(Path(path).expanduser())

        self._do(work)

    def _do(self, work: Callable[[Callable[[Path], Imported]], Imported]) -> None:
        home, decisions = self.page.home, self.decisions
        take = home.service(Urteile).add if decisions else home.service(Normen).add

        buttons = (self.load_button, self.file_button)
        for one in buttons:
            one.setEnabled(False)
        self.problem.show_text("")
        self.told.show_text("Wird geladen …")

        async def done() -> None:
            told, problem = "", ""
            try:
                found = await self.page.in_thread(lambda: work(take))
                noun = "Entscheidungen" if decisions else "Gesetze"
                told = f"{found.laws} {noun}, {found.changed} neu oder geändert"
                problem = "\n".join(found.problems[:20])
            except ToolFailed as error:
                problem = str(error)
            self.told.show_text(told)
            self.problem.show_text(problem)
            for one in buttons:
                one.setEnabled(True)
            self.changed.emit()

        self.page.run(done())
