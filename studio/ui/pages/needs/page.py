"""The page Needs you: what waits at the left, the chosen question with its answers (W-22)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout

from studio.agent.engine import Engine
from studio.domain.agents import NO_AGENTS, Agent, Caps
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json
from studio.domain.questions import ServerAnswer
from studio.ui.engine_texts import tr_engine
from studio.ui.inspector.fact_list import FactList
from studio.ui.pages.page import Page, Run
from studio.ui.pages.workflows.runs.changes_list import ChangesList
from studio.ui.pages.workflows.runs.letter_list import LetterList
from studio.ui.pages.workflows.workflow_graph import node_of
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Hairline, Label, Segmented
from studio.ui.widgets.key_foot import KeyFoot
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.plain_text import plain_tip
from studio.workflows.passed_drafts import PassedDrafts, changed_since, passed_drafts
from studio.workflows.run_changes import StepChanges, approve_drafts, changes_by_step

from .asker import going_on, who_asks
from .calls_before import CallsBefore
from .choice_card import ChoiceCard
from .path_line import PathLine
from .waiting import Known, Waiting, find_waiting, just_before
from .waiting_list import WaitingDelegate, WaitingRows

BY_RUN = 0
LIST = 376
MOST_OF_WIDTH = 0.44
"""The list leaves the rest to the question, however large its words are."""
CHANGES = 320
ANY = 16_777_215
"""The most that Qt lets a widget be."""
MOST_BELOW = 0.4
"""Where what the run changed stands below the question, that scrolls in the rest."""
DIGITS = [*"123456789"]
AGAIN = 2_000
"""Milliseconds between two looks while the page is on screen."""


class NeedsPage(Page):
    """Questions are answered here, or where they are asked."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        t = theme
        self.count = Label(t, "", "ui", "text2", digits=True)
        self._known: dict[str, Known] = {}
        self._found: Sequence[Waiting] = ()
        """What waits, by run."""
        self._model = WaitingRows()
        self._agents: Mapping[str, Agent] = NO_AGENTS
        """Those of the person, which show their tiles."""
        self.list = LetterList(t, tr("Needs you"))
        self.list.setModel(self._model)
        self.list.setItemDelegate(WaitingDelegate(t, self._model))
        self.list.selectionModel().currentChanged.connect(lambda *_: self._show_chosen())
        self.list.doubleClicked.connect(lambda _: self.open_asker())
        self.path = PathLine(t)
        self.to_asker = Button(t, tr("Open"), clicked=self.open_asker)
        self.card = ChoiceCard(t)
        self.card.answered.connect(lambda _, value, whole: self._answer(value, whole))
        self.card.left_out.connect(lambda _: self._leave_out())
        self.nothing = Label(t, tr("Nothing needs you."), "ui", "text2")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.order = Segmented(
            t, [tr("By run"), tr("Oldest")], name=tr("Order"), icons=["workflow", "clock"]
        )
        self.order.chosen.connect(self.show_order)
        heading = Label(t, tr("Needs you"), "heading")
        self._list_head = widget_of(
            row_of(
                [heading, (self.count, 1), self.order],
                *(8, (16, 0, 10, 0)),
                folding=[self.order],
            )
        )
        hints = [
            (("Ctrl+J",), tr("Next")),
            (("J", "K"), tr("Move")),
            (("1", "9"), tr("Choose")),
        ]
        words = tr("Ctrl+J goes to what waits next, J and K move, 1 to 9 choose, Enter answers")
        foot = KeyFoot(t, hints, words)
        self._head = widget_of(row_of([(self.path, 1), self.to_asker], 8, (20, 0, 12, 0)))
        parts = [self._list_head, Hairline(t), (self.list, 1), foot]
        self._left = widget_of(column_of(parts, spacing=0))
        self.asker = FactList(t)
        self.asker.hide()
        self.before = CallsBefore(t)
        self.before.opened.connect(self._open_asker_chat)
        self.changes = ChangesList(t, headed=False)
        self.changes.approved.connect(self._approve_shown)
        self.changes.review_wanted.connect(lambda *of: self.page_wanted.emit("drafts", *of))
        self.changes.look_wanted.connect(lambda tested: self._run(self._look_since(tested)))
        self._looked: tuple[str, int] = ("", 0)
        """The run whose changes are shown, after so many of its events."""
        self._seen = ""
        """The question before which ``before`` shows what was done."""
        self._aside: asyncio.Task[None] | None = None
        card = widget_of(column_of([self.card, self.nothing], 0, (16, 16, 16, 0)))
        body = widget_of(column_of([card, self.asker, self.before, STRETCH], 8, (4, 0, 4, 0)))
        self._aside_head = widget_of(
            row_of([(self.changes.heading, 1), self.changes.count], 8, (16, 0, 16, 0))
        )
        area = scrolled(self.changes)
        area.setAccessibleName(tr("Changes of the run"))
        self.aside = PaintedWidget(t)
        self.aside.ground = "window"
        self._edges = Hairline(t, upright=True), Hairline(t)
        """At the left of what the run changed, and above it."""
        parts = [self._edges[1], self._aside_head, Hairline(t), (area, 1)]
        column_of(parts, spacing=0, on=self.aside)
        for part in (self.aside, *self._edges):
            part.hide()
        area = scrolled(body)
        area.setAccessibleName(tr("Needs you"))
        middle = column_of([self._head, Hairline(t), (area, 1)], spacing=0)
        self._right = row_of([(middle, 1), self._edges[0], self.aside], spacing=0)
        row_of([self._left, Hairline(t, upright=True), (self._right, 1)], spacing=0, on=self)
        self._again = QTimer(self, interval=AGAIN)
        self._again.timeout.connect(self._look)
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        px = self._theme.px
        for head in (self._list_head, self._head, self._aside_head):
            head.setFixedHeight(px(48))
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """What the run changed stands beside the question, or below it where there is no room."""
        px = self._theme.px
        self._left.setFixedWidth(min(px(LIST), round(self.width() * MOST_OF_WIDTH)))
        beside = self.width() >= px(LIST + 420 + CHANGES)
        way = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        self._right.setDirection(way)
        self.aside.setMaximumWidth(px(CHANGES) if beside else ANY)
        self.aside.setMinimumWidth(px(CHANGES) if beside else 0)
        tall = self.changes.sizeHint().height() + px(50)
        tall = min(tall, round(self.height() * MOST_BELOW))
        self.aside.setMaximumHeight(ANY if beside else tall)
        self.aside.setMinimumHeight(0 if beside else tall)
        shown = not self.aside.isHidden()
        for edge, wanted in zip(self._edges, (beside, not beside), strict=True):
            edge.setVisible(shown and wanted)

    def open(self, *target: str) -> None:
        self._outdate()
        self._look()
        self._again.start()
        self.list.setFocus()

    def _outdate(self) -> None:
        """Drafts may be edited and decided elsewhere, of which their run has no event."""
        self._looked = self._looked[0], -1

    def _look(self) -> None:
        if not self.isVisible():
            self._again.stop()
        elif self._work is None or self._work.done():  # a slow reading is left to its end
            self._replace(self._read())

    async def _read(self) -> None:
        self._agents = (await self._engine.services.agent_files.load()).by_name
        self._show(await find_waiting(self._engine, self._known))

    def show_order(self, order: int) -> None:
        """Show what waits by run, or the oldest first."""
        self.order.set_current(order)
        self._show(self._found)

    def _show(self, found: Sequence[Waiting]) -> None:
        self._found, grouped = found, self.order.current == BY_RUN
        rows = found if grouped else sorted(found, key=lambda row: row.since)
        ids = [row.question.id for row in rows]
        self._model.asides = {id: going_on(known) for id, known in self._known.items()}
        before_it = [row.question.id for row in self._model.rows], self._model.grouped
        if (ids, grouped) != before_it:
            self._model.grouped = grouped
            before, at = self.chosen, self.list.currentIndex().row()
            self._model.show(rows)
            kept = before.question.id if before is not None else ""
            at = ids.index(kept) if kept in ids else min(max(at, 0), len(ids) - 1)
            self.list.setCurrentIndex(self._model.index(at))
            self.decided.emit()
        self.count.setText(str(len(rows)) if rows else "")
        self._show_chosen()
        self.card.keep(ids)
        self.list.viewport().update()

    @property
    def rows(self) -> Sequence[Waiting]:
        return self._model.rows

    @property
    def chosen(self) -> Waiting | None:
        return self.list.currentIndex().data(Qt.ItemDataRole.UserRole)

    def _show_chosen(self) -> None:
        row = self.chosen
        self.nothing.setVisible(row is None)
        self.to_asker.setVisible(row is not None)
        self.path.show_path(row.path if row is not None else ())
        if row is None:
            self.card.show_question(None, ())
            self._look_aside()
            return
        shown = self.card.question
        self.card.show_question(
            row.question,
            row.path,
            for_chat=not row.run_id,
            item=row.item,
            # what still waits made room only because the person has chosen another
            wanted=shown is not None and any(one.question.id == shown.id for one in self._found),
        )
        self.card.set_open(row.here)
        self._look_aside()
        words = tr("Open the run") if row.run_id else tr("Open the chat")
        self.to_asker.setAccessibleName(words)
        self.to_asker.setToolTip(plain_tip(words))

    def _look_aside(self) -> None:
        """Show who asks, what came before and what its run changed, if that is not shown."""
        row = self.chosen
        known = self._known.get(row.run_id) if row is not None else None
        self.asker.show_facts(who_asks(row, known, self._agents) if row is not None else [])
        wanted = (known.run.id, known.count) if known is not None else ("", 0)
        question = row.question.id if row is not None else ""
        if (wanted, question) == (self._looked, self._seen):
            return
        if wanted[0] != self._looked[0]:
            self._show_changes([], None)
            self.changes.show_tested(None)
        if question != self._seen:
            self.before.show_calls(())
        self._looked, self._seen = wanted, question
        if self._aside is not None:
            self._aside.cancel()
            self._aside = None
        if row is not None:
            self._aside = self._run(self._read_aside(row, known, self.card.unread))

    async def _read_aside(self, row: Waiting, known: Known | None, unread: bool) -> None:
        """``unread``: the question has come by itself, and what is read now comes later still."""
        self.before.show_calls(await just_before(self._engine, row.asker))
        if known is not None:
            groups = await changes_by_step(self._engine, known.run)
            tested: PassedDrafts | None = None
            if known.workflow is not None:
                tested = await passed_drafts(self._engine, known.run, known.workflow)
            self._show_changes(groups, known)
            self.changes.show_tested(tested)
            if groups and unread:
                self.card.begin_reading()

    async def _look_since(self, tested: PassedDrafts) -> None:
        self.changes.show_since(tested, await changed_since(tested))
        self._place()  # what it says needs room

    def _show_changes(self, groups: Sequence[StepChanges], known: Known | None) -> None:
        tiles = dict[str, tuple[str, str]]()
        if known is not None:
            agents = {**self._agents, **known.agents}
            nodes = {id: node_of(step, agents) for id, step in known.steps.items()}
            tiles = {id: (node.icon, node.hue) for id, node in nodes.items()}
            if (started := known.run.started) is not None:
                words = tr("Drafts of run {number}").format(number=started.number)
                self.changes.heading.setText(words)
        self.changes.show_groups(groups, tiles)
        self.aside.setVisible(bool(groups))
        self._place()

    def _approve_shown(self, drafts: Sequence[tuple[str, str]]) -> None:
        if self.card.unread:  # those of another run stood there a moment ago
            self.changes.let_approve()
        else:
            self._run(self._approve(drafts))

    async def _approve(self, drafts: Sequence[tuple[str, str]]) -> None:
        failed = await approve_drafts(self._engine, drafts)
        self.decided.emit()
        self._looked = ("", 0)
        self._look_aside()
        if failed:
            raise ConfigurationError("\n".join(map(tr_engine, failed)))

    def open_asker(self) -> None:
        """Show the chat or the run that asks."""
        row = self.chosen
        if row is None:
            return
        if row.run_id:
            self.page_wanted.emit("workflows", "run", row.run_id)
        else:
            self.open_wanted.emit(row.session_id)

    def _open_asker_chat(self) -> None:
        """Show the chat of who asks, which has what it did."""
        if (row := self.chosen) is not None and row.asker:
            self.open_wanted.emit(row.asker)

    def _answerable(self) -> Waiting | None:
        """The chosen question if it can be answered here."""
        row = self.chosen
        return row if row is not None and row.here else None

    def _answer(self, value: Json, whole: bool) -> None:
        if (row := self._answerable()) is not None:
            self._show([one for one in self._found if one is not row])
            self._run(self._give(row, value, whole))  # the next look must not cancel it

    def _leave_out(self) -> None:
        if (row := self._answerable()) is not None:
            self._show([one for one in self._found if one is not row])
            self.left_out.emit(row.run_id, row.question.id)

    async def _give(self, row: Waiting, value: Json, whole: bool) -> None:
        if value == "settings" and row.setting:
            self.settings_wanted.emit("budgets", row.setting)
            return
        if row.question.kind == "paused" and not row.run_id:
            if self.chat is not None:
                caps = row.offered if isinstance(row.offered, Caps) else None
                await self.chat.recovery.go_on_elsewhere(row.session_id, caps)
            return
        if row.question.kind == "paused":
            self.pause_answered.emit(row.run_id, str(value), row.offered)
            return
        if row.run_id:
            self.answered.emit(row.run_id, row.question.id, value, whole)
            return
        session = await self._engine.sessions.open(row.session_id)
        if row.question.kind == "permission":
            match value:
                case "once" | "deny" | "session":
                    session.answer_permission(row.question.id, value)
                case _:
                    return
        elif row.question.server is not None:
            session.answer_form(row.question.id, ServerAnswer.of(value))
        else:
            session.answer_question(row.question.id, str(value))

    def _enter(self) -> None:
        """Give the answer that is chosen; without one show who asks."""
        if self.card.unread:
            return
        if self.card.send.isEnabled() and not self.card.isHidden():
            self.card.give()
        else:
            self.open_asker()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """J and K move, digits choose an answer and Enter gives it, Escape leaves."""
        here, rows = self.list.currentIndex().row(), len(self._model.rows)
        key = event.key()
        if key in (Qt.Key.Key_J, Qt.Key.Key_K):
            at = min(max(here + (1 if key == Qt.Key.Key_J else -1), 0), rows - 1)
            self.list.setCurrentIndex(self._model.index(at))
        elif event.text() in DIGITS:
            self.card.choose(int(event.text()))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._enter()
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)
