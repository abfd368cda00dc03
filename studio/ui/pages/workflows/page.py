"""The Workflows page: files, and the chosen one as text and graph, which are one (W-61)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.agent.agent_files.edit import set_value
from studio.agent.agent_files.library import AgentLibrary
from studio.agent.engine import Engine
from studio.domain.agents import Agent
from studio.domain.errors import StudioError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.run_events import BreakpointSet, CapRaised
from studio.storage.triggers import TriggerMark
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars
from studio.ui.forms.text_area import QWIDGETSIZE_MAX
from studio.ui.graph.nodes import Graph
from studio.ui.graph.pane import GraphPane
from studio.ui.pages.files.document import FileDocument
from studio.ui.pages.files.model_items import model_items, model_names
from studio.ui.pages.files.page import FilesPage, FileWords
from studio.ui.pages.files.row import FileRow
from studio.ui.pages.page import Run
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import (
    Button,
    Hairline,
    Segmented,
)
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.workflows.evals.eval_file import find_evals
from studio.workflows.reader import WorkflowText, digest_of, read_workflow_text
from studio.workflows.trigger_clock import Triggers
from studio.workflows.workflow_check import KnownNames, check_workflow
from studio.workflows.workflow_files import find_workflows
from studio.workflows.workflow_keys import json_schema
from studio.workflows.workflow_runs import RunOptions

from .canvas_edits import CanvasEdits
from .evals.eval_facts import eval_rows
from .evals.eval_view import EvalView
from .files_below import FilesBelow
from .nested_graph import nested, top_of
from .run_form import RunForm
from .runs.live_runs import LiveRuns
from .runs.run_inspector import RUN
from .runs.run_view import RunView
from .step_properties import StepProperties, line_numbers
from .trigger_strip import TriggerStrip
from .workflow_graph import graph_of, place_of, step_at, steps_of
from .workflow_rows import rows_of

LIST = 220
LEAST = 420
"""Pixels that text and graph have each at least, where both are shown."""
PROPERTIES = 340
"""Pixels that the properties of the chosen step have below the graph."""
TEXT_SHARE, GRAPH_SHARE = 9, 11
"""How text and graph share what there is."""
TEXT, BOTH, CANVAS = range(3)
BLANK = """\
---
name: {name}
description: What it does, in a line
inputs:
  about: {{type: string, default: this folder, description: What to look at}}
budget: {{dollars: 1.00}}
steps:
  - id: look
    agent: Researcher
  - id: report
    needs: look
    agent: Writer
---
## look

Look at ${{{{ inputs.about }}}}, and note what is important.

## report

Write a short report of these notes:

${{{{ steps.look.text }}}}
"""


class WorkflowsPage(FilesPage[WorkflowText]):
    """The text is the truth: the graph is drawn from it, and a step is chosen in both at once."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        library = AgentLibrary(engine.paths.workflows, engine.paths.data)
        words = FileWords(
            tr("Workflows"),
            tr("New workflow"),
            tr("All workflows"),
            tr("Text of the workflow’s file"),
        )
        super().__init__(theme, engine, run, library, WorkflowText, words)
        self._agents: Mapping[str, Agent] = {}
        self.live = LiveRuns(engine, run, self)
        self.live.told.connect(self._notify)
        self._triggers = Triggers(engine)
        self._switching = asyncio.Lock()
        """Held while triggers are switched: the last click counts."""
        self._told: dict[str, str] = {}
        """The states of runs that the person was told of last."""
        self.stops: dict[Path, set[str]] = {}
        """The steps before which runs of a file stop, as the person marked them in its graph."""
        self._below = FilesBelow(self.live.runs.files)
        self._inside: dict[Path, Mapping[str, WorkflowText]] = {}
        """The workflows that steps of a file run, by the paths of these steps."""
        self.unfolded: dict[Path, set[str]] = {}
        """The steps of a file that show these in the graph."""
        self._awaited = ""
        """A step that was made in the graph, and is chosen when it is drawn."""
        self._view = BOTH
        """What the person wants to see; where there is no room for both, the text."""
        self._list_edge = Hairline(theme, upright=True, parent=self)
        self._make_centre()
        self._evals: frozenset[Path] = frozenset()
        """The files of the list that are evals."""
        self.eval_view = EvalView(theme, engine, self.live, run, self._run_folder)
        self.eval_view.run_wanted.connect(lambda id: self._run(self.show_run(id)))
        self.eval_view.chat_wanted.connect(self.open_wanted)
        self.eval_view.setParent(self)
        self.eval_view.list_button.clicked.connect(self._toggle_list)
        self.eval_view.hide()
        self.run_view = RunView(theme, engine, run, self.live)
        self.run_view.setParent(self)
        self.run_view.left.connect(lambda source: self._leave_run(Path(source)))
        self.run_view.chat_wanted.connect(self.open_wanted)
        self.run_view.review_wanted.connect(lambda *of: self.page_wanted.emit("drafts", *of))
        self.run_view.decided.connect(self.decided)
        self.run_view.hide()
        self.edits.keys |= {"Ctrl+Z": self.editor.undo, "Ctrl+Shift+Z": self.editor.redo}
        self._follow()

    def _check(self, path: Path, text: str) -> WorkflowText:
        """Find all problems; runs in a thread."""
        known = KnownNames(list(self._agents), tools=list(self._engine.tools()))
        return check_workflow(read_workflow_text(text, path.stem, str(path)), known)

    @property
    def _schema(self) -> JsonObject:
        return json_schema()

    def _known_names(self) -> Mapping[str, Collection[str]]:
        workflow, tools = self.file.checked.workflow, sorted(self._engine.tools())
        return {
            **dict.fromkeys(("agent", "on_conflict"), tuple(self._agents)),
            **dict.fromkeys(("allow", "ask", "deny"), tools),
            "model": model_names(self._engine),
            "workflow": [*self.names.values()],
            "steps": [step.id for step, _ in steps_of(self.file.checked)],
            "inputs": [one.name for one in workflow.inputs] if workflow is not None else (),
        }

    # -- its parts ------------------------------------------------------------------------

    def _make_centre(self) -> None:
        t = self._theme
        self.which = Segmented(
            t,
            [tr("Text"), tr("Both"), tr("Canvas")],
            name=tr("View"),
            icons=("file-text", "layers", "workflow"),
        )
        self.which.chosen.connect(self.show_view)
        self.history_button = Button(t, "", "ghost", "history", clicked=self.show_history)
        self.run_button = Button(t, tr("Run…"), icon="play", clicked=self.ask_run)
        self._gap = widget_of(row_of([STRETCH]))
        self._make_head(
            [
                self.which,
                self.history_button,
                self._gap,
                self.run_button,
                self.save_button,
                self.copy_button,
            ],
            folding=(self.history_button, self.run_button, self.copy_button, self.which),
        )
        self.form = RunForm(t)
        self.form.started.connect(lambda inputs: self._run(self._start(inputs)))
        self.triggers = TriggerStrip(t)
        self.triggers.switched.connect(lambda on: self._run(self._switch_triggers(on)))
        self.pane = GraphPane(t)
        self.pane.chosen.connect(self._step_chosen)
        self.pane.opened.connect(self._step_opened)
        self.pane.fold_wanted.connect(self._fold)
        self.edits = CanvasEdits(t, self.pane, self.editor.text)
        self.edits.changed.connect(self.editor.replace_text)
        self.edits.refused.connect(self._refuse)
        self.edits.step_wanted.connect(self._await_step)
        self.edits.stop_wanted.connect(self.toggle_breakpoint)
        self.properties = StepProperties(t)
        self.properties.changed.connect(self.edits.set_value)
        self.properties.need_toggled.connect(lambda id, need: self.edits.toggle_need(need, id))
        self.properties.needs_wanted.connect(self.edits.show_needs)
        self.properties.stop_wanted.connect(self.toggle_breakpoint)
        self.properties.text_wanted.connect(self._write_key)
        self.properties.menu_wanted.connect(self._show_step_menu)
        self.properties.hide()
        self.right = widget_of(column_of([(self.pane, 1), self.properties], spacing=0))
        self._edge = Hairline(t, upright=True)
        both = row_of([(self.editor, TEXT_SHARE), self._edge, (self.right, GRAPH_SHARE)], spacing=0)
        column_of(
            [self._head, Hairline(t), self.form, self.triggers, self.notice, (both, 1), self.foot],
            spacing=0,
            on=self.centre,
        )

    def _place(self) -> None:
        """Columns beside each other; where there is no room the list lies over the text."""
        px, width, height = self._theme.px, self.width(), self.height()
        beside = width - px(LIST) >= px(LEAST)
        left = px(LIST) if beside else 0
        both = width - left >= px(2 * LEAST)
        view = TEXT if self._view == BOTH and not both else self._view
        self.which.segment(BOTH).setEnabled(both)
        self.which.set_current(view)
        put(self.centre, left, 0, width - left, height)
        put(self.eval_view, left, 0, width - left, height)
        put(self.run_view, 0, 0, width, height)
        put(self.listed, 0, 0, px(LIST) - 1, height)
        put(self._list_edge, px(LIST) - 1, 0, 1, height)
        shown = beside or self.list_wanted
        self.listed.setVisible(shown)
        self._list_edge.setVisible(shown)
        for button in (self.list_button, self.eval_view.list_button):
            button.setVisible(not beside)
        self.eval_view.raise_()
        self.listed.raise_()
        self._list_edge.raise_()
        self.run_view.raise_()
        self._place_head(width - left, view)
        self.editor.setVisible(view != CANVAS)
        self.right.setVisible(view != TEXT)
        self.properties.setFixedHeight(min(px(PROPERTIES), round(height * 0.45)))
        self._edge.setVisible(view == BOTH)

    def _place_head(self, width: int, view: int) -> None:
        """Let the switch end where the text does, and what is about runs begin with the graph."""
        px, both = self._theme.px, view == BOTH
        self._gap.setVisible(both)
        self.title.setMaximumWidth(QWIDGETSIZE_MAX)
        self.title.setMinimumWidth(0)
        if both:
            text = round(width * TEXT_SHARE / (TEXT_SHARE + GRAPH_SHARE))
            taken = px(20) + px(8) + self.which.sizeHint().width() + px(12)
            if not self.list_button.isHidden():
                taken += self.list_button.sizeHint().width() + px(8)
            self.title.setFixedWidth(max(px(60), text - taken))

    def show_view(self, view: int) -> None:
        """Show ``TEXT``, ``BOTH`` or ``CANVAS``."""
        self._view = view
        self._place()

    # -- the list ---------------------------------------------------------------------------

    def open(self, *target: str) -> None:
        """``target`` may be the name of a workflow, to choose it, or one of these and a name.

        ``start`` asks for the inputs of a workflow; ``run`` shows a run by its id, and ``resume``
        goes on with it.
        """
        match target:
            case ("run", run_id):
                self._run(self.show_run(run_id))
            case ("resume", run_id):
                self._run(self._resume(run_id))
            case ("start", name):
                self.run_view.hide()
                self._run(self._load_and_ask(name))
            case (name,) | (name, ""):
                self.run_view.hide()
                self.gallery.setFocus()
                self._run(self._load(name=name))
            case _ if self.run_view.isHidden():
                self.gallery.setFocus()
                self._run(self._load())
            case _:
                self.run_view.pane.take_focus()

    async def _rows(self, folder: Path | None) -> list[FileRow]:
        self._agents = (await self._engine.agents(folder)).by_name
        packs = self._engine.services.sources.pack_places
        files = await asyncio.to_thread(find_workflows, self._engine.paths, folder, packs)
        unsaved = await asyncio.to_thread(self.library.unsaved)
        self.names = {one.path: one.name for one in files}
        own = folder or await asyncio.to_thread(self._engine.own_folder)
        evals = await asyncio.to_thread(find_evals, self._engine.paths, own)
        self._evals = frozenset(evals.values())
        ran = await self.eval_view.evals.store.list()
        newest = {one.source: one for one in reversed(ran)}
        return [*rows_of(files, unsaved, folder), *eval_rows(evals, newest)]

    async def _show(self, row: FileRow) -> None:
        is_eval = row.path in self._evals
        self.eval_view.setVisible(is_eval)
        if is_eval and row.path is not None:
            await self.eval_view.show_eval(row.path, row.name)
        else:
            await super()._show(row)

    async def _load(self, wanted: Path | None = None, name: str = "") -> None:
        """An eval that is shown stays so, unless a file is wanted."""
        row = self.gallery.row
        if self.eval_view.isVisible() and row is not None and not (wanted or name):
            wanted = row.path
        await super()._load(wanted, name)
        row = self.gallery.row
        self.eval_view.setVisible(row is not None and row.path in self._evals)

    def discard(self) -> None:
        if not self.eval_view.isVisible():  # an eval is no file of this page's editor
            super().discard()

    def _show_text(self) -> None:
        if self.which.current == CANVAS:
            self.show_view(BOTH)

    def _enter(self) -> None:
        if self.eval_view.isVisible():
            self.eval_view.list.setFocus()
        elif self.which.current == CANVAS:
            self.pane.take_focus(Qt.FocusReason.TabFocusReason)
        else:
            self.editor.setFocus()

    # -- the file ---------------------------------------------------------------------------

    def _show_nothing(self, row: FileRow) -> None:
        self.pane.show_graph(graph_of(WorkflowText(), {}))
        self.triggers.hide()

    async def _opened(self) -> None:
        self.pane.view.show_from_top()
        await self._count_runs()

    def _show_contents(self, document: FileDocument) -> None:
        self.edits.allow(not document.read_only)
        if self.file.checked.workflow is not None:  # else the graph stays until the text is right
            self._draw()
            self._run(self._read_below())
        self._run(self._show_triggers())

    def _refuse(self, why: str) -> None:
        """Say why a change in the graph cannot be made."""
        if why:
            self.notice.show_text(why, warns=True)
        elif self.document is not None:
            self._show_notice(self.document)

    def _await_step(self, id: str) -> None:
        """Choose a step when it is drawn."""
        self._awaited = id
        self.pane.take_focus()

    def _draw(self) -> None:
        """Draw the graph of the text, with the marks of where its runs stop."""
        graph, document = graph_of(self.file.checked, self._agents), self.document
        stops = self.stops.get(document.path, set()) if document is not None else set[str]()
        words = tr("Stops before this step")
        nodes = [replace(one, stops=words) if one.id in stops else one for one in graph.nodes]
        graph = replace(graph, nodes=tuple(nodes))
        inside, unfolded = dict[str, Graph](), set[str]()
        if document is not None:
            found = self._inside.get(document.path, {})
            inside = {path: graph_of(one, self._agents) for path, one in found.items()}
            unfolded = self.unfolded.get(document.path, unfolded)
        self.pane.show_graph(nested(graph, inside, unfolded))
        if self._awaited and self.pane.view.node(self._awaited) is not None:
            awaited, self._awaited = self._awaited, ""
            self._step_chosen(awaited)

    async def _read_below(self) -> None:
        """Read the workflows that steps run, and draw them where that is news."""
        document, workflow = self.document, self.file.checked.workflow
        if document is None or workflow is None:
            return
        unfolded = self.unfolded.get(document.path, ())
        found = await self._below.read(workflow, await self._run_folder(), unfolded)
        if found != self._inside.get(document.path, {}):
            self._inside[document.path] = found
            if document is self.document and self.file.checked.workflow is not None:
                self._draw()

    def _fold(self, path: str) -> None:
        """Show the steps of the workflow that a step runs, or not any more (W-62)."""
        if self.document is None:
            return
        chosen = self.pane.current
        self.unfolded.setdefault(self.document.path, set()).symmetric_difference_update({path})
        self._draw()
        if chosen.startswith(f"{path}/"):
            self._step_chosen(path)
        self._run(self._read_below())

    def _holder(self, path: str) -> WorkflowText:
        """The text that has a step: of one inside of another that of its own file."""
        above, document = path.rpartition("/")[0], self.document
        if not above or document is None:
            return self.file.checked
        return self._inside.get(document.path, {}).get(above, WorkflowText())

    # -- text and graph ---------------------------------------------------------------------

    def _show_place(self) -> None:
        """Choose the step that the caret is in, and mark its lines."""
        super()._show_place()
        if (
            self.document is not None and self.file.is_checked
        ):  # else the places are of another text
            here = step_at(self.file.checked, self.editor.caret)
            inside = top_of(self.pane.current) == here
            self._mark(self.pane.current if inside else here)

    def _mark(self, id: str) -> None:
        self.editor.show_block(place_of(self.file.checked, top_of(id)) if id else None)
        self.pane.choose(id)
        self._show_properties(id)

    def _show_properties(self, id: str) -> None:
        """Show the values of the chosen step; nothing where the text cannot be read."""
        found, document = self._holder(id), self.document
        own = found is self.file.checked
        step = next((one for one, _ in steps_of(found) if one.id == id.rpartition("/")[2]), None)
        self.properties.setVisible(step is not None)
        if step is None or document is None or found.workflow is None:
            return
        others = [one for one in found.workflow.steps if one is not step]
        models = [one for one in model_items(self._engine) if one.key != "/"]
        self.properties.show_step(step, others, self._agents, models)
        place = place_of(found, id)
        self.properties.lines.setText(Path(found.workflow.source).name)
        if place is not None and own:
            stops = id in self.stops.get(document.path, set())
            first, last = line_numbers(document.text, *place)
            self.properties.show_place(first, last, stops=stops)
        self.properties.allow(own and not document.read_only)

    def _write_key(self, key: str) -> None:
        """Put the caret to a key of the chosen step, or to its end where it is not there."""
        for (step, _), places in zip(
            steps_of(self.file.checked), self.file.checked.places, strict=False
        ):
            if step.id == self.pane.current:
                start, end = places.value(key) if key in places.keys else places.span
                self._show_text()
                self.editor.go_to(start if key in places.keys else end)
                self.editor.setFocus()

    def _show_step_menu(self) -> None:
        more = self.properties.more
        self.edits.show_menu(self.pane.current, more.mapToGlobal(more.rect().bottomLeft()))

    def _step_chosen(self, id: str) -> None:
        """Put the caret to the step that was chosen in the graph."""
        place = place_of(self.file.checked, top_of(id))
        if place is not None and self.file.is_checked:
            self.editor.go_to(place[0])
        self._mark(id)

    def _step_opened(self, id: str) -> None:
        """Go on in the text of a step; of one inside of another in that of its own file."""
        inside = self._holder(id).workflow
        if "/" in id and inside is not None:
            if (path := Path(inside.source)) in self.names:
                self._awaited = id.rpartition("/")[2]
                self._run(self._load(path))
            return
        self._show_text()
        self._step_chosen(id)
        self.editor.setFocus()

    # -- triggers ---------------------------------------------------------------------------

    async def _run_folder(self) -> Path:
        """The folder in which runs of the file work."""
        return self._folder or await asyncio.to_thread(self._engine.own_folder)

    async def _show_triggers(self) -> None:
        """Show what begins runs of the file by itself; what is on is so as the file is stored."""
        document, workflow = self.document, self.file.checked.workflow
        found = workflow.triggers if workflow is not None else ()
        on: Mapping[int, TriggerMark] = {}
        if document is not None and found:
            marks = await self._triggers.marks(document.path, await self._run_folder())
            stored = digest_of(document.base)
            on = {place: one for place, one in marks.items() if one.digest == stored}
        if document is self.document:
            self.triggers.show_triggers(found, on, time.time())

    async def _switch_triggers(self, on: bool) -> None:
        """Let the file begin runs by itself in the folder of the chat, as it is now; or not."""
        document = self.document
        if document is None:
            return
        self.triggers.show_error("")
        async with self._switching:
            if not on:
                await self._triggers.switch_off(document.path, await self._run_folder())
            elif document.read_only or await self._save():
                try:
                    await self._triggers.switch_on(document.path, await self._run_folder())
                    self.watch_wanted.emit()
                except StudioError as error:
                    self.triggers.show_error(tr_engine(str(error)))
            await self._show_triggers()

    # -- runs -------------------------------------------------------------------------------

    def ask_run(self) -> None:
        """Ask for the inputs of a run of the file as it is saved."""
        workflow = self.file.checked.workflow
        if workflow is not None:
            self.form.ask(workflow.name, workflow.inputs)

    async def _start(self, inputs: dict[str, Json]) -> None:
        """Save the file, run it, and show the run."""
        if self.document is None or not (self.document.read_only or await self._save()):
            self.form.show_error("")
            return
        path = self.document.path
        folder = await self._run_folder()
        workflow = self.file.checked.workflow
        steps = {step.id for step in workflow.steps} if workflow is not None else set[str]()
        stops = [BreakpointSet(step) for step in sorted(self.stops.get(path, set()) & steps)]
        try:
            run_id = await self.live.start(path, folder, RunOptions(inputs), stops)
        except StudioError as error:
            self.form.show_error(tr_engine(str(error)))
            return
        self.form.hide()
        await self.show_run(run_id)
        self.run_view.show_tab(RUN)

    async def show_run(self, run_id: str) -> None:
        """Show a run in place of the file."""
        self.run_view.show()
        self.run_view.raise_()
        await self.run_view.show_run(run_id)
        self.run_view.pane.take_focus()

    def _notify(self, run_id: str) -> None:
        """Tell of a run that needs the person, or is over, while nobody looks at it (W-68)."""
        runner = self.live.runner(run_id)
        if runner is None or runner.run.started is None:
            return
        run, started, key = runner.run, runner.run.started, f"run:{run_id}"
        shown = self.run_view.record
        seen = (
            self.run_view.isVisible()
            and QApplication.activeWindow() is not None
            and shown is not None
            and shown.run.id == run_id
        )
        before, self._told[run_id] = self._told.get(run_id, ""), run.state
        if run.state == before:
            return
        title = tr("{name}, run {number}").format(name=started.name, number=started.number)
        words = {
            "needs_you": tr("{title} needs your answer"),
            "unsure": tr("{title} needs your answer"),
            "done": tr("{title} is done"),
            "failed": tr("{title} failed"),
        }.get(run.state, "")
        if run.state == "paused" and started.mission and run.paused:
            words = tr("{title} is paused")
        self.notified.emit(key, "" if seen else words.format(title=title))

    async def _resume(self, run_id: str) -> None:
        await self.show_run(run_id)
        await self.live.resume(run_id)

    async def _load_and_ask(self, name: str) -> None:
        await self._load(name=name)
        self.ask_run()

    def show_history(self) -> None:
        """Show the newest run of the file, beside the list of them."""
        if self.document is not None:
            self.run_view.show()
            self.run_view.raise_()
            self.run_view.show_history(str(self.document.path))

    async def _count_runs(self) -> None:
        """Say at the head how many runs the file had."""
        if self.document is None:
            return
        runs = await self.live.runs.store.list(1_000, source=str(self.document.path))
        words = tr("History")
        if runs:
            words = tr_plural("{count} run", "{count} runs", len(runs))
            words = tr("{runs}, last one {cost}").format(runs=words, cost=dollars(runs[0].dollars))
        self.history_button.set_text(words)

    def _leave_run(self, source: Path) -> None:
        """Show the file again."""
        self.run_view.hide()
        self.gallery.setFocus()
        self._run(self._load(source if source in self.names else None))
        self._run(self._count_runs())

    def toggle_breakpoint(self) -> None:
        """Mark the chosen step, or not any more: runs that begin here stop before it."""
        document, step = self.document, self.pane.current
        if document is None or not step or self.edits.refuses_inside(step):
            return
        stops = self.stops.setdefault(document.path, set())
        stops.symmetric_difference_update({step})
        self._draw()
        self._show_properties(step)
        node = self.pane.view.node(step)
        if node is not None:
            announce(self.pane, node.spoken)

    # -- new, duplicate ---------------------------------------------------------------------

    def _blank(self, name: str) -> str:
        return BLANK.format(name=name)

    def _begin(self) -> None:
        self._enter()

    async def _duplicate(self, document: FileDocument) -> None:
        """Its copy has a name of its own."""
        workflow = self.file.checked.workflow
        name = workflow.name if workflow is not None else document.path.stem
        name = self._free_name(tr("{name} copy").format(name=name))
        text = document.text
        if workflow is not None:
            text = await asyncio.to_thread(lambda: set_value(text, "name", name).apply(text))
        await self._add(name, text)

    def answer(self, run_id: str, question: str, value: Json, whole: bool) -> None:
        self._run(self.live.answer(run_id, question, value, whole=whole))

    def answer_pause(self, run_id: str, answer: str, offered: CapRaised | None) -> None:
        live = self.live
        if answer == "raise" and offered is not None:
            self._run(live.raise_reached(run_id, offered))
        else:
            self._run((live.stop if answer == "stop" else live.resume)(run_id))

    def leave_out(self, run_id: str, question: str) -> None:
        self._run(self.live.leave_out(run_id, question))

    async def finish(self) -> None:
        await super().finish()
        await self.live.close()
