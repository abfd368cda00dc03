"""The page Needs you: what waits at the left, the chosen question with its answers (W-22)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QStyleOptionViewItem,
)

from studio.agent.engine import Engine
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json
from studio.domain.questions import ServerAnswer
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock
from studio.ui.graph.nodes import NodeState
from studio.ui.inspector.fact_list import Fact, FactList
from studio.ui.pages.page import Page, Run
from studio.ui.pages.workflows.runs.changes_list import ChangesList
from studio.ui.pages.workflows.runs.letter_list import LetterList
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.transcript.model import row_status, verb
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Hairline, Index, Label, Segmented
from studio.ui.widgets.key_foot import KeyFoot
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import paint_ends, paint_text
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground
from studio.workflows.run_changes import approve_drafts, changes_by_step

from .choice_card import ChoiceCard
from .waiting import Known, Waiting, find_waiting, just_before

BY_RUN = 0
LIST = 376
MOST_OF_WIDTH = 0.44
"""The list leaves the rest to the question, however large its words are."""
CHANGES = 320
DIGITS = [*"123456789"]
AGAIN = 2_000
"""Milliseconds between two looks while the page is on screen."""


class _Questions(RowModel):
    def __init__(self) -> None:
        super().__init__(lambda row: joined((title_of(row), row.group, *row.path)))
        self.grouped = True
        self.asides: Mapping[str, str] = {}
        """What stands at the right of a group's heading."""

    def heads(self, at: int) -> bool:
        """Whether a row is the first of its group."""
        return self.grouped and (not at or self.rows[at - 1].group != self.rows[at].group)


def title_of(row: Waiting) -> str:
    if row.question.kind == "unsure":
        return tr("This may have happened")
    return tr_engine(row.question.text)


def going_on(known: Known) -> str:
    """“3 of 7 steps go on”; empty where none does."""
    count = len({one.step for one in known.run.steps.values() if one.state == "running"})
    if not (count and known.steps):
        return ""
    all_ = known.steps
    return tr_plural(
        "{count} of {all} steps goes on", "{count} of {all} steps go on", count, all=all_
    )


def _who_asks(row: Waiting, known: Known | None) -> list[Fact]:
    """The way from the run or the chat down to who asks, as a tree."""
    kinds = "workflow" if row.run_id else "message-square"
    last = len(row.path) - 1
    facts = [Fact(tr("Who asks"), style="heading")]
    for depth, name in enumerate(row.path):
        about, state = _about(known, row, depth) if depth < last else ("", "needs_you")
        age = clock(max(0.0, time.time() - row.since)) if depth == last else ""
        icon = kinds if not depth else "bot" if depth == last else "workflow"
        facts.append(Fact(name, age, icon=icon, state=state, depth=depth, about=about))
    return facts


def _about(known: Known | None, row: Waiting, depth: int) -> tuple[str, NodeState]:
    """What is known of who stands above who asks: the run, or its step with items."""
    if known is None or known.run.started is None:
        return "", ""
    run, started = known.run, known.run.started
    if not depth:
        words = tr("run {number}").format(number=started.number)
        given = [str(value) for value in started.inputs.values() if value not in (None, "")]
        return ", ".join([words, *given])[:60], "running"
    step = next((one for one, asked in run.questions if asked.id == row.question.id), None)
    if depth > 1 or step is None or step.step not in run.items:
        return "", ""
    keys = run.items[step.step]
    over = sum(run.step(step.step, key).over for key in keys)
    return tr("{done} of {all} items").format(done=over, all=len(keys)), "running"


def _before(calls: Sequence[ToolBlock]) -> list[Fact]:
    """What who asks did just before."""
    states: Mapping[str, NodeState] = {"done": "done", "error": "failed"}
    return [Fact(tr("Just before"), style="heading")] * bool(calls) + [
        Fact(
            f"{verb(call)}  {call.target}".rstrip(),
            row_status(call, None),
            icon=call.icon,
            state=states.get(call.state, "stopped"),
        )
        for call in calls
    ]


class _Line(RowDelegate):
    least, around = 52, 14

    def __init__(self, theme: Theme, questions: _Questions) -> None:
        super().__init__(theme)
        self._questions = questions

    @property
    def _head(self) -> int:
        return self._theme.height(30, "label")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        head = self._head if self._questions.heads(index.row()) else 0
        return super().sizeHint(option, index) + QSize(0, head)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        whole = QRectF(option.rect)
        if self._questions.heads(index.row()):
            place = QRectF(t.px(16), whole.y(), whole.width() - t.px(32), self._head)
            aside = self._questions.asides.get(row.run_id, "")
            paint_ends(painter, t, place, (row.group, "label", "text2"), (aside, "small", "text2"))
            whole.setTop(whole.top() + self._head)
        box = whole.adjusted(t.px(8), 1, -t.px(8), -1)
        paint_row_ground(painter, t, option, box)
        top, lower, side = (
            t.metrics("ui_medium").height(),
            t.metrics("small").height(),
            t.px(16),
        )
        y = box.center().y() - (top + lower) / 2
        mark = QRectF(box.x() + t.px(8), y + (top - side) / 2, side, side)
        unsure = row.question.kind == "unsure"
        icon = "triangle-alert" if unsure else "shield-question-mark"
        t.paint_icon(painter, mark, icon, "err" if unsure else "warn")
        left, right = mark.right() + t.px(8), box.right() - t.px(8)
        age = clock(max(0.0, time.time() - row.since))
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        line = QRectF(left, y, right - left, top)
        paint_text(painter, t, line, age, "ui digits", "text2", at_right)
        room = line.width() - t.metrics("ui digits").horizontalAdvance(age) - t.px(14)
        paint_text(painter, t, line, title_of(row), "ui_medium", room=room)
        line = QRectF(left, y + top, right - left, lower)
        words = " › ".join(row.path)
        paint_text(painter, t, line, words, "small", "text2", room=line.width())


class NeedsPage(Page):
    """Questions are answered here, or where they are asked."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        t = theme
        self.count = Label(t, "", "ui", "text2", digits=True)
        self._known: dict[str, Known] = {}
        self._found: Sequence[Waiting] = ()
        """What waits, by run."""
        self._model = _Questions()
        self.list = LetterList(t, tr("Needs you"))
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Line(t, self._model))
        self.list.selectionModel().currentChanged.connect(lambda *_: self._show_chosen())
        self.list.doubleClicked.connect(lambda _: self.open_asker())
        self.path = Label(t, "", "ui", "text2")
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
        self.before = FactList(t)
        for facts in (self.asker, self.before):
            facts.hide()
        self.changes = ChangesList(t)
        self.changes.approved.connect(lambda drafts: self._run(self._approve(drafts)))
        self.changes.review_wanted.connect(lambda *of: self.page_wanted.emit("drafts", *of))
        self._looked: tuple[str, int] = ("", 0)
        """The run whose changes are shown, after so many of its events."""
        self._seen = ""
        """The question before which ``before`` shows what was done."""
        self._aside: asyncio.Task[None] | None = None
        card = widget_of(column_of([self.card, self.nothing], 0, (16, 16, 16, 0)))
        body = widget_of(column_of([card, self.asker, self.before, STRETCH], 8, (4, 0, 4, 0)))
        parts = [(body, 1), (self.changes, 0)]
        self._body = row_of(parts, 0)
        area = scrolled(widget_of(self._body))
        area.setAccessibleName(tr("Needs you"))
        right = column_of([self._head, Hairline(t), (area, 1)], spacing=0)
        row_of([self._left, Hairline(t, upright=True), (right, 1)], spacing=0, on=self)
        self._again = QTimer(self, interval=AGAIN)
        self._again.timeout.connect(self._look)
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        px = self._theme.px
        for head in (self._list_head, self._head):
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
        self._body.setDirection(way)
        self._body.setStretch(0, int(beside))
        self._body.setStretch(1, int(not beside))
        self.changes.setMaximumWidth(px(CHANGES) if beside else 16_777_215)
        self.changes.setMinimumWidth(px(CHANGES) if beside else 0)

    def open(self, *target: str) -> None:
        self._look()
        self._again.start()
        self.list.setFocus()

    def _look(self) -> None:
        if not self.isVisible():
            self._again.stop()
        elif self._work is None or self._work.done():  # a slow reading is left to its end
            self._replace(self._read())

    async def _read(self) -> None:
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
        self.list.viewport().update()

    @property
    def rows(self) -> Sequence[Waiting]:
        return self._model.rows

    @property
    def chosen(self) -> Waiting | None:
        return self.list.currentIndex().data(Qt.ItemDataRole.UserRole)

    def _show_chosen(self) -> None:
        row = self.chosen
        self._look_aside()
        self.nothing.setVisible(row is None)
        self.to_asker.setVisible(row is not None)
        self.path.setText(" › ".join(row.path) if row is not None else "")
        if row is None:
            self.card.show_question(None, ())
            return
        self.card.show_question(row.question, row.path, for_chat=not row.run_id, item=row.item)
        self.card.set_open(row.here)
        words = tr("Open the run") if row.run_id else tr("Open the chat")
        self.to_asker.set_text(words)

    def _look_aside(self) -> None:
        """Show who asks, what came before and what its run changed, if that is not shown."""
        row = self.chosen
        known = self._known.get(row.run_id) if row is not None else None
        self.asker.show_facts(_who_asks(row, known) if row is not None else [])
        wanted = (known.run.id, known.count) if known is not None else ("", 0)
        question = row.question.id if row is not None else ""
        if (wanted, question) == (self._looked, self._seen):
            return
        if wanted[0] != self._looked[0]:
            self.changes.show_groups([])
        if question != self._seen:
            self.before.show_facts([])
        self._looked, self._seen = wanted, question
        if self._aside is not None:
            self._aside.cancel()
            self._aside = None
        if row is not None:
            self._aside = self._run(self._read_aside(row, known))

    async def _read_aside(self, row: Waiting, known: Known | None) -> None:
        self.before.show_facts(_before(await just_before(self._engine, row.asker)))
        if known is not None:
            self.changes.show_groups(await changes_by_step(self._engine, known.run))

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

    def _answer(self, value: Json, whole: bool) -> None:
        row = self.chosen
        if row is not None and row.here:
            self._show([one for one in self._found if one is not row])
            self._run(self._give(row, value, whole))  # the next look must not cancel it

    def _leave_out(self) -> None:
        row = self.chosen
        if row is not None and row.here:
            self._show([one for one in self._found if one is not row])
            self.left_out.emit(row.run_id, row.question.id)

    async def _give(self, row: Waiting, value: Json, whole: bool) -> None:
        if row.question.kind == "paused":
            self.pause_answered.emit(row.run_id, str(value))
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
