"""Chat page: header, transcript and composer of a chat, or the place where a new one begins.

Shows a ``ChatModel``. Turns run in the model's ``TurnRunner``, so that a
session goes on while another is on screen.
"""

from __future__ import annotations

import asyncio
import time
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QLineEdit, QMessageBox, QWidget
from shiboken6 import isValid

from studio.ui.formatting import short_path
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Label, plain_tip
from studio.ui.widgets.painting import PaintedWidget

from .attachments import DropTarget
from .child_agents import ChatAgents, graph_of
from .composer import Composer
from .file_viewer import FileViewer
from .handoff_strip import HandoffStrip
from .header import Header
from .job_view import JobView
from .layout import PageLayout
from .model.chat_model import ChatModel
from .model.open_chat import Change
from .model.transcript_actions import UndoStep
from .model.turn_runner import TurnRunner
from .model.unsent import UnsentBuffer
from .option_menus import OptionMenus
from .pack_sources import PackSources
from .plan_strip import PlanStrip
from .queue_view import QueueView
from .server_card import ServerCard
from .status_strip import StatusStrip
from .subject import SubjectFact
from .suggestions import Suggestions

if TYPE_CHECKING:  # all this comes after the first paint, see ``prepare``
    from studio.agent.session.session import Session
    from studio.ui.graph.pane import GraphPane
    from studio.ui.transcript.view import TranscriptView

    from .find_strip import FindStrip


NEAR_END = 40
"""Pixels: a transcript this near to its end stays there when it is shown again."""

FREE_OF_QT = (
    "studio.agent.engine",
    "studio.ui.markdown.spoken",
    "studio.ui.markdown.stream",
    "studio.ui.pages.needs.waiting",
    "studio.ui.transcript.find",
    "studio.ui.transcript.model",
)
OF_QT = (
    "studio.ui.transcript.text.text_layout",
    "studio.ui.transcript.text.block_types",
    "studio.ui.transcript.items.base",
    "studio.ui.transcript.items.answer_item",
    "studio.ui.transcript.items.tool_item",
    "studio.ui.transcript.canvas",
    "studio.ui.transcript.viewport",
    "studio.ui.transcript.view",
    "studio.ui.chat.transcript_requests",
)
"""Each takes up to 10 ms, when those above it are there, or 25 from source."""

TURN_RUNS = tr_later("Wait until the turn ends, or stop it first.")


class ChatPage(PaintedWidget):
    """One chat, or the place where a new one begins."""

    ground = "surface"

    session_changed = Signal()
    """A chat began, or the one on screen has another title, state or model."""
    event_seen = Signal(object)
    """An event of the session on screen that is not just more text; the transcript shows it."""
    option_chosen = Signal()
    """The person chose another agent, model, mode or folder."""
    settings_wanted = Signal(str, str)
    """A page of the settings, and a provider or a limit on it."""
    opened = Signal()
    """Another chat is on screen, or an empty one."""
    trouble = Signal(str)
    open_wanted = Signal(str)
    run_wanted = Signal(str)
    """The name of a workflow that the person wants to run."""
    source_wanted = Signal(str)
    """The address of a thing of a pack that the person wants to see."""
    link_wanted = Signal(str, int)
    """The id of a session and a block of it, to which a link is copied."""
    deleting = Signal(str)
    """The id of a chat that is about to be deleted; wherever it is shown, it goes."""
    draft_wanted = Signal(str, str)
    """The ids of a session and of a draft whose conflict is to be shown."""

    def __init__(
        self, theme: Theme, runner: TurnRunner, unsent: UnsentBuffer, window: int = 0
    ) -> None:
        """``window`` is the number of the window: each has a new chat of its own."""
        super().__init__(theme)
        self.model = ChatModel(runner, self._report, unsent, window)
        self.trust_question: QMessageBox | None = None
        self._viewer = FileViewer()
        self._undo_actions: dict[UndoStep, QAction] = {}
        self._need_keys = ""
        self.beside = False
        """Whether the chat stands beside a page: then it takes the keyboard from nothing there."""
        self._state = self.model.input.state
        """The state of the input that was shown last."""

        self.header = Header(theme, self)
        self.heading = Label(theme, tr("What are we working on?"), "display", parent=self)
        self.heading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.composer = Composer(theme, self.model, self)
        self.suggestions = Suggestions(theme, self)
        self.strip = StatusStrip(theme, self.model, self)
        self.queue = QueueView(theme, self.model, self)
        self.jobs = JobView(theme, self.model, self)
        self.plan = PlanStrip(theme, self.model, self)
        self.handoffs = HandoffStrip(theme, self.model, self)
        self.asked = ServerCard(theme, self.model, self)
        self.menus = OptionMenus(self.composer, self.model)
        self.agents = ChatAgents(self.model, self)
        self._layout = PageLayout(
            theme,
            self,
            header=self.header,
            heading=self.heading,
            composer=self.composer,
            suggestions=self.suggestions,
            above=(self.handoffs, self.queue, self.asked, self.jobs, self.plan),
            strip=self.strip,
        )
        drops = DropTarget(self)
        drops.files_dropped.connect(self.composer.attachments.add_paths)
        drops.picture_dropped.connect(self.composer.attachments.paste)
        drops.hovered.connect(self.composer.set_welcoming)
        self._subject = SubjectFact(self.model, self.header, self.heading, self.composer)
        self.header.folder_clicked.connect(self.menus.choose_folder)
        self.header.subject_clicked.connect(
            lambda: self.source_wanted.emit(self.model.options.subject)
        )
        self.header.parent_clicked.connect(self.open_wanted)
        self.header.which.chosen.connect(lambda which: self.show_graph(which == 1))
        self.agents.changed.connect(self._show_agents)
        self.menus.settings_wanted.connect(self.settings_wanted)
        self.strip.trust_wanted.connect(self._ask_trust)
        self.strip.review_wanted.connect(self._review_drafts)
        self.queue.taken_back.connect(self.composer.setFocus)
        self.handoffs.taken.connect(self.composer.setFocus)
        self.jobs.left.connect(self.composer.setFocus)
        self.asked.left.connect(self.composer.setFocus)
        self.asked.appeared.connect(lambda: None if self._writes() else self.asked.take_focus())
        self.plan.opened.connect(self.show_block)
        self.suggestions.open_wanted.connect(self.open_wanted)
        self.suggestions.run_wanted.connect(self.run_wanted)
        self.suggestions.text_wanted.connect(self.composer.set_text)
        self.model.subscribe(self._changed)
        self._layout.show(new=True)

    @staticmethod
    async def prepare() -> None:
        """Import what the page needs before it can show a chat.

        What defines classes of Qt's is imported on this thread, as another one that does while Qt
        is at work can end the program. It is done in parts: keys and painting come between.
        """
        await asyncio.to_thread(lambda: [import_module(name) for name in FREE_OF_QT])
        for name in OF_QT:
            import_module(name)
            await asyncio.sleep(0)

    @cached_property
    def view(self) -> TranscriptView:
        """The transcript; made when it is first needed, the window is shown without it."""
        from studio.ui.transcript.view import TranscriptView

        from .transcript_requests import TranscriptRequests

        model = self.model
        view = TranscriptView(self.theme, self)
        view.setVisible(self.session is not None)
        view.stackUnder(self.heading)
        QWidget.setTabOrder(self.header.inspector, view)
        requests = self._requests = TranscriptRequests(
            self.theme, model, view, self.composer, self.menus, self._viewer
        )
        requests.open_wanted.connect(self.open_wanted)
        requests.source_wanted.connect(self.source_wanted)
        requests.link_wanted.connect(self.link_wanted)
        requests.settings_wanted.connect(self.settings_wanted)
        requests.draft_wanted.connect(self.draft_wanted)
        requests.trouble.connect(self.trouble)
        view.context.in_chat = True
        view.context.forms = model.input.forms
        view.context.versions = model.versions.of
        view.context.agent = model.options.agent_icon
        view.context.folder_name = model.options.name_folder
        view.context.model = model.model_title
        view.context.raised = model.recovery.raised_cap
        self._layout.view = view
        self._sources = PackSources(model, view)
        view.canvas_viewport.need_keys = self._need_keys
        self.composer.editor.typed.connect(self._note_typing)
        self.composer.editor.end_wanted.connect(view.canvas_viewport.scroll_to_end)
        return view

    @cached_property
    def graph(self) -> GraphPane:
        """Who works for the chat and for whom; made when it is first wanted (W-62)."""
        from studio.ui.graph.pane import GraphPane

        pane = GraphPane(self.theme)
        pane.setParent(self)
        pane.stackUnder(self.heading)
        pane.opened.connect(self._open_member)
        QWidget.setTabOrder(self.header.inspector, pane.view)
        return pane

    def show_graph(self, wanted: bool) -> None:
        """Show the agents that work for the chat in place of the transcript, or the transcript
        again."""
        wanted = wanted and bool(self.agents.members)
        self.header.which.set_current(int(wanted))
        if wanted == (self._layout.graph is not None):
            return
        self._layout.graph = self.graph if wanted else None
        self.graph.setVisible(wanted)
        self._show_agents()
        self._layout.show(new=self.session is None)
        (self.graph.view if wanted else self.composer).setFocus()

    def turn_graph(self) -> None:
        """Show the graph, or the chat again."""
        self.show_graph(self._layout.graph is None)

    def _show_agents(self) -> None:
        members = self.agents.members
        self.header.which.setVisible(bool(members))
        if not members:
            self.show_graph(False)
        elif self._layout.graph is not None:
            self.graph.show_graph(graph_of(members, self.model.options.agent_icon))

    def _open_member(self, session_id: str) -> None:
        """Open the chat of an agent in the graph; that of the chat's own is beside it."""
        self.show_graph(False)
        if self.session is not None and session_id != self.session.info.id:
            self.open_wanted.emit(session_id)

    @property
    def session(self) -> Session | None:
        """The session on screen; None for a chat that has not begun."""
        return self.model.session

    @cached_property
    def find_strip(self) -> FindStrip:
        """The strip in which words of the chat are looked for; made when it is first needed."""
        from .find_strip import FindStrip

        strip = FindStrip(self.theme, self.view.finder, self)
        strip.closed.connect(self.composer.setFocus)
        strip.closed.connect(self._layout.place)
        self._layout.find = strip
        QWidget.setTabOrder(self.header.inspector, strip.field)
        return strip

    def find(self) -> None:
        """Look for words in the chat, at first for what is selected in one line of it."""
        if self.session is None:
            return
        self.show_graph(False)
        selected = self.view.canvas_viewport.selection
        text = self.view.canvas_viewport.selected_text().strip() if selected else ""
        self.find_strip.open(text if "\n" not in text else "")
        self._layout.place()

    def find_next(self, by: int) -> None:
        """Go to the next hit, or with -1 to the one before; without a search, begin one."""
        if self.session is None:
            return
        if self.view.finder.find is None:
            self.find()
        else:
            self.show_graph(False)
            self.view.finder.step(by)

    # Chats

    def show_found(self, query: str, line: str) -> None:
        """Scroll to where a search over all chats found ``line``, with the words marked."""
        from studio.storage.sessions.search_filters import read_filters
        from studio.ui.transcript.find import Wanted

        self.show_graph(False)
        self.view.flush()
        words = read_filters(query, time.time()).words
        self.view.finder.go_to_line(Wanted(words, each_word=True), line)

    @property
    def waits(self) -> bool:
        """Whether something in the chat waits for the person."""
        if self.session is None:
            return False
        return self.asked.panel is not None or bool(self.view.canvas.waiting())

    def show_question(self) -> None:
        """Scroll to the next question that waits in the chat, and give it the keyboard."""
        self.show_graph(False)
        self.view.flush()
        if not self.asked.take_focus():
            self.view.canvas_viewport.go_to_waiting()

    def show_block(self, block: int) -> bool:
        """Scroll to a block of the chat and give it the keyboard; False if there is none."""
        self.show_graph(False)
        self.view.flush()
        blocks = self.session.transcript.blocks if self.session is not None else ()
        index = self.view.canvas.index_of_block(block) if block < len(blocks) else None
        if index is None:
            return False
        self.view.canvas_viewport.focus_on(index)
        self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True

    def set_beside(self, beside: bool) -> None:
        """Look as it is needed beside a page, or alone."""
        self.beside = self._layout.beside = beside
        self.header.set_beside(beside)
        self._layout.show(new=self.session is None)

    async def offer(self, last: tuple[str, str] | None) -> None:
        """Offer ways to begin a new chat; ``last`` is the id and title of the chat used last."""
        options = self.model.options
        repository = await options.in_repository()
        workflow = await options.latest_workflow()
        folder = "" if options.uses_own_folder else short_path(options.folder)
        if isValid(self):
            self.suggestions.offer(last, folder, workflow, repository=repository)

    async def finish(self) -> None:
        """Wait a second for what was begun; what waits for the person is cancelled."""
        await self.model.finish()
        await asyncio.to_thread(self._viewer.close)

    def _report(self, problem: str) -> None:
        if isValid(self):
            self.trouble.emit(problem)

    # What the model changed

    def _changed(self, change: Change) -> None:
        match change.part:
            case "event":
                self._show_event(change)
            case "text":
                if change.block is not None:
                    self.view.grew(change.block)
            case "chat":
                self._show_chat(reloaded=change.reloaded)
            case "turn":
                self.view.turned()
            case "offline":
                self.view.set_offline(self.model.offline)
            case "state":
                self._show_state()
            case "input":
                self._state = self.model.input.state
                self._show_sending()
            case "options":
                self._show_options()
            case "chosen":
                self.option_chosen.emit()
            case "session":
                self.session_changed.emit()
            case "sent":
                self.view.canvas_viewport.scroll_to_end()
            case "answers":
                self.view.show_answers()
            case "versions":
                self.view.canvas_viewport.show_versions()
            case "parent":
                works_for = self.session is not None and self.session.info.caller is not None
                self.header.show_parent(self.model.parent, works_for=works_for)
            case _:
                pass

    def _show_chat(self, *, reloaded: bool) -> None:
        session, view = self.session, self.view
        if not reloaded:
            view.finder.clear()
            if self._layout.find is not None:
                self._layout.find.hide()
        if session is None:
            from studio.domain.transcript import Transcript

            self.header.show_new()
            view.context.outgoing = ()
            view.set_transcript(Transcript())
        else:
            view.context.folder = session.info.folder
            view.context.offline = self.model.offline
            view.context.sending = self.model.input.state == "running"
            view.context.outgoing = self.model.input.outgoing
            value, below = view.scroller.value, view.scroller.below
            view.set_transcript(
                session.transcript,
                self.model.waiting_since,
                quiet_since=self.model.quiet_since,
                read_only=bool(session.damage),
                blocking=session.undo.blocking,
            )
            if reloaded and below > NEAR_END:
                view.canvas_viewport.scroll_to(value)
        self._layout.show(new=session is None)
        self.opened.emit()
        self._enable_undo()
        same_place = session is not None and self._requests.keep_place(session.info.id)
        if not reloaded and not same_place and not self._page_has_focus:
            self.composer.setFocus()
            if self.composer.state == "waiting" and not self.composer.editor.writing:
                self._focus_waiting()

    def _show_event(self, change: Change) -> None:
        from studio.domain.events import FilesChanged, FilesRestored, TurnComplete, TurnStarted
        from studio.ui.transcript.model import spoken_outcome

        event = change.event
        assert event is not None
        if change.block is not None:
            self.view.changed(change.block)
        self.view.announce(spoken_outcome(event, self.model.options.agent))
        if isinstance(event, TurnStarted):
            self._show_sending()
        if isinstance(event, TurnStarted | TurnComplete | FilesChanged | FilesRestored):
            self._enable_undo()
        self.event_seen.emit(event)

    def _show_sending(self) -> None:
        if self._layout.view is not None:  # the first key that is typed is not to wait for it
            message = self.model.input
            self.view.set_sending(message.state == "running", message.outgoing)

    def _show_state(self) -> None:
        """Put the keyboard where it is needed now."""
        self._show_sending()
        before, self._state = self._state, self.model.input.state
        answered = before == "waiting" and self._state == "running"
        if self._state == "waiting" and not self._writes():
            self._focus_waiting()
        elif self._is_elsewhere:
            return
        elif self._state == "idle" or (answered and self.view.hasFocus()):
            self.composer.setFocus()

    def _focus_waiting(self) -> None:
        """Give the keyboard to what waits for the person."""
        if not self.asked.take_focus():
            self.view.focus_prompt()

    @property
    def _page_has_focus(self) -> bool:
        """Whether the keyboard is on the page beside the chat, or in its place."""
        here = self.window().focusWidget()
        has_page = self.beside or not self.isVisibleTo(self.window())
        return has_page and here is not None and not self.isAncestorOf(here)

    @property
    def _is_elsewhere(self) -> bool:
        """Whether the person took the keyboard out of the chat, or into a field of it.

        So that Enter, meant for the palette or a list, sends no message and allows nothing.
        """
        here = self.window().focusWidget()
        return here is not None and (not self.isAncestorOf(here) or isinstance(here, QLineEdit))

    def _writes(self) -> bool:
        """Whether the keyboard is needed where it is: something is written or looked for."""
        return self._is_elsewhere or self.composer.editor.writing

    def _note_typing(self) -> None:
        self.view.context.typed_at = self.view.context.now()

    def _show_options(self) -> None:
        options = self.model.options
        if self.session is not None:
            demo = options.provider == "simulator"
            self.header.show_session(self.session.info, options.folder_name, demo)

    # What a person does in the transcript and the strip

    def _ask_trust(self) -> None:
        """Say what trust means, and trust the folder if the person wants that."""
        from .dialogs import trust_box

        folder, offer = self.model.trust.folder, self.model.trust.offer
        effects, prose = (offer.effects, offer.prose) if offer else ((), "")
        self.trust_question = trust_box(self, folder, effects, prose)
        digest = offer.digest if offer else ""
        self.trust_question.accepted.connect(lambda: self.model.trust.trust(folder, digest))
        self.trust_question.open()

    def _review_drafts(self) -> None:
        """Show the drafts that wait on their page, the first of this chat chosen."""
        if self.session is not None and (waiting := self.session.drafts.waiting()):
            self.draft_wanted.emit(self.session.info.id, waiting[0].id)

    # The Undo and Redo actions of the window

    def set_keys(self, *, files: str, inspector: str, need: str) -> None:
        """Show these keys where the chat names them; an empty one is not shown."""
        self.composer.add.set_tooltip(_with_keys(tr("Add files"), files))
        self.header.inspector.set_tooltip(_with_keys(tr("Inspector"), inspector))
        self._need_keys = need
        if "view" in self.__dict__:  # asking for it would make it
            self.view.canvas_viewport.need_keys = need

    def set_undo_actions(self, undo: QAction, redo: QAction) -> None:
        """Keep two actions enabled while there is something for them to do."""
        self._undo_actions = {"undo": undo, "redo": redo}
        self._enable_undo()

    def undo_files(self, step: UndoStep) -> None:
        """Undo or redo the files of a turn, and scroll to it."""
        session, block = self.session, self.model.actions.next_files(step)
        if session is None or block is None:
            return
        self.view.flush()
        at = next(n for n, other in enumerate(session.transcript.blocks) if other is block)
        if (index := self.view.canvas.index_of_block(at)) is not None:
            self.view.canvas_viewport.reveal(index)
        self.model.actions.undo_files(block.turn_id, step)

    def _enable_undo(self) -> None:
        running = self.session is not None and self.session.transcript.running
        for step, action in self._undo_actions.items():
            action.setEnabled(self.model.actions.next_files(step) is not None)
            action.setToolTip(plain_tip(tr(TURN_RUNS) if running else ""))

    # Events

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._layout.place()


def _with_keys(action: str, keys: str) -> str:
    return tr("{action} ({keys})").format(action=action, keys=keys) if keys else action
