"""Adds a server from what is pasted, or from another program's file (M-12, M-23)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.agent.servers.facts import shown_start
from studio.mcp.entries import ServerEntry
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.forms.text_area import TextArea
from studio.ui.settings.rows import IconTile, RowCard
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Card, Field, IconButton, Label, Status, plain_tip
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .rows import icon_of
from .servers_model import ServersModel

if TYPE_CHECKING:
    from studio.mcp.importing.formats import ForeignFile
    from studio.mcp.importing.found import Found

REST_MS = 250
"""How long typing rests before the text is read."""


class AddView(QWidget):
    """A field for what a README says, and the servers that other programs know."""

    back = Signal()
    added = Signal(str)
    """The name of a server that was added."""

    def __init__(self, theme: Theme, servers: ServersModel) -> None:
        super().__init__()
        self.theme, self._servers = theme, servers
        self._found: list[Found] = []
        self.files: list[ForeignFile] = []
        self.cards: list[FoundCard] = []
        self.rows: list[FoundRow] = []
        self.leave = IconButton(
            theme, "chevron-left", tr("Back to the servers"), clicked=self.back.emit
        )
        title = column_of(
            [
                Label(theme, tr("Add a server"), "title"),
                Label(
                    theme,
                    tr("It stays off until you have seen what it runs and switch it on."),
                    "ui",
                    "text2",
                    wrap=True,
                ),
            ],
            spacing=2,
        )
        head = row_of([(self.leave, Qt.AlignmentFlag.AlignVCenter), (title, 1)], spacing=10)
        self.text = TextArea(
            theme,
            tr("Command, address or JSON of a server"),
            tr("npx -y @modelcontextprotocol/server-filesystem ~/Documents"),
            lines=5,
        )
        self.text.edit.textChanged.connect(self._typed)
        self._rest = QTimer(self, interval=REST_MS, singleShot=True)
        self._rest.timeout.connect(self.read)
        line = Label(
            theme,
            tr("Paste its command, its web address, or the JSON that its README shows."),
            "small",
            "text2",
            wrap=True,
        )
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self._pasted = widget_of(column_of(spacing=8))
        self._pasted.hide()
        self.choose = Button(theme, tr("Open a file…"), "link", clicked=self._choose)
        self.choose.setToolTip(plain_tip(tr("A bundle (.mcpb), or a file with servers in it")))
        below = row_of([(line, 1), (self.choose, Qt.AlignmentFlag.AlignTop)], spacing=8)
        paste = [Label(theme, tr("Command, address or JSON"), "ui_strong"), self.text, below]
        self.looking = Status(theme, tr("Looking…"), "busy")
        self.none = Label(
            theme,
            tr("No other program on this computer has servers."),
            "small",
            "text2",
            wrap=True,
        )
        self.none.hide()
        self._groups = column_of(spacing=10)
        others = column_of(
            [
                Label(theme, tr("Known to other programs"), "ui_strong"),
                self.looking,
                self.none,
                self._groups,
                Label(
                    theme,
                    tr("Their files stay as they are. Keys in them go to your system keychain."),
                    "small",
                    "text2",
                    wrap=True,
                ),
            ],
            spacing=6,
        )
        parts = [head, column_of([*paste, self.problem, self._pasted], spacing=6), others]
        column_of([*parts, STRETCH], spacing=14, on=self)

    def open(self) -> None:
        """Begin anew: an empty field, and what other programs know now."""
        self.text.show_text("")
        self._show_pasted([])
        self.text.edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self.looking.show()
        self._servers.start(self._look())

    # What is pasted

    def _typed(self) -> None:
        self._show_problem("")
        self._rest.start()

    def read(self) -> None:
        """Read the text in the field and show the servers in it."""
        from studio.mcp.importing.snippet import read_snippet

        self._rest.stop()
        text = self.text.text.strip()
        found: list[Found] = []
        if text:
            try:
                found = read_snippet(text, self._servers.surroundings(None))
            except ValueError as error:
                self._show_problem(tr_engine(f"It cannot be read: {error}."))
        self._show_pasted(found)

    def _show_problem(self, problem: str) -> None:
        self.problem.show_text(problem)
        self.text.set_error(problem)

    def _show_pasted(self, found: Sequence[Found]) -> None:
        layout = self._pasted.layout()
        assert layout is not None
        for card in self.cards:
            card.hide()
            card.deleteLater()
        self.cards = [FoundCard(self.theme, one, self._servers, self._add) for one in found]
        for card in self.cards:
            layout.addWidget(card)
        self._pasted.setVisible(bool(self.cards))

    def _choose(self) -> None:
        dialog = QFileDialog(self, tr("Open a file"), str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self._servers.start(self.read_file(Path(path))))
        dialog.open()

    async def read_file(self, path: Path) -> None:
        """Show the servers of a file, or why there are none."""
        from studio.mcp.importing.formats import read_path

        around = self._servers.surroundings(self._servers.folder)
        file = await asyncio.to_thread(read_path, path, around)
        self._show_problem(tr_engine(file.problem))
        self._show_pasted(file.found)

    def _add(self, found: Found) -> None:
        self._servers.start(self._take([found]))

    async def _take(self, found: Sequence[Found]) -> None:
        for entry in await self._servers.take(found):
            self.added.emit(entry.name)

    # What other programs know

    async def _look(self) -> None:
        from studio.mcp.importing.formats import find_files

        folder = self._servers.folder
        self.files = await asyncio.to_thread(find_files, self._servers.surroundings(folder))
        known = await self._servers.entries()
        self.looking.hide()
        self._show_files(known)

    def _show_files(self, known: Sequence[ServerEntry]) -> None:
        while (item := self._groups.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = []
        for file in self.files:
            rows = [
                FoundRow(self.theme, one, _is_known(one, known), self._import) for one in file.found
            ]
            self.rows += rows
            card = RowCard(self.theme)
            card.set_rows(rows or [Label(self.theme, tr_engine(file.problem), "small", "err")])
            several = [row.found for row in rows if row.can]
            every = Button(
                self.theme,
                tr_plural("Import {count}", "Import all {count}", len(several)),
                "link",
                clicked=lambda _=False, found=several: self._import_all(found),
            )
            every.setAccessibleName(joined((every.text(), file.title)))
            if len(several) < 2:
                every.hide()
            place = ElidedLabel(self.theme, short_path(str(file.path)), "small", "text2")
            title = Label(self.theme, file.title, "small_medium")
            head = row_of([title, (place, 1), every], spacing=8)
            self._groups.addWidget(widget_of(column_of([head, card], spacing=4)))
        self.none.setVisible(not self.files)

    def _import(self, found: Found) -> None:
        self._servers.start(self._import_some([found]))

    def _import_all(self, found: Iterable[Found]) -> None:
        self._servers.start(self._import_some(list(found)))

    async def _import_some(self, found: Sequence[Found]) -> None:
        entries = await self._servers.take(found)
        known = await self._servers.entries()
        self._show_files(known)
        if len(entries) == 1:
            self.added.emit(entries[0].name)


class FoundCard(Card):
    """A server of the pasted text: its name, what it would run, what it lacks, Add."""

    def __init__(
        self, theme: Theme, found: Found, servers: ServersModel, add: Callable[[Found], object]
    ) -> None:
        super().__init__(theme, "surface", "control")
        self.found = found
        entry = found.entry
        self.name = Field(theme, tr("Name"), name=tr("Name of the server"))
        self.name.setText(entry.name)
        self.name.setFixedWidth(theme.px(180))
        shown = shown_start(entry)
        self.line = ElidedLabel(theme, shown, "code", "text2")
        self.add = Button(theme, tr("Add"), "primary", clicked=lambda: add(self._named()))
        self.add.setAccessibleName(tr("Add {name}").format(name=entry.name))
        self.add.setEnabled(not found.problem)
        middle = Qt.AlignmentFlag.AlignVCenter
        head = row_of(
            [(IconTile(theme, icon_of(entry)), middle), self.name, STRETCH, self.add], spacing=10
        )
        parts: list[object] = [head, self.line]
        parts += [Label(theme, text, "small", ink, wrap=True) for text, ink in remarks(found)]
        column_of(parts, spacing=6, margins=(12, 10, 12, 10), on=self)  # type: ignore[arg-type]

    def _named(self) -> Found:
        name = self.name.text().strip()
        return self.found.named(name) if name else self.found


class FoundRow(QWidget):
    """A server of another program's file."""

    def __init__(
        self, theme: Theme, found: Found, known: bool, take: Callable[[Found], object]
    ) -> None:
        super().__init__()
        self.found, self.can = found, not known and not found.problem
        entry = found.entry
        shown = shown_start(entry)
        self.take = Button(theme, tr("Import"), clicked=lambda: take(found))
        self.take.setAccessibleName(tr("Import {name}").format(name=entry.name))
        self.take.setEnabled(self.can)
        self.take.setToolTip(plain_tip(tr("It is here already.") if known else ""))
        self.remarks = [Label(theme, text, "small", ink, wrap=True) for text, ink in remarks(found)]
        texts: list[QWidget] = [Label(theme, entry.name, "ui_medium")]
        if shown:
            texts.append(ElidedLabel(theme, shown, "small", "text2"))
        middle = Qt.AlignmentFlag.AlignVCenter
        words = column_of([*texts, *self.remarks], spacing=0)
        here = Status(theme, tr("Here already"), "ok")
        if not known:
            here.hide()
        parts = [(IconTile(theme, icon_of(entry)), middle), (words, 1), (here, middle)]
        row_of([*parts, (self.take, middle)], spacing=10, margins=(0, 7, 0, 7), on=self)


def remarks(found: Found) -> list[tuple[str, str]]:
    """What a person should know of a server that was read, each with its colour."""
    if found.problem:
        return [(tr_engine(found.problem), "err")]
    said: list[tuple[str, str]] = []
    if found.secrets:
        count = len(found.secrets)
        said.append(
            (
                tr_plural(
                    "{count} key goes to your keychain.", "{count} keys go to your keychain.", count
                ),
                "text2",
            )
        )
    for one in found.missing:
        if one.key:
            about = f"{one.name} ({one.about})" if one.about else one.name
            said.append((tr("{name} is missing; you are asked for it.").format(name=about), "warn"))
        else:
            said.append((tr("The variable {name} is not set.").format(name=one.name), "warn"))
    if found.omitted:
        names = ", ".join(found.omitted)
        said.append((tr("Left out: {names}").format(names=names), "text2"))
    return said


def _is_known(found: Found, known: Sequence[ServerEntry]) -> bool:
    from studio.mcp.importing.taking import same_server

    return any(same_server(found.entry, entry) for entry in known)
