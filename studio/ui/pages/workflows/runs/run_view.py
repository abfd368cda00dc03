"""Run view: a run with graph, timeline, event log and inspector, which choose together (W-64)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QMessageBox, QPlainTextEdit

from studio.agent.engine import Engine
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.jsonvalue import Json
from studio.domain.run_events import (
    BreakpointCleared,
    BreakpointSet,
    ResultEdited,
    StepEdited,
)
from studio.domain.runs import Run
from studio.domain.sessions import Caller
from studio.storage.runs import RunInfo
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars
from studio.ui.forms.text_area import QWIDGETSIZE_MAX
from studio.ui.graph.nodes import Graph
from studio.ui.graph.pane import GraphPane
from studio.ui.inspector.board_list import BoardFacts, read_board
from studio.ui.pages.files.notice import Notice
from studio.ui.pages.workflows.nested_graph import top_of
from studio.ui.pages.workflows.run_graph import run_id_of
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets import (
    Hairline,
    Label,
    fill_menu,
    message_box,
)
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.painting import PaintedWidget
from studio.workflows.cap_offers import CapOffer
from studio.workflows.fork import ForkRequest
from studio.workflows.passed_drafts import PassedDrafts, changed_since, passed_drafts
from studio.workflows.run_changes import approve_drafts, changes_by_step
from studio.workflows.runner import Runner

from .compare_view import CompareView
from .lanes import Key
from .live_runs import LiveRuns
from .lower_panes import HEIGHTS, ITEMS, LowerPanes
from .run_head import HEIGHT, RunHead
from .run_inspector import HISTORY, RUN, STEP, RunInspector
from .run_record import RUN_STATES, RunRecord
from .runs_below import RunsBelow
from .sample_words import samples_asked
from .step_facts import facts_inside, facts_of
from .step_menu import menu_of

if TYPE_CHECKING:
    from studio.ui.pages.page import Run as Start

INSPECTOR = 320
LEAST = 560
"""Pixels that the graph has at least beside the inspector; else that lies over it."""
MOST_RUNS = 1_000
"""Runs that are listed."""


class _Column(PaintedWidget):
    ground = "surface"


class RunView(PaintedWidget):
    """Shows one run, whether this window carries it out, another program, or nobody any more."""

    ground = "surface"
    left = Signal(str)
    """The person wants to see the file of the run, by its path."""
    chat_wanted = Signal(str)
    review_wanted = Signal(str, str)
    """The person wants to look at the drafts of a run: a session, and one of them."""
    decided = Signal()
    """Drafts were approved."""

    def __init__(self, theme: Theme, engine: Engine, run: Start, live: LiveRuns) -> None:
        super().__init__(theme)
        self._engine, self._run, self._live = engine, run, live
        self.record: RunRecord | None = None
        self.source = ""
        """The file whose runs are listed."""
        self.key: Key = ("", "")
        """The step and item that are chosen."""
        self.below = RunsBelow(live.runs)
        """The runs of its steps, and which are unfolded."""
        self._asked_fork: ForkRequest | None = None
        """What would be run again, as the person was told."""
        self._info: RunInfo | None = None
        self._infos: list[RunInfo] = []
        self._offer: CapOffer | None = None
        """The cap of a step or of a run below that the run is paused at, and that can be raised."""
        self._offered_at: tuple[str, int] = ("", 0)
        """The run of which that was looked at last, after so many events."""
        self._wanted = 0
        """Counts which runs were wanted: the last one is shown, however long others take."""
        self._reading = self._asks_cluster = self._reads_board = False
        self._read_again = self._board_again = False
        self._inspector_wanted = True
        self._sampled = ""
        """The question after a sample for which its table was shown."""
        self._looked: object = None
        """What the run had changed when that was looked at last."""
        self._changing: asyncio.Task[None] | None = None
        """The look at what the drafts of the run have become elsewhere."""
        self._compares = False
        """Whether two runs are shown in place of this one."""
        self._make_parts()
        self._ticks = QTimer(self, interval=1000)
        self._ticks.timeout.connect(self._tick)
        live.told.connect(self._told)
        theme.changed.connect(self._place)
        self._place()

    def _make_parts(self) -> None:
        t = self.theme
        self.notice = Notice(t)
        self.head = head = RunHead(t)
        head.back.clicked.connect(self.leave)
        head.file.clicked.connect(lambda: self.left.emit(self.source))
        head.answer.clicked.connect(self._to_answer)
        head.pause.clicked.connect(self.pause_or_go_on)
        head.stop.clicked.connect(self.stop_run)
        head.cancel.clicked.connect(self.stop_run)
        head.which.chosen.connect(lambda at: self.pane.show_list(at == 1))
        head.side.clicked.connect(self._toggle_inspector)
        self.column = _Column(t, self)
        self.pane = GraphPane(t)
        self.pane.chosen.connect(lambda id: self.choose(id, ""))
        self.pane.opened.connect(self._opened)
        self.pane.fold_wanted.connect(lambda path: self._do(self._fold(path)))
        self.pane.menu_wanted.connect(self.show_menu)
        self.pane.turned.connect(lambda: head.which.set_current(int(self.pane.lists)))
        self.lower_panes = LowerPanes(t, self._engine.database, self._run, self.below)
        self.lower_panes.chosen.connect(self.choose)
        self.lower_panes.opened.connect(self._opened)
        self.lower_panes.turned.connect(self._place)
        self.lower_panes.turned.connect(self._show_chosen)
        sample = self.lower_panes.items.sample
        sample.answered.connect(lambda *given: self._do(self._answer(*given, whole=False)))
        sample.file_wanted.connect(lambda: self.left.emit(self.source))
        self.lower_panes.retry_wanted.connect(lambda step: self._command(self._retry_items, step))
        self.lower_panes.exported.connect(
            lambda name: self.notice.show_text(tr("The results are in {name}.").format(name=name))
        )
        self.empty = Label(t, tr("This workflow has not run yet."), "ui", "text2")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.hide()
        column_of(
            [
                *(head, Hairline(t), self.notice, self.empty, (self.pane, 1)),
                *(Hairline(t), (self.lower_panes, 1)),
            ],
            spacing=0,
            on=self.column,
        )
        self.inspector = RunInspector(t, self)
        self.inspector.tabs.chosen.connect(lambda _: self._show_chosen())
        run, step, history = self.inspector.run, self.inspector.step, self.inspector.history
        live, does = self._live, self._command
        run.card.answered.connect(self._answered)
        run.card.left_out.connect(lambda question: does(live.leave_out, question))
        run.raised.connect(lambda *raised: does(live.raise_caps, *raised))
        run.mission.steered.connect(lambda text: does(live.steer, text))
        run.mission.chat_wanted.connect(lambda: does(self._take_over))
        run.debugged.connect(self._debug)
        run.changes.approved.connect(lambda drafts: self._do(self._approve(drafts)))
        run.changes.review_wanted.connect(self.review_wanted)
        run.changes.look_wanted.connect(lambda tested: self._do(self._look_since(tested)))
        step.chat_wanted.connect(self.chat_wanted)
        step.run_wanted.connect(lambda id: self._do(self.show_run(id)))
        step.item_chosen.connect(self.choose)
        step.hold_wanted.connect(self.toggle_hold)
        step.continued.connect(self.go_on)
        step.stepped.connect(lambda: self.go_on(one=True))
        step.result_given.connect(self._give_result)
        step.prompt_given.connect(lambda *prompt: self._debug(StepEdited(*prompt)))
        step.again_wanted.connect(lambda *at: does(self._run_again, *at))
        history.chosen.connect(lambda id: self._do(self.show_run(id)))
        history.compare_wanted.connect(self.compare_runs)
        history.delete_wanted.connect(self._ask_to_delete)
        history.wanted.connect(lambda: self._do(self._list_runs()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    @property
    def roomy(self) -> bool:
        """Whether the inspector has room beside the graph."""
        return self.width() - self.theme.px(INSPECTOR) >= self.theme.px(LEAST)

    def _place(self) -> None:
        px, width, height = self.theme.px, self.width(), self.height()
        side = min(px(INSPECTOR), width - px(40))
        shown = self._inspector_wanted
        put(self.column, 0, 0, width - side if shown and self.roomy else width, height)
        top = 0 if self.roomy else px(HEIGHT) + 1
        put(self.inspector, width - side, top, side, height - top)
        self.inspector.setVisible(shown and not self._compares)
        self.inspector.raise_()
        self.head.side.setChecked(shown)
        items = self.lower_panes.pane == ITEMS and self.record is not None
        self.pane.setVisible(not items and self.record is not None)
        self.head.which.setVisible(not items)
        wanted = px(HEIGHTS[self.lower_panes.pane])
        most = max(px(120), min(wanted, round(height * 0.52)))
        self.lower_panes.setMinimumHeight(px(120) if items else most)
        self.lower_panes.setMaximumHeight(QWIDGETSIZE_MAX if items else most)
        self._show_answer_button()
        if self._compares:
            put(self.compare, 0, 0, width, height)

    def _toggle_inspector(self) -> None:
        self.show_inspector(not self._inspector_wanted)

    def show_inspector(self, wanted: bool) -> None:
        self._inspector_wanted = wanted
        self._place()
        self._show_chosen()

    def show_tab(self, page: int) -> None:
        """Show a page of the inspector: ``RUN``, ``STEP`` or ``HISTORY``."""
        self.inspector.show_page(page)
        self._show_chosen()

    # Which run

    def show_run(self, run_id: str) -> Coroutine[Any, Any, None]:
        """Show a run as it is, or was at its end, unless another is wanted meanwhile (W-66)."""
        self._show_compare(False)
        self._wanted += 1
        return self._show_run(run_id, self._wanted)

    async def _show_run(self, run_id: str, wanted: int) -> None:
        events = await self._live.runs.store.events(run_id)
        run = Run(events)
        workflow = await self._live.runs.workflow_of(run)
        assert run.started is not None
        folder = run.started.folder
        agents = await self._engine.agents(Path(folder) if folder else None)
        if wanted != self._wanted:
            return
        self.record = record = RunRecord(workflow, agents.by_name)
        self._offer, self._offered_at = None, ("", 0)
        record.apply(events)
        self.key, self.source = ("", ""), run.started.source or self.source
        self.empty.hide()
        self.lower_panes.show()
        self._place()  # the graph, unless the items are shown in its place
        self.below.show(record)
        self.pane.show_graph(Graph())
        self.lower_panes.show_record(record)
        self._place()  # the graph, unless the items of the same run stay
        self.head.show_record(record, below=self._is_below)
        self.notice.show_text("")
        if not self.roomy and self.inspector.page != HISTORY:
            self._inspector_wanted = False
            self._place()
        self._show()
        self.inspector.run.show_cluster(None)
        self.inspector.run.board.show_board(BoardFacts())
        self.pane.view.show_from_top()
        if (stopped := run.stopped) is not None:
            self.choose(stopped.step, stopped.item)
            self.show_tab(STEP)
        await self._read()  # what happened while the workflow was read
        await self._list_runs()

    def show_history(self, source: str) -> None:
        """Show the newest run of a file, with all of them beside it."""
        self.source = source
        self._show_compare(False)
        self.show_tab(HISTORY)
        self.show_inspector(True)
        self.inspector.history.list.setFocus()
        self._wanted += 1
        self._do(self._show_newest(source, self._wanted))

    async def _show_newest(self, source: str, wanted: int) -> None:
        runs = await self._live.runs.store.list(1, source=source)
        if runs:
            await self._show_run(runs[0].id, wanted)
            return
        self.record, self._info = None, None
        self.head.show_none(source)
        self.pane.hide()
        self.lower_panes.hide()
        self.empty.show()
        self._show_buttons()
        await self._list_runs()

    async def _list_runs(self) -> None:
        history = self.inspector.history
        source = "" if history.of_all else self.source
        self._infos = await self._live.runs.store.list(MOST_RUNS, source=source)
        shown = self.record.run.id if self.record is not None else ""
        self._info = next((info for info in self._infos if info.id == shown), self._info)
        history.show_runs(self._infos, shown)
        self._show_buttons()

    def _ask_to_delete(self) -> None:
        if self.record is None or self._refuses():
            return
        run_id, words = self.record.run.id, tr("Delete {title}?").format(title=self.record.title)
        more = tr("Its chats and what it recorded are deleted, too. This cannot be undone.")
        box = message_box(self, tr("Delete run"), words, more)
        yes = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._do(self._delete(run_id)))
        box.open()

    async def _delete(self, run_id: str) -> None:
        """Delete a run and show the newest one that is left."""
        await self._live.delete(run_id)
        self._wanted += 1
        await self._show_newest(self.source, self._wanted)

    @cached_property
    def compare(self) -> CompareView:
        """Two runs side by side, in place of this one; made when it is first wanted (W-31)."""
        view = CompareView(self.theme, self._engine, self._run, self._live)
        view.setParent(self)
        view.left.connect(self._leave_compare)
        view.chat_wanted.connect(self.chat_wanted)
        view.again_wanted.connect(lambda *at: self._do(self._run_from(*at)))
        return view

    def compare_runs(self) -> None:
        """Compare the run with the one before it, or the oldest one with the next."""
        ids = [info.id for info in self._infos]
        if self.record is None or len(ids) < 2 or self.record.run.id not in ids:
            return
        at = ids.index(self.record.run.id)
        older = min(at + 1, len(ids) - 1)
        self._show_compare(True)
        self.compare.show_runs(self._infos, ids[older], ids[min(at, older - 1)])

    def _show_compare(self, wanted: bool) -> None:
        """Show two runs in place of this one, or this one again; keys reach what is shown."""
        if wanted != self._compares:
            self._compares = wanted
            self.compare.setVisible(wanted)
            self.column.setVisible(not wanted)
            self._place()

    def _leave_compare(self) -> None:
        self._show_compare(False)
        self.inspector.history.list.setFocus()

    async def _run_from(self, run_id: str, step: str, item: str) -> None:
        """Show a step of a run, from where it can be run again."""
        await self.show_run(run_id)
        self.choose(step, item)
        self.show_tab(STEP)
        self.inspector.step.again.setFocus()

    def leave(self) -> None:
        """Go back to the run that this one is a step of, or to the file."""
        if self._is_below:
            self._do(self._show_above())
        else:
            self.left.emit(self.source)

    async def _show_above(self) -> None:
        assert self.record is not None and self.record.run.started is not None
        started = self.record.run.started
        await self.show_run(started.parent)
        self.choose(started.parent_step)

    @property
    def _is_below(self) -> bool:
        """Whether the run is a step of another one, which carries it out."""
        run = self.record.run if self.record is not None else None
        return run is not None and run.started is not None and bool(run.started.parent)

    def _refuses(self) -> bool:
        """Whether nothing can be done to the run, because it is a step of another; says so."""
        if self._is_below:
            words = tr("This run is a step of another one. Go back to that to pause or change it.")
            self.notice.show_text(words)
        return self._is_below

    # What happens

    def _told(self, run_id: str) -> None:
        if self.record is not None and self.record.run.id == run_id:
            self._do(self._read())

    def _tick(self) -> None:
        """Clocks go on; what another program carries out is read from the disk."""
        record = self.record
        if record is None or record.run.end is not None:
            self._ticks.stop()
            return
        if self._runner is None or self.below.unfolded:
            self._do(self._read())
        if not self._asks_cluster:
            self._do(self._read_cluster(record))
        self._look_at_board()
        if next(record.run.questions, None) is not None:
            self.pane.show_graph(self.below.graph())  # how long it waits
        if record.run.paused is None:
            self.inspector.run.state.show_facts(record.state_facts())
            self.lower_panes.tick()

    async def _read(self) -> None:
        """Read what is stored since; one reader at a time."""
        if self._reading:
            self._read_again = True
            return
        self._reading = True
        try:
            while (record := self.record) is not None:
                self._read_again = False
                new = await self._live.runs.store.events(record.run.id, record.count)
                before = record.run.state, record.run.stopped
                if record is self.record:
                    record.apply(new)
                below = await self.below.read()
                below |= await self._read_offer(record)
                if record is self.record and (new or below):
                    self._show()
                    self._speak(before[0])
                    if record.run.stopped is not None and record.run.stopped != before[1]:
                        self.choose(record.run.stopped.step, record.run.stopped.item)
                        self.show_tab(STEP)
                if not self._read_again:
                    await self._read_changes()
                if not self._read_again:  # nothing came during that either
                    break
        finally:
            self._reading = False
        if self.inspector.page == HISTORY or (self.record and self.record.run.end is not None):
            await self._list_runs()
        elif self.record is not None and self._runner is None:  # others may carry it out
            shown = self.record.run.id
            self._info = next(iter(await self._live.runs.store.list(1, shown)), None)
            self._show_buttons()

    async def _read_offer(self, record: RunRecord) -> bool:
        """Look what can be raised where the run is paused at a cap; whether that is another.

        A cap of the run itself has a form of its own. A step of another run is raised there.
        """
        wanted = record.run.id, record.count
        if wanted == self._offered_at:
            return False
        offer: CapOffer | None = None
        if record.run.paused_at not in ("", "mission") and not (
            record.run.started and record.run.started.parent
        ):
            offer = await self._live.runs.cap_offer(record.run)
        if offer is not None and not (offer.raised.step or offer.raised.run_id):
            offer = None
        if record is not self.record:  # another run is shown meanwhile
            return False
        before, self._offer, self._offered_at = self._offer, offer, wanted
        return offer != before

    async def _read_cluster(self, record: RunRecord) -> None:
        """Show the workers where another program carries the run out with a cluster."""
        self._asks_cluster = True
        try:
            elsewhere = self._runner is None and self._info is not None and self._info.live
            status = await self._live.cluster(record.run.id) if elsewhere else None
        finally:
            self._asks_cluster = False
        if record is self.record:
            self.inspector.run.show_cluster(status if record.run.end is None else None)

    def _look_at_board(self) -> None:
        """Show what the agents of the run share now, where that is seen."""
        if self._inspector_wanted and self.inspector.page == RUN:
            self._do(self._read_board())

    async def _read_board(self) -> None:
        """Read it once more if that was wanted meanwhile, perhaps of another run."""
        self._board_again = True
        if self._reads_board:
            return
        boards, self._reads_board = self._engine.services.boards, True
        try:
            while self._board_again and (record := self.record) is not None:
                self._board_again = False
                found = await read_board(boards, Caller("run", record.run.id))
                if record is self.record:
                    self.inspector.run.board.show_board(found)
        finally:
            self._reads_board = False

    def _speak(self, before: str) -> None:
        assert self.record is not None
        state = self.record.run.state
        if state != before and state != "running":
            words = tr("{name}: {state}")
            words = words.format(name=self.record.title, state=tr(RUN_STATES[state][0]))
            announce(self, words, urgent=state in ("needs_you", "unsure"))

    # Showing

    def _show(self) -> None:
        record = self.record
        if record is None:
            return
        self.pane.show_graph(self.below.graph())
        self.lower_panes.grown()
        self._show_sample(record)
        self._show_buttons()
        self._show_chosen()
        if record.run.end is not None:
            self.inspector.run.show_cluster(None)
        elif self.isVisible():
            self._ticks.start()

    def _show_sample(self, record: RunRecord) -> None:
        """Turn to the items when it is asked after their sample whether to go on (W-55)."""
        id = next((one.id for one in samples_asked(record.run).values()), "")
        if id and id != self._sampled:
            focus = self.focusWidget()
            free = self.isVisible() and not isinstance(focus, QLineEdit | QPlainTextEdit)
            self.lower_panes.show_pane(ITEMS)
            if not self.roomy:
                self.show_inspector(False)
            if free and self.isAncestorOf(QApplication.focusWidget() or self):
                self.lower_panes.items.sample.focus()
        self._sampled = id

    @property
    def _asks_below(self) -> bool:
        """Whether the question after a sample is seen above the items."""
        return self.lower_panes.pane == ITEMS

    def _show_buttons(self) -> None:
        record, info = self.record, self._info
        open_ = record is not None and record.run.end is None and not self._is_below
        here = self._runner is not None
        elsewhere = open_ and not here and info is not None and info.live
        run = record.run if record is not None and open_ else None
        self.head.show_buttons(run, here=here, elsewhere=elsewhere)
        over = record is not None and info is not None and not info.live
        self.inspector.history.delete.setEnabled(over)
        self._show_answer_button()

    def _show_answer_button(self) -> None:
        asks = self.record is not None and next(self.record.run.questions, None) is not None
        asks = asks or self._offer is not None
        over = self.record is None or self.record.run.end is not None
        seen = self._inspector_wanted or (self._asks_below and self._sampled)
        self.head.answer.setVisible(asks and not over and not seen)

    def _look_at_changes(self) -> None:
        """Look again: drafts are edited and decided elsewhere, of which the run has no event."""
        if self._changing is not None:
            self._changing.cancel()
        self._looked = None
        self._changing = self._run(self._read_changes())

    async def _read_changes(self) -> None:
        """Show what the steps changed, where that can be another than what is shown."""
        record = self.record
        if record is None:
            return
        run = record.run
        wanted = (run.id, run.drafts, *run.drafted.items(), *run.changes.values())
        if run.end is None and wanted == self._looked:
            return
        self._looked = wanted
        groups = await changes_by_step(self._engine, run)
        tested = await passed_drafts(self._engine, run, record.workflow)
        if record is self.record and self._looked is wanted:  # no later look is under way
            self.inspector.run.changes.show_groups(groups)
            self.inspector.run.changes.show_tested(tested)

    async def _look_since(self, tested: PassedDrafts) -> None:
        self.inspector.run.changes.show_since(tested, await changed_since(tested))

    async def _approve(self, drafts: Sequence[tuple[str, str]]) -> None:
        failed = await approve_drafts(self._engine, drafts)
        self.decided.emit()
        self._looked = None  # of the run itself nothing may have changed
        await self._read_changes()
        if failed:
            raise ConfigurationError("\n".join(map(tr_engine, failed)))

    @property
    def _runner(self) -> Runner | None:
        return self._live.runner(self.record.run.id) if self.record is not None else None

    def _show_chosen(self) -> None:
        """Show what is chosen in the inspector's page that is seen."""
        record = self.record
        if record is None or not self._inspector_wanted:
            return
        step, item = self.key
        if self.inspector.page == RUN:
            self._look_at_board()
            run_tab = self.inspector.run
            top = run_id_of(top_of(step))
            run_tab.show_record(record, top, self._offer, sample=not self._asks_below)
            run_tab.show_caps(record)
            run_tab.choose_step(step if record.step(step) else record.workflow.steps[0].id)
        elif self.inspector.page == STEP:
            runner = self._runner
            prompt = record.prompt
            if runner is not None:
                prompt = partial(runner.plan.values.prompt, runner.run)
            inside = self.below.of(step) if "/" in step else None
            facts = (
                facts_inside(*inside, step, item)
                if inside
                else facts_of(record, step, item, prompt)
            )
            can_hold = facts.can_hold and not self._is_below
            self.inspector.step.show_step(replace(facts, can_hold=can_hold))

    def choose(self, step: str, item: str = "") -> None:
        """Choose a step or item in graph, timeline, log and inspector at once (W-64)."""
        if (step, item) == self.key:
            return
        self.key = (step, item)
        if self.below.pick(step, item):
            self._do(self._read_below())
        self.pane.choose(step)
        self.lower_panes.choose(step, item)
        if step and self.inspector.page == HISTORY:
            self.show_tab(STEP)
        self._show_chosen()

    def _opened(self, step: str, item: str = "") -> None:
        """Go on to the step's page, or to the table of its items (W-62)."""
        self.choose(step, item)
        if self.record is not None and step in self.record.run.tallies:
            self.lower_panes.show_pane(ITEMS)
            self.lower_panes.items.list.setFocus()
            return
        self.show_tab(STEP)
        self.show_inspector(True)
        facts = self.inspector.step.shown
        if facts.items:
            self.inspector.step.items.setFocus()
        elif facts.session_id:
            self.inspector.step.chat.setFocus()
        elif facts.run_id:
            self.inspector.step.below.setFocus()

    def _to_answer(self) -> None:
        if self._sampled:
            self.lower_panes.show_pane(ITEMS)
            self.lower_panes.items.sample.focus()
            return
        self.show_tab(RUN)
        self.show_inspector(True)

    # What the person does

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._run(work)

    def _command(self, does: Callable[..., Coroutine[Any, Any, None]], *what: Any) -> None:
        """Do something to the run that is shown, by its id, unless it is a step of another one."""
        if self.record is not None and not self._refuses():
            self._do(does(self.record.run.id, *what))

    def pause_or_go_on(self) -> None:
        if self.record is not None and self.record.run.end is None:
            goes = self._runner is not None and self.record.run.state != "paused"
            self._command(self._live.pause if goes else self._live.resume)

    def go_on(self, one: bool = False) -> None:
        """Let a paused run go on; with ``one`` until the next step."""
        if self.record is not None and self.record.run.state == "paused":
            self._command(partial(self._live.resume, one=one))

    def stop_run(self) -> None:
        if self.record is not None and self.record.run.end is None:
            self._command(self._live.stop)

    def _answered(self, question: str, answer: Json, whole: bool) -> None:
        """Do what the card is answered with: that of a cap is about the run itself."""
        asked, offer = self.inspector.run.card.question, self._offer
        if asked is None or asked.kind != "paused":
            self._do(self._answer(question, answer, whole))
        elif answer == "stop":
            self.stop_run()
        elif offer is not None:
            self._command(self._live.raise_reached, offer.raised)

    async def _answer(self, question: str, answer: Json, whole: bool) -> None:
        """Answer a question of the run, at the one that carries it out."""
        if self.record is None:
            return
        run = self.record.run
        while run.started is not None and run.started.parent:
            run = await self._live.runs.read(run.started.parent)
        await self._live.answer(run.id, question, answer, whole=whole)

    async def _take_over(self, run_id: str) -> None:
        self.chat_wanted.emit(await self._live.take_over(run_id))

    async def _retry_items(self, run_id: str, step: str) -> None:
        """Do failed items once more: in this run, or in a new one where it is over."""
        assert self.record is not None
        run = self.record.run
        if run.end is None and not run.step(step).over:
            await self._live.retry_failed(run_id, step)
        else:
            plan = await self._live.runs.plan_fork(ForkRequest(run_id, step))
            await self.show_run(await self._live.fork(plan))
            self.lower_panes.show_pane(ITEMS)  # its items are being queued
        self.lower_panes.read_items()

    async def _run_again(self, run_id: str, step: str, item: str, prompt: str | None) -> None:
        """Say what would run again and what it cost, and the second time begin it (W-30)."""
        edits = (StepEdited(step, prompt),) if prompt is not None else ()
        request = ForkRequest(run_id, step, item, edits)
        tab = self.inspector.step
        try:
            plan = await self._live.runs.plan_fork(request)
            if request == self._asked_fork:
                self._asked_fork = None
                await self.show_run(await self._live.fork(plan))
                self.show_tab(RUN)
                return
        except StudioError as error:
            tab.show_fork("")
            self._asked_fork = None
            self.notice.show_text(tr_engine(str(error)), warns=True)
            return
        self._asked_fork = request
        names = ", ".join(one.step.label for one in plan.to_run)
        words = tr("These run again: {steps}. Last time they cost {cost}. All else is taken over.")
        tab.show_fork(words.format(steps=names, cost=dollars(plan.dollars)))

    def run_again(self) -> None:
        """Run again from the chosen step, which is shown: not from one that was before."""
        self.show_tab(STEP)
        self.show_inspector(True)
        self.inspector.step.run_again()

    def _debug(self, event: BreakpointSet | BreakpointCleared | StepEdited) -> None:
        if self.record is not None and self.record.run.end is None:
            self._command(self._try_debug, event)

    async def _try_debug(
        self, run_id: str, event: BreakpointSet | BreakpointCleared | StepEdited
    ) -> None:
        wrong = ""
        try:
            await self._live.debug(run_id, event)
        except StudioError as error:
            wrong = tr_engine(str(error))
        self.inspector.run.show_wrong(wrong)

    def _give_result(self, step: str, item: str, text: str) -> None:
        if self.record is not None and self.record.run.paused is not None:
            outputs = self.record.run.step(step, item).outputs
            self._command(self._live.debug, ResultEdited(step, item, text, outputs))

    async def _fold(self, path: str) -> None:
        """Show what is inside of a step that is a workflow, or not any more."""
        self.below.toggle(path)
        await self._read_below()
        if self.key[0].startswith(f"{path}/"):
            self.choose(path)

    async def _read_below(self) -> None:
        await self.below.read()
        self._show()

    def _is_inside(self) -> bool:
        """Whether the chosen step is inside of another one; says that it cannot be changed."""
        if inside := "/" in self.key[0]:
            words = tr("This step is inside of another one. Pause or mark that one.")
            self.notice.show_text(words)
        return inside

    def toggle_hold(self) -> None:
        """Pause the chosen step alone, or let it go on."""
        if self._is_inside():
            return
        if self.record is not None and self.record.can_hold(self.key[0]):
            self._command(self._live.hold, self.key[0])

    def show_menu(self, id: str, place: QPoint) -> None:
        """All that can be done with a step."""
        self.choose(id)
        found, node = self.below.of(id), self.pane.view.node(id)
        if found is None or found[0].step(found[1]) is None or node is None:
            return
        record, step = found
        items = menu_of(record, step, node, own=record is self.record)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self.theme, items, self._picked)
        menu.popup(place)

    def _picked(self, key: str) -> None:
        if (found := self.below.of(self.key[0])) is None:
            return
        record, step = found
        match key:
            case "hold":
                self.toggle_hold()
            case "stop":
                self.toggle_breakpoint()
            case "fold":
                self.pane.ask_fold()
            case "below":
                self._do(self.show_run(record.run.step(step).run_id))
            case "again":
                self.run_again()
            case _:
                self.chat_wanted.emit(record.run.step(step).session_id)

    def toggle_breakpoint(self) -> None:
        """Set or clear the breakpoint before the chosen step."""
        record, step = self.record, self.key[0]
        if self._is_inside() or record is None or record.step(step) is None:
            return
        marked = (step, "before") in record.run.breakpoints
        self._debug(BreakpointCleared(step) if marked else BreakpointSet(step))

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        focus = self.focusWidget()
        typing = isinstance(focus, QLineEdit | QPlainTextEdit) and not focus.isReadOnly()
        if event.key() == Qt.Key.Key_Escape:
            if not self.roomy and self._inspector_wanted:
                self.show_inspector(False)
            else:
                self.leave()
            return
        does = {
            "P": self.pause_or_go_on,
            "B": self.toggle_breakpoint,
            "H": self.toggle_hold,
            ".": lambda: self.go_on(one=True),
            "C": self.go_on,
            "R": self.run_again,
            "D": self.compare_runs,
            "F": self.pane.ask_fold,
            "T": self.lower_panes.show_next,
        }.get(event.text().upper())
        held = event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
        if does is None or typing or held:
            super().keyPressEvent(event)
        else:
            does()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.record is None:
            return
        self._look_at_changes()
        if self.record.run.end is None:
            self._ticks.start()
            self._do(self._read())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ticks.stop()
