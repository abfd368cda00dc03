"""Compare view: two runs side by side, step by step (W-31)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QSizePolicy,
    QStyleOptionViewItem,
    QWidget,
)

from studio.agent.engine import Engine
from studio.storage.runs import RunInfo
from studio.tools.drafts.diff import diff
from studio.ui.formatting import clock, dollars
from studio.ui.graph.nodes import STATES, NodeState
from studio.ui.pages.drafts.diff_view import DiffView, split
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import (
    Card,
    Combo,
    Hairline,
    IconButton,
    Index,
    Label,
    MenuButton,
    MenuItem,
    Segmented,
    Tile,
    plain_tip,
)
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.key_foot import KeyFoot
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import (
    PaintedWidget,
    paint_tag,
    paint_text,
    paint_tile,
    tag_width,
)
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground
from studio.workflows.agent_lines import AgentFile, agent_files
from studio.workflows.compare import RunComparison, compare_runs

from .call_pairs import CallPairs, call_pairs
from .compare_facts import CompareRow, Measure, Part, measures, parts_of, rows_of
from .history_tab import title_of
from .letter_list import LetterList
from .live_runs import LiveRuns
from .run_record import when

if TYPE_CHECKING:
    from studio.ui.pages.page import Run as Start

STEPS = 420
AMOUNT, MARK = 62, 24
"""Pixels of the columns of cost and time, and of each mark."""


class MeasureStrip(PaintedWidget):
    """The figures of both runs; its accessible name has all of them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.measures: Sequence[Measure] = ()
        theme.changed.connect(self._measure)
        self._measure()

    def _measure(self) -> None:
        self.setFixedHeight(self.theme.px(16) + 3 * self.theme.height(20, "small"))

    def show_measures(self, found: Sequence[Measure]) -> None:
        self.measures = found
        words = (f"{one.name}: {one.first} → {one.second} {one.about}".strip() for one in found)
        self.setAccessibleName(". ".join(words))
        self.setToolTip(plain_tip(self.accessibleName()))
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if not self.measures:
            return
        wide, line = (rect.width() - t.px(40)) / len(self.measures), t.height(20, "small")
        for at, one in enumerate(self.measures):
            cell = QRectF(t.px(20) + at * wide, t.px(8), wide - t.px(8), line)
            paint_text(painter, t, cell, one.name, "small", "text2", room=cell.width())
            cell.translate(0, line)
            if one.first or one.second:
                words = f"{one.first} → "
                used = t.metrics("ui digits").horizontalAdvance(words) + t.px(6)
                if (
                    used + t.metrics("ui_strong digits").horizontalAdvance(one.second)
                    > cell.width()
                ):
                    words, used = "", 0  # what it is now says more than half of both
                paint_text(painter, t, cell, words, "ui digits", "text2", room=cell.width())
                rest = cell.adjusted(used, 0, 0, 0)
                paint_text(painter, t, rest, one.second, "ui_strong digits", room=rest.width())
                cell.translate(0, line)
            ink = "warn" if one.changed else "text2"
            paint_text(painter, t, cell, one.about, "small digits", ink, room=cell.width())


class _Line(RowDelegate):
    least, around = 44, 10
    narrow = False
    """Whether there is no room for cost and time."""

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        paint_row_ground(painter, t, option, box)
        right = box.right() - t.px(8)
        for state in (row.second, row.first) if isinstance(row.key, tuple) else ():
            self._mark(painter, QRectF(right - t.px(20), box.y(), t.px(20), box.height()), state)
            right -= t.px(MARK)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        for words in () if self.narrow else (row.time, row.cost):
            place = QRectF(right - t.px(AMOUNT), box.y(), t.px(AMOUNT - 6), box.height())
            paint_text(painter, t, place, words, "ui digits", "text2", at_right)
            right -= t.px(AMOUNT)
        side = t.px(22)
        left = box.x() + t.px(8) + (t.px(22) if row.indent else 0)
        tile = QRectF(left, box.center().y() - side / 2, side, side)
        paint_tile(painter, t, tile, row.icon, row.hue)
        left = tile.right() + t.px(8)
        top, lower = t.metrics("ui_medium").height(), t.metrics("small").height()
        y = box.center().y() - (top + lower) / 2
        title = QRectF(left, y, right - left, top)
        ink = "text1" if row.differs else "text2"
        paint_text(painter, t, title, row.title, "ui_medium", ink, room=title.width())
        if row.is_first:
            words = tr("First difference")
            x = left + t.metrics("ui_medium").horizontalAdvance(row.title) + t.px(8)
            if x + tag_width(t, words) < right:
                paint_tag(painter, t, QPointF(x, title.center().y()), words, "warn")
        about = QRectF(left, y + top, right - left, lower)
        paint_text(painter, t, about, row.about, "small", "text2", room=about.width())

    def _mark(self, painter: QPainter, cell: QRectF, state: NodeState) -> None:
        t, side = self._theme, self._theme.px(14)
        place = QRectF(0, 0, side, side)
        place.moveCenter(cell.center())
        icon, ink = ("minus", "text3") if not state else STATES[state][1:]
        t.paint_icon(painter, place, icon or "circle-dashed", ink)


class CompareView(PaintedWidget):
    """Steps at the left, the texts of the chosen one at the right."""

    ground = "surface"
    left = Signal()
    chat_wanted = Signal(str)
    again_wanted = Signal(str, str, str)
    """A run, a step and an item from which the person wants to run again."""

    def __init__(self, theme: Theme, engine: Engine, run: Start, live: LiveRuns) -> None:
        super().__init__(theme)
        self._engine, self._run, self._live = engine, run, live
        self.found: RunComparison | None = None
        self._files: Mapping[str, AgentFile] = {}
        """Those of the agents of steps, where these are as they were in a run."""
        self._wanted = 0
        """Counts which runs were wanted: the last ones are shown, however long others take."""
        self._titles: dict[str, str] = {}
        """What the runs are called, by their ids."""
        self._asked = 0
        """Counts the rows whose texts were wanted."""
        t = theme
        back = IconButton(t, "chevron-left", tr("Back to the run"), clicked=self.left.emit)
        self.first = Combo(t, tr("Run A"), chosen=lambda _: self._compare())
        self.second = Combo(t, tr("Run B"), chosen=lambda _: self._compare())
        swap = IconButton(t, "arrow-right-left", tr("Swap A and B"), clicked=self.swap)
        head = row_of(
            [
                *(back, Label(t, tr("Compare runs"), "heading"), STRETCH),
                *(self.first, swap, self.second),
            ],
            8,
            (12, 0, 12, 0),
        )
        self._head = widget_of(head)
        self.strip = MeasureStrip(t)
        self.counts = Label(t, "", "small", "text2")
        self._model = RowModel(lambda row: row.spoken)
        self.list = LetterList(t, tr("Steps"))
        self.list.setModel(self._model)
        self._line = _Line(t)
        self.list.setItemDelegate(self._line)
        self.list.selectionModel().currentChanged.connect(lambda *_: self._show_parts())
        hints = [
            (("N",), tr("Next difference")),
            (("J", "K"), tr("Step")),
            (("R",), tr("Run again from here")),
        ]
        words = tr("N goes to the next difference, J and K move, R runs again from here")
        columns = [Label(t, one, "small", "text2") for one in (tr("Cost"), tr("Time"), "A", "B")]
        for label in columns:
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._columns = columns
        name = Label(t, tr("Steps"), "small_strong")
        steps_head = row_of([name, 8, (self.counts, 1), *columns], 0)
        steps_head.setContentsMargins(16, 10, 16, 6)
        self._steps = widget_of(
            column_of(
                [
                    steps_head,
                    (self.list, 1),
                    KeyFoot(t, hints, words),
                ],
                spacing=0,
            )
        )
        self.title = Label(t, "", "heading")
        self.tile = Tile(t, "workflow", "slate")
        self.sides = Label(t, "", "small", "text2"), Label(t, "", "small", "text2")
        """Above the columns: which run each is, with what the step cost and how long it took."""
        self.which = Segmented(
            t,
            [tr("Differences"), tr("All")],
            name=tr("What is shown"),
            icons=("git-compare-arrows", "list"),
        )
        self.which.chosen.connect(lambda _: self._show_parts())
        self._parts = column_of(spacing=8)
        inner = widget_of(self._parts)
        area = scrolled(inner)
        self.chats = MenuButton(t, tr("Open chats"), boxed=True, spare_icon="message-square")
        self.chats.set_face(tr("Open chats"))
        self.chats.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.chats.chosen.connect(self.chat_wanted)
        parts = [self.tile, (self.title, 1), self.which, self.chats]
        right_head = row_of(parts, 8, (20, 10, 20, 8), folding=(self.chats, self.which))
        self._sides = row_of([(side, 1) for side in self.sides], 0, (20, 0, 20, 4))
        right = column_of([right_head, self._sides, (area, 1)], spacing=0)
        self._parts.setContentsMargins(20, 4, 20, 20)
        both = row_of([self._steps, Hairline(t, upright=True), (right, 1)], spacing=0)
        column_of([self._head, Hairline(t), self.strip, Hairline(t), (both, 1)], spacing=0, on=self)
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self._head.setFixedHeight(self.theme.px(48))
        px = self.theme.px
        for label, wide in zip(self._columns, (AMOUNT, AMOUNT, MARK, MARK), strict=True):
            label.setFixedWidth(px(wide))
        self._columns[2].setContentsMargins(0, 0, px(6), 0)
        self._columns[3].setContentsMargins(0, 0, px(6), 0)
        self._share()

    def _share(self) -> None:
        """Give the steps at most half of the width; then without cost and time."""
        wanted = self.theme.px(STEPS)
        wide = min(wanted, self.width() // 2)
        self._line.narrow = wide < wanted * 0.85
        for label in self._columns[:2]:
            label.setHidden(self._line.narrow)
        self._steps.setFixedWidth(wide)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()

    # Which runs

    def show_runs(self, infos: Sequence[RunInfo], first: str, second: str) -> None:
        """Compare two of these runs, by their ids."""
        words = tr("{title}, {time}")
        items = [
            MenuItem(one.id, words.format(title=title_of(one), time=when(one.created)))
            for one in infos
        ]
        self._titles = {item.key: item.text for item in items}
        for combo, chosen in ((self.first, first), (self.second, second)):
            combo.set_items(items)
            combo.set_current(chosen)
        self._compare()
        self.list.setFocus()

    def _show_faces(self) -> None:
        """Say within each field which of the two it is."""
        for combo, letter in ((self.first, "A"), (self.second, "B")):
            combo.set_face(f"{letter}   {self._titles.get(combo.current, '')}")

    def swap(self) -> None:
        first, second = self.first.current, self.second.current
        self.first.set_current(second)
        self.second.set_current(first)
        self._compare()

    def _compare(self) -> None:
        self._wanted += 1
        self._show_faces()
        self._run(self._read(self.first.current, self.second.current, self._wanted))

    async def _read(self, first: str, second: str, wanted: int) -> None:
        runs = self._live.runs
        found = await compare_runs(runs, first, second)
        run = await runs.read(second)
        workflow = await runs.workflow_of(run)
        agents = (await self._engine.agents(None)).by_name
        before = await agent_files(runs, self._engine, await runs.read(first))
        files = {**before, **await agent_files(runs, self._engine, run)}
        if wanted != self._wanted:
            return
        self.found, self._files = found, files
        self.strip.show_measures(measures(found))
        rows = rows_of(found, workflow, agents, run)
        differ = sum(row.differs for row in rows)
        same = len(rows) - differ
        words = tr("{same} the same, {more}").format(
            same=same, more=tr_plural("{count} differs", "{count} differ", differ)
        )
        self.counts.setText(words if differ else tr("Both runs are the same."))
        self._model.show(rows)
        at = next((n for n, row in enumerate(rows) if row.is_first), 0)
        self.list.setCurrentIndex(self._model.index(at))

    # What differs

    @property
    def row(self) -> CompareRow | None:
        """The row that is chosen."""
        return self.list.currentIndex().data(Qt.ItemDataRole.UserRole)

    @property
    def rows(self) -> Sequence[CompareRow]:
        return self._model.rows

    def _show_parts(self) -> None:
        row, found = self.row, self.found
        if row is None or found is None:
            return
        self.title.setText(row.title)
        self.tile.set(row.icon, row.hue)
        step = next((one for one in found.steps if (one.step, one.item) == row.key), None)
        chats: list[MenuItem] = []
        for letter, run, one, label in (
            ("A", found.first, step.first if step else None, self.sides[0]),
            ("B", found.second, step.second if step else None, self.sides[1]),
        ):
            words = [tr("run {number}").format(number=run.number)]
            if one is not None:
                words += [dollars(one.dollars), clock(one.seconds)]
            label.setText(f"{letter}  {', '.join(words)}")
            if one is not None and one.session_id:
                chats.append(MenuItem(one.session_id, words[0]))
        self.chats.set_items(chats)
        self.chats.setVisible(bool(chats))
        parts = parts_of(found, row.key, self._files, all_parts=self.which.current == 1)
        self._asked += 1
        self._run(self._lay_parts(parts, self._asked))

    async def _lay_parts(self, parts: Sequence[Part], asked: int) -> None:
        """Put the texts below each other; long ones are compared in a thread."""
        made = [(one, await asyncio.to_thread(diff, one.first, one.second)) for one in parts]
        if asked != self._asked:
            return
        while (item := self._parts.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for one, lines in made:
            view: QWidget
            if one.calls is not None:
                pairs = call_pairs(*one.calls, self._engine.tools(), one.took)
                view = CallPairs(self.theme, [*pairs])
            else:
                view = DiffView(self.theme)
                view.setAccessibleName(one.name)
                view.show_rows(split(lines), one.path)
            box = Card(self.theme, radius=8)
            column_of([view], margins=(1, 6, 1, 6), on=box)
            about = ElidedLabel(self.theme, one.about)
            name = Label(self.theme, one.name, "small_strong")
            self._parts.addWidget(widget_of(row_of([name, (about, 1)], 8)))
            self._parts.addWidget(box)
        if not made:
            words = tr("Nothing differs here.")
            self._parts.addWidget(Label(self.theme, words, "ui", "text2"))
        self._parts.addStretch(1)

    def texts(self) -> list[tuple[str, QWidget]]:
        """The headings on screen, with what is below each."""
        found: list[tuple[str, QWidget]] = []
        for at in range(self._parts.count() - 1):
            item, after = self._parts.itemAt(at), self._parts.itemAt(at + 1)
            head, view = item.widget() if item else None, after.widget() if after else None
            label = head.findChild(Label) if head is not None else None
            inner = view.findChildren(QWidget) if isinstance(view, Card) else []
            if isinstance(label, Label) and inner:
                found.append((label.text(), inner[0]))
        return found

    # Keys

    def go_to_difference(self, step: int) -> None:
        """Choose the next row that differs, or with -1 the one before."""
        rows, here = self._model.rows, self.list.currentIndex().row()
        ahead = range(here + 1, len(rows)) if step > 0 else range(here - 1, -1, -1)
        at = next((n for n in ahead if rows[n].differs), None)
        if at is not None:
            self.list.setCurrentIndex(self._model.index(at))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        shifted = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        here = self.list.currentIndex().row()
        match event.key():
            case Qt.Key.Key_N:
                self.go_to_difference(-1 if shifted else 1)
            case Qt.Key.Key_J | Qt.Key.Key_K:
                by = 1 if event.key() == Qt.Key.Key_J else -1
                at = min(max(here + by, 0), len(self._model.rows) - 1)
                self.list.setCurrentIndex(self._model.index(at))
            case Qt.Key.Key_R:
                row = self.row
                if row is not None and isinstance(row.key, tuple):
                    self.again_wanted.emit(self.second.current, *row.key)
            case Qt.Key.Key_Escape:
                self.left.emit()
            case _ if event.text().isprintable() and event.text():
                event.accept()  # the letters of the run below mean nothing here
            case _:
                super().keyPressEvent(event)
