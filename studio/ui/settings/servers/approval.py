"""Shows what a server runs and where, before it is switched on (M-12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.agent.servers.facts import shown_pairs, shown_reach, shown_start, shown_text
from studio.mcp.entries import PACK, Sandboxing, ServerEntry
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.settings.key_row import KeyOwner, KeyRow
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Button, Card, Combo, Label, MenuItem
from studio.ui.widgets.breakable import BreakableLabel, breakable
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .server_facts import ServerFacts
from .servers_model import ServersModel

WITH_RIGHTS = "rights"
"""The key of the choice to run it in no sandbox."""
PLACES: dict[Sandboxing, str] = {
    "": tr_later("With your rights, in no sandbox"),
    "offline": tr_later("In the sandbox, without network"),
    "network": tr_later("In the sandbox, with network"),
}


class ApprovalCard(Card):
    """Asks whether a server may run: shows its command, folder, variables or address.

    For one on this computer the person chooses where it runs. ``again`` says that it was approved
    before and is another now. ``keys`` are rows in which secrets that are missing can be entered.
    """

    def __init__(
        self,
        theme: Theme,
        facts: ServerFacts,
        *,
        again: bool = False,
        keys: Sequence[QWidget] = (),
        approve: Callable[[ServerEntry], object],
        cancel: Callable[[], object],
    ) -> None:
        super().__init__(theme, "raised", "warn_line")
        self.entry = entry = facts.entry
        if again:
            title = tr("{name} changed since you switched it on").format(name=entry.name)
        else:
            title = tr("Switch on {name}?").format(name=entry.name)
        line = tr("What agents send to it leaves this computer.")
        if entry.command:
            line = tr("It runs on this computer.")
        words = column_of(
            [
                Label(theme, title, "ui_strong", wrap=True),
                Label(theme, line, "small", "text2", wrap=True),
            ],
            spacing=1,
        )
        self.where = SandboxChoice(theme, facts) if facts.may is not None else None
        choice = [] if self.where is None else [self.where]
        tile = IconTile(theme, "shield-question-mark", "warn")
        head = row_of([(tile, Qt.AlignmentFlag.AlignTop), (words, 1)], spacing=10)
        self.facts = facts_of(entry)
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(self.facts):
            grid.addWidget(Label(theme, name, "small", "text2"), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(BreakableLabel(theme, value), row, 1)
        self.approve = Button(
            theme, tr("Switch on"), "primary", clicked=lambda: approve(self._chosen())
        )
        self.approve.setAccessibleName(tr("Switch on {name}").format(name=entry.name))
        self.cancel = Button(theme, tr("Leave off"), "ghost", clicked=cancel)
        buttons = row_of([self.approve, self.cancel, STRETCH], spacing=8)
        parts = [head, grid, *choice, *keys, buttons]
        column_of(parts, spacing=10, margins=(12, 12, 12, 12), on=self)
        said = ". ".join(f"{name}: {value}" for name, value in self.facts)
        self.setAccessibleName(f"{title} {said}")

    def _chosen(self) -> ServerEntry:
        """The server, to run where the person chose."""
        return self.entry if self.where is None else self.where.entry


class SandboxChoice(QWidget):
    """Where a server on this computer runs, and what it may reach there (M-18)."""

    chosen = Signal(object)
    """The entry with what the person chose."""

    def __init__(self, theme: Theme, facts: ServerFacts) -> None:
        super().__init__()
        assert facts.may is not None
        self.entry, self._may = facts.entry, facts.may
        name = tr("Where {name} runs").format(name=facts.entry.name)
        items = [MenuItem(key or WITH_RIGHTS, tr(words)) for key, words in PLACES.items()]
        self.combo = Combo(theme, name, "", 280, items, chosen=self._choose)
        self.reach = Label(theme, "", "small", "text2", wrap=True)
        column_of([row_of([self.combo, STRETCH]), self.reach], spacing=4, on=self)
        self._show()

    def _choose(self, key: str) -> None:
        sandbox = next((one for one in PLACES if one == key), "")
        self.entry = replace(self.entry, sandbox=sandbox)
        self._show()
        self.chosen.emit(self.entry)

    def _show(self) -> None:
        self.combo.set_current(self.entry.sandbox or WITH_RIGHTS)
        lines = shown_reach(self.entry, self._may)
        self.reach.setText(breakable("\n".join(map(tr_engine, lines))))


def key_rows(theme: Theme, servers: ServersModel, facts: ServerFacts) -> list[QWidget]:
    """A row for each secret that is missing, in which it can be entered."""
    rows: list[QWidget] = []
    for name in facts.missing:
        short = name.rpartition("/")[2]
        key = KeyRow(theme, KeyOwner(name, short), servers.keychain, servers.tasks)
        label = Label(theme, tr("{name} is missing").format(name=short), "small", "warn")
        rows.append(widget_of(column_of([label, key], spacing=4)))
    return rows


def facts_of(entry: ServerEntry) -> list[tuple[str, str]]:
    """What runs or is reached, in words and their values; secrets by their names alone."""
    place = entry.place
    whose = [(tr("Pack"), place.removeprefix(PACK))] if place.startswith(PACK) else []
    if entry.of_folder:
        whose = [(tr("From the folder"), shown_text(short_path(place)))]
    if not entry.command:
        facts = [*whose, (tr("Address"), shown_start(entry))]
        if entry.headers:
            facts.append((tr("Headers"), shown_pairs(entry.headers)))
        return facts
    facts = [*whose, (tr("Command"), shown_start(entry))]
    if entry.folder:
        facts.append((tr("Folder"), shown_text(short_path(entry.folder))))
    if entry.environment:
        facts.append((tr("Variables"), shown_pairs(entry.environment)))
    return facts
