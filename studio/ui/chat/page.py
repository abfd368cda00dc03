"""The chat pane: a header, the transcript, the composer; and a new chat.

It shows one session and hears its events; turns run in ``ModelTarget``, so that a
session goes on while another is on screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from studio.ui.formatting import short_path
from studio.ui.theme import Theme
from studio.ui.widgets import Label

from .attachments import DropTarget
from .composer import Composer
from .context_actions import ContextActions
from .external_changes import ExternalChanges
from .file_viewer import FileViewer
from .folder_trust import FolderTrust
from .header import Header
from .layout import PageLayout
from .message_queue import MessageQueue, QueueView
from .recovery import RecoveryActions
from .send import MessageSender
from .session_options import SessionOptions
from .status_strip import StatusStrip
from .suggestions import Suggestions
from .turn_runner import TurnRunner
from .undo_controller import UndoController

if TYPE_CHECKING:  # all this comes after the first paint, see ``prepare``
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.envelope import EventEnvelope
    from studio.domain.messages import File, Image
    from studio.domain.permissions import Answer
    from studio.ui.transcript import TranscriptView


NEAR_END = 40
"""Pixels from its end within which a transcript is looked at from there."""


class ChatPage(QWidget):
    """One chat, or the place where a new one begins."""

    session_changed = Signal()
    """A chat began, or the one on screen has another title, state or model."""
    event_seen = Signal(object)
    """An event of the session on screen, after the transcript took it."""
    settings_wanted = Signal(str, str)
    """A page of the settings, and a provider or a limit on it."""
    opened = Signal()
    """Another chat is on screen, or an empty one."""
    trouble = Signal(str)
    open_wanted = Signal(str)
    draft_wanted = Signal(str, str)
    """The ids of a session and of a draft that is to be shown with what it met."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.session: Session | None = None
        self._studio: Engine | None = None
        self._runs: TurnRunner | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

        self.header = Header(theme, self)
        self.heading = Label(theme, "What are we working on?", "display", parent=self)
        self.heading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.composer = Composer(theme, self)
        self.suggestions = Suggestions(theme, self)
        self.strip = StatusStrip(theme, self)
        self.queue = QueueView(theme, self)
        self.choices = SessionOptions(self.composer, self.later)
        self.trusting = FolderTrust(self, self)
        self.ways = RecoveryActions(self)
        self.following = ExternalChanges(self, self.ways.show)
        self.sending = MessageSender(self)
        self.queueing = MessageQueue(self)
        self._opening = FileViewer()
        self.restoring = UndoController(self, self._opening, self)
        self.summing = ContextActions(self, theme, self)
        attachments = self.composer.attachments
        attachments.connect_to(self.later, self._refuses)
        DropTarget(self, self.choices.take_files, attachments.paste, self.composer.set_welcoming)
        self._arrangement = PageLayout(
            theme,
            self,
            header=self.header,
            heading=self.heading,
            composer=self.composer,
            suggestions=self.suggestions,
            strip=self.strip,
            queue=self.queue,
        )

        self.header.folder_clicked.connect(self.choices.choose_folder)
        self.header.parent_clicked.connect(self.open_wanted)
        self.composer.sent.connect(self.sending.sent)
        self.composer.stopped.connect(self.stop)
        self.composer.recalled.connect(self.ways.recall)
        self.composer.menus_opening.connect(self.show_choices)
        self.choices.changed.connect(self.show_choices)
        self.choices.kept.connect(self._keep)
        self.choices.settings_wanted.connect(self.settings_wanted)
        self.choices.trouble.connect(self.trouble)
        self.suggestions.open_wanted.connect(self.open_wanted)
        self.suggestions.text_wanted.connect(self.composer.set_text)
        theme.changed.connect(self.update)
        self._arrangement.show(new=True)

    @staticmethod
    def prepare() -> None:
        """Import what the page needs to come alive; takes a while, so call it in a thread."""
        import studio.agent.engine
        import studio.ui.transcript  # noqa: F401 (the imports are what is wanted)

    @cached_property
    def view(self) -> TranscriptView:
        """The transcript; made when it is first needed, the window is shown without it."""
        from studio.ui.transcript import TranscriptView

        view = TranscriptView(self.theme, self)
        view.setVisible(self.session is not None)
        view.stackUnder(self.heading)
        QWidget.setTabOrder(self.header.inspector, view)
        view.permission_answered.connect(self._answered)
        view.reply_given.connect(self._replied)
        view.draft_action.connect(self._draft)
        view.failure_action.connect(self.ways.do)
        view.turn_action.connect(self.ways.said)
        view.continue_requested.connect(lambda: self.sending.say("Continue."))
        view.link_activated.connect(_open_link)
        view.file_opened.connect(lambda part: self.later(self._open_file(part)))
        view.files_action.connect(self.restoring.do)
        view.path_opened.connect(self.restoring.open_path)
        view.summary_action.connect(self.summing.do)
        view.pin_wanted.connect(self.summing.pin)
        view.left.connect(self.composer.setFocus)
        view.set_agents(self.choices.agent_icon)
        view.set_models(self._model_title)
        view.context.raised = self.ways.raised
        self._arrangement.view = view
        return view

    # What it shows

    def live(self, studio: Engine, runs: TurnRunner) -> None:
        """The pieces are there: from now on a person can send."""
        self._studio, self._runs = studio, runs
        self.choices.live(studio)
        self.trusting.live(studio)
        self.ways.live(studio, runs)
        self.following.live(studio)
        self.sending.live(studio, runs)
        self.queueing.live(runs)
        self.choices.modes = runs.modes

    def show_new_chat(
        self, *, provider: str = "", text: str = "", folder: str = ""
    ) -> Coroutine[Any, Any, None]:
        """Show an empty chat at once; nothing is saved before the first message.

        What is returned finds out what it runs on.
        """
        from studio.domain.transcript import Transcript

        assert self._studio is not None
        self._leave()
        self.session = None
        self.ways.show()
        self.queueing.show()
        self.composer.set_closed("")
        self.choices.begin(folder)
        self.view.set_transcript(Transcript())
        self.composer.set_state("idle")
        if text:
            self.composer.set_text(text)
        self._arrangement.show(new=True)
        self.show_choices()
        self.composer.setFocus()
        self.opened.emit()
        return self.choices.find(provider)

    def open(self, session: Session) -> None:
        """Show a session."""
        self._show(session)
        self.composer.setFocus()
        if self.composer.state == "waiting" and not self.composer.text:
            self.view.focus_prompt()

    def show_again(self, session: Session) -> None:
        """Show the same chat as another program left it, from where it was looked at."""
        value, below = self.view.scroller.value, self.view.scroller.below
        self._show(session)
        if below > NEAR_END:
            self.view.scroll_to(value)

    def _show(self, session: Session) -> None:
        self._leave()
        self.session = session
        self.choices.take(session.info)
        self._unsubscribe = session.subscribe(self._heard)
        since = self._runs.since(session.info.id) if self._runs and session.running else None
        self.view.set_transcript(
            session.transcript,
            since,
            read_only=bool(session.damage),
            blocking=session.files.blocking,
        )
        self.composer.set_closed("This chat can only be read" if session.damage else "")
        self._arrangement.show(new=False)
        self._state()
        self.show_choices()
        self.choices.load_agents()
        self.ways.show()
        self.queueing.show()
        self.later(self._find_parent(session))
        self.opened.emit()

    async def _find_parent(self, session: Session) -> None:
        """Say in the header which chat this one was branched from, if it is still there."""
        parent = session.info.parent
        info = await self._studio.store.get(parent) if self._studio and parent else None
        if session is self.session:
            self.header.show_parent(info)

    def _model_title(self, provider: str, model: str) -> str:
        return self._studio.model(provider, model).title if self._studio and model else model

    def offer(self, last: tuple[str, str] | None) -> None:
        """Ways to begin a new chat; ``last`` is the id and title of the chat used last."""
        self.suggestions.offer(last, short_path(self.choices.folder))

    def show_choices(self) -> None:
        """Agent, model, mode and folder as chosen, with what else there is."""
        if self._studio is None:
            return
        composer, choices = self.composer, self.choices
        choices.show()
        self.trusting.look()
        composer.attachments.recheck()
        waiting = composer.state == "waiting"
        started = self.session is not None
        composer.set_placeholder(
            f"Answer above, or tell {choices.agent} what to do instead"
            if waiting
            else "Add a follow-up"
            if started
            else "Ask, or describe a task"
        )
        self._show_context()
        if self.session is not None:
            demo = choices.provider == "simulator"
            self.header.show_session(self.session.info, choices.folder_name, demo)

    def _show_context(self) -> None:
        part = None
        tooltip = ""
        if self.session is not None and self._studio is not None:
            used = self.session.transcript.last_usage.total
            window = self.choices.model.context_window
            if used and window:
                part = min(1.0, used / window)
                tooltip = f"{used:,} of {window:,} tokens of context"
        self.composer.context.set_part(part, tooltip)

    # What a person does

    async def _refuses(self, block: Image | File) -> str:
        """Why the model that is chosen now refuses a picture or file."""
        studio, choices = self._studio, self.choices
        if studio is None:
            return ""
        await choices.found()
        return await studio.refuses(choices.provider, choices.model_id, block)

    async def _open_file(self, part: Image | File) -> None:
        if not await self._opening.open(part):
            self.trouble.emit("There is no program to open this file with.")

    def stop(self) -> None:
        if self.session is not None:
            self.session.stop()

    def _answered(self, question_id: str, answer: Answer) -> None:
        if self.session is not None and self.session.running:
            self.session.answer_permission(question_id, answer)
        else:
            self.later(self.following.answer(question_id, answer))

    def _replied(self, call_id: str, text: str) -> None:
        if self.session is not None:
            self.session.answer_question(call_id, text)

    def _draft(self, draft_id: str, action: str) -> None:
        if self.session is None:
            return
        if action == "edit":
            self.later(self._edit(draft_id))
        elif action == "resolve":
            self.draft_wanted.emit(self.session.info.id, draft_id)
        elif action in ("approve", "discard", "undo"):
            self.later(self.session.decide(draft_id, action))

    async def _edit(self, draft_id: str) -> None:
        from .text_editor import edit_draft

        assert self.session is not None
        draft = self.session.drafts.get(draft_id)
        if draft is not None and (text := await edit_draft(self.theme, draft, self)) is not None:
            await self.session.edit_draft(draft_id, text)

    def _keep(self, fields: dict[str, Any]) -> None:
        if self.session is not None:
            self.later(self.session.change(**fields))
            self.ways.chosen(fields)
            self.session_changed.emit()

    async def finish(self) -> None:
        """Wait for what was begun; what waits for the person is given up."""
        self._leave()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._opening.close)

    # What happens in the session

    def _heard(self, envelope: EventEnvelope) -> None:
        from studio.domain.events import TurnComplete, TurnStarted
        from studio.ui.transcript.model import spoken_outcome

        event = envelope.event
        if envelope.block is not None:
            self.view.changed(envelope.block)
        if isinstance(event, TurnStarted) and self.session is not None:
            self.following.leave()
            self.choices.take(self.session.info)  # the model may have been routed
        self.ways.show()
        self.view.announce(spoken_outcome(event, self.choices.agent))
        self._state()
        self.queueing.show()
        if isinstance(event, TurnStarted | TurnComplete):
            self.view.turned()
            self.show_choices()
        self.event_seen.emit(event)

    def _state(self) -> None:
        session = self.session
        if session is None:
            return
        state = "running" if session.running else "idle"
        if session.running and session.info.state == "waiting":
            state = "waiting"
        over = session.info.state not in ("running", "waiting", "idle") and not session.escalating
        if session.running and over:
            state = "idle"  # complete, the journal is still being flushed
        if state != self.composer.state:
            answered = self.composer.state == "waiting" and state == "running"
            self.composer.set_state(state)
            self.show_choices()
            if state == "waiting" and not self.composer.text:
                self.view.focus_prompt()
            elif state == "idle" or (answered and self.view.hasFocus()):
                self.composer.setFocus()
            self.session_changed.emit()

    def _leave(self) -> None:
        """Hear no more of the session on screen."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self.ways.leave()
        self.following.leave()

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and isValid(self):
            self.trouble.emit(str(error) or type(error).__name__)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrangement.place()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.color("surface"))
        painter.end()


def _open_link(url: str) -> None:
    if url.startswith(("https://", "http://", "mailto:")):
        QDesktopServices.openUrl(QUrl(url))
