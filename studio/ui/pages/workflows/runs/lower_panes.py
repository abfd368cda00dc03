"""What is below the graph of a run: timeline, event log, a mission's ledger, or a step's items."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QWidget

from studio.files.atomic_write import write_atomically
from studio.storage.database import Database
from studio.storage.run_items import ItemStore
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Label, Segmented, Toggle
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.workflows.items.results import failure_kinds, lines_of

from .event_log import EventLog
from .items_table import ItemsFacts, ItemsTable
from .lanes import Key
from .ledger import Ledger
from .run_record import RunRecord
from .runs_below import RunsBelow
from .sample_words import samples_asked
from .timeline import Timeline

if TYPE_CHECKING:
    from studio.ui.pages.page import Run as Start

TIMELINE, LOG, LEDGER, ITEMS = range(4)
HEIGHTS = (202, 402, 402, 402)
"""Pixels that each pane has with the tabs above it."""
NEWEST = 500
"""Results of items that are listed."""


class LowerPanes(QWidget):
    """One pane at a time; ``choose`` marks a step in all of them, with what a person chose."""

    chosen = Signal(str, str)
    """The person chose a step and an item."""
    opened = Signal(str, str)
    turned = Signal()
    """Another pane is shown."""
    retry_wanted = Signal(str)
    """The step whose failed items are to be tried again."""
    exported = Signal(str)
    """The name of a file that has the results of items now."""

    def __init__(self, theme: Theme, database: Database, run: Start, below: RunsBelow) -> None:
        super().__init__()
        self._run, self._below = run, below
        self._store = ItemStore(database)
        self._record: RunRecord | None = None
        self._key: Key = ("", "")
        self.timeline = Timeline(theme)
        self.timeline.moved.connect(lambda: self.follow.setChecked(False))
        self.log = EventLog(theme)
        for pane in (self.timeline, self.log):
            pane.chosen.connect(self.chosen)
            pane.opened.connect(self.opened)
        self.ledger = Ledger(theme)
        self.items = ItemsTable(theme)
        self.items.asked.connect(self.read_items)
        self.items.retry_wanted.connect(self.retry_wanted)
        self.items.export_wanted.connect(self._ask_where_to_export)
        self.tabs = Segmented(
            theme,
            [tr("Timeline"), tr("Event log"), tr("Ledger"), tr("Items")],
            name=tr("Below the graph"),
        )
        self.tabs.chosen.connect(self.show_pane)
        self.counts = Label(theme, "", "small", "text2", digits=True)
        self._follow_words = Label(theme, tr("Follow"), "small", "text2")
        self.follow = Toggle(theme, tr("Follow"))
        self.follow.setChecked(True)
        self.follow.toggled.connect(self._followed)
        head = row_of(
            [self.tabs, (self.counts, 1), self._follow_words, self.follow], 10, (12, 6, 16, 2)
        )
        self._stack = QStackedWidget()
        for widget in (self.timeline, self.log, self.ledger, self.items):
            self._stack.addWidget(widget)
        column_of([widget_of(head), (self._stack, 1)], spacing=0, on=self)

    @property
    def pane(self) -> int:
        """``TIMELINE``, ``LOG``, ``LEDGER`` or ``ITEMS``."""
        return self._stack.currentIndex()

    def show_pane(self, pane: int) -> None:
        self.tabs.set_current(pane)
        self._stack.setCurrentIndex(pane)
        for part in (self.follow, self._follow_words):
            part.setVisible(pane == TIMELINE)
        self.turned.emit()
        self._show_counts()
        self.read_items()

    def show_next(self) -> None:
        """The next pane; items have no key, and only missions have a ledger."""
        mission = self._record is not None and self._record.is_mission
        self.show_pane((self.pane + 1) % (3 if mission else 2))

    def show_record(self, record: RunRecord) -> None:
        """Show another run."""
        self._record, self._key = record, ("", "")
        gone = {LEDGER: not record.is_mission, ITEMS: not record.run.tallies}
        if gone.get(self.pane):
            self.show_pane(TIMELINE)
        self.timeline.show_lanes(record.lanes)

    def grown(self) -> None:
        """Show what the run has got since."""
        if (record := self._record) is None:
            return
        self.timeline.change_lanes(self._below.lanes)
        if not self.timeline.isHidden():
            self.timeline.grown()
        self.log.show_rows(self._below.log)
        self.ledger.show_rows(record.ledger.rows)
        self.read_items()
        self._show_counts()

    def tick(self) -> None:
        """Let the clocks go on."""
        if self.pane == TIMELINE:
            self.timeline.grown()

    def choose(self, step: str, item: str) -> None:
        self._key = (step, item)
        self.timeline.choose(self._key)
        self.log.choose(step, item)

    def _followed(self, on: bool) -> None:
        if on:
            self.timeline.show_all()
        else:
            self.timeline.follows = False

    def _show_counts(self) -> None:
        if (record := self._record) is None:
            return
        words = tr("Event log")
        self.tabs.segment(LOG).setText(f"{words} {len(self._below.log)}")
        self.tabs.updateGeometry()
        self.tabs.segment(LEDGER).setVisible(record.is_mission)
        self.tabs.segment(ITEMS).setVisible(bool(record.run.tallies))
        match self.pane:
            case 0:
                shown = self._below.lanes or record.lanes
                running = shown.running
                words = tr_plural("{count} agent", "{count} agents", shown.agents)
                if running:
                    more = tr_plural("{count} running", "{count} running", running)
                    words = tr("{agents}, {more}").format(agents=words, more=more)
            case 1:
                words = self.log.counts
            case 2:
                done = len(record.run.cycles)
                words = tr_plural("{count} cycle ended", "{count} cycles ended", done)
            case _:
                words = ""
        self.counts.setText(words)

    # Many items

    def read_items(self) -> None:
        """Show how far the items of the run are, and the newest results, where they are seen."""
        record = self._record
        if record is not None and self.pane == ITEMS and record.run.tallies:
            asked, tallies = samples_asked(record.run), record.run.tallies
            step = next(one for one in (self._key[0], *asked, *tallies) if one in tallies)
            self.items.show_asked(asked.get(step))
            self._run(self._read_items(record, step))

    async def _read_items(self, record: RunRecord, step: str) -> None:
        run, table = record.run, self.items
        if (queue := await self._store.queue(run.id, step)) is None:
            return
        rows = await self._store.newest(queue, NEWEST, table.shown, table.words, table.fault)
        if not table.sample.isHidden():  # all of these came at once
            rows = sorted(rows, key=lambda row: row.place)
        kinds = failure_kinds(await self._store.failures(queue))
        if record is self._record:
            running = run.state == "running"
            table.show_facts(ItemsFacts(step, run.tallies[step], rows, kinds, running))

    def _ask_where_to_export(self, step: str) -> None:
        if self._record is None:
            return
        run_id, names = self._record.run.id, "CSV (*.csv);;JSON lines (*.jsonl)"
        dialog = QFileDialog(self, tr("Export results"), f"{step}.csv", names)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(
            lambda place: self._run(self.export_items(run_id, step, Path(place)))
        )
        dialog.open()

    async def export_items(self, run_id: str, step: str, place: Path) -> None:
        """Write the results of a step as CSV or JSON lines."""
        if (queue := await self._store.queue(run_id, step)) is not None:
            kind = "csv" if place.suffix.lower() == ".csv" else "jsonl"
            text = "".join([line async for line in lines_of(self._store, queue, kind)])
            await asyncio.to_thread(write_atomically, place, text.encode())
            self.exported.emit(place.name)
