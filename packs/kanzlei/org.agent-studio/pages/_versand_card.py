"""Versandmappe: PDFs of an Akte for beA, in the order in which they are chosen (KZ-34)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studio.packs import ToolFailed
from studio.packs.ui import (
    STRETCH,
    Button,
    Card,
    Check,
    Combo,
    Label,
    MenuItem,
    Page,
    column_of,
    row_of,
    widget_of,
)

from ..tools.office import versand
from ..tools.office.akten import Akte
from ..tools.office.dokumente import Dokument
from ..tools.xjustiz.codes import FILENAME, Codes
from ._choosing import PathField
from ._forms import named_field

_UNNAMED = "wird nicht genannt"


class VersandCard(Card):
    """Puts PDFs together. ``chosen`` are their numbers in order."""

    def __init__(self, page: Page) -> None:
        super().__init__(page.theme)
        self.page, t = page, page.theme
        self.akte: Akte | None = None
        self.chosen: list[int] = []
        self.checks: dict[int, Check] = {}
        self._names: dict[int, str] = {}
        self._column = column_of(spacing=6)
        self.nothing = Label(t, "In dieser Akte ist kein PDF.", "small", "text2")
        self.folder = PathField(t, "Wohin die Versandmappe kommt", "")
        codes = Codes()
        self.xjustiz = Check(t, f"Mit XJustiz-Nachricht ({codes.version}, ungeprüft)")
        sides = [one.name for one in codes.roles.values() if one.party and not one.role]
        items = [MenuItem(_UNNAMED, _UNNAMED), *(MenuItem(one, one) for one in sides)]
        self.stands = Combo(t, "Was der Mandant im Verfahren ist", items=items)
        self.stands.set_current(_UNNAMED)
        stands = widget_of(named_field(t, "Der Mandant ist dort", self.stands))
        stands.hide()
        self.xjustiz.toggled.connect(stands.setVisible)
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.told = Label(t, "", "small", "text2", wrap=True)
        self.go = Button(t, "Zusammenstellen", "primary", clicked=self.put_together)
        close = Button(t, "Schließen", "ghost", clicked=self.hide)
        most = versand.limits()
        about = (
            "Nummeriert in der Reihenfolge, in der Du sie wählst. Gesendet wird nichts. Grenzen "
            f"des beA: {most.files} Dateien, {most.bytes // 1_000_000} MB"
            + (" (ungeprüft)." if most.unchecked else ".")
        )
        parts = [
            Label(t, "Versandmappe für das beA", "ui_strong"),
            Label(t, about.replace("1000", "1.000"), "small", "text2", wrap=True),
            widget_of(self._column),
            self.nothing,
            self.folder,
            self.xjustiz,
            stands,
            self.problem,
            self.told,
            row_of([STRETCH, close, self.go], spacing=8),
        ]
        column_of(parts, spacing=8, margins=(14, 12, 14, 12), on=self)
        self.problem.hide()
        self.told.hide()
        self.hide()

    def ask(self) -> None:
        self.show()
        first = next(iter(self.checks.values()), None)
        (first or self.folder.field).setFocus()

    def show_documents(self, akte: Akte, documents: Sequence[Dokument]) -> None:
        """Offer the PDFs of an Akte; what was chosen of them stays chosen."""
        if self.akte is None or akte.id != self.akte.id:
            self.chosen = []
            self.folder.field.clear()
            self.told.show_text("")
            self.problem.show_text("")
            self.hide()
        self.akte = akte
        pdfs = [one for one in reversed(documents) if one.name.lower().endswith(".pdf")]
        self._names = {one.id: one.name for one in pdfs}
        self.chosen = [one for one in self.chosen if one in self._names]
        while (item := self._column.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self.checks = {}
        for number in self._names:
            check = self.checks[number] = Check(self.page.theme, "")
            check.setChecked(number in self.chosen)
            check.toggled.connect(lambda on, number=number: self._choose(number, on))
            self._column.addWidget(check)
        self.nothing.setVisible(not pdfs)
        self._show_order()

    def _choose(self, number: int, on: bool) -> None:
        if on:
            self.chosen.append(number)
        else:
            self.chosen.remove(number)
        self._show_order()

    def _show_order(self) -> None:
        for number, check in self.checks.items():
            at = f"{self.chosen.index(number) + 1}. " if number in self.chosen else ""
            check.setText(at + self._names[number])
            check.setAccessibleName(check.text())
        self.go.setEnabled(bool(self.chosen))

    def put_together(self) -> None:
        akte, where, numbers = self.akte, self.folder.text(), list(self.chosen)
        xjustiz, stands = self.xjustiz.isChecked(), self.stands.current
        stands = stands if xjustiz and stands != _UNNAMED else ""
        if akte is None:
            return
        home = self.page.home

        def work() -> str:
            if not where:
                raise ToolFailed("Wähle, wohin die Versandmappe kommt.")
            folder = Path(where).expanduser()
            try:
                if folder.is_dir() and any(folder.iterdir()):
                    folder = folder / f"Versand {akte.az.replace('/', '-')}"
                elif folder.is_dir():
                    folder.rmdir()  # an empty one, made in the dialog
            except OSError as error:
                words = f"{folder} kann nicht verwendet werden: {error.strerror}."
                raise ToolFailed(words) from error
            sent = versand.put_together(home, home.person, akte, numbers, folder,
                                        xjustiz=xjustiz, stands=stands)  # fmt: skip
            names = "\n".join([*(one.name for one in sent), *([FILENAME] if xjustiz else [])])
            return f"In {folder} liegen {versand.LIST} und:\n{names}"

        def done(told: str | None, problem: str) -> None:
            if self.akte is not None and self.akte.id == akte.id:  # else another one is open now
                self.told.show_text(told or "")
                self.problem.show_text(problem)
            self.go.setEnabled(bool(self.chosen))

        self.page.attempt(work, done, self.go)
